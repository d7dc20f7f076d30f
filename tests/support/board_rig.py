"""A simulated controller with a simulated clock, a client of it, and the sessions that the dVRK's programs start."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from tools.boards import requests
from tools.boards.client import BoardArm, BoardClient
from tools.boards.homing import HomedArm
from trocar.simulation import load_scene
from trocar.transports.fpga import nominal
from trocar.transports.fpga.controller import BoardController
from trocar.transports.fpga.plant import RobotPlant
from trocar.transports.fpga.system_file import read_system

PERIOD = 1.0 / 1500.0
ALL = 63
Session = list[tuple[bytes, bytes | None]]  # requests, and their replies where these are fixed; None: no reply


@cache
def loaded(*arms, scene="dvrk"):
    return load_scene(scene, arms=list(arms), timestep=PERIOD)


@cache
def nominal_file(hardware, scene, *arms):
    return nominal.write_system(Path(tempfile.mkdtemp()), loaded(*arms, scene=scene), arms, hardware)


class BoardRig:
    """Boards of nominal or given files, with time that passes in `wait` only."""

    def __init__(self, *arms, hardware="QLA1", scene="dvrk", config=None, q=None, **options):
        self.scene = loaded(*arms, scene=scene)
        self.scene.reset(q)
        self.configuration = read_system(config or nominal_file(hardware, scene, *arms))
        self.plant = RobotPlant(self.scene, self.configuration, **options)
        self.boards = self.plant.boards
        self.controller = BoardController(self.boards, self.plant)
        self.now = 1.0
        self.client = BoardClient(lambda request, _: self.send(request))

    def send(self, request):
        return self.controller.answer(request, self.now)

    def wait(self, seconds=PERIOD):
        self.now += seconds

    def arm(self, name):
        """A client of an arm that is switched on, with calibrated encoders; the boards are scanned."""
        self.client.scan()
        robot = next(robot for robot in self.configuration.robots if robot.name == name)
        homed = HomedArm(self.client, BoardArm(self.client, robot), [self.scene.arms[name].arm], self.wait)
        homed.power()
        return homed

    def command(self, words, control=0):
        self.client.command(words, control)
        self.wait()

    def status(self, board=0):
        return self.client.read(board, 0)


def quadlet(node, label, value):
    """A reply, byte by byte."""
    head = (0xFFD0 << 16 | label << 10 | 6 << 4).to_bytes(4, "big") + (0xFFC0 + node).to_bytes(2, "big")
    return head + bytes(6) + value.to_bytes(4, "big") + bytes(4) + bytes.fromhex("00010000003c0078")


def block(node, label, data):
    head = (0xFFD0 << 16 | label << 10 | 7 << 4).to_bytes(4, "big") + (0xFFC0 + node).to_bytes(2, "big") + bytes(6)
    return head + len(data).to_bytes(2, "big") + bytes(6) + data + bytes(4) + bytes.fromhex("00010000003c0078")


class SessionBuilder:
    """Requests with running labels, and the replies of two QLA boards 6 and 7."""

    def __init__(self):
        self.session: Session = []
        self._label = 0

    def _next(self, flags=0, generation=1):
        self._label = (self._label + 1) % 64
        return {"label": self._label, "flags": flags, "generation": generation}

    def read(self, node, address, value, flags=0, generation=1):
        """`value`: of the reply; None: no reply; ...: any."""
        request = requests.quadlet_read(node, address, **self._next(flags, generation))
        source = 0 if node == ALL else node
        reply = value if value is None or value is ... else quadlet(source, self._label, value)
        self.session.append((request, reply))

    def write(self, node, address, value, flags=0, generation=1):
        self.session.append((requests.quadlet_write(node, address, value, **self._next(flags, generation)), None))

    def read_block(self, node, address, length, data=...):
        request = requests.block_read(node, address, length, **self._next())
        self.session.append((request, data if data is ... else block(node, self._label, data)))

    def write_block(self, *words):
        data = np.array(words, dtype=">u4").tobytes()
        self.session.append((requests.block_write(ALL, 0, data, **self._next()), None))


def start_of_session(build):
    """Search for boards: 33 requests."""
    build.write(ALL, 11, 0x0100007F, flags=1, generation=0)
    build.read(ALL, 4, 0x514C4131, flags=1, generation=0)
    build.write(ALL, 1, 0, flags=1)
    build.read(ALL, 0, 0x46200000 | 1 << 23, flags=1)
    build.read(ALL, 7, 8, flags=1)
    build.read(ALL, 12, 0x80000000, flags=1)
    for node in (0, 1):
        values = {4: 0x514C4131, 7: 8, 12: 0x80000000, 0: 0x46200000 + (node << 24) | 1 << 23, 15: 0}
        for address, value in values.items():
            build.read(node, address, value)
    for node in range(2, 16):
        build.read(node, 4, None)
    build.write(ALL, 1, 1)
    build.read(0, 2, 0x0107)
    build.read(1, 2, 0x0107)


def qlacommand() -> Session:
    """The 34 requests of `qlacommand -c close-relays`."""
    build = SessionBuilder()
    start_of_session(build)
    build.write(ALL, 0, 0x30000)
    return build.session


def dvrk_psm() -> Session:
    """The 99 requests of a dVRK with a PSM: start, power, instrument, encoders, power off; single cycles of each."""
    build = SessionBuilder()
    start_of_session(build)
    for node in (0, 1):
        build.write(node, 0x3000, 0xFE000002)
        build.read_block(node, 0x3100, 12, b"QLA 0000-0%d\0" % (6 + node))
        build.write(node, 8, 0x031FFF00)
        build.read(node, 8, 0)
        build.read(node, 9, 64)
        build.read_block(node, 0x2000, 16, b"FPGA 0000-0%d\xff\xff\xff\xff" % (6 + node))
    idle = (0x606, 0x80008108, 0x80008073, 0x80007FB4, 0x80008052, 0, 0x706, 0x80008090, 0x8000803B, 0x8000803F, 0, 0)
    empty = (0x606, 0, 0, 0, 0, 0, 0x706, 0, 0, 0, 0, 0)
    enable = tuple(word | 0x30000000 if word >> 31 else word for word in idle)
    build.write(ALL, 0x1800, 0x100C0)
    build.read_block(0, 0x1000, 268)
    for node in (0, 1):
        build.write(node, 3, 0x1680)
    build.write(ALL, 0x1800, 0x200C0)
    build.read_block(0, 0x1000, 268)
    build.write(ALL, 0, 0x30000)
    for _ in range(2):
        for value in (0xF00, 0x80000):
            for node in (0, 1):
                build.write(node, 0, value)
    build.write_block(*idle)
    build.write(ALL, 0x1800, 0x300C0)
    build.read_block(0, 0x1000, 268)
    build.write(1, 13, 0x00800002)
    for _ in range(3):
        build.write_block(*empty)
        build.read(1, 13, 0x2000)
    build.read_block(1, 0x6000, 256)
    for value in (0x30000, 0xC0000):
        for node in (0, 1):
            build.write(node, 0, value)
    build.write_block(*enable)
    build.write_block(*idle)
    preloads = ((0, 0x7FCD72), (0, 0x80328E), (0, 0x81696C), (0, 0x8003B9), (1, 0x7FFD25), (1, 0x7FFBFA), (1, 0x800324))
    for k, (node, value) in enumerate(preloads):
        build.write(node, 16 * (k % 4 + 1) + 4, value)
    build.write_block(*idle)
    for _ in range(3):
        for value in (0xF00, 0x80000):
            for node in (0, 1):
                build.write(node, 0, value)
    for node in (0, 1):
        build.write(node, 0, 0x20000)
    return build.session
