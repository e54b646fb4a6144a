"""Long studies: many small tasks on both cores, each result kept, so that one can stop and go on later."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

from calibdash import __version__
from calibdash.data.files import write_atomically

Task = dict[str, object]
Result = dict[str, object]
Work = Callable[[Task], Result]


def run_study(
    tasks: Sequence[Task],
    work: Work,
    folder: Path,
    *,
    workers: int = 2,
    progress: Callable[[float, str], None] | None = None,
) -> list[Result]:
    """Results of ``work`` on each task, in the order of the tasks; those already in ``folder`` are not done again.

    ``work`` must be a function of a module, and tasks and results plain JSON values.
    """
    files = [folder / f"{task_key(task)}.json" for task in tasks]
    open_tasks = [(task, file) for task, file in zip(tasks, files, strict=True) if not file.is_file()]
    tell = progress or (lambda *_: None)
    done = len(tasks) - len(open_tasks)
    tell(done / max(len(tasks), 1), f"{done} of {len(tasks)}")
    for _ in _finished(open_tasks, work, workers):
        done += 1
        tell(done / len(tasks), f"{done} of {len(tasks)}")
    return [json.loads(file.read_text(encoding="utf-8"))["result"] for file in files]


def task_key(task: Task) -> str:
    """A name for a task that changes with it, and with the version of calibdash."""
    text = json.dumps({**task, "version": __version__}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _finished(tasks: list[tuple[Task, Path]], work: Work, workers: int) -> Iterator[Result]:
    if workers <= 1 or len(tasks) <= 1:
        return (_keep(task, work(task), file) for task, file in tasks)
    return _in_processes(tasks, work, workers)


def _in_processes(tasks: list[tuple[Task, Path]], work: Work, workers: int) -> Iterator[Result]:
    context = multiprocessing.get_context("spawn")  # TensorFlow does not survive a fork
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_quiet) as pool:
        waiting: dict[Future[Result], tuple[Task, Path]] = {
            pool.submit(work, task): (task, file) for task, file in tasks
        }
        try:
            while waiting:
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    task, file = waiting.pop(future)
                    yield _keep(task, future.result(), file)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _keep(task: Task, result: Result, file: Path) -> Result:
    text = json.dumps({"task": task, "result": result}, allow_nan=True)
    write_atomically(file, lambda out: out.write(text.encode()))
    return result


def _quiet() -> None:
    """What native libraries write to stderr is lost; what goes wrong comes back as an exception."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
