"""What the calibration page shows of a fit: which parameter, on which scale, in which order, beside which other run."""

from __future__ import annotations

from typing import Any

import param

from calibdash.errors import CalibdashError
from calibdash.models.posterior import Posterior
from calibdash.state.fitting import Fitting
from calibdash.state.session import Session

ORDERS = {
    "the most uncertain first": "width",
    "the most changed first": "change",
    "the longest without a visit first": "visit",
    "by name": "name",
}


class Shown(param.Parameterized):
    """Choices of one session on its calibration page.

    ``posterior`` is the full fit where there is one, else the preview; ``other`` a run it is compared with.
    """

    fitting: Any = param.ClassSelector(class_=Fitting, allow_None=False)
    posterior: Any = param.ClassSelector(class_=Posterior, doc="What is drawn.")
    ready = param.Boolean(False, doc="Whether there is anything to draw.")
    sensor: Any = param.Selector(doc="The sensor of the large plot.")
    parameter: Any = param.Selector(default="gain", objects=["gain"], doc="Which part of the calibration is drawn.")
    logarithmic = param.Boolean(False, doc="Whether the axis of ratios is logarithmic.")
    order: Any = param.Selector(default="width", objects=ORDERS, doc="Order of the small plots.")
    page = param.Integer(0, bounds=(0, None), doc="Which small plots are on show.")
    other_id: Any = param.Selector(default="", objects={"nothing": ""}, doc="The run to compare with.")
    other: Any = param.ClassSelector(class_=Posterior, doc="Its result.")
    message = param.String(doc="Why there is nothing to compare with.")

    def __init__(self, fitting: Fitting, **params: Any) -> None:
        super().__init__(fitting=fitting, **params)
        self._follow()
        self._sensors()

    @property
    def session(self) -> Session:
        """The session whose page this is."""
        return self.fitting.tuning.session

    @param.depends("fitting.tuning.session.references", "fitting.tuning.session.checked", watch=True)
    def _sensors(self) -> None:
        network = self.session.network
        names = [] if network is None else [s for s in network.sensors["sensor"] if s not in set(network.references)]
        self.param["sensor"].objects = names
        self.sensor = self.sensor if self.sensor in names else next(iter(names), None)
        self._pick()

    @param.depends("fitting.tuning.session.selected", watch=True)
    def _pick(self) -> None:
        picked = [sensor for sensor in self.session.selected if sensor in self.param["sensor"].objects]
        if len(picked) == 1:
            self.sensor = picked[0]

    @param.depends("sensor", watch=True)
    def _select(self) -> None:
        if self.sensor is not None and self.sensor not in self.session.selected:
            self.session.select([self.sensor])

    @param.depends("fitting.posterior", "fitting.tuning.preview", watch=True)
    def _follow(self) -> None:
        posterior = self.fitting.posterior if self.fitting.posterior is not None else self.fitting.tuning.preview
        names = ["gain"] if posterior is None else list(posterior.parameters)
        self.param["parameter"].objects = names
        self.param.update(posterior=posterior, parameter=self.parameter if self.parameter in names else names[0])

    @param.depends("fitting.posterior", "fitting.tuning.session.folder", watch=True, on_init=True)
    def _offer(self) -> None:
        offered = {"nothing": ""} | self.fitting.others()
        self.param["other_id"].objects = offered
        self.other_id = self.other_id if self.other_id in offered.values() else ""

    @param.depends("posterior", "sensor", watch=True, on_init=True)
    def _see(self) -> None:
        self.ready = self.posterior is not None and self.sensor is not None

    @param.depends("other_id", watch=True)
    def _compare(self) -> None:
        try:
            self.param.update(other=self.fitting.read(self.other_id) if self.other_id else None, message="")
        except CalibdashError as problem:
            self.param.update(other=None, message=str(problem))
