"""A robot that runs in ROS 1, simulated or real, as a bus: for the conformance checks and for scripts.

`Ros1ClientNode` is its rospy process, connected by a pipe.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from io import BytesIO
from multiprocessing.connection import Connection
from typing import Any

from trocar.errors import TrocarError, check_known
from trocar.robot.interface import Topic
from trocar.robot.messages import Empty, Message
from trocar.transports import link
from trocar.transports.codec import Decoder, codec
from trocar.transports.link import LOOPBACK, TIMEOUT, Answer, Call, ProcessLink, Publish, Readers, SystemState
from trocar.transports.remote_bus import CLOCK, CLOCK_TOPIC, Callback, OpenTopic, RemoteBus, waited
from trocar.transports.ros1.debian import use_master
from trocar.transports.ros1.node import QUEUE
from trocar.transports.ros1.rospy_types import service_class, wire_class
from trocar.transports.ros_conversion import ask

NAME = "trocar_client"
CONNECTION_TIMEOUT = 2.0  # of a subscriber before the first command to it [s]
MAX_UNREAD = 1000  # queued messages per topic, so that recordings miss none; rospy receives fewer at once
PROBE_TIMEOUT = 2.0  # of the type of a service [s]


class Ros1Client(RemoteBus):
    """Topics and services of the nodes of a ROS master, as they are when it connects.

    Time is that of /clock if the parameter use_sim_time is set.

    Args:
        master: URI of the ROS master. address: IP address under which other nodes find this one.
    """

    first_timeout = 0.5

    def __init__(self, master: str, *, address: str = LOOPBACK) -> None:
        options = {"address": address, "master": master}
        self._process = link.ConnectedProcess(link.run_node, f"{__name__}.Ros1ClientNode", options)
        super().__init__(self._process.first_value(SystemState, "the ROS client"))
        self._link = ProcessLink(self._process.pipe)
        self._connected: dict[str, bool] = {}  # whether a node reads a topic, from the first command on
        self._opened[CLOCK] = OpenTopic(CLOCK_TOPIC, self._set_time)
        self._reader = threading.Thread(target=self._receive, daemon=True)
        self._reader.start()
        self._wait_for_clock()

    def check_running(self) -> None:
        """Raise an error if the connection has ended."""
        if self._link.closed or not self._process.alive:
            raise TrocarError("the connection with ROS has ended")

    def publish(self, name: str, message: Message) -> None:
        """Send a command. The first one of a topic waits for its connection and is sent when it returns."""
        check_known("topic", self.topics, name)
        new = not self._connected.get(name)
        if new:
            self._connected.pop(name, None)
        self._send((self.topics[name], message))
        if new:
            waited(lambda: name in self._connected or self._link.closed, TIMEOUT)
            self.check_running()
            if not self._connected.get(name):
                raise TrocarError(f"no node reads {name}")

    def call(self, service: str, *arguments: Any) -> Any:
        """Result of a service."""
        check_known("service", self.services, service)
        try:
            return self._link.call(service, arguments)
        except TimeoutError:
            raise TrocarError(f"the service {service} did not answer within {TIMEOUT:g} s") from None
        except TrocarError as error:
            raise TrocarError(f"the service {service} failed: {error}") from None

    def close(self) -> None:
        """End the client's node."""
        self._link.send(None)
        self._process.join()
        self._reader.join(timeout=5.0)  # ends with the process
        self._process.close()

    def _open(self, topic: Topic, *callbacks: Callback) -> OpenTopic:
        self._send(topic)
        return OpenTopic(topic, *callbacks)

    def _close(self, line: OpenTopic) -> None:
        self._link.send(Readers(line.topic.name, some=False))  # before the topic can be opened again

    def _send(self, value: Any) -> None:
        self._link.send(value)
        self.check_running()

    def _receive(self) -> None:
        for value in self._link.values():
            if isinstance(value, Readers):
                self._connected[value.topic] = value.some
                continue
            for name, message in value.messages:
                line = self._opened.get(name)
                if line is not None:  # not just closed
                    self._deliver(line, message)
            self._close_unused()


