"""Thirty sessions at a time on loopback: they open pages, move sliders and fit, for ten minutes.

They come one by one in the first quarter and do something every 40 seconds on average; every third one fits, every
fifth one leaves and comes again. To open the dashboard is told apart: it is no interaction of a session.

A session is the real page's websocket without a browser (thirty Chromium pages would take the two cores that the
server needs): the same messages, the same work, the same memory of the server. The time of an interaction is from its
message to the message that shows its effect.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.dashboard import family, memory_of
from tests.pages.conftest import address_of
from tests.service.visitor import PAGES, Visitor

EXAMPLES = Path(__file__).parents[1] / "example_data"
LOOK_SECONDS = (20, 60)  # what people need to look at what they see
WARM_SHARE = 0.4  # of the time, after which memory must not grow any more
SLIDERS = {"Static (days)": (20, 120), "Mobile (days)": (5, 60), "Noise (%)": (2, 30)}


class Load:
    """What thirty visitors saw."""

    def __init__(self, address: str, seconds: float) -> None:
        self.address, self.seconds = address, seconds
        self.began = time.monotonic()
        self.took: dict[str, list[float]] = defaultdict(list)
        self.late: list[float] = []
        self.wrong: list[str] = []

    @property
    def left(self) -> float:
        return self.began + self.seconds - time.monotonic()

    @property
    def warm(self) -> bool:
        return time.monotonic() - self.began > WARM_SHARE * self.seconds

    async def visit(self, number: int) -> None:
        rng = random.Random(number)
        await asyncio.sleep(rng.uniform(0, 0.25 * self.seconds))  # people come one by one
        while self.left > 30:
            try:
                await self.stay(rng, number)
            except Exception as reason:
                self.wrong.append(f"{type(reason).__name__}: {reason}")
                await asyncio.sleep(1)

    async def stay(self, rng: random.Random, number: int) -> None:
        """One session: to the end, or of every fifth person about a third of the time."""
        began = time.perf_counter()
        visitor = await Visitor.enter(self.address)
        self.note("enter", time.perf_counter() - began)
        try:
            self.note("page", await visitor.open_page("Calibration"))
            until = time.monotonic() + (rng.uniform(0.2, 0.4) if number % 5 == 0 else 1.0) * self.seconds
            fit_at = time.monotonic() + rng.uniform(0.0, 0.25) * self.seconds
            while self.left > 10 and time.monotonic() < until:
                await asyncio.sleep(min(rng.uniform(*LOOK_SECONDS), max(self.left, 0)))
                if self.left <= 0:  # nobody acts because the time is up: all would at once
                    break
                if number % 3 == 0 and time.monotonic() > fit_at:
                    fit_at = float("inf")
                    self.note("fit", await visitor.click("Fit", lambda: visitor.has('"visible"')))
                elif rng.random() < 0.75:
                    label, (low, high) = rng.choice(list(SLIDERS.items()))
                    value = round(rng.uniform(low, high), 3)  # never where it is: then there would be nothing to show
                    self.note("slider", await visitor.move(label, value))
                else:
                    self.note("page", await visitor.open_page(rng.choice(PAGES)))
            self.wrong += visitor.errors
        finally:
            await visitor.leave()

    def note(self, what: str, seconds: float) -> None:
        self.took[what].append(seconds)
        if self.warm and what != "enter":
            self.late.append(seconds)


async def run(address: str, process: int, visitors: int, seconds: float) -> tuple[Load, list[tuple[float, float]]]:
    load = Load(address, seconds)
    memory: list[tuple[float, float]] = []

    async def watch() -> None:
        while load.left > 0:
            memory.append((time.monotonic() - load.began, held(process)))
            await asyncio.sleep(2)

    visits = [asyncio.create_task(load.visit(number)) for number in range(visitors)]
    await watch()
    _, waiting = await asyncio.wait(visits, timeout=30)
    for visit in waiting:  # whoever still waits for an answer
        visit.cancel()
    load.wrong += ["no answer in 30 s"] * len(waiting)
    return load, memory


def main(quick: bool = False) -> None:
    visitors, seconds = (6, 120.0) if quick else (30, 600.0)
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-m", "calibdash", "serve", str(EXAMPLES), "--port", "0", "--data-dir", data]
        server = subprocess.Popen([*command, "--log-level", "warning"], stderr=subprocess.PIPE, text=True)
        said: list[str] = []
        try:
            address = address_of(server) + "/"
            threading.Thread(target=lambda: said.extend(server.stderr), daemon=True).start()
            load, memory = asyncio.run(run(address, server.pid, visitors, seconds))
        finally:
            server.terminate()
            server.wait(60)
    tell(load, memory, visitors, [line for line in said if " error " in line])


def tell(load: Load, memory: list[tuple[float, float]], visitors: int, errors: list[str]) -> None:
    table = Table("", "count", "median", "p95", "most", title=f"{visitors} sessions, {load.seconds:.0f} s")
    for name, times in [*load.took.items(), ("interactions after warming up", load.late)]:
        if times:
            quantiles = (f"{value:.2f} s" for value in (np.median(times), np.quantile(times, 0.95), max(times)))
            table.add_row(name, str(len(times)), *quantiles)
    Console().print(table)
    late = [(when, size) for when, size in memory if when > WARM_SHARE * load.seconds]
    edge = max(1, len(late) // 5)
    first, last = (np.median([size for _, size in part]) for part in (late[:edge], late[-edge:]))
    print(f"memory after warming up {first / 1e9:.2f} GB, at the end {last / 1e9:.2f} GB: {last / first - 1:+.1%}")
    print(f"errors seen by visitors: {len(load.wrong)} {load.wrong[:3]}; in the log: {len(errors)} {errors[:3]}")
    print(f"load of the machine, mean of 15 minutes: {os.getloadavg()[2]:.1f} on {os.cpu_count()} cores")


def held(process: int) -> float:
    """Bytes of their own of a process and of all below it."""
    return sum(memory_of(one)[0] for one in family(process))
