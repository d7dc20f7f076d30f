"""The controller that a client sees: boards on a FireWire bus, one of them on Ethernet, wired to the robot."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from trocar.spatial import Array
from trocar.transports.fpga import packets
from trocar.transports.fpga.edges import CLOCK
from trocar.transports.fpga.packets import BROADCAST, Request
from trocar.transports.fpga.registers import Boards

HUB_MEMORY, QUERY, COMMANDS = 0x1000, 0x1800, 0  # addresses of blocks
HUB_SIZE = 0x800  # [quadlets]
UPDATE_TIME, UPDATE_INTERVAL = 150, 500  # in which boards write to the hub's memory [1/49.152 MHz]
MAX_CATCH_UP = 50  # engine steps at once: 33 ms, after which the watchdog has stopped the motors


class Plant(Protocol):
    """Equipment connected to the boards: it reads their currents and sets their sensors, one step at a time."""

    period: float
    time: float

    @property
    def moving(self) -> bool: ...

    def step(self) -> None: ...

    def rest(self, until: float) -> None: ...


class _Selection(NamedTuple):
    """Boards in a query: their indices, the places of their blocks, headers without sequence number, and the timing at
    the end of the hub's memory.
    """

    boards: Any
    places: Array
    headers: Array
    timing: bytes


class BoardController:
    """Answers requests. The plant is stepped once for every command, or when a client reads without commanding.

    Args:
        boards: their registers. plant: the robot.
    """

    def __init__(self, boards: Boards, plant: Plant) -> None:
        self.boards, self.plant = boards, plant
        self._node_of_hub = 0
        self._sampled = np.zeros(len(boards.numbers))  # time of the last sample of each board [s]
        self._stale = True
        self._commanded: set[int] = set()  # nodes commanded one by one since the last step
        self._commanded_nodes = len(boards.numbers) + 1  # nodes that a client commands in a cycle
        self._memory = b""
        self._trailer = packets.extra(boards.generation)
        self._places = cache(boards.places)
        self._selected = cache(self._select)

    def answer(self, packet: bytes, now: float) -> bytes | None:
        """The reply to a packet that arrived at a time of the boards' clock [s]; None if there is none."""
        request = packets.parse(packet)
        if request is None:
            return None
        if request.forwarded and request.generation != self.boards.generation:
            # the bus was reset: the board on Ethernet drops what it would have to forward
            reads = request.code in (packets.QUADLET_READ, packets.BLOCK_READ)
            return packets.extra(self.boards.generation, packets.DROPPED) if reads else None
        if request.code == packets.QUADLET_READ:
            return self._read(request, now)
        if request.code == packets.BLOCK_READ:
            return self._read_block(request, now)
        if request.code == packets.QUADLET_WRITE:
            self._write(request, now)
        elif request.address == COMMANDS:
            self._command(request, now)
        return None

    def advance(self, now: float, commanded: bool = False) -> None:
        """Step the plant to a time [s], with slack against jitter: normally one step for every command."""
        plant = self.plant
        behind = (now - plant.time) / plant.period
        if commanded:
            steps = 1 if -0.4 < behind < 2.4 else max(0, round(behind))
        else:
            steps = round(behind) if behind > 3.0 else 0
        if not steps:
            return
        # a robot without current rests: time passes at once, and the client does not have to wait
        for _ in range(min(steps, MAX_CATCH_UP) if plant.moving else int(commanded)):
            plant.step()
            if not plant.moving:
                break
        if steps > MAX_CATCH_UP or not plant.moving:
            plant.rest(now)
            self.boards.settle(now)
        self._prepare()

    def idle(self, now: float) -> None:
        """Advance without a packet, if anything moves."""
        if self.plant.moving:
            self.advance(now)

    def _prepare(self) -> None:
        self.boards.prepare(self.plant.time)
        self._stale = False

    # -- requests ------------------------------------------------------------------------------------------------------

    def _targets(self, request: Request) -> tuple[int, ...]:
        """Boards that take a write."""
        nodes = len(self.boards.numbers)
        if request.node == BROADCAST:
            return tuple(range(nodes)) if request.forwarded else (self._node_of_hub,)
        return (request.node,) if request.node < nodes else ()

    def _source(self, request: Request) -> int | None:
        """The board that answers a read; a broadcast is answered by the board on Ethernet only."""
        if request.node == BROADCAST:
            return None if request.forwarded else self._node_of_hub
        return request.node if request.node < len(self.boards.numbers) else None

    def _write(self, request: Request, now: float) -> None:
        if request.address == QUERY:
            self._query(request.value, now)
            return
        self.advance(now)
        for board in self._targets(request):
            self.boards.write(board, request.address, request.value, self.plant.time)
        self._trailer = packets.extra(self.boards.generation)
        self._stale = True

    def _read(self, request: Request, now: float) -> bytes | None:
        board = self._source(request)
        if board is None:
            return None
        self.advance(now)
        value = self.boards.read(board, request.address, self.plant.time)
        return packets.quadlet_reply(request, board, value, self._trailer)

    def _command(self, request: Request, now: float) -> None:
        if request.node != BROADCAST and request.node >= len(self.boards.numbers):
            return
        node = None if request.node == BROADCAST else request.node
        self.boards.write_blocks(request.data, node, self.plant.time)
        self._stale = True
        if node is not None:  # one board after the other: the plant moves when all have their commands
            self._commanded.add(node)
            if len(self._commanded) < self._commanded_nodes:
                return
        self._commanded.clear()
        self.advance(now, commanded=True)

    def _read_block(self, request: Request, now: float) -> bytes | None:
        board, address = self._source(request), request.address
        if board is None:
            return None
        if address == COMMANDS:
            self._sample(now)
            elapsed = self._elapsed()[board]
            self._sampled[board] = self.plant.time
            self.boards.elapsed[board] = elapsed
            data = self.boards.content[self._places(board)[1:]].astype(">u4").tobytes()
        elif HUB_MEMORY <= address < HUB_MEMORY + HUB_SIZE:
            data = self._memory[4 * (address - HUB_MEMORY) :]
        else:
            self.advance(now)
            data = self.boards.memory(board, address, request.length)
        return packets.block_reply(request, board, data, self._trailer)

    def _sample(self, now: float) -> None:
        if self._commanded:  # the client commands fewer boards than before
            self._commanded_nodes = len(self._commanded)
            self._commanded.clear()
            self.advance(now, commanded=True)
        self.advance(now)
        if self._stale:
            self._prepare()

    def _elapsed(self) -> Array:
        return np.maximum((self.plant.time - self._sampled) * CLOCK - 1.0, 0.0)

    def _select(self, mask: int) -> _Selection:
        """Boards in a mask of board numbers."""
        kinds = self.boards.kinds
        chosen = [index for index, number in enumerate(self.boards.numbers) if mask >> number & 1]
        places = [self._places(board) for board in chosen]
        headers = [(kinds[board].block + 1) << 24 | UPDATE_TIME + UPDATE_INTERVAL * k for k, board in enumerate(chosen)]
        read = UPDATE_TIME + UPDATE_INTERVAL * len(chosen)
        return _Selection(
            boards=slice(None) if len(chosen) == len(kinds) else np.array(chosen, dtype=int),
            places=np.concatenate(places) if places else np.zeros(0, dtype=int),
            headers=np.array(headers, dtype=np.int64),
            timing=(read << 16 | read + UPDATE_INTERVAL).to_bytes(4, "big"),
        )

    def _query(self, value: int, now: float) -> None:
        """Let the boards in a mask write their blocks, with a sequence number, to the hub's memory."""
        self._sample(now)
        boards, selection = self.boards, self._selected(value & 0xFFFF)
        chosen = selection.boards
        boards.headers[chosen] = selection.headers | value & 0xFF0000
        boards.elapsed[chosen] = self._elapsed()[chosen]
        self._sampled[chosen] = self.plant.time
        self._memory = boards.content.take(selection.places).astype(">u4").tobytes() + selection.timing
