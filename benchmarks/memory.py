"""The memory that a fit is said to need against what it takes: each case in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.engine import large_network
from calibdash.data.folder import load_network
from calibdash.data.network import Network
from calibdash.data.simulate import PRESETS, simulate_network, write_network
from calibdash.models.footprint import LOADED, fit_bytes
from calibdash.models.model import read_pairs
from calibdash.models.settings import Settings

# name: (preset or number of statics, settings)
CASES: dict[str, tuple[str | int, dict[str, object]]] = {
    "paper": ("paper", {}),
    "city": ("city", {}),
    "city, noise over time": ("city", {"noise.model": "gp"}),
    "city, gain and offset": ("city", {"function": "gain-offset"}),
    "offset, three parameters": ("offset", {"function": "humidity-offset"}),
    "city, 140 inducing points": (
        "city", {"lengthscale.static": "3d", "lengthscale.mobile": "3d", "inducing.most": 400}
    ),
    "290 sensors": (250, {}),
    "1,040 sensors": (1000, {}),
}  # fmt: skip
SMALL = ("paper", "city", "city, gain and offset")


def main(quick: bool = False) -> None:
    print("\nMemory of a fit beside TensorFlow: said, measured, said ÷ measured (reach 0.8–2.5)")
    for name in SMALL if quick else CASES:
        command = [sys.executable, "-W", "ignore", "-c", f"from benchmarks.memory import case; case({name!r})"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        said, measured = map(float, done.stdout.split())
        print(f"{name:28} {said / 1e9:6.2f} GB {measured / 1e9:6.2f} GB {said / measured:6.2f}", flush=True)


def case(name: str) -> None:
    """Print what a fit is said to need and what it took."""
    from calibdash.models.fitting import fit

    what, values = CASES[name]
    settings = Settings().with_values({"iterations": 4, **values})
    network = made(what)
    said = fit_bytes(read_pairs(network, settings), settings) - LOADED
    before = most_held()
    fit(network, settings)
    print(said, most_held() - before)


def made(what: str | int) -> Network:
    if isinstance(what, int):
        return large_network(what, 40, 300 * what)
    with TemporaryDirectory() as folder:
        write_network(simulate_network(replace(PRESETS[what], seed=1)), Path(folder) / what)
        return load_network(Path(folder) / what)


def most_held() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