class Ros1ClientNode:
    """A ROS node that subscribes, publishes and calls services for another process."""

    def __init__(self, pipe: Connection, prioritised: bool, *, address: str, master: str) -> None:
        use_master(master, address)
        import rosgraph
        import rospy

        self._codec = codec(1)
        self._rospy, self._pipe, self._link = rospy, pipe, ProcessLink(pipe)
        rospy.init_node(NAME, argv=[NAME], anonymous=True, disable_signals=True)
        self._master = rosgraph.Master(rospy.get_name())
        self._services: dict[str, str] = {}
        self._subscribers: dict[str, Any] = {}
        self._publishers: dict[str, Any] = {}
        self._connected: set[str] = set()  # topics that had a subscriber
        state = self._state()
        self._link.send(state)
        if state.simulated_time:
            from rosgraph_msgs.msg import Clock  # as rospy, which reads this topic too: a topic has one class

            def report(message: Any) -> None:
                self._link.send(Publish(((CLOCK, Empty(stamp=message.clock.to_nsec())),)))

            rospy.Subscriber(f"/{CLOCK}", Clock, report, queue_size=1)

    def serve(self) -> None:
        """Carry out requests of the other process until it closes the pipe."""
        for request in link.received(self._pipe):
            if isinstance(request, Topic):
                self._subscribe(request)
            elif isinstance(request, Readers):
                self._subscribers.pop(request.topic).unregister()
            elif isinstance(request, Call):
                threading.Thread(target=self._call, args=(request,), daemon=True).start()
            else:
                self._publish(*request)
        self._rospy.signal_shutdown("the client has ended")

    def _state(self) -> SystemState:
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
        return SystemState(named(publishers), named(subscribers), self._services, simulated_time)

    def _service_type(self, name: str) -> str:
        import rosgraph.network as network

        host, port = network.parse_http_host_and_port(self._master.lookupService(name).replace("rosrpc", "http"))
        with socket.create_connection((host, port), timeout=PROBE_TIMEOUT) as connection:
            probe = {"probe": "1", "md5sum": "*", "callerid": self._rospy.get_name(), "service": name}
            network.write_ros_handshake_header(connection, probe)
            return str(network.read_ros_handshake_header(connection, BytesIO(), 4096)["type"])

    def _subscribe(self, topic: Topic) -> None:
        decoder, name, kind = Decoder(topic, self._codec), f"/{topic.name}", wire_class(topic.ros)

        def receive(wire: Any) -> None:
            with contextlib.suppress(TrocarError):  # no valid content: the same as no message
                self._link.send(Publish(((topic.name, decoder(wire.data)),)))

        subscriber = self._rospy.Subscriber(name, kind, receive, queue_size=MAX_UNREAD, tcp_nodelay=True)
        self._subscribers[topic.name] = subscriber

    def _publish(self, topic: Topic, message: Message) -> None:
        """Publish a message; if the topic had no subscriber so far, wait for one, and report whether there is one."""
        if topic.name not in self._publishers:
            name, kind = f"/{topic.name}", wire_class(topic.ros)
            self._publishers[topic.name] = self._rospy.Publisher(name, kind, queue_size=QUEUE, tcp_nodelay=True)
        publisher, new = self._publishers[topic.name], topic.name not in self._connected
        if new:
            waited(lambda: publisher.get_num_connections() > 0, CONNECTION_TIMEOUT)
        publisher.publish(self._codec.encode(message, topic.ros))
        if new:
            connected = publisher.get_num_connections() > 0
            if connected:
                self._connected.add(topic.name)
            self._link.send(Readers(topic.name, some=connected))

    def _call(self, call: Call) -> None:
        try:
            ros = self._services[call.service]
            kind = service_class(ros)
            proxy = self._rospy.ServiceProxy(f"/{call.service}", kind)

            def service(request: Any) -> Any:
                response = proxy(kind._request_class(self._codec.bytes_of(request, f"{ros}_Request")))
                return self._codec.message_in(response.data, f"{ros}_Response")

            answer = Answer(call.number, ask(service, ros, call.arguments, self._codec))
        except Exception as error:
            answer = Answer(call.number, None, str(error) or type(error).__name__)
        self._link.send(answer)
