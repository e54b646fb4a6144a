"""A realistic sample of every source, worked out by hand, and the traps of each."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from calibdash.data.problems import DataError, Severity
from calibdash.data.readers import SOURCES, Imported, ReadOptions, detect, import_files
from calibdash.errors import CalibdashError

AIRQO = """device_name,datetime,s1_pm2_5,s2_pm2_5,s1_pm10,s2_pm10,latitude,longitude,temperature,humidity,network,frequency
aq_g501,2025-01-01 00:05:00Z,40.5,41.5,50,52,0.3476,32.5825,22.5,81,airqo,raw
aq_g501,2025-01-01 00:00:00Z,30,,33,35,0.3476,32.5825,22.7,80,airqo,raw
007,2025-01-01 00:00:00Z,10,90,33,35,0,0,,,airqo,raw
aq_g501,2025-01-01 00:10:00Z,,,33,35,0.3476,32.5825,22.7,80,airqo,raw
"""  # noqa: E501
MOBILE = """timestamp,device_number,device_id,latitude,longitude,s1_pm2_5,s2_pm2_5,hdop,satellites,pm2_5_raw_value,pm2_5_calibrated_value
2021-07-15T09:00:00Z,1379827,aqm_7,0.31,32.58,60,62,1.1,9,61.0,44.2
2021-07-15T09:00:30Z,1379827,aqm_7,0.32,32.59,50,52,1.1,9,51.5,33.1
"""  # noqa: E501
OPENAQ = """location_id,sensors_id,location,datetime,lat,lon,parameter,units,value
2178,3917,Del Norte-2178,2021-07-01T01:00:00-06:00,35.13,-106.58,pm25,µg/m³,12.5
2178,3916,Del Norte-2178,2021-07-01T01:00:00-06:00,35.13,-106.58,o3,ppm,0.03
2178,3917,Del Norte-2178,2021-07-01T02:00:00-06:00,35.13,-106.58,pm25,µg/m³,-999.0
2178,3917,Del Norte-2178,2021-07-01T03:00:00-06:00,35.13,-106.58,pm25,µg/m³,-1.5
"""
PURPLEAIR = """time_stamp,sensor_index,humidity,temperature,pressure,pm2.5_atm,pm2.5_atm_a,pm2.5_atm_b,pm2.5_cf_1,pm2.5_cf_1_a,pm2.5_cf_1_b
1672531200,131075,45,68,1012.1,20.1,20.0,20.2,30.2,30.0,30.4
1672531320,131075,46,50,1012.1,21.1,21.0,21.2,31.2,31.0,31.4
"""  # noqa: E501
SENSOR_COMMUNITY = """sensor_id;sensor_type;location;lat;lon;timestamp;P1;durP1;ratioP1;P2;durP2;ratioP2
92;SDS011;42;48.8;9.003;2023-03-01T00:00:12;18.25;;;9.13;;
92;SDS011;42;48.8;9.003;2023-03-01T00:02:40;17,5;;;8,75;;
"""
THINGSPEAK = """created_at,entry_id,field1,field2,field3,field4,field5,field6,field7,field8,latitude,longitude,elevation,status
2020-01-01 00:00:00 UTC,1,35.0,40.0,37.0,41.0,0.0,0.0,4.0,"0.3,32.5,1170",,,,
2020-01-01T03:01:30+03:00,2,36.0,40.0,38.0,41.0,0.0,0.0,4.0,"0.3,32.5,1170",,,,
"""  # noqa: E501
BAM = """Met One Instruments
Model, BAM 1020
Station, 1
Serial Number, X17441
Data Report, 2021-01-01
Time, ConcRT(ug/m3), ConcHR(ug/m3), Flow(lpm), AT(C), RH(%), Status
2021-01-01 01:00:00, 30, 41, 16.7, 20.5, 80, 0
2021-01-01 02:00:00, 30, 985, 16.7, 20.5, 80, 32
2021-01-01 03:00:00, 30, -3, 16.7, 20.1, 81, 0
"""
LONG = """task,worker,label
q1,ann,cat
q1,bob,dog
q2,ann,
007,ann,dog
"""
WIDE = """image,ann,bob,ground_truth
i1,cat,dog,cat
i2,,dog,dog
"""
OWN = """time,sensor,value,humidity
2025-01-01T03:00:00+03:00,007,12.5,80
2025-01-01T00:00:00Z,6,1e7,
"""


def zooniverse_row(number: int, user: str, annotations: object, **cells: str) -> dict[str, str]:
    row = {
        "classification_id": str(number),
        "user_name": user,
        "user_id": "",
        "user_ip": "abc",
        "workflow_id": "11",
        "workflow_name": "Frogs, by ear",
        "workflow_version": "3.4",
        "created_at": f"2020-01-01 00:00:{number:02d} UTC",
        "gold_standard": "",
        "expert": "",
        "metadata": "{}",
        "annotations": annotations if isinstance(annotations, str) else json.dumps(annotations),
        "subject_data": json.dumps({"5": {"retired": None, "file": "a,b.mp3"}}),
        "subject_ids": "5",
    }
    return row | cells


def question(value: object, task: str = "T0") -> list[dict[str, object]]:
    return [{"task": task, "task_label": "What is it?", "value": value}]


def zooniverse(*rows: dict[str, str]) -> str:
    return pd.DataFrame(rows).to_csv(index=False)


ZOONIVERSE = zooniverse(
    zooniverse_row(1, "ann", question("Yes")),
    zooniverse_row(2, "not-logged-in-77", question([{"choice": "FROG", "answers": {}}]), subject_ids="6"),
    zooniverse_row(3, "ann", question([{"select_label": "Main", "option": True, "value": "hash", "label": "No"}])),
    zooniverse_row(4, "prof", question(None), expert="expert"),
    zooniverse_row(5, "prof", question("Yes"), gold_standard="true"),
)
SAMPLES = {
    "airqo": AIRQO,
    "airqo-mobile": MOBILE,
    "openaq": OPENAQ,
    "purpleair": PURPLEAIR,
    "sensor-community": SENSOR_COMMUNITY,
    "thingspeak": THINGSPEAK,
    "bam": BAM,
    "zooniverse": ZOONIVERSE,
    "labels-long": LONG,
    "labels-wide": WIDE,
    "calibdash": OWN,
}
KAMPALA = ReadOptions(zone="Africa/Kampala")


@pytest.fixture
def read(tmp_path: Path):
    def read_text(
        text: str | bytes, options: ReadOptions | None = None, source: str | None = None, name: str = "in.csv"
    ):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return import_files([path], source, options)

    return read_text


def rows(imported: Imported) -> list[tuple[object, ...]]:
    frame = imported.frame.copy()
    if "time" in frame:
        frame["time"] = frame["time"].dt.strftime("%Y-%m-%d %H:%M:%S")
    return [tuple(None if pd.isna(cell) else cell for cell in row) for row in frame.itertuples(index=False)]


def codes(imported: Imported, severity: Severity = Severity.WARNING) -> dict[str, int]:
    return {problem.code: problem.count for problem in imported.problems if problem.severity is severity}


def failure(read, *arguments: object, **keywords: object) -> dict[str, object]:
    with pytest.raises(DataError) as caught:
        read(*arguments, **keywords)
    errors = [problem for problem in caught.value.problems if problem.severity is Severity.ERROR]
    assert all(problem.file and problem.remedy for problem in errors)
    return {problem.code: problem for problem in errors}


def test_airqo(read) -> None:
    imported = read(AIRQO)
    assert imported.table == "measurements"
    assert imported.labellers is None
    assert list(imported.frame) == ["time", "sensor", "value", "latitude", "longitude", "humidity", "temperature"]
    assert str(imported.frame["time"].dtype) == "datetime64[us, UTC]"
    assert rows(imported) == [
        ("2025-01-01 00:00:00", "007", 50.0, None, None, None, None),
        ("2025-01-01 00:00:00", "aq_g501", 30.0, 0.3476, 32.5825, 80.0, 22.7),
        ("2025-01-01 00:05:00", "aq_g501", 41.0, 0.3476, 32.5825, 81.0, 22.5),
    ]
    assert codes(imported) == {"one-channel": 1, "channels-apart": 1, "no-fix": 1, "missing": 1}


def test_airqo_pm10_and_one_channel(read) -> None:
    assert rows(read(AIRQO, ReadOptions(pollutant="pm10")))[0][2] == 34.0
    single = "device_name,datetime,s2_pm2_5,s1_pm10\na,2025-01-01 00:00:00Z,12,13\n"
    assert rows(read(single)) == [("2025-01-01 00:00:00", "a", 12.0)]


@pytest.mark.parametrize(("first", "other", "apart"), [(1, 5.9, 0), (1, 6.1, 1), (10, 16.6, 0), (10, 16.7, 1)])
def test_airqo_channels_apart_below_five_or_half(read, first: float, other: float, apart: int) -> None:
    text = f"device_name,datetime,s1_pm2_5,s2_pm2_5\na,2025-01-01 00:00:00Z,{first},{other}\n"
    assert codes(read(text)) == ({"channels-apart": 1} if apart else {})


def test_airqo_mobile_takes_the_raw_value(read) -> None:
    imported = read(MOBILE)
    assert rows(imported) == [
        ("2021-07-15 09:00:00", "aqm_7", 61.0, 0.31, 32.58),
        ("2021-07-15 09:00:30", "aqm_7", 51.5, 0.32, 32.59),
    ]
    assert codes(imported, Severity.NOTE) == {"raw-value": 1}


def test_openaq(read) -> None:
    imported = read(OPENAQ)
    assert rows(imported) == [
        ("2021-07-01 07:00:00", "3917", 12.5, 35.13, -106.58),
        ("2021-07-01 09:00:00", "3917", -1.5, 35.13, -106.58),
    ]
    assert codes(imported) == {"impossible": 1}
    assert codes(imported, Severity.NOTE) == {"parameter": 1}


def test_openaq_units_must_be_one(read) -> None:
    problem = failure(read, OPENAQ.replace("µg/m³,-1.5", "mg/m³,0.0015"))["units"]
    assert (problem.places[0].row, problem.places[0].value) == (5, "mg/m³")
    for spelling in ("ug/m3", "μg/m³", "UG/M^3"):
        assert len(read(OPENAQ.replace("µg/m³", spelling)).frame) == 2
    assert len(read(OPENAQ.replace("pm25", "pm2.5")).frame) == 2
    assert "o3" in failure(read, OPENAQ, ReadOptions(pollutant="pm10"))["no-rows"].message


def test_purpleair(read) -> None:
    imported = read(PURPLEAIR)
    assert rows(imported) == [
        ("2023-01-01 00:00:00", "131075", 30.2, 45.0, 20.0),
        ("2023-01-01 00:02:00", "131075", 31.2, 46.0, 10.0),
    ]
    assert "pm2.5_cf_1" in imported.problems[0].message
    atm = read(PURPLEAIR, ReadOptions(variant="atm"))
    assert list(atm.frame["value"]) == [20.1, 21.1]
    iso = PURPLEAIR.replace("1672531200", "2023-01-01T00:00:00Z")
    assert rows(read(iso)) == rows(imported)


def test_purpleair_channels_and_missing_variant(read) -> None:
    channels = "time_stamp,sensor_index,pm2.5_atm_a,pm2.5_atm_b\n1672531200,9,10,14\n"
    assert rows(read(channels)) == [("2023-01-01 00:00:00", "9", 12.0)]
    assert "column-missing" in failure(read, channels, ReadOptions(variant="cf_1"))
    nameless = "time_stamp,pm2.5_atm\n1672531200,10\n"
    assert rows(read(nameless, name="roof.csv")) == [("2023-01-01 00:00:00", "roof", 10.0)]
    broken = PURPLEAIR.replace(",68,", ",2147483447,")
    assert codes(read(broken)) == {"impossible": 1}


def test_sensor_community(read) -> None:
    imported = read(SENSOR_COMMUNITY)
    assert rows(imported) == [
        ("2023-03-01 00:00:12", "92", 9.13, 48.8, 9.003),
        ("2023-03-01 00:02:40", "92", 8.75, 48.8, 9.003),
    ]
    assert list(read(SENSOR_COMMUNITY, ReadOptions(pollutant="pm10")).frame["value"]) == [18.25, 17.5]
    weather = (
        "sensor_id;sensor_type;location;lat;lon;timestamp;temperature;humidity\n1;DHT22;2;3;4;2023-03-01T00:00:00;5;6\n"
    )
    assert "P2" in failure(read, weather)["column-missing"].message


def test_thingspeak(read) -> None:
    imported = read(THINGSPEAK, name="718028.csv")
    assert rows(imported) == [
        ("2020-01-01 00:00:00", "718028", 36.0),
        ("2020-01-01 00:01:30", "718028", 37.0),
    ]
    assert codes(imported, Severity.NOTE) == {"fields": 1, "sensor": 1}
    chosen = read(THINGSPEAK, ReadOptions(sensor="roof", fields=("field2",)))
    assert rows(chosen)[0] == ("2020-01-01 00:00:00", "roof", 40.0)
    naive = THINGSPEAK.replace(" UTC", "")
    assert failure(read, naive)["zone-missing"].count == 1
    assert rows(read(naive, KAMPALA))[0][0] == "2019-12-31 21:00:00"
    assert list(read(THINGSPEAK, ReadOptions(pollutant="pm10")).frame["value"]) == [40.5, 40.5]


def test_bam(read) -> None:
    imported = read(BAM, KAMPALA, name="Makerere.csv")
    assert rows(imported) == [
        ("2020-12-31 22:00:00", "Makerere", 41.0, 80.0, 20.5),
        ("2021-01-01 00:00:00", "Makerere", -3.0, 81.0, 20.1),
    ]
    assert codes(imported) == {"status": 1}
    status = next(problem for problem in imported.problems if problem.code == "status")
    assert [(place.row, place.value) for place in status.places] == [(8, "32")]
    assert failure(read, BAM)["zone-missing"].count == 2


def test_bam_variants(read) -> None:
    ends = read(BAM, ReadOptions(zone="Africa/Kampala", hour_stamp="end"))
    assert rows(ends)[0][0] == "2020-12-31 21:00:00"
    milligrams = (
        BAM.replace("ConcHR(ug/m3)", "ConcHR(mg/m3)").replace(", 41,", ", 0.041,").replace(", -3,", ", -0.003,")
    )
    assert list(read(milligrams, KAMPALA).frame["value"]) == pytest.approx([41.0, -3.0])
    for name in ("ConcHR(µg/m3)", "conchr (ug/m3)", "ConcHR"):
        assert list(read(BAM.replace("ConcHR(ug/m3)", name), KAMPALA).frame["value"]) == [41.0, -3.0]
    bare = BAM.split("\n", 5)[5]
    assert rows(read(bare, KAMPALA)) == rows(read(BAM, KAMPALA))
    assert rows(read(bare, KAMPALA, "bam")) == rows(read(BAM, KAMPALA, "bam"))
    assert rows(read(BAM.replace("\n", "\r\n"), KAMPALA)) == rows(read(BAM, KAMPALA))


def test_bam_hour_that_happens_twice(read) -> None:
    text = "Time,ConcHR(ug/m3),Status\n2021-10-31 02:30:00,1,0\n"
    problem = failure(read, text, ReadOptions(zone="Europe/Berlin"))["bad-time"]
    assert "Etc/GMT" in problem.remedy
    assert rows(read(text, ReadOptions(zone="Etc/GMT-1"))) == [("2021-10-31 01:30:00", "in", 1.0)]


def test_zooniverse(read) -> None:
    imported = read(ZOONIVERSE)
    assert imported.table == "labels"
    assert rows(imported) == [
        ("5", "ann", "Yes", "2020-01-01 00:00:01"),
        ("6", "not-logged-in-77", "FROG", "2020-01-01 00:00:02"),
        ("5", "ann", "No", "2020-01-01 00:00:03"),
        ("5", "prof", "Yes", "2020-01-01 00:00:05"),
    ]
    assert imported.labellers is not None
    assert imported.labellers.values.tolist() == [["ann", False], ["not-logged-in-77", False], ["prof", True]]
    assert codes(imported, Severity.NOTE) == {"no-label": 1}


def test_zooniverse_workflows_and_tasks(read) -> None:
    both = zooniverse(
        zooniverse_row(1, "ann", question("Yes") + question("Red", "T1")),
        zooniverse_row(2, "bob", question("No"), workflow_id="12", workflow_name="Birds"),
    )
    assert "11 (Frogs, by ear), 12 (Birds)" in failure(read, both)["workflow"].message
    assert list(read(both, ReadOptions(workflow="Birds")).frame["label"]) == ["No"]
    assert "T0 (1), T1 (1)" in failure(read, both, ReadOptions(workflow="11"))["task"].message
    assert list(read(both, ReadOptions(workflow="11", task="T1")).frame["label"]) == ["Red"]
    assert "workflow" in failure(read, both, ReadOptions(workflow="13"))
    assert "task" in failure(read, both, ReadOptions(workflow="11", task="T9"))


def test_zooniverse_values(read) -> None:
    combined = [{"task": "T9", "value": question("Yes", "T0")}]
    text = zooniverse(
        zooniverse_row(1, "a", question(["b", "a"])),
        zooniverse_row(2, "a", question(0)),
        zooniverse_row(3, "a", question(True)),
        zooniverse_row(4, "a", question({"choice": "LION"})),
        zooniverse_row(5, "a", combined),
        zooniverse_row(6, "a", question([])),
    )
    imported = read(text)
    assert list(imported.frame["label"]) == ["a + b", "0", "true", "LION", "Yes"]
    assert codes(imported, Severity.NOTE) == {"several-answers": 1, "no-label": 1}


def test_zooniverse_bad_cells(read) -> None:
    text = zooniverse(
        zooniverse_row(1, "a", "{'task': 1}"),
        zooniverse_row(2, "a", question([{"x": 1, "y": 2}])),
        zooniverse_row(3, "a", question("Yes"), expert="perhaps"),
        zooniverse_row(4, "a", question("Yes"), created_at="yesterday"),
        zooniverse_row(5, "a", "[" * 100_000),
        zooniverse_row(6, "a", "3"),
    )
    problems = failure(read, text)
    assert [place.row for place in problems["bad-json"].places] == [2, 6, 7]
    assert [place.row for place in problems["bad-answer"].places] == [3]
    assert [place.row for place in problems["bad-flag"].places] == [4]
    assert [place.row for place in problems["bad-time"].places] == [5]


def test_labels_long(read) -> None:
    imported = read(LONG)
    assert rows(imported) == [("q1", "ann", "cat"), ("q1", "bob", "dog"), ("007", "ann", "dog")]
    assert imported.labellers is not None
    assert not imported.labellers["reference"].any()
    for header in ("item,labeller,label", "question,annotator,answer", " Subject ,USER,Class"):
        assert rows(read(LONG.replace("task,worker,label", header))) == rows(imported)
    named = read(LONG, ReadOptions(reference="bob"))
    assert named.labellers is not None
    assert named.labellers.values.tolist() == [["ann", False], ["bob", True]]
    assert "reference-missing" in failure(read, LONG, ReadOptions(reference="zoe"))
    assert "missing" in failure(read, LONG + ",ann,cat\n")


def test_labels_long_with_truth_beside_and_order(read) -> None:
    text = "task,worker,label,order,truth\nq1,ann,cat,2,dog\nq1,bob,dog,1,dog\n"
    imported = read(text)
    assert rows(imported) == [("q1", "bob", "dog", 1.0), ("q1", "ann", "cat", 2.0), ("q1", "truth", "dog", 2.0)]
    assert imported.labellers is not None
    assert imported.labellers.values.tolist() == [["ann", False], ["bob", False], ["truth", True]]


def test_labels_wide(read) -> None:
    imported = read(WIDE)
    expected = [
        ("i1", "ann", "cat"),
        ("i1", "bob", "dog"),
        ("i2", "bob", "dog"),
        ("i1", "ground_truth", "cat"),
        ("i2", "ground_truth", "dog"),
    ]
    assert rows(imported) == expected
    assert imported.labellers is not None
    assert imported.labellers.values.tolist() == [["ann", False], ["bob", False], ["ground_truth", True]]
    assert codes(imported, Severity.NOTE) == {"reference": 1, "no-label": 1}
    chosen = read(WIDE, ReadOptions(reference="Bob", item="IMAGE"), "labels-wide")
    assert chosen.labellers is not None
    assert chosen.labellers.values.tolist() == [["ann", False], ["bob", True], ["ground_truth", False]]
    assert "column-missing" in failure(read, "image\ni1\n", source="labels-wide")
    assert "reference-missing" in failure(read, WIDE, ReadOptions(reference="zoe"))


def test_own_tables(read) -> None:
    assert rows(read(OWN)) == [("2025-01-01 00:00:00", "007", 12.5, 80.0), ("2025-01-01 00:00:00", "6", 1e7, None)]
    hours = read("time,sensor,value\n1.5,a,2\n0,b,3\n")
    assert hours.frame.values.tolist() == [[0.0, "b", 3.0], [1.5, "a", 2.0]]
    assert rows(read("item,labeller,label\nq,a,x\n", source="calibdash")) == [("q", "a", "x")]


@pytest.mark.parametrize("name", SAMPLES)
def test_detected(read, name: str) -> None:
    text = BAM.split("\n", 5)[5] if name == "bam" else SAMPLES[name]
    separator = ";" if name == "sensor-community" else ","
    header = text.split("\n", 1)[0].split(separator)
    assert detect(header).name == name
    assert detect([f" {column.upper()} " for column in reversed(header)]).name == name
    assert SOURCES[name].table == read(SAMPLES[name], KAMPALA).table


def test_unknown_source_names_the_known(read) -> None:
    problem = failure(read, "x,y\n1,2\n")["source-unknown"]
    assert all(name in problem.remedy for name in SOURCES)
    with pytest.raises(CalibdashError, match="airqo"):
        read(AIRQO, source="airq")


def test_parquet_keeps_types(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "device_name": pd.Categorical(["a", "b"]),
            "datetime": pd.to_datetime(["2025-01-01", "2025-01-02"], utc=True),
            "s1_pm2_5": [1.0, 2.0],
            "s2_pm2_5": [2.0, None],
        }
    )
    frame.to_parquet(tmp_path / "in.parquet")
    assert rows(import_files([tmp_path / "in.parquet"])) == [
        ("2025-01-01 00:00:00", "a", 1.5),
        ("2025-01-02 00:00:00", "b", 2.0),
    ]


def test_several_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(AIRQO)
    (tmp_path / "b.csv").write_text(MOBILE)
    (tmp_path / "c.csv").write_text(AIRQO)
    imported = import_files([tmp_path / name for name in ("a.csv", "b.csv", "c.csv")])
    assert [row[1] for row in rows(imported)] == ["aqm_7", "aqm_7", "007", "aq_g501", "aq_g501"]
    duplicate = next(problem for problem in imported.problems if problem.code == "duplicate")
    assert duplicate.count == 3


def test_all_problems_of_all_files_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(AIRQO.replace("40.5", "forty").replace("22.5,", "warm,"))
    (tmp_path / "b.csv").write_text(MOBILE.replace("T09:00:30Z", ""))
    (tmp_path / "c.csv").write_text(LONG)
    with pytest.raises(DataError) as caught:
        import_files([tmp_path / name for name in ("a.csv", "b.csv", "c.csv", "d.csv")])
    errors = [problem for problem in caught.value.problems if problem.severity is Severity.ERROR]
    assert [(problem.file, problem.code) for problem in errors[:4]] == [
        ("a.csv", "bad-number"),
        ("a.csv", "bad-number"),
        ("b.csv", "zone-missing"),
        ("d.csv", "file-missing"),
    ]
    first = errors[0].as_dict()
    assert (first["row"], first["column"], first["value"]) == (2, "s1_pm2_5", "forty")
    assert errors[4].code == "mixed"


@pytest.mark.parametrize(
    "wrong",
    [
        {"zone": "Africa/Kampla"},
        {"pollutant": "no2"},
        {"variant": "cf"},
        {"hour_stamp": "middle"},
        {"sensor": " "},
        {"fields": ("a", "b", "c")},
    ],
)
def test_options_are_checked(wrong: dict[str, object]) -> None:
    with pytest.raises(CalibdashError) as caught:
        ReadOptions(**wrong)  # type: ignore[arg-type]
    assert caught.value.hint


def test_missing_columns_are_all_named(read) -> None:
    problems = failure(read, "device_name,datetimes,s3\na,b,c\n", source="airqo")
    assert "datetimes" in problems["column-missing"].remedy or "s1_pm2_5" in problems["column-missing"].message
    with pytest.raises(DataError) as caught:
        read("device_name,datetimes,s3\na,b,c\n", source="airqo")
    assert [problem.column for problem in caught.value.problems] == ["datetime", "s1_pm2_5", "s2_pm2_5"]


def test_nothing_left(read) -> None:
    assert "no-rows" in failure(read, AIRQO.split("\n", 1)[0] + "\n")
    assert "Status" not in failure(read, BAM.replace(", 0\n", ", 1\n"), KAMPALA)["no-rows"].message


def test_absurd_times(read) -> None:
    text = (
        "device_name,datetime,s1_pm2_5\na,0001-01-01 00:00:00Z,1\na,9999-12-31 00:00:00Z,2\na,2020-01-01 00:00:00Z,3\n"
    )
    assert failure(read, text)["bad-time"].count == 2


def test_column_twice(read) -> None:
    assert "column-twice" in failure(read, "device_name,datetime,s1_pm2_5,S1_PM2_5 \na,2020-01-01 00:00:00Z,1,2\n")
