"""Encounters out of millions of measurements: rows a second and peak memory, beside pandas' ``merge_asof``.

A simulated city of 51 sensors over 203 days (45 statics, 2 references, 4 mobiles riding about with GPS noise,
four permanently colocated pairs, one of them at a reference), one measurement a sensor every 2.5 minutes: 6
million rows of CSV, and the first 1 and 3 million of them. Both ways read the same file, each in a process of
its own, and take the paper's 40 m, 30 min, 10 min and 10–300.

The baseline does less: for each pair of sensors it takes only the *nearest* partner in time of each measurement,
not every partner within the window; and it is spared the pairs of statics that stand apart.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
from rich.console import Console
from rich.table import Table

SIZES = (1_000_000, 3_000_000, 6_000_000)
QUICK_SIZES = (20_000, 60_000)
EARTH_M = 6_371_008.8
WAYS = ("calibdash", "merge_asof")


def main(quick: bool = False) -> None:
    sizes = QUICK_SIZES if quick else SIZES
    table = Table(title="Encounters: all pairs in 40 m and 30 min (merge_asof: nearest partner only)")
    for heading in (
        "rows",
        "way",
        "seconds",
        "rows/s",
        "peak MB",
        "colocations",
        "time ÷ calibdash",
        "memory ÷ calibdash",
    ):
        table.add_column(heading, justify="left" if heading == "way" else "right")
    with tempfile.TemporaryDirectory(prefix="calibdash-benchmark-") as name:
        folder = Path(name)
        write_city(folder, sizes)
        for size in sizes:
            results = {way: run_apart(way, folder, size) for way in WAYS}
            ours = results["calibdash"]
            for way, result in results.items():
                table.add_row(
                    f"{result['rows']:,}",
                    way,
                    f"{result['seconds']:.1f}",
                    f"{result['rows'] / result['seconds']:,.0f}",
                    f"{result['peak_bytes'] / 1e6:,.0f}",
                    f"{result['colocations']:,}",
                    f"{result['seconds'] / ours['seconds']:.2f}",
                    f"{result['peak_bytes'] / ours['peak_bytes']:.2f}",
                )
    Console(width=130).print(table)


def write_city(folder: Path, sizes: tuple[int, ...]) -> None:
    """``sensors.csv``, and ``SIZE.csv`` with the first rows of the same record for each size."""
    from calibdash.data.simulate import PRESETS, simulate_measurements, simulate_network

    city = simulate_network(PRESETS["city"])
    city.scene.sensors.to_csv(folder / "sensors.csv", index=False)
    every = city.recipe.days * 24 * 60 * len(city.scene.sensors) / SIZES[-1]
    writers: dict[int, pa_csv.CSVWriter] = {}
    written = 0
    for chunk in simulate_measurements(city, every_minutes=every):
        rows = pa.Table.from_pandas(chunk, preserve_index=False)
        for size in sizes:
            if written < size:
                if size not in writers:
                    writers[size] = pa_csv.CSVWriter(folder / f"{size}.csv", rows.schema)
                writers[size].write_table(rows.slice(0, size - written))
        written += len(chunk)
        if written >= sizes[-1]:
            break
    for writer in writers.values():
        writer.close()


def run_apart(way: str, folder: Path, size: int) -> dict[str, float]:
    command = [sys.executable, __file__, way, str(folder / f"{size}.csv"), str(folder / "sensors.csv")]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return {"rows": size, **json.loads(done.stdout)}


def measure(way: str, measurements: Path, sensors: Path) -> dict[str, float]:
    find = {"calibdash": with_calibdash, "merge_asof": with_merge_asof}[way]
    listed = pd.read_csv(sensors, dtype={"sensor": str})
    start = time.perf_counter()
    found = find(measurements, listed)
    return {"seconds": time.perf_counter() - start, "peak_bytes": peak_bytes(), "colocations": len(found)}


def peak_bytes() -> int:
    """The most memory this process held; ``ru_maxrss`` would count its parent's, too."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def with_calibdash(measurements: Path, sensors: pd.DataFrame) -> pd.DataFrame:
    from calibdash.data.encounters import EncounterOptions, find_encounters

    return find_encounters(measurements, sensors, EncounterOptions()).colocations


def with_merge_asof(measurements: Path, sensors: pd.DataFrame) -> pd.DataFrame:
    frame = pd.read_csv(measurements, dtype={"sensor": "str"})
    frame["time"] = pd.to_datetime(frame["time"], utc=True, format="ISO8601")
    frame = frame[frame["value"].between(10, 300)]
    fixed = sensors[sensors["kind"] == "static"].set_index("sensor")
    records = {}
    for sensor, rows in frame.groupby("sensor"):
        if sensor in fixed.index:
            rows = rows.assign(latitude=fixed["latitude"][sensor], longitude=fixed["longitude"][sensor])
        records[sensor] = rows.drop(columns="sensor").sort_values("time").assign(moment=lambda rows: rows["time"])
    found = []
    for a, b in itertools.combinations(sorted(records), 2):
        if a in fixed.index and b in fixed.index and metres(fixed.loc[a], fixed.loc[b]) > 40:
            continue
        pairs = nearest_in_time(records[a], records[b])
        if len(pairs):
            found.append(pairs.assign(sensor_a=a, sensor_b=b))
    return pd.concat(found).sort_values(["time", "sensor_a", "sensor_b"])


def nearest_in_time(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    pairs = pd.merge_asof(
        one, other, on="time", direction="nearest", tolerance=pd.Timedelta("30min"), suffixes=("_a", "_b")
    ).dropna(subset="moment_b")
    positions = [
        pairs[[f"latitude_{side}", f"longitude_{side}"]].set_axis(["latitude", "longitude"], axis=1) for side in "ab"
    ]
    pairs = pairs[metres(*positions) <= 40]
    midpoint = pairs["moment_a"] + (pairs["moment_b"] - pairs["moment_a"]) / 2
    values = [name for name in pairs if name.startswith(("value", "humidity", "temperature"))]
    return pairs.assign(time=midpoint.dt.floor("10min")).groupby("time", as_index=False)[values].mean()


def metres(one: pd.DataFrame | pd.Series, other: pd.DataFrame | pd.Series) -> pd.Series:
    """Distance on a flat map, good enough for a city."""
    north = np.radians(other["latitude"] - one["latitude"])
    east = np.radians(other["longitude"] - one["longitude"]) * np.cos(np.radians(one["latitude"]))
    return EARTH_M * np.hypot(north, east)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(measure(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))))
    else:
        main(quick="--quick" in sys.argv)
