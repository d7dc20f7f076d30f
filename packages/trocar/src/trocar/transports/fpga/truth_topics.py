"""The truth of served boards as topics of ROS 2, next to those of the dVRK, by a process of its own.

For every arm: /truth/PSM1/measured_js, and for arms that carry a tool /truth/PSM1/measured_cp (tip in the arm's base)
and /truth/PSM1/measured_cf (contact wrench at the tip, base axes). The server's thread only answers short lines: all
joints in every period, tip and contact of one arm after the other.
"""

from __future__ import annotations

import json
import socket
import time
from typing import Any

import numpy as np

from trocar.closing import Closable
from trocar.robot.interface import Direction, Topic
from trocar.robot.messages import JointState, Message, Pose, Wrench
from trocar.transports.codec import codec
from trocar.transports.ros2.participant import Participant, sample_class

TIMEOUT = 1.0  # of an answer [s]
TYPES = {JointState: "sensor_msgs/JointState", Pose: "geometry_msgs/PoseStamped", Wrench: "geometry_msgs/WrenchStamped"}
NAMES = {JointState: "measured_js", Pose: "measured_cp", Wrench: "measured_cf"}


class TruthTopics(Closable):
    """Publishes the truth of a bedside port.

    Args:
        address: of the bedside port. joints: names of the joints by arm. tools: arms that carry a tool.
        domain, interface: of ROS 2.
    """

    def __init__(
        self,
        address: tuple[str, int],
        joints: dict[str, tuple[str, ...]],
        tools: list[str],
        domain: int,
        interface: str,
    ) -> None:
        self._joints, self._tools, self._turn = joints, tools, 0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.settimeout(TIMEOUT)
        self._socket.connect(address)
        self._participant = Participant(domain, interface)
        self._writers: dict[tuple[str, type[Message]], Any] = {}
        for arm in joints:
            for message in TYPES if arm in tools else (JointState,):
                topic = Topic(f"/truth/{arm}/{NAMES[message]}", message, Direction.state, TYPES[message])
                self._writers[arm, message] = self._participant.topic_writer(topic)

    def close(self) -> None:
        self._socket.close()
        self._participant.close()

    def publish(self) -> bool:
        """Ask for the truth and publish it; False if the server did not answer."""
        answer = self._ask("joints")
        for arm, state in answer.get("arms", {}).items():
            names, (q, dq) = self._joints[arm], (np.array(state[key]) for key in ("q", "dq"))
            self._write(arm, JointState(**_about(arm), name=names, position=q, velocity=dq))
        if answer and self._tools:
            arm = self._tools[self._turn % len(self._tools)]
            self._turn += 1
            state = self._ask(f"truth {arm}").get("arms", {}).get(arm)
            if state:
                self._write(arm, Pose(**_about(arm), T=np.array(state["tip"])))
                self._write(arm, Wrench(**_about(arm), vector=np.array(state["contact"])))
        return bool(answer)

    def _ask(self, line: str) -> dict[str, Any]:
        try:
            self._socket.send(line.encode())
            answer: dict[str, Any] = json.loads(self._socket.recv(65536))
        except OSError:
            return {}
        return answer

    def _write(self, arm: str, message: Message) -> None:
        kind = type(message)
        self._writers[arm, kind].write(sample_class(TYPES[kind])(codec(2).encode(message, TYPES[kind])))


def _about(arm: str) -> dict[str, Any]:
    return {"stamp": time.time_ns(), "frame_id": f"{arm}_base"}
