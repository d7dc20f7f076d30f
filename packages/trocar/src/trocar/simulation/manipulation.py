"""Motions of the tip in the world, and the grip: one arm moves, the others hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.control import ComputedTorque, Setpoint, State, hold
from trocar.control.trajectories import line, quintic, through
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.simulation.objects.blade import FINGERS
from trocar.simulation.run import simulate
from trocar.simulation.scene import Scene
from trocar.spatial import Array, checked_pose, inverse

KP, KD = 2500.0, 100.0  # gains of computed torque [1/s^2, 1/s]: critically damped, 50 rad/s
# Jaws under effort control: speed at which they close [rad/s] and damping about it [N m s]. With the effort alone they
# would reach hundreds of rad/s and strike a wire out of their way.
JAW_RATE, JAW_DAMPING = 1.5, 0.05


class GripControl(ComputedTorque):
    """Computed torque for every joint but the jaw, which closes at a limited speed and then holds an effort [N m]."""

    def __init__(self, mechanism: Mechanism, effort: float, kp: float = KP, kd: float = KD) -> None:
        super().__init__(mechanism, kp, kd, friction=True)
        self.jaw, self.effort = mechanism.arm.joint_names.index("jaw"), effort
        self.rate = max(JAW_RATE, effort / JAW_DAMPING)  # so that the effort is reached at rest

    def __call__(self, state: State, setpoint: Setpoint) -> Array:
        """Efforts (n,) [N m, N]."""
        tau = super().__call__(state, setpoint)
        closing = JAW_DAMPING * (float(state.dq[self.jaw]) + self.rate)
        tau[self.jaw] = -min(max(closing, -self.effort), self.effort)
        return tau


def move_tip(
    scene: Scene, arm: str, T_world: ArrayLike, duration: float, *, jaw: float | None = None
) -> dict[str, Recording]:
    """Move the tip of an arm on a straight line to T_world (4, 4), under computed torque; the other arms hold.

    The time scaling is a quintic. Raises Unreachable before anything moves if the line leaves the workspace.

    Args:
        scene: continues from its current state and time. duration: [s].
        jaw: opening at the end [rad]. Default: unchanged.

    Returns recordings by arm.
    """
    duration = checks.positive("duration", duration)
    if arm not in scene.arms:
        raise TrocarError(f"the scene has no arm {arm!r}; it has {', '.join(scene.arms)}")
    moving = scene.arms[arm]
    T_base_tip = inverse(scene.T_world_base(arm)) @ checked_pose(T_world)
    names, start = moving.arm.joint_names, moving.q
    opening = None
    if jaw is not None:
        if "jaw" not in names:
            raise TrocarError(f"{arm} is a {moving.arm.name}: an arm without a jaw")
        k = names.index("jaw")
        opening = quintic(start, start + (jaw - start[k]) * np.eye(len(names))[k], duration)
    T_start = moving.mechanism.forward_kinematics(start)
    if np.allclose(T_start, T_base_tip, rtol=0.0, atol=1e-9):
        reference = hold(start)
    else:
        reference = through(moving.mechanism, line(T_start, T_base_tip, duration), start)
    began = scene.time

    def setpoint(t: float) -> Setpoint:
        tip = reference(t - began)
        if opening is None:
            return tip
        jaws = opening(t - began)
        q, dq, ddq = tip.q.copy(), tip.dq.copy(), tip.ddq.copy()
        q[k], dq[k], ddq[k] = jaws.q[k], jaws.dq[k], jaws.ddq[k]
        return Setpoint(q, dq, ddq)

    laws = {name: ComputedTorque(a.mechanism, KP, KD, friction=True) for name, a in scene.arms.items()}
    return simulate(scene, laws, {name: setpoint if name == arm else None for name in scene.arms}, duration)


def held_by(scene: Scene, arm: str) -> str | None:
    """Object that touches both fingers of an arm, at the start of the last step: one that moves freely, if any."""
    touched: dict[str, set[str]] = {}
    for contact in scene.touching(arm):
        if contact.link_and_object is not None:
            link, thing = contact.link_and_object
            if link.name in FINGERS:
                touched.setdefault(thing, set()).add(link.name)
    held = [thing for thing, fingers in touched.items() if len(fingers) == len(FINGERS)]
    # jaws around a needle may pinch the tissue beside it as well
    free = [thing for thing in held if thing in scene.objects and scene.objects[thing].thing.mass is not None]
    return next(iter(free or held), None)
