"""Robots and hands on their masters for tests of teleoperation, in stepped time."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from trocar.robot import Robot, Sensors
from trocar.robot.controller.constants import PERIOD as CYCLE
from trocar.robot.messages import Joy, Pose
from trocar.simulation import Scene, SceneArm
from trocar.spatial import Array, pose, rotation_vector
from trocar.teleoperation.settings import PSMSettings
from trocar.teleoperation.wiring import Teleoperation

MASTER, SLAVE, PAIR = "MTMR", "PSM1", "MTMR_PSM1"
Q_MASTER = np.array([0.1, 0.3, -0.2, 0.0, 1.5, 0.0, 0.0])  # near the middle of its workspace
Q_SLAVE = np.array([0.1, -0.1, 0.15, 0.0, 0.0, 0.0, 0.5])
AT_ONCE = PSMSettings(start_gripper_threshold=0.0)  # follow as soon as aligned, as in the dVRK's simulated systems


@cache
def _pair_scene() -> Scene:
    """One master and one PSM, 2 m apart."""
    arms = {
        MASTER: SceneArm(arm=MASTER, base=np.eye(4), q=Q_MASTER),
        SLAVE: SceneArm(arm="PSM", base=pose(p=(2.0, 0.0, 0.0)), q=Q_SLAVE),
    }
    return Scene(arms, timestep=CYCLE, contacts=False)


class PairRig:
    """A master, a PSM and their teleoperation in stepped time; in the camera both have the same orientation.

    Args:
        settings: settings of the pair. q_master: initial joints of the master (7,). sensors: imperfections.

    Attributes:
        robot, teleoperation, pair: the simulated system. hand: hand on the master.
    """

    def __init__(
        self, settings: PSMSettings = AT_ONCE, q_master: Array = Q_MASTER, sensors: Sensors | None = None
    ) -> None:
        scene = _pair_scene()
        scene.reset({MASTER: Q_MASTER, SLAVE: Q_SLAVE})
        self.robot = Robot(scene, start="ready", speed="stepped", sensors=sensors or Sensors.ideal())
        self._look()
        if q_master is not Q_MASTER:
            scene.reset({MASTER: q_master, SLAVE: Q_SLAVE})
            self.robot = Robot(scene, start="ready", speed="stepped", sensors=sensors or Sensors.ideal())
            self.robot.bus.publish(f"{SLAVE}/set_base_frame", Pose(T=self._T_camera_base, frame_id="camera"))
        self.robot.step()
        self.teleoperation = Teleoperation(self.robot, settings)
        self.pair = self.teleoperation.pairs[PAIR]
        self.hand = Hand(self.robot, MASTER)
        self.robot.every(CYCLE, self.hand.act)

    def _look(self) -> None:
        """Place the camera so that the PSM's tip is oriented like the master's grip."""
        master, slave = (self.robot.arm(name) for name in (MASTER, SLAVE))
        R = master.measured_cp()[0][:3, :3] @ slave.local.measured_cp()[0][:3, :3].T
        self._T_camera_base = pose(R, (0.0, 0.0, 0.1))
        self.robot.bus.publish(f"{SLAVE}/set_base_frame", Pose(T=self._T_camera_base, frame_id="camera"))

    def start(self) -> None:
        """Enable teleoperation with an operator at the console."""
        self.robot.console().teleop_start()
        self.press("operator_present")

    def press(self, pedal: str, down: bool = True) -> None:
        """Press or release a pedal, without debouncing."""
        self.robot.bus.publish(f"console/emulate_{pedal}", Joy(buttons=(int(down),)))

    def follow(self, timeout: float = 4.0) -> None:
        """Start, and run until the PSM follows."""
        self.start()
        self.until(lambda: self.pair.state.following, timeout)

    def until(self, condition: Any, timeout: float) -> float:
        """Run until a condition holds; return the time it took [s], infinite after the timeout."""
        begun = self.robot.time
        while not condition():
            if self.robot.time - begun > timeout:
                return np.inf
            self.robot.step()
        return self.robot.time - begun

    def setpoint(self) -> Array:
        """Set-point pose of the PSM (4, 4) in the camera."""
        return self.robot.bus.read(f"{SLAVE}/setpoint_cp").T

    def measured(self) -> Array:
        """Measured pose of the PSM (4, 4) in the camera."""
        return self.robot.bus.read(f"{SLAVE}/measured_cp").T


class Hand:
    """A hand on a master: a spring and damper towards a goal.

    Attributes:
        goal: pose (4, 4) in the master's base; None: no spring. k, b: [N/m, N s/m].
        k_turn, b_turn: [N m/rad, N m s/rad]; 0 leaves the wrist free. force: additional force (3,) [N], base axes.
    """

    def __init__(self, robot: Robot, name: str) -> None:
        self._robot, self.name = robot, name
        self.goal: Array | None = None
        self.k, self.b, self.k_turn, self.b_turn = 200.0, 5.0, 0.0, 0.0
        self.force = np.zeros(3)

    @property
    def arm(self) -> Any:
        return self._robot.scene.arms[self.name]

    def grasp(self) -> None:
        """Hold the master at its current pose."""
        self.goal = self.arm.tip_pose()

    def act(self, _t: float) -> None:
        """Apply the force of this cycle."""
        arm, wrench = self.arm, np.zeros(6)
        wrench[:3] = self.force
        if self.goal is not None:
            T, J = arm.mechanism.pose_and_jacobian(arm.q)
            v = J @ arm.dq
            wrench[:3] += self.k * (self.goal[:3, 3] - T[:3, 3]) - self.b * v[:3]
            if self.k_turn:
                wrench[3:] += self.k_turn * rotation_vector(self.goal[:3, :3] @ T[:3, :3].T) - self.b_turn * v[3:]
        arm.apply_wrench(wrench)


def minimum_jerk(s: float) -> float:
    """Normalised position (0 to 1) of a minimum-jerk motion at normalised time s."""
    s = min(1.0, max(0.0, s))
    return s**3 * (10.0 - 15.0 * s + 6.0 * s * s)


def angle_between(A: Array, B: Array) -> float:
    """Angle between two orientations (3, 3) [rad]."""
    return float(np.linalg.norm(rotation_vector(A @ B.T)))
