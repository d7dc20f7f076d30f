"""Samples of a robot's topics for readers in ROS, taken after a control cycle and stamped by the clock of ROS."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial

from trocar.errors import TrocarError
from trocar.robot.controller.constants import FREQUENCY
from trocar.robot.interface import Direction
from trocar.robot.messages import Empty, Message, OperatingState
from trocar.robot.robot import Robot
from trocar.transports.scene_topics import INTERVALS, SceneTopics

AT_ONCE = 10  # topics that are sampled after one control cycle, which delays the next one; more if the rate requires it

Stamped = tuple[str, Message, int]  # topic, message, stamp by the clock of ROS [ns]


class Sampler:
    """Current samples of the topics that have readers. Call its methods with the bus locked.

    Args:
        rate: rate of state topics by the robot's clock [Hz].
        simulated_time: the clock of ROS is the robot's, not the wall clock.

    Attributes:
        read: topics with readers.
        ahead: time from the last samples until they are to be sent, so that they are sent at regular intervals by the
            wall clock [s]. A control cycle of 2/3 ms, for example, does not divide the period of 1000 Hz.
    """

    def __init__(self, robot: Robot, scene: SceneTopics, rate: float, simulated_time: bool) -> None:
        if not (math.isfinite(rate) and 0.0 < rate <= FREQUENCY):
            raise TrocarError(f"the rate must be above 0 and at most {FREQUENCY} Hz, got {rate}")
        self._robot, self._period, self._simulated_time = robot, round(1e9 / rate), simulated_time
        states = [name for name, topic in robot.bus.topics.items() if topic.direction is Direction.state]
        self._sources: dict[str, Callable[[], Message | None]] = {
            name: partial(robot.bus.read, name) for name in states
        }
        self._sources |= {topic.name: source for topic, source in scene.sources.items()}
        self.read: set[str] = set()
        self.ahead, self._latest = 0.0, 0 if simulated_time else _latest(self._period)
        self._due = -self._period  # next sampling by the robot's clock [ns]
        self._pending = deque[list[str]]()  # parts of this one
        self._grouped: tuple[set[str], list[list[str]]] = set(), []  # topics, and their groups
        self._sent: dict[str, int] = {}  # stamp of the last sample of a topic, by the robot's clock
        self._stamps: dict[str, int] = {}  # stamp of the last message of a topic, by the clock of ROS

    def after_cycle(self, busy: bool) -> list[Stamped] | None:
        """New samples of some of the topics with readers; None if none are due.

        Args:
            busy: earlier samples have not been sent yet, and no new ones are taken.
        """
        now = self._robot.now
        if not self._pending and now >= self._due and self.read and not busy:
            self._due = now if now - self._due >= self._period else self._due
            self.ahead = 1e-9 * max(self._latest - (now - self._due), 0)
            self._due += self._period
            if self.read != self._grouped[0]:
                cycles = max(self._period * FREQUENCY // 10**9, 1)
                self._grouped = set(self.read), _parts(self.read, cycles)
            self._pending.extend(self._grouped[1])
        return self._samples(self._pending.popleft()) if self._pending else None

    def current(self, name: str) -> list[Stamped]:
        """The current sample of a topic for a new reader, even if others have it already."""
        return self._samples((name,), again=True)

    def with_samples(self, name: str, event: Message) -> list[Stamped]:
        """An event, after current samples of its device if it is a change of the operating state.

        A client that sees the end of a motion must find the arm at its goal. The samples are taken here, when the state
        changes, so that their stamps are not later than that of the state: each topic has its own connection, and
        stamps are the only order that a client can rely on.
        """
        samples: list[Stamped] = []
        if isinstance(event, OperatingState):
            device = name.rpartition("/")[0]
            # Again: within a cycle the content can change while the stamp by the robot's clock does not.
            samples = self._samples([read for read in self.read if read.startswith(f"{device}/")], again=True)
        latest = max((stamp for _, _, stamp in samples), default=0)
        return [*samples, (name, event, self.stamp(name, event, latest))]

    def _samples(self, names: Iterable[str], again: bool = False) -> list[Stamped]:
        """Current samples, without those already sent unless `again`; those of the same cycle have the same stamp."""
        new: list[Stamped] = []
        offset = self.offset()
        for name in names:
            source = self._sources.get(name)
            due = self._sent.get(name, 0) + INTERVALS.get(name, 0)  # by the robot's clock [ns]
            if source is None or (not again and self._robot.now < due):
                continue  # an image, which the camera provides, or not due
            message = source()
            if message is None or (not again and message.valid and message.stamp == self._sent.get(name)):
                continue
            self._sent[name] = message.stamp
            new.append((name, message, self.stamp(name, message, offset=offset)))
        return new

    def stamp(self, name: str, message: Message, least: int = 0, offset: int | None = None) -> int:
        """Stamp of a message by the clock of ROS [ns], later than the last one of its topic; 0 for invalid content.

        Clients compare stamps with the time of their commands, and a robot on a busy machine lags behind.
        """
        if not message.valid:
            return 0
        offset = self.offset() if offset is None else offset
        stamp = max(message.stamp + offset, self._stamps.get(name, 0) + 1, least)
        self._stamps[name] = stamp
        return stamp

    def image_stamp(self) -> int:
        """Stamp of the images of this moment, the same for all."""
        return self.stamp("images", Empty(stamp=self._robot.now))

    def offset(self) -> int:
        """Time of the clock of ROS minus that of the robot's clock [ns]."""
        return 0 if self._simulated_time else time.time_ns() - self._robot.now

    def repeated(self, name: str, stamp: int) -> int | None:
        """A stamp 1 ns later, for the same message again; None if a newer one is about to be sent."""
        if self._stamps[name] != stamp:
            return None
        self._stamps[name] = stamp + 1
        return stamp + 1


def _latest(period: int) -> int:
    """Longest time from the end of a period to the next control cycle [ns]."""
    thirds = 3 * 10**9 // FREQUENCY  # of a nanosecond: a control cycle is a whole number of them
    return (thirds - math.gcd(3 * period, thirds)) // 3


def _parts(names: Iterable[str], most: int) -> list[list[str]]:
    """At most `most` groups of topics to sample together, those of a device one after the other."""
    ordered = sorted(names)
    count = min(math.ceil(len(ordered) / AT_ONCE), most)
    size = math.ceil(len(ordered) / count)
    return [ordered[k : k + size] for k in range(0, len(ordered), size)]
