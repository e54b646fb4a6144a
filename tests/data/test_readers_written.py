"""Every source written from known rows: read back unchanged, and mutated in every way without a crash."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calibdash.data.parse import MISSING
from calibdash.data.problems import DataError, Severity
from calibdash.data.readers import SOURCES, ReadOptions, import_files
from calibdash.errors import CalibdashError

KAMPALA = ZoneInfo("Africa/Kampala")
OPTIONS = ReadOptions(zone="Africa/Kampala", sensor="only one")


class Row(NamedTuple):
    time: datetime
    sensor: str
    value: float
    latitude: float
    longitude: float
    humidity: float
    temperature: float


class Label(NamedTuple):
    item: str
    labeller: str
    label: str
    time: datetime


def written(header: str, rows: Sequence[Sequence[object]], separator: str = ",") -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(header.split(separator))
    writer.writerows([[repr(cell) if isinstance(cell, float) else cell for cell in row] for row in rows])
    return text.getvalue()


def airqo(rows: Sequence[Row]) -> str:
    return written(
        "device_name,datetime,s1_pm2_5,s2_pm2_5,s1_pm10,s2_pm10,latitude,longitude,temperature,humidity,network,frequency",
        [
            (r.sensor, f"{r.time:%Y-%m-%d %H:%M:%SZ}", r.value, r.value, 1.0, 1.0, r.latitude, r.longitude,
             r.temperature, r.humidity, "airqo", "raw")
            for r in rows
        ],
    )  # fmt: skip


def airqo_mobile(rows: Sequence[Row]) -> str:
    return written(
        "timestamp,device_number,device_id,latitude,longitude,s1_pm2_5,s2_pm2_5,hdop,satellites,pm2_5_raw_value,"
        "pm2_5_calibrated_value",
        [(r.time.isoformat(), 17, r.sensor, r.latitude, r.longitude, 1, 2, 1, 9, r.value, 3.0) for r in rows],
    )


def openaq(rows: Sequence[Row]) -> str:
    local = timezone(timedelta(hours=-6, minutes=-30))
    return written(
        "location_id,sensors_id,location,datetime,lat,lon,parameter,units,value",
        [
            (
                1,
                r.sensor,
                "x, y",
                r.time.astimezone(local).isoformat(),
                r.latitude,
                r.longitude,
                "pm25",
                "µg/m³",
                r.value,
            )
            for r in rows
        ],
    )


def purpleair(rows: Sequence[Row]) -> str:
    return written(
        "time_stamp,sensor_index,humidity,temperature,pressure,pm2.5_atm_a,pm2.5_atm_b,pm2.5_cf_1_a,pm2.5_cf_1_b",
        [
            (
                int(r.time.timestamp()),
                r.sensor,
                r.humidity,
                r.temperature * 9 / 5 + 32,
                1000,
                1.0,
                2.0,
                r.value,
                r.value,
            )
            for r in rows
        ],
    )


def sensor_community(rows: Sequence[Row]) -> str:
    return written(
        "sensor_id;sensor_type;location;lat;lon;timestamp;P1;durP1;ratioP1;P2;durP2;ratioP2",
        [
            (
                r.sensor,
                "SDS011",
                4,
                r.latitude,
                r.longitude,
                f"{r.time:%Y-%m-%dT%H:%M:%S}",
                1.0,
                "",
                "",
                r.value,
                "",
                "",
            )
            for r in rows
        ],
        ";",
    )


def thingspeak(rows: Sequence[Row]) -> str:
    return written(
        "created_at,entry_id,field1,field2,field3,field4,latitude,longitude,elevation,status",
        [
            (f"{r.time:%Y-%m-%d %H:%M:%S UTC}", i, r.value, 1.0, r.value, 2.0, r.latitude, r.longitude, "", "")
            for i, r in enumerate(rows)
        ],
    )


def bam(rows: Sequence[Row]) -> str:
    body = [
        f"{r.time.astimezone(KAMPALA):%Y-%m-%d %H:%M:%S}, {r.value!r}, {r.temperature!r}, {r.humidity!r}, 0"
        for r in rows
    ]
    above = ["Met One", "Station, 1", "Serial, X", "", "Data Report"]
    return "\n".join([*above, "Time, ConcHR(ug/m3), AT(C), RH(%), Status", *body]) + "\n"


def own(rows: Sequence[Row]) -> str:
    return written(
        "time,sensor,value,latitude,longitude,humidity,temperature",
        [(r.time.isoformat(), *r[1:]) for r in rows],
    )


def zooniverse(labels: Sequence[Label]) -> str:
    return written(
        "classification_id,user_name,user_id,user_ip,workflow_id,workflow_name,workflow_version,created_at,gold_standard,"
        "expert,metadata,annotations,subject_data,subject_ids",
        [
            (i, a.labeller, "", "", 7, "Frogs", "1.1", f"{a.time:%Y-%m-%d %H:%M:%S UTC}", "", "", "{}",
             json.dumps([{"task": "T0", "task_label": "?", "value": a.label}]), "{}", a.item)
            for i, a in enumerate(labels)
        ],
    )  # fmt: skip


def labels_long(labels: Sequence[Label]) -> str:
    return written("task,worker,label,time", [(a.item, a.labeller, a.label, a.time.isoformat()) for a in labels])


def labels_wide(labels: Sequence[Label]) -> str:
    people = list(dict.fromkeys(["gold", *(a.labeller for a in labels)]))
    cells = {(a.item, a.labeller): a.label for a in labels}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["image", *people])
    writer.writerows([[i, *(cells.get((i, who), "") for who in people)] for i in dict.fromkeys(a.item for a in labels)])
    return text.getvalue()


# source: its writer, which covariates it carries, whether it names its sensors
MEASURED: dict[str, tuple[Callable[[Sequence[Row]], str], str, bool]] = {
    "airqo": (airqo, "latitude longitude humidity temperature", True),
    "airqo-mobile": (airqo_mobile, "latitude longitude", True),
    "openaq": (openaq, "latitude longitude", True),
    "purpleair": (purpleair, "humidity temperature", True),
    "sensor-community": (sensor_community, "latitude longitude", True),
    "thingspeak": (thingspeak, "latitude longitude", False),
    "bam": (bam, "humidity temperature", False),
    "calibdash": (own, "latitude longitude humidity temperature", True),
}
LABELLED: dict[str, Callable[[Sequence[Label]], str]] = {
    "zooniverse": zooniverse,
    "labels-long": labels_long,
    "labels-wide": labels_wide,
}

TIMES = st.datetimes(datetime(1970, 1, 2), datetime(2099, 12, 30)).map(lambda t: t.replace(microsecond=0, tzinfo=UTC))
IDS = st.text(st.characters(exclude_categories=("C", "Z")) | st.just(" "), min_size=1, max_size=12).filter(
    lambda text: text == text.strip() and text.lower() not in MISSING
)
ROWS = st.lists(
    st.builds(
        Row,
        TIMES,
        IDS,
        st.floats(-89, 99_000, allow_subnormal=False),
        st.floats(0.5, 90),
        st.floats(-180, 180),
        st.floats(0, 100),
        st.floats(-80, 80),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda row: row.time,
)
LABELS = st.lists(
    st.builds(Label, IDS, IDS, IDS, TIMES),
    min_size=1,
    max_size=8,
    unique_by=(lambda a: (a.item, a.labeller), lambda a: a.time),
)
relaxed = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)


def imported(tmp_path: Path, text: str, source: str | None):
    path = tmp_path / "in.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return import_files([path], source, OPTIONS)


@pytest.mark.parametrize("source", MEASURED)
@relaxed
@given(rows=ROWS, named=st.booleans())
def test_measurements_come_back(tmp_path: Path, source: str, rows: list[Row], named: bool) -> None:
    write, covariates, has_ids = MEASURED[source]
    result = imported(tmp_path, write(rows), source if named else None)
    expected = pd.DataFrame(rows, columns=list(Row._fields)).sort_values(["time", "sensor"], ignore_index=True)
    assert list(result.frame) == ["time", "sensor", "value", *covariates.split()]
    assert list(result.frame["time"]) == list(expected["time"])
    assert list(result.frame["sensor"]) == (list(expected["sensor"]) if has_ids else ["only one"] * len(rows))
    assert list(result.frame["value"]) == list(expected["value"])
    for name in covariates.split():
        np.testing.assert_allclose(result.frame[name], expected[name], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("source", LABELLED)
@relaxed
@given(labels=LABELS, named=st.booleans())
def test_labels_come_back(tmp_path: Path, source: str, labels: list[Label], named: bool) -> None:
    if source == "labels-wide":
        labels = [a for i, a in enumerate(labels) if _fits_a_header(a.labeller, [b.labeller for b in labels[:i]])]
        if not labels:
            return
    result = imported(tmp_path, LABELLED[source](labels), source if named else None)
    assert result.table == "labels"
    found = {tuple(row) for row in result.frame[["item", "labeller", "label"]].itertuples(index=False)}
    assert found == {(a.item, a.labeller, a.label) for a in labels}
    if source != "labels-wide":
        assert list(result.frame["time"]) == sorted(a.time for a in labels)
    assert result.labellers is not None
    assert set(result.labellers["labeller"]) == {a.labeller for a in labels}


def _fits_a_header(name: str, others: list[str]) -> bool:
    """Columns differ in more than case, are told from the item's, and hold no other separator than the file's."""
    alike = name.lower() in {other.lower() for other in others if other != name}
    reserved = {"image", "gold", "time", "order", "date", "sequence", "timestamp", "datetime", "created_at", "\ufeff"}
    return not alike and name.lower() not in reserved and not set(name) & set(";|\t,")


# -- mutations ---------------------------------------------------------------------------------------------------

START = datetime(2021, 3, 4, 5, 0, tzinfo=UTC)
GOOD_ROWS = [Row(START + timedelta(hours=i), f"s{i % 2}", 20.5 + i, 0.31, 32.5, 80.0, 21.5) for i in range(6)]
GOOD_LABELS = [Label(f"i{i}", who, "cat", START + timedelta(hours=i)) for i in range(4) for who in ("ann", "gold")]
TEXTS = {name: write(GOOD_ROWS) for name, (write, _, _) in MEASURED.items()} | {
    name: write(GOOD_LABELS) for name, write in LABELLED.items()
}
HTML = "<script>alert('x')</script>"


def shuffled(text: str) -> str:
    lines = list(csv.reader(io.StringIO(text), delimiter=_separator(text)))
    order = list(range(len(lines[-1])))
    random.Random(3).shuffle(order)
    lines = [[line[i] for i in order] if len(line) == len(order) else line for line in lines]
    out = io.StringIO()
    csv.writer(out, delimiter=_separator(text), lineterminator="\n").writerows(lines)
    return out.getvalue()


def rewritten(text: str, separator: str) -> str:
    out = io.StringIO()
    lines = csv.reader(io.StringIO(text), delimiter=_separator(text))
    csv.writer(out, delimiter=separator, lineterminator="\n").writerows(lines)
    return out.getvalue()


def _separator(text: str) -> str:
    return ";" if text.startswith("sensor_id;") else ","


def replace_last(text: str, pattern: str, new: str) -> str:
    head, _, last = text.rstrip("\n").rpartition("\n")
    return f"{head}\n{re.sub(pattern, lambda _: new, last, count=1)}\n"


def header_at(text: str) -> int:
    return 5 if text.startswith("Met One") else 0


def with_header(text: str, change: Callable[[str], str]) -> str:
    lines = text.split("\n")
    lines[header_at(text)] = change(lines[header_at(text)])
    return "\n".join(lines)


DECIMAL = r"(?<=[,; ])\d+\.\d+(?=[,;]|$)|cat"
MUTATIONS: dict[str, Callable[[str], str | bytes]] = {
    "as it is": lambda text: text,
    "cut in half": lambda text: text[: len(text) // 2],
    "cut in the last cell": lambda text: text[:-4],
    "cut in the header": lambda text: text[:17],
    "header only": lambda text: "\n".join(text.split("\n")[: header_at(text) + 1]) + "\n",
    "empty": lambda _: "",
    "blank lines": lambda _: "\n \n\n",
    "utf-16": lambda text: text.encode("utf-16"),
    "utf-16 without a mark": lambda text: text.encode("utf-16-le"),
    "utf-16 cut": lambda text: text.encode("utf-16")[:-3],
    "latin-1": lambda text: text.replace("s1", "é").replace("cat", "é").encode("latin-1", "replace"),
    "utf-32": lambda text: text.encode("utf-32"),
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "columns shuffled": shuffled,
    "semicolons": lambda text: rewritten(text, ";"),
    "tabs": lambda text: rewritten(text, "\t"),
    "decimal commas": lambda text: re.sub(r"(\d)\.(\d)", r"\1,\2", rewritten(text, ";")),
    "decimal commas between commas": lambda text: re.sub(r"(\d)\.(\d)", r"\1,\2", text),
    "NaN": lambda text: replace_last(text, DECIMAL, "NaN"),
    "1e308": lambda text: re.sub(DECIMAL, "1e308", text),
    "infinite": lambda text: replace_last(text, DECIMAL, "-inf"),
    "text for numbers": lambda text: re.sub(DECIMAL, "abc", text),
    "HTML in names": lambda text: text.replace("s1", HTML).replace("ann", HTML),
    "HTML in the header": lambda text: with_header(text, lambda line: line.replace("e", HTML, 1)),
    "mixed zones": lambda text: replace_last(text, r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d", "2021-03-04 05:00:00+05:45"),
    "no zones": lambda text: re.sub(r"(Z| UTC|[+-]\d\d:\d\d)(?=[,;])", "", text),
    "absurd year": lambda text: text.replace("2021-", "0021-").replace("161", "999999999161"),
    "impossible date": lambda text: text.replace("2021-03-0", "2021-13-4"),
    "a long cell": lambda text: replace_last(text, r"s1|ann|gold|cat|20", "x" * 10**6),
    "a long number": lambda text: replace_last(text, DECIMAL, "9" * 10**6),
    "a long header": lambda text: with_header(text, lambda line: line + _separator(text) + "y" * 10**6),
    "NULs at the start": lambda text: "\0\0" + text,
    "NULs late": lambda text: text + text.split("\n")[-2] * 200 + "\0\n",
    "NUL in the last row": lambda text: replace_last(text * 40, r"s1|ann|gold|cat|20", "\0"),
    "quotes unbalanced": lambda text: replace_last(text, r"(?<=[,;])", '"'),
    "quote in the header": lambda text: '"' + text,
    "quotes everywhere": lambda text: text.replace(",", '","'),
    "header twice": lambda text: text + text.split("\n")[header_at(text)] + "\n",
    "columns twice": lambda text: "\n".join(line + _separator(text) + line for line in text.split("\n")),
    "rows twice": lambda text: text + "\n".join(text.rstrip("\n").split("\n")[header_at(text) + 1 :]) + "\n",
    "names in capitals": lambda text: with_header(text, str.upper),
    "blanks around names": lambda text: with_header(text, lambda line: re.sub(r"([,;])", r" \1  ", line)),
    "a name gone": lambda text: with_header(text, lambda line: re.sub(r"[^,;]*$", "", line)),
    "old line ends": lambda text: text.replace("\n", "\r"),
    "mixed line ends": lambda text: text.replace("\n", "\r", 1).replace("\n", "\r\n", 2),
    "too few fields": lambda text: replace_last(text, r"[,;][^,;]*$", ""),
    "broken JSON": lambda text: text.replace("{", "[").replace("}", ""),
    "a zip": lambda text: b"PK\x03\x04" + text.encode(),
    "a broken gzip": lambda text: b"\x1f\x8b\x08" + text.encode(),
    "broken Parquet": lambda text: b"PAR1" + text.encode() + b"PAR1",
    "random bytes": lambda text: text.encode() + random.Random(5).randbytes(500),
}  # fmt: skip


@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.parametrize("source", SOURCES)
def test_mutated_files_end_in_data_or_in_a_clear_error(tmp_path: Path, source: str, mutation: str) -> None:
    content = MUTATIONS[mutation](TEXTS[source])
    path = tmp_path / "in.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for named in (source, None):
        try:
            result = import_files([path], named, ReadOptions(zone="Africa/Kampala"))
        except DataError as reason:
            errors = [problem for problem in reason.problems if problem.severity is Severity.ERROR]
            said = str(reason)
            assert errors
            assert all(problem.file == "in.csv" and problem.remedy for problem in errors)
            assert len(said) < 2000
            assert mutation not in UNHARMFUL
        else:
            assert len(result.frame)
            assert all(len(problem.message) < 2000 for problem in result.problems)
            assert "value" not in result.frame or np.isfinite(result.frame["value"]).all()


UNHARMFUL = {
    "as it is", "utf-16", "utf-16 without a mark", "byte order mark", "semicolons", "tabs", "rows twice", "NaN",
    "names in capitals", "blanks around names", "old line ends", "infinite",
}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_scrambled_bytes_never_crash(tmp_path: Path, source: str, data: st.DataObject) -> None:
    content = bytearray(TEXTS[source].encode())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(content)))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.sampled_from(SCRAPS) | st.binary(max_size=3))
    path = tmp_path / "in.csv"
    path.write_bytes(content)
    named = data.draw(st.sampled_from([source, None]))
    options = ReadOptions(zone=data.draw(st.sampled_from(["Africa/Kampala", None])))
    try:
        assert len(import_files([path], named, options).frame)
    except CalibdashError as reason:
        hint = reason.hint
        assert hint


SCRAPS = [
    b",",
    b";",
    b'"',
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b"nan",
    b"1e999",
    b"-",
    b"[",
    b"}",
    b"\xe2\x80\xa8",
    b"9" * 30,
]
