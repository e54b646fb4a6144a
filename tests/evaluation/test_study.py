"""Studies keep what they have done, go on where they stopped, and do not depend on the number of processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibdash.evaluation.study import Result, Task, run_study, task_key

TASKS: list[Task] = [{"number": number} for number in range(6)]


def square(task: Task) -> Result:
    return {"square": int(str(task["number"])) ** 2}


def fail_at_four(task: Task) -> Result:
    if task["number"] == 4:
        raise ValueError("four")
    return square(task)


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_tasks(tmp_path: Path, workers: int) -> None:
    seen: list[float] = []
    results = run_study(TASKS, square, tmp_path, workers=workers, progress=lambda share, _: seen.append(share))
    assert [result["square"] for result in results] == [0, 1, 4, 9, 16, 25]
    assert seen == sorted(seen)
    assert seen[-1] == 1


def test_an_interrupted_study_goes_on(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="four"):
        run_study(TASKS, fail_at_four, tmp_path, workers=1)
    assert len(list(tmp_path.iterdir())) == 4
    done: list[Task] = []

    def count(task: Task) -> Result:
        done.append(task)
        return square(task)

    assert run_study(TASKS, count, tmp_path, workers=1)[5] == {"square": 25}
    assert done == TASKS[4:]


def test_keys_differ() -> None:
    assert len({task_key(task) for task in TASKS}) == len(TASKS)
    assert task_key({"a": 1, "b": 2}) == task_key({"b": 2, "a": 1})
