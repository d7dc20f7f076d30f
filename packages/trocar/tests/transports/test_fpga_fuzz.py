"""Random packets, lines and configuration files: answered as an FPGA would, or ignored, or refused; never a crash."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.support.board_rig import ALL, BoardRig, dvrk_psm, nominal_file
from tests.support.odd_values import INPUTS, SEED, rounds
from tools.boards import requests
from trocar.errors import TrocarError
from trocar.transports.fpga import packets
from trocar.transports.fpga.bedside import Bedside
from trocar.transports.fpga.io_file import read_io_file
from trocar.transports.fpga.system_file import read_system


def random_request(rng, known):
    """A request with random fields, a damaged known one, or noise."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.bytes(int(rng.integers(0, 80)))
    if kind == 1:
        data = bytearray(known[rng.integers(len(known))])
        for _ in range(rng.integers(1, 4)):
            data[rng.integers(len(data))] = rng.integers(256)
        return bytes(data[: rng.integers(len(data) + 1)]) if rng.random() < 0.2 else bytes(data)
    node = int(rng.choice([0, 1, 2, 62, ALL]))
    address = int(
        rng.choice(
            [
                *(0, 3, 4, 6, 13, 0x11, 0x14, 0x4C, 0x1000, 0x17FF, 0x1800, 0x3000, 0x6000),
                *(0x9011, 0xA002, 0xA031, 0xB012, rng.integers(65536)),
            ]
        )
    )
    options = {
        "flags": int(rng.integers(2)),
        "generation": int(rng.choice([0, 1, 1, 1, 2])),
        "label": int(rng.integers(64)),
    }
    value = int(rng.integers(1 << 32))
    if kind == 2:
        return (
            requests.quadlet_write(node, address, value, **options)
            if value & 1
            else requests.quadlet_read(node, address, **options)
        )
    if value & 1:
        return requests.block_read(node, address, 4 * int(rng.integers(0, 600)), **options)
    words = rng.integers(0, 1 << 32, rng.integers(1, 40), dtype=np.uint64).astype(">u4")
    words[0] = (int(rng.integers(5, 9)) << 8) | int(rng.integers(0, 13))
    return requests.block_write(node, 0, words.tobytes(), **options)


@pytest.mark.parametrize("scene", ["dvrk", "dvrk_si"])
def test_random_packets_never_break_the_controller(scene):
    rng = np.random.default_rng(SEED)
    rig = BoardRig("PSM1", scene=scene)
    known = [request for request, _ in dvrk_psm()]
    for _ in range(rounds(800)):
        packet = random_request(rng, known)
        reply = rig.send(packet)
        rig.wait(float(rng.choice([0.0, 1e-4, 7e-4, 0.01])))
        request = packets.parse(packet)
        if reply is not None and len(reply) != 8:
            assert request is not None
            assert request.code in (packets.QUADLET_READ, packets.BLOCK_READ)
            assert len(reply) == (28 if request.code == packets.QUADLET_READ else 32 + request.length)
        INPUTS["controller boards"] += 1
    assert np.isfinite(rig.scene.data.qpos).all()
    generation = rig.boards.generation
    assert rig.send(requests.quadlet_read(0, 4, generation=generation)) is not None


def test_random_lines_get_an_answer():
    rng = np.random.default_rng(SEED)
    rig = BoardRig("PSM1")
    bedside = Bedside(rig.plant)
    words = [
        *bedside.commands,
        "PSM1",
        "PSM1_tool",
        "adapter",
        "tool",
        "400093",
        "/etc/passwd",
        "x.toml",
        "0",
        "1",
        "6",
        "7",
        "-1e9",
        "nan",
        "inf",
        "0.01",
        "\x00",
        "9" * 400,
        "é",
    ]
    for _ in range(rounds(150)):
        line = " ".join(str(rng.choice(words)) for _ in range(rng.integers(0, 7))).encode()
        if rng.random() < 0.1:
            line = rng.bytes(int(rng.integers(0, 500)))
        assert isinstance(json.loads(bedside.answer(line)), dict)
        rig.plant.step()
        INPUTS["bedside lines"] += 1
    assert np.isfinite(rig.plant.scene.data.qpos).all()


@pytest.mark.parametrize(
    ("line", "words"),
    [(b"press COAG" + b" " * 600, "at most 512 bytes"), (b"fail 6.5 0 1", "whole number"), (b"slip 0 0.5 3", "whole")],
)
def test_lines_that_are_too_long_or_count_in_fractions_are_refused(line, words):
    assert words in json.loads(Bedside(BoardRig("PSM1").plant).answer(line))["error"]


def test_damaged_configuration_files_are_read_or_refused(tmp_path):
    rng = np.random.default_rng(SEED)
    system, newer = nominal_file("QLA1", "dvrk", "PSM1"), nominal_file("QLA1", "dvrk_si", "PSM1")
    io_file, si_file = (folder / "sawRobotIO1394-PSM1-trocar.json" for folder in (system.parent, newer.parent))
    table = "sawRobotIO1394-PSM1-trocar-PotentiometerLookupTable.json"
    (tmp_path / table).write_bytes((newer.parent / table).read_bytes())
    outcomes = {"read": 0, "refused": 0}
    for source, reader in ((io_file, read_io_file), (si_file, read_io_file), (system, read_system)):
        content = bytearray(source.read_bytes())
        for _ in range(rounds(100)):
            damaged = content.copy()
            for _ in range(rng.integers(1, 4)):
                damaged[rng.integers(len(damaged))] = rng.choice([*b'0-"{}[]e,x:', 0, 255])
            path = tmp_path / "damaged.json"
            path.unlink(missing_ok=True)
            path.write_bytes(damaged[: rng.integers(len(damaged))] if rng.random() < 0.1 else damaged)
            try:
                reader(path)
                outcomes["read"] += 1
            except TrocarError:
                outcomes["refused"] += 1
            INPUTS["files of the dVRK"] += 1
    assert min(outcomes.values()) > 0
