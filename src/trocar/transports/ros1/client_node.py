"""The rospy process of a client: reads and commands a robot in ROS, connected by a pipe."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from dataclasses import replace
from io import BytesIO
from multiprocessing.connection import Connection
from typing import Any

from trocar.errors import TrocarError
from trocar.robot.interface import Topic
from trocar.robot.messages import Empty, Message
from trocar.transports.codec import Decoder, codec
from trocar.transports.link import Answer, Call, ProcessLink, Publish, Readers, SystemState, received
from trocar.transports.remote_bus import CLOCK
from trocar.transports.ros1.bridge import Ros1Settings
from trocar.transports.ros1.debian import use_master
from trocar.transports.ros1.node import QUEUE
from trocar.transports.ros1.rospy_types import service_class, wire_class
from trocar.transports.ros_conversion import ask
from trocar.transports.ros_messages import message_class

NAME = "trocar_client"
CONNECTION_TIMEOUT = 2.0  # of a subscriber before the first command to it [s]
MAX_UNREAD = 1000  # queued messages per topic, so that recordings miss none; rospy receives fewer at once
PROBE_TIMEOUT = 2.0  # of the type of a service [s]


class Ros1ClientNode:
    """A ROS node that subscribes, publishes and calls services for another process."""

    def __init__(self, pipe: Connection, settings: Ros1Settings, prioritised: bool) -> None:
        use_master(settings.master, settings.address)
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
        self._last: dict[str, int] = {}  # stamps of messages without a header
        state = self._state()
        self._link.send(state)
        if state.simulated_time:
            from rosgraph_msgs.msg import Clock  # as rospy, which reads this topic too: a topic has one class

            rospy.Subscriber(f"/{CLOCK}", Clock, self._report_time, queue_size=1)

    def serve(self) -> None:
        """Carry out requests of the other process until it closes the pipe."""
        for request in received(self._pipe):
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
        return SystemState(named(publishers), named(subscribers), self._services, simulated_time)

    def _report_time(self, message: Any) -> None:
        self._link.send(Publish(((CLOCK, Empty(stamp=message.clock.to_nsec())),)))

    def _service_type(self, name: str) -> str:
        """Type that a service announces."""
        import rosgraph.network as network

        host, port = network.parse_http_host_and_port(self._master.lookupService(name).replace("rosrpc", "http"))
        with socket.create_connection((host, port), timeout=PROBE_TIMEOUT) as connection:
            probe = {"probe": "1", "md5sum": "*", "callerid": self._rospy.get_name(), "service": name}
            network.write_ros_handshake_header(connection, probe)
            return str(network.read_ros_handshake_header(connection, BytesIO(), 4096)["type"])

    def _subscribe(self, topic: Topic) -> None:
        decoder, stamped = Decoder(topic, self._codec), "header" in message_class(topic.ros).__slots__

        def receive(wire: Any) -> None:
            with contextlib.suppress(TrocarError):  # no valid content: the same as no message
                message = decoder(wire.data)
                self._link.send(Publish(((topic.name, message if stamped else self._arrived(topic.name, message)),)))

        self._subscribers[topic.name] = self._rospy.Subscriber(
            f"/{topic.name}", wire_class(topic.ros), receive, queue_size=MAX_UNREAD, tcp_nodelay=True
        )

    def _arrived(self, name: str, message: Message) -> Message:
        """A message of a type without a header, stamped by its arrival by the clock of ROS."""
        self._last[name] = max(self._rospy.Time.now().to_nsec(), self._last.get(name, 0) + 1)
        return replace(message, stamp=self._last[name])

    def _publish(self, topic: Topic, message: Message) -> None:
        """Publish a message; if the topic had no subscriber so far, wait for one, and report whether there is one."""
        if topic.name not in self._publishers:
            self._publishers[topic.name] = self._rospy.Publisher(
                f"/{topic.name}", wire_class(topic.ros), queue_size=QUEUE, tcp_nodelay=True
            )
        publisher, new = self._publishers[topic.name], topic.name not in self._connected
        deadline = time.monotonic() + CONNECTION_TIMEOUT
        while new and not publisher.get_num_connections() and time.monotonic() < deadline:
            time.sleep(0.005)
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
