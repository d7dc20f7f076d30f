"""A robot that runs in ROS 1, simulated or real, as a bus: for the conformance checks and for scripts."""

from __future__ import annotations

import threading
import time
from typing import Any

from trocar.errors import TrocarError, check_known
from trocar.robot.messages import Message
from trocar.transports.link import LOOPBACK, TIMEOUT, ConnectedProcess, ProcessLink, Readers, SystemState, run_node
from trocar.transports.remote_bus import CLOCK, Callback, OpenTopic, RemoteBus, waited
from trocar.transports.ros1.bridge import Ros1Settings

FIRST_TIMEOUT = 0.5  # of the first message of a topic [s]


class Ros1Client(RemoteBus):
    """Topics and services of the nodes of a ROS master, as they are when it connects.

    It has the methods of `trocar.robot.Bus` that clients use, and sends nothing unless `publish` is called. Messages of
    types without a header are stamped by their arrival. Time is that of /clock if the parameter use_sim_time is set.

    Args:
        master: URI of the ROS master. address: IP address under which other nodes find this one.
    """

    def __init__(self, master: str, *, address: str = LOOPBACK) -> None:
        node = "trocar.transports.ros1.client_node.Ros1ClientNode"
        self._process = ConnectedProcess(run_node, Ros1Settings(node=node, address=address, master=master))
        state = self._process.first_value(SystemState, "the ROS client")
        super().__init__(state)
        self._link = ProcessLink(self._process.pipe)
        self._connected: dict[str, bool] = {}  # whether a node reads a topic, from the first command on
        self._reader = threading.Thread(target=self._receive, daemon=True)
        self._reader.start()
        self._wait_for_clock()

    def _check_alive(self) -> None:
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
            self._check_alive()
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

    # -- inside --------------------------------------------------------------------------------------------------------

    def _open(self, name: str, *callbacks: Callback) -> OpenTopic:
        self._send(self.topics[name])
        return OpenTopic(self.topics[name], *callbacks)

    def _close(self, line: OpenTopic) -> None:
        self._link.send(Readers(line.topic.name, some=False))  # before the topic can be opened again

    def _wait_for_first(self, line: OpenTopic) -> None:
        waited(lambda: line.last is not None, line.changed + FIRST_TIMEOUT - time.monotonic())

    def _send(self, value: Any) -> None:
        self._link.send(value)
        self._check_alive()

    def _receive(self) -> None:
        for value in self._link.values():
            if isinstance(value, Readers):
                self._connected[value.topic] = value.some
                continue
            for name, message in value.messages:
                if name == CLOCK:
                    self._clock = message.stamp
                    continue
                line = self._opened.get(name)
                if line is not None:  # not just closed
                    self._deliver(line, message)
            self._close_unused()
