"""All publications that `trocar reproduce` knows."""

from trocar_reproductions import ferro2022, gondokaryono2019, hwang2020, patel2018, wang2019, zhou2025
from trocar_reproductions.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (patel2018, ferro2022, gondokaryono2019, zhou2025, wang2019, hwang2020)
}
