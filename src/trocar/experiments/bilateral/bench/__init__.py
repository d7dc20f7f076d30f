"""Teleoperation experiments as claims with a report: `trocar teleop --bench`."""

from trocar.experiments.bilateral.bench.bench import SECTIONS, Bench, run_bench

__all__ = ["SECTIONS", "Bench", "run_bench"]
