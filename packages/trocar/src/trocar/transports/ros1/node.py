"""The rospy process: publishers, subscribers and services of the whole interface, connected by a pipe."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from http.client import HTTPException
from multiprocessing.connection import Connection
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from trocar.errors import TrocarError
from trocar.robot.interface import Direction, Service, Topic
from trocar.transports.codec import Decoder, codec
from trocar.transports.link import (
    MAX_BYTES,
    Lost,
    NodeFailed,
    ProcessLink,
    Publish,
    Readers,
    Ready,
    announced_order,
    received,
    send,
)
from trocar.transports.ros1.debian import use_master
from trocar.transports.ros1.rospy_internals import register_again
from trocar.transports.ros1.rospy_types import generate_packages, service_class, wire_class
from trocar.transports.ros_conversion import answer

NAME = "dvrk"
QUEUE = 100  # messages queued for a slow reader, as in the dVRK's bridge
IMAGES = 2  # the same for images, which are large
POLL_INTERVAL = 0.1  # between checks of connections [s]
NODE_TIMEOUT = 5.0  # of an answer of a node with the same name [s]
MASTER_INTERVAL = 1.0  # between checks of the registration at the master [s]


def _registered(name: str) -> str:
    """Address of a node by the master; "" if it has none of this name."""
    import rosgraph

    try:
        return str(rosgraph.Master(name).lookupNode(name))
    except rosgraph.MasterError:
        return ""


def check_name(name: str) -> None:
    """Raise an error if another node uses a name: ROS would end it, and two robots would share all topics."""
    uri = _registered(name)
    if not uri:
        return
    try:
        with socket.create_connection((urlsplit(uri).hostname or "", urlsplit(uri).port or 0), NODE_TIMEOUT):
            pass
    except (OSError, ValueError):
        return  # the node ended without telling the master
    raise TrocarError(
        f"the ROS master at {os.environ['ROS_MASTER_URI']} has a node {name} already, at {uri}; "
        "stop it, or use another master"
    )


class Ros1Node:
    """The ROS node `dvrk`.

    Args:
        topics, services: those it serves, services first. images: pipe from the camera, if there is one.
        address: IP address to announce; sockets are bound to it if it is a loopback one, to all interfaces otherwise.
        master: URI of the ROS master, or "" to start one on a free port.
        parameters: parameters of the ROS parameter server, set while the node runs.
    """

    def __init__(
        self,
        pipe: Connection,
        prioritised: bool,
        *,
        topics: Iterable[Topic],
        services: Iterable[Service],
        images: Connection | None,
        address: str,
        master: str,
        parameters: Mapping[str, Any],
    ) -> None:
        self._master = use_master(master, address)
        check_name(f"/{NAME}")
        generate_packages()
        import rospy

        self._codec = codec(1)
        self._rospy, self._link = rospy, ProcessLink(pipe, MAX_BYTES)
        self._images, self._parameters = images, parameters
        self._reporting = threading.Lock()
        self._publishers: dict[str, Any] = {}
        self._subscribers: dict[str, Any] = {}
        self._commanded: set[str] = set()  # topics with commands, until their clients disconnect
        with self._link.sending:  # commands of waiting clients are handled after the node is ready
            rospy.init_node(NAME, argv=[NAME], disable_signals=True)
            self._set_parameters()
            for service in services:
                self._offer(service)
            for topic in announced_order(topics):
                if topic.direction is Direction.command:
                    self._subscribers[topic.name] = self._subscriber(topic)
                else:
                    self._publishers[topic.name] = self._publisher(topic)
            # The master, or another node with this name, can end this one.
            rospy.on_shutdown(lambda: self._link.send(NodeFailed("the ROS node was shut down")))
            for watch in (self._watch, self._watch_master):
                threading.Thread(target=watch, daemon=True).start()
            send(pipe, Ready(prioritised, os.environ["ROS_MASTER_URI"]))

    def serve(self) -> None:
        """Forward the messages of the simulation until it closes the pipe, and those of the camera."""
        if self._images is not None:
            threading.Thread(target=self._pass_on, args=(received(self._images),), daemon=True).start()
        self._pass_on(self._link.values())
        for name in self._parameters:
            with contextlib.suppress(Exception):  # the master may have stopped
                self._rospy.delete_param(name)
        self._rospy.signal_shutdown("the simulation has ended")
        if self._master is not None:
            self._master.stop()

    def _pass_on(self, publications: Iterable[Publish]) -> None:
        for publication in publications:
            for name, data in publication.messages:
                with contextlib.suppress(self._rospy.ROSException):  # raised while the node shuts down
                    self._publishers[name].publish(data)

    def _publisher(self, topic: Topic) -> Any:
        """Create a publisher. Events are latched; readers of states are reported, and only their topics are sampled."""
        listener = SimpleNamespace(
            peer_subscribe=lambda *_peer: self._report(topic.name, True),
            peer_unsubscribe=lambda *_peer: self._report(topic.name, False),
        )
        options: dict[str, Any] = {
            "latch": topic.latched,
            "queue_size": IMAGES if "Image" in topic.ros else QUEUE,
            "tcp_nodelay": True,
        }
        options |= {} if topic.latched else {"subscriber_listener": listener}
        return self._rospy.Publisher(f"/{topic.name}", wire_class(topic.ros), **options)

    def _report(self, name: str, new: bool) -> None:
        """Report a new reader of a topic, or that it has none left.

        rospy calls from several threads, so the end of an old connection may be reported after the start of a new one.
        """
        with self._reporting:
            if new or not self._publishers[name].get_num_connections():
                self._link.send(Readers(name, new))

    def _subscriber(self, topic: Topic) -> Any:
        decoder = Decoder(topic, self._codec)

        def receive(message: Any) -> None:
            self._commanded.add(topic.name)
            try:
                self._link.command(((topic.name, decoder(message.data)),))
            except TrocarError as error:
                self._link.refuse(topic.name, error)

        kind = wire_class(topic.ros)
        return self._rospy.Subscriber(f"/{topic.name}", kind, receive, queue_size=QUEUE, tcp_nodelay=True)

    def _watch(self) -> None:
        """Report commanded topics whose last client has disconnected; rospy does not report it."""
        while not self._rospy.is_shutdown():
            for name in tuple(self._commanded):
                if not self._subscribers[name].get_num_connections():
                    self._commanded.discard(name)
                    self._link.send(Lost(name))
            time.sleep(POLL_INTERVAL)

    def _watch_master(self) -> None:
        """Report a master that does not answer, and register again at one that was restarted."""
        import rosgraph

        uri, lost = os.environ["ROS_MASTER_URI"], False
        while not self._rospy.is_shutdown():
            time.sleep(MASTER_INTERVAL)
            try:
                if _registered(f"/{NAME}"):
                    lost = False
                    continue
                register_again(f"/{NAME}")
                self._set_parameters()
                self._rospy.logwarn(
                    f"the ROS master at {uri} was restarted; all topics and services are registered again"
                )
                lost = False
            except (OSError, HTTPException, rosgraph.MasterException) as error:
                if not lost and not self._rospy.is_shutdown():
                    lost = True
                    connected = "connected clients stay connected, new ones cannot find the node"
                    self._rospy.logwarn(f"the ROS master at {uri} does not answer ({error}); {connected}")

    def _set_parameters(self) -> None:
        for name, value in self._parameters.items():
            self._rospy.set_param(name, value)

    def _offer(self, service: Service) -> None:
        kind = service_class(service.ros)

        def handle(request: Any) -> Any:
            call = self._codec.message_in(request.data, f"{service.ros}_Request")
            response = answer(lambda *arguments: self._call(service.name, arguments), service.ros, call, self._codec)
            return kind._response_class(self._codec.bytes_of(response, f"{service.ros}_Response"))

        self._rospy.Service(f"/{service.name}", kind, handle)

    def _call(self, service: str, arguments: tuple[Any, ...]) -> Any:
        try:
            return self._link.call(service, arguments)
        except TrocarError as error:
            raise self._rospy.ServiceException(str(error)) from error
