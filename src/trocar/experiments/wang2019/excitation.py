"""Excitation of the PSM: condition numbers of the recorded motion of Wang et al. 2019 and of our optimised motion."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from trocar.control.trajectories import Fourier, fourier
from trocar.experiments.experiment import Context, data_file
from trocar.experiments.wang2019.recordings import ONE, TABLE, measured
from trocar.identification.excitation.criterion import Criterion
from trocar.identification.excitation.limits import excitation_limits
from trocar.identification.excitation.search import SAMPLES, excite, sampled
from trocar.identification.recipes.recipe import load_recipe
from trocar.mechanics import load_mechanism
from trocar.recording import Recording
from trocar.report import Claim

HARMONICS, FREQUENCY = 6, 0.18  # [Hz], as designed by Wang et al.
PLAYED = 30 / 35  # fraction of the designed speed


def excitation_claims(context: Context) -> list[Claim]:
    """Run one start of the search with the authors' limits, order and frequency, at most 64 iterations."""
    context.progress("excitation: one start of at most 64 iterations")
    mechanism = load_mechanism("PSM")
    reduced, full = Criterion(mechanism, mechanism.arm.excitation.redundant_links), Criterion(mechanism)
    excitation = excite(
        reduced, excitation_limits(mechanism.arm), harmonics=HARMONICS, frequency=FREQUENCY, starts=1, iterations=0.4
    )
    states = sampled(excitation.motion, HARMONICS * SAMPLES + 1)
    return [
        TABLE.claim(
            "excitation/condition number",
            excitation.condition_number,
            parameters=excitation.parameters,
            iterations=excitation.iterations,
            all=len(full),
            full=full.condition_number(*states),
            recorded=recorded(context.data, reduced, full),
        ),
        TABLE.claim("excitation/excess over a limit", max(excitation.violation, 0.0)),
    ]


def recorded(data: Path | None, reduced: Criterion, full: Criterion) -> str:
    """Text on the condition numbers of the motion of 'one', as recorded and at its designed speed."""
    path = data_file(data, ONE)
    if isinstance(path, str):
        return "the authors' motion: no data"
    motion = fitted(measured(path, load_recipe("PSM")).joints)
    states = sampled(motion, HARMONICS * SAMPLES + 1)
    a, b = (criterion.condition_number(*states) for criterion in (reduced, full))
    return f"the authors' motion, as recorded and at the designed speed: {a:.0f} and {b:.0f}"


def fitted(recording: Recording) -> Fourier:
    """The Fourier series fitted to a recorded motion, with its frequency changed to the designed one."""
    inside = slice(400, -400)
    t, q = recording.t[inside], recording.q[inside]
    k = np.arange(1, HARMONICS + 1)

    def fit(f: float) -> tuple[float, np.ndarray]:
        phase = 2.0 * np.pi * f * np.outer(t, k)
        A = np.hstack([np.ones((len(t), 1)), np.sin(phase), -np.cos(phase)])
        x, *_ = np.linalg.lstsq(A, q, rcond=None)
        return float(np.square(A @ x - q)[:, 0].sum()), x

    near = FREQUENCY * PLAYED
    _, x = min((fit(f) for f in np.linspace(0.99 * near, 1.01 * near, 41)), key=lambda pair: pair[0])
    w = 2.0 * np.pi * FREQUENCY * k[:, None]
    return fourier(x[0], w * x[1 : HARMONICS + 1], w * x[HARMONICS + 1 :], FREQUENCY)
