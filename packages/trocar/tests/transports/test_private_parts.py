"""Versions of libraries whose private parts trocar uses, each in one module."""

import ctypes
import importlib.metadata
import os
import re
import subprocess
import sys

import pytest

from tests.support.repository import TROCAR
from trocar.transports.ros1 import rospy_internals
from trocar.transports.ros1.debian import DEBIAN, NOETIC, missing

SOURCE = TROCAR


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


READ_AT_ONCE = """
import sys, threading
from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication
from cyclonedds.qos import Policy, Qos
from trocar.transports.ros2.participant import Participant
sys.setswitchinterval(1e-6)
wrong = []
with Participant({domain}) as participant:
    writers = [
        participant.writer(f"rt/{{k}}", "std_msgs/Empty", Qos(Policy.Userdata(bytes([65 + k]) * (100 * k + 1))))
        for k in range(8)
    ]
    def read():
        reader = BuiltinDataReader(participant.entity, BuiltinTopicDcpsPublication)
        for _ in range(40):
            for sample in reader.read(100):
                if sample.topic_name.startswith("rt/"):
                    data = sample.qos[Policy.Userdata].data
                    k = int(sample.topic_name[3:])
                    if data != bytes([65 + k]) * (100 * k + 1):
                        wrong.append(data)
    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
sys.exit(bool(wrong))
"""


@pytest.mark.xdist_group("dds")
def test_threads_that_read_announced_endpoints_at_once_do_not_disturb_each_other():
    """A service of a served robot does so for every call, in four threads; a crash would end the process."""
    pytest.importorskip("cyclonedds")
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    program = READ_AT_ONCE.format(domain=1 + (os.getpid() + 60) % 80)
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.xdist_group("dds")
def test_discovery_leaves_no_reader_that_would_keep_every_endpoint():
    """Such a reader grew by 2 kB with every endpoint of clients that came and left."""
    pytest.importorskip("cyclonedds")
    from cyclonedds.internal import DDS

    from trocar.transports.ros2.client import _endpoints
    from trocar.transports.ros2.node import check_alone
    from trocar.transports.ros2.participant import Participant

    children = DDS._dll_handle.dds_get_children
    children.argtypes, children.restype = (
        [ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t],
        ctypes.c_int32,
    )

    def descendants(entity):
        count = max(children(entity, None, 0), 0)
        found = (ctypes.c_int32 * count)()
        children(entity, found, count)
        return count + sum(map(descendants, found))

    domain = 1 + (os.getpid() + 20) % 80
    with Participant(domain) as participant:
        check_alone(participant, (), domain)
        after_one = descendants(participant.entity._ref)
        _endpoints(participant)
        check_alone(participant, (), domain)
        assert descendants(participant.entity._ref) == after_one <= 2  # the wait set, the subscriber of discovery
