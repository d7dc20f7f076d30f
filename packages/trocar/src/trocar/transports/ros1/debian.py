"""Debian's or Noetic's rospy, found outside trocar's environment by the processes of ROS 1 nodes."""

from __future__ import annotations

import os
import socket
import sys
from importlib.machinery import PathFinder
from typing import Any

from trocar.errors import TrocarError
from trocar.transports.link import OWN_MASTER, USUAL_MASTER
from trocar.transports.ros1.rospy_internals import limit

DEBIAN = "/usr/lib/python3/dist-packages"
NOETIC = "/opt/ros/noetic/lib/python3/dist-packages"  # on Ubuntu; rospy is pure Python
USUAL_PORT = 11311  # of a ROS master
REQUIRED = "python3-rospy python3-rosmaster"


def missing() -> str:
    """Message with the packages to install if ROS 1 is missing; "" otherwise."""
    installed = PathFinder.find_spec("rospy", [NOETIC, DEBIAN]) is not None
    return "" if installed else f"ROS 1 is missing; apt-get install {REQUIRED}"


def use_master(master: str, address: str) -> Any:
    """Announce this process at an IP address and use a ROS master, or start one and return it.

    A new master has a free port for "", and for "usual" port 11311, where other nodes look for it, if that is free.

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

    if master not in (OWN_MASTER, USUAL_MASTER):
        os.environ["ROS_MASTER_URI"] = master
        if not rosgraph.is_master_online(master):
            raise TrocarError(
                f"no ROS master answers at {master}; start roscore, or run trocar serve with --master own"
            )
        return None
    started = Master(port=USUAL_PORT if master == USUAL_MASTER and _is_free(address, USUAL_PORT) else 0)
    started.start()
    os.environ["ROS_MASTER_URI"] = started.uri
    return started


def _is_free(address: str, port: int) -> bool:
    """True if nothing listens on a port of any local address: a master listens on all of them."""
    for host in ("0.0.0.0", address):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                return False
    return True
