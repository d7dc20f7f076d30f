"""Small scenes in the format of CoppeliaSim, packed like its files."""

import heapq
import struct
from collections import Counter

import numpy as np


def packed(content: bytes, announced: int | None = None) -> bytes:
    """A file: header, Huffman tree and codes of the content, most significant bit first."""
    heap = [(count, k, byte) for k, (byte, count) in enumerate(sorted(Counter(content).items()))]
    heapq.heapify(heap)
    fresh = len(heap)
    while len(heap) > 1:
        (a, _, left), (b, _, right) = heapq.heappop(heap), heapq.heappop(heap)
        heapq.heappush(heap, (a + b, fresh, (left, right)))
        fresh += 1
    tree, codes = [], {}

    def visit(node: int | tuple, code: str) -> None:
        if isinstance(node, tuple):
            tree.append("0")
            visit(node[0], code + "0")
            visit(node[1], code + "1")
        else:
            tree.append(f"1{node:08b}")
            codes[node] = code

    visit(heap[0][2], "")
    bits = "".join(tree) + "".join(codes[byte] for byte in content)
    bits += "0" * (-len(bits) % 8)
    head = bytearray(1021)
    head[:4] = b"VREP"
    head[13:17] = struct.pack("<i", len(content) if announced is None else announced)
    return bytes(head) + bytes(int(bits[k : k + 8], 2) for k in range(0, len(bits), 8))


def block(name: str, content: bytes) -> bytes:
    return name.encode() + struct.pack("<i", len(content)) + content


def _common(name: str, number: int, parent: int, position: tuple[float, ...]) -> bytes:
    text = name.encode()
    return (
        block("Cfq", struct.pack("<7f", 1.0, 0.0, 0.0, 0.0, *position))
        + block("Ids", struct.pack("<2i", number, parent))
        + block("Nme", struct.pack("<i", len(text)) + text)
        + b"NXT"
    )


def shape(name: str, number: int, parent: int, position=(0.0, 0.0, 0.0), mass=2.0, *, dynamic=True) -> bytes:
    """A body with its centre of mass at x = 0.1 and principal inertias of 0.01, 0.02 and 0.025 m^2 times its mass."""
    inertia = struct.pack("<10f", 0.1, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.01, 0.02, 0.025)
    part = block("Gst", block("Mas", struct.pack("<f", mass)) + block("Ine", inertia) + b"EOO")
    flags = block("Sss", b"\x80" if dynamic else b"\x00")
    return block("SHP", _common(name, number, parent, position) + block("Ge2", part) + flags + b"EOO")


def joint(name: str, number: int, parent: int, position=(0.0, 0.0, 0.0), *, kind=10, mode=5, flags=0x38) -> bytes:
    """A joint with range [-1, 2], a motor of 50 N and a position loop of gain 0.1."""
    numbers = {
        "Jtt": struct.pack("<i", kind),
        "Jmd": struct.pack("<i", mode),
        "Pmr": struct.pack("<2f", -1.0, 3.0),
        "Prt": struct.pack("<f", 0.0),
        "Va9": bytes([flags]),
        "Dmp": struct.pack("<2f", 0.0, 50.0),
        "Dp2": struct.pack("<3f", 0.1, 0.0, 0.0),
        "Ulv": struct.pack("<f", 10.0),
        "OdN": struct.pack("<2i5fi", 5, 1, 0.6, 1e-5, 0.0, 1.0, 1e-5, 0),
    }
    parts = b"".join(block(*item) for item in numbers.items())
    return block("JNT", _common(name, number, parent, position) + parts + b"EOO")


def dummy(name: str, number: int, parent: int, linked: int = -1) -> bytes:
    return block(
        "DMY", _common(name, number, parent, (0.0, 0.0, 0.0)) + block("Lli", struct.pack("<i", linked)) + b"EOO"
    )


def content(*objects: bytes) -> bytes:
    """The unpacked content of a scene with these objects."""
    dynamics = block("En3", struct.pack("<i3fi", 1, 0.0, 0.0, -9.81, 0))
    dynamics += block("OdN", struct.pack("<2i5f3i", 5, 3, 0.0005, 1.0, 1e-5, 0.6, 0.0, 200, 3, -1))
    simulation = block("Sts", struct.pack("<f", 0.005))
    return b"".join(objects) + block("DYN", dynamics + b"EOO") + block("SIM", simulation + b"EOO") + b"EOF"


def pendulum() -> bytes:
    """A scene file: a base, a revolute and a prismatic joint with a body each, and a frame at the end."""
    return packed(
        content(
            shape("base", 1, -1, mass=100.0, dynamic=False),
            joint("swing", 2, 1, (0.0, 0.0, 1.0)),
            shape("rod", 3, 2, (0.5, 0.0, 0.0)),
            joint("slide", 4, 3, (0.5, 0.0, 0.0), kind=11, flags=0x10),
            shape("weight", 5, 4, mass=0.5),
            dummy("tip", 6, 5),
        )
    )


def random_bytes(count: int, seed: int) -> bytes:
    return np.random.default_rng(seed).bytes(count)
