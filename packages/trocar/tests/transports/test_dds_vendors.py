"""The served robot and a client of another vendor, Debian's Fast DDS. It is compiled first: see `make check-dds`."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.support.repository import SUPPORT
from trocar.robot import Robot

NEEDED = "libfastrtps-dev libfastcdr-dev g++"
ASKED = "TROCAR_CHECK_DDS" in os.environ
INSTALLED = Path("/usr/include/fastdds").is_dir() and Path("/usr/include/fastcdr").is_dir()
pytestmark = [
    pytest.mark.xdist_group("dds"),
    pytest.mark.skipif(not ASKED, reason="takes half a minute to compile: make check-dds"),
    pytest.mark.skipif(not INSTALLED, reason=f"needs Debian's Fast DDS: apt-get install {NEEDED}"),
]
pytest.importorskip("cyclonedds")

HERE = SUPPORT
DOMAIN = 1 + os.getpid() % 80
STEP = 0.0125  # [rad]


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    program = tmp_path_factory.mktemp("fast_dds") / "peer"
    source = HERE / "fast_dds" / "peer.cpp"
    subprocess.run(["g++", "-std=c++17", "-O0", source, "-o", program, "-lfastrtps", "-lfastcdr"], check=True)
    return program


def test_fast_dds_reads_states_and_events_and_moves_an_arm(peer):
    from trocar.transports.ros2.bridge import Ros2Bridge

    with (
        Robot(HERE / "run_scripts" / "psm1.toml", speed="real", start="ready") as robot,
        Ros2Bridge(robot, domain=DOMAIN) as bridge,
    ):
        before = robot.bus.read("PSM1/setpoint_js").position
        ran = subprocess.run([peer, str(DOMAIN), str(STEP)], capture_output=True, text=True, timeout=120)
        assert ran.returncode == 0, ran.stderr
        seen = json.loads(ran.stdout)
        after = robot.bus.read("PSM1/setpoint_js").position
        assert bridge.running
        assert bridge.error == ""
    assert seen["state"] == "ENABLED"
    assert seen["frame"] == "PSM1_base"
    assert seen["names"] == ["yaw", "pitch", "insertion", "roll", "wrist_pitch", "wrist_yaw"]
    assert (seen["velocities"], seen["efforts"]) == (6, 6)
    assert seen["reached"]
    np.testing.assert_allclose(after - before, [STEP, 0, 0, 0, 0, 0], atol=1e-12)
