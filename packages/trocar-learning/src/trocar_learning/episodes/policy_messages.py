"""Messages of GR00T's policy server: msgpack, with arrays as .npy files (gr00t/policy/server_client.py).

What a server sends is not trusted: sizes are checked before memory is taken, and nothing is unpickled.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import Any

import msgpack
import numpy as np

from trocar_learning.envs.episode import PolicyFailure

MAX_MESSAGE = 2**26  # of an answer [bytes]
ARRAY, CONFIG = "__ndarray_class__", "__ModalityConfig_class__"
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def packed(content: Any) -> bytes:
    """Bytes of a request."""
    return bytes(msgpack.packb(content, default=_encoded))


def _encoded(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        buffer = io.BytesIO()
        np.save(buffer, value, allow_pickle=False)
        return {ARRAY: True, "as_npy": buffer.getvalue()}
    raise TypeError(f"{type(value).__name__} has no place in a message")


def unpacked(message: bytes) -> Any:
    """Content of an answer."""
    try:
        return msgpack.unpackb(message, object_hook=_decoded, strict_map_key=False)
    except PolicyFailure:
        raise
    except Exception as error:  # any exception of the msgpack and npy readers
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise PolicyFailure(f"the policy server answered {len(message)} bytes that are no message: {reason}") from None


def _decoded(entry: dict[Any, Any]) -> Any:
    if ARRAY in entry:
        return _array(entry.get("as_npy"))
    if CONFIG in entry:
        return entry.get("as_json")
    return entry


def _array(content: Any) -> Any:
    if not isinstance(content, bytes):
        raise PolicyFailure("the policy server sent an array without content")
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version not in HEADERS:
        raise PolicyFailure(f"the policy server sent an array of the unknown version {version}")
    shape, _, dtype = HEADERS[version](stream)
    if dtype.hasobject or dtype.itemsize * math.prod(shape) != len(content) - stream.tell():
        raise PolicyFailure(
            f"the policy server sent an array of shape {shape} and type {dtype} in {len(content)} bytes"
        )
    stream.seek(0)
    return np.load(stream, allow_pickle=False)


def answer_error(answer: Any) -> str | None:
    """The error that an answer reports; None if it reports none."""
    return str(answer["error"])[:300] if isinstance(answer, Mapping) and "error" in answer else None
