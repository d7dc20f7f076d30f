"""The container of CoppeliaSim files (.ttt): a header, a Huffman tree and the packed bytes; inside, named blocks.

Read from the public sources of CoppeliaSim (coppeliaSimLib, class CSer). All numbers are little-endian.

    byte 0      "VREP"
    byte 13     int32, number of bytes after unpacking
    byte 1021   bits, most significant first: the tree, then the codes
                (tree: 1 and eight bits are a leaf with that byte; 0 is an inner node, followed by its two branches)

The unpacked bytes are blocks: three letters, int32 length, content. EOO, EOF and NXT mark an end and have no length.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from os import PathLike, fspath
from typing import NamedTuple

from trocar.errors import TrocarError
from trocar.files import read_whole

MAGIC = b"VREP"
HEADER = 1021  # bytes
MAX_FILE, MAX_CONTENT = 64 << 20, 256 << 20  # bytes; the published scenes have 2 MB
ENDS = (b"EOO", b"EOF", b"NXT")
# A node of the Huffman tree: the byte of a leaf, or the indices of two nodes.
Node = int | tuple[int, int]


class Block(NamedTuple):
    """A named part of a file."""

    name: str
    content: bytes


def unpacked(path: str | PathLike[str]) -> bytes:
    """The unpacked content of a file of CoppeliaSim."""
    data, what = read_whole(path, "scene", MAX_FILE), f"the scene {fspath(path)}"
    if data[:4] != MAGIC:
        raise TrocarError(f"{what} does not start with 'VREP': it is not a binary scene of CoppeliaSim (.ttt)")
    if len(data) <= HEADER:
        raise TrocarError(f"{what} has {len(data)} bytes; a scene has a header of {HEADER} bytes and content")
    (length,) = struct.unpack_from("<i", data, 13)
    if not 0 < length <= min(MAX_CONTENT, 8 * (len(data) - HEADER)):  # a code has at least one bit
        raise TrocarError(f"{what} announces {length} bytes of content, which its {len(data)} bytes cannot hold")
    return _decoded(data, length, what)


def _decoded(data: bytes, length: int, what: str) -> bytes:
    nodes, bit = _tree(data, 8 * HEADER, what)
    if isinstance(nodes[0], int):
        raise TrocarError(f"{what} has a Huffman tree of one leaf, which encodes nothing")
    output, node, position = bytearray(), 0, bit // 8
    node, first = _walk(nodes, 0, data[position] if position < len(data) else 0, bit % 8)
    output += first
    steps: dict[int, tuple[int, bytes]] = {}  # by node and next byte: the node after it, and the bytes decoded
    for byte in data[position + 1 :]:
        if len(output) >= length:
            break
        key = node << 8 | byte
        if key not in steps:
            steps[key] = _walk(nodes, node, byte, 0)
        node, decoded = steps[key]
        output += decoded
    if len(output) < length:
        raise TrocarError(f"{what} is truncated: it announces {length} bytes of content and has {len(output)}")
    return bytes(output[:length])


def _tree(data: bytes, bit: int, what: str) -> tuple[list[Node], int]:
    """Nodes of the Huffman tree, the root first, and the position of the bit after it."""
    nodes: list[Node] = []
    open_branches: list[list[int]] = []  # inner nodes whose branches are not complete: index, branches so far
    while True:
        if bit + 9 > 8 * len(data):
            raise TrocarError(f"{what} ends within its Huffman tree")
        if len(nodes) > 511:  # 256 leaves and 255 inner nodes
            raise TrocarError(f"{what} has a Huffman tree of more than 256 leaves")
        index = len(nodes)
        if data[bit // 8] >> (7 - bit % 8) & 1:
            pair = data[(bit + 1) // 8] << 8 | data[min((bit + 1) // 8 + 1, len(data) - 1)]
            nodes.append(pair >> (8 - (bit + 1) % 8) & 255)
            bit += 9
        else:
            nodes.append((0, 0))
            open_branches.append([index])
            bit += 1
            continue
        while open_branches:
            branches = open_branches[-1]
            branches.append(index)
            if len(branches) < 3:
                break
            index, left, right = open_branches.pop()
            nodes[index] = (left, right)
        else:
            return nodes, bit


def _walk(nodes: list[Node], node: int, byte: int, start: int) -> tuple[int, bytes]:
    """The node after the bits of a byte from `start` on, and the bytes of the leaves passed."""
    output = bytearray()
    for k in range(start, 8):
        branches = nodes[node]
        assert isinstance(branches, tuple)
        node = branches[byte >> (7 - k) & 1]
        leaf = nodes[node]
        if isinstance(leaf, int):
            output.append(leaf)
            node = 0
    return node, bytes(output)


def blocks(content: bytes, where: str) -> Iterator[Block]:
    """The blocks of unpacked content, or of the content of a block; `where` names it in messages."""
    position = 0
    while position < len(content):
        name = content[position : position + 3]
        position += 3
        if name in ENDS:
            yield Block(name.decode(), b"")
            continue
        text = name.decode("latin-1")
        if len(name) < 3 or position + 4 > len(content):
            raise TrocarError(f"{where} ends within the head of block '{text}'")
        (length,) = struct.unpack_from("<i", content, position)
        position += 4
        if not 0 <= length <= len(content) - position:
            raise TrocarError(f"{where}: block '{text}' announces {length} bytes, {len(content) - position} are left")
        yield Block(text, content[position : position + length])
        position += length
