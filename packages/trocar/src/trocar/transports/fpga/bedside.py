"""Actions of people at the robot, by lines of text on a loopback socket, and the truth for other processes.

    press NAME | release NAME        a switch of the IO files: clutch, coag, PSM1_arm_clutch, dvrk_head_sensor
    hold ARM | let_go ARM            a hand takes the tip of an arm, or leaves it
    move ARM X Y Z [SECONDS]         the hand moves by this [m], base axes, from where it took the tip
    turn ARM RX RY RZ [SECONDS]      the hand turns the grip by this rotation vector [rad], base axes
    gripper ARM ANGLE                opening of a master's gripper [rad]
    insert ARM [INSTRUMENT|adapter]  mount adapter and instrument, by default the last one, or the adapter alone
    remove ARM [tool]                take both off, or only the instrument
    set_up ARM JOINT Q [SECONDS]     a hand moves a set-up joint (from 1) to Q [m, rad] while its brakes are open
    stop | start                     press or release the emergency stop
    fail BOARD AXIS [AMPERES]        an amplifier delivers this current; without a number it is repaired
    slip BOARD AXIS COUNTS           an encoder loses counts
    joints                           true joints of all arms; faster than `truth`
    truth [ARM]                      joints, tips and contact forces of all arms or one; what is pressed

Every line is answered by one line of JSON, with `error` if it was not understood.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from trocar import checks
from trocar.errors import TrocarError, check_known
from trocar.transports.fpga.plant import RobotPlant

MAX_LINE = 512  # [bytes]
MAX_AMPERES, MAX_COUNTS, MAX_TURN = 10.0, 1 << 23, 6.3


class Bedside:
    """Executes the lines on a plant.

    Attributes:
        commands: least and largest number of words, and function, by the first word.
    """

    def __init__(self, plant: RobotPlant) -> None:
        self._plant = plant
        self.commands: dict[str, tuple[int, int, Callable[..., Any]]] = {
            "press": (1, 1, plant.press),
            "release": (1, 1, lambda name: plant.press(name, False)),
            "hold": (1, 1, plant.hold),
            "let_go": (1, 1, plant.let_go),
            "move": (4, 5, self._move),
            "turn": (4, 5, self._turn),
            "gripper": (2, 2, self._gripper),
            "insert": (1, 2, plant.mounting.insert),
            "remove": (1, 2, plant.mounting.remove),
            "set_up": (3, 4, self._set_up),
            "stop": (0, 0, lambda: plant.boards.stop(True, plant.time)),
            "start": (0, 0, lambda: plant.boards.stop(False, plant.time)),
            "fail": (2, 3, self._fail),
            "slip": (3, 3, self._slip),
            "joints": (0, 0, lambda: None),
            "truth": (0, 1, lambda *_: None),
        }

    def answer(self, line: bytes) -> bytes:
        """Execute a line; the answer, a line of JSON."""
        words, plant = line.decode("utf-8", errors="replace").split(), self._plant
        try:
            if len(line) > MAX_LINE:
                raise TrocarError(f"a line has at most {MAX_LINE} bytes")
            plant.mounting.update()
            self._execute(words)
            arms = plant.truth(*words[1:]) if words[0] == "truth" else plant.joints() if words[0] == "joints" else None
        except TrocarError as error:
            return json.dumps({"error": str(error)}).encode()
        content: dict[str, Any] = {"time": plant.time, "pressed": plant.pressed}
        refused = plant.mounting.refused or (plant.set_up.refused if plant.set_up else "")
        if refused:
            content["refused"] = refused
        if arms is not None:
            content |= {"arms": arms, "instruments": plant.mounting.instruments()}
            if plant.scene.cart is not None:
                content["set_up"] = {name: q.tolist() for name, q in plant.scene.cart.q_setup.items()}
        return json.dumps(content).encode()

    def _execute(self, words: Sequence[str]) -> None:
        check_known("command", self.commands, words[0] if words else "")
        low, high, command = self.commands[words[0]]
        if not low <= len(words) - 1 <= high:
            raise TrocarError(
                f"{words[0]} takes {low if low == high else f'{low} to {high}'} words, got {len(words) - 1}"
            )
        command(*words[1:])

    def _move(self, arm: str, x: str, y: str, z: str, seconds: str | None = None) -> None:
        offset = [checks.number("the offset of a hand", value, -1.0, 1.0, "m") for value in (x, y, z)]
        self._plant.hold(arm).move(offset, _duration(seconds))

    def _turn(self, arm: str, x: str, y: str, z: str, seconds: str | None = None) -> None:
        rotation = [checks.number("the rotation of a hand", value, -MAX_TURN, MAX_TURN, "rad") for value in (x, y, z)]
        self._plant.hold(arm).turn(rotation, _duration(seconds))

    def _set_up(self, arm: str, joint: str, position: str, seconds: str | None = None) -> None:
        if self._plant.set_up is None:
            raise TrocarError("there are no set-up joints: the system file has no arm of type SUJ_Classic")
        number = _whole("set-up joint", joint, 1, 6)
        goal = checks.number("position", position, -10.0, 10.0, "m or rad")
        self._plant.set_up.push(arm, number, goal, _duration(seconds))

    def _gripper(self, arm: str, angle: str) -> None:
        check_known("arm of the scene", self._plant.scene.arms, arm)
        self._plant.scene.arms[arm].gripper = checks.number("the opening", angle, 0.0, 2.0, "rad")

    def _channel(self, board: str, axis: str) -> tuple[int, int]:
        place = _whole("board", board, 0, 15), _whole("axis", axis, 0, 9)
        self._plant.channel_of(*place)
        return place

    def _fail(self, board: str, axis: str, amperes: str | None = None) -> None:
        place = self._channel(board, axis)
        if amperes is None:
            self._plant.failed.pop(place, None)
        else:
            self._plant.failed[place] = checks.number("current", amperes, -MAX_AMPERES, MAX_AMPERES, "A")

    def _slip(self, board: str, axis: str, counts: str) -> None:
        channel = self._plant.channel_of(*self._channel(board, axis))
        self._plant.boards.timers.slip(channel, _whole("counts", counts, -MAX_COUNTS, MAX_COUNTS))


def _whole(name: str, word: str, low: int, high: int) -> int:
    return checks.count(name, checks.number(name, word, low, high), low, high)


def _duration(seconds: str | None) -> float | None:
    return None if seconds is None else checks.number("duration", seconds, 0.0, 60.0, "s")
