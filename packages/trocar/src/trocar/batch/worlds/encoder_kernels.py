"""Warp kernels of encoders: quantised positions, and velocities from the time between edges; see `encoder_arrays`.

In float32 the time of an edge is less exact than in double precision: in a cycle, a slow motor moves by a few units of
the last place only.
"""

# mypy: ignore-errors

import warp as wp

from trocar.batch.worlds.control_kernels import Control

wp.set_module_options({"enable_backward": False})

MIN_INTERVAL = wp.constant(1.0e-6)  # time between edges [s]
RESTED = wp.constant(1.0)  # time since the last edge of an arm that was placed [s]


@wp.struct
class Encoders:
    """Encoders of all motors; see `EncoderArrays`."""

    resolution: wp.array(dtype=float)
    bias: wp.array2d(dtype=float)
    count: wp.array2d(dtype=float)
    position: wp.array2d(dtype=float)
    edge: wp.array2d(dtype=float)
    age: wp.array2d(dtype=float)
    last_rate: wp.array2d(dtype=float)


@wp.kernel
def place_encoders(mask: wp.array(dtype=wp.bool), encoders: Encoders, now: Control):
    """Readings of the masked worlds, at rest; `now` has their positions."""
    w, m = wp.tid()
    if not mask[w]:
        return
    s = now.measured[w, m] + encoders.bias[w, m]
    count = wp.rint(s / encoders.resolution[m])
    encoders.count[w, m] = count
    encoders.position[w, m] = s
    encoders.edge[w, m] = count * encoders.resolution[m]
    encoders.age[w, m] = RESTED
    encoders.last_rate[w, m] = 0.0
    now.measured[w, m] = count * encoders.resolution[m]
    now.measured_rate[w, m] = 0.0


@wp.kernel
def read_encoders(dt: float, encoders: Encoders, now: Control):
    """Readings one cycle after the last ones; `now` has the positions, and is given the readings."""
    w, m = wp.tid()
    resolution = encoders.resolution[m]
    s = now.measured[w, m] + encoders.bias[w, m]
    count = wp.rint(s / resolution)
    steps = count - encoders.count[w, m]
    age = encoders.age[w, m] + dt
    v = encoders.last_rate[w, m]
    if steps != 0.0:
        edge = (count - 0.5 * wp.sign(steps)) * resolution
        since = dt * (s - edge) / (s - encoders.position[w, m])
        v = (edge - encoders.edge[w, m]) / wp.max(age - since, MIN_INTERVAL)
        encoders.edge[w, m] = edge
        age = since
    else:  # no edge for a while: it cannot be faster than one count in that time
        bound = resolution / wp.max(age, MIN_INTERVAL)
        v = wp.clamp(v, -bound, bound)
    encoders.age[w, m] = age
    encoders.count[w, m] = count
    encoders.position[w, m] = s
    encoders.last_rate[w, m] = v
    now.measured[w, m] = count * resolution
    now.measured_rate[w, m] = v
