"""Warp kernels of encoders; see `encoder_arrays`.

In float32 the time of an edge is less exact than in double precision: in a cycle, a slow motor moves by a few units of
the last place only.
"""

# mypy: ignore-errors

import warp as wp

from trocar.batch.worlds.control_kernels import Control
from trocar.laws import encoder
from trocar.laws.law import ScalarLaw
from trocar.laws.sources.function_source import on_warp

wp.set_module_options({"enable_backward": False})

RESTED = wp.constant(encoder.RESTED)
reading = on_warp(ScalarLaw(encoder.encoder))
rested_reading = on_warp(ScalarLaw(encoder.rested_encoder))


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
    q, count = rested_reading(s, encoders.resolution[m])
    encoders.count[w, m] = count
    encoders.position[w, m] = s
    encoders.edge[w, m] = q
    encoders.age[w, m] = RESTED
    encoders.last_rate[w, m] = 0.0
    now.measured[w, m] = q
    now.measured_rate[w, m] = 0.0


@wp.kernel
def read_encoders(dt: float, encoders: Encoders, now: Control):
    """Readings one cycle after the last ones; `now` has the positions, and is given the readings."""
    w, m = wp.tid()
    s = now.measured[w, m] + encoders.bias[w, m]
    q, v, count, edge, age = reading(
        s,
        encoders.count[w, m],
        encoders.position[w, m],
        encoders.edge[w, m],
        encoders.age[w, m],
        encoders.last_rate[w, m],
        encoders.resolution[m],
        dt,
    )
    encoders.count[w, m] = count
    encoders.position[w, m] = s
    encoders.edge[w, m] = edge
    encoders.age[w, m] = age
    encoders.last_rate[w, m] = v
    now.measured[w, m] = q
    now.measured_rate[w, m] = v
