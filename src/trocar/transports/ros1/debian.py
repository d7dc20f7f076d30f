"""Debian's or Noetic's rospy, found outside trocar's environment by the processes of ROS 1 nodes."""

from __future__ import annotations

import importlib
import os
import sys
from importlib.machinery import PathFinder

from trocar.errors import TrocarError

DEBIAN = "/usr/lib/python3/dist-packages"
NOETIC = "/opt/ros/noetic/lib/python3/dist-packages"  # on Ubuntu; rospy is pure Python
REQUIRED = "python3-rospy python3-rosmaster"


def missing() -> str:
    """Message with the packages to install if ROS 1 is missing; "" otherwise."""
    installed = PathFinder.find_spec("rospy", [NOETIC, DEBIAN]) is not None
    return "" if installed else f"ROS 1 is missing; apt-get install {REQUIRED}"


def use_debian() -> None:
    """Allow this process to import Debian's or Noetic's packages; its own packages come first."""
    sys.path += [folder for folder in (NOETIC, DEBIAN) if os.path.isdir(folder) and folder not in sys.path]
    try:
        for module in ("rospy", "rosmaster"):
            importlib.import_module(module)
    except ImportError as error:
        raise TrocarError(f"{error}: ROS 1 requires Debian's packages; apt-get install {REQUIRED}") from error
