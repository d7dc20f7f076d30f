"""The controller boards: packets, registers, power, watchdog, encoders. Time is simulated."""

from __future__ import annotations

import gc
import socket
import struct
import threading
from contextlib import closing

import numpy as np
import pytest

import trocar as tr
from tests.support.board_rig import ALL, PERIOD, BoardRig, dvrk_psm, loaded, qlacommand
from tests.support.waiting import TIMEOUT, until
from tools.boards import requests
from tools.boards.client import BoardClient, UdpExchange
from trocar.errors import TrocarError
from trocar.transports.fpga import packets, registers
from trocar.transports.fpga.bedside import Bedside
from trocar.transports.fpga.clock import BoardClock
from trocar.transports.fpga.edges import (
    CHANNEL_A,
    CHANNEL_B,
    CLOCK,
    MIDDLE,
    OVERFLOW,
    TIMER,
    TURNED,
    UPWARDS,
    EncoderTimers,
)
from trocar.transports.fpga.plant import RobotPlant
from trocar.transports.fpga.registers import DQLA, QLA, Boards
from trocar.transports.fpga.server import BoardServer
from trocar.transports.fpga.watch import BoardWatch

POWER_ON, RELAYS = 0xC0000, 0x30000


@pytest.fixture
def rig():
    return BoardRig("PSM1")


@pytest.fixture
def powered(rig):
    """Boards 6 and 7 with all amplifiers on and no current."""
    rig.client.scan()
    rig.client.write(ALL, 0, RELAYS | POWER_ON)
    cycles(rig, 300, enable=True)
    return rig


def cycles(rig, n, dac=0x8000, enable=False):
    word = 0x80000000 | dac | (0x30000000 if enable else 0)
    for _ in range(n):
        rig.command({6: [word] * 4, 7: [word] * 4})


def test_boards_refuse_an_arm_whose_controller_compensates_its_wrist():
    scene = tr.load_scene("dvrk", arms=["PSM1"], arm_options={"PSM1": {"compensation": "cables"}})
    with pytest.raises(TrocarError, match="drives the boards is the controller"):
        RobotPlant(scene, BoardRig("PSM1").configuration)


# -- packets -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("session", [qlacommand, dvrk_psm])
def test_the_requests_of_the_dvrks_programs_get_the_replies_of_the_tables(rig, session):
    for number, (request, expected) in enumerate(session()):
        reply = rig.send(request)
        rig.wait(1e-3)
        if expected is ...:
            assert reply is not None, number
        else:
            assert reply == expected, (number, request.hex())


def test_both_sessions_have_133_requests():
    assert len(qlacommand()) == 34
    assert len(dvrk_psm()) == 99


def test_a_reply_has_the_label_and_node_of_its_request(rig):
    for label in (0, 17, 63):
        reply = rig.send(requests.quadlet_read(1, 4, label=label))
        assert len(reply) == 28
        assert reply[2] >> 2 == label
        assert reply[4:6] == bytes([0xFF, 0xC1])
        assert reply[3] >> 4 == packets.QUADLET_REPLY


def test_unknown_nodes_and_broadcast_reads_get_no_reply(rig):
    for node in (2, 5, 62, ALL):
        assert rig.send(requests.quadlet_read(node, 4)) is None
        assert rig.send(requests.block_read(node, 0, 128)) is None
    assert rig.send(requests.quadlet_read(ALL, 4, flags=1)) is not None


def test_unknown_registers_read_zero_and_ignore_writes(rig):
    def state():  # without the time since the last reading
        return [rig.send(requests.block_read(node, 0, 112))[24:] for node in (0, 1)]

    before = state()
    for address in (0x00F0, 0x0ABC, 0x5000, 0x8123, 0xF00D):
        rig.send(requests.quadlet_write(0, address, 0xFFFFFFFF))
        reply = rig.send(requests.quadlet_read(0, address))
        assert int.from_bytes(reply[12:16], "big") == 0, hex(address)
        assert rig.send(requests.block_read(0, address, 16))[20:36] == bytes(16), hex(address)
    assert state() == before


@pytest.mark.parametrize(
    "packet",
    [
        b"",
        b"\0" * 18,
        requests.quadlet_read(0, 4)[:-1],
        requests.quadlet_read(0, 4) + b"\0",
        requests.block_write(0, 0, b"\0" * 24)[:-4],
        requests.block_read(0, 0, 6),
        requests.block_read(0, 0, 0),
        b"\0" * 5000,
    ],
)
def test_packets_of_a_wrong_length_are_ignored(rig, packet):
    assert rig.send(packet) is None


