"""Benchmarks of trocar against the bare library calls, timed in the same run.

Ratios are comparable between machines: all calls take turns in every round, each ratio is computed within a round, and
the median over the rounds is reported with its uncertainty. The name of a figure defines how it follows from the calls:

    A_us, A_us_per_state    time of a call A, or per item of its batch [us]
    A_over_B                ratio of two calls
    real_time_factor, real_time_factor_with_X    simulated over elapsed time of the calls `step` and `step_with_X`
"""

from trocar.bench.arm import figures, step_figures
from trocar.bench.batches import batch_figures
from trocar.bench.live_robot import crtk_figures
from trocar.bench.scenes import scene_figures
from trocar.bench.timing import NotQuiet, Timing, check_quiet, ratios

__all__ = [
    "NotQuiet",
    "Timing",
    "batch_figures",
    "check_quiet",
    "crtk_figures",
    "figures",
    "ratios",
    "scene_figures",
    "step_figures",
]
