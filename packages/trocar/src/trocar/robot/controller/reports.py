"""Reports of an arm: joints, poses, twists, wrenches, Jacobians, and its kinematics services."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.arms import Arm
from trocar.errors import TrocarError
from trocar.robot import messages as m
from trocar.robot.controller.constants import PERIOD
from trocar.robot.controller.states import MAX_VALUE, usable
from trocar.robot.controller.tip import body_and_spatial, turned, wrench
from trocar.spatial import Array, checked_pose, inverse

if TYPE_CHECKING:
    from trocar.robot.controller.arm import ArmController
    from trocar.robot.controller.hardware import Hardware

STATISTICS: Any = dict.fromkeys(("period_avg", "period_min", "period_max"), PERIOD)  # simulated: without jitter
STATISTICS |= {"number_of_samples": round(1.0 / PERIOD), "statistics_interval": 1.0}
VERSION = "1.1.0"  # CRTK specification implemented by the dVRK


class Reports:
    """Readings of an arm: sources of its state topics, functions of its services, and values without messages.

    Attributes:
        base_frame: function that returns the arm's base in the frame of reference of its poses, and the name of that
            frame; set by the set-up joints or the console. Default: its own base.
    """

    def __init__(self, controller: ArmController) -> None:
        self._arm, self._hardware, self.tip = controller, controller.hardware, controller.tip
        own = np.eye(4), f"{controller.name}_base"
        self.base_frame: Callable[[], tuple[Array, str]] = lambda: own
        self._names = controller.arm.joint_names[: controller.n_tip]
        self._cache: tuple[int, Any] = (-1, None)
        self._jacobians: tuple[int, Any] = (-1, None)
        self._inverse: tuple[Any, Array] = None, np.eye(4)

    def forget(self) -> None:
        """Forget values of this cycle: the arm was placed elsewhere or changed."""
        self._cache = self._jacobians = (-1, None)

    def states(self) -> dict[str, Callable[[], m.Message]]:
        return {
            "measured_js": lambda: self._joints(lambda h: (h.q, h.dq, h.tau)),
            "setpoint_js": lambda: self._joints(lambda h: (h.setpoint(), h.setpoint_velocity(), h.setpoint_effort())),
            "gravity_compensation/setpoint_js": self._gravity,
            "measured_cp": lambda: self._pose(self.q, reference=True),
            "setpoint_cp": lambda: self._pose(self.q_setpoint, reference=True),
            "local/measured_cp": lambda: self._pose(self.q, reference=False),
            "local/setpoint_cp": lambda: self._pose(self.q_setpoint, reference=False),
            "measured_cv": lambda: self._twist(reference=True),
            "local/measured_cv": lambda: self._twist(reference=False),
            "body/measured_cf": lambda: self._wrench(1),
            "spatial/measured_cf": lambda: self._wrench(2),
            "body/jacobian": lambda: self._jacobian(1),
            "spatial/jacobian": lambda: self._jacobian(2),
            "period_statistics": lambda: m.IntervalStatistics(stamp=self._hardware.loop.now, **STATISTICS),
        }

    def services(self) -> dict[str, Callable[..., Any]]:
        return {
            "operating_state": lambda: self._arm.states.message(self._hardware.loop.now),
            "forward_kinematics": lambda jp: self.forward_kinematics(jp, reference=True),
            "local/forward_kinematics": lambda jp: self.forward_kinematics(jp, reference=False),
            "inverse_kinematics": self.inverse_kinematics,
            "actuator_to_joint_position": lambda q: self._arm.arm.motors.coupling @ np.asarray(q, dtype=float),
            "crtk_version": lambda: VERSION,
        }

    @property
    def arm(self) -> Arm:
        """Facts of the arm: names, limits and number of its joints."""
        return self._arm.arm

    @property
    def flags(self) -> tuple[bool, bool, bool]:
        """True if the arm is enabled, homed, busy."""
        states = self._arm.states
        return states.state == "ENABLED", states.homed, states.busy

    @property
    def tip_ready(self) -> bool:
        """True if the tip is reported and can be commanded."""
        return self._arm.tip_ready

    @property
    def joints(self) -> Array:
        """Measured positions (n,) of all joints, with the jaw [rad, m]; do not change them."""
        return self._hardware.q

    @property
    def joint_velocities(self) -> Array:
        """Measured velocities (n,) of all joints, with the jaw [rad/s, m/s]; do not change them."""
        return self._hardware.dq

    @property
    def joint_efforts(self) -> Array:
        """Measured efforts (n,) of all joints, with the jaw [N m, N]; do not change them."""
        return self._hardware.tau

    @property
    def applied_efforts(self) -> Array:
        """Efforts (n,) of the motors in the last cycle, with the jaw [N m, N]; not as measured, but as they act."""
        return self._hardware.applied

    def joint_setpoint(self) -> Array:
        """Set-point positions (n,) of all joints, with the jaw [rad, m]."""
        return self._hardware.setpoint()

    @property
    def gripper(self) -> float | None:
        """Opening of a master's gripper [rad]; None for an arm without one."""
        return None if self._arm.arm.gripper is None else self._hardware.gripper

    @property
    def q(self) -> Array:
        """Measured joints of the tip."""
        return self._hardware.q[: self._arm.n_tip]

    @property
    def q_setpoint(self) -> Array:
        return self._hardware.setpoint()[: self._arm.n_tip]

    def _joints(self, read: Callable[[Hardware], Sequence[Array]]) -> m.JointState:
        n, ready = self._arm.n_tip, self._arm.joints_ready
        q, dq, tau = (x[:n] for x in (read(self._hardware) if ready else np.zeros((3, n))))
        return self.joint_state(q, dq, tau, self._names, valid=ready)

    def _gravity(self) -> m.JointState:
        ready = self._arm.joints_ready
        tau = self._hardware.gravity() if ready and self._arm.gravity_compensation else np.zeros(self._arm.n)
        return self.joint_state(m.EMPTY, m.EMPTY, tau[: self._arm.n_tip], self._names, valid=ready)

    def joint_state(
        self, position: Array, velocity: Array, effort: Array, names: tuple[str, ...], valid: bool = True
    ) -> m.JointState:
        return m.JointState(
            stamp=self._hardware.loop.now if valid else 0,
            frame_id=f"{self._arm.name}_base",
            name=names,
            position=np.array(position),
            velocity=np.array(velocity),
            effort=np.array(effort),
        )

    @property
    def T_reference_base(self) -> Array:
        """The arm's base in the frame of reference of its poses (4, 4)."""
        return self.base_frame()[0]

    @property
    def T_base_reference(self) -> Array:
        T = self.T_reference_base
        if T is not self._inverse[0]:  # an unchanged frame is the same object
            self._inverse = T, inverse(T)
        return self._inverse[1]

    def set_base_frame(self, message: m.Pose) -> None:
        """Set the base frame from a command; it stays until the next one."""
        T = self._arm.checked_pose("set_base_frame", message.T)
        frame = T, message.frame_id or f"{self._arm.name}_base"
        self.base_frame = lambda: frame

    def _pose(self, q: Array, reference: bool) -> m.Pose:
        T_reference, name = self.base_frame() if reference else (np.eye(4), f"{self._arm.name}_base")
        if not self._arm.tip_ready:
            return m.Pose(T=np.eye(4), frame_id=name)
        T = self.tip.pose(q)
        return m.Pose(T=T_reference @ T if reference else T, frame_id=name, stamp=self._hardware.loop.now)

    def tip_motion(self) -> tuple[Array, Array]:
        """Tip pose (4, 4) in the base and its Jacobian (6, n) in base axes at the measured joints, once per cycle."""
        cycle = self._hardware.loop.cycle
        if self._cache[0] != cycle:
            self._cache = cycle, self.tip.pose_and_jacobian(self.q)
        motion: tuple[Array, Array] = self._cache[1]
        return motion

    def jacobians(self) -> tuple[Array, Array, Array]:
        """Tip pose in the base, body and spatial Jacobian at the measured joints, once per cycle."""
        cycle = self._hardware.loop.cycle
        if self._jacobians[0] != cycle:
            self._jacobians = cycle, body_and_spatial(*self.tip_motion())
        jacobians: tuple[Array, Array, Array] = self._jacobians[1]
        return jacobians

    def measured_pose(self) -> Array:
        """Measured pose (4, 4) in the frame of reference, without a message."""
        return self.base_frame()[0].dot(self.tip_motion()[0])

    def setpoint_pose(self) -> Array:
        """Set-point pose (4, 4) in the frame of reference, without a message."""
        return self.T_reference_base.dot(self.tip.pose(self.q_setpoint))

    def twist(self, reference: bool = True) -> Array:
        """Measured twist (6,) in axes of the frame of reference or of the tip."""
        T, J = self.tip_motion()
        v = J.dot(self._hardware.dq[: self._arm.n_tip])
        return turned(self.base_frame()[0][:3, :3] if reference else T[:3, :3].T, v)

    def _twist(self, reference: bool) -> m.Twist:
        name = self.base_frame()[1] if reference else f"{self._arm.name}_base"
        if not self._arm.tip_ready:
            return m.Twist(vector=np.zeros(6), frame_id=name)
        return m.Twist(vector=self.twist(reference), frame_id=name, stamp=self._hardware.loop.now)

    def _wrench(self, which: int) -> m.Wrench:
        if not self._arm.tip_ready:
            return m.Wrench(vector=np.zeros(6), frame_id=f"{self._arm.name}_base")
        jacobians = self.jacobians()
        w = wrench(jacobians[which], self._hardware.tau[: self._arm.n_tip])
        if which == 1 and self._arm.absolute_wrenches:
            w = turned(self.T_reference_base[:3, :3] @ jacobians[0][:3, :3], w)
        return m.Wrench(vector=w, frame_id=f"{self._arm.name}_base", stamp=self._hardware.loop.now)

    def _jacobian(self, which: int) -> m.Matrix:
        if not self._arm.tip_ready:
            return m.Matrix(values=np.zeros((6, self._arm.n_tip)))
        return m.Matrix(values=self.jacobians()[which].copy(), stamp=self._hardware.loop.now)

    def forward_kinematics(self, jp: ArrayLike, reference: bool) -> m.KinematicsResult:
        """Pose of link k for k joint positions, with the base frame (`reference`) or in the arm's base."""
        q = np.asarray(jp, dtype=float).reshape(-1)
        if len(q) > self._arm.n_tip:
            return m.KinematicsResult(np.eye(4), False, "too many joints")
        if not usable(q):
            return m.KinematicsResult(np.eye(4), False, f"joint values must be finite and within {MAX_VALUE:g}")
        T = self.tip.link_pose(q)
        return m.KinematicsResult(self.T_reference_base @ T if reference else T, True)

    def inverse_kinematics(self, jp: ArrayLike, cp: ArrayLike) -> m.KinematicsResult:
        """Joints closest to the seed `jp` for a pose `cp` in the arm's own base, without the base frame."""
        seed = np.asarray(jp, dtype=float).reshape(-1)
        if len(seed) != self._arm.n_tip:
            return m.KinematicsResult(seed, False, "incorrect number of joints")
        try:
            if not usable(seed):
                raise TrocarError(f"joint values must be finite and within {MAX_VALUE:g}")
            return m.KinematicsResult(self._arm.solve(checked_pose(np.asarray(cp, dtype=float)), seed), True)
        except TrocarError:
            return m.KinematicsResult(seed, False, "inverse kinematics failed")
