"""Debian's or Noetic's rospy, found outside trocar's environment by the processes of ROS 1 nodes."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from typing import Any

from trocar.errors import TrocarError
from trocar.transports.ros1.rospy_internals import limit

DEBIAN = "/usr/lib/python3/dist-packages"
NOETIC = "/opt/ros/noetic/lib/python3/dist-packages"  # on Ubuntu; rospy is pure Python
REQUIRED = "python3-rospy python3-rosmaster"


def missing() -> str:
    """Message with the packages to install if ROS 1 is missing; "" otherwise."""
    installed = PathFinder.find_spec("rospy", [NOETIC, DEBIAN]) is not None
    return "" if installed else f"ROS 1 is missing; apt-get install {REQUIRED}"


def use_master(master: str, address: str) -> Any:
    """Announce this process at an IP address and use a ROS master, or start one for "" and return it.

    rospy comes from Debian or Noetic; the packages of trocar's own environment come first.
    """
    os.environ.pop("ROS_HOSTNAME", None)  # takes precedence over ROS_IP
    os.environ["ROS_IP"] = address
    sys.path += [folder for folder in (NOETIC, DEBIAN) if os.path.isdir(folder) and folder not in sys.path]
    try:
        import rosgraph
        import rospy  # noqa: F401
        from rosmaster.master import Master
    except ImportError as error:
        raise TrocarError(f"{error}: ROS 1 requires Debian's packages; apt-get install {REQUIRED}") from error
    limit()

    if master:
        os.environ["ROS_MASTER_URI"] = master
        if not rosgraph.is_master_online(master):
            raise TrocarError(f"no ROS master answers at {master}; start roscore, or let the node start its own master")
        return None
    started = Master(port=0)
    started.start()
    os.environ["ROS_MASTER_URI"] = started.uri
    return started
