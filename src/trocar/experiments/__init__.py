"""One file per publication, each a function that returns a Report of Claims."""

from trocar.experiments import ferro2022, gondokaryono2019, patel2018, zhou2025
from trocar.experiments.experiment import Context, Experiment

EXPERIMENTS: dict[str, Experiment] = {
    e.name: e for e in (patel2018.EXPERIMENT, ferro2022.EXPERIMENT, gondokaryono2019.EXPERIMENT, zhou2025.EXPERIMENT)
from trocar.experiments import ferro2022, gondokaryono2019, patel2018, wang2019
from trocar.experiments.experiment import Context, Experiment

EXPERIMENTS: dict[str, Experiment] = {
    e.name: e for e in (patel2018.EXPERIMENT, ferro2022.EXPERIMENT, gondokaryono2019.EXPERIMENT, wang2019.EXPERIMENT)
}

__all__ = ["EXPERIMENTS", "Context", "Experiment"]
