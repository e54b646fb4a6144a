"""Fuzzing: readers, folders, archives, settings and the run store under atheris, each for a bounded time.

A crash is any exception that is not a CalibdashError, more than 60 s for one input, or more than 2 GB of memory. What
crashes is kept in ``fuzz-found/`` (its name says the target) and belongs into a test. Longer, or one target alone:
``python -m benchmarks.fuzz --seconds 600 readers``.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import re
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
import zipfile
from collections.abc import Callable
from pathlib import Path

SECONDS, QUICK_SECONDS = 60, 10
TIMEOUT, MEMORY_MB, LONGEST = 60, 2048, 1 << 15
FOUND = Path("fuzz-found")
MISSING = "Fuzzing needs atheris, which is not installed: pip install -c constraints.txt '.[bench]'"
Target = Callable[[bytes, Path], object]
TABLES = ("colocations", "sensors", "labels", "labellers", "riders")  # measurements go through DuckDB: too slow here
BREAK = b"\n--- next file ---\n"


def main(quick: bool = False, targets: tuple[str, ...] = (), seconds: int | None = None) -> None:
    from rich.console import Console
    from rich.table import Table

    if importlib.util.find_spec("atheris") is None:
        sys.stderr.write(MISSING + "\n")
        return
    seconds = seconds or (QUICK_SECONDS if quick else SECONDS)
    table = Table("target", "seconds", "inputs", "inputs/s", "crashes", title="Fuzzing")
    for target in targets or TARGETS:
        began = time.monotonic()
        inputs, crashes = fuzzed(target, seconds)
        took = time.monotonic() - began
        table.add_row(target, f"{took:.0f}", f"{inputs:,}", f"{inputs / took:,.0f}", f"{crashes}")
    Console().print(table)


def fuzzed(target: str, seconds: int) -> tuple[int, int]:
    """Fuzz one target in a process of its own: inputs tried, and crashes that differ."""
    FOUND.mkdir(exist_ok=True)
    before = set(FOUND.iterdir())
    with tempfile.TemporaryDirectory(prefix="calibdash-fuzz-") as corpus:
        for number, seed in enumerate(SEEDS[target]()):
            (Path(corpus) / f"seed{number}").write_bytes(seed)
        limits = [
            f"-max_total_time={seconds}",
            f"-timeout={TIMEOUT}",
            f"-rss_limit_mb={MEMORY_MB}",
            f"-report_slow_units={TIMEOUT}",
        ]
        command = [sys.executable, "-m", "benchmarks.fuzz", "--inside", target]
        more = [*limits, f"-max_len={LONGEST}", f"-artifact_prefix={FOUND}/{target}-", "-print_final_stats=1", corpus]
        done = subprocess.run([*command, "--", *more], capture_output=True, text=True, check=False, errors="replace")
    for file in set(FOUND.iterdir()) - before:
        if file.name.startswith((f"{target}-timeout", f"{target}-slow")) and _is_quick(command, file):
            file.unlink()  # it was the machine that was slow
    found = set(FOUND.iterdir()) - before
    for file in sorted(found):
        if file.suffix == ".txt":
            sys.stdout.write(f"{file.name}\n{file.read_text()}\n")
    if done.returncode and not found:
        sys.stdout.write(done.stderr[-3000:])
    counted = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr) or re.search(r"Done (\d+) runs", done.stderr)
    return int(counted[1]) if counted else 0, sum(file.suffix != ".txt" for file in found)


def _is_quick(command: list[str], file: Path) -> bool:
    again = subprocess.run([*command, "--", f"-timeout={TIMEOUT}", str(file)], capture_output=True, check=False)
    return again.returncode == 0


def inside(target: str, arguments: list[str]) -> None:
    """In the process of one target: instrument calibdash, then try inputs until the time is over."""
    import atheris

    with atheris.instrument_imports(include=["calibdash"]):
        attempt = TARGETS[target]()
    from calibdash.errors import CalibdashError

    seen: set[str] = set()

    def try_one(data: bytes) -> None:
        with tempfile.TemporaryDirectory(prefix="calibdash-fuzz-") as scratch:
            try:
                attempt(data, Path(scratch))
            except CalibdashError:
                return
            except Exception as crash:
                place = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(crash.__traceback__)]
                ours = [line for line in place if "/calibdash/" in line]
                key = f"{type(crash).__name__} {(ours or place)[-1]}"
                if key not in seen:  # go on: one crash must not hide others
                    seen.add(key)
                    name = FOUND / f"{target}-{len(seen)}"
                    name.write_bytes(data)
                    name.with_suffix(".txt").write_text(traceback.format_exc()[-3000:])

    atheris.Setup([sys.argv[0], *arguments], try_one)
    atheris.Fuzz()


def readers() -> Target:
    """A file of whatever source, detected and read; then as each source by name."""
    from calibdash.data.readers import SOURCES, ReadOptions, import_files

    names = [None, None, *SOURCES]
    options = ReadOptions(zone="Africa/Kampala", sensor="only one")

    def attempt(data: bytes, scratch: Path) -> None:
        path = scratch / "in.csv"
        path.write_bytes(data[1:])
        import_files([path], names[data[0] % len(names)] if data else None, options)

    return attempt


def folders() -> Target:
    """A whole folder: its tables, riders and network.toml."""
    from calibdash.data.folder import check_folder
    from calibdash.planning.riders import read_riders

    def attempt(data: bytes, scratch: Path) -> None:
        about, *tables = data.split(BREAK)
        (scratch / "network.toml").write_bytes(about)
        for name, content in zip(TABLES, tables, strict=False):
            (scratch / f"{name}.csv").write_bytes(content)
        check_folder(scratch)
        if (scratch / "riders.csv").exists():
            read_riders(scratch / "riders.csv")

    return attempt


def archives() -> Target:
    """A dropped archive: nothing may be written outside its folder."""
    from calibdash.state.upload.archive import unpack

    def attempt(data: bytes, scratch: Path) -> None:
        path, inner = scratch / "dropped.zip", scratch / "inner"
        path.write_bytes(data)
        try:
            unpack(path, inner)
        finally:
            outside = [entry for entry in scratch.iterdir() if entry not in (path, inner)]
            if outside:
                raise AssertionError(f"written outside: {outside}")

    return attempt


def settings() -> Target:
    """Settings files and requests, as TOML or JSON; what is taken must come back from its own dictionary."""
    from calibdash.models.labelling.settings import LabelSettings
    from calibdash.models.settings import Settings
    from calibdash.runs.request import JobRequest

    def attempt(data: bytes, scratch: Path) -> None:  # noqa: ARG001
        with contextlib.suppress(ValueError, RecursionError):
            text = data[1:].decode()
            values = tomllib.loads(text) if data[:1] == b"\x01" else json.loads(text)
            if isinstance(values, dict):
                for kind in (Settings, LabelSettings, JobRequest):
                    taken(kind, values)

    def taken(kind: type, values: dict) -> None:
        from calibdash.errors import CalibdashError

        try:
            made = kind.from_dict(values)
        except CalibdashError:
            return
        except (ValueError, RecursionError) as crash:
            raise AssertionError(f"{kind.__name__}: {crash}") from crash
        if kind.from_dict(json.loads(json.dumps(made.as_dict()))) != made:
            raise AssertionError(f"{kind.__name__} does not come back")

    return attempt


def store() -> Target:
    """A run's folder with any content: listed, opened, exported, deleted and restored; its posterior read."""
    from calibdash.errors import CalibdashError
    from calibdash.models.labelling import LabelPosterior
    from calibdash.models.store import load
    from calibdash.runs.checkpoint import read_checkpoint, read_halfway
    from calibdash.runs.store import RunStore

    names = ("run.json", "progress.json", "checkpoint.json", "posterior.json", "posterior.npz", ".halfway.npz", "stop")

    def attempt(data: bytes, scratch: Path) -> None:
        folder = scratch / "runs" / "one"
        folder.mkdir(parents=True)
        for name, content in zip(names, data.split(BREAK), strict=False):
            (folder / name).write_bytes(content)
        runs = RunStore(scratch / "runs")
        for run in runs.runs():
            for call in (runs.get, runs.snapshot, runs.export, runs.request, runs.delete, runs.restore):
                with contextlib.suppress(CalibdashError):
                    call(run.id)
        runs.runs("ada")
        read_checkpoint(folder)
        read_halfway(folder, "key")
        for reading in (load, LabelPosterior.load):
            with contextlib.suppress(CalibdashError):
                reading(folder)

    return attempt


