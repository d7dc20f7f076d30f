"""The effort of every joint split by cause, as numbers and as a picture."""

from __future__ import annotations

import numpy as np

from trocar.mechanics import Mechanism
from trocar.palette import CAUSES, of_cause
from trocar.robot.messages import ArmFrame
from trocar.spatial import Array

# The last is the remainder: kinetic and static friction, and joint limits where they act.
TERMS = tuple(CAUSES)
_WIDTH, _NAME, _VALUE, _ROW, _BAR = 270, 62, 62, 26, 12  # [px]


def composition(mechanism: Mechanism, state: ArmFrame) -> dict[str, Array]:
    """Parts (n,) of the effort by name [N m, N]: M ddq + c + g - J' F - contact + friction = tau.

    Gravity includes springs and cables. Where no effort was recorded, friction is zero.
    """
    M, c, g = mechanism.terms(state.q, state.dq)
    J, zero = mechanism.jacobian(state.q), np.zeros_like(g)
    inertia = zero if state.ddq is None else M @ state.ddq
    push = np.pad(-J[:3].T @ state.force, (0, len(g) - J.shape[1]))
    contact = zero if state.contact_effort is None else -state.contact_effort
    friction = zero if state.tau is None else state.tau - (g + c + inertia + push + contact)
    return dict(zip(TERMS, (g, inertia, c, push, contact, friction), strict=True))


def bars(mechanism: Mechanism, state: ArmFrame) -> str:
    """Effort of every joint with its number, as bars stacked by cause: HTML with one SVG."""
    arm = mechanism.arm
    parts = composition(mechanism, state)
    total = state.tau if state.tau is not None else sum(parts.values(), start=np.zeros(arm.n))
    # both directions of the stack must fit: the motors' range, or more if the effort exceeds it
    room = np.maximum([joint.effort for joint in arm.joints], 1e-9)
    stack = np.maximum(*(np.sum([np.maximum(s * p, 0.0) for p in parts.values()], axis=0) for s in (1, -1)))
    # the range shown is the motors' range times a power of two, so that the scale does not flicker
    span = room * 2.0 ** np.ceil(np.log2(np.maximum(stack / room, 2.0**-7)))
    middle, half = _NAME + (_WIDTH - _NAME - _VALUE) / 2, (_WIDTH - _NAME - _VALUE) / 2 - 2
    rows = []
    for j, joint in enumerate(arm.joints):
        y = j * _ROW + 6
        rows.append(f'<text x="0" y="{y + 10}">{joint.name}</text>')
        rows.append(f'<rect x="{middle - half:.1f}" y="{y}" width="{2 * half:.1f}" height="{_BAR}" fill="#8882"/>')
        edge = [0.0, 0.0]  # ends of the stack to the left and to the right
        for name, part in parts.items():
            length = half * abs(part[j]) / span[j]
            side = int(part[j] > 0)
            x = middle + edge[1] if side else middle - edge[0] - length
            edge[side] += length
            rows.append(f'<rect x="{x:.2f}" y="{y}" width="{length:.2f}" height="{_BAR}" fill="{of_cause(name)}"/>')
        x = middle + half * float(np.clip(total[j] / span[j], -1, 1))
        rows.append(f'<path d="M{x:.2f} {y - 3}v{_BAR + 6}" stroke="currentColor" stroke-width="2"/>')
        unit = joint.effort_unit
        rows.append(
            f'<text x="{_WIDTH}" y="{y + 10}" text-anchor="end" data-joint="{joint.name}">'
            f"{_number(total[j])} {unit}</text>"
        )
        rows.append(
            f'<text x="{middle + half:.1f}" y="{y + _BAR + 8}" font-size="7" text-anchor="end" opacity="0.6">'
            f"{f'&#177;{span[j]:.2g}' if room[j] > 1e-6 else ''}</text>"
        )
    legend = " ".join(
        f'<span style="white-space:nowrap"><span style="color:{of_cause(name)}">&#9632;</span> {name}</span>'
        for name in TERMS
    )
    return (
        '<div style="padding:0.4em 1.4em 0.4em 0.6em;font-size:12px">'
        f'<svg viewBox="0 0 {_WIDTH} {arm.n * _ROW + 8}" width="100%" fill="currentColor" font-size="11" '
        f'style="font-variant-numeric:tabular-nums">{"".join(rows)}</svg>'
        f"<div>{legend}<br><b>&#124;</b> effort of the joint, the sum; &#177; the range of the bar</div></div>"
    )


def _number(value: float) -> str:
    """Format with three digits, without a sign that flickers around zero."""
    return f"{value:.3f}" if abs(value) >= 5e-4 else "0.000"
