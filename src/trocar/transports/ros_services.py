"""Conversion between bus services and ROS services, by the name of the ROS type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trocar.robot.messages import KinematicsResult
from trocar.transports.ros_conversion import CONVERT, STAND_INS, Family, from_ros, to_ros
from trocar.transports.ros_messages import message_class

Call = Callable[..., Any]
# Fields of a request that are the arguments of the bus service, in its order.
ARGUMENTS = {
    "crtk_msgs/QueryForwardKinematics": ("jp",),
    "crtk_msgs/QueryInverseKinematics": ("jp", "cp"),
    "cisst_msgs/ConvertFloat64Array": ("input",),
}


def answer(call: Call, ros_type: str, request: Any, family: Family = STAND_INS) -> Any:
    """Response to a request, in the same family of classes.

    Args:
        call: calls the service of the bus.
    """
    arguments = [getattr(request, name) for name in ARGUMENTS.get(ros_type, ())]
    if ros_type == "crtk_msgs/QueryInverseKinematics":
        arguments[1] = CONVERT["geometry_msgs/Pose"].from_ros(request.cp)
    result = call(*arguments)
    if ros_type == "std_srvs/Trigger":
        return family.make(f"{ros_type}_Response", success=True, message=str(result))
    if isinstance(result, KinematicsResult):
        return to_ros(result, f"{ros_type}_Response", family)
    (field,) = message_class(f"{ros_type}_Response")._table
    return family.make(f"{ros_type}_Response", **{field.name: CONVERT[field.kind].to_ros(result, family)})


def ask(service: Call, ros_type: str, arguments: tuple[Any, ...], family: Family = STAND_INS) -> Any:
    """Call a ROS service; returns the result in the form of the bus.

    Args:
        service: takes a request and returns the response. arguments: those of the bus service.
    """
    kinds = message_class(f"{ros_type}_Request").get_fields_and_field_types()
    values = {
        name: CONVERT[kinds[name]].to_ros(np.asarray(value, dtype=float), family)
        for name, value in zip(ARGUMENTS.get(ros_type, ()), arguments, strict=True)
    }
    response = service(family.make(f"{ros_type}_Request", **values))
    if ros_type == "std_srvs/Trigger":
        return response.message
    if ros_type.startswith("crtk_msgs/Query"):
        return from_ros(response, f"{ros_type}_Response", KinematicsResult)
    (field,) = message_class(f"{ros_type}_Response")._table
    return CONVERT[field.kind].from_ros(getattr(response, field.name))