def test_a_block_read_has_the_requested_length_whatever_the_firmware_of_the_client(rig):
    for quadlets in (20, 28, 32, 40):  # firmware up to 6, 7, 8; too much
        reply = rig.send(requests.block_read(0, 0, 4 * quadlets))
        assert len(reply) == 32 + 4 * quadlets
    assert reply[20 + 4 * 32 : -12] == bytes(32)


def test_a_command_of_firmware_7_without_header_moves_nothing(powered):
    before = powered.boards.dac.copy()
    powered.send(requests.block_write(0, 0, np.array([0x80009000] * 4 + [0], dtype=">u4").tobytes()))
    np.testing.assert_array_equal(powered.boards.dac, before)


def test_hub_memory_has_length_sequence_and_ascending_boards(rig):
    for sequence in (1, 255, 256, 0xABCD):
        for mask, boards in ((0xC0, (6, 7)), (0x80, (7,)), (0x40, (6,)), (0xFFFF, (6, 7)), (0x1, ())):
            rig.send(requests.quadlet_write(ALL, 0x1800, sequence << 16 | mask))
            size = 33 * len(boards) + 1
            reply = rig.send(requests.block_read(0, 0x1000, 4 * size))
            words = np.frombuffer(reply, ">u4", size, 20)
            for k, board in enumerate(boards):
                assert words[33 * k] >> 24 == 33
                assert words[33 * k] >> 16 & 0xFF == sequence & 0xFF
                assert not words[33 * k] & 0x8000
                assert words[33 * k + 2] >> 24 & 15 == board
            assert words[-1] != 0


def test_a_block_of_a_board_is_the_same_by_all_protocols(powered):
    cycles(powered, 5, dac=0x8100)
    powered.send(requests.quadlet_write(ALL, 0x1800, 1 << 16 | 0xC0))
    hub = np.frombuffer(powered.send(requests.block_read(0, 0x1000, 4 * 67)), ">u4", 67, 20)
    for node in (0, 1):
        own = np.frombuffer(powered.send(requests.block_read(node, 0, 128)), ">u4", 32, 20)
        np.testing.assert_array_equal(own[1:], hub[33 * node + 2 : 33 * node + 33])


def test_commands_to_one_node_act_like_broadcast_ones(powered):
    words = np.array([7 << 8 | 6, *[0x80008123] * 4, 0], dtype=">u4").tobytes()
    powered.send(requests.block_write(0, 0, words))  # the header names another board
    assert (powered.boards.dac == 0x8000).all()
    powered.send(requests.block_write(1, 0, words))
    assert powered.boards.dac.tolist() == [0x8000] * 4 + [0x8123] * 4


def test_a_bus_reset_drops_requests_of_the_old_generation(rig):
    rig.send(requests.quadlet_write(1, 0, 0x300000))  # reboot
    dropped = rig.send(requests.quadlet_read(0, 4))
    assert len(dropped) == 8
    assert dropped[0] == packets.DROPPED
    assert dropped[1] == 2
    assert rig.send(requests.quadlet_read(0, 4, generation=2)) is not None


# -- power -------------------------------------------------------------------------------------------------------------


def test_power_voltage_and_amplifiers_follow_in_time(rig):
    rig.client.scan()
    enable = {6: [0xB0008000] * 4}
    rig.command(enable)
    assert rig.status() & 0xF == 0  # without power no amplifier can be enabled
    rig.client.write(0, 0, RELAYS | POWER_ON)
    start = rig.plant.time
    seen = {}
    for _ in range(400):
        rig.command(enable)
        status = rig.status()
        for name, bit in (("power", 18), ("good", 19), ("on", 8), ("relay", 17)):
            if status >> bit & 1:
                seen.setdefault(name, rig.plant.time - start)
    assert seen["power"] <= 2 * PERIOD
    assert seen["relay"] <= 2 * PERIOD
    assert 0.0 < seen["good"] < 0.2  # the client's limit
    assert seen["on"] - seen["good"] == pytest.approx(0.040, abs=2 * PERIOD)
    rig.client.write(0, 0, 0x80000)
    assert rig.status() & 0xC0F0F == 0


