"""Registers of the dVRK's controller boards, as arrays over all boards and over all their channels.

Sources: jhu-cisst/mechatronics-firmware (BoardRegs-QLA, -DQLA, -DRAC, MotorChannelQLA, SafetyCheck) and AmpIO of
mechatronics-software. The boards report firmware 8 on an FPGA of version 2. A channel is one motor with its encoder and
potentiometer. Times are those of the boards' clock [s].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from trocar.spatial import Array
from trocar.transports.fpga.chip import MODEL, VERSION
from trocar.transports.fpga.edges import CLOCK, MIDDLE, EncoderTimers
from trocar.transports.fpga.outputs import DigitalOutputs

FIRMWARE = 8
FPGA_V2 = 0x80000000  # Ethernet status of an FPGA of version 2
ZERO_CURRENT = 0x8000  # of the nominal ADC and DAC
VOLTAGE_TIME = 0.1  # from the power-on command to a good motor voltage [s]: ASSUMED, the client allows 0.2 s
AMPLIFIER_TIME = 7680 * 256 / CLOCK  # from a good voltage to the first current: 40 ms
WATCHDOG = 0x1680  # period after power-up: 30 ms
WATCHDOG_UNIT = 256 / CLOCK  # [s]
# Check of the current in the FPGA: a motor is switched off if its measured current [bits] is above the least and has
# differed from the command by more than the tolerance for a time.
MAX_CURRENT_ERROR, MIN_CHECKED_CURRENT, MAX_ERROR_TIME = 0x900, 786, 0.05
TEMPERATURE = 60 << 8 | 60  # of both sensors, in half degrees
# Chip of an instrument: time to read a block, and status while it is read. The status of the idle interface: enabled
# (bit 0), presence pulse 1 or none 3 (bits 2-1), family of the chip (bits 31-24; the DS2505's is 0x0B).
DALLAS_TIME, DALLAS_BLOCK_TIME, DALLAS_BLOCK = 0.3, 0.04, 256  # first block [s], further ones [s], size [bytes]
DALLAS_BUSY, DALLAS_READ, DALLAS_ABSENT = 0x2000, 0x0B000003, 0x00000007
PHY_REPLY = 0x0107  # register 1 of the FireWire link: gap count 7, not the 63 of a bus that was just reset
HIGH_INPUTS = 0x0FFF  # digital inputs of a QLA, nothing pressed

STATUS, PHY_REQUEST, PHY_DATA, WATCHDOG_PERIOD, HARDWARE, TEMPERATURES, OUTPUTS, FIRMWARE_VERSION = range(8)
PROM_STATUS, PROM_RESULT, INPUTS, IP_ADDRESS, ETHERNET, DALLAS, EXPANDER, DESCRIPTION = range(8, 16)
POT_AND_CURRENT, DAC, PRELOAD, POSITION, PERIOD, QUARTER, OUTPUT_TIME, OLD_QUARTER, RUNNING, SETTINGS, MOTOR = (
    *(0, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12),
)
PROM_DATA, BOARD_PROM, DALLAS_DATA = 0x2000, 0x3000, 0x6000
RELAY_MASK, RELAY, POWER_MASK, POWER = 1 << 17, 1 << 16, 1 << 19, 1 << 18
REBOOT_MASK, REBOOT = 1 << 21, 1 << 20
VALID, ENABLE_MASK, ENABLE, MODE = 1 << 31, 1 << 29, 1 << 28, 0x0F000000
CURRENT_CONTROL = 1 << 20  # the amplifier's mode, in the motor status
BOARD_ROWS, CHANNEL_ROWS = 5, 7
# dRAC: address of a word in the flash of the arm, and the word; model and version of the instrument; status bits
FLASH_ADDRESS, FLASH_WORD, INSTRUMENT_MODEL, INSTRUMENT_VERSION, CURRENT_LOOP = 0xA002, 0xA031, 0xB012, 0xB013, 9
NO_INSTRUMENT = 255  # version
PRELOADED, DRAC_ANSWERS = 8, 7
_A, _B = 1 << 24, 1 << 20  # lines of the first encoder, in the digital inputs of a QLA
_LINES = np.array([_A, _A | _B, _B, 0])  # by the last two bits of the count


@dataclass(frozen=True)
class BoardKind:
    """A board: its name in IO files, its hardware register and its numbers of motors and encoders."""

    name: str
    code: int
    motors: int
    encoders: int
    clock: float = CLOCK  # of the encoders' timers [Hz]

    @property
    def block(self) -> int:
        """Length of its real-time block [quadlets]."""
        return 4 + 2 * self.motors + 5 * self.encoders


QLA, DQLA = BoardKind("QLA1", 0x514C4131, 4, 4), BoardKind("DQLA", 0x44514C41, 8, 8)
DRAC = BoardKind("dRA1", 0x64524131, 10, 7, 80e6)  # of the dVRK-Si: seven motors and three brakes
KINDS = {kind.name: kind for kind in (QLA, DQLA, DRAC)}


class _Layout(NamedTuple):
    """Blocks in a packet of commands, as places of words: of all headers (with their values) and, of those blocks that
    are executed, board, channels, command words and control words.
    """

    headers: Array
    expected: bytes
    boards: Array
    channels: Array
    commands: Array
    controls: Array


class Boards:
    """Registers of boards with numbers 0 to 15; their nodes on the FireWire bus are 0, 1, ... in the same order.

    Attributes:
        numbers, kinds: of the boards, in the order of their nodes. first: first channel of each board.
        generation: of the FireWire bus, which a reboot of a board increments.
        relay, power, timeout: (B,) relay closed, motor power enabled, watchdog timed out.
        enabled, tripped, on: (M,) amplifier enabled, switched off by the check of its current, delivering current.
        powered: an amplifier is on.
        dac: (M,) commanded currents [bits]. analog: (2, M) readings of the ADCs [bits], rows `pots` and `currents`.
        outputs: digital outputs.
        timers: encoders of all channels.
        chips: memory of the instruments' chips, by board number. serials: text in the flash of the arms at dRACs.
        content: what the real-time blocks report; `places` are those of a board. headers, elapsed: (B,) parts of it.
    """

    def __init__(self, kinds: Mapping[int, BoardKind]) -> None:
        self.numbers = sorted(kinds)
        self.kinds = [kinds[number] for number in self.numbers]
        motors = [kind.motors for kind in self.kinds]
        self.first = np.concatenate([[0], np.cumsum(motors)[:-1]]).astype(int)
        self.board_of = np.repeat(np.arange(len(motors)), motors)
        B, M = len(motors), sum(motors)
        self._index = {number: index for index, number in enumerate(self.numbers)}
        self.generation = 1
        self.relay, self.power, self.timeout = (np.zeros(B, dtype=bool) for _ in range(3))
        self.good, self.stopped = np.zeros(B, dtype=bool), np.zeros(B, dtype=bool)
        self._period = np.full(B, WATCHDOG)
        self._written = np.zeros(B)
        self._good_at = np.full(B, np.inf)
        self.outputs = DigitalOutputs(self.first, M)
        self.enabled, self.tripped, self.on = (np.zeros(M, dtype=bool) for _ in range(3))
        self.dac, self.analog = np.full(M, ZERO_CURRENT), np.full((2, M), ZERO_CURRENT)
        self.pots, self.currents = self.analog
        self._preload = np.full(M, MIDDLE)
        self._settings = np.full(M, 0x01000418)
        self._suspicious = False  # a measured current is wrong
        self._max_error = np.full(M, MAX_CURRENT_ERROR)
        self._wrong_since = np.full(M, np.inf)  # time since when a measured current is wrong
        self.clocks = np.repeat([kind.clock for kind in self.kinds], motors)
        self.timers = EncoderTimers(np.zeros(M), self.clocks)
        self._ip = 0
        self._proms = [b""] * B
        self._prom_results = [0] * B
        self._dallas_until, self._dallas_address = np.zeros(B), [0] * B
        self.serials: dict[int, str] = {}
        self._flash_address, self._loops = [0] * B, dict[tuple[int, int], int]()
        self.chips: dict[int, bytes] = {}
        self._layouts: dict[tuple[int, int | None], _Layout] = {}
        self._qla = np.array([kind.motors == QLA.motors for kind in self.kinds])
        self._drac = np.array([kind is DRAC for kind in self.kinds])
        self._dqla = ~(self._qla | self._drac)
        self._inputs = np.select([self._qla, self._dqla], [HIGH_INPUTS, HIGH_INPUTS << 16 | HIGH_INPUTS])
        self._preloaded = np.zeros(B, dtype=bool)
        self._max_error[self._drac[self.board_of]] = 1 << 16  # the check of a dRAC is not published
        identity = [kind.motors << 28 | number << 24 for kind, number in zip(self.kinds, self.numbers, strict=True)]
        # QLA: output configuration known; dRAC: the electronics in the arm are powered and answer
        known = np.select([self._qla, self._dqla], [1 << 21, 0x3C00], DRAC_ANSWERS)
        self._identity = np.array(identity) | known
        axis = np.arange(M) - self.first[self.board_of]
        self._bit = np.where(self._qla[self.board_of], 1 << axis, 0)
        self._switch_levels()
        # content of the real-time blocks: rows of the boards, then rows of the channels
        self.content = np.zeros(BOARD_ROWS * B + CHANNEL_ROWS * M, dtype=np.int64)
        self.headers, self.elapsed, self._status_row, self._digital_row, temperatures = self.content[
            : BOARD_ROWS * B
        ].reshape(BOARD_ROWS, B)
        self._channel_rows = self.content[BOARD_ROWS * B :].reshape(CHANNEL_ROWS, M)
        temperatures[:] = TEMPERATURE
        self._changed, self._next_event = True, 0.0
        self.settle(0.0)

    def index(self, number: int) -> int | None:
        """Index of the board with this number; None if there is none."""
        return self._index.get(number)

    # -- power ---------------------------------------------------------------------------------------------------------

    def settle(self, now: float) -> None:
        """Bring watchdogs, motor voltage, amplifiers and pulses of the outputs to this time."""
        if self.outputs.next_end <= now:
            self.outputs.settle(now)
            self._switch_levels()
        if now < self._next_event and not self._changed:
            return
        expired = (self._period > 0) & (now - self._written > self._period * WATCHDOG_UNIT) & ~self.timeout
        if np.count_nonzero(expired):
            self.timeout |= expired
            self.enabled &= ~expired[self.board_of]
        self.good = now >= self._good_at
        ready = now >= self._good_at + AMPLIFIER_TIME
        ready &= self._preloaded | ~self._drac
        self.on = self.enabled & ready[self.board_of] & ~self.tripped
        self.powered = bool(self.on.any())
        self._status_row[:] = self._statuses()
        self._motor_bits = self.on * (1 << 29) | self.enabled * (1 << 28) | self.tripped * (1 << 17) | CURRENT_CONTROL
        # commands only postpone the watchdogs, so that nothing changes by itself before this time
        watchdogs = self._written + np.where(self._period > 0, self._period * WATCHDOG_UNIT, np.inf)
        events = np.concatenate([self._good_at, self._good_at + AMPLIFIER_TIME, watchdogs[~self.timeout]])
        self._next_event, self._changed = events[events >= now].min(initial=np.inf), False

    def check_currents(self, now: float) -> None:
        """Switch off motors whose measured current has been wrong for 50 ms."""
        far = np.abs(self.currents - self.dac) > self._max_error
        if not (self._suspicious or np.count_nonzero(far)):
            return
        wrong = far & (np.abs(self.currents - ZERO_CURRENT) > MIN_CHECKED_CURRENT)
        self._suspicious = bool(wrong.any())
        self._wrong_since = np.where(wrong, np.minimum(self._wrong_since, now), np.inf)
        self.tripped |= now - self._wrong_since > MAX_ERROR_TIME
        self._changed = True

    def stop(self, stopped: bool, now: float) -> None:
        """Press or release the emergency stop: it removes the motor voltage of all boards."""
        self.stopped[:] = stopped
        self._changed = True
        self._good_at = np.where(self.power & ~self.stopped, now + VOLTAGE_TIME, np.inf)
        self.settle(now)

    def _control(self, board: int, value: int, now: float) -> None:
        """Write of the status register."""
        self._changed = True
        if value & RELAY_MASK:
            self.relay[board] = bool(value & RELAY)
        part = self._part(board)
        if value & POWER_MASK:
            on = bool(value & POWER)
            if on:
                self.timeout[board] = False
                self.tripped[part] = False
                if not self.power[board] and not self.stopped[board]:
                    self._good_at[board] = now + VOLTAGE_TIME
            else:
                self._good_at[board] = np.inf
                self.enabled[part] = False
            self.power[board] = on
        if self._qla[board] and value & 0xF00:
            for axis in range(QLA.motors):
                if value & 0x100 << axis:
                    self._enable(part.start + axis, bool(value & 1 << axis))

    def _enable(self, channel: int, on: bool) -> None:
        board = self.board_of[channel]
        self._changed = True
        if on:
            self.timeout[board] = self.tripped[channel] = False
        self.enabled[channel] = on and self.power[board]

    def _part(self, board: int) -> slice:
        first = int(self.first[board])
        return slice(first, first + self.kinds[board].motors)

    def reboot(self, board: int, now: float) -> None:
        """State after power-up; the FireWire bus is reset."""
        part = self._part(board)
        self._changed = True
        self.relay[board] = self.power[board] = self.timeout[board] = False
        self._period[board], self._written[board], self._good_at[board] = WATCHDOG, now, np.inf
        self.enabled[part] = self.tripped[part] = False
        self.dac[part], self._preload[part] = ZERO_CURRENT, MIDDLE
        self.outputs.reset(board)
        self._switch_levels()
        self._preloaded[board] = False
        for channel in range(part.start, part.stop):
            self.timers.preload(channel, MIDDLE)
        self.generation = self.generation % 255 + 1

    # -- single registers ----------------------------------------------------------------------------------------------

    def write(self, board: int, address: int, value: int, now: float) -> None:
        """Write a register; unknown ones are ignored."""
        self._written[board] = now
        channel, register = (address >> 4) - 1, address & 15
        if address == STATUS:
            self._control(board, value, now)
            if value & REBOOT_MASK and value & REBOOT:
                self.reboot(board, now)
        elif address == WATCHDOG_PERIOD:
            self._period[board] = value & 0xFFFF
            self._changed = True
        elif address == OUTPUTS:
            self.outputs.write(board, value >> 8 & 0xFF, value & 0xFF, now)
            self._switch_levels()
        elif address == PROM_STATUS:
            self._proms[board] = (b"FPGA 0000-%02d" % self.numbers[board]).ljust(16, b"\xff")
            self._prom_results[board] = 64
        elif address == IP_ADDRESS:
            self._ip = value
        elif address == DALLAS and value & 2:
            further = value & 1  # continue after the last block
            self._dallas_until[board] = now + (DALLAS_BLOCK_TIME if further else DALLAS_TIME)
            self._dallas_address[board] = self._dallas_address[board] + DALLAS_BLOCK if further else value >> 16
        elif address & 0xFF0F == BOARD_PROM:
            self._proms[board] = b"QLA 0000-%02d\0" % self.numbers[board]
        elif address == FLASH_ADDRESS:
            self._flash_address[board] = value & 0xFFFFFF
        elif address >> 12 == CURRENT_LOOP:
            self._loops[board, address] = value
        elif 0 <= channel < self.kinds[board].motors:
            if register == OUTPUT_TIME:
                self.outputs.set_times(board, channel, value, now)
            else:
                self._write_channel(int(self.first[board]) + channel, register, value)
        self.settle(now)

    def _write_channel(self, channel: int, register: int, value: int) -> None:
        if register == DAC:
            self._command(channel, value)
        elif register == PRELOAD:
            self._preload[channel] = value & 0xFFFFFF
            self._preloaded[self.board_of[channel]] = self._changed = True
            self.timers.preload(channel, value & 0xFFFFFF)
        elif register == SETTINGS:
            self._settings[channel] = value

    def _command(self, channel: int, value: int) -> None:
        if value & ENABLE_MASK:
            self._enable(channel, bool(value & ENABLE))
        if value & VALID and not value & MODE:  # only current control
            self.dac[channel] = value & 0xFFFF

    def read(self, board: int, address: int, now: float) -> int:
        """Value of a register; 0 for unknown ones."""
        channel = (address >> 4) - 1
        if 0 <= channel < self.kinds[board].motors:
            return self._read_channel(int(self.first[board]) + channel, address & 15, now)
        simple: dict[int, Any] = {
            PHY_DATA: PHY_REPLY,
            WATCHDOG_PERIOD: self._period[board],
            HARDWARE: self.kinds[board].code,
            TEMPERATURES: TEMPERATURE,
            OUTPUTS: self.outputs.levels[board],
            FIRMWARE_VERSION: FIRMWARE,
            PROM_RESULT: self._prom_results[board],
            IP_ADDRESS: self._ip,
            ETHERNET: FPGA_V2,
            DALLAS: self._dallas_status(board, now),
        }
        if self._drac[board] and address >> 12:
            return self._read_arm(board, address)
        if address == STATUS:
            self.settle(now)
            return int(self._status_row[board])
        if address == INPUTS:
            return int(self._digital()[board])
        return int(simple.get(address, 0))

    def _dallas_status(self, board: int, now: float) -> int:
        if now < self._dallas_until[board]:
            return DALLAS_BUSY
        if not self._dallas_until[board]:  # nothing was read since power-up
            return 0
        return DALLAS_READ if self.chips.get(self.numbers[board]) else DALLAS_ABSENT

    def _read_arm(self, board: int, address: int) -> int:
        """Registers of the electronics in an arm of the dVRK-Si: flash and instrument; settings of current loops."""
        if address == FLASH_WORD:
            text, start = self.serials.get(self.numbers[board], "").encode(), 2 * self._flash_address[board]
            return int.from_bytes(text[start : start + 2], "little")
        chip = self.chips.get(self.numbers[board])
        if address == INSTRUMENT_MODEL:
            return int.from_bytes(chip[MODEL : MODEL + 4], "little") if chip else 0
        if address == INSTRUMENT_VERSION:
            return chip[VERSION] if chip else NO_INSTRUMENT
        return self._loops.get((board, address), 0)

    def _read_channel(self, channel: int, register: int, now: float) -> int:
        timers = self.timers
        match register:
            case 0:
                return int(self.pots[channel] << 16 | self.currents[channel])
            case 1:
                return int(self.dac[channel])
            case 4:
                return int(self._preload[channel])
            case 5:
                return int(timers.positions[channel])
            case 6 | 7 | 9 | 10:
                timers.run(now)
                return int(timers.fields[{6: 0, 7: 1, 9: 2, 10: 3}[register], channel])
            case 8:
                return int(self.outputs.times[channel])
            case 11:
                return int(self._settings[channel])
            case 12:
                self.settle(now)
                return int(self._motor_bits[channel] | self.dac[channel])
        return 0

    def memory(self, board: int, address: int, length: int) -> bytes:
        """Data of a block read outside the real-time block; empty for unknown memories."""
        if address == DALLAS_DATA:
            start = self._dallas_address[board]
            return self.chips.get(self.numbers[board], b"")[start : start + length]
        if address == PROM_DATA or address & 0xFF0F == BOARD_PROM | 0x100:
            return self._proms[board]
        return b""

    # -- blocks --------------------------------------------------------------------------------------------------------

    def write_blocks(self, data: bytes, node: int | None, now: float) -> None:
        """Write the blocks of commands in a packet: to all boards, or to one node.

        A block has a header (board number and length), a word for each motor and a control word. Blocks for other
        boards, or of another length than the firmware's, are skipped.
        """
        words = np.frombuffer(data, dtype=">u4").astype(np.int64)
        layout = self._layouts.get((len(words), node))
        if layout is None or words.take(layout.headers).tobytes() != layout.expected:
            layout = self._layouts[len(words), node] = self._layout(words, node)
        if len(layout.boards):
            self._apply(words, layout, now)

    def _layout(self, words: Array, node: int | None) -> _Layout:
        """Places of the blocks in a packet."""
        headers, blocks, at = [], [], 0
        while at < len(words):
            length, board = int(words[at]) & 0xFF, self._index.get(int(words[at]) >> 8 & 15)
            headers.append(at)
            if not length:
                break
            if board is not None and node in (None, board) and length == self.kinds[board].motors + 2:
                if at + length > len(words):
                    break
                blocks.append((at, board))
            at += length
        parts = [self._part(board) for _, board in blocks]
        sizes = [part.stop - part.start for part in parts]
        starts = [at + 1 for at, _ in blocks]
        return _Layout(
            headers=np.array(headers, dtype=int),
            expected=words[headers].tobytes(),
            boards=np.array([board for _, board in blocks], dtype=int),
            channels=np.concatenate([[], *(np.arange(part.start, part.stop) for part in parts)]).astype(int),
            commands=np.concatenate([[], *(np.arange(a, a + n) for a, n in zip(starts, sizes, strict=True))]).astype(
                int
            ),
            controls=np.array(starts, dtype=int) + np.array(sizes, dtype=int),
        )

    def _apply(self, words: Array, layout: _Layout, now: float) -> None:
        channels, boards = layout.channels, layout.boards
        self._written[boards] = now
        commands = words.take(layout.commands)
        plain = (commands & (VALID | MODE)) == VALID
        if np.count_nonzero(plain) == len(channels):
            self.dac[channels] = commands & 0xFFFF
        else:
            self.dac[channels[plain]] = commands[plain] & 0xFFFF
        switched = commands & ENABLE_MASK
        if np.count_nonzero(switched):
            for k in np.flatnonzero(switched).tolist():
                self._enable(int(channels[k]), bool(commands[k] & ENABLE))
        control = words.take(layout.controls) & 0xFFFFF
        if np.count_nonzero(control):
            for board, value in zip(boards.tolist(), control.tolist(), strict=True):
                if value:
                    self._control(board, value, now)

    def prepare(self, now: float) -> None:
        """Write the content of all real-time blocks, except for headers and times since the last sample."""
        channels, timers = self._channel_rows, self.timers
        self.settle(now)
        self._digital_row[:] = self._digital()
        timers.run(now)
        np.left_shift(self.pots, 16, out=channels[0])
        channels[0] |= self.currents
        channels[1] = timers.positions
        channels[2:6] = timers.fields
        np.bitwise_or(self._motor_bits, self.dac, out=channels[6])

    def places(self, board: int) -> Array:
        """Places of a board's header and real-time block in `content`."""
        B, part = len(self.numbers), self._part(board)
        M = len(self.board_of)
        general = board + B * np.arange(BOARD_ROWS)
        encoders = part.start + self.kinds[board].encoders
        ends = [part.stop, *[encoders] * (CHANNEL_ROWS - 2), part.stop]
        return np.concatenate(
            [general, *(BOARD_ROWS * B + M * row + np.arange(part.start, end) for row, end in enumerate(ends))]
        )

    def _statuses(self) -> Array:
        amplifiers = self._bit * (self.on * 0x100 + self.tripped * 0x10 + self.enabled)
        status = self._identity | np.add.reduceat(amplifiers, self.first)
        status |= self.timeout * (1 << 23) | self.power * (1 << 18) | self.relay * (1 << 16)
        # a DQLA reports the voltage of each of its two QLAs, the others the contact of their relay
        status |= self.good * (1 << 19) | np.where(self._dqla, self.good * 0xC000, self.relay * (1 << 17))
        return status | (self._drac & self._preloaded) * PRELOADED

    def set_input(self, board: int, bit: int, high: bool) -> None:
        """Set the level of a digital input."""
        level = 1 << bit
        self._inputs[board] = self._inputs[board] | level if high else self._inputs[board] & ~level
        self._switch_levels()

    def _switch_levels(self) -> None:
        """Part of the digital inputs that switches and outputs determine."""
        outputs = self.outputs.levels
        one = (self._inputs & 0xF0FFF) | (outputs & 0xF) << 12
        two = self._inputs | (outputs & 0xF) << 12 | (outputs & 0xF0) << 24
        self._levels = np.select([self._qla, self._dqla], [one, two], self._inputs)

    def _digital(self) -> Array:
        """Digital inputs; a QLA also reports the lines of its encoders."""
        lines = _LINES.take(self.timers.count & 3)
        lines *= self._bit
        return np.asarray(self._levels + np.add.reduceat(lines, self.first))
