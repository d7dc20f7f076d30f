"""Versions of libraries whose private parts trocar uses, each in one module."""

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from trocar.transports.ros1 import rospy_internals
from trocar.transports.ros1.debian import DEBIAN, NOETIC, missing

SOURCE = Path(__file__).parents[2] / "src" / "trocar"


def test_cyclonedds_has_the_version_whose_private_parts_are_known():
    pytest.importorskip("cyclonedds")
    from trocar.transports.ros2.cyclonedds_internals import VERSION

    assert importlib.metadata.version("cyclonedds").startswith(f"{VERSION}.")


@pytest.mark.skipif(bool(missing()), reason="ROS 1 is not installed")
def test_rospy_has_a_version_whose_private_parts_are_known():
    (distribution,) = importlib.metadata.distributions(name="rospy", path=[NOETIC, DEBIAN])
    assert distribution.version.rpartition(".")[0] in rospy_internals.VERSIONS


def test_private_parts_are_used_in_one_module_per_library():
    parts = {
        r"cyclonedds\.internal|\b_ref\b|_dll_handle|__idl_annotations__": {"cyclonedds_internals.py"},
        r"rospy\.impl|tcpros|rospy\.core": {"rospy_internals.py"},
    }
    for pattern, modules in parts.items():
        users = {file.name for file in SOURCE.rglob("*.py") if re.search(pattern, file.read_text())}
        assert users == modules


def test_every_module_imports_without_ros():
    """In a process of its own, as another test may have made Debian's packages importable."""
    pytest.importorskip("cyclonedds")
    script = (
        "import importlib, pkgutil, sys, trocar.transports as t\n"
        "for module in pkgutil.walk_packages(t.__path__, 'trocar.transports.'):\n"
        "    importlib.import_module(module.name)\n"
        "assert not {'rospy', 'genpy'} & set(sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=120)