def test_the_watchdog_acts_after_30_ms_and_is_cleared_by_enabling(powered):
    assert powered.status() & 1 << 23 == 0
    powered.wait(0.029)
    assert powered.status() & 0xF == 0xF
    powered.wait(0.003)
    status = powered.status()
    assert status >> 23 & 1
    assert status & 0xF0F == 0
    powered.command({6: [0xB0008000] * 4})
    assert powered.status() & 1 << 23 == 0
    assert powered.status() & 0xF == 0xF


def test_the_period_of_the_watchdog_can_be_set_or_zero(powered):
    powered.client.write(0, 3, 0)
    powered.client.write(1, 3, 19200)  # 100 ms
    assert powered.client.read(1, 3) == 19200
    powered.wait(0.09)
    assert powered.status(1) & 1 << 23 == 0
    powered.wait(0.02)
    assert powered.status(1) & 1 << 23
    powered.wait(5.0)
    assert powered.status(0) & 1 << 23 == 0


def test_an_emergency_stop_removes_the_voltage_and_keeps_the_enables(powered):
    powered.boards.stop(True, powered.plant.time)
    cycles(powered, 2)
    status = powered.status()
    assert status & 0xC0F0F == 0x4000F  # power still commanded, voltage gone, no amplifier on
    powered.boards.stop(False, powered.plant.time)
    cycles(powered, 300)
    assert powered.status() & 0xC0F0F == 0xC0F0F


def test_a_wrong_current_switches_its_amplifier_off_after_50_ms(powered):
    powered.plant.failed[6, 2] = 1.0
    start, trip = powered.plant.time, None
    for _ in range(200):
        cycles(powered, 1)
        if trip is None and powered.status() & 0x40:
            trip = powered.plant.time - start
    assert trip == pytest.approx(0.05, abs=3 * PERIOD)
    assert powered.status() & 0xF00 == 0xB00
    assert powered.client.read(0, 0x3C) >> 17 & 1
    powered.plant.failed.clear()
    cycles(powered, 2)
    cycles(powered, 2, enable=True)
    assert powered.status() & 0xFF0 == 0xF00


def test_dqla_reports_eight_channels_and_the_voltage_of_both_halves():
    rig = BoardRig("PSM1", hardware="DQLA")
    assert rig.client.scan() == {6: 0}
    assert rig.status() >> 28 == 8
    rig.client.write(0, 0, RELAYS | POWER_ON)
    for _ in range(300):
        rig.command({6: [0xB0008000] * 8})
    status = rig.status()
    assert status & 0xDC000 == 0xDC000
    assert status & 0x20000 == 0  # no feedback of the relay
    sample = rig.client.sample()[6]
    assert (sample.motors >> 28 & 3 == 3).tolist() == [True] * 8
    rig.plant.press("PSM1_tool", False)
    assert rig.client.read(0, 10) >> 23 & 1
    rig.plant.press("PSM1_tool")
    assert not rig.client.read(0, 10) >> 23 & 1


def test_a_reboot_loses_the_preload_and_a_restart_of_the_client_does_not(powered):
    powered.client.write(0, 0x14, 0x812345)
    again = BoardClient(lambda request, _: powered.send(request))
    again.scan()
    assert again.read(0, 0x15) & 0xFFFFFF == pytest.approx(0x812345, abs=2)
    again.write(0, 0, 0x300000)
    again = BoardClient(lambda request, _: powered.send(request))
    again.scan()
    assert again.read(0, 0x15) & 0xFFFFFF == pytest.approx(MIDDLE, abs=2)


def test_settings_outputs_and_output_timers_are_kept(rig):
    rig.client.scan()
    for address, value in ((0x1B, 0x02000318), (0x28, 0x12345678)):
        rig.client.write(0, address, value)
        assert rig.client.read(0, address) == value
    rig.client.write(0, 6, 0x305)
    assert rig.client.read(0, 6) == 1
    assert rig.client.read(0, 10) >> 12 & 15 == 1


# -- encoders ----------------------------------------------------------------------------------------------------------


