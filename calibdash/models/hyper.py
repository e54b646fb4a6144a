"""The numbers behind a fit: every kernel and noise once settings and data have been read together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calibdash.models.kernels import Kernel

STATIC, MOBILE = 0, 1


@dataclass(frozen=True)
class Hyper:
    """Resolved hyperparameters; levels and noise are in units of the typical reading.

    kernels [2][L]: by kind (static, mobile) and latent process; noise_additive, noise_proportional [2]: by kind.
    The last latent process is the log noise variance unless ``noise_model`` is fixed.
    """

    kernels: tuple[tuple[Kernel, ...], tuple[Kernel, ...]]
    noise_additive: tuple[float, float]
    noise_proportional: tuple[float, float]
    noise_reference: float
    noise_model: str
    floor: float
    spread: float

    @property
    def latents(self) -> int:
        """Latent processes a sensor, L."""
        return len(self.kernels[0])

    def with_main(self, name: str, value: float) -> Hyper:
        """A copy with one learned value (``drift``, ``noise.additive``, …) replaced for all it governs."""
        if name == "noise.additive":
            return replace(self, noise_additive=_rescaled(self.noise_additive, value))
        if name == "noise.proportional":
            return replace(self, noise_proportional=_rescaled(self.noise_proportional, value))
        kinds = {"lengthscale.static": (STATIC,), "lengthscale.mobile": (MOBILE,)}.get(name, (STATIC, MOBILE))
        field = name.split(".")[0]
        factor = value / self.main(name)
        count = self.latents - (self.noise_model != "fixed")
        kernels = [list(row) for row in self.kernels]
        for kind in kinds:
            for index in range(count):
                old = kernels[kind][index]
                kernels[kind][index] = replace(old, **{field: getattr(old, field) * factor})
        return replace(self, kernels=(tuple(kernels[0]), tuple(kernels[1])))

    def main(self, name: str) -> float:
        """The learned value behind the first latent process: the inverse of :meth:`with_main`."""
        if name == "noise.additive":
            return self.noise_additive[STATIC]
        if name == "noise.proportional":
            return self.noise_proportional[STATIC]
        kernel = self.kernels[MOBILE if name.endswith("mobile") else STATIC][0]
        return float(getattr(kernel, name.split(".")[0]))

    def noise(self, mobile: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Additive and proportional noise variance of readings by sensor.   mobile, reference [..] → [..], [..]"""
        kind = mobile.astype(np.int64)
        additive = np.where(reference, 0.0, np.asarray(self.noise_additive)[kind] ** 2)
        proportional = np.where(reference, self.noise_reference**2, np.asarray(self.noise_proportional)[kind] ** 2)
        return additive, proportional

    def as_dict(self) -> dict[str, object]:
        """Plain values, as saved."""
        rows = [[[k.shape, k.lengthscale, k.drift, k.bias] for k in row] for row in self.kernels]
        rest = {key: getattr(self, key) for key in _PLAIN}
        return {"kernels": rows, **rest}

    @classmethod
    def from_dict(cls, values: dict) -> Hyper:
        """The inverse of :meth:`as_dict`."""
        static, mobile = (tuple(Kernel(*entry) for entry in row) for row in values["kernels"])
        rest = {key: tuple(values[key]) if isinstance(values[key], list) else values[key] for key in _PLAIN}
        return cls(kernels=(static, mobile), **rest)  # type: ignore[arg-type]


_PLAIN = ("noise_additive", "noise_proportional", "noise_reference", "noise_model", "floor", "spread")


def _rescaled(pair: tuple[float, float], value: float) -> tuple[float, float]:
    return value, value * (pair[1] / pair[0] if pair[0] > 0 else 1.0)
