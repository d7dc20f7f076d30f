"""Many arms at once: steps of any arm as generated code, in C, CUDA or JAX.

    from trocar import batch

    arms = batch.load("PSM", backend="c")
    state = arms.state(q, dq)                     # (n,) or (n, N): joints first, batch last
    state = arms.step(state, tau, dt)
    state, log = arms.rollout(state, tau, dt)     # tau (T, n) or (T, n, N), a controller, or a function of (state, t)

The equations are derived a second time here, from `mechanism.tree`, as one scalar graph (`equations/`) from which every
backend is generated (`backends/`). See docs/batch.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trocar.batch.arms import BatchArms
from trocar.batch.contact import Plane, TipSphere
from trocar.batch.control import BatchComputedTorque, BatchJointPD, BatchJointPID
from trocar.batch.loading import load
from trocar.batch.parameters import BatchParameters
from trocar.batch.state import BatchLog, BatchState, NotFinite

if TYPE_CHECKING:
    from trocar.batch.reduced_simulator import ReducedSimulator
    from trocar.batch.scene_rollouts import SceneRollouts, SceneState
    from trocar.batch.scenes import SceneBatch
    from trocar.batch.worlds.status import WorldError

# Short names: those of `trocar.control` and `trocar.simulation` are for one simulated arm.
ComputedTorque, JointPD, JointPID, Sphere = BatchComputedTorque, BatchJointPD, BatchJointPID, TipSphere

__all__ = [
    "BatchArms",
    "BatchLog",
    "BatchParameters",
    "BatchState",
    "ComputedTorque",
    "JointPD",
    "JointPID",
    "NotFinite",
    "Plane",
    "ReducedSimulator",
    "SceneBatch",
    "SceneRollouts",
    "SceneState",
    "Sphere",
    "WorldError",
    "load",
]


_IN_MUJOCO = {
    "ReducedSimulator": "reduced_simulator",
    "SceneBatch": "scenes",
    "SceneRollouts": "scene_rollouts",
    "SceneState": "scene_rollouts",
    "WorldError": "worlds.status",
}


def __getattr__(name: str) -> Any:
    """Import names on first use whose modules import MuJoCo."""
    if name in _IN_MUJOCO:
        return getattr(import_module(f"trocar.batch.{_IN_MUJOCO[name]}"), name)
    raise AttributeError(f"module 'trocar.batch' has no attribute {name!r}")
