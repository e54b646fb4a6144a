"""What commands say: data to stdout, talk to stderr."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from calibdash.data.problems import DataError, Problem, Severity, worst_first
from calibdash.errors import CalibdashError
from calibdash.models.progress import Progress as FitProgress

PLACES_SHOWN = 5
_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def talk() -> Console:
    """The console for people (stderr)."""
    return Console(stderr=True, soft_wrap=True, highlight=False)


def say(message: str) -> None:
    """One line for people."""
    talk().print(Text(message))


def say_error(problem: CalibdashError) -> None:
    """An error as its message, its places and its hint."""
    if isinstance(problem, DataError):
        print_problems(problem.problems, talk())
        return
    console = talk()
    console.print(Text("error  ", style=_STYLE[Severity.ERROR]) + Text(problem.message, style="not bold"))
    if problem.hint:
        console.print(Text(f"       {problem.hint}"))


def print_problems(problems: Sequence[Problem], console: Console) -> None:
    """Errors first; each with its rows, values and remedy. Text is never read as markup."""
    for problem in worst_first(problems):
        console.print(_headline(problem))
        for place in problem.places[:PLACES_SHOWN]:
            console.print(Text(f"         row {place.row}: {place.value!r}"))
        if problem.places and problem.count > PLACES_SHOWN:
            console.print(Text(f"         … {problem.count - min(PLACES_SHOWN, len(problem.places))} more rows"))
        if problem.remedy:
            console.print(Text(f"         {problem.remedy}"))


def _headline(problem: Problem) -> Text:
    where = f"{problem.file}: " if problem.file else ""
    count = f" ({problem.count} rows)" if problem.places and problem.count > 1 else ""
    return Text(f"{problem.severity:<9}", style=_STYLE[problem.severity]) + Text(
        f"{where}{problem.message}{count}", style="not bold"
    )


def print_json(value: object) -> None:
    """A value for a script."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[..., None]]:
    """A function that takes the share done (0–1) and the stage; a bar appears once the work has lasted a second."""
    console = talk()
    started = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(title, total=1.0)

    def show(share: float, stage: str = "") -> None:
        if console.is_terminal and time.monotonic() - started > 1 and not bar.live.is_started:
            bar.start()
        bar.update(task, completed=share, description=f"{title} {stage}".rstrip())

    try:
        yield show
    finally:
        if bar.live.is_started:
            bar.stop()


@contextmanager
def native_silence() -> Iterator[None]:
    """Nothing that native code writes to stderr is seen: TensorFlow greets before it reads its own log level."""
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def share_done(report: FitProgress) -> float:
    """The share done, by the estimated end where it is known."""
    if report.remaining is not None and math.isfinite(report.remaining):
        return report.seconds / max(report.seconds + report.remaining, 1e-9)
    return report.iteration / max(report.total, 1)
