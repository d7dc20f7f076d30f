"""`trocar serve ros1` next to hostile clients, a second server, and a master that is killed and restarted."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import xmlrpc.client
from collections.abc import Iterator
from pathlib import Path

import pytest
from transports.test_ros1 import ONE_ARM, needs_ros
from transports.test_ros1_command import environment

from tests.support.waiting import TIMEOUT, until
from trocar.transports.ros1.debian import DEBIAN, NOETIC

pytestmark = [pytest.mark.xdist_group("ros1"), needs_ros]
MASTER = "import sys, time, rosmaster.master as r; m = r.Master(int(sys.argv[1])); m.start(); time.sleep(600)"

# A node's server of XML-RPC with a shorter time-out
XML_RPC_NODE = """
import time
import rosgraph.xmlrpc
from trocar.transports.ros1 import rospy_internals
rospy_internals.SILENCE_TIMEOUT = 0.3
rospy_internals.limit()
node = rosgraph.xmlrpc.XmlRpcNode(rpc_handler=rosgraph.xmlrpc.XmlRpcHandler())
node.start()
while not node.port:
    time.sleep(0.01)
print(node.port, flush=True)
time.sleep(600)
"""


class Master:
    """A ROS master in a process of its own, which can be killed and started again at the same port."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.uri = f"http://127.0.0.1:{self.port}"
        self.environment = {**environment(folder), "ROS_IP": "127.0.0.1", "PYTHONPATH": f"{NOETIC}:{DEBIAN}"}
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", MASTER, str(self.port)], env=self.environment)
        until(self.state, "the master")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def state(self) -> dict[str, list[str]]:
        """Nodes by topic or service; {} if the master does not answer."""
        try:
            with xmlrpc.client.ServerProxy(self.uri) as master:
                _, _, kinds = master.getSystemState("/test")  # type: ignore[misc]
        except OSError:
            return {}
        return {"": []} | {name: nodes for kind in kinds for name, nodes in kind}  # type: ignore[union-attr,misc]

    def service(self) -> tuple[str, int]:
        """Host and port of a service of the node."""
        with xmlrpc.client.ServerProxy(self.uri) as master:
            _, _, uri = master.lookupService("/test", "/PSM1/operating_state")  # type: ignore[misc]
        host, _, port = str(uri).removeprefix("rosrpc://").partition(":")
        return host, int(port)


class Serving:
    """`trocar serve ros1` at a master; its standard error goes to a file."""

    def __init__(self, folder: Path, master: Master) -> None:
        self.folder, self.master, self._errors = folder, master, folder / "stderr.txt"
        with self._errors.open("wb") as errors:
            self.process = subprocess.Popen(
                self.command, stdout=subprocess.PIPE, stderr=errors, env=environment(folder)
            )
        assert self.process.stdout is not None
        assert self.process.stdout.readline().startswith(b"serving ")

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-m", "trocar", "serve", "ros1", str(ONE_ARM), "--master", self.master.uri]

    def errors(self) -> str:
        return self._errors.read_bytes().decode()


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    master = Master(tmp_path_factory.mktemp("master"))
    try:
        serving = Serving(tmp_path_factory.mktemp("serve"), master)
        try:
            yield serving
        finally:
            serving.process.send_signal(signal.SIGINT)
            try:
                serving.process.wait(TIMEOUT)
            finally:
                serving.process.kill()
                serving.process.stdout.close()  # type: ignore[union-attr]
    finally:
        master.kill()


def header(**fields: str) -> bytes:
    """Header of a connection in TCPROS."""
    lines = [f"{key}={value}".encode() for key, value in fields.items()]
    body = b"".join(struct.pack("<I", len(line)) + line for line in lines)
    return struct.pack("<I", len(body)) + body


def answered(address: tuple[str, int], data: bytes) -> bytes:
    with socket.create_connection(address, TIMEOUT) as client:
        client.sendall(data)
        return client.recv(4096)


