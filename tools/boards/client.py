"""A small client of the controller's protocol, as the dVRK speaks it by default: scan, then broadcast cycles.

It reads positions and currents of an arm and commands its motors by the scales of the arm's IO file.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from tools.boards import requests
from trocar.errors import TrocarError
from trocar.spatial import Array
from trocar.transports.fpga import packets, registers
from trocar.transports.fpga.controller import HUB_MEMORY, QUERY
from trocar.transports.fpga.edges import CLOCK, INCOMPLETE, MIDDLE, OVERFLOW, TIMER, TURNED, UPWARDS
from trocar.transports.fpga.io_file import IORobot
from trocar.transports.fpga.packets import BROADCAST
from trocar.transports.fpga.registers import KINDS, PRELOAD, STATUS

TIMEOUT = 0.02  # of a reply [s]
Exchange = Callable[[bytes, bool], bytes | None]  # a request, whether a reply is expected, and the reply


class UdpExchange:
    """Requests over UDP, with a time-out [s], by default the dVRK's. `flushed`: number of late replies."""

    def __init__(self, address: tuple[str, int], timeout: float = TIMEOUT) -> None:
        self._timeout = timeout
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.connect(address)
        self.flushed = 0

    def __call__(self, request: bytes, answered: bool) -> bytes | None:
        if not answered:
            self._socket.send(request)
            return None
        self._socket.setblocking(False)
        with suppress(BlockingIOError, ConnectionError):  # as the dVRK, drop what came too late
            while self._socket.recv(1):
                self.flushed += 1
        self._socket.settimeout(self._timeout)
        self._socket.send(request)
        try:
            return self._socket.recv(packets.MAX_BLOCK + 64)
        except (TimeoutError, ConnectionError):
            return None

    def close(self) -> None:
        self._socket.close()


@dataclass(frozen=True)
class Sample:
    """One real-time block of a board: quadlets by their meaning, as integers (k,)."""

    elapsed: float
    status: int
    inputs: int
    pots: Array
    currents: Array
    positions: Array
    periods: Array
    running: Array
    motors: Array


class BoardClient:
    """Speaks to boards through an exchange of packets.

    Attributes:
        nodes, kinds: node and kind of every board number, after `scan`. generation: of the bus.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._label = self._sequence = 0
        self.nodes: dict[int, int] = {}
        self.kinds: dict[int, registers.BoardKind] = {}
        self.generation = 0

    def _options(self, flags: int = 0) -> dict[str, int]:
        self._label = (self._label + 1) % 64
        return {"label": self._label, "generation": self.generation, "flags": flags}

    def _reply(self, request: bytes, code: int) -> bytes | None:
        reply = self._exchange(request, True)
        if reply is None:
            return None
        if len(reply) < 28 or reply[3] >> 4 != code or reply[2] >> 2 != self._label:
            raise TrocarError(f"the controller answered with an unexpected packet: {reply[:28].hex()}")
        return reply

    def read(self, node: int, address: int, flags: int = 0) -> int | None:
        reply = self._reply(requests.quadlet_read(node, address, **self._options(flags)), packets.QUADLET_REPLY)
        if reply is None:
            return None
        self.generation = reply[21]
        return int.from_bytes(reply[12:16], "big")

    def write(self, node: int, address: int, value: int) -> None:
        self._exchange(requests.quadlet_write(node, address, value, **self._options()), False)

    def read_block(self, node: int, address: int, quadlets: int) -> Array:
        reply = self._reply(requests.block_read(node, address, 4 * quadlets, **self._options()), packets.BLOCK_REPLY)
        if reply is None:
            raise TrocarError(f"node {node} did not answer a block read within {1e3 * TIMEOUT:g} ms")
        return np.frombuffer(reply, dtype=">u4", count=quadlets, offset=20).astype(np.int64)

    def scan(self, nodes: int = 16) -> dict[int, int]:
        """Find the boards on the bus: node by board number."""
        self.read(BROADCAST, registers.HARDWARE, packets.NOT_FORWARDED)
        codes = {kind.code: kind for kind in KINDS.values()}
        for node in range(nodes):
            code = self.read(node, registers.HARDWARE)
            if code is None:
                continue
            status = self.read(node, STATUS)
            if code not in codes or status is None:
                raise TrocarError(f"node {node} is no board that this client knows: hardware {code:08x}")
            self.nodes[status >> 24 & 15], self.kinds[status >> 24 & 15] = node, codes[code]
        return self.nodes

    def sample(self, boards: Sequence[int] = ()) -> dict[int, Sample]:
        """Query the boards, by default all, and read their blocks from the hub's memory."""
        chosen = sorted(boards or self.nodes)
        self._sequence = (self._sequence + 1) % 65536
        mask = sum(1 << number for number in chosen)
        self.write(BROADCAST, QUERY, self._sequence << 16 | mask)
        total = sum(self.kinds[number].block + 1 for number in chosen) + 1
        words, samples, at = self.read_block(0, HUB_MEMORY, total), {}, 0
        for number in chosen:
            kind = self.kinds[number]
            header = int(words[at])
            if header >> 24 != kind.block + 1 or header >> 16 & 0xFF != self._sequence & 0xFF:
                raise TrocarError(f"the block of board {number} has a wrong length or sequence number: {header:08x}")
            samples[number] = _parsed(words[at + 1 : at + 1 + kind.block], kind.motors)
            at += kind.block + 1
        return samples

    def command(self, words: Mapping[int, Sequence[int]], control: int = 0) -> None:
        """Write the command words of every board's motors in one packet."""
        data = []
        for number in sorted(words):
            data += [number << 8 | len(words[number]) + 2, *words[number], control]
        block = struct.pack(f">{len(data)}I", *data)
        self._exchange(requests.block_write(BROADCAST, 0, block, **self._options()), False)


