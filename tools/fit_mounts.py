"""Fit the elastic mounts of Gondokaryono et al. 2019: stiffness for which the remote centre moves as in Table 7.

    python -m tools.fit_mounts

Two or three unknowns are fitted to three numbers of one machine each: a fit, not an identification. The measured RMS
also contains the noise of the cameras, so the real mounts are at least this stiff.
"""

from __future__ import annotations

import mujoco
import numpy as np
from scipy.linalg import eigh
from scipy.optimize import least_squares

from trocar.simulation import ElasticMount, Simulator
from trocar.spatial import Array
from trocar_reproductions.gondokaryono2019.capture import MOUNTS, SET, TABLE, in_their_axes, wandering


def mount(arm: str, x: Array) -> ElasticMount:
    """An elastic mount from the logarithms of two stiffnesses and, if it is free, the height of the pivot."""
    about_x, others = np.exp(x[:2]).tolist()
    across, along, height = MOUNTS[arm].pivot
    return ElasticMount(
        pivot=(across, along, float(x[2]) if len(x) > 2 else height), rotation=(about_x, others, others)
    )


def rms(arm: str, x: Array, rows: int = 40) -> Array:
    """RMS (3,) of the remote centre, axes of Table 7 [mm]."""
    sim = Simulator(arm, SET, contacts=False, elastic_mount=mount(arm, x))
    return np.abs(in_their_axes(arm, 1e3 * wandering(sim, rows)[0].rms))


def frequencies(arm: str, x: Array) -> Array:
    """Natural frequencies (3,) of the mount with the joints of the arm held at home [Hz]."""
    sim = Simulator(arm, SET, contacts=False, elastic_mount=mount(arm, x))
    sim.reset(np.array(sim.arm.home))
    M, K, data, h = np.zeros((sim.model.nv, sim.model.nv)), np.diag(mount(arm, x).rotation), sim.data, 1e-5
    mujoco.mj_fullM(sim.model, data, M)
    for i in range(3):  # the joints of the mount come first; a leaning load also pulls
        load = []
        for side in (h, -h):
            data.qpos[i] = side
            mujoco.mj_forward(sim.model, data)
            load.append(data.qfrc_bias[:3].copy())
        data.qpos[i] = 0.0
        K[:, i] += (load[0] - load[1]) / (2 * h)
    return np.sqrt(eigh((K + K.T) / 2, M[:3, :3], eigvals_only=True)) / (2 * np.pi)


def main() -> None:
    for arm, start in (("PSM", [6.0, 7.0]), ("ECM", [6.5, 6.0, -0.6])):
        table = np.array(TABLE.entries[f"{arm.lower()}/rcm spread, elastic mount {{row}}"]["published"])
        fit = least_squares(lambda x, arm=arm, table=table: rms(arm, x) - table, start, diff_step=1e-3)
        if not fit.success:
            raise SystemExit(f"{arm}: {fit.message}")
        print(arm, mount(arm, fit.x), "RMS [mm]:", rms(arm, fit.x, 100).round(3), "measured:", table)
        print(f"  natural frequencies [Hz]: {frequencies(arm, fit.x).round(2)}")


if __name__ == "__main__":
    main()
