"""Methods of the clients; written by tools/client_rows.py from the interface table. Do not edit."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from trocar.robot import interface
from trocar.robot.clients.device import DeviceClient, MoveHandle
from trocar.robot.clients.methods import Gains, Joints, Stamped
from trocar.robot.messages import (
    Bool,
    CartesianState,
    Empty,
    Float,
    Frame,
    ImpedanceGoal,
    JointState,
    Joy,
    Pose,
    Rotation,
    String,
    Twist,
    Wrench,
)
from trocar.spatial import Array

if TYPE_CHECKING:
    from trocar.mechanics import Mechanism
    from trocar.recording import Recording
    from trocar.robot.recorder import Recorder
    from trocar.robot.simulation_server import RobotSnapshot
    from trocar.simulation import Scene


class WrenchFrameRows(DeviceClient, interface=interface.WRENCH_FRAME):
    def measured_cf(self, wait_timeout: float | None = None) -> Stamped:
        """Wrench (6,) [N, N m], computed from motor currents, and the time of measurement [s]."""
        return self.read("measured_cf", ("vector",), True, wait_timeout)

    def jacobian(self, wait_timeout: float | None = None) -> Stamped:
        """Jacobian (6, n), linear rows first, and the time of measurement [s]."""
        return self.read("jacobian", ("values",), True, wait_timeout)

    def servo_cf(self, setpoint: ArrayLike) -> None:
        """Apply a wrench (6,) [N, N m] until the next command."""
        self.command("servo_cf", Wrench, ("vector",), False, setpoint)


class LocalFrameRows(DeviceClient, interface=interface.LOCAL_FRAME):
    def measured_cp(self, wait_timeout: float | None = None) -> Stamped:
        """Pose (4, 4) [m] and the time of measurement [s]."""
        return self.read("measured_cp", ("T",), True, wait_timeout)

    def setpoint_cp(self, wait_timeout: float | None = None) -> Stamped:
        """Pose (4, 4) [m] and the time of measurement [s]."""
        return self.read("setpoint_cp", ("T",), True, wait_timeout)

    def measured_cv(self, wait_timeout: float | None = None) -> Stamped:
        """Twist (6,) [m/s, rad/s] and the time of measurement [s]."""
        return self.read("measured_cv", ("vector",), True, wait_timeout)

    def forward_kinematics(self, jp: ArrayLike, extra: Any = None) -> Any:
        """Answer of forward_kinematics; with extra: (value, result, message)."""
        return self.ask("forward_kinematics", jp, extra)


class ArmRows(DeviceClient, interface=interface.ARM):
    def desired_state(self, wait_timeout: float | None = None) -> str:
        """Last text of desired_state."""
        return self.read("desired_state", ("value",), False, wait_timeout)

    def error(self, wait_timeout: float | None = None) -> str:
        """Last text of error."""
        return self.read("error", ("value",), False, wait_timeout)

    def warning(self, wait_timeout: float | None = None) -> str:
        """Last text of warning."""
        return self.read("warning", ("value",), False, wait_timeout)

    def status(self, wait_timeout: float | None = None) -> str:
        """Last text of status."""
        return self.read("status", ("value",), False, wait_timeout)

    def measured_js(self, wait_timeout: float | None = None) -> Joints:
        """Joint positions [rad, m], velocities, efforts [N m, N] and the time of measurement [s]."""
        return self.read("measured_js", ("position", "velocity", "effort"), True, wait_timeout)

    def measured_jp(self, wait_timeout: float | None = None) -> Stamped:
        """Joint positions [rad, m] and the time of measurement [s]."""
        return self.read("measured_js", ("position",), True, wait_timeout)

    def measured_jv(self, wait_timeout: float | None = None) -> Stamped:
        """Joint velocities [rad/s, m/s] and the time of measurement [s]."""
        return self.read("measured_js", ("velocity",), True, wait_timeout)

    def measured_jf(self, wait_timeout: float | None = None) -> Stamped:
        """Joint efforts [N m, N] and the time of measurement [s]."""
        return self.read("measured_js", ("effort",), True, wait_timeout)

    def setpoint_js(self, wait_timeout: float | None = None) -> Joints:
        """Joint positions [rad, m], velocities, efforts [N m, N] and the time of measurement [s]."""
        return self.read("setpoint_js", ("position", "velocity", "effort"), True, wait_timeout)

    def setpoint_jp(self, wait_timeout: float | None = None) -> Stamped:
        """Joint positions [rad, m] and the time of measurement [s]."""
        return self.read("setpoint_js", ("position",), True, wait_timeout)

    def setpoint_jv(self, wait_timeout: float | None = None) -> Stamped:
        """Joint velocities [rad/s, m/s] and the time of measurement [s]."""
        return self.read("setpoint_js", ("velocity",), True, wait_timeout)

    def setpoint_jf(self, wait_timeout: float | None = None) -> Stamped:
        """Joint efforts [N m, N] and the time of measurement [s]."""
        return self.read("setpoint_js", ("effort",), True, wait_timeout)

    def gravity_compensation_setpoint_js(self, wait_timeout: float | None = None) -> Joints:
        """Joint positions [rad, m], velocities, efforts [N m, N] and the time of measurement [s]."""
        return self.read("gravity_compensation/setpoint_js", ("position", "velocity", "effort"), True, wait_timeout)

    def gravity_compensation_setpoint_jp(self, wait_timeout: float | None = None) -> Stamped:
        """Joint positions [rad, m] and the time of measurement [s]."""
        return self.read("gravity_compensation/setpoint_js", ("position",), True, wait_timeout)

    def gravity_compensation_setpoint_jv(self, wait_timeout: float | None = None) -> Stamped:
        """Joint velocities [rad/s, m/s] and the time of measurement [s]."""
        return self.read("gravity_compensation/setpoint_js", ("velocity",), True, wait_timeout)

    def gravity_compensation_setpoint_jf(self, wait_timeout: float | None = None) -> Stamped:
        """Joint efforts [N m, N] and the time of measurement [s]."""
        return self.read("gravity_compensation/setpoint_js", ("effort",), True, wait_timeout)

    def measured_cp(self, wait_timeout: float | None = None) -> Stamped:
        """Pose (4, 4) [m] and the time of measurement [s]."""
        return self.read("measured_cp", ("T",), True, wait_timeout)

    def setpoint_cp(self, wait_timeout: float | None = None) -> Stamped:
        """Pose (4, 4) [m] and the time of measurement [s]."""
        return self.read("setpoint_cp", ("T",), True, wait_timeout)

    def measured_cv(self, wait_timeout: float | None = None) -> Stamped:
        """Twist (6,) [m/s, rad/s] and the time of measurement [s]."""
        return self.read("measured_cv", ("vector",), True, wait_timeout)

    def goal_reached(self, wait_timeout: float | None = None) -> bool:
        """Last value of goal_reached."""
        return self.read("goal_reached", ("value",), False, wait_timeout)

    def trajectory_j_ratio(self, wait_timeout: float | None = None) -> float:
        """Last value of trajectory_j/ratio."""
        return self.read("trajectory_j/ratio", ("value",), False, wait_timeout)

    def trajectory_j_get_ratio(self, wait_timeout: float | None = None) -> float:
        """Last value of trajectory_j/ratio."""
        return self.read("trajectory_j/ratio", ("value",), False, wait_timeout)

    def trajectory_j_ratio_v(self, wait_timeout: float | None = None) -> float:
        """Last value of trajectory_j/ratio_v."""
        return self.read("trajectory_j/ratio_v", ("value",), False, wait_timeout)

    def trajectory_j_get_ratio_v(self, wait_timeout: float | None = None) -> float:
        """Last value of trajectory_j/ratio_v."""
        return self.read("trajectory_j/ratio_v", ("value",), False, wait_timeout)

    def trajectory_j_ratio_a(self, wait_timeout: float | None = None) -> float:
        """Last value of trajectory_j/ratio_a."""
        return self.read("trajectory_j/ratio_a", ("value",), False, wait_timeout)

    def trajectory_j_get_ratio_a(self, wait_timeout: float | None = None) -> float:
        """Last value of trajectory_j/ratio_a."""
        return self.read("trajectory_j/ratio_a", ("value",), False, wait_timeout)

    def servo_jp(self, setpoint_p: ArrayLike, setpoint_v: ArrayLike = ()) -> None:
        """Follow joint positions [rad, m] immediately; optionally with velocities setpoint_v."""
        self.command("servo_jp", JointState, ("position", "velocity"), False, setpoint_p, setpoint_v)

    def servo_jr(self, setpoint: ArrayLike) -> None:
        """Follow the setpoint plus a difference [rad, m]."""
        self.command("servo_jr", JointState, ("position",), False, setpoint)

    def servo_jf(self, setpoint: ArrayLike) -> None:
        """Apply joint efforts [N m, N]."""
        self.command("servo_jf", JointState, ("effort",), False, setpoint)

    def move_jp(self, setpoint: ArrayLike) -> MoveHandle:
        """Move to joint positions [rad, m] within the published velocities and accelerations."""
        return self.command("move_jp", JointState, ("position",), True, setpoint)

    def move_jr(self, setpoint: ArrayLike) -> MoveHandle:
        """Move by a difference of joint positions [rad, m]."""
        return self.command("move_jr", JointState, ("position",), True, setpoint)

    def servo_cp(self, setpoint: ArrayLike) -> None:
        """Follow a tip pose (4, 4) immediately."""
        self.command("servo_cp", Pose, ("T",), False, setpoint)

    def move_cp(self, setpoint: ArrayLike) -> MoveHandle:
        """Move the tip to a pose (4, 4) along a joint trajectory."""
        return self.command("move_cp", Pose, ("T",), True, setpoint)

    def set_base_frame(self, base_frame: ArrayLike) -> None:
        """Set the pose (4, 4) of the base in the reference frame."""
        self.command("set_base_frame", Pose, ("T",), False, base_frame)

    def servo_cs(self, setpoint: CartesianState) -> None:
        """Follow a pose and apply a wrench, each optional."""
        self.command("servo_cs", CartesianState, (), False, setpoint)

    def hold(self) -> None:
        """Hold the current setpoint."""
        self.command("hold", Empty, (), False)

    def free(self) -> None:
        """Apply no effort beyond gravity compensation."""
        self.command("free", Empty, (), False)

    def use_gravity_compensation(self, gravity_compensation: bool) -> None:
        """Add gravity compensation to commanded efforts."""
        self.command("use_gravity_compensation", Bool, ("value",), False, gravity_compensation)

    def body_set_cf_orientation_absolute(self, absolute: bool) -> None:
        """Give body wrenches in axes of the reference frame, not of the tip."""
        self.command("body/set_cf_orientation_absolute", Bool, ("value",), False, absolute)

    def trajectory_j_set_ratio(self, ratio: float) -> None:
        """Scale the velocities and accelerations of moves, 0 < ratio <= 1."""
        self.command("trajectory_j/set_ratio", Float, ("value",), False, ratio)

    def trajectory_j_set_ratio_v(self, ratio_v: float) -> None:
        """Send a command to trajectory_j/set_ratio_v."""
        self.command("trajectory_j/set_ratio_v", Float, ("value",), False, ratio_v)

    def trajectory_j_set_ratio_a(self, ratio_a: float) -> None:
        """Send a command to trajectory_j/set_ratio_a."""
        self.command("trajectory_j/set_ratio_a", Float, ("value",), False, ratio_a)

    def forward_kinematics(self, jp: ArrayLike, extra: Any = None) -> Any:
        """Answer of forward_kinematics; with extra: (value, result, message)."""
        return self.ask("forward_kinematics", jp, extra)

    def inverse_kinematics(self, jp: ArrayLike, cp: ArrayLike, extra: Any = None) -> Any:
        """Answer of inverse_kinematics; with extra: (value, result, message)."""
        return self.ask("inverse_kinematics", jp, cp, extra)

    def actuator_to_joint_position(self, values: ArrayLike) -> Any:
        """Answer of actuator_to_joint_position."""
        return self.ask("actuator_to_joint_position", values)

    def crtk_version(self) -> Any:
        """Answer of crtk_version."""
        return self.ask("crtk_version")


class JawRows(DeviceClient, interface=interface.JAW):
    def measured_js(self, wait_timeout: float | None = None) -> Joints:
        """Joint positions [rad, m], velocities, efforts [N m, N] and the time of measurement [s]."""
        return self.read("measured_js", ("position", "velocity", "effort"), True, wait_timeout)

    def measured_jp(self, wait_timeout: float | None = None) -> Stamped:
        """Joint positions [rad, m] and the time of measurement [s]."""
        return self.read("measured_js", ("position",), True, wait_timeout)

    def measured_jv(self, wait_timeout: float | None = None) -> Stamped:
        """Joint velocities [rad/s, m/s] and the time of measurement [s]."""
        return self.read("measured_js", ("velocity",), True, wait_timeout)

    def measured_jf(self, wait_timeout: float | None = None) -> Stamped:
        """Joint efforts [N m, N] and the time of measurement [s]."""
        return self.read("measured_js", ("effort",), True, wait_timeout)

    def setpoint_js(self, wait_timeout: float | None = None) -> Joints:
        """Joint positions [rad, m], velocities, efforts [N m, N] and the time of measurement [s]."""
        return self.read("setpoint_js", ("position", "velocity", "effort"), True, wait_timeout)

    def setpoint_jp(self, wait_timeout: float | None = None) -> Stamped:
        """Joint positions [rad, m] and the time of measurement [s]."""
        return self.read("setpoint_js", ("position",), True, wait_timeout)

    def setpoint_jv(self, wait_timeout: float | None = None) -> Stamped:
        """Joint velocities [rad/s, m/s] and the time of measurement [s]."""
        return self.read("setpoint_js", ("velocity",), True, wait_timeout)

    def setpoint_jf(self, wait_timeout: float | None = None) -> Stamped:
        """Joint efforts [N m, N] and the time of measurement [s]."""
        return self.read("setpoint_js", ("effort",), True, wait_timeout)

    def servo_jp(self, setpoint_p: ArrayLike, setpoint_v: ArrayLike = ()) -> None:
        """Follow joint positions [rad, m] immediately; optionally with velocities setpoint_v."""
        self.command("servo_jp", JointState, ("position", "velocity"), False, setpoint_p, setpoint_v)

    def move_jp(self, setpoint: ArrayLike) -> MoveHandle:
        """Move to joint positions [rad, m] within the published velocities and accelerations."""
        return self.command("move_jp", JointState, ("position",), True, setpoint)

    def servo_jf(self, setpoint: ArrayLike) -> None:
        """Apply joint efforts [N m, N]."""
        self.command("servo_jf", JointState, ("effort",), False, setpoint)


class PSMRows(DeviceClient, interface=interface.PSM):
    def tool_type(self, wait_timeout: float | None = None) -> str:
        """Last text of tool_type."""
        return self.read("tool_type", ("value",), False, wait_timeout)

    def get_tool_type(self, wait_timeout: float | None = None) -> str:
        """Last text of tool_type."""
        return self.read("tool_type", ("value",), False, wait_timeout)

    def IO_tool(self, wait_timeout: float | None = None) -> tuple[int, ...]:
        """Last state (0 released, 1 pressed, 2 clicked) of IO/tool."""
        return self.read("IO/tool", ("buttons",), False, wait_timeout)

    def IO_adapter(self, wait_timeout: float | None = None) -> tuple[int, ...]:
        """Last state (0 released, 1 pressed, 2 clicked) of IO/adapter."""
        return self.read("IO/adapter", ("buttons",), False, wait_timeout)

    def IO_arm_clutch(self, wait_timeout: float | None = None) -> tuple[int, ...]:
        """Last state (0 released, 1 pressed, 2 clicked) of IO/arm_clutch."""
        return self.read("IO/arm_clutch", ("buttons",), False, wait_timeout)

    def IO_SUJ_clutch(self, wait_timeout: float | None = None) -> tuple[int, ...]:
        """Last state (0 released, 1 pressed, 2 clicked) of IO/SUJ_clutch."""
        return self.read("IO/SUJ_clutch", ("buttons",), False, wait_timeout)

    def arm_clutch(self, wait_timeout: float | None = None) -> tuple[int, ...]:
        """Last state (0 released, 1 pressed, 2 clicked) of arm_clutch."""
        return self.read("arm_clutch", ("buttons",), False, wait_timeout)

    def emulate_tool_present(self, tool_present: bool) -> None:
        """Emulate the insertion or removal of an instrument."""
        self.command("emulate_tool_present", Bool, ("value",), False, tool_present)

    def emulate_adapter_present(self, value: bool) -> None:
        """Send a command to emulate_adapter_present."""
        self.command("emulate_adapter_present", Bool, ("value",), False, value)

    def set_tool_type(self, tool_type: str) -> None:
        """Send a command to set_tool_type."""
        self.command("set_tool_type", String, ("value",), False, tool_type)


class ECMRows(DeviceClient, interface=interface.ECM):
    def endoscope_type(self, wait_timeout: float | None = None) -> str:
        """Last text of endoscope_type."""
        return self.read("endoscope_type", ("value",), False, wait_timeout)

    def get_endoscope_type(self, wait_timeout: float | None = None) -> str:
        """Last text of endoscope_type."""
        return self.read("endoscope_type", ("value",), False, wait_timeout)

    def IO_arm_clutch(self, wait_timeout: float | None = None) -> tuple[int, ...]:
        """Last state (0 released, 1 pressed, 2 clicked) of IO/arm_clutch."""
        return self.read("IO/arm_clutch", ("buttons",), False, wait_timeout)

    def IO_SUJ_clutch(self, wait_timeout: float | None = None) -> tuple[int, ...]:
        """Last state (0 released, 1 pressed, 2 clicked) of IO/SUJ_clutch."""
        return self.read("IO/SUJ_clutch", ("buttons",), False, wait_timeout)

    def arm_clutch(self, wait_timeout: float | None = None) -> tuple[int, ...]:
        """Last state (0 released, 1 pressed, 2 clicked) of arm_clutch."""
        return self.read("arm_clutch", ("buttons",), False, wait_timeout)

    def set_endoscope_type(self, endoscope_type: str) -> None:
        """Send a command to set_endoscope_type."""
        self.command("set_endoscope_type", String, ("value",), False, endoscope_type)


class GripperRows(DeviceClient, interface=interface.GRIPPER):
    def measured_js(self, wait_timeout: float | None = None) -> Joints:
        """Joint positions [rad, m], velocities, efforts [N m, N] and the time of measurement [s]."""
        return self.read("measured_js", ("position", "velocity", "effort"), True, wait_timeout)

    def measured_jp(self, wait_timeout: float | None = None) -> Stamped:
        """Joint positions [rad, m] and the time of measurement [s]."""
        return self.read("measured_js", ("position",), True, wait_timeout)

    def measured_jv(self, wait_timeout: float | None = None) -> Stamped:
        """Joint velocities [rad/s, m/s] and the time of measurement [s]."""
        return self.read("measured_js", ("velocity",), True, wait_timeout)

    def measured_jf(self, wait_timeout: float | None = None) -> Stamped:
        """Joint efforts [N m, N] and the time of measurement [s]."""
        return self.read("measured_js", ("effort",), True, wait_timeout)

    def closed(self, wait_timeout: float | None = None) -> bool:
        """Last value of closed."""
        return self.read("closed", ("value",), False, wait_timeout)


class MTMRows(DeviceClient, interface=interface.MTM):
    def orientation_locked(self, wait_timeout: float | None = None) -> bool:
        """Last value of orientation_locked."""
        return self.read("orientation_locked", ("value",), False, wait_timeout)

    def lock_orientation(self, orientation: ArrayLike) -> None:
        """Lock an orientation (3, 3), in the reference frame, under wrenches."""
        self.command("lock_orientation", Rotation, ("R",), False, orientation)

    def unlock_orientation(self) -> None:
        """Let the wrist turn freely under wrenches."""
        self.command("unlock_orientation", Empty, (), False)

    def servo_ci(self, gains: ImpedanceGoal) -> None:
        """Follow a Cartesian impedance."""
        self.command("servo_ci", ImpedanceGoal, (), False, gains)


class SetUpFrameRows(DeviceClient, interface=interface.SUJ_FRAME):
    def measured_cp(self, wait_timeout: float | None = None) -> Stamped:
        """Pose (4, 4) [m] and the time of measurement [s]."""
        return self.read("measured_cp", ("T",), True, wait_timeout)


class SetUpArmRows(DeviceClient, interface=interface.SUJ_ARM):
    def desired_state(self, wait_timeout: float | None = None) -> str:
        """Last text of desired_state."""
        return self.read("desired_state", ("value",), False, wait_timeout)

    def error(self, wait_timeout: float | None = None) -> str:
        """Last text of error."""
        return self.read("error", ("value",), False, wait_timeout)

    def warning(self, wait_timeout: float | None = None) -> str:
        """Last text of warning."""
        return self.read("warning", ("value",), False, wait_timeout)

    def status(self, wait_timeout: float | None = None) -> str:
        """Last text of status."""
        return self.read("status", ("value",), False, wait_timeout)

    def measured_js(self, wait_timeout: float | None = None) -> Joints:
        """Joint positions [rad, m], velocities, efforts [N m, N] and the time of measurement [s]."""
        return self.read("measured_js", ("position", "velocity", "effort"), True, wait_timeout)

    def measured_jp(self, wait_timeout: float | None = None) -> Stamped:
        """Joint positions [rad, m] and the time of measurement [s]."""
        return self.read("measured_js", ("position",), True, wait_timeout)

    def measured_jv(self, wait_timeout: float | None = None) -> Stamped:
        """Joint velocities [rad/s, m/s] and the time of measurement [s]."""
        return self.read("measured_js", ("velocity",), True, wait_timeout)

    def measured_jf(self, wait_timeout: float | None = None) -> Stamped:
        """Joint efforts [N m, N] and the time of measurement [s]."""
        return self.read("measured_js", ("effort",), True, wait_timeout)

    def measured_cp(self, wait_timeout: float | None = None) -> Stamped:
        """Pose (4, 4) [m] and the time of measurement [s]."""
        return self.read("measured_cp", ("T",), True, wait_timeout)

    def move_jp(self, setpoint: ArrayLike) -> MoveHandle:
        """Move to joint positions [rad, m] within the published velocities and accelerations."""
        return self.command("move_jp", JointState, ("position",), True, setpoint)


class SUJRows(DeviceClient, interface=interface.SUJ):
    def desired_state(self, wait_timeout: float | None = None) -> str:
        """Last text of desired_state."""
        return self.read("desired_state", ("value",), False, wait_timeout)

    def error(self, wait_timeout: float | None = None) -> str:
        """Last text of error."""
        return self.read("error", ("value",), False, wait_timeout)

    def warning(self, wait_timeout: float | None = None) -> str:
        """Last text of warning."""
        return self.read("warning", ("value",), False, wait_timeout)

    def status(self, wait_timeout: float | None = None) -> str:
        """Last text of status."""
        return self.read("status", ("value",), False, wait_timeout)

    def set_reference_arm(self, reference_arm: str) -> None:
        """Send a command to set_reference_arm."""
        self.command("set_reference_arm", String, ("value",), False, reference_arm)


class SystemRows(DeviceClient, interface=interface.SYSTEM):
    def power_on(self) -> None:
        """Enable every arm."""
        self.command("power_on", Empty, (), False)

    def power_off(self) -> None:
        """Disable every arm."""
        self.command("power_off", Empty, (), False)

    def home(self) -> None:
        """Enable and home every arm."""
        self.command("home", Empty, (), False)

    def set_volume(self, volume: float) -> None:
        """Set the volume of beeps and speech, 0 to 1."""
        self.command("set_volume", Float, ("value",), False, volume)

    def string_to_speech(self, text: str) -> None:
        """Speak a text; the simulated robot publishes it as a message."""
        self.command("string_to_speech", String, ("value",), False, text)

    def volume(self, wait_timeout: float | None = None) -> float:
        """Last value of volume."""
        return self.read("volume", ("value",), False, wait_timeout)

    def get_volume(self, wait_timeout: float | None = None) -> float:
        """Last value of volume."""
        return self.read("volume", ("value",), False, wait_timeout)

    def error(self, wait_timeout: float | None = None) -> str:
        """Last text of error."""
        return self.read("error", ("value",), False, wait_timeout)

    def warning(self, wait_timeout: float | None = None) -> str:
        """Last text of warning."""
        return self.read("warning", ("value",), False, wait_timeout)

    def status(self, wait_timeout: float | None = None) -> str:
        """Last text of status."""
        return self.read("status", ("value",), False, wait_timeout)


class ConsoleRows(DeviceClient, interface=interface.CONSOLE):
    def operator_present(self, wait_timeout: float | None = None) -> tuple[int, ...]:
        """Last state (0 released, 1 pressed, 2 clicked) of operator_present."""
        return self.read("operator_present", ("buttons",), False, wait_timeout)

    def clutch(self, wait_timeout: float | None = None) -> tuple[int, ...]:
        """Last state (0 released, 1 pressed, 2 clicked) of clutch."""
        return self.read("clutch", ("buttons",), False, wait_timeout)

    def camera(self, wait_timeout: float | None = None) -> tuple[int, ...]:
        """Last state (0 released, 1 pressed, 2 clicked) of camera."""
        return self.read("camera", ("buttons",), False, wait_timeout)

    def coag(self, wait_timeout: float | None = None) -> tuple[int, ...]:
        """Last state (0 released, 1 pressed, 2 clicked) of coag."""
        return self.read("coag", ("buttons",), False, wait_timeout)

    def bicoag(self, wait_timeout: float | None = None) -> tuple[int, ...]:
        """Last state (0 released, 1 pressed, 2 clicked) of bicoag."""
        return self.read("bicoag", ("buttons",), False, wait_timeout)

    def cam_minus(self, wait_timeout: float | None = None) -> tuple[int, ...]:
        """Last state (0 released, 1 pressed, 2 clicked) of cam_minus."""
        return self.read("cam_minus", ("buttons",), False, wait_timeout)

    def cam_plus(self, wait_timeout: float | None = None) -> tuple[int, ...]:
        """Last state (0 released, 1 pressed, 2 clicked) of cam_plus."""
        return self.read("cam_plus", ("buttons",), False, wait_timeout)

    def teleop_enabled(self, wait_timeout: float | None = None) -> bool:
        """Last value of teleop/enabled."""
        return self.read("teleop/enabled", ("value",), False, wait_timeout)

    def teleop_scale(self, wait_timeout: float | None = None) -> float:
        """Last value of teleop/scale."""
        return self.read("teleop/scale", ("value",), False, wait_timeout)

    def teleop_get_scale(self, wait_timeout: float | None = None) -> float:
        """Last value of teleop/scale."""
        return self.read("teleop/scale", ("value",), False, wait_timeout)

    def teleop_selected(self, wait_timeout: float | None = None) -> str:
        """Last text of teleop/selected."""
        return self.read("teleop/selected", ("value",), False, wait_timeout)

    def teleop_unselected(self, wait_timeout: float | None = None) -> str:
        """Last text of teleop/unselected."""
        return self.read("teleop/unselected", ("value",), False, wait_timeout)

    def emulate_operator_present(self, value: int) -> None:
        """Send a command to emulate_operator_present."""
        self.command("emulate_operator_present", Joy, ("buttons",), False, value)

    def emulate_clutch(self, value: int) -> None:
        """Send a command to emulate_clutch."""
        self.command("emulate_clutch", Joy, ("buttons",), False, value)

    def emulate_camera(self, value: int) -> None:
        """Send a command to emulate_camera."""
        self.command("emulate_camera", Joy, ("buttons",), False, value)

    def emulate_coag(self, value: int) -> None:
        """Send a command to emulate_coag."""
        self.command("emulate_coag", Joy, ("buttons",), False, value)

    def emulate_bicoag(self, value: int) -> None:
        """Send a command to emulate_bicoag."""
        self.command("emulate_bicoag", Joy, ("buttons",), False, value)

    def emulate_cam_minus(self, value: int) -> None:
        """Send a command to emulate_cam_minus."""
        self.command("emulate_cam_minus", Joy, ("buttons",), False, value)

    def emulate_cam_plus(self, value: int) -> None:
        """Send a command to emulate_cam_plus."""
        self.command("emulate_cam_plus", Joy, ("buttons",), False, value)

    def teleop_enable(self, value: bool) -> None:
        """Send a command to teleop/enable."""
        self.command("teleop/enable", Bool, ("value",), False, value)

    def teleop_set_scale(self, scale: float) -> None:
        """Set the scale from master to instrument motion, 0 < scale <= 1."""
        self.command("teleop/set_scale", Float, ("value",), False, scale)

    def teleop_select(self, name: str) -> None:
        """Select a pair of arms, such as MTMR_PSM1."""
        self.command("teleop/select", String, ("value",), False, name)

    def teleop_unselect(self, name: str) -> None:
        """Unselect a pair of arms."""
        self.command("teleop/unselect", String, ("value",), False, name)


class TeleopECMRows(DeviceClient, interface=interface.TELEOP_ECM):
    def current_state(self, wait_timeout: float | None = None) -> str:
        """Last text of current_state."""
        return self.read("current_state", ("value",), False, wait_timeout)

    def desired_state(self, wait_timeout: float | None = None) -> str:
        """Last text of desired_state."""
        return self.read("desired_state", ("value",), False, wait_timeout)

    def error(self, wait_timeout: float | None = None) -> str:
        """Last text of error."""
        return self.read("error", ("value",), False, wait_timeout)

    def warning(self, wait_timeout: float | None = None) -> str:
        """Last text of warning."""
        return self.read("warning", ("value",), False, wait_timeout)

    def status(self, wait_timeout: float | None = None) -> str:
        """Last text of status."""
        return self.read("status", ("value",), False, wait_timeout)

    def following(self, wait_timeout: float | None = None) -> bool:
        """Last value of following."""
        return self.read("following", ("value",), False, wait_timeout)

    def scale(self, wait_timeout: float | None = None) -> float:
        """Last value of scale."""
        return self.read("scale", ("value",), False, wait_timeout)

    def get_scale(self, wait_timeout: float | None = None) -> float:
        """Last value of scale."""
        return self.read("scale", ("value",), False, wait_timeout)

    def state_command(self, command: str) -> None:
        """Send a command such as enable or disable."""
        self.command("state_command", String, ("value",), False, command)

    def set_scale(self, scale: float) -> None:
        """Set the scale from master to instrument motion, 0 < scale <= 1."""
        self.command("set_scale", Float, ("value",), False, scale)


class TeleopPSMRows(DeviceClient, interface=interface.TELEOP_PSM):
    def rotation_locked(self, wait_timeout: float | None = None) -> tuple[int, ...]:
        """Last state (0 released, 1 pressed, 2 clicked) of rotation_locked."""
        return self.read("rotation_locked", ("buttons",), False, wait_timeout)

    def translation_locked(self, wait_timeout: float | None = None) -> tuple[int, ...]:
        """Last state (0 released, 1 pressed, 2 clicked) of translation_locked."""
        return self.read("translation_locked", ("buttons",), False, wait_timeout)

    def alignment_offset(self, wait_timeout: float | None = None) -> Array:
        """Rotation (3, 3) of alignment_offset."""
        return self.read("alignment_offset", ("R",), False, wait_timeout)

    def set_align_MTM(self, align: bool) -> None:
        """Set whether to align the master before following."""
        self.command("set_align_MTM", Bool, ("value",), False, align)

    def lock_rotation(self, lock: bool) -> None:
        """Lock or unlock the rotation of the instrument; unlocking aligns the master again."""
        self.command("lock_rotation", Bool, ("value",), False, lock)

    def lock_translation(self, lock: bool) -> None:
        """Lock or unlock the translation of the instrument."""
        self.command("lock_translation", Bool, ("value",), False, lock)

    def following_mtm_body_servo_cf(self, setpoint: ArrayLike) -> None:
        """Apply a wrench (6,) [N, N m] until the next command."""
        self.command("following/mtm/body/servo_cf", Wrench, ("vector",), False, setpoint)

    def align_mtm(self, wait_timeout: float | None = None) -> bool:
        """Last value of align_mtm."""
        return self.read("align_mtm", ("value",), False, wait_timeout)


class ArmSimulationRows(DeviceClient, interface=interface.SIMULATED_ARM):
    def set_law(self, name: str, gains: Gains | None = None) -> None:
        """Follow the setpoint by a law of `trocar.robot.laws.LAWS`; gains that are not given have their defaults."""
        self.ask("set_law", name, gains)

    def set_gravity_model(self, mechanism: Mechanism | None) -> None:
        """Let gravity compensation use these equations, such as wrong ones. None: those that are simulated."""
        self.ask("set_gravity_model", mechanism)

    def place(self, q: ArrayLike) -> None:
        """Place the arm at q (n,) [rad, m], clipped to its limits, at rest, at once."""
        self.ask("place", q)

    def push(self, force: ArrayLike) -> None:
        """Push the tip by (3,) [N] in base axes until changed; zeros remove it."""
        self.ask("push", force)

    def change(self, **options: Any) -> None:
        """Change counterweight, friction, instrument or set_up ((k,) [m, rad], on a cart); the state stays."""
        self.ask("change", **options)

    def record(self) -> None:
        """Start a new recording; it keeps the last 120 s."""
        self.ask("record")

    def recorded(self) -> Recording:
        """Stop the recording and return it."""
        return self.ask("recorded")

    def history(self) -> Recorder:
        """The last 8 s for plots; rows are kept from the first call on."""
        return self.ask("history")


class SimulationRows(DeviceClient, interface=interface.SIMULATION):
    def error(self, wait_timeout: float | None = None) -> str:
        """Last text of error."""
        return self.read("error", ("value",), False, wait_timeout)

    def warning(self, wait_timeout: float | None = None) -> str:
        """Last text of warning."""
        return self.read("warning", ("value",), False, wait_timeout)

    def status(self, wait_timeout: float | None = None) -> str:
        """Last text of status."""
        return self.read("status", ("value",), False, wait_timeout)

    def play(self) -> None:
        """Let time pass."""
        self.ask("play")

    def pause(self) -> None:
        """Stop time."""
        self.ask("pause")

    def step(self, cycles: int = 1) -> None:
        """Pause and advance by 1 to 90000 control cycles of 1/1500 s."""
        self.ask("step", cycles)

    def set_speed(self, speed: float) -> None:
        """Set the ratio of simulated to real time."""
        self.ask("set_speed", speed)

    def reset(self) -> None:
        """Restart at time 0: arms at rest at their start, in their initial state, without pushes."""
        self.ask("reset")

    def replace(self, scene: Scene) -> None:
        """Continue in another scene with the same arms: at rest where it has them, ready."""
        self.ask("replace", scene)

    def snapshot(self) -> RobotSnapshot:
        """The complete state, for `restore`."""
        return self.ask("snapshot")

    def restore(self, snapshot: RobotSnapshot) -> None:
        """Return to a snapshot; what follows is bit-for-bit the same."""
        self.ask("restore", snapshot)

    def frame(self, arms: Collection[str] | None = None) -> Frame:
        """The current moment with states of some or all arms."""
        return self.ask("frame", arms)

    def change(self, gravity: ArrayLike) -> None:
        """Change gravity (3,) [m/s^2] in the world."""
        self.ask("change", gravity)


class FeatureRows(DeviceClient, interface=interface.FEATURES):
    def desired_state(self, wait_timeout: float | None = None) -> str:
        """Last text of desired_state."""
        return self.read("desired_state", ("value",), False, wait_timeout)

    def error(self, wait_timeout: float | None = None) -> str:
        """Last text of error."""
        return self.read("error", ("value",), False, wait_timeout)

    def warning(self, wait_timeout: float | None = None) -> str:
        """Last text of warning."""
        return self.read("warning", ("value",), False, wait_timeout)

    def status(self, wait_timeout: float | None = None) -> str:
        """Last text of status."""
        return self.read("status", ("value",), False, wait_timeout)

    def state_command(self, command: str) -> None:
        """Send a command such as enable or disable."""
        self.command("state_command", String, ("value",), False, command)

    def measured_js(self, wait_timeout: float | None = None) -> Joints:
        """Joint positions [rad, m], velocities, efforts [N m, N] and the time of measurement [s]."""
        return self.read("measured_js", ("position", "velocity", "effort"), True, wait_timeout)

    def measured_jp(self, wait_timeout: float | None = None) -> Stamped:
        """Joint positions [rad, m] and the time of measurement [s]."""
        return self.read("measured_js", ("position",), True, wait_timeout)

    def measured_jv(self, wait_timeout: float | None = None) -> Stamped:
        """Joint velocities [rad/s, m/s] and the time of measurement [s]."""
        return self.read("measured_js", ("velocity",), True, wait_timeout)

    def measured_jf(self, wait_timeout: float | None = None) -> Stamped:
        """Joint efforts [N m, N] and the time of measurement [s]."""
        return self.read("measured_js", ("effort",), True, wait_timeout)

    def setpoint_js(self, wait_timeout: float | None = None) -> Joints:
        """Joint positions [rad, m], velocities, efforts [N m, N] and the time of measurement [s]."""
        return self.read("setpoint_js", ("position", "velocity", "effort"), True, wait_timeout)

    def setpoint_jp(self, wait_timeout: float | None = None) -> Stamped:
        """Joint positions [rad, m] and the time of measurement [s]."""
        return self.read("setpoint_js", ("position",), True, wait_timeout)

    def setpoint_jv(self, wait_timeout: float | None = None) -> Stamped:
        """Joint velocities [rad/s, m/s] and the time of measurement [s]."""
        return self.read("setpoint_js", ("velocity",), True, wait_timeout)

    def setpoint_jf(self, wait_timeout: float | None = None) -> Stamped:
        """Joint efforts [N m, N] and the time of measurement [s]."""
        return self.read("setpoint_js", ("effort",), True, wait_timeout)

    def gravity_compensation_setpoint_js(self, wait_timeout: float | None = None) -> Joints:
        """Joint positions [rad, m], velocities, efforts [N m, N] and the time of measurement [s]."""
        return self.read("gravity_compensation/setpoint_js", ("position", "velocity", "effort"), True, wait_timeout)

    def gravity_compensation_setpoint_jp(self, wait_timeout: float | None = None) -> Stamped:
        """Joint positions [rad, m] and the time of measurement [s]."""
        return self.read("gravity_compensation/setpoint_js", ("position",), True, wait_timeout)

    def gravity_compensation_setpoint_jv(self, wait_timeout: float | None = None) -> Stamped:
        """Joint velocities [rad/s, m/s] and the time of measurement [s]."""
        return self.read("gravity_compensation/setpoint_js", ("velocity",), True, wait_timeout)

    def gravity_compensation_setpoint_jf(self, wait_timeout: float | None = None) -> Stamped:
        """Joint efforts [N m, N] and the time of measurement [s]."""
        return self.read("gravity_compensation/setpoint_js", ("effort",), True, wait_timeout)

    def measured_cp(self, wait_timeout: float | None = None) -> Stamped:
        """Pose (4, 4) [m] and the time of measurement [s]."""
        return self.read("measured_cp", ("T",), True, wait_timeout)

    def setpoint_cp(self, wait_timeout: float | None = None) -> Stamped:
        """Pose (4, 4) [m] and the time of measurement [s]."""
        return self.read("setpoint_cp", ("T",), True, wait_timeout)

    def local_measured_cp(self, wait_timeout: float | None = None) -> Stamped:
        """Pose (4, 4) [m] and the time of measurement [s]."""
        return self.read("local/measured_cp", ("T",), True, wait_timeout)

    def local_setpoint_cp(self, wait_timeout: float | None = None) -> Stamped:
        """Pose (4, 4) [m] and the time of measurement [s]."""
        return self.read("local/setpoint_cp", ("T",), True, wait_timeout)

    def measured_cv(self, wait_timeout: float | None = None) -> Stamped:
        """Twist (6,) [m/s, rad/s] and the time of measurement [s]."""
        return self.read("measured_cv", ("vector",), True, wait_timeout)

    def local_measured_cv(self, wait_timeout: float | None = None) -> Stamped:
        """Twist (6,) [m/s, rad/s] and the time of measurement [s]."""
        return self.read("local/measured_cv", ("vector",), True, wait_timeout)

    def body_measured_cf(self, wait_timeout: float | None = None) -> Stamped:
        """Wrench (6,) [N, N m], computed from motor currents, and the time of measurement [s]."""
        return self.read("body/measured_cf", ("vector",), True, wait_timeout)

    def spatial_measured_cf(self, wait_timeout: float | None = None) -> Stamped:
        """Wrench (6,) [N, N m], computed from motor currents, and the time of measurement [s]."""
        return self.read("spatial/measured_cf", ("vector",), True, wait_timeout)

    def body_jacobian(self, wait_timeout: float | None = None) -> Stamped:
        """Jacobian (6, n), linear rows first, and the time of measurement [s]."""
        return self.read("body/jacobian", ("values",), True, wait_timeout)

    def spatial_jacobian(self, wait_timeout: float | None = None) -> Stamped:
        """Jacobian (6, n), linear rows first, and the time of measurement [s]."""
        return self.read("spatial/jacobian", ("values",), True, wait_timeout)

    def goal_reached(self, wait_timeout: float | None = None) -> bool:
        """Last value of goal_reached."""
        return self.read("goal_reached", ("value",), False, wait_timeout)

    def trajectory_j_ratio(self, wait_timeout: float | None = None) -> float:
        """Last value of trajectory_j/ratio."""
        return self.read("trajectory_j/ratio", ("value",), False, wait_timeout)

    def trajectory_j_get_ratio(self, wait_timeout: float | None = None) -> float:
        """Last value of trajectory_j/ratio."""
        return self.read("trajectory_j/ratio", ("value",), False, wait_timeout)

    def trajectory_j_ratio_v(self, wait_timeout: float | None = None) -> float:
        """Last value of trajectory_j/ratio_v."""
        return self.read("trajectory_j/ratio_v", ("value",), False, wait_timeout)

    def trajectory_j_get_ratio_v(self, wait_timeout: float | None = None) -> float:
        """Last value of trajectory_j/ratio_v."""
        return self.read("trajectory_j/ratio_v", ("value",), False, wait_timeout)

    def trajectory_j_ratio_a(self, wait_timeout: float | None = None) -> float:
        """Last value of trajectory_j/ratio_a."""
        return self.read("trajectory_j/ratio_a", ("value",), False, wait_timeout)

    def trajectory_j_get_ratio_a(self, wait_timeout: float | None = None) -> float:
        """Last value of trajectory_j/ratio_a."""
        return self.read("trajectory_j/ratio_a", ("value",), False, wait_timeout)

    def servo_jp(self, setpoint_p: ArrayLike, setpoint_v: ArrayLike = ()) -> None:
        """Follow joint positions [rad, m] immediately; optionally with velocities setpoint_v."""
        self.command("servo_jp", JointState, ("position", "velocity"), False, setpoint_p, setpoint_v)

    def servo_jr(self, setpoint: ArrayLike) -> None:
        """Follow the setpoint plus a difference [rad, m]."""
        self.command("servo_jr", JointState, ("position",), False, setpoint)

    def servo_jf(self, setpoint: ArrayLike) -> None:
        """Apply joint efforts [N m, N]."""
        self.command("servo_jf", JointState, ("effort",), False, setpoint)

    def move_jp(self, setpoint: ArrayLike) -> MoveHandle:
        """Move to joint positions [rad, m] within the published velocities and accelerations."""
        return self.command("move_jp", JointState, ("position",), True, setpoint)

    def move_jr(self, setpoint: ArrayLike) -> MoveHandle:
        """Move by a difference of joint positions [rad, m]."""
        return self.command("move_jr", JointState, ("position",), True, setpoint)

    def servo_cp(self, setpoint: ArrayLike) -> None:
        """Follow a tip pose (4, 4) immediately."""
        self.command("servo_cp", Pose, ("T",), False, setpoint)

    def move_cp(self, setpoint: ArrayLike) -> MoveHandle:
        """Move the tip to a pose (4, 4) along a joint trajectory."""
        return self.command("move_cp", Pose, ("T",), True, setpoint)

    def set_base_frame(self, base_frame: ArrayLike) -> None:
        """Set the pose (4, 4) of the base in the reference frame."""
        self.command("set_base_frame", Pose, ("T",), False, base_frame)

    def body_servo_cf(self, setpoint: ArrayLike) -> None:
        """Apply a wrench (6,) [N, N m] until the next command."""
        self.command("body/servo_cf", Wrench, ("vector",), False, setpoint)

    def spatial_servo_cf(self, setpoint: ArrayLike) -> None:
        """Apply a wrench (6,) [N, N m] until the next command."""
        self.command("spatial/servo_cf", Wrench, ("vector",), False, setpoint)

    def servo_cs(self, setpoint: CartesianState) -> None:
        """Follow a pose and apply a wrench, each optional."""
        self.command("servo_cs", CartesianState, (), False, setpoint)

    def hold(self) -> None:
        """Hold the current setpoint."""
        self.command("hold", Empty, (), False)

    def free(self) -> None:
        """Apply no effort beyond gravity compensation."""
        self.command("free", Empty, (), False)

    def use_gravity_compensation(self, gravity_compensation: bool) -> None:
        """Add gravity compensation to commanded efforts."""
        self.command("use_gravity_compensation", Bool, ("value",), False, gravity_compensation)

    def body_set_cf_orientation_absolute(self, absolute: bool) -> None:
        """Give body wrenches in axes of the reference frame, not of the tip."""
        self.command("body/set_cf_orientation_absolute", Bool, ("value",), False, absolute)

    def trajectory_j_set_ratio(self, ratio: float) -> None:
        """Scale the velocities and accelerations of moves, 0 < ratio <= 1."""
        self.command("trajectory_j/set_ratio", Float, ("value",), False, ratio)

    def trajectory_j_set_ratio_v(self, ratio_v: float) -> None:
        """Send a command to trajectory_j/set_ratio_v."""
        self.command("trajectory_j/set_ratio_v", Float, ("value",), False, ratio_v)

    def trajectory_j_set_ratio_a(self, ratio_a: float) -> None:
        """Send a command to trajectory_j/set_ratio_a."""
        self.command("trajectory_j/set_ratio_a", Float, ("value",), False, ratio_a)

    def measured_cf(self, wait_timeout: float | None = None) -> Stamped:
        """Wrench (6,) [N, N m], computed from motor currents, and the time of measurement [s]."""
        return self.read("measured_cf", ("vector",), True, wait_timeout)

    def jacobian(self, wait_timeout: float | None = None) -> Stamped:
        """Jacobian (6, n), linear rows first, and the time of measurement [s]."""
        return self.read("jacobian", ("values",), True, wait_timeout)

    def servo_cf(self, setpoint: ArrayLike) -> None:
        """Apply a wrench (6,) [N, N m] until the next command."""
        self.command("servo_cf", Wrench, ("vector",), False, setpoint)

    def servo_jv(self, value: ArrayLike) -> None:
        """Send a command to servo_jv."""
        self.command("servo_jv", JointState, ("velocity",), False, value)

    def servo_cv(self, value: ArrayLike) -> None:
        """Send a command to servo_cv."""
        self.command("servo_cv", Twist, ("vector",), False, value)

    def operating_state(self) -> Any:
        """Answer of operating_state."""
        return self.ask("operating_state")

    def forward_kinematics(self, jp: ArrayLike, extra: Any = None) -> Any:
        """Answer of forward_kinematics; with extra: (value, result, message)."""
        return self.ask("forward_kinematics", jp, extra)

    def local_forward_kinematics(self, jp: ArrayLike, extra: Any = None) -> Any:
        """Answer of local/forward_kinematics; with extra: (value, result, message)."""
        return self.ask("local/forward_kinematics", jp, extra)

    def inverse_kinematics(self, jp: ArrayLike, cp: ArrayLike, extra: Any = None) -> Any:
        """Answer of inverse_kinematics; with extra: (value, result, message)."""
        return self.ask("inverse_kinematics", jp, cp, extra)

    def actuator_to_joint_position(self, values: ArrayLike) -> Any:
        """Answer of actuator_to_joint_position."""
        return self.ask("actuator_to_joint_position", values)

    def crtk_version(self) -> Any:
        """Answer of crtk_version."""
        return self.ask("crtk_version")
