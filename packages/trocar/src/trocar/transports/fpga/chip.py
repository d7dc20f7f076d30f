"""The memory chip of an instrument, by which the dVRK recognises it.

Source: AmpIO and mtsRobotIO1394 (Dallas chip): from address 0x80 the maker's number, at 0xA4 the model, at 0xA8 the
version, at 0x160 the name. The chip (DS2505) has 2,048 bytes. The dVRK builds `LARGE_NEEDLE_DRIVER:400006[1]` from it.
"""

from __future__ import annotations

import re
import struct

from trocar.arms import instruments
from trocar.errors import TrocarError

MAKER, MODEL, VERSION, NAME, SIZE = 0x80, 0xA4, 0xA8, 0x160, 2048
MAX_NAME = 27  # [characters]
# The dVRK knows geared instruments by their version: from 12 (420006, 420194), 14 (420093) and 7 (420309) on
FIRST_VERSION, GEARED_VERSION = 1, 20


def chip_memory(instrument: str, arm: str = "PSM") -> bytes:
    """Memory of the chip of an instrument of an arm (PSM, PSM_Si), by number or name."""
    name = instruments.load_instrument(instrument, arm).name
    match = re.fullmatch(r"(.+)_(\d{6})(_GEARED)?", name)
    if match is None:
        raise TrocarError(
            f"{name} has no number of Intuitive, which its chip would report; choose a built-in instrument"
        )
    memory = bytearray(SIZE)
    memory[MAKER : MAKER + 3] = b"997"
    struct.pack_into(">IB", memory, MODEL, int(match[2]), GEARED_VERSION if match[3] else FIRST_VERSION)
    text = match[1].replace("_", " ").encode()[:MAX_NAME]
    memory[NAME : NAME + len(text)] = text
    return bytes(memory)
