"""The dVRK's encoders: positions quantised to counts, velocities from the time between counts as its firmware does."""

from __future__ import annotations

from trocar.laws.graph import Node, maximum, minimum, rint, select, shortcuts, sign, unequal

MIN_INTERVAL = 1e-6  # time between edges [s]
RESTED = 1.0  # time since the last edge of an encoder that was placed [s]


def rested_encoder(s: Node, resolution: Node) -> tuple[Node, Node]:
    """Reading and count of an encoder that was placed at s, at rest; its last edge is the reading, `RESTED` ago."""
    count = rint(s / resolution)
    return count * resolution, count


def encoder(
    s: Node, count: Node, position: Node, edge: Node, age: Node, rate: Node, resolution: Node, dt: Node
) -> tuple[Node, ...]:
    """Position and velocity that an encoder reports one cycle after the last reading, and its memory.

    Args:
        s: true position [rad, m]. count, position: of the last reading. edge: last boundary between counts that was
            crossed [rad, m]. age: time since then [s]. rate: last velocity. resolution: position per count. dt: [s].

    Returns:
        Position and velocity, then count, edge and age; s is the next `position`.
    """
    q, new = rested_encoder(s, resolution)
    steps = new - count
    moved = unequal(steps, 0.0)
    crossed = (new - 0.5 * sign(steps)) * resolution  # the last boundary
    since = dt * (s - crossed) / select(moved, s - position, 1.0)  # time since it was crossed
    aged = age + dt
    speed = (crossed - edge) / maximum(aged - since, MIN_INTERVAL)
    # no edge for a while: it cannot be faster than one count in that time
    bound = resolution / maximum(aged, MIN_INTERVAL)
    slow = minimum(maximum(rate, -bound), bound)
    full = select(moved, speed, slow), select(moved, crossed, edge), select(moved, since, aged)
    velocity, edge, age = shortcuts(moved, full, [slow, edge, aged])
    return q, velocity, new, edge, age