def reader_seeds() -> list[bytes]:
    from tests.data.test_readers_written import TEXTS

    return [b"\0" + text.encode() for text in TEXTS.values()]


def folder_seeds() -> list[bytes]:
    from tests.data.test_mutated_folders import FILES

    about = b'name = "a"\ntimezone = "Africa/Kampala"\nunit = "x"\n'
    riders = b"rider,latitude,longitude,sensor,speed_kmh,start,end,days\nann,0.3,32.5,M1,20,08:00,17:00,mon tue\n"
    known = {name.removesuffix(".csv"): text.encode() for name, text in FILES.items()}
    known |= {"riders": riders}
    whole = [known[name] for name in TABLES]
    return [BREAK.join([about, *whole]), BREAK.join([b"", *whole[:2]]), BREAK.join([about, b"", b"", *whole[2:]])]


def archive_seeds() -> list[bytes]:
    seeds = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", method) as archive:
            for name in ("net/colocations.csv", "net/sensors.csv", "net/deep/x.csv", "__MACOSX/._x"):
                archive.writestr(name, "time,sensor_a,sensor_b,value_a,value_b\n0,a,b,1,2\n")
        seeds.append(file.getvalue())
    return seeds


def setting_seeds() -> list[bytes]:
    from calibdash.models.labelling.settings import LabelSettings
    from calibdash.models.setting_table import SETTINGS
    from calibdash.runs.request import JobRequest

    every = {setting.key: setting.default for setting in SETTINGS}
    nested = b'\x01function = "scale"\n[lengthscale]\nmobile = "25d"\n[bounds]\nbias = "0.1..1"\n'
    nested += b"[drift.mobile]\ngain = 0.3\n"
    asked = JobRequest("net", {"bias": 0.3}, references=("R0",), period=(0.0, 5.0)).as_dict()
    hops = JobRequest("net", {"window_hours": 12.0}, kind="multihop").as_dict()
    labels = {**LabelSettings().as_dict(), "form": "pairwise", "fallible": ["ann"]}
    return [nested, *(b"\0" + json.dumps(values).encode() for values in (every, asked, hops, labels))]


