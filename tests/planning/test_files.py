"""Plans on disk: tables, routes and calendars, whatever sensors and riders are called."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from calibdash.errors import CalibdashError
from calibdash.planning import (
    COLUMNS,
    Plan,
    PlanSettings,
    Rider,
    gpx_text,
    ics_text,
    plan,
    read_distances,
    read_riders,
    write_gpx,
    write_ics,
    write_plan,
)
from tests.planning.networks import by_hand, small, solved

HOSTILE = '=cmd|"/c calc"!A0;<b>&\r\nBEGIN:VEVENT,\\'


@pytest.fixture(scope="module")
def made() -> Plan:
    posterior, network = small()
    riders = (Rider(HOSTILE, "M1", 0.3111, 32.5222), Rider("@Bea", "M2", 0.3333, 32.5444))
    return plan(posterior, network, PlanSettings(riders=riders, days=1, budget=6.0, zone="Africa/Kampala", target=None))


def test_the_table_has_its_columns_and_no_formulas(made: Plan, tmp_path: Path) -> None:
    write_plan(made, tmp_path / "plan.csv")
    table = pd.read_csv(tmp_path / "plan.csv")
    assert tuple(table.columns) == COLUMNS
    assert len(table) == 6
    text = table[["rider", "sensor", "with_sensor", "reason"]].to_numpy().ravel()
    assert not any(str(cell).startswith(("=", "+", "-", "@")) for cell in text)
    assert "0.3111" not in (tmp_path / "plan.csv").read_text()
    assert table["arrive"].between("08:00", "17:00").all()


def test_routes_show_homes_only_when_asked(made: Plan, tmp_path: Path) -> None:
    write_gpx(made, tmp_path / "plan.gpx")
    text = (tmp_path / "plan.gpx").read_text()
    assert "0.3111" not in text
    assert "0.3333" not in text
    points = ElementTree.fromstring(text).findall(".//{*}rtept")
    assert len(points) == 6
    with_base = ElementTree.fromstring(gpx_text(made, with_base=True)).findall(".//{*}rtept")
    assert len(with_base) == 6 + 2 * len(made.tours)


def test_the_calendar_holds_an_event_a_stop_and_nothing_smuggled(made: Plan, tmp_path: Path) -> None:
    write_ics(made, tmp_path / "plan.ics")
    text = (tmp_path / "plan.ics").read_bytes().decode()
    lines = text.replace("\r\n ", "").split("\r\n")
    assert lines.count("BEGIN:VEVENT") == lines.count("END:VEVENT") == 6
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    assert "\n" not in text.replace("\r\n", "")
    starts = sorted(line.removeprefix("DTSTART:") for line in lines if line.startswith("DTSTART"))
    assert starts[0].startswith("20200814T05")  # 08:xx in Kampala
    arrive = sorted(made.stops["arrive"])[0]
    assert f"{int(arrive[:2]) - 3:02d}{arrive[3:]}" == starts[0][9:13]


def test_a_calendar_needs_dates() -> None:
    network = by_hand([(float(h), "M", f"S{h % 2}") for h in range(9)], ("M",), ("S0",))
    with pytest.raises(CalibdashError, match="needs dates"):
        ics_text(plan(solved(network), network))


def test_riders_are_read(tmp_path: Path) -> None:
    file = tmp_path / "riders.csv"
    file.write_text(
        "rider,latitude,longitude,sensor,speed_kmh,start,end,days\nAli,0.3,32.5,M1,15,07:30,16:00,Mon Tue\nBea,,,,,,,\n"
    )
    riders, _ = read_riders(file)
    assert riders[0] == Rider("Ali", "M1", 0.3, 32.5, speed_kmh=15.0, start=7.5, end=16.0, days=("mon", "tue"))
    assert replace(riders[1], latitude=0.0, longitude=0.0) == Rider("Bea", latitude=0.0, longitude=0.0)


@pytest.mark.parametrize(
    "row", ["Ali,95,0,,,", "Ali,0,0,,25:00,", "Ali,0,0,,soon,", "Ali,0,0,,17:00,08:00", "Ali,1,,,,", "Ali,0,0,-5,,"]
)
def test_riders_that_cannot_be_are_refused(row: str, tmp_path: Path) -> None:
    file = tmp_path / "riders.csv"
    file.write_text(f"rider,latitude,longitude,speed_kmh,start,end\n{row}\n")
    with pytest.raises(CalibdashError):
        read_riders(file)


def test_distances_are_read(tmp_path: Path) -> None:
    file = tmp_path / "ways.csv"
    file.write_text("from,to,km,minutes\nS1,S2,3.5,12\nS2,S3,1,\n")
    ways, _ = read_distances(file)
    assert ways.ways[0] == ("S1", "S2", 3.5, 12.0)
    assert ways.ways[1][3] != ways.ways[1][3]
    file.write_text("from,to,km\nS1,S2,-3\n")
    with pytest.raises(CalibdashError):
        read_distances(file)
