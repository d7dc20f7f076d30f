"""The rospy process: publishers, subscribers and services of the whole interface, connected by a pipe."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import threading
import time
from concurrent.futures import Future
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from trocar.crtk.interface import Direction, Service, Topic
from trocar.crtk.standins.ros_conversion import from_ros
from trocar.crtk.standins.ros_services import answer
from trocar.errors import TrocarError
from trocar.ros import limits, packages
from trocar.ros.protocol import Answer, Call, Command, Failed, Lost, Publish, Readers, Ready, Refused, Settings
from trocar.ros.scene_messages import message_to_ros

NAME = "dvrk"
QUEUE = 100  # messages queued for a slow reader, as in the dVRK's bridge
IMAGES = 2  # the same for images, which are large
PATIENCE = 10.0  # longest wait for the simulation's answer to a call [s]
LOOK = 0.1  # interval between checks of connections [s]


def run(pipe: Connection, settings: Settings, pictures: Connection | None = None) -> None:
    """Serve the interface until None arrives or the pipe is closed. The simulation handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        packages.use_debian()
        packages.use_generated(Path(settings.packages))
        node = Node(pipe, settings)
    except Exception as error:
        pipe.send(Failed(str(error)))
        os._exit(1)  # rospy's and the master's threads do not all end
    if pictures is not None:
        threading.Thread(target=node.pass_on, args=(pictures,), daemon=True).start()
    node.serve()


def use_master(master: str, address: str) -> Any:
    """Announce this process at an IP address and use a ROS master, or start one for "" and return it."""
    os.environ.pop("ROS_HOSTNAME", None)  # takes precedence over ROS_IP
    os.environ["ROS_IP"] = address
    limits.limit()
    import rosgraph

    if master:
        os.environ["ROS_MASTER_URI"] = master
        if not rosgraph.is_master_online(master):
            raise TrocarError(f"no ROS master answers at {master}; start roscore, or trocar serve --ros1 --master own")
        return None
    from rosmaster.master import Master

    started = Master(port=0)
    started.start()
    os.environ["ROS_MASTER_URI"] = started.uri
    return started


