"""`trocar watch` while a bag is played through Debian's rosmaster."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import xmlrpc.client

import numpy as np
import pytest
from transports.test_ros1 import needs_ros

import trocar as tr
from tests.support.joint_state_bags import motion, write_bag
from tests.support.repository import SUPPORT, TROCAR
from tests.support.waiting import TIMEOUT
from trocar.recording import filtered
from trocar.robot.interface import INTERFACES, Direction
from trocar.transports.ros1.debian import DEBIAN

pytestmark = pytest.mark.xdist_group("ros1")
HERE = SUPPORT
COMMANDS = {t.name for t in INTERFACES["PSM"].topics if t.direction is Direction.command}


def wait_for(condition, what):
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            if found := condition():
                return found
        except OSError:
            pass  # the master starts
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.02)


class Graph:
    """The system state of a ROS master, asked as any tool asks for it."""

    def __init__(self, uri):
        self._master = xmlrpc.client.ServerProxy(uri)

    def topics(self, which):
        """Nodes by topic: published (0) or subscribed (1)."""
        return dict(self._master.getSystemState("/test")[2][which])


@pytest.fixture(scope="module")
def master(tmp_path_factory):
    """URI of Debian's rosmaster, and the environment of its nodes."""
    folder = tmp_path_factory.mktemp("master")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    uri = f"http://127.0.0.1:{port}"
    environment = {
        **os.environ,
        "ROS_MASTER_URI": uri,
        "ROS_IP": "127.0.0.1",
        "ROS_LOG_DIR": str(folder),
        "XDG_CACHE_HOME": str(folder),
        "PYTHONPATH": str(TROCAR.parent),
    }
    code = f"import sys; sys.path.append({DEBIAN!r}); from rosmaster import rosmaster_main; rosmaster_main()"
    command = [sys.executable, "-c", code, "--core", "-p", str(port)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: Graph(uri).topics(0) is not None, "rosmaster")
        yield uri, environment
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def watched(master, tmp_path_factory):
    """A bag, the recording that `trocar watch` saved while it was played, and the graph meanwhile."""
    uri, environment = master
    folder = tmp_path_factory.mktemp("watched")
    bag, saved = write_bag(folder / "psm1.bag", *motion()), folder / "received.npz"
    playing = {**environment, "PYTHONPATH": DEBIAN}
    player = subprocess.Popen(
        [sys.executable, HERE / "ros1_player.py", bag, "400"], env=playing, stdout=subprocess.PIPE, text=True
    )
    view = [sys.executable, "-m", "trocar", "watch", "/PSM1", "--ros1", "--port", "0", "--no-browser", "-o", saved]
    graph = Graph(uri)
    viewer = None
    try:
        wait_for(lambda: "/PSM1/jaw/measured_js" in graph.topics(0), "the player's topics")
        viewer = subprocess.Popen(view, env=environment, stdout=subprocess.PIPE, text=True)
        assert re.match(r"trocar watch: http://127\.0\.0\.1:\d+/\?token=", viewer.stdout.readline())
        wait_for(lambda: "/PSM1/measured_js" in graph.topics(1), "the viewer's subscription")
        seen = graph.topics(0), graph.topics(1)
        assert player.stdout.readline() == "played\n"
        time.sleep(0.5)  # the last messages are on their way
        viewer.send_signal(signal.SIGINT)
        assert viewer.wait(timeout=TIMEOUT) == 0
        output = viewer.stdout.read()
    finally:
        for process in (player, viewer):
            if process is not None:
                process.kill()
                process.wait()
                process.stdout.close()
    return bag, tr.Recording.load(saved), seen, output


@needs_ros
def test_the_received_recording_is_that_of_the_bag(watched):
    bag, received, _, output = watched
    offline = tr.load_recording(bag, "PSM")
    assert len(received) == len(offline) == 300
    assert "300 rows" in output
    for channel in ("t", "q", "dq", "tau"):
        np.testing.assert_array_equal(getattr(received, channel), getattr(offline, channel))
    mechanism = tr.load_mechanism("PSM")
    np.testing.assert_allclose(mechanism.effort_along(received), mechanism.effort_along(offline), rtol=0, atol=1e-9)


@needs_ros
def test_the_live_residual_is_that_of_effort_along_offline(watched):
    bag, received, _, _ = watched
    smooth = filtered(tr.load_recording(bag, "PSM"), causal=True)
    predicted = tr.load_mechanism("PSM").effort_along(smooth)
    np.testing.assert_allclose(received.extra["predicted_tau"], predicted, rtol=0, atol=1e-9)
    np.testing.assert_allclose(received.extra["residual_tau"], smooth.tau - predicted, rtol=0, atol=1e-9)
    assert np.abs(predicted).max() > 0.1
    # the payload of the bag, which the model does not include
    assert abs(np.median(received.extra["residual_tau"][:, 1]) - 0.3) < 0.1


@needs_ros
def test_the_viewer_advertises_no_command_topic(watched):
    _, _, (published, subscribed), _ = watched
    (node,) = subscribed["/PSM1/measured_js"]
    assert node.startswith("/trocar_client")
    assert {name for name, nodes in published.items() if node in nodes} == {"/rosout"}
    assert not {name.removeprefix("/PSM1/") for name in published} & COMMANDS
    assert {name for name, nodes in subscribed.items() if node in nodes} >= {"/PSM1/jaw/measured_js"}
