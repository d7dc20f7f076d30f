"""A small client of the controller's protocol, as the dVRK speaks it by default: scan, then broadcast cycles.

It reads positions and currents of an arm and commands its motors by the scales of the arm's IO file.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag

from tools.boards import requests
from trocar.errors import TrocarError
from trocar.spatial import Array
from trocar.transports.fpga import packets, registers
from trocar.transports.fpga.controller import HUB_MEMORY, QUERY
from trocar.transports.fpga.edges import CLOCK, INCOMPLETE, MIDDLE, OVERFLOW, TIMER, TURNED, UPWARDS
from trocar.transports.fpga.io_file import AmplifierChannel, IORobot
from trocar.transports.fpga.packets import BROADCAST
from trocar.transports.fpga.registers import KINDS, PRELOAD, STATUS, BoardKind

TIMEOUT = 0.02  # of a reply [s]
ROWS = ("analog", "positions", "periods", "quarters", "old_quarters", "running", "motors")  # of a block
Exchange = Callable[[bytes, bool], bytes | None]  # a request, whether a reply is expected, and the reply


class UdpExchange:
    """Requests over UDP, with a time-out [s], by default the dVRK's. `flushed`: number of late replies."""

    def __init__(self, address: tuple[str, int], timeout: float = TIMEOUT) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.settimeout(timeout)
        self._socket.connect(address)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self.flushed = 0

    def __call__(self, request: bytes, answered: bool) -> bytes | None:
        if not answered:
            self._socket.send(request)
            return None
        while self._poll.poll(0):  # as the dVRK, drop what came too late
            with suppress(ConnectionError):
                self._socket.recv(1)
            self.flushed += 1
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


class BlockLayout:
    """Places of the words of some boards' blocks in the hub's memory.

    Args:
        kinds: kind of every board, by number.
    """

    def __init__(self, kinds: Mapping[int, BoardKind]) -> None:
        self.kinds = dict(sorted(kinds.items()))
        self.mask = sum(1 << number for number in kinds)
        lengths = [kind.block + 1 for kind in self.kinds.values()]
        ends = np.cumsum(lengths).tolist()
        self.size = (ends[-1] if ends else 0) + 1  # [quadlets], with the timing at the end
        self.first = dict(zip(self.kinds, [0, *ends], strict=False))  # headers
        self.headers, self.lengths = np.array(list(self.first.values())), np.array(lengths)

    def places(self, channels: Sequence[tuple[int, int]], row: str) -> Array:
        """Places of one of the ROWS for channels (board number, axis)."""
        k = ROWS.index(row)
        places = []
        for number, axis in channels:
            n, e = self.kinds[number].motors, self.kinds[number].encoders
            places.append(self.first[number] + 5 + (k > 0) * n + max(k - 1, 0) * e + axis)
        return np.array(places, dtype=int)


class Samples(Mapping[int, Sample]):
    """Blocks of boards in the hub's memory, by board number, and their words."""

    def __init__(self, words: Array, layout: BlockLayout) -> None:
        self.words, self.layout = words, layout

    def __getitem__(self, number: int) -> Sample:
        first, kind = self.layout.first[number], self.layout.kinds[number]
        block = self.words[first + 1 : first + 1 + kind.block]
        n, e = kind.motors, kind.encoders
        encoders = block[4 + n : 4 + n + 5 * e].reshape(5, e)
        return Sample(
            float(block[0] + 1) / CLOCK,
            int(block[1]),
            int(block[2]),
            block[4 : 4 + n] >> 16,
            block[4 : 4 + n] & 0xFFFF,
            encoders[0],
            encoders[1],
            encoders[4],
            block[4 + n + 5 * e :],
        )

    def __iter__(self) -> Iterator[int]:
        return iter(self.layout.kinds)

    def __len__(self) -> int:
        return len(self.layout.kinds)


class BoardClient:
    """Speaks to boards through an exchange of packets.

    Attributes:
        nodes, kinds: node and kind of every board number, after `scan`. generation: of the bus.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._label = self._sequence = 0
        self.nodes: dict[int, int] = {}
        self.kinds: dict[int, BoardKind] = {}
        self.generation = 0
        self._layouts: dict[tuple[int, ...], BlockLayout] = {}

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

    def sample(self, boards: Sequence[int] = ()) -> Samples:
        """Query the boards, by default all, and read their blocks from the hub's memory."""
        chosen = tuple(sorted(boards or self.nodes))
        layout = self._layouts.get(chosen)
        if layout is None:
            layout = self._layouts[chosen] = BlockLayout({number: self.kinds[number] for number in chosen})
        self._sequence = (self._sequence + 1) % 65536
        self.write(BROADCAST, QUERY, self._sequence << 16 | layout.mask)
        words = self.read_block(0, HUB_MEMORY, layout.size)
        headers = words.take(layout.headers) >> 16
        if (headers != (layout.lengths << 8 | self._sequence & 0xFF)).any():
            raise TrocarError(f"a block of the boards {chosen} has a wrong length or sequence number: {headers}")
        return Samples(words, layout)

    def command(self, words: Mapping[int, Sequence[int]], control: int = 0) -> None:
        """Write the command words of every board's motors in one packet."""
        data: list[int] = []
        for number in sorted(words):
            data += [number << 8 | len(words[number]) + 2, *words[number], control]
        self.write_block(np.array(data, dtype=">u4"))

    def write_block(self, words: Array) -> None:
        """Write words to all boards."""
        data = words.astype(">u4").tobytes()
        self._exchange(requests.block_write(BROADCAST, 0, data, **self._options()), False)


