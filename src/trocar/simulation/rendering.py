"""Pictures of a simulator, without a window: still images and short films."""

from __future__ import annotations

import io
import math
import os
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib.image
import mujoco
import numpy as np
from numpy.typing import NDArray
from PIL import Image as PillowImage

from trocar.errors import TrocarError, UnknownName
from trocar.files import write_whole
from trocar.simulation.simulator import Simulator

Picture = NDArray[np.uint8]
