"""Recordings of Wang et al. 2019, and the PSM as identified from the first of them, 'one'."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import scipy

from trocar.arms.parameters import Parameters
from trocar.control.observers import MomentumObserver, PayloadEstimate, PointMass, estimate_payload
from trocar.errors import TrocarError
from trocar.identification.pipeline import identify, prepared, recalibrate
from trocar.identification.recipes.recipe import Recipe, load_recipe
from trocar.identification.signals import efforts
from trocar.mechanics import Mechanism
from trocar.recording import Recording, load_recording
from trocar.recording.motor_columns import joint_from_columns
from trocar.report.claim_table import ClaimTable
from trocar.spatial import Array
from trocar_reproductions.experiment import data_file

DATA = Path("dvrk_dynamics_identification")
ONE = DATA / "psm" / "measured_trajectory" / "one_results.csv"
NO_WEIGHT = DATA / "psm" / "measured_trajectory" / "one_no_weight_results.csv"
PARALLEL = DATA / "psm" / "measured_trajectory" / "one_105_grams_parallel_results.csv"
INSERTION = DATA / "psm_simplified" / "measured_trajectory" / "one_results_1.0_scale_105_grams_insertion.csv"
HALF_SPEED = DATA / "psm_simplified" / "measured_trajectory" / "one_results_0.5_scale_105_grams_insertion.csv"  # 100 Hz

TABLE = ClaimTable("trocar_reproductions.wang2019")
ARM = [0, 1, 2]  # joints that respond to a payload
RECALIBRATION = 10.0  # [s]


@dataclass(frozen=True)
class Measured:
    """A recording in the columns of its file, and converted to joints with unfiltered efforts."""

    columns: Recording
    joints: Recording


def measured(path: Path, recipe: Recipe, rate: float = 200.0) -> Measured:
    """A recording of Wang et al.: a table in joints and, at the wrist, motors."""
    arm = recipe.mechanism().arm
    columns = load_recording(path, arm.name, as_recorded=True, rate=rate)
    return Measured(columns, columns.in_joints(arm))


def listed(values: Array, spec: str = ".3g") -> str:
    """Numbers in one line, separated by spaces."""
    return " ".join(format(float(value), spec) for value in values)


def unexplained(recipe: Recipe, parameters: Parameters, recording: Measured) -> tuple[Array, Array, Array, Array]:
    """q, dq, ddq (N, n) of the joints and measured minus modelled effort (N, 3) of the arm, filtered, with ends cut."""
    mechanism = with_parameters(recipe, parameters)
    T = joint_from_columns(mechanism.arm, tuple(recording.columns.joints))
    signals = prepared(recipe, recording.columns)
    residual = (signals.tau - efforts(mechanism, T, signals)) @ np.linalg.inv(T)
    q, dq, ddq = (x @ T.T for x in (signals.q, signals.dq, signals.ddq))
    return q[signals.used], dq[signals.used], ddq[signals.used], residual[signals.used][:, ARM]


def with_parameters(recipe: Recipe, parameters: Parameters) -> Mechanism:
    """The mechanism of a recipe with identified parameters."""
    return replace(recipe, template=parameters).mechanism()


def residuals(mechanism: Mechanism, recording: Recording, bandwidth: float) -> Array:
    """Residuals of the momentum observer for unfiltered signals, excluding the first second."""
    r = MomentumObserver(mechanism, bandwidth).along(recording, held=False)
    return r[recording.t >= recording.t[0] + 1.0]


class IdentifiedArm:
    """The PSM identified from the recording 'one', with its residuals on that recording."""

    def __init__(self, data: Path, parameters: Parameters | None = None) -> None:
        self.data, self.recipe = data, load_recipe("PSM")
        self.one = self.measured(ONE)
        self.parameters = parameters or identify(self.one.columns, "PSM", cross_validate=False).parameters
        self.mechanism = with_parameters(self.recipe, self.parameters)
        *_, residual = unexplained(self.recipe, self.parameters, self.one)
        self.covariance = np.cov(residual.T)

    def measured(self, name: Path, rate: float = 200.0) -> Measured:
        return measured(self.data / name, self.recipe, rate)

    def recalibrated(self, recording: Measured) -> Parameters:
        return recalibrate(self.parameters, recording.columns, RECALIBRATION).parameters

    def recalibrated_under(self, point: PointMass, recording: Measured) -> Parameters:
        """Fit friction and biases together with a mass at a point to the first 10 s of a recording.

        The iteration stops when the mass estimated with the fitted friction equals the mass of that fit.
        """
        start = float(recording.columns.t[0])
        early = Measured(*(x.between(start, start + RECALIBRATION) for x in (recording.columns, recording.joints)))
        T = joint_from_columns(self.mechanism.arm, tuple(early.columns.joints))
        signals = prepared(self.recipe, early.columns)
        unit = point.effort(*(x @ T.T for x in (signals.q, signals.dq, signals.ddq))) @ T
        assert early.columns.tau is not None
        tau = early.columns.tau

        def fitted(mass: float) -> Parameters:
            return recalibrate(self.parameters, replace(early.columns, tau=tau - mass * unit)).parameters

        def gap(mass: float) -> float:
            return self.payload(early, point, fitted(mass)).mass - mass

        first_guess = self.payload(early, point, self.parameters).mass
        solution = scipy.optimize.root_scalar(gap, x0=first_guess, x1=first_guess + 0.01, xtol=1e-4, maxiter=12)
        if not solution.converged:
            raise TrocarError(f"the joint fit of mass and friction did not converge: {solution.flag}")
        return fitted(solution.root)

    def payload(
        self, recording: Measured, point: PointMass, parameters: Parameters, after: float = 0.0
    ) -> PayloadEstimate:
        """The mass at a point, estimated from rows later than `after` [s]; windows of 1 s."""
        q, dq, ddq, residual = unexplained(self.recipe, parameters, recording)
        rate = 1.0 / float(np.diff(recording.columns.t).mean())
        late = slice(max(0, round((after - self.recipe.trim) * rate)), None)  # the first rows are cut
        unit = point.effort(q, dq, ddq)[:, ARM]
        return estimate_payload(residual[late], unit[late], self.covariance, window=round(rate))


def identified_arm(data: Path | None, parameters: Parameters | None = None) -> IdentifiedArm | str:
    """The arm identified from 'one' (or with `parameters`), or the reason why it is missing."""
    file = data_file(data, ONE)
    return str(file) if data is None or isinstance(file, str) else IdentifiedArm(data, parameters)
