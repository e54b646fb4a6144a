"""The paper's figures on our data: visits, gains by sensor, errors of a drifting reference."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from bokeh.layouts import gridplot
from bokeh.model import Model
from bokeh.plotting import figure

from calibdash.data.simulate import SimulatedNetwork
from calibdash.evaluation import drift, labels, synthetic
from calibdash.evaluation.methods import Gains, Points, multihop_best_on_truth
from calibdash.evaluation.metrics import Z95
from calibdash.models.multihop import multihop
from calibdash.models.settings import Settings
from calibdash.reports.figures import gain_figure, histogram_figure, ratio_points, visits_figure

VISIT_HOURS = 350.0
NOISE = 10.0


def synthetic_figures() -> list[tuple[Model, str]]:
    """Visits over 350 hours, and the gains of every sensor by both methods, at noise 10."""
    from calibdash.models.fitting import fit
    from calibdash.models.learning import learn

    simulated = synthetic.dataset(NOISE, 0)
    network = simulated.network()
    posterior = fit(network, learn(network, Settings()))
    settings, _ = multihop_best_on_truth(network, synthetic.reading_points(simulated))
    hops = multihop(network, settings)
    grid = np.arange(0.0, simulated.recipe.hours + 1, 24.0)
    times = network.clock.times(grid)

    def band(sensor: str) -> pd.DataFrame:
        return posterior.calibration(times, [sensor]).assign(hours=grid)

    def steps(sensor: str) -> pd.DataFrame:
        table = hops.calibration(None, [sensor])
        return table.assign(hours=network.clock.hours(table["time"]))

    told = "Grey: 95 % of the posterior. Blue: truth. Dots: ratios to other low-cost sensors; crosses: to references."
    return [
        (
            visits_figure(network, 1000.0, VISIT_HOURS),
            "Visits over 350 of the 4,320 hours; references blue, mobile red.",
        ),
        (_gains(simulated, band, steps=False), f"calibdash, hyperparameters learned without the truth. {told}"),
        (_gains(simulated, steps, steps=True), f"Multi-hop, tuned on the truth (window {settings.window_hours:g} h)."),
    ]


def _gains(simulated: SimulatedNetwork, band: Callable[[str], pd.DataFrame], *, steps: bool) -> Model:
    network, truth = simulated.network(), simulated.calibration()
    plots = []
    for sensor in network.sensors.loc[~network.sensors["reference"], "sensor"]:
        mine = truth[(truth["sensor"] == sensor) & (truth["parameter"] == "gain")]
        line = (network.clock.hours(mine["time"]), mine["value"].to_numpy())
        plots.append(gain_figure(sensor, band(sensor), line, ratio_points(network, sensor), steps=steps))
    return gridplot(plots, ncols=3, toolbar_location=None)


def drift_figures() -> list[tuple[Model, str]]:
    """Gain and errors of the drifting reference, by method."""
    network, points = drift.drifting_reference(0)
    truth = (points.hours, np.exp(points.log_gain))
    ratios = ratio_points(network, str(points.sensor[0]))
    gains, errors = [], []
    for method in drift.METHODS:
        found = drift.estimate(method, network, points)
        band = _band(points, found)
        gains.append(gain_figure(method, band, truth, ratios, steps=method.startswith("multi-hop"), width=480, top=1.6))
        errors.append(histogram_figure(method, found.calibrated(points) - points.level, 60.0, width=480))
    return [
        (gridplot(gains, ncols=2, toolbar_location=None), "Gain of the tested reference (first network); blue: truth."),
        (gridplot(errors, ncols=2, toolbar_location=None), "Errors of its calibrated readings."),
    ]


def labels_figures() -> list[tuple[Model, str]]:
    """The nine entries of labeller A's confusion matrix over the list, as the paper's figure."""
    from calibdash.models.labelling.fitting import fit_labels

    simulated = labels.dataset(0)
    posterior = fit_labels(labels.label_set(simulated))
    table = posterior.confusion(labellers=["A"])
    truth = simulated.confusions()
    truth = truth[truth["labeller"] == "A"]
    plots = []
    for (true, label), band in table.groupby(["true_class", "label"]):
        mine = truth[(truth["class"] == true) & (truth["label"] == label)]
        plot = figure(title=f"{true} called {label}", width=300, height=200, y_range=(-0.02, 1.02))
        plot.varea(band["time"].to_numpy(), band["lower"].to_numpy(), band["upper"].to_numpy(), fill_alpha=0.25)
        plot.line(band["time"].to_numpy(), band["mean"].to_numpy(), line_color="green")
        plot.line(mine["order"].to_numpy(), mine["probability"].to_numpy(), line_color="blue")
        plots.append(plot)
    told = "Labeller A over the 300 items. Green: posterior mean and its 95 % band. Blue: truth."
    return [(gridplot(plots, ncols=3, toolbar_location=None), told)]


def _band(points: Points, found: Gains) -> pd.DataFrame:
    sd = np.nan_to_num(found.sd)
    sides = {"median": 0.0, "lower": -Z95, "upper": Z95}
    return pd.DataFrame({"hours": points.hours, **{name: np.exp(found.log_gain + z * sd) for name, z in sides.items()}})