class Node:
    """The ROS node `dvrk`."""

    def __init__(self, pipe: Connection, settings: Settings) -> None:
        self._master = use_master(settings.master, settings.address)
        import rospy

        self._rospy, self._pipe, self._sending = rospy, pipe, threading.Lock()
        self._reporting = threading.Lock()
        self._sending.acquire()  # commands of waiting clients are handled after the node is ready
        self._classes = packages.Classes()
        self._numbers, self._calls = itertools.count(), dict[int, Future[Any]]()
        rospy.init_node(NAME, argv=[NAME], disable_signals=True)
        self._parameters = settings.parameters
        for name, value in settings.parameters.items():
            rospy.set_param(name, value)
        self._types = {topic.name: topic.ros for topic in settings.topics}
        self._publishers: dict[str, Any] = {}
        self._subscribers: dict[str, Any] = {}
        self._commanded: set[str] = set()  # topics with commands, until their clients disconnect
        for topic in settings.topics:
            if topic.direction is Direction.command:
                self._subscribers[topic.name] = self._subscriber(topic)
            else:
                self._publishers[topic.name] = self._publisher(topic)
        for service in settings.services:
            self._offer(service)
        rospy.on_shutdown(self._end)
        threading.Thread(target=self._watch, daemon=True).start()
        pipe.send(Ready(os.environ["ROS_MASTER_URI"]))
        self._sending.release()

    def serve(self) -> None:
        """Forward the simulation's messages until it closes the pipe."""
        self.pass_on(self._pipe)
        for name in self._parameters:
            with contextlib.suppress(Exception):  # the master may have stopped
                self._rospy.delete_param(name)
        self._rospy.signal_shutdown("the simulation has ended")
        if self._master is not None:
            self._master.stop()
        os._exit(0)  # rospy's and the master's threads do not all end

    def pass_on(self, pipe: Connection) -> None:
        """Publish messages from a pipe and answer calls until it is closed or None arrives."""
        with contextlib.suppress(EOFError, OSError):  # the other process was killed
            while (said := pipe.recv()) is not None:
                if isinstance(said, Publish):
                    for name, message in said.messages:
                        self._publish(name, message)
                elif isinstance(said, Answer):
                    call = self._calls.get(said.number)
                    if call is not None:
                        call.set_result(said)

    # -- topics --------------------------------------------------------------------------------------------------------

    def _publish(self, name: str, message: Any) -> None:
        with contextlib.suppress(self._rospy.ROSException):  # raised while the node shuts down
            self._publishers[name].publish(message_to_ros(message, self._types[name], self._classes))

    def _publisher(self, topic: Topic) -> Any:
        """Create a publisher. Events are latched; readers of states are reported, and only their topics are sampled."""
        readers = None if topic.latched else self._listener(topic.name)
        return self._rospy.Publisher(
            f"/{topic.name}",
            self._classes[topic.ros],
            subscriber_listener=readers,
            tcp_nodelay=True,
            latch=topic.latched,
            queue_size=IMAGES if "Image" in topic.ros else QUEUE,
        )

    def _listener(self, name: str) -> Any:
        node = self

        class Listener(self._rospy.SubscribeListener):  # type: ignore[name-defined]
            def peer_subscribe(self, topic_name: str, topic_publish: Any, peer_publish: Any) -> None:
                node._report(name, True)

            def peer_unsubscribe(self, topic_name: str, num_peers: int) -> None:
                node._report(name, False)

        return Listener()

    def _report(self, name: str, new: bool) -> None:
        """Report a new reader of a topic, or that it has none left.

        rospy calls from several threads, so the end of an old connection may be reported after the start of a new one.
        """
        with self._reporting:
            if new or not self._publishers[name].get_num_connections():
                self._send(Readers(name, new))

    def _subscriber(self, topic: Topic) -> Any:
        def receive(message: Any) -> None:
            self._commanded.add(topic.name)
            try:
                self._send(Command(topic.name, from_ros(message, topic.ros, topic.message)))
            except TrocarError as error:
                self._send(Refused(topic.name, str(error)))

        kind = self._classes[topic.ros]
        return self._rospy.Subscriber(f"/{topic.name}", kind, receive, queue_size=QUEUE, tcp_nodelay=True)

    def _watch(self) -> None:
        """Report commanded topics whose last client has disconnected; rospy does not report it."""
        while not self._rospy.core.is_shutdown_requested():
            for name in tuple(self._commanded):
                if not self._subscribers[name].get_num_connections():
                    self._commanded.discard(name)
                    self._send(Lost(name))
            time.sleep(LOOK)

    # -- services ------------------------------------------------------------------------------------------------------

    def _offer(self, service: Service) -> None:
        kind = packages.service_class(service.ros)

        def handle(request: Any) -> Any:
            return answer(
                lambda *arguments: self._call(service.name, arguments),
                service.ros,
                request,
                kind._response_class,
                self._classes,
            )

        self._rospy.Service(f"/{service.name}", kind, handle)

    def _call(self, service: str, arguments: tuple[Any, ...]) -> Any:
        number, call = next(self._numbers), Future[Any]()
        self._calls[number] = call
        self._send(Call(number, service, arguments))
        try:
            said = call.result(PATIENCE)
        finally:
            del self._calls[number]
        if said.error:
            raise self._rospy.ServiceException(said.error)
        return said.result

    def _send(self, said: Any) -> None:
        try:
            with self._sending:
                self._pipe.send(said)
        except OSError:  # the simulation has ended, and this process ends too
            pass

    def _end(self) -> None:
        """The master or another node with this name ended this one."""
        self._send(Failed("the ROS node was shut down"))
