"""The JSON that Zooniverse keeps answers in."""

from __future__ import annotations


class NoAnswerError(ValueError):
    """A value that is no choice among answers, such as a drawing."""


def tasks(annotations: object) -> dict[str, object]:
    """Values by task, those inside combined tasks included.   ``[{task, value}, …]`` → {task: value}"""
    if not isinstance(annotations, list):
        raise NoAnswerError
    found: dict[str, object] = {}
    for annotation in annotations:
        if not isinstance(annotation, dict) or "task" not in annotation:
            raise NoAnswerError
        value = annotation.get("value")
        if _is_combined(value):
            found |= tasks(value)
        else:
            found[str(annotation["task"])] = value
    return found


def answer(value: object) -> list[str]:
    """The answers chosen: of a question, several questions, a survey, or drop-downs; sorted.   → [≥ 0]"""
    if value is None:
        return []
    if isinstance(value, bool | int | float):
        return [json_text(value)]
    if isinstance(value, str):
        return [tidy] if (tidy := " ".join(value.split())) else []
    if isinstance(value, dict):
        return _chosen(value)
    if isinstance(value, list):
        return sorted({text for part in value for text in answer(part)})
    raise NoAnswerError


def json_text(value: bool | int | float) -> str:
    """A number or flag as JSON writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_combined(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(part, dict) and "task" in part for part in value)


def _chosen(value: dict[str, object]) -> list[str]:
    for name in ("choice", "label", "value"):
        if name in value and not isinstance(value[name], dict):
            return answer(value[name])
    raise NoAnswerError