def test_velocity_from_periods_is_the_true_one_within_one_tick():
    rng = np.random.default_rng(1)
    rates = np.concatenate([rng.uniform(-2e5, 2e5, 50), rng.uniform(-300.0, 300.0, 50)])  # [counts/s]
    timers = EncoderTimers(rng.uniform(-1e3, 1e3, 100))
    position = timers.position.copy()
    for k in range(1500):
        position = position + rates * PERIOD
        timers.move(position, k * PERIOD, (k + 1) * PERIOD)
    period = timers.fields[0]
    enough = np.abs(rates) > 10.0
    ticks = 4.0 * CLOCK / np.abs(rates)
    assert (((period & UPWARDS) != 0) == (rates > 0))[enough].all()
    assert (np.abs((period & TIMER) - ticks) <= np.maximum(5.0, 1e-6 * ticks))[enough].all()
    assert ((period & (TURNED | OVERFLOW)) == 0)[enough].all()


def test_counters_count_edges_whatever_the_motion():
    rng = np.random.default_rng(2)
    timers = EncoderTimers(np.zeros(20))
    position = np.zeros(20)
    for k in range(500):
        position = position + rng.normal(0.0, 10.0 ** rng.uniform(-2, 3), 20)
        timers.move(position, k * PERIOD, (k + 1) * PERIOD)
        counter = (timers.positions & 0xFFFFFF) - MIDDLE
        np.testing.assert_array_equal(counter, np.floor(position))


def test_edges_name_the_line_that_changed():
    timers = EncoderTimers(np.array([0.5]))
    masks = {
        (1, True): 4,
        (2, True): 2,
        (3, True): 1,
        (0, True): 8,
    }  # count after the edge -> B up, A down, B down, A up
    lines = {0: CHANNEL_A, 1: CHANNEL_A | CHANNEL_B, 2: CHANNEL_B, 3: 0}
    for k in range(1, 9):
        timers.move(np.array([k + 0.5]), k * PERIOD, (k + 1) * PERIOD)
        assert timers.fields[1, 0] >> 26 & 15 == masks[k & 3, True]
        assert timers.positions[0] & (CHANNEL_A | CHANNEL_B) == lines[k & 3]
    for k in range(7, -1, -1):  # downwards the opposite change of the same line
        timers.move(np.array([k + 0.5]), 0.0, PERIOD)
        assert timers.fields[1, 0] >> 26 & 15 == {4: 1, 2: 8, 1: 4, 8: 2}[masks[(k + 1) & 3, True]]


def test_a_turn_clears_the_velocity_for_four_edges():
    timers = EncoderTimers(np.array([0.5]))
    for k in range(8):
        timers.move(np.array([0.5 + k]), k * PERIOD, (k + 1) * PERIOD)
    for k, turned in enumerate((True, True, True, False)):
        timers.move(np.array([6.5 - k]), 1.0 + k * PERIOD, 1.0 + (k + 1) * PERIOD)
        assert bool(timers.fields[0, 0] & TURNED) == turned


def test_a_resting_encoder_overflows_its_timers_after_1_4_s():
    timers = EncoderTimers(np.array([0.5]))
    for k in range(8):
        timers.move(np.array([0.5 + k]), k * PERIOD, (k + 1) * PERIOD)
    end = 8 * PERIOD
    timers.run(end + 1.3)
    assert timers.fields[3, 0] & TIMER == pytest.approx(1.3 * CLOCK, rel=1e-2)
    timers.run(end + 1.4)
    assert timers.fields[3, 0] & OVERFLOW


def test_the_counter_overflows_beyond_24_bits_until_it_is_preloaded():
    timers = EncoderTimers(np.array([0.5]))
    timers.preload(0, 0xFFFFFE)
    timers.move(np.array([3.5]), 0.0, PERIOD)
    assert timers.positions[0] & 1 << 24
    assert timers.positions[0] & 0xFFFFFF == 1
    timers.preload(0, MIDDLE)
    assert timers.positions[0] & 0x1FFFFFF == MIDDLE


# -- clock and server --------------------------------------------------------------------------------------------------


def test_a_pause_of_the_server_stops_the_boards_clock_and_silence_of_the_client_does_not():
    clock = BoardClock(100.0)
    assert clock.arrive(100.001, 100.001) == pytest.approx(0.001)
    # suspended for 50 ms while two packets wait
    assert clock.arrive(100.002, 100.052) == pytest.approx(0.002)
    assert clock.arrive(100.003, 100.052) == pytest.approx(0.002)
    assert clock.arrive(100.053, 100.053) == pytest.approx(0.003)
    assert clock.arrive(101.053, 101.053) == pytest.approx(1.003)
    assert (clock.pauses, round(clock.paused, 3)) == (1, 0.05)


