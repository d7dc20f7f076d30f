"""PNG files in memory."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from trocar.errors import TrocarError
from trocar.spatial import Array


def image(content: bytes) -> Array:
    """Image (height, width, 3), uint8, of a PNG file."""
    try:
        with Image.open(io.BytesIO(content), formats=("PNG",)) as picture:
            return np.asarray(picture.convert("RGB"))
    except (OSError, ValueError, SyntaxError) as error:
        raise TrocarError(f"a picture of the episode is not a PNG file: {error}") from None
