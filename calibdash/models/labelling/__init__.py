"""Labellers: who confuses what, and since when. One latent class an item, a confusion matrix a labeller and time."""

from calibdash.models.labelling.posterior import LabelPosterior
from calibdash.models.labelling.record import LabelRecord
from calibdash.models.labelling.settings import LabelSettings

__all__ = ["LabelPosterior", "LabelRecord", "LabelSettings"]
