"""The raw record of every sensor, mobiles riding between their visits, made a few days at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from calibdash.data.files import write_atomically, write_table
from calibdash.data.simulate.air import inlet
from calibdash.data.simulate.network import Scene, SimulatedNetwork
from calibdash.data.simulate.places import degrees
from calibdash.data.simulate.rides import Ride, plan_ride

GRID_HOURS = 1 / 6
DRIFT_GRID_HOURS = 6.0
GPS_KM = 0.004


def simulate_measurements(
    simulated: SimulatedNetwork,
    every_minutes: float = 10.0,
    first_day: float = 0.0,
    days: float | None = None,
    chunk_days: float = 7.0,
) -> Iterator[pd.DataFrame]:
    """Chunks of ``time, sensor, value, latitude, longitude`` (and weather), sorted by time.

    Statics' positions are in the sensors table and empty here. Each sensor has its own phase within
    ``every_minutes``. Mobiles ride to the visits of the colocations, as far as they can be in one place.
    """
    scene = simulated.scene
    rng = np.random.default_rng([scene.recipe.seed, 1])
    mobiles = np.flatnonzero(scene.sensors["kind"] == "mobile").tolist()
    rides = {sensor: plan_ride(simulated, sensor) for sensor in mobiles}
    last_day = scene.recipe.days if days is None else min(first_day + days, scene.recipe.days)
    step = every_minutes / 60
    phase = rng.uniform(0, step, len(scene.sensors))
    for day in np.arange(first_day, last_day, chunk_days):
        span = (24 * day, 24 * min(day + chunk_days, last_day))
        yield _chunk(scene, rides, rng, span, step, phase)


def _chunk(
    scene: Scene,
    rides: dict[int, Ride],
    rng: np.random.Generator,
    span: tuple[float, float],
    step: float,
    phase: np.ndarray,
) -> pd.DataFrame:
    """All sensors from span[0] to span[1], hours; phase [S]."""
    first, last = span
    steps = np.arange(np.floor(first / step), np.ceil(last / step) + 1) * step  # [T]
    hours = np.floor((steps[:, None] + phase) * 3600) / 3600  # [T, S], whole seconds
    inside = (hours >= first) & (hours < last)
    sensor = np.broadcast_to(np.arange(len(phase)), hours.shape)[inside]
    hours = hours[inside]
    order = np.lexsort((sensor, hours))
    sensor, hours = sensor[order], hours[order]

    site, km = scene.site[sensor], np.full((len(sensor), 2), np.nan)
    for mobile, ride in rides.items():
        rows = np.flatnonzero(sensor == mobile)
        km[rows], site[rows] = ride.at(hours[rows])
    km += GPS_KM * rng.standard_normal(km.shape)
    latitude, longitude = degrees(scene.recipe, km)
    columns: dict[str, object] = {
        "time": scene.clock.times(hours),
        "sensor": scene.sensors["sensor"].to_numpy(dtype=object)[sensor],
    }
    grid = _Grid(scene, first, last)
    gain, offset = grid.calibration(sensor, hours)
    raw = (grid.level(site, hours) - offset) / gain
    weather: dict[str, np.ndarray] = {}
    if scene.recipe.weather:
        humidity, temperature = inlet(rng, *grid.outside(hours))
        weather = {"humidity": humidity, "temperature": temperature}
        raw = raw * scene.growth(sensor, humidity)
    columns["value"] = np.round(scene.read(rng, sensor, raw), 2)
    columns |= {"latitude": np.round(latitude, 6), "longitude": np.round(longitude, 6)}
    return pd.DataFrame(columns | weather)


class _Grid:
    """Slow functions tabulated on grids and read between: a table look-up instead of 32 cosines a row."""

    def __init__(self, scene: Scene, first: float, last: float) -> None:
        self.first = first
        self.hours = np.arange(first, last + 2 * GRID_HOURS, GRID_HOURS)
        slow = np.arange(first, last + 2 * DRIFT_GRID_HOURS, DRIFT_GRID_HOURS)
        self.log_gain = scene.log_gain.on_grid(slow)
        self.offset = scene.offset.on_grid(slow)
        count = len(scene.sensors)
        sites = np.repeat(np.arange(-1, count), len(self.hours))
        self.levels = scene.air.level(sites, np.tile(self.hours, count + 1)).reshape(count + 1, -1)
        self.weather = np.array(scene.air.outside(self.hours))

    def level(self, site: np.ndarray, hours: np.ndarray) -> np.ndarray:
        """True level.   site [N], hours [N] → [N]"""
        return _between(self.levels, site + 1, (hours - self.first) / GRID_HOURS)

    def calibration(self, sensor: np.ndarray, hours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gain and offset.   sensor [N], hours [N] → [N], [N]"""
        where = (hours - self.first) / DRIFT_GRID_HOURS
        return np.exp(_between(self.log_gain, sensor, where)), _between(self.offset, sensor, where)

    def outside(self, hours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Humidity and temperature.   hours [N] → [N], [N]"""
        return np.interp(hours, self.hours, self.weather[0]), np.interp(hours, self.hours, self.weather[1])


def _between(table: np.ndarray, row: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Linear interpolation along the rows.   table [R, T], row [N], where [N] in steps → [N]"""
    left = np.clip(where.astype(int), 0, table.shape[1] - 2)
    share = where - left
    return (1 - share) * table[row, left] + share * table[row, left + 1]


def write_measurements(chunks: Iterator[pd.DataFrame], path: Path) -> int:
    """Write the chunks to one CSV or, chunk by chunk, Parquet file; how many rows there were."""
    if path.suffix != ".parquet":
        frame = pd.concat(chunks, ignore_index=True)
        write_table(frame, path)
        return len(frame)
    rows = 0

    def write(file: object) -> None:
        nonlocal rows
        writer = None
        for chunk in chunks:
            table = pa.Table.from_pandas(chunk, preserve_index=False)
            writer = writer or pa_parquet.ParquetWriter(file, table.schema)
            writer.write_table(table)
            rows += len(chunk)
        if writer:
            writer.close()

    write_atomically(path, write)
    return rows