def test_a_system_clock_that_is_set_back_does_not_stop_the_boards():
    clock = BoardClock(100.0)
    clock.arrive(105.0, 105.0)
    clock.arrive(50.0, 50.0)
    assert clock.arrive(50.5, 50.5) == pytest.approx(5.5, abs=0.01)


def test_the_server_answers_on_loopback_and_ignores_foreign_senders(rig):
    server = BoardServer(rig.controller, Bedside(rig.plant), port=0, bedside_port=0)
    done = threading.Event()
    thread = threading.Thread(target=server.serve, args=(lambda: not done.is_set(),))
    thread.start()
    try:
        exchange = UdpExchange(server.address, timeout=TIMEOUT)
        client = BoardClient(exchange)
        assert client.scan(nodes=2) == {6: 0, 7: 1}  # no node that would not answer
        assert set(client.sample()) == {6, 7}
        exchange.close()
        lines = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        lines.settimeout(TIMEOUT)
        lines.sendto(b"truth", server.bedside_address)
        assert b'"PSM1"' in lines.recv(65536)
        with closing(BoardWatch(loaded("PSM1"), server.bedside_address)) as watch:
            frame = watch.frame()
            drawn = frame.scene.arms["PSM1"].arm.instrument
            for line in (b"remove PSM1", b"insert PSM1 400093"):
                lines.sendto(line, server.bedside_address)
                assert b"error" not in lines.recv(65536)
            until(lambda: watch.frame().scene.arms["PSM1"].arm.instrument != drawn, "the new instrument")
            assert watch.frame().scene.arms["PSM1"].arm.instrument == "PROGRASP_FORCEPS_400093"
        lines.close()
        np.testing.assert_allclose(frame.arms["PSM1"].q, rig.scene.arms["PSM1"].q, atol=1e-12)
        np.testing.assert_allclose(frame.qpos, rig.scene.data.qpos, atol=1e-9)
        np.testing.assert_allclose(frame.arms["PSM1"].T_tip, rig.scene.arms["PSM1"].tip_pose(), atol=1e-9)
    finally:
        done.set()
        thread.join()
        server.close()
    assert server.requests >= 7  # broadcast, two reads of each board, query, block
    assert "requests" in server.summary()


def send_from_port_zero(payload, address):
    """A datagram that no answer can reach."""
    try:
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
    except PermissionError:
        pytest.skip("only root can send from port 0")
    with raw:
        raw.sendto(struct.pack("!4H", 0, address[1], 8 + len(payload), 0) + payload, (address[0], 0))


def test_datagrams_from_port_0_are_ignored(rig):
    server = BoardServer(rig.controller, Bedside(rig.plant), port=0, bedside_port=0)
    done = threading.Event()
    thread = threading.Thread(target=server.serve, args=(lambda: not done.is_set(),))
    thread.start()
    try:
        for address in (server.address, server.bedside_address):
            send_from_port_zero(b"truth", address)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as lines:
            lines.settimeout(TIMEOUT)
            lines.sendto(b"truth", server.bedside_address)
            assert b'"PSM1"' in lines.recv(65536)
    finally:
        done.set()
        thread.join()
        server.close()


def test_a_server_is_ready_when_its_loop_has_started(rig):
    server = BoardServer(rig.controller, Bedside(rig.plant), port=0, bedside_port=0)
    seen = []
    try:
        server.serve(lambda: False, ready=lambda: seen.append(gc.isenabled()))
    finally:
        server.close()
    assert seen == [False]  # after the garbage collection that takes the time


def test_a_port_in_use_is_an_error_that_says_so(rig):
    server = BoardServer(rig.controller, Bedside(rig.plant), port=0, bedside_port=0)
    with pytest.raises(TrocarError, match="cannot be opened"):
        BoardServer(rig.controller, Bedside(rig.plant), port=server.address[1], bedside_port=0)
    server.close()


def test_boards_of_both_kinds_share_a_bus():
    boards = Boards({3: QLA, 0: DQLA, 12: QLA})
    assert boards.numbers == [0, 3, 12]
    assert len(boards.content) == 5 * 3 + 7 * 16
    places = np.concatenate([boards.places(k) for k in range(3)])
    assert sorted(places.tolist()) == list(range(len(boards.content)))
    assert boards.read(0, registers.HARDWARE, 0.0) == DQLA.code
