"""Endpoints that the classes of crtk 1.4 and dvrk 2.4 open, written from their documentation: type by topic."""

JOINTS, POSE, WRENCH = "sensor_msgs/JointState", "geometry_msgs/PoseStamped", "geometry_msgs/WrenchStamped"
BOOL, FLOAT, STRING, EMPTY = "std_msgs/Bool", "std_msgs/Float64", "std_msgs/String", "std_msgs/Empty"
MATRIX, STATE, COMMAND = "std_msgs/Float64MultiArray", "crtk_msgs/OperatingState", "crtk_msgs/StringStamped"
FORWARD, INVERSE = "crtk_msgs/QueryForwardKinematics", "crtk_msgs/QueryInverseKinematics"


def _all(kind, names):
    return dict.fromkeys(names.split(), kind)


ARM = {
    "publish": {"state_command": COMMAND}
    | _all(EMPTY, "hold free")
    | _all(JOINTS, "servo_jp servo_jr servo_jf move_jp move_jr")
    | _all(POSE, "servo_cp move_cp")
    | _all(WRENCH, "body/servo_cf spatial/servo_cf")
    | _all(BOOL, "body/set_cf_orientation_absolute use_gravity_compensation")
    | _all(FLOAT, "trajectory_j/set_ratio"),
    "subscribe": {"operating_state": STATE, "measured_cv": "geometry_msgs/TwistStamped", "trajectory_j/ratio": FLOAT}
    | _all(JOINTS, "measured_js setpoint_js")
    | _all(POSE, "measured_cp setpoint_cp local/measured_cp local/setpoint_cp")
    | _all(WRENCH, "body/measured_cf spatial/measured_cf")
    | _all(MATRIX, "body/jacobian spatial/jacobian"),
    "services": _all(FORWARD, "forward_kinematics local/forward_kinematics") | _all(INVERSE, "inverse_kinematics"),
}


def _more(publish, subscribe):
    return {**ARM, "publish": ARM["publish"] | publish, "subscribe": ARM["subscribe"] | subscribe}


PSM = _more(
    {"emulate_tool_present": BOOL} | _all(JOINTS, "jaw/servo_jp jaw/move_jp jaw/servo_jf"),
    _all(JOINTS, "jaw/measured_js jaw/setpoint_js"),
)
MTM = _more(
    {"lock_orientation": "geometry_msgs/Quaternion", "unlock_orientation": EMPTY}
    | {"servo_ci": "crtk_msgs/CartesianImpedance"},
    {"gripper/measured_js": JOINTS},
)
# dvrk.suj 2.4.0 opens these below the name of the arm itself, not below SUJ.
SUJ_ARM = {
    "publish": {"state_command": COMMAND, "move_jp": JOINTS},
    "subscribe": {"operating_state": STATE, "measured_js": JOINTS} | _all(POSE, "measured_cp local/measured_cp"),
    "services": {},
}
SYSTEM = {
    "publish": _all(EMPTY, "power_on power_off home")
    | {"set_volume": FLOAT, "beep": MATRIX, "string_to_speech": STRING},
    "subscribe": {},
    "services": {},
}
CONSOLE = {
    "publish": {"teleop/enable": BOOL, "teleop/set_scale": FLOAT} | _all(STRING, "teleop/select teleop/unselect"),
    "subscribe": {"teleop/scale": FLOAT} | _all(STRING, "teleop/selected teleop/unselected"),
    "services": {},
}
TELEOP_PSM = {"publish": {"state_command": COMMAND, "set_scale": FLOAT}, "subscribe": {"scale": FLOAT}, "services": {}}

# By device; the number of endpoints is that of the classes.
DEVICES = {
    "PSM1": (PSM, 37),
    "ECM": (ARM, 31),
    "MTMR": (MTM, 35),
    "system": (SYSTEM, 6),
    "console": (CONSOLE, 7),
    "MTMR_PSM1": (TELEOP_PSM, 3),
}
SUJ = ("PSM1", "ECM")
