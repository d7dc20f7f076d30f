"""The dVRK's PID of one actuator, as in sawControllers, with a disturbance observer."""

from __future__ import annotations

from trocar.laws.graph import Node, both, equal, maximum, minimum, select, unequal, whole

PARAMETERS = ("kp", "ki", "kd", "deadband", "output", "limit", "cutoff", "momentum", "dt")


def servo(
    q_ref: Node,
    dq_ref: Node,
    q: Node,
    dq: Node,
    integral: Node,
    explained: Node,
    observer: Node,
    active: Node,
    kp: Node,
    ki: Node,
    kd: Node,
    deadband: Node,
    output: Node,
    limit: Node,
    cutoff: Node,
    momentum: Node,
    dt: Node,
    *,
    deadbands: bool = True,
    integrals: bool = True,
    observers: bool = True,
) -> tuple[Node, ...]:
    """tau = clip(kp e + kd e' + ki int(e) + disturbance) of measured q, dq [rad, m; N m, N].

    The deadband is subtracted from e, and inside it e' is also 0. The observer adds the low-passed part of previous
    efforts that the motion of a nominal mass does not explain.

    Args:
        integral, explained, observer: memory: int(e), the effort of the last cycle, the state of the observer.
        active: 1, or 0 for a servo that does not act: its integral is 0, and its observer waits.
        output: largest effort of the PID. limit: of the motor. cutoff: of the observer [rad/s], 0: none.
        momentum: cutoff times nominal mass. dt: period [s].
        deadbands, integrals, observers: leave out what no actuator has.

    Returns:
        The effort, e, and the memory.
    """
    e, de = q_ref - q, dq_ref - dq
    if deadbands:
        e = e - minimum(maximum(e, -deadband), deadband)
        de = select(both(equal(e, 0.0), unequal(deadband, 0.0)), 0.0, de)
    tau = kp * e + kd * de
    if integrals:
        integral = (integral + e * dt) * active
        tau = tau + ki * integral
    if observers:
        p = momentum * dq
        change = whole((explained + p - observer) * cutoff) * dt
        observer = observer + change * active
        tau = tau + (observer - p)
    tau = minimum(maximum(tau, -output), output)
    if observers:
        explained = minimum(maximum(tau, -limit), limit)
    return tau, e, integral, explained, observer
