"""The process of rospy: publishers, subscribers and services of the whole interface, at the end of a pipe."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import threading
from concurrent.futures import Future
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from trocar.crtk.interface import Direction, Service, Topic
from trocar.crtk.standins.ros_conversion import from_ros, to_ros
from trocar.crtk.standins.ros_services import answer
from trocar.errors import TrocarError
from trocar.ros import packages
from trocar.ros.protocol import Answer, Call, Command, Failed, Publish, Readers, Ready, Refused, Settings

QUEUE = 100  # messages that wait for a slow reader, as in the dVRK's bridge
PATIENCE = 10.0  # for the answer of the simulation to a call [s]


def run(pipe: Connection, settings: Settings) -> None:
    """Serve the interface until None comes or the pipe is closed. Ctrl-C is left to the simulation."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        packages.use_debian()
        packages.use_generated(Path(settings.packages))
        node = Node(pipe, settings)
    except Exception as error:
        pipe.send(Failed(str(error)))
        return
    node.serve()


class Node:
    """The ROS node `dvrk`."""

    def __init__(self, pipe: Connection, settings: Settings) -> None:
        os.environ.pop("ROS_HOSTNAME", None)  # would come before ROS_IP
        os.environ["ROS_IP"] = settings.address
        import rosgraph

        self._master = None
        if settings.master:
            os.environ["ROS_MASTER_URI"] = settings.master
            if not rosgraph.is_master_online(settings.master):
                raise TrocarError(
                    f"no ROS master answers at {settings.master}; start roscore, or serve with --master own"
                )
        else:
            from rosmaster.master import Master

            self._master = Master(port=0)
            self._master.start()
            os.environ["ROS_MASTER_URI"] = self._master.uri
        import rospy

        self._rospy, self._pipe, self._sending = rospy, pipe, threading.Lock()
        self._sending.acquire()  # clients that waited for this node are heard after it is ready
        self._classes = packages.Classes()
        self._numbers, self._calls = itertools.count(), dict[int, Future[Any]]()
        rospy.init_node("dvrk", argv=["dvrk"], disable_signals=True)
        self._types = {topic.name: topic.ros for topic in settings.topics}
        self._publishers: dict[str, Any] = {}
        for topic in settings.topics:
            if topic.direction is Direction.command:
                self._subscribe(topic)
            else:
                self._publishers[topic.name] = self._publisher(topic)
        for service in settings.services:
            self._offer(service)
        rospy.on_shutdown(self._end)
        pipe.send(Ready(os.environ["ROS_MASTER_URI"]))
        self._sending.release()

    def serve(self) -> None:
        """Pass on what the simulation sends, until it closes the pipe."""
        try:
            while (said := self._pipe.recv()) is not None:
                if isinstance(said, Publish):
                    for name, message in said.messages:
                        self._publish(name, message)
                elif isinstance(said, Answer):
                    call = self._calls.pop(said.number, None)
                    if call is not None:
                        call.set_result(said)
        except (EOFError, OSError):  # the simulation was killed
            pass
        self._rospy.signal_shutdown("the simulation has ended")
        if self._master is not None:
            self._master.stop()
        os._exit(0)  # rospy's and the master's threads do not all end

    def _publish(self, name: str, message: Any) -> None:
        with contextlib.suppress(self._rospy.ROSException):  # raised while the node shuts down
            self._publishers[name].publish(to_ros(message, self._types[name], self._classes))

    def _publisher(self, topic: Topic) -> Any:
        """Events are latched; readers of states are reported, so that nothing is sampled that nobody reads."""
        readers = None if topic.latched else self._listener(topic.name)
        return self._rospy.Publisher(
            f"/{topic.name}",
            self._classes[topic.ros],
            subscriber_listener=readers,
            tcp_nodelay=True,
            latch=topic.latched,
            queue_size=QUEUE,
        )

    def _listener(self, name: str) -> Any:
        node = self

        class Listener(self._rospy.SubscribeListener):  # type: ignore[name-defined]
            def peer_subscribe(self, topic_name: str, topic_publish: Any, peer_publish: Any) -> None:
                node._send(Readers(name, True))

            def peer_unsubscribe(self, topic_name: str, num_peers: int) -> None:
                if num_peers == 0:
                    node._send(Readers(name, False))

        return Listener()

    def _subscribe(self, topic: Topic) -> None:
        def receive(message: Any) -> None:
            try:
                self._send(Command(topic.name, from_ros(message, topic.ros, topic.message)))
            except TrocarError as error:
                self._send(Refused(topic.name, str(error)))

        self._rospy.Subscriber(f"/{topic.name}", self._classes[topic.ros], receive, queue_size=QUEUE, tcp_nodelay=True)

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
        said = call.result(PATIENCE)
        if said.error:
            raise self._rospy.ServiceException(said.error)
        return said.result

    def _send(self, said: Any) -> None:
        try:
            with self._sending:
                self._pipe.send(said)
        except OSError:  # the simulation has ended: so does this process
            pass

    def _end(self) -> None:
        """The master or another node with this name ended this one."""
        self._send(Failed("the ROS node was shut down"))
