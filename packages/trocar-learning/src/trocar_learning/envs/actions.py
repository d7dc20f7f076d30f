"""Action modes: what the numbers of an action, each in [-1, 1], command to one arm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from trocar import checks
from trocar.control import ComputedTorque, Setpoint
from trocar.errors import TrocarError, shown
from trocar.mechanics import load_mechanism
from trocar.robot.controller.trajectory import JointTrajectory
from trocar.spatial import Array, Values
from trocar_learning.envs.levels import NOMINAL
from trocar_learning.envs.world import PERIOD, SteppedWorld, World

# Largest increments of the tip per second: 50 mm/s, the cap of SurRoL's tasks, and 150 degrees/s, SurgicAI's 3 degrees
# at 50 Hz. The jaws open and close at up to 3 rad/s.
TIP_SPEED, TURN_SPEED, JAW_SPEED = 0.05, np.radians(150.0), 3.0
JAW_RANGE = (-0.2, 1.0)  # opening commanded by -1 and 1 [rad]; below 0 the jaws press
RESIDUAL = 0.3  # share of the effort limits that a residual effort can use
COMPUTED_KP, COMPUTED_KD = 225.0, 30.0  # of the nominal computed torque [1/s^2, 1/s]: critically damped, 15 rad/s

Reference = Callable[[World, float], Setpoint]


class ActionMode(ABC):
    """Commands of one arm. `accept` takes the numbers of a control period, `command` runs in every cycle.

    Attributes:
        size: count of numbers.
    """

    size: int

    def __init__(self, world: SteppedWorld, arm: str, period: float, reference: Reference | None) -> None:
        self.arm = arm
        self._period = period

    @property
    def resting(self) -> Array:
        """The action (size,) that leaves the arm as it is."""
        return np.zeros(self.size)

    @abstractmethod
    def accept(self, world: SteppedWorld, action: Array) -> None:
        """Take the action (size,) of a control period."""

    def command(self, world: SteppedWorld) -> None:  # noqa: B027 - constant commands need nothing
        """Command one cycle."""

    @property
    def clipped(self) -> bool:
        """True if the last action was cut at a limit of the arm."""
        return False


class JointEffort(ActionMode):
    """Joint efforts: a share of the largest efforts of the motors at the joints, held over the period."""

    limits: Array

    def __init__(self, world: SteppedWorld, arm: str, period: float, reference: Reference | None) -> None:
        super().__init__(world, arm, period, reference)
        facts = world.arms[arm].arm
        self.size, self.limits = facts.n, joint_limits(facts.motors.coupling, facts.motors.effort)

    def accept(self, world: SteppedWorld, action: Array) -> None:
        world.arms[self.arm].exert(self.limits * action)


class ResidualEffort(JointEffort):
    """Joint efforts added to computed torque with the nominal model along the task's reference.

    Attributes:
        nominal: the nominal model.
    """

    def __init__(self, world: SteppedWorld, arm: str, period: float, reference: Reference | None) -> None:
        super().__init__(world, arm, period, reference)
        if reference is None:
            raise TrocarError("this task has no reference for residual efforts; use another action mode")
        self.limits = RESIDUAL * self.limits
        self._reference, self._residual = reference, np.zeros(self.size)
        kind = world.arms[arm].arm.name
        self.nominal = load_mechanism(kind, NOMINAL[kind])
        self._law = ComputedTorque(self.nominal, COMPUTED_KP, COMPUTED_KD, friction=True)

    def accept(self, world: SteppedWorld, action: Array) -> None:
        self._residual = self.limits * action

    def command(self, world: SteppedWorld) -> None:
        tau = self._law(world.state(self.arm), self._reference(world, world.time))
        world.arms[self.arm].exert(tau + self._residual)


class JointTarget(ActionMode):
    """A goal for every joint within its range, approached as the dVRK's move_jp does, under its PID."""

    def __init__(self, world: SteppedWorld, arm: str, period: float, reference: Reference | None) -> None:
        super().__init__(world, arm, period, reference)
        self._facts = facts = world.arms[arm].arm
        self.size, self._middle, self._half = facts.n, (facts.lower + facts.upper) / 2, (facts.upper - facts.lower) / 2
        self._trajectory = JointTrajectory(facts)
        self._trajectory.q = self._trajectory.goal = world.arms[arm].q.copy()
        self._start: tuple[Array, Array, Array] | None = None  # start, its rates and goal of the current motion
        self._cycles = 0  # of it

    def accept(self, world: SteppedWorld, action: Array) -> None:
        goal, path = self._middle + self._half * action, self._trajectory
        if not np.array_equal(goal, path.goal):
            self._start, self._cycles = (path.q, path.dq, goal), 0
            path.start(*self._start)

    def command(self, world: SteppedWorld) -> None:
        path = self._trajectory
        if path.active:
            path.advance(PERIOD)
            self._cycles += 1
        world.arms[self.arm].track(path.q, path.dq)

    def __getstate__(self) -> dict[str, Any]:
        """State without the trajectory, which cannot be pickled: it is planned again."""
        return {name: value for name, value in vars(self).items() if name != "_trajectory"} | {
            "rest": None if self._start else self._trajectory.q,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        rest, self._trajectory = state.pop("rest"), JointTrajectory(state["_facts"])
        self.__dict__.update(state)
        path = self._trajectory
        if self._start is None:
            path.q = path.goal = rest
            return
        path.start(*self._start)
        for _ in range(self._cycles):
            path.advance(PERIOD)

    @property
    def resting(self) -> Array:
        return np.clip(self.action(self._trajectory.q), -1.0, 1.0)

    def action(self, q: Array) -> Array:
        """The action (n,) whose goal is q (n,)."""
        return (q - self._middle) / self._half


class TipIncrement(ActionMode):
    """Increments of the commanded tip pose and an opening of the jaws, under the dVRK's PID.

    Seven numbers: translation along the world's axes, rotation vector about them, opening of the jaws. Joints beyond
    their limits are clipped; a pose out of reach leaves the command unchanged.
    """

    size = 7

    def __init__(self, world: SteppedWorld, arm: str, period: float, reference: Reference | None) -> None:
        super().__init__(world, arm, period, reference)
        hardware = world.arms[arm]
        if hardware.arm.joint_names[-1] != "jaw" or hardware.arm.tip_joints != 6:
            raise TrocarError(f"tip_increment needs an arm with six joints and jaws; {arm} is a {hardware.arm.name}")
        self.q, self.T = np.append(hardware.q[:6], hardware.setpoint()[6]), world.T_world_measured(arm)
        self._from, self._step, self._k, self._clipped = self.q, np.zeros(7), 0, False
        self._cycles = round(period / PERIOD)

    def accept(self, world: SteppedWorld, action: Array) -> None:
        T = self.T.copy()
        T[:3, 3] += self._period * TIP_SPEED * action[:3]
        T[:3, :3] = Rotation.from_rotvec(self._period * TURN_SPEED * action[3:6]).as_matrix() @ T[:3, :3]
        self._from = q = self.q
        self._clipped = False
        try:
            q = world.joints(self.arm, T, self.q)
            self.T = world.T_world_base[self.arm] @ world.kinematics[self.arm].pose(q[:6])
            self._clipped = bool(np.linalg.norm(self.T[:3, 3] - T[:3, 3]) > 1e-6)
        except TrocarError:
            self._clipped = True
        low, high = JAW_RANGE
        opening = 0.5 * (high + low) + 0.5 * (high - low) * float(action[6])
        reach = self._period * JAW_SPEED
        self.q = np.append(q[:6], self._from[6] + min(max(opening - self._from[6], -reach), reach))
        self._step, self._k = (self.q - self._from) / self._cycles, 0

    def command(self, world: SteppedWorld) -> None:
        self._k += 1
        world.arms[self.arm].track(self._from + self._k * self._step, self._step / PERIOD)

    @staticmethod
    def towards(T_from: Array, T_to: Array, opening: float, period: float) -> Array:
        """Numbers (7,) that move the commanded tip from a pose to another (4, 4) and command an opening [rad].

        They are beyond [-1, 1] if the motion takes longer than a period [s].
        """
        turn = Rotation.from_matrix(T_to[:3, :3] @ T_from[:3, :3].T).as_rotvec()
        return TipIncrement.numbers(T_to[:3, 3] - T_from[:3, 3], turn, opening, period)

    @staticmethod
    def numbers(way: Array, turn: Array, opening: float, period: float) -> Array:
        """As `towards`, for a translation (3,) [m] and a rotation vector (3,) [rad]."""
        return np.concatenate([way / (TIP_SPEED * period), turn / (TURN_SPEED * period), [jaw_action(opening)]])

    @property
    def resting(self) -> Array:
        return np.append(np.zeros(6), jaw_action(float(self.q[6])))

    @property
    def clipped(self) -> bool:
        return self._clipped


def checked_actions(actions: Values, shape: tuple[int, int]) -> Array:
    """Actions of several environments: finite numbers of shape (environments, size)."""
    values = checks.real_array("actions", actions, f" of shape {shape}")
    if values.shape != shape:
        raise TrocarError(f"actions must have shape {shape}, got {values.shape}")
    if not np.isfinite(values).all():
        first = int(np.argmin(np.isfinite(values).all(axis=1)))
        raise TrocarError(f"actions must be finite, got {shown(values[first].tolist())} for environment {first}")
    return values


def jaw_action(opening: float) -> float:
    """The number that commands an opening of the jaws [rad]."""
    low, high = JAW_RANGE
    return float(np.clip((2.0 * opening - high - low) / (high - low), -1.0, 1.0))


def joint_limits(coupling: Array, motor: Array) -> Array:
    """Efforts (n,) of the joints [N m, N] that the motors (n,) provide if each joint is loaded alone."""
    return np.asarray((motor[:, None] / np.maximum(np.abs(coupling.T), 1e-12)).min(axis=0))


MODES: Mapping[str, type[ActionMode]] = MappingProxyType(
    {
        "joint_effort": JointEffort,
        "residual_effort": ResidualEffort,
        "joint_target": JointTarget,
        "tip_increment": TipIncrement,
    }
)
