"""The house: imports point downwards, and heavy libraries are loaded only where they work."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from calibdash.cli.main import COMMANDS

PACKAGE = Path(__file__).parents[1] / "calibdash"
# From the ground up; a layer may import itself and what stands below it.
LAYERS = [
    "errors",
    "units",
    "data",
    "models",
    "planning evaluation reports",
    "runs",
    "state",
    "pages",
    "service",
    "app cli",
]
BANNED = {
    "data": {"tensorflow", "tensorflow_probability", "panel", "param"},
    "models": {"panel", "param", "bokeh", "holoviews"},
    "state": {"panel", "tensorflow", "tensorflow_probability"},
    "pages": {"tensorflow", "tensorflow_probability"},
    "service": {"tensorflow", "tensorflow_probability"},
    "cli": {"tensorflow", "tensorflow_probability"},
}
HEIGHT = {name: height for height, layer in enumerate(LAYERS) for name in layer.split()}
MODULES = sorted(PACKAGE.rglob("*.py"))


def imported(tree: ast.Module) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def layer_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "calibdash" and len(parts) > 1 and parts[1] in HEIGHT else None


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downwards(path: Path) -> None:
    here = path.relative_to(PACKAGE).with_suffix("").parts[0]
    if here in ("__init__", "__main__"):
        return
    assert here in HEIGHT, f"{here} is in no layer"
    names = imported(ast.parse(path.read_text()))
    upwards = {name for name in names if (layer := layer_of(name)) and HEIGHT[layer] > HEIGHT[here]}
    assert not upwards
    assert not {name.split(".")[0] for name in names} & BANNED.get(here, set())


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_stay_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


def modules_after(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n")[-2].split())


def test_help_loads_nothing_heavy() -> None:
    loaded = modules_after("from calibdash.cli.main import run\nassert run(['--help']) == 0")
    assert not loaded & {"tensorflow", "panel", "pandas", "duckdb", "numpy"}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_help_without_tensorflow(command: str) -> None:
    loaded = modules_after(f"from calibdash.cli.main import run\nassert run(['{command}', '--help']) == 0")
    assert "tensorflow" not in loaded


def test_first_page_loads_no_tensorflow(examples: Path, tmp_path: Path) -> None:
    loaded = modules_after(
        "from pathlib import Path\n"
        "from calibdash.pages.site import build, queue_in\n"
        "from calibdash.state.folders import find_folders\n"
        f"build(find_folders([Path({str(examples)!r})]), queue_in(Path({str(tmp_path)!r})))"
    )
    assert "panel" in loaded
    assert "tensorflow" not in loaded
