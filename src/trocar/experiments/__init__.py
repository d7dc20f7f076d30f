"""Experiments: one folder per publication with its runs, claims (claims.toml) and figures; and the demo."""

from trocar.experiments import ferro2022, gondokaryono2019, patel2018, wang2019, zhou2025
from trocar.experiments.experiment import Context, Experiment

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT for module in (patel2018, ferro2022, gondokaryono2019, zhou2025, wang2019)
}

__all__ = ["EXPERIMENTS", "Context", "Experiment"]
