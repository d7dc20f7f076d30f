"""A live robot as a scene of CoppeliaSim's remote APIs: joints, frames and vision sensors by name.

The robot keeps its own controllers: targets of joints become set points of the dVRK's servo. Time is that of the remote
API, as in CoppeliaSim: it passes while the simulation runs, in real time or by triggers. Other windows on the robot see
every control cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import NamedTuple

import numpy as np

from trocar import checks
from trocar.appearance.endoscope_camera import BASELINE, VIEW
from trocar.appearance.films import Picture
from trocar.appearance.lens import Lens
from trocar.errors import TrocarError
from trocar.robot import Robot
from trocar.robot.controller.constants import FREQUENCY, PERIOD
from trocar.robot.messages import ArmFrame
from trocar.spatial import Array, pose
from trocar_reproductions.coppelia.packets import ScriptCall
from trocar_reproductions.coppelia.pictures import EndoscopePictures
from trocar_reproductions.coppelia.remote_scene import (
    DUMMY,
    JOINT,
    VISION_SENSOR,
    SceneClock,
    SceneRefusal,
    parents,
)

MAX_PERIOD = 0.1  # of a simulation step [s]
SIZE = 640, 480  # of pictures [pixels]
EYES = {"left": 1.0, "right": -1.0}  # side, along x of the tip
FINGERS = {"dx": 1.0, "sx": -1.0}  # sign of the wrist's yaw


class RobotJoint(NamedTuple):
    """A joint of an arm: J1_PSM1 is the first of PSM1."""

    arm: str
    number: int


class RobotFinger(NamedTuple):
    """A finger of an instrument, as the dVRK's scenes for V-REP have it: half the jaw plus or minus the wrist's yaw."""

    arm: str
    side: float


class RobotFrame(NamedTuple):
    """A frame of an arm: "base", "tip", a "target", or the vision sensor "left" or "right"."""

    arm: str
    kind: str


class JointTargets:
    """Set points of one arm that move to target positions or at target velocities, each joint within its speed.

    Attributes:
        q: set points (n,). position: targets (n,), NaN where the velocity counts. velocity: (n,) [rad, m; /s].
    """

    def __init__(self, q: Array, speeds: Array, lower: Array, upper: Array) -> None:
        self.q, self._speeds, self._range = q, speeds, (lower, upper)
        self.position, self.velocity = q.copy(), np.zeros(len(q))

    @property
    def moving(self) -> bool:
        goal = np.where(np.isnan(self.position), self.q + self.velocity, self.position)
        return bool((np.clip(goal, *self._range) != self.q).any())

    def advance(self, dt: float) -> Array:
        """Set points after a time [s]."""
        way = np.where(np.isnan(self.position), self.velocity * dt, self.position - self.q)
        self.q = np.clip(self.q + np.clip(way, -self._speeds * dt, self._speeds * dt), *self._range)
        return self.q


class RobotScene(SceneClock):
    """A robot, as a `RemoteScene`.

    Objects: joints J1_PSM1, J2_PSM1, ... (the last one of a PSM is its jaw), frames RCM_PSM1 (the base of an arm) and
    Tip_PSM1, and Vision_sensor_left, Vision_sensor_right if there is an endoscope. An instrument also has the names of
    the dVRK's scenes for V-REP: joints J1_TOOL1 (roll), J2_TOOL1 (wrist pitch), J3_dx_TOOL1 and J3_sx_TOOL1 (fingers),
    frames EE_virtual_TOOL1, J3_dx_tip_TOOL1, J3_sx_tip_TOOL1 (the tip) and IK_target_dx_PSM1, IK_target_sx_PSM1. The
    targets can be placed; no arm follows them.

    Args:
        robot: with speed="stepped"; the steps of this scene let its time pass.
        period: of a simulation step [s], whole control cycles.
    """

    def __init__(self, robot: Robot, period: float = 0.01) -> None:
        checks.number("the period", period, PERIOD, MAX_PERIOD, "s")
        self._cycles = round(period * FREQUENCY)
        if abs(self._cycles - period * FREQUENCY) > 1e-6:
            raise TrocarError(
                f"the period must be a multiple of the robot's cycle of 1/{FREQUENCY} s, such as 0.002 or 0.01 s, "
                f"got {period:g} s"
            )
        super().__init__(period)
        self._robot, self._simulation = robot, robot.simulation()
        frame = self._simulation.frame()
        self._objects: dict[str, RobotJoint | RobotFinger | RobotFrame] = {}
        chains = []
        self._pictures: EndoscopePictures | None = None
        for name in robot.arms:
            arm = frame.scene.arms[name].arm
            self._objects |= {f"J{k + 1}_{name}": RobotJoint(name, k) for k in range(arm.n)}
            self._objects |= {f"RCM_{name}": RobotFrame(name, "base"), f"Tip_{name}": RobotFrame(name, "tip")}
            chains.append([f"RCM_{name}", *(f"J{k + 1}_{name}" for k in range(arm.n)), f"Tip_{name}"])
            if arm.carries == "instrument":
                tool = f"TOOL{name.removeprefix('PSM')}"
                self._objects |= {f"J1_{tool}": RobotJoint(name, 3), f"J2_{tool}": RobotJoint(name, 4)}
                self._objects |= {f"J3_{side}_{tool}": RobotFinger(name, sign) for side, sign in FINGERS.items()}
                self._objects |= {f"J3_{side}_tip_{tool}": RobotFrame(name, "tip") for side in FINGERS}
                self._objects |= {f"IK_target_{side}_{name}": RobotFrame(name, "target") for side in FINGERS}
                self._objects |= {f"EE_virtual_{tool}": RobotFrame(name, "tip")}
                chains += [
                    [f"J3_{name}", f"J1_{tool}", f"J2_{tool}", f"J3_{side}_{tool}", f"J3_{side}_tip_{tool}"]
                    for side in FINGERS
                ]
                chains.append([f"J2_{tool}", f"EE_virtual_{tool}"])
            if arm.carries == "endoscope" and self._pictures is None:
                sensors = {eye: pose(np.eye(3), [side * BASELINE / 2, 0.0, 0.0]) for eye, side in EYES.items()}
                self._pictures = EndoscopePictures(name, Lens.of_view(VIEW, *SIZE), sensors)
                self._objects |= {f"Vision_sensor_{eye}": RobotFrame(name, eye) for eye in EYES}
        self._handles = {name: k + 1 for k, name in enumerate(self._objects)}
        self._by_handle = dict(enumerate(self._objects.values(), 1))
        self.names: Mapping[int, str] = dict(enumerate(self._objects, 1))
        self.kinds: Mapping[int, int] = {handle: _kind(one) for handle, one in self._by_handle.items()}
        self.parents: Mapping[int, int] = parents(self.names, chains)
        self._mechanisms = {name: frame.scene.arms[name].mechanism() for name in robot.arms}
        self._reset()

    def _reset(self) -> None:
        self.floats: dict[str, float] = {}
        self.integers: dict[str, int] = {}
        self._targets: dict[str, JointTargets] = {}
        self._placed: dict[int, Array] = {}  # targets, by handle
        self._steps = 0

    def close(self) -> None:
        """End the thread that renders pictures."""
        if self._pictures is not None:
            self._pictures.close()

    # -- objects -------------------------------------------------------------------------------------------------------

    def handle(self, name: str) -> int:
        """Handle of an object."""
        if name not in self._handles:
            raise SceneRefusal(f"the robot has no object '{name}'")
        return self._handles[name]

    def _joint(self, handle: int) -> RobotJoint:
        one = self._by_handle.get(handle)
        if isinstance(one, RobotFinger):
            raise SceneRefusal(
                f"{self.names[handle]} is a finger, which is read only; use the joints 6 and 7 of {one.arm}"
            )
        if not isinstance(one, RobotJoint):
            raise SceneRefusal(f"handle {handle} is not a joint")
        return one

    def _finger_or_joint(self, handle: int, values: Callable[[str], Array]) -> float:
        """A quantity of a joint, or of a finger, from those of all joints of its arm."""
        one = self._by_handle.get(handle)
        if isinstance(one, RobotFinger):
            yaw, jaw = values(one.arm)[5:7]
            return float(0.5 * jaw + one.side * yaw)
        arm, k = self._joint(handle)
        return float(values(arm)[k])

    def _frame_of_arm(self, handle: int) -> RobotFrame:
        one = self._by_handle.get(handle)
        if not isinstance(one, RobotFrame):
            raise SceneRefusal(f"handle {handle} is not a frame")
        return one

    def _state(self, arm: str) -> ArmFrame:
        return self._simulation.frame((arm,)).arms[arm]

    def joint_position(self, handle: int) -> float:
        """True position of a joint or finger [rad, m]."""
        return self._finger_or_joint(handle, lambda arm: self._state(arm).q)

    def joint_range(self, handle: int) -> tuple[float, float]:
        """Limits of a joint [rad, m]."""
        arm, k = self._joint(handle)
        joint = self._mechanisms[arm].arm.joints[k]
        return joint.lower, joint.upper

    def joint_velocity(self, handle: int) -> float:
        """True velocity of a joint or finger [rad/s, m/s]."""
        return self._finger_or_joint(handle, lambda arm: self._state(arm).dq)

    def joint_force(self, handle: int) -> float:
        """Effort of a joint in the last cycle [N m, N], in CoppeliaSim's sign."""
        arm, k = self._joint(handle)
        tau = self._state(arm).tau
        return 0.0 if tau is None else -float(tau[k])

    def joint_force_limit(self, handle: int) -> float:
        """Largest effort of a joint [N m, N]."""
        arm, k = self._joint(handle)
        return float(self._mechanisms[arm].arm.joints[k].effort)

    def set_joint_force_limit(self, handle: int, force: float) -> None:
        """The robot limits its motors itself."""
        raise SceneRefusal("the robot's controllers limit the efforts of its motors; simxSetJointForce cannot")

    def set_joint_position(self, handle: int, position: float) -> None:
        """Place a joint at once, without dynamics."""
        arm, k = self._joint(handle)
        q = self._state(arm).q.copy()
        q[k] = position
        self._simulation.arm(arm).place(q)
        self._targets.pop(arm, None)

    def set_joint_target(self, handle: int, *, position: float | None = None, velocity: float | None = None) -> None:
        """Target of a joint; its set point moves there within the joint's speed, or at the velocity."""
        name, k = self._joint(handle)
        if name not in self._targets:
            with self._robot.bus.lock:
                q = self._robot.readings(name).joint_setpoint().copy()
            arm = self._mechanisms[name].arm
            speeds = np.array([joint.velocity for joint in arm.joints])
            self._targets[name] = JointTargets(q, speeds, arm.lower, arm.upper)
        targets = self._targets[name]
        targets.position[k] = np.nan if position is None else position
        targets.velocity[k] = 0.0 if velocity is None else velocity

    def pose(self, handle: int) -> Array:
        """Pose (4, 4) of a frame in the world."""
        arm, kind = self._frame_of_arm(handle)
        frame = self._simulation.frame((arm,))
        T_base, T_tip = frame.scene.arms[arm].T_world_base, frame.arms[arm].T_tip
        if kind == "base":
            return T_base
        T: Array = T_base @ T_tip
        if kind == "target":  # at the tip until it is placed
            return self._placed.get(handle, T)
        return T if kind == "tip" or self._pictures is None else T @ self._pictures.sensors[kind]

    def velocity(self, handle: int) -> Array:
        """Velocity (6,) of a frame, linear and angular, world axes [m/s, rad/s]."""
        arm, kind = self._frame_of_arm(handle)
        if kind in ("base", "target"):
            return np.zeros(6)
        frame = self._simulation.frame((arm,))
        state, R = frame.arms[arm], frame.scene.arms[arm].T_world_base[:3, :3]
        J = self._mechanisms[arm].jacobian(state.q)
        twist = J @ state.dq[: J.shape[1]]
        return np.concatenate([R @ twist[:3], R @ twist[3:]])

    def place(self, handle: int, T: Array) -> None:
        """Place a target; other frames of a robot cannot be placed."""
        if self._frame_of_arm(handle).kind == "target":
            self._placed[handle] = T
            return
        raise SceneRefusal("the frames of a robot are part of its arms and cannot be placed")

    def image(self, handle: int) -> Future[Picture]:
        """Picture of a vision sensor at the tip of the endoscope."""
        _, kind = self._frame_of_arm(handle)
        if self._pictures is None or kind not in EYES:
            raise SceneRefusal(f"handle {handle} is not a vision sensor")
        return self._pictures.picture(self._simulation.frame(()), kind)

    def call(self, script: str, function: str, arguments: ScriptCall) -> ScriptCall:
        """There are no script functions."""
        raise SceneRefusal(f"the script function {function} of {script} is refused: a robot has no scripts")

    # -- simulation ----------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Stop time and reset the robot: every arm at its start and in its initial state; signals are cleared."""
        self.running = self.paused = False
        self._simulation.reset()
        self._reset()

    def step(self) -> None:
        """Advance by a period, with new set points in every control cycle."""
        for _ in range(self._cycles):
            for name, targets in self._targets.items():
                if targets.moving:
                    self._follow(name, targets.advance(PERIOD))
            self._robot.step()
        self._steps += 1

    def _follow(self, name: str, q: Array) -> None:
        arm = self._mechanisms[name].arm
        self._robot.arm(name).servo_jp(q[: arm.tip_joints])
        if arm.carries == "instrument":
            self._robot.psm(name).jaw.servo_jp(q[arm.tip_joints :])


def _kind(one: RobotJoint | RobotFinger | RobotFrame) -> int:
    if isinstance(one, RobotFrame):
        return VISION_SENSOR if one.kind in EYES else DUMMY
    return JOINT
