"""Arms of a scene as hands: each follows tip poses under computed torque, with its jaws open or gripping.

hands = Hands(scene)
hands.close("PSM1", 0.05)                 # grip with 0.05 N m
hands.move("PSM1", T_world, 1.0)          # the other hands keep their poses and their grips
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import scipy
from scipy.spatial.transform import Rotation, Slerp

from trocar import checks
from trocar.control import ComputedTorque, Setpoint, State
from trocar.errors import TrocarError, Unreachable, check_known
from trocar.simulation.manipulation import GripControl, held_by
from trocar.simulation.scene import Scene
from trocar.spatial import Array, checked_pose, inverse, pose

KP, KD = 6400.0, 160.0  # gains of computed torque [1/s^2, 1/s]: critically damped, 80 rad/s
POSES = 12  # on a straight line; between them the joints follow a spline
# Mean speeds at which a gripped needle follows [rad/s, m/s]; friction slips with the square of the speed.
GENTLE_TURN, GENTLE_SPEED = 1.0, 0.03
MAX_TURN = 1.5  # of a joint between neighbouring poses of a path [rad]
EASED = 16  # steps in which the effort of jaws fades
TURN_POSES = np.radians(6.0)  # angle between the poses of a turn


class Hands:
    """The arms of a scene that have jaws. Poses are in the world.

    Attributes:
        scene: the scene, which continues from its current state.
        q: commanded joints of every arm. grips: efforts of closed jaws [N m] by arm; None where they are open.
        watch: called after every step, if set.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.q = {name: arm.q for name, arm in scene.arms.items()}
        self.grips: dict[str, float | None] = dict.fromkeys(scene.arms)
        self.watch: Callable[[], None] | None = None
        self._position = {
            name: ComputedTorque(arm.mechanism, KP, KD, friction=True) for name, arm in scene.arms.items()
        }

    def tip(self, arm: str) -> Array:
        """Commanded tip pose (4, 4)."""
        mechanism = self.scene.arms[self._checked(arm)].mechanism
        return np.asarray(self.scene.T_world_base(arm) @ mechanism.forward_kinematics(self.q[arm]))

    def solutions(self, arm: str, T: Array) -> list[Array]:
        """Joints of all configurations that reach a tip pose, the one farthest from the limits of the wrist first."""
        mechanism = self.scene.arms[self._checked(arm)].mechanism
        T_base = inverse(self.scene.T_world_base(arm)) @ T
        reach = [np.array(q) for q in mechanism.inverse_kinematics_all(T_base)]
        return sorted(reach, key=lambda q: -wrist_margin(mechanism.arm.lower, mechanism.arm.upper, q))

    def joints(self, arm: str, T: Array, seed: Array) -> Array:
        """Joints that reach a tip pose near a seed."""
        T_base = inverse(self.scene.T_world_base(arm)) @ T
        return np.array(self.scene.arms[arm].mechanism.inverse_kinematics(T_base, q_seed=seed))

    def path(self, arm: str, poses: Sequence[Array], seed: Array) -> Array:
        """Joints (k, n) along tip poses (4, 4), each near the one before it.

        Raises Unreachable if a pose is out of reach, or if a joint would have to turn back by a whole turn on the way.
        """
        path = []
        for T in poses:
            q = self.joints(arm, T, seed)
            if np.abs(q - seed).max() > MAX_TURN:
                joint = self.scene.arms[arm].arm.joint_names[int(np.abs(q - seed).argmax())]
                raise Unreachable((), f"{joint} of {arm} reaches a limit on the way; use another orientation")
            path.append(q)
            seed = q
        return np.array(path)

    def held(self, arm: str) -> str | None:
        """Name of the object between the jaws of an arm, if any."""
        return held_by(self.scene, self._checked(arm))

    def hold(self, duration: float) -> None:
        """Keep all poses for a time [s]."""
        self._run(duration, {}, {})

    def close(self, arm: str, effort: float, duration: float = 0.6) -> None:
        """Close the jaws and grip with an effort [N m]."""
        self.grips[self._checked(arm)] = checks.positive("effort", effort, "N m")
        self._run(duration, {}, {})

    def open(self, arm: str, opening: float = 0.6, duration: float = 0.5) -> None:
        """Open the jaws to an angle [rad]."""
        self.grips[self._checked(arm)] = None
        self._run(duration, {}, {arm: opening})

    def ease(self, arm: str, duration: float = 0.3) -> None:
        """Let the effort of closed jaws fade, so that what they press against does not leap when they open."""
        effort = self.grips[self._checked(arm)]
        if effort is None:
            return
        for k in range(EASED - 1, 0, -1):
            self.close(arm, effort * k / EASED, duration / (EASED - 1))

    def gentle(self, arm: str, T: Array) -> float:
        """Duration [s] of a straight line to T (4, 4) at which a gripped needle does not slip, at least 0.6 s."""
        start = self.tip(arm)
        turn = Rotation.from_matrix(start[:3, :3].T @ checked_pose(T)[:3, :3]).magnitude()
        return max(0.6, float(turn) / GENTLE_TURN, float(np.linalg.norm(T[:3, 3] - start[:3, 3])) / GENTLE_SPEED)

    def move(self, arm: str, T: Array, duration: float, opening: float | None = None) -> None:
        """Move a tip on a straight line to T (4, 4) in `duration` [s], and open jaws to `opening` [rad] meanwhile."""
        self.follow(arm, straight(self.tip(arm), checked_pose(T)), duration, opening)

    def turn(self, arm: str, centre: Array, axis: Array, angle: float, duration: float) -> None:
        """Turn a tip by an angle [rad] about an axis (3,) through a centre (3,) of the world, in `duration` [s]."""
        start = self.tip(arm)
        poses = []
        for a in np.linspace(0.0, angle, max(4, 1 + int(np.ceil(abs(angle) / TURN_POSES)))):
            R = Rotation.from_rotvec(a * np.asarray(axis)).as_matrix()
            poses.append(pose(R @ start[:3, :3], centre + R @ (start[:3, 3] - centre)))
        self.follow(arm, poses, duration)

    def follow(self, arm: str, poses: Sequence[Array], duration: float, opening: float | None = None) -> None:
        """Follow tip poses (4, 4), starting at the current one, with the joints on a spline and a quintic in time.

        Raises Unreachable before anything moves if a pose is out of reach.
        """
        self.together({arm: poses}, duration, {} if opening is None else {arm: opening})

    def together(
        self, ways: Mapping[str, Sequence[Array]], duration: float, openings: Mapping[str, float] | None = None
    ) -> None:
        """Follow tip poses (4, 4) of several arms at once; as `follow`."""
        paths = {}
        for arm, poses in ways.items():
            path = self.path(arm, poses, self.q[self._checked(arm)])
            u = np.linspace(0.0, 1.0, len(path))
            paths[arm] = scipy.interpolate.CubicSpline(u, path, bc_type="clamped")
        self._run(duration, paths, openings or {})

    def _run(
        self, duration: float, paths: Mapping[str, scipy.interpolate.CubicSpline], openings: Mapping[str, float]
    ) -> None:
        """Advance, each arm along its path (q over [0, 1]) or holding, with jaws moving to their openings."""
        scene = self.scene
        steps = max(1, round(checks.positive("duration", duration) / scene.timestep))
        laws = {
            name: law if (grip := self.grips[name]) is None else GripControl(scene.arms[name].mechanism, grip, KP, KD)
            for name, law in self._position.items()
        }
        jaws = {name: (float(self.q[name][-1]), opening) for name, opening in openings.items()}
        still = {name: Setpoint(q, 0.0 * q, 0.0 * q) for name, q in self.q.items()}
        # a quintic in time, and the paths along it: evaluated at once, which is much faster than step by step
        times = [(k + 1) / steps for k in range(steps)]
        scale = [
            (
                x**3 * (10 - 15 * x + 6 * x * x),
                30 * x * x * (1 - x) ** 2 / duration,
                60 * x * (1 - x) * (1 - 2 * x) / duration**2,
            )
            for x in times
        ]
        u, du, ddu = np.array(scale).T[..., None]
        ways = {
            name: (q(u[:, 0]), q(u[:, 0], 1) * du, q(u[:, 0], 2) * du**2 + q(u[:, 0], 1) * ddu)
            for name, q in paths.items()
        }
        for k in range(steps):
            for name, arm in scene.arms.items():
                setpoint = still[name]
                if name in ways:
                    q, dq, ddq = ways[name]
                    setpoint = Setpoint(q[k], dq[k], ddq[k])
                if name in jaws:
                    q, (first, last) = setpoint.q.copy(), jaws[name]
                    q[-1] = first + (last - first) * scale[k][0]
                    setpoint = Setpoint(q, setpoint.dq, setpoint.ddq)
                scene.stepped[name].command(laws[name](State(scene.time, arm.q, arm.dq), setpoint))
            scene.advance()
            if self.watch is not None:
                self.watch()
        for name in scene.arms:
            q = paths[name](1.0) if name in paths else self.q[name].copy()
            if name in jaws:
                q[-1] = jaws[name][1]
            elif self.grips[name] is not None:
                q[-1] = scene.arms[name].q[-1]  # so that opening starts from where the jaws are
            self.q[name] = q

    def _checked(self, arm: str) -> str:
        check_known("arm of the scene", self.scene.arms, arm)
        if "jaw" not in self.scene.arms[arm].arm.joint_names:
            raise TrocarError(f"{arm} has no jaws")
        return arm


def straight(start: Array, end: Array) -> list[Array]:
    """Poses (4, 4) on a straight line from start to end."""
    turn = Slerp([0.0, 1.0], Rotation.from_matrix([start[:3, :3], end[:3, :3]]))
    return [pose(turn(u).as_matrix(), (1 - u) * start[:3, 3] + u * end[:3, 3]) for u in np.linspace(0.0, 1.0, POSES)]


def wrist_margin(lower: Array, upper: Array, q: Array) -> float:
    """Smallest distance [rad] of roll, wrist pitch and wrist yaw from their limits."""
    return float(min((q - lower)[3:6].min(), (upper - q)[3:6].min()))
