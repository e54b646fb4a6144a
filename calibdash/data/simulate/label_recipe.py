"""What a simulated set of labels is made of, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from calibdash.data.simulate.fields import check_fields, setting


@dataclass(frozen=True)
class LabelRecipe:
    """Items of some classes, labellers whose skill changes, and an expert on some; defaults are the paper's."""

    name: str = setting("bees", "name of the set")
    seed: int = setting(0, "seed of every random number", low=0)
    items: int = setting(300, "items", low=1, high=10_000_000)
    classes: int = setting(3, "classes (three: prevalence 0.36, 0.30, 0.34)", low=2, high=1000)
    labellers: int = setting(3, "labellers beside the expert", low=1, high=100_000)
    paper_labellers: bool = setting(True, "the first three labellers are the paper's A, B and C")
    label_share: float = setting(0.63, "share of items that other labellers label", low=0, high=1)
    expert_share: float = setting(0.577, "share of items the expert labels", low=0, high=1)
    skill: float = setting(2.0, "mean log odds of other labellers' right label", low=-10, high=20)
    skill_sd: float = setting(1.0, "its sd over labellers", low=0, high=10)
    drift: float = setting(1.0, "sd of the moving part of each log odds", low=0, high=10)
    drift_share: float = setting(0.3, "lengthscale of that movement, as a share of the items", low=0.001, high=1000)
    truth_steps: int = setting(30, "steps in the table of true confusion matrices", low=1, high=100_000)

    def __post_init__(self) -> None:
        check_fields(self)
