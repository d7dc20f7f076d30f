"""Inputs of the hands as the text that the page's links have: small integers, by channel, deflated, in base64."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence

import numpy as np


def packed(inputs: Sequence[Sequence[int]]) -> str:
    """Text of inputs (T, channels), each from -128 to 127."""
    rows = np.array(inputs, dtype=np.int8)
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    content = deflate.compress(rows.T.tobytes()) + deflate.flush()
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def unpacked(text: str, channels: int) -> list[list[int]]:
    """The inputs of a text."""
    content = zlib.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), -zlib.MAX_WBITS)
    rows: list[list[int]] = np.frombuffer(content, dtype=np.int8).reshape(channels, -1).T.tolist()
    return rows
