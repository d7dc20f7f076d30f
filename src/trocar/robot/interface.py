"""The whole interface of the dVRK as one table: every topic and service of every kind of device.

In-process clients, ROS and DDS nodes and the conformance check use it. Source: sawIntuitiveResearchKit 2.4
(cisst_ros_crtk bridge, system_ROS.cpp), crtk_msgs. Names are relative to the device: `measured_js` of PSM1 is
`PSM1/measured_js`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from types import MappingProxyType

from trocar.robot import messages as m

RATE = 100.0  # rate of state topics on the dVRK [Hz]


class Direction(StrEnum):
    """Sender and timing: the robot at a fixed rate, the robot on an event, or the client."""

    state = "state"
    event = "event"
    command = "command"


@dataclass(frozen=True)
class Topic:
    """A topic.

    Attributes:
        name: relative to its device, or absolute on a bus. message: its type. ros: the type in ROS.
        latched: a new subscriber receives the last message. rate: [Hz] of state topics, 0 otherwise.
    """

    name: str
    message: type[m.Message]
    direction: Direction
    ros: str

    @property
    def latched(self) -> bool:
        return self.direction is Direction.event

    @property
    def rate(self) -> float:
        return RATE if self.direction is Direction.state else 0.0


@dataclass(frozen=True)
class Service:
    """A service.

    Attributes:
        ros: type in ROS; "" for a service in process only. parameters, result, about: of its method in the client, if
            the type in ROS does not determine them.
    """

    name: str
    ros: str = ""
    parameters: str = ""
    result: str = "Any"
    about: str = ""


@dataclass(frozen=True)
class Interface:
    """Topics and services of one kind of device.

    Attributes:
        local: served in process only; not part of the dVRK's interface, and unknown to ROS, bags and the check.
    """

    topics: tuple[Topic, ...]
    services: tuple[Service, ...] = ()
    local: bool = False

    def __add__(self, other: Interface) -> Interface:
        return Interface(self.topics + other.topics, self.services + other.services)

    def below(self, prefix: str) -> Interface:
        """A copy with `prefix` before all names."""
        return Interface(
            tuple(replace(topic, name=f"{prefix}/{topic.name}") for topic in self.topics),
            tuple(replace(service, name=f"{prefix}/{service.name}") for service in self.services),
        )

    def topic(self, name: str) -> Topic:
        return next(topic for topic in self.topics if topic.name == name)


JOINTS = m.JointState, "sensor_msgs/JointState"
POSE = m.Pose, "geometry_msgs/PoseStamped"
TWIST = m.Twist, "geometry_msgs/TwistStamped"
WRENCH = m.Wrench, "geometry_msgs/WrenchStamped"
MATRIX = m.Matrix, "std_msgs/Float64MultiArray"
FLOATS = m.Floats, "std_msgs/Float64MultiArray"
BOOL = m.Bool, "std_msgs/Bool"
FLOAT = m.Float, "std_msgs/Float64"
STRING = m.String, "std_msgs/String"
COMMAND = m.String, "crtk_msgs/StringStamped"
NOTHING = m.Empty, "std_msgs/Empty"
JOY = m.Joy, "sensor_msgs/Joy"
STATE = m.OperatingState, "crtk_msgs/OperatingState"
ROTATION = m.Rotation, "geometry_msgs/Quaternion"
OFFSET = m.Rotation, "geometry_msgs/QuaternionStamped"
CARTESIAN_STATE = m.CartesianState, "crtk_msgs/CartesianState"
IMPEDANCE = m.ImpedanceGoal, "crtk_msgs/CartesianImpedance"
STATISTICS = m.IntervalStatistics, "cisst_msgs/IntervalStatistics"


def _topics(direction: Direction, kind: tuple[type[m.Message], str], *names: str) -> Interface:
    return Interface(tuple(Topic(name, kind[0], direction, kind[1]) for name in names))


_state, _event, _command = (partial(_topics, direction) for direction in Direction)


def _service(ros: str, *names: str) -> Interface:
    return Interface((), tuple(Service(name, ros) for name in names))


def _local_services(**rows: tuple[str, str, str]) -> Interface:
    """Services in process only: parameters, result and description by name."""
    return Interface((), tuple(Service(name, "", *row) for name, row in rows.items()))


_DEVICE = (
    _event(STATE, "operating_state")
    + _event(STRING, "desired_state", "error", "warning", "status")
    + _command(COMMAND, "state_command")
    + _service("crtk_msgs/TriggerOperatingState", "operating_state")
)

ARM = (
    _DEVICE
    + _state(JOINTS, "measured_js", "setpoint_js", "gravity_compensation/setpoint_js")
    + _state(POSE, "measured_cp", "setpoint_cp", "local/measured_cp", "local/setpoint_cp")
    + _state(TWIST, "measured_cv", "local/measured_cv")
    + _state(WRENCH, "body/measured_cf", "spatial/measured_cf")
    + _state(MATRIX, "body/jacobian", "spatial/jacobian")
    + _state(STATISTICS, "period_statistics")
    + _event(BOOL, "goal_reached")
    + _event(FLOAT, "trajectory_j/ratio", "trajectory_j/ratio_v", "trajectory_j/ratio_a")
    + _command(JOINTS, "servo_jp", "servo_jr", "servo_jf", "move_jp", "move_jr")
    + _command(POSE, "servo_cp", "move_cp", "set_base_frame")
    + _command(WRENCH, "body/servo_cf", "spatial/servo_cf")
    + _command(CARTESIAN_STATE, "servo_cs")
    + _command(NOTHING, "hold", "free")
    + _command(BOOL, "use_gravity_compensation", "body/set_cf_orientation_absolute")
    + _command(FLOAT, "trajectory_j/set_ratio", "trajectory_j/set_ratio_v", "trajectory_j/set_ratio_a")
    + _service("crtk_msgs/QueryForwardKinematics", "forward_kinematics", "local/forward_kinematics")
    + _service("crtk_msgs/QueryInverseKinematics", "inverse_kinematics")
    + _service("cisst_msgs/ConvertFloat64Array", "actuator_to_joint_position")
    + _service("std_srvs/Trigger", "crtk_version")
)

PSM = (
    ARM
    + _state(JOINTS, "jaw/measured_js", "jaw/setpoint_js")
    + _event(STRING, "tool_type")
    + _event(NOTHING, "tool_type_request")
    + _event(JOY, "IO/tool", "IO/adapter", "IO/arm_clutch", "IO/SUJ_clutch", "arm_clutch")
    + _command(JOINTS, "jaw/servo_jp", "jaw/move_jp", "jaw/servo_jf")
    + _command(BOOL, "emulate_tool_present", "emulate_adapter_present")
    + _command(STRING, "set_tool_type")
)

ECM = (
    ARM
    + _event(STRING, "endoscope_type")
    + _event(JOY, "IO/arm_clutch", "IO/SUJ_clutch", "arm_clutch")
    + _command(STRING, "set_endoscope_type")
)

MTM = (
    ARM
    + _state(JOINTS, "gripper/measured_js")
    + _event(BOOL, "gripper/closed", "orientation_locked")
    + _event(NOTHING, "gripper/pinch")
    + _command(ROTATION, "lock_orientation")
    + _command(NOTHING, "unlock_orientation")
    + _command(IMPEDANCE, "servo_ci")
)

SUJ_ARM = (
    _DEVICE
    + _state(JOINTS, "measured_js")
    + _state(POSE, "measured_cp", "local/measured_cp")
    + _command(JOINTS, "move_jp")
)

SUJ = _DEVICE + _command(STRING, "set_reference_arm")

SYSTEM = (
    _command(NOTHING, "power_on", "power_off", "home")
    + _command(FLOAT, "set_volume")
    + _command(FLOATS, "beep")
    + _command(STRING, "string_to_speech")
    + _event(FLOAT, "volume")
    + _event(STRING, "error", "warning", "status")
)

PEDALS = ("operator_present", "clutch", "camera", "coag", "bicoag", "cam_minus", "cam_plus")
CONSOLE = (
    _event(JOY, *PEDALS)
    + _event(BOOL, "teleop/enabled")
    + _event(FLOAT, "teleop/scale")
    + _event(STRING, "teleop/selected", "teleop/unselected")
    + _command(JOY, *(f"emulate_{pedal}" for pedal in PEDALS))
    + _command(BOOL, "teleop/enable")
    + _command(FLOAT, "teleop/set_scale")
    + _command(STRING, "teleop/select", "teleop/unselect")
)

# The same pedals under the names used by older public scripts.
FOOT_PEDALS = _event(JOY, *PEDALS)

TELEOP_PSM = (
    _event(STRING, "current_state", "desired_state", "error", "warning", "status")
    + _event(BOOL, "following")
    + _event(FLOAT, "scale")
    + _event(JOY, "rotation_locked", "translation_locked")
    + _state(OFFSET, "alignment_offset")
    + _command(COMMAND, "state_command")
    + _command(FLOAT, "set_scale")
    + _command(BOOL, "set_align_MTM", "lock_rotation", "lock_translation")
    + _command(WRENCH, "following/mtm/body/servo_cf")
    + _event(BOOL, "align_mtm")
)

TELEOP_ECM = (
    _event(STRING, "current_state", "desired_state", "error", "warning", "status")
    + _event(BOOL, "following")
    + _event(FLOAT, "scale")
    + _command(COMMAND, "state_command")
    + _command(FLOAT, "set_scale")
)

# The simulation itself: time, changes of the scene and ground truth, for windows in the same process.
SIMULATION = replace(
    _state((m.Frame, ""), "frame")
    + _event(STRING, "error", "warning", "status")
    + _local_services(
        play=("", "None", "Let time pass."),
        pause=("", "None", "Stop time."),
        step=("cycles: int = 1", "None", "Pause and advance by control cycles of 1/1500 s."),
        set_speed=("speed: float", "None", "Set the ratio of simulated to real time."),
        reset=("", "None", "Restart at time 0: arms at rest at their start, in their initial state, without pushes."),
        snapshot=("", "RobotSnapshot", "The complete state, for `restore`."),
        restore=("snapshot: RobotSnapshot", "None", "Return to a snapshot; what follows is bit-for-bit the same."),
        frame=("arms: Collection[str] | None = None", "Frame", "The current moment with states of some or all arms."),
        change=("gravity: ArrayLike", "None", "Change gravity (3,) [m/s^2] in the world."),
    ),
    local=True,
)
SIMULATED_ARM = replace(
    _local_services(
        set_law=(
            "name: str, gains: Gains | None = None",
            "None",
            "Follow the setpoint by a law of `trocar.robot.laws.LAWS`; gains that are not given have their defaults.",
        ),
        set_gravity_model=(
            "mechanism: Mechanism | None",
            "None",
            "Let gravity compensation use these equations, such as wrong ones. None: those that are simulated.",
        ),
        place=("q: ArrayLike", "None", "Place the arm at q (n,) [rad, m], clipped to its limits, at rest, at once."),
        push=("force: ArrayLike", "None", "Push the tip by (3,) [N] in base axes until changed; zeros remove it."),
        change=(
            "**options: Any",
            "None",
            "Change counterweight, friction, instrument or set_up ((k,) [m, rad], on a cart); the state stays.",
        ),
        record=("", "None", "Start a new recording; it keeps the last 120 s."),
        recorded=("", "Recording", "Stop the recording and return it."),
        history=("", "Recorder", "The last 8 s for plots; rows are kept from the first call on."),
    ),
    local=True,
)

# Interfaces of the dVRK by kind of device.
INTERFACES: Mapping[str, Interface] = MappingProxyType(
    {"ARM": ARM, "PSM": PSM, "ECM": ECM, "MTM": MTM, "SUJ": SUJ, "SUJ_ARM": SUJ_ARM, "SYSTEM": SYSTEM}
    | {"CONSOLE": CONSOLE, "FOOT_PEDALS": FOOT_PEDALS, "TELEOP_PSM": TELEOP_PSM, "TELEOP_ECM": TELEOP_ECM}
)