def test_clients_write_no_control_characters_and_no_floods_to_the_terminal(serving: Serving) -> None:
    address, spoilt = serving.master.service(), "\x1b[2J\x1b]0;owned\x07\r\nfaked line"
    for size in (1, 20000):
        for fields in ({"service": spoilt * size, "md5sum": "*", "callerid": "/x"}, {"odd": spoilt * size}):
            assert b"error" in answered(address, header(**fields))
    for k in range(60):
        answered(address, header(topic=f"/{k}{spoilt}", md5sum="*", callerid="/x", type="*"))
    text = serving.errors()
    assert "ROS: warning: " in text
    assert not [line for line in text.splitlines() if not line.isprintable()]
    assert max(map(len, text.splitlines())) < 600
    assert len(text) < 20000
    assert not [line for line in text.splitlines() if line.startswith("faked")]


def test_the_node_listens_on_the_loopback_only(serving: Serving) -> None:
    with xmlrpc.client.ServerProxy(serving.master.uri) as master:
        _, _, uri = master.lookupNode("/test", "/dvrk")  # type: ignore[misc]
    ports = {serving.master.service()[1], int(str(uri).rstrip("/").rpartition(":")[2])}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [row[1].split(":") for row in rows if row[3] == "0A"]  # state LISTEN
    assert {address for address, port in listening if int(port, 16) in ports} == {"0100007F"}


def test_silent_connections_to_services_are_closed(serving: Serving) -> None:
    hello = header(service="/PSM1/operating_state", md5sum="*", callerid="/silent")
    with socket.create_connection(serving.master.service(), TIMEOUT) as client:
        client.sendall(hello)
        assert client.recv(4096)  # the header of the service
        client.settimeout(TIMEOUT)
        assert client.recv(4096) == b""  # closed by the node


def test_silent_xml_rpc_connections_are_closed(serving: Serving) -> None:
    program = [sys.executable, "-c", XML_RPC_NODE]
    with subprocess.Popen(program, stdout=subprocess.PIPE, env=serving.master.environment) as node:
        try:
            assert node.stdout is not None
            port = int(node.stdout.readline())
            with xmlrpc.client.ServerProxy(f"http://127.0.0.1:{port}") as proxy, pytest.raises(xmlrpc.client.Fault):
                proxy.unknown()  # is answered
            for request in (b"", b"POST /", b"POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\n<methodCall>"):
                with socket.create_connection(("127.0.0.1", port), TIMEOUT) as client:
                    client.sendall(request)
                    client.settimeout(TIMEOUT)
                    while client.recv(4096):  # until it is closed; the last one gets an error first
                        pass
        finally:
            node.kill()


def test_a_second_server_at_the_same_master_names_the_first_and_refuses(serving: Serving) -> None:
    second = subprocess.run(
        serving.command, env=environment(serving.folder), capture_output=True, text=True, timeout=2 * TIMEOUT
    )
    assert second.returncode == 2
    assert "has a node /dvrk already" in second.stderr
    assert serving.process.poll() is None
    assert "/dvrk" in serving.master.state()["/PSM1/measured_js"]


def test_a_lost_master_is_reported_and_gets_all_topics_when_it_is_back(serving: Serving) -> None:
    before = serving.master.state()
    assert before["/PSM1/measured_js"] == ["/dvrk"]
    serving.master.kill()
    until(lambda: f"the ROS master at {serving.master.uri} does not answer" in serving.errors(), "the warning")
    serving.master.start()
    own = {name: nodes for name, nodes in before.items() if "/dvrk" in nodes}
    until(lambda: own.items() <= serving.master.state().items(), "registration")
    until(lambda: "was restarted" in serving.errors(), "the message")
    assert os.path.exists(f"/proc/{serving.process.pid}")
    answer = answered(serving.master.service(), header(service="/PSM1/operating_state", md5sum="*", callerid="/after"))
    assert b"TriggerOperatingState" in answer