class BoardArm:
    """Arms through their IO files: actuator positions [rad, m], velocities and currents [A] from samples, and back.

    The values of several arms are those of the first, then those of the second, ...
    """

    def __init__(self, client: BoardClient, *robots: IORobot) -> None:
        self._client, self.robots = client, robots
        self._actuators = [actuator for robot in robots for actuator in robot.actuators]
        self._drives: list[AmplifierChannel] = [*self._actuators, *(each for robot in robots for each in robot.brakes)]
        self.boards = sorted({drive.board for drive in self._drives})
        self.n = len(self._actuators)
        self.released = np.array([brake.released for robot in robots for brake in robot.brakes])
        self._per_effort = np.array([each.current for each in self._actuators])
        self._encoder, self._voltage, self._pot = (
            _scales(self._actuators, key) for key in ("encoder", "voltage", "potentiometer")
        )
        self._command, self._feedback = (_scales(self._drives, key) for key in ("command", "feedback"))
        self._command[0] %= 65536  # the boards get the lower 16 bits
        self._clock = np.array([client.kinds[each.board].clock for each in self._actuators])
        self._layout: BlockLayout | None = None
        self._places: dict[str, Array] = {}

    def _row(self, samples: Samples, row: str) -> Array:
        if samples.layout is not self._layout:
            channels = [(each.board, each.axis) for each in self._actuators]
            self._layout, self._places = samples.layout, {key: samples.layout.places(channels, key) for key in ROWS}
            self._places["status"] = np.array([samples.layout.first[number] + 2 for number in self.boards])
        return samples.words.take(self._places[row])

    def statuses(self, samples: Samples) -> Array:
        """Status registers of the boards."""
        return self._row(samples, "status")

    def positions(self, samples: Samples) -> Array:
        """By the encoders."""
        counts = (self._row(samples, "positions") & 0xFFFFFF) - MIDDLE
        return np.asarray(self._encoder[0] + self._encoder[1] * counts)

    def velocities(self, samples: Samples) -> Array:
        """From the times of the last four edges; 0 after a turn or without edges."""
        period, running = self._row(samples, "periods"), self._row(samples, "running")
        moving = (period & (OVERFLOW | TURNED | INCOMPLETE)) == 0
        # 4 counts in a period, but less than one since the last edge
        ticks = np.maximum(np.maximum(period & TIMER, 4 * (running & TIMER)), 1)
        speed = self._encoder[1] * 4.0 * self._clock / ticks
        return np.asarray(np.where(period & UPWARDS, speed, -speed) * moving)

    def potentiometers(self, samples: Samples) -> Array:
        """Actuator positions by the potentiometers."""
        bits = self._row(samples, "analog") >> 16
        positions = self._pot[0] + self._pot[1] * (self._voltage[0] + self._voltage[1] * bits)
        at = 0
        for robot in self.robots:
            n = len(robot.actuators)
            if robot.lookup is not None:
                positions[at : at + n] = robot.lookup[np.arange(n), bits[at : at + n]]
            at += n
        return np.asarray(self._coupling @ positions)

    @cached_property
    def _coupling(self) -> Array:
        return block_diag(*(robot.coupling for robot in self.robots))

    def currents(self, samples: Samples) -> Array:
        offset, scale = self._feedback[:, : self.n]
        return np.asarray(offset + scale * (self._row(samples, "analog") & 0xFFFF))

    @cached_property
    def _block(self) -> tuple[Array, Array, dict[int, slice]]:
        """A block of commands without values, the places of the drives in it, and the words of every board."""
        words: list[int] = []
        parts = {}
        for board in self.boards:
            n = self._client.kinds[board].motors
            parts[board] = slice(len(words) + 1, len(words) + 1 + n)
            words += [board << 8 | n + 2, *[0] * (n + 1)]
        places = np.array([parts[drive.board].start + drive.axis for drive in self._drives])
        return np.array(words, dtype=np.int64), places, parts

    def block(self, efforts: Array, brakes: Array | None = None, enable: bool = False) -> Array:
        """Words of a block write for efforts (n,) [N m, N] and for the currents of the brakes [A]."""
        words, places, _ = self._block
        currents = np.zeros(len(places))
        currents[: self.n] = efforts * self._per_effort
        if brakes is not None:
            currents[self.n :] = brakes
        bits = np.rint(self._command[0] + self._command[1] * currents)
        values = np.minimum(np.maximum(bits, 0.0), 65535.0).astype(np.int64)
        words = words.copy()
        words[places] = values | registers.VALID | (registers.ENABLE_MASK | registers.ENABLE if enable else 0)
        return words

    def words(self, efforts: Array, brakes: Array | None = None, enable: bool = False) -> dict[int, list[int]]:
        """As `block`, by board."""
        words = self.block(efforts, brakes, enable)
        return {board: words[part].tolist() for board, part in self._block[2].items()}

    def preload(self, positions: Array) -> None:
        """Set the encoders to actuator positions."""
        for actuator, position in zip(self._actuators, positions, strict=True):
            counts = round((position - actuator.encoder.offset) / actuator.encoder.scale) + MIDDLE
            address = 16 * (actuator.axis + 1) + PRELOAD
            self._client.write(self._client.nodes[actuator.board], address, counts & 0xFFFFFF)

    def power(self, on: bool) -> None:
        """Close the relays, and enable or disable the motor power."""
        for board in self.boards:
            value = registers.RELAY_MASK | registers.RELAY | registers.POWER_MASK | (registers.POWER if on else 0)
            self._client.write(self._client.nodes[board], STATUS, value)


def _scales(channels: Sequence[AmplifierChannel], key: str) -> Array:
    """Offsets and scales (2, k) of channels."""
    return np.array([(getattr(each, key).offset, getattr(each, key).scale) for each in channels]).reshape(-1, 2).T
