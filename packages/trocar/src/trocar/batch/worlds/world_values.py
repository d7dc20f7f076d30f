"""Values of many worlds: checks of rows, masks, poses and fields of MuJoCo's model; products by row."""

from __future__ import annotations

import mujoco
import mujoco.batch
import numpy as np

from trocar import checks
from trocar.errors import TrocarError, check_known, shown
from trocar.spatial import Array, Values

MAX_BEYOND = 1e-3  # of a start from a joint's limit [rad, m], as for a `Scene`
UNIT = 1e-3  # largest error of a quaternion's norm
# Worlds step together: of the options, only gravity can differ between them.
FIELDS = ("opt.gravity", *sorted(name for name in mujoco.batch.MODEL_FIELDS if not name.startswith("opt.")))


def on_host(values: Values) -> Values:
    """Values in the processor's memory: tensors and device arrays as NumPy's, all else as it is."""
    values = values.detach().cpu() if hasattr(values, "detach") else values  # torch, on any device
    return values.numpy() if hasattr(values, "numpy") else values


def world_rows(name: str, values: Values, n: int, width: int, *, or_number: bool = False) -> Array:
    """Finite numbers (n, width), from these or from (width,) for all worlds. or_number: one number serves as well."""
    array = checks.real_array(name, on_host(values))
    if array.shape not in ((width,), (n, width)) and not (or_number and array.shape == ()):
        shapes = f"({width},) or ({n}, {width})"
        raise TrocarError(f"{name} must have shape {shapes}{' or be a number' * or_number}, got {array.shape}")
    if not (np.abs(array) <= checks.MAX_COMMAND).all():  # false for NaN
        raise TrocarError(f"{name} must be finite and at most {checks.MAX_COMMAND:g}, got {shown(array.tolist())}")
    return np.broadcast_to(array, (n, width))


def each_row(matrix: Array, rows: Array) -> Array:
    """Products (n, k) of a matrix (k, m) and every row (n, m), which do not depend on the other rows.

    In one product `rows @ matrix.T`, BLAS rounds the last rows differently on some processors (AVX-512), and worlds in
    the same state part.
    """
    return np.asarray((matrix @ rows[..., None])[..., 0])


def world_mask(mask: Values, n: int) -> Array:
    """Booleans (n,), True for the chosen worlds. Default: all worlds."""
    if mask is None:
        return np.ones(n, dtype=bool)
    array = np.asarray(on_host(mask))
    if array.dtype.kind != "b" or array.shape != (n,):
        raise TrocarError(f"mask must be booleans of shape ({n},), got {array.dtype} of shape {array.shape}")
    return array


def world_poses(name: str, values: Values, n: int) -> Array:
    """Poses (n, 7) of an object: position [m] and unit quaternion wxyz."""
    poses = world_rows(f"pose of {name}", values, n, 7)
    norms = np.linalg.norm(poses[:, 3:], axis=1)
    if (np.abs(norms - 1.0) > UNIT).any():
        worst = float(norms[np.abs(norms - 1.0).argmax()])
        raise TrocarError(f"pose of {name} must have a unit quaternion wxyz after its position, got norm {worst:g}")
    return poses


def check_starts(arm: str, q: Array, lower: Array, upper: Array) -> None:
    """Raise an error for starts q (n, joints) [rad, m] of an arm beyond its limits (joints,)."""
    beyond = (q < lower - MAX_BEYOND) | (q > upper + MAX_BEYOND)
    if beyond.any():
        world, joint = (int(k) for k in np.argwhere(beyond)[0])
        allowed = f"{lower[joint]:g} to {upper[joint]:g}"
        raise TrocarError(
            f"q of {arm}, joint {joint + 1} of world {world}, must be from {allowed}, got {q[world, joint]:g}"
        )


def model_field(model: mujoco.MjModel, name: str, values: Values, n: int) -> Array:
    """Values (n, ...) of a field of MuJoCo's model by its name."""
    check_known("field of MuJoCo's model", FIELDS, name)
    array = checks.real_array(name, values)
    shape = (n, *np.shape(model.opt.gravity if name == "opt.gravity" else getattr(model, name)))
    if array.shape != shape or not np.isfinite(array).all():
        raise TrocarError(f"field {name} of MuJoCo's model must be finite numbers {shape}, got {array.shape}")
    return array
