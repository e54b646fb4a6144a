"""Why each stop is made, and what the whole plan comes to, in a coordinator's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from calibdash.planning.draft import Draft
from calibdash.planning.ground import Ground, listed
from calibdash.planning.schedule import Tour
from calibdash.planning.value import band

if TYPE_CHECKING:
    from calibdash.planning.value import Together

NAMED = 3  # other sensors named in a reason
WORTH_NAMING = 0.03  # of a band's width


def percent(share: float) -> str:
    """±18 % from 0.18."""
    value = 100.0 * share
    return f"±{value:.2g} %" if value < 10 else f"±{value:.0f} %"


def reasons(ground: Ground, ridden: tuple[Tour, ...], worth: Together) -> list[str]:
    """A sentence a stop: whose band shrinks, from what to what, and who else gains through the sensor carried."""
    aims = ground.aims
    before, after = band(aims.by_sensor(aims.variance)), band(aims.by_sensor(worth.variance))
    place = {name: index for index, name in enumerate(aims.sensors)}
    texts = []
    number = 0
    for tour in ridden:
        for stop in tour.stops:
            wider = band(aims.by_sensor(worth.variance + worth.without[number])) - after  # without this stop
            wider = wider * (aims.weight > 0)
            others = [
                aims.sensors[int(k)]
                for k in np.argsort(-wider, kind="stable")
                if wider[k] > WORTH_NAMING * after[k] and aims.sensors[int(k)] != stop.sensor
            ]
            also = listed(others, NAMED)
            if stop.reference:
                text = f"recalibrates {tour.with_sensor} at the reference"
                text += f"; narrows {also} through {tour.with_sensor}" if also else ""
            elif stop.sensor in place:
                k = place[stop.sensor]
                text = f"band of {stop.sensor} shrinks from {percent(before[k])} to {percent(after[k])}"
                text += f"; also {also} through {tour.with_sensor}" if also else ""
            else:
                text = f"ties {stop.sensor} to {tour.with_sensor}" + (f"; narrows {also}" if also else "")
            texts.append(text)
            number += 1
    return texts


def summary(ground: Ground, draft: Draft, bands: pd.DataFrame, gain: float) -> str:
    """The plan in two or three sentences."""
    settings, count = ground.settings, len(draft.stops)
    bands = bands[bands["weight"] > 0]
    target = settings.target
    if bands.empty:
        return "No visit is proposed: there is no static sensor, other than references, that counts."
    wide = bands.loc[bands["after"] > (target or np.inf), "sensor"]
    if not count:
        if not ground.shifts:
            return "No visit is proposed: no rider works on any of these days."
        if target is not None and wide.empty:
            return f"No visit is needed: every sensor stays within {percent(target)} over the horizon."
        return "No visit is worth the way: none that is possible would narrow any band noticeably."
    per = np.average(bands["before"], weights=bands["weight"]), np.average(bands["after"], weights=bands["weight"])
    riders = {ground.shifts[q].rider for q, tour in enumerate(draft.tours) if tour}
    days = {ground.shifts[q].day for q, tour in enumerate(draft.tours) if tour}
    text = (
        f"{count} {_plural('stop', count)} by {len(riders)} {_plural('rider', len(riders))} on "
        f"{len(days)} {_plural('day', len(days))}, cost {draft.cost:.4g}"
        + (f", {draft.km.sum():.0f} km" if ground.travel.known else "")
        + f": the mean band over the horizon shrinks from {percent(per[0])} to {percent(per[1])}"
        f" ({100 * gain:.0f} % of the uncertainty)."
    )
    if target is None:
        return text
    if wide.empty:
        return f"{text} Every sensor is then within {percent(target)}."
    return f"{text} Still wider than {percent(target)}: {listed(list(wide))}."


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