def store_seeds() -> list[bytes]:
    import numpy as np

    from calibdash.runs.request import JobRequest

    record = {**JobRequest("net", {}).as_dict(), "status": "running", "elbo": [1.0, 2.0], "process": {"host": "h"}}
    record |= {"started": "2024-01-01T00:00:00.0Z", "ended": "2024-01-01T00:01:00.0Z", "seconds": 3, "owner": "ada"}
    progress = {"stage": "fit", "iteration": 3, "total": 9, "trace": [1, 2], "share": 0.5, "remaining": 2}
    names = ("mobile", "reference", "latent", "mean", "diagonal", "off", "times", "edges", "key", "elbo")
    file = io.BytesIO()
    np.savez(file, **{name: np.zeros((2, 2)) for name in names})
    texts = [record, progress, {"learned": {}}, {"version": 1, "kind": "labels", "hyper": {}, "record": {}, "data": {}}]
    parts = [json.dumps(text).encode() for text in texts]
    return [BREAK.join([*parts, file.getvalue(), file.getvalue(), b"cancelled"]), BREAK.join(parts), parts[0]]


TARGETS: dict[str, Callable[[], Target]] = {
    "readers": readers,
    "folders": folders,
    "archives": archives,
    "settings": settings,
    "store": store,
}
SEEDS: dict[str, Callable[[], list[bytes]]] = {
    "readers": reader_seeds,
    "folders": folder_seeds,
    "archives": archive_seeds,
    "settings": setting_seeds,
    "store": store_seeds,
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2], sys.argv[4:])
    else:
        parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz")
        parser.add_argument("targets", nargs="*", choices=[*TARGETS, []])
        parser.add_argument("--seconds", type=int, default=SECONDS, help="for each target")
        chosen = parser.parse_args()
        main(targets=tuple(chosen.targets), seconds=chosen.seconds)
