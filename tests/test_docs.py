"""The documents are right: their commands run, their links lead somewhere, and they leave nothing out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import click.termui
import pandas as pd
import pytest

from calibdash.cli.main import COMMANDS, cli
from calibdash.data.folder import ABOUT_KEYS
from calibdash.data.readers import SOURCES
from calibdash.data.schema import SCHEMAS, Schema
from calibdash.planning.riders import RIDERS
from calibdash.planning.travel import DISTANCES
from tests.documents import ROOT, Workshop, anchors, blocks, commands, links
from tools.reference import reference

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in DOCUMENTS}
FORMATS, GUIDE, REFERENCE = (TEXTS[f"docs/{name}.md"] for name in ("formats", "guide", "reference"))
FIT = [
    "calibdash fit example_data/kampala --out runs/kampala",
    "calibdash labels example_data/bees --out runs/bees-fit",
]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("docs"))


@pytest.fixture(autouse=True)
def inside(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workshop.folder)
    monkeypatch.setattr(click.termui, "hidden_prompt_func", lambda _: "a long enough password")


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if commands(text)])
def test_every_command(name: str, workshop: Workshop) -> None:
    if "runs/kampala" in TEXTS[name]:
        workshop.run(FIT[0])
    for line in commands(TEXTS[name]):
        workshop.run(line)


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if blocks(text, "python")])
def test_every_piece_of_python(name: str) -> None:
    exec("\n".join(blocks(TEXTS[name], "python")), {})


@pytest.mark.parametrize("name", TEXTS)
def test_every_link_leads_somewhere(name: str) -> None:
    for target in links(TEXTS[name]):
        path, _, anchor = target.partition("#")
        place = (ROOT / name).parent / path if path else ROOT / name
        assert place.exists(), f"{name} links to {target}"
        assert not anchor or anchor in anchors(place.read_text(encoding="utf-8")), f"{name} links to {target}"


def test_every_document_can_be_found() -> None:
    named = {target for name in ("README.md", "docs/README.md") for target in links(TEXTS[name])}
    names = {Path(target).name for target in named}
    assert not [name for name in TEXTS if not name.endswith("README.md") and Path(name).name not in names]


def test_pictures_are_small_and_used() -> None:
    pictures = {path.name: path.stat().st_size for path in (ROOT / "assets").glob("*.png")}
    assert not [name for name in pictures if not any(f"assets/{name}" in text for text in TEXTS.values())]
    assert max(pictures.values()) < 400_000


def test_the_reference_is_what_the_code_says() -> None:
    assert reference() == REFERENCE, "docs/reference.md is out of date: make docs"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_in_the_reference(name: str) -> None:
    for path, text in helps((name,)):
        section = REFERENCE.split(f"\n### calibdash {' '.join(path)}\n")[1].split("\n### ")[0]
        options = set(re.findall(r"^ +(--[\w-]+)", text, re.MULTILINE)) - {"--help"}
        assert not {option for option in options if f"`{option}" not in section}


def helps(path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """What a command and those below it say when asked for help."""
    command: click.Command = cli
    context = click.Context(cli)
    for name in path:
        command = command.get_command(context, name)
        context = click.Context(command, parent=context, info_name=name)
    yield path, command.get_help(context)
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        yield from helps((*path, name))


def test_every_page_is_in_the_guide() -> None:
    from calibdash.pages.site import PAGES

    assert not [title for title, _ in PAGES if f"**{title}**" not in GUIDE]


def test_bold_words_of_the_guide_are_words_of_the_screen() -> None:
    places = [path for room in ("pages", "state", "evaluation") for path in (ROOT / "calibdash" / room).rglob("*.py")]
    screen = " ".join(" ".join(path.read_text(encoding="utf-8").split()) for path in places)
    bold = {" ".join(words.split()) for words in re.findall(r"\*\*([^*`]+)\*\*", GUIDE)}
    assert len(bold) > 40
    assert not {words for words in bold if words not in screen}


@pytest.mark.parametrize("schema", [*SCHEMAS.values(), RIDERS, DISTANCES], ids=lambda schema: schema.name)
def test_every_column_is_in_formats(schema: Schema) -> None:
    assert not [name for name in schema.names if f"`{name}`" not in FORMATS]


def test_every_key_of_a_network_is_in_formats() -> None:
    keys = {line.split("=")[0].strip() for block in blocks(FORMATS, "toml") for line in block.splitlines()}
    assert set(ABOUT_KEYS) <= keys


def test_every_source_is_in_formats() -> None:
    assert not [name for name in SOURCES if f"| `{name}` |" not in FORMATS]


def test_every_file_of_a_run_is_in_formats(workshop: Workshop) -> None:
    for line in [*FIT, *commands(TEXTS["README.md"])]:
        workshop.run(line)
    tables = [path for run in ("kampala", "kampala-hops", "bees-fit") for path in (Path("runs") / run).iterdir()]
    assert len(tables) >= 15
    for path in [*tables, Path("runs/calibrated.csv"), Path("runs/plan.csv")]:
        assert path.parent == Path("runs") or f"`{path.name}`" in FORMATS, path
        columns = pd.read_csv(path, nrows=0).columns if path.suffix == ".csv" else ()
        missing = [name for name in columns if not re.search(rf"\b{re.escape(name)}\b", FORMATS)]
        assert not [name for name in missing if not name.startswith("skill_")], path
