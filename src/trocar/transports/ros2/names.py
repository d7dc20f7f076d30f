"""Names of types, topics and services of ROS 2 in DDS."""

from __future__ import annotations

import re


def dds_name(ros_type: str) -> str:
    """Name of a type in DDS: sensor_msgs::msg::dds_::JointState_."""
    package, _, own = ros_type.partition("/")
    return f"{package}::{'srv' if own.endswith(('_Request', '_Response')) else 'msg'}::dds_::{own}_"


def ros_name(dds: str) -> str:
    """The type for a name in DDS; "" if it is not a ROS type."""
    match = re.fullmatch(r"(\w+)::(?:msg|srv)::dds_::(\w+)_", dds)
    return f"{match[1]}/{match[2]}" if match else ""


def topic_name(topic: str) -> str:
    """Name of a topic in DDS: rt/PSM1/measured_js."""
    return f"rt/{topic}"


def request_name(service: str) -> str:
    return f"rq/{service}Request"


def reply_name(service: str) -> str:
    return f"rr/{service}Reply"
