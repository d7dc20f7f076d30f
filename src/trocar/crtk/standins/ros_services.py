"""Services of the bus as services of ROS, by the name of the ROS type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trocar.crtk.standins.ros_conversion import pose_of, set_pose, to_ros
from trocar.crtk.standins.ros_messages import MESSAGES

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
