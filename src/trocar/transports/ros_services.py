"""Conversion between bus services and ROS services, by the name of the ROS type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from trocar.robot.messages import KinematicsResult, OperatingState
from trocar.transports.ros_conversion import from_ros, pose_of, set_pose, to_ros
from trocar.transports.ros_messages import MESSAGES

Call = Callable[..., Any]


def answer(call: Call, ros_type: str, request: Any, response: Any, classes: Mapping[str, Any] = MESSAGES) -> Any:
    """Response to a request.

    Args:
        call: calls the service of the bus. response: class of the response. classes: of messages inside it.
    """
    if ros_type == "crtk_msgs/TriggerOperatingState":
        return response(operating_state=to_ros(call(), "crtk_msgs/OperatingState", classes))
    return _ANSWERS[ros_type](call, request, response)


def _forward_kinematics(call: Call, request: Any, response: Any) -> Any:
    found = call(request.jp)
    made = response(result=found.result, message=found.message)
    set_pose(made.cp, found.value)
    return made


def _inverse_kinematics(call: Call, request: Any, response: Any) -> Any:
    found = call(request.jp, pose_of(request.cp))
    return response(jp=[float(x) for x in found.value], result=found.result, message=found.message)


_ANSWERS: dict[str, Callable[[Call, Any, Any], Any]] = {
    "crtk_msgs/QueryForwardKinematics": _forward_kinematics,
    "crtk_msgs/QueryInverseKinematics": _inverse_kinematics,
    "cisst_msgs/ConvertFloat64Array": lambda call, request, response: response(
        output=[float(x) for x in call(request.input)]
    ),
    "std_srvs/Trigger": lambda call, request, response: response(success=True, message=str(call())),
}


def ask(service: Call, ros_type: str, request: Any, arguments: tuple[Any, ...]) -> Any:
    """Call a ROS service; returns the result in the form of the bus.

    Args:
        service: takes a request and returns the response. request: an empty one. arguments: those of the bus service.
    """
    if ros_type == "crtk_msgs/QueryInverseKinematics":
        jp, cp = arguments
        set_pose(request.cp, np.asarray(cp))
        request.jp = [float(x) for x in jp]
    elif arguments:
        setattr(request, request.__slots__[0], [float(x) for x in arguments[0]])
    return _RESULTS[ros_type](service(request))


_RESULTS: dict[str, Callable[[Any], Any]] = {
    "crtk_msgs/QueryForwardKinematics": lambda found: KinematicsResult(pose_of(found.cp), found.result, found.message),
    "crtk_msgs/QueryInverseKinematics": lambda found: KinematicsResult(np.array(found.jp), found.result, found.message),
    "crtk_msgs/TriggerOperatingState": lambda found: from_ros(
        found.operating_state, "crtk_msgs/OperatingState", OperatingState
    ),
    "cisst_msgs/ConvertFloat64Array": lambda found: np.array(found.output),
    "std_srvs/Trigger": lambda found: found.message,
}
