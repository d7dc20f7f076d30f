"""The rospy process of a client: reads and commands a robot in ROS, connected by a pipe."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from dataclasses import replace
from io import BytesIO
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from trocar.errors import TrocarError
from trocar.robot.interface import Topic
from trocar.robot.messages import Empty, Message
from trocar.transports.link import Link, received
from trocar.transports.protocol import Answer, Call, Failed, Found, Publish, Readers, Settings, send
from trocar.transports.ros1 import packages
from trocar.transports.ros1.node import QUEUE, use_master
from trocar.transports.ros_conversion import from_ros, to_ros
from trocar.transports.ros_services import ask

NAME = "trocar_client"
CLOCK = "clock"
CONNECTION = 2.0  # longest wait for a subscriber before the first command to it [s]
UNREAD = 1000  # queued messages per topic, so that recordings miss none; rospy receives fewer at once
PROBE = 2.0  # longest wait for the type of a service [s]


def run(pipe: Connection, settings: Settings) -> None:
    """Read and command until None arrives or the pipe is closed. The other process handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        packages.use_debian()
        packages.use_generated(Path(settings.packages))
        ClientNode(pipe, settings).serve()
    except Exception as error:
        with contextlib.suppress(OSError):
            send(pipe, Failed(str(error) or type(error).__name__))
    os._exit(0)  # rospy's threads do not all end


class ClientNode:
    """A ROS node that subscribes, publishes and calls services for another process."""

    def __init__(self, pipe: Connection, settings: Settings) -> None:
        use_master(settings.master, settings.address)
        import rosgraph
        import rospy

        self._rospy, self._pipe, self._link = rospy, pipe, Link(pipe)
        self._classes = packages.Classes()
        rospy.init_node(NAME, argv=[NAME], anonymous=True, disable_signals=True)
        self._master = rosgraph.Master(rospy.get_name())
        self._services: dict[str, str] = {}
        self._subscribers: dict[str, Any] = {}
        self._publishers: dict[str, Any] = {}
        self._connected: set[str] = set()  # topics that had a subscriber
        self._last: dict[str, int] = {}  # stamps of messages without a header
        found = self._found()
        self._link.send(found)
        if found.simulated_time:
            rospy.Subscriber("/clock", self._classes["rosgraph_msgs/Clock"], self._tell_time, queue_size=1)

    def serve(self) -> None:
        """Carry out requests of the other process until it closes the pipe."""
        for said in received(self._pipe):
            if isinstance(said, Topic):
                self._subscribe(said)
            elif isinstance(said, Readers):
                self._subscribers.pop(said.topic).unregister()
            elif isinstance(said, tuple):
                self._publish(*said)
            elif isinstance(said, Call):
                threading.Thread(target=self._call, args=(said,), daemon=True).start()
        self._rospy.signal_shutdown("the client has ended")

    def _found(self) -> Found:
        """Topics and services of other nodes."""
        own = self._rospy.get_name()
        publishers, subscribers, services = self._master.getSystemState()
        types = dict(self._master.getTopicTypes())

        def named(groups: Any) -> dict[str, str]:
            return {name.lstrip("/"): types[name] for name, nodes in groups if set(nodes) - {own} and name in types}

        for name, nodes in services:
            if set(nodes) - {own} and not name.endswith(("/get_loggers", "/set_logger_level")):
                with contextlib.suppress(Exception):  # a node that was killed is still registered
                    self._services[name.lstrip("/")] = self._service_type(name)
        simulated_time = bool(self._rospy.get_param("/use_sim_time", False))
        return Found(named(publishers), named(subscribers), self._services, simulated_time)

    def _tell_time(self, made: Any) -> None:
        self._link.send(Publish(((CLOCK, Empty(stamp=made.clock.to_nsec())),)))

    def _service_type(self, name: str) -> str:
        """Type that a service announces."""
        import rosgraph.network as network

        host, port = network.parse_http_host_and_port(self._master.lookupService(name).replace("rosrpc", "http"))
        with socket.create_connection((host, port), timeout=PROBE) as connection:
            probe = {"probe": "1", "md5sum": "*", "callerid": self._rospy.get_name(), "service": name}
            network.write_ros_handshake_header(connection, probe)
            return str(network.read_ros_handshake_header(connection, BytesIO(), 4096)["type"])

    def _subscribe(self, topic: Topic) -> None:
        def receive(made: Any) -> None:
            with contextlib.suppress(TrocarError):  # no valid content: the same as no message
                message = self._stamped(topic.name, made, from_ros(made, topic.ros, topic.message))
                self._link.send(Publish(((topic.name, message),)))

        kind = self._classes[topic.ros]
        self._subscribers[topic.name] = self._rospy.Subscriber(
            f"/{topic.name}", kind, receive, queue_size=UNREAD, tcp_nodelay=True
        )

    def _stamped(self, name: str, made: Any, message: Message) -> Message:
        """The message, stamped by its arrival by the clock of ROS if its type has no header."""
        if hasattr(made, "header"):
            return message
        self._last[name] = max(self._rospy.Time.now().to_nsec(), self._last.get(name, 0) + 1)
        return replace(message, stamp=self._last[name])

    def _publish(self, topic: Topic, message: Message) -> None:
        """Publish a message; if the topic had no subscriber so far, wait for one, and report whether there is one."""
        if topic.name not in self._publishers:
            self._publishers[topic.name] = self._rospy.Publisher(
                f"/{topic.name}", self._classes[topic.ros], queue_size=QUEUE, tcp_nodelay=True
            )
        publisher, new = self._publishers[topic.name], topic.name not in self._connected
        deadline = time.monotonic() + CONNECTION
        while new and not publisher.get_num_connections() and time.monotonic() < deadline:
            time.sleep(0.005)
        publisher.publish(to_ros(message, topic.ros, self._classes))
        if new:
            connected = publisher.get_num_connections() > 0
            if connected:
                self._connected.add(topic.name)
            self._link.send(Readers(topic.name, some=connected))

    def _call(self, call: Call) -> None:
        try:
            ros = self._services[call.service]
            kind = packages.service_class(ros)
            service = self._rospy.ServiceProxy(f"/{call.service}", kind)
            answer = Answer(call.number, ask(service, ros, kind._request_class(), call.arguments))
        except Exception as error:
            answer = Answer(call.number, None, str(error) or type(error).__name__)
        self._link.send(answer)
