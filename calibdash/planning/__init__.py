"""Where to send whom next: what visits are worth, and plans of them."""

from calibdash.planning.effort import EffortCurve, effort_curve
from calibdash.planning.files import gpx_text, ics_text, write_gpx, write_ics, write_plan
from calibdash.planning.habits import best_reference_site, useless_colocations
from calibdash.planning.plan import COLUMNS, Plan, plan
from calibdash.planning.riders import Rider, read_riders
from calibdash.planning.schedule import Tour, TourStop
from calibdash.planning.settings import PlanSettings, Promise
from calibdash.planning.travel import Distances, read_distances
from calibdash.planning.value import band, value_of_visits

__all__ = [
    "COLUMNS",
    "Distances",
    "EffortCurve",
    "Plan",
    "PlanSettings",
    "Promise",
    "Rider",
    "Tour",
    "TourStop",
    "band",
    "best_reference_site",
    "effort_curve",
    "gpx_text",
    "ics_text",
    "plan",
    "read_distances",
    "read_riders",
    "useless_colocations",
    "value_of_visits",
    "write_gpx",
    "write_ics",
    "write_plan",
]
