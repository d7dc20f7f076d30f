"""Program that reads HDF5 files for `robomimic_reading` in a process of its own; it imports nothing of trocar.

The HDF5 library can crash, loop or allocate any amount of memory on damaged files. A request is a line of JSON on the
standard input: [path, name of a function below, arguments]. The answer on the standard output is the size (8 bytes,
little endian) and the bytes of an .npz file: a JSON text "about" and arrays with numbers as names.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from typing import Any

import h5py
import numpy as np

TEXTS = "about", "features", "instruction"  # attributes of an episode
_DEMO = re.compile(r"demo_(\d+)")

Answer = tuple[Any, list[Any]]  # JSON, arrays


def demos(file: Any, _limit: float) -> Answer:
    """Numbers of the episodes."""
    return sorted(int(match[1]) for name in member(file, "data", h5py.Group) if (match := _DEMO.fullmatch(name))), []


def demo(file: Any, limit: float, number: int) -> Answer:
    """Attributes of an episode, names of its pictures, and names and values (N, k) of its other observations."""
    group = member(member(file, "data", h5py.Group), f"demo_{number}", h5py.Group)
    observed = member(group, "obs", h5py.Group)
    values = {name: member(observed, name, h5py.Dataset) for name in observed}
    numbers = {name: value for name, value in values.items() if value.ndim in (1, 2, 3) and value.dtype.kind == "f"}
    check_size(8.0 * sum(value.size for value in numbers.values()), limit)
    about: dict[str, Any] = {key: text(group.attrs[key]) for key in TEXTS if key in group.attrs}
    about |= {"fps": float(group.attrs.get("fps", 20.0)), "columns": list(numbers)}
    about["pictures"] = [name for name, value in values.items() if value.ndim == 4]
    return about, [np.asarray(value, dtype=float).reshape(len(value), -1) for value in numbers.values()]


def pictures(file: Any, limit: float, number: int, name: str) -> Answer:
    """The images (N, height, width, channels) of an episode."""
    group = member(member(file, "data", h5py.Group), f"demo_{number}", h5py.Group)
    images = member(member(group, "obs", h5py.Group), name, h5py.Dataset)
    check_size(float(images.size) * images.dtype.itemsize, limit)
    return None, [np.asarray(images, dtype=np.uint8)]


def member(group: Any, name: str, kind: type) -> Any:
    """A group or data set in a group; neither a link nor data in other files."""
    if name not in group:
        raise ValueError(f"{group.name} has no {name!r} as robomimic's files have")
    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"{group.name}/{name} is a link to another place")
    entry = group[name]
    if not isinstance(entry, kind):
        raise ValueError(f"{group.name}/{name} is no {kind.__name__.lower()}")
    if isinstance(entry, h5py.Dataset) and (entry.external or entry.is_virtual):
        raise ValueError(f"{group.name}/{name} has its data in other files")
    return entry


def check_size(size: float, limit: float) -> None:
    """Raise an error before arrays are read that do not fit: they are copied to the other process."""
    if 4.0 * size > limit:
        raise ValueError(f"it has {size:.3g} bytes, too many for the memory of this machine; read a shorter episode")


def text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


FUNCTIONS: dict[str, Callable[..., Answer]] = {"demos": demos, "demo": demo, "pictures": pictures}


def answer(line: str, limit: float) -> memoryview:
    path, function, arguments = json.loads(line)
    arrays: list[Any] = []
    try:
        with h5py.File(path, "r") as file:
            result, arrays = FUNCTIONS[function](file, limit, *arguments)
            about = json.dumps({"result": result})
    except Exception as error:  # any exception of the HDF5 library
        about, arrays = json.dumps({"error": str(error)[:200] or type(error).__name__}), []
    buffer = io.BytesIO()
    np.savez(buffer, about=np.array(about), **{str(k): array for k, array in enumerate(arrays)})
    return buffer.getbuffer()


def limit_memory(limit: int) -> None:
    """Limit the memory that this process may still allocate, and write no core dumps, where the system can."""
    try:
        import resource
    except ModuleNotFoundError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, allowed = resource.getrlimit(resource.RLIMIT_AS)
    limit = limit if allowed == resource.RLIM_INFINITY else min(limit, allowed)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main(limit: int) -> None:
    limit_memory(limit)
    for line in sys.stdin:
        content = answer(line, limit)
        sys.stdout.buffer.write(len(content).to_bytes(8, "little"))
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