def _parsed(block: Array, n: int) -> Sample:
    rows = block[4:].reshape(7, n)
    return Sample(
        float(block[0] + 1) / CLOCK, int(block[1]), int(block[2]), rows[0] >> 16, rows[0] & 0xFFFF, *rows[[1, 2, 5, 6]]
    )


class BoardArm:
    """One arm through its IO file: actuator positions [rad, m], velocities and currents [A] from samples, and back."""

    def __init__(self, client: BoardClient, robot: IORobot) -> None:
        self._client, self.robot = client, robot
        self.boards = sorted({drive.board for drive in (*robot.actuators, *robot.brakes)})
        self.n = len(robot.actuators)

    def _scaled(self, samples: dict[int, Sample], what: str) -> Array:
        return np.array([getattr(samples[each.board], what)[each.axis] for each in self.robot.actuators])

    def positions(self, samples: dict[int, Sample]) -> Array:
        """By the encoders."""
        counts = (self._scaled(samples, "positions") & 0xFFFFFF) - MIDDLE
        return np.array(
            [each.encoder.offset + each.encoder.scale * k for each, k in zip(self.robot.actuators, counts, strict=True)]
        )

    def velocities(self, samples: dict[int, Sample]) -> Array:
        """From the times of the last four edges; 0 after a turn or without edges."""
        scale = np.array([each.encoder.scale for each in self.robot.actuators])
        period, running = self._scaled(samples, "periods"), self._scaled(samples, "running")
        moving = (period & (OVERFLOW | TURNED | INCOMPLETE)) == 0
        ticks = np.maximum(period & TIMER, 1)
        speed = np.minimum(4.0 / ticks, 1.0 / np.maximum(running & TIMER, 1)) * CLOCK
        return np.where(moving, np.where(period & UPWARDS, speed, -speed), 0.0) * scale

    def potentiometers(self, samples: dict[int, Sample]) -> Array:
        """Actuator positions by the potentiometers."""
        bits = self._scaled(samples, "pots")
        joints = [
            each.potentiometer.offset + each.potentiometer.scale * (each.voltage.offset + each.voltage.scale * b)
            for each, b in zip(self.robot.actuators, bits, strict=True)
        ]
        return np.asarray(self.robot.coupling @ joints)

    def currents(self, samples: dict[int, Sample]) -> Array:
        bits = self._scaled(samples, "currents")
        return np.array(
            [each.feedback.offset + each.feedback.scale * b for each, b in zip(self.robot.actuators, bits, strict=True)]
        )

    def words(self, efforts: Array, brakes: Sequence[float] = (), enable: bool = False) -> dict[int, list[int]]:
        """Command words for efforts (n,) [N m, N] and for the currents of the brakes [A]."""
        switch = registers.ENABLE_MASK | registers.ENABLE if enable else 0
        words = {board: [0] * self._client.kinds[board].motors for board in self.boards}
        currents = [tau * each.current for tau, each in zip(efforts, self.robot.actuators, strict=True)]
        drives = (*self.robot.actuators, *self.robot.brakes)
        for drive, current in zip(drives, (*currents, *(brakes or [0.0] * len(self.robot.brakes))), strict=True):
            bits = round(drive.command.offset + drive.command.scale * current)
            words[drive.board][drive.axis] = registers.VALID | switch | min(max(bits, 0), 0xFFFF)
        return words

    def preload(self, positions: Array) -> None:
        """Set the encoders to actuator positions."""
        for actuator, position in zip(self.robot.actuators, positions, strict=True):
            counts = round((position - actuator.encoder.offset) / actuator.encoder.scale) + MIDDLE
            address = 16 * (actuator.axis + 1) + PRELOAD
            self._client.write(self._client.nodes[actuator.board], address, counts & 0xFFFFFF)

    def power(self, on: bool) -> None:
        """Close the relays, and enable or disable the motor power."""
        for board in self.boards:
            value = registers.RELAY_MASK | registers.RELAY | registers.POWER_MASK | (registers.POWER if on else 0)
            self._client.write(self._client.nodes[board], STATUS, value)
