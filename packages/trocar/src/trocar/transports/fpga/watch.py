"""The truth of served boards in another process, as frames for a page: the server itself has no time to draw."""

from __future__ import annotations

import json
import socket
from collections.abc import Collection, Mapping
from itertools import count

import numpy as np

from trocar.errors import TrocarError
from trocar.robot.description import SceneDescription
from trocar.robot.frames import frame_of, measured_arm
from trocar.robot.messages import Frame
from trocar.simulation import Scene

TIMEOUT = 1.0  # of an answer [s]


class BoardWatch:
    """Asks the bedside port for the joints of all arms.

    Args:
        scene: as the server's. address: of the bedside port.
    """

    def __init__(self, scene: Scene, address: tuple[str, int]) -> None:
        self._scene, self._description = scene, SceneDescription.of(scene)
        self._numbers, self._qpos = count(1), np.array(scene.data.qpos)
        self._arms = {name: (arm.q, np.zeros(arm.n)) for name, arm in scene.arms.items()}
        self._time = 0.0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.settimeout(TIMEOUT)
        self._socket.connect(address)

    def close(self) -> None:
        self._socket.close()

    def frame(self, arms: Collection[str] | None = None) -> Frame:
        """The current moment, with the state of some arms. Default: all. The last one if the server does not answer."""
        playing = self._read()
        states = {
            name: measured_arm(self._scene.arms[name].mechanism, *joints)
            for name, joints in self._arms.items()
            if arms is None or name in arms
        }
        moment = {"number": next(self._numbers), "time": self._time, "playing": playing}
        return frame_of(self._description, states, self._qpos.copy(), **moment)

    def _read(self) -> bool:
        try:
            self._socket.send(b"joints")
            answer = json.loads(self._socket.recv(65536))
        except OSError:
            return False
        if set(answer["arms"]) != set(self._arms):
            raise TrocarError(f"the served arms are {', '.join(answer['arms'])}, not {', '.join(self._arms)}")
        playing, self._time = answer["time"] > self._time, answer["time"]
        self._follow(answer["instruments"], answer.get("set_up", {}))
        for name, state in answer["arms"].items():
            stepped = self._scene.stepped[name]
            self._arms[name] = np.array(state["q"]), np.array(state["dq"])
            self._qpos[stepped.q] = stepped.E @ self._arms[name][0]
        return playing

    def _follow(self, instruments: Mapping[str, str | None], set_up: Mapping[str, list[float]]) -> None:
        """Draw the mounted instruments and the set-up joints; an arm without an instrument keeps the last."""
        arms = self._scene.arms
        changed = {name: tool for name, tool in instruments.items() if tool and tool != arms[name].arm.instrument}
        if changed:
            self._scene = self._scene.rebuilt({name: {"instrument": tool} for name, tool in changed.items()})
            self._description = SceneDescription.of(self._scene)
            self._qpos = np.array(self._scene.data.qpos)
        cart = self._scene.cart
        moved = {name: q for name, q in set_up.items() if cart and not np.array_equal(cart.q_setup[name], q)}
        if cart and moved:
            self._scene.cart = cart.moved(moved)
            self._description = SceneDescription.of(self._scene)
