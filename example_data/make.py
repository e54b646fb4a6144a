"""Rebuild the example data: ``python example_data/make.py [FOLDER]``. Everything in it is simulated."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from calibdash.data.simulate import (
    PRESETS,
    LabelRecipe,
    SimulatedNetwork,
    simulate_labels,
    simulate_measurements,
    write_labels,
    write_measurements,
    write_network,
)
from calibdash.data.simulate.meetings import plan_meetings
from calibdash.data.simulate.network import build_scene, observe
from calibdash.data.simulate.places import kilometres

HERE = Path(__file__).parent
KAMPALA = replace(
    PRESETS["city"],
    name="Kampala",
    seed=7,
    start="2024-02-01T00:00:00Z",
    days=120,
    statics=17,
    references=2,
    mobiles=3,
    reference_visits=0.35,
    other_visits=2.4,
    readings_per_visit=5,
    pairs=1,
    pair_uptime=0.15,
    gain_drift=0.15,
    truth_hours=24.0,
)
# References, then the static beside the second of them, then other statics, then mobiles at their stages.
SENSORS = """
aq-01   | Makerere University          | 0.33360 | 32.56750 | 1
aq-02   | Nakawa reference             | 0.33225 | 32.61370 | 1
aq-03   | Nakawa, beside the reference | 0.33229 | 32.61375 | 1
aq-04   | Bwaise taxi park             | 0.35010 | 32.56040 | 3
aq-05   | Kisenyi workshops            | 0.30950 | 32.57010 | 3
aq-06   | Nakasero market              | 0.31170 | 32.58090 | 2
aq-07   | Kawempe market               | 0.37920 | 32.55740 | 3
aq-08   | Kamwokya clinic              | 0.34180 | 32.58960 | 2
aq-09   | Ntinda primary school        | 0.35390 | 32.61220 | 2
aq-10   | Bugolobi flats               | 0.31820 | 32.62030 | 1
aq-11   | Kireka roundabout            | 0.34660 | 32.64920 | 2
aq-12   | Katwe metalworkers           | 0.29790 | 32.57230 | 3
aq-13   | Rubaga hill                  | 0.30240 | 32.55310 | 1
aq-14   | Makindye barracks road       | 0.27930 | 32.58570 | 1
aq-15   | Kansanga church              | 0.28690 | 32.60770 | 1
aq-16   | Ggaba landing site           | 0.25810 | 32.63690 | 1
aq-17   | Nansana town council         | 0.36380 | 32.52920 | 2
boda-01 | Boda boda, Wandegeya stage   | 0.33010 | 32.57370 | 1
boda-02 | Boda boda, Ntinda stage      | 0.34720 | 32.61480 | 1
boda-03 | Boda boda, Katwe stage       | 0.30020 | 32.57620 | 1
"""
DRIFTS_STRONGLY, LOG_GAIN_PER_DAY = "aq-05", 1.0 / 120  # dust settles in it: its gain more than doubles
LEFT_ALONE, LAST_VISIT_DAY = "aq-16", 52  # nobody goes there any more
MEASURED_DAYS = 3

BEES = LabelRecipe(
    name="Bumblebees",
    seed=3,
    classes=6,
    labellers=10,
    paper_labellers=False,
    label_share=0.35,
    skill=3.2,
    skill_sd=0.8,
    truth_steps=10,
)
SPECIES = (
    "Bombus terrestris/lucorum",
    "Bombus lapidarius",
    "Bombus pascuorum",
    "Bombus pratorum",
    "Bombus hortorum",
    "Bombus hypnorum",
)
PEOPLE = ("Amina", "Ben", "Chiara", "Daudi", "Elsie", "Farid", "Grace", "Hanne", "Ines", "camera-cnn", "Dr Okello")


def kampala() -> SimulatedNetwork:
    """The recipe's city with our names and places, one sensor that drifts away and one that is left alone."""
    scene_rng, meeting_rng, reading_rng = np.random.default_rng(KAMPALA.seed).spawn(3)
    scene = build_scene(KAMPALA, scene_rng)
    sensors, km = named(scene.sensors)
    drifting = np.where(sensors["sensor"] == DRIFTS_STRONGLY, LOG_GAIN_PER_DAY / 24, 0.0)
    scene = replace(scene, sensors=sensors, km=km, log_gain=replace(scene.log_gain, trend=drifting))
    meetings = plan_meetings(KAMPALA, km, meeting_rng)
    alone = meetings.site == np.flatnonzero(sensors["sensor"] == LEFT_ALONE)[0]
    return observe(scene, meetings.where(~alone | (meetings.hours < 24 * LAST_VISIT_DAY)), reading_rng)


def named(sensors: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """Our ids, labels, positions and weights in place of the recipe's, and the positions in km."""
    rows = [[cell.strip() for cell in line.split("|")] for line in SENSORS.strip().splitlines()]
    ids, labels, latitude, longitude, weight = zip(*rows, strict=True)
    north, east = np.array(latitude, dtype=float), np.array(longitude, dtype=float)
    mobile = (sensors["kind"] == "mobile").to_numpy()
    table = sensors.assign(
        sensor=ids,
        label=labels,
        type=np.where(sensors["reference"], "BAM 1022", "PMS5003"),
        weight=np.array(weight, dtype=float),
        latitude=np.where(mobile, np.nan, north),
        longitude=np.where(mobile, np.nan, east),
        base_latitude=np.where(mobile, north, np.nan),
        base_longitude=np.where(mobile, east, np.nan),
    )
    return table, kilometres(KAMPALA, north, east)


def make(folder: Path) -> None:
    """Write ``kampala`` and ``bees`` into the folder."""
    city = kampala()
    write_network(city, folder / "kampala")
    last_days = simulate_measurements(city, first_day=KAMPALA.days - MEASURED_DAYS, days=MEASURED_DAYS)
    write_measurements(last_days, folder / "kampala" / "measurements.csv")
    write_labels(simulate_labels(BEES, classes=SPECIES, labellers=PEOPLE), folder / "bees")


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
