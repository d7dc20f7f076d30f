"""The OpenGL context for drawing, with or without a display."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from typing import Any

import mujoco

from trocar.errors import TrocarError

GL_PACKAGES = "libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri"
_CONTEXTS = threading.local()  # OpenGL lets a context be current in one thread only


def gl_context() -> Any:
    """The OpenGL context of this thread; without a display, an EGL context."""
    if not hasattr(_CONTEXTS, "own"):
        _CONTEXTS.own = _new_gl_context()
    return _CONTEXTS.own


def _new_gl_context() -> Any:
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if sys.platform == "linux" and not display:
        os.environ.setdefault("MUJOCO_GL", "egl")
    backend = os.environ.get("MUJOCO_GL", "").lower()
    try:
        # MuJoCo chooses its context class when it is first imported, which may be before the variable was set.
        module = importlib.import_module(f"mujoco.{backend}") if backend in ("egl", "osmesa") else mujoco
        context = module.GLContext(64, 64)  # pictures use a separate buffer
        context.make_current()
    except Exception as error:  # each platform fails in its own way: ImportError, AttributeError, RuntimeError, ...
        raise TrocarError(
            f"no OpenGL context for rendering (MUJOCO_GL={backend or 'unset'}): {error}. "
            f"On Debian or Ubuntu without a display: apt install {GL_PACKAGES}, then MUJOCO_GL=egl"
        ) from error
    return context
