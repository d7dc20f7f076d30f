"""The wrist of a reduced arm behind its cables, in quasi-static form: `mechanics.CableWrist` inside the step.

The motors carry all inertia; the joints rest where cables, dry friction and load leave them at the end of every step.
With r = G q_motor and the torque t = S (r - q) of the cables at the joints,

    motors   M dv/dt = tau - G' t - friction and springs of the motors     instead of  tau + load - ...
    joints   q+ = r+ + C load - C f,   contacts  s+ = q+ - d f             f: the torques of `mechanics.cable_wrist`

Here load are the efforts of weight, motion and wrenches at the wrist's joints at the start of the step; drives act on
the motors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trocar.arms.wrist_cables import CABLE_JOINTS, WristCables
from trocar.batch.equations.arm import ArmEquations, along
from trocar.laws.graph import Node, above, absolute, maximum
from trocar.mechanics.cable_wrist import PATTERNS, friction_solutions
from trocar.spatial import Array


class CableWristStep:
    """The cables of one arm. The equations of the arm are those at its joints; its motors are in `arm.measured`.

    Attributes:
        rows: of roll, wrist pitch and wrist yaw in q. state: inputs (6), positions of the motors, then contacts.
    """

    def __init__(self, arm: ArmEquations, joints: Sequence[str], cables: WristCables, friction: bool) -> None:
        graph = arm.graph
        self.rows = [joints.index(name) for name in CABLE_JOINTS]
        self._arm, self._cables, self._C = arm, cables, np.linalg.inv(cables.stiffness)
        self._friction = cables.friction * friction
        self._motors = [graph.input(f"motor@{i}") for i in range(3)]
        self._contacts = [graph.input(f"wrist_contact@{i}") for i in range(3)]
        self.state = [*self._motors, *self._contacts]
        for row, motor in zip(self.rows, self._motors, strict=True):
            arm.measured[row] = motor

    def replace_load(self, effort: list[Node], tau: Sequence[Node], resistance: Sequence[Node]) -> None:
        """Let the joints of the wrist carry the load in `effort` (n), and the motors the pull of the cables.

        tau: efforts of the motors (n). resistance: viscous efforts (n), which `effort` contains.
        """
        graph, S, G = self._arm.graph, self._cables.stiffness, self._cables.coupling
        held = list(resistance)
        self._arm.add_drive_potentials(held)
        self._load = [effort[j] - tau[j] + held[j] for j in self.rows]
        stretch = [r - self._arm.q[j] for r, j in zip(self._pulled(self._motors), self.rows, strict=True)]
        torque = [along(graph, row, stretch) for row in S]
        for column, j in zip(G.T, self.rows, strict=True):
            effort[j] = tau[j] - held[j] - along(graph, column, torque)

    def rest(self, reached: list[Node]) -> list[Node]:
        """Put the wrist's joints into positions `reached` (n) of the motors; returns the next state."""
        graph, C, d = self._arm.graph, self._C, self._cables.presliding
        motors = [reached[j] for j in self.rows]
        r = [x + along(graph, row, self._load) for x, row in zip(self._pulled(motors), C, strict=True)]
        w = [x - s for x, s in zip(r, self._contacts, strict=True)]
        f = _friction_torques(w, C + np.diag(d), self._friction)
        q = [x - along(graph, row, f) for x, row in zip(r, C, strict=True)]
        for j, x in zip(self.rows, q, strict=True):
            reached[j] = x
        return [*motors, *(x - float(c) * y for x, c, y in zip(q, d, f, strict=True))]

    def _pulled(self, motors: Sequence[Node]) -> list[Node]:
        """Positions r = G q_motor of the cables."""
        return [along(self._arm.graph, row, motors) for row in self._cables.coupling]


def _friction_torques(w: Sequence[Node], Q: Array, F: Array) -> list[Node]:
    """Friction torques (3) of contacts at a distance w (3): of all patterns of sliding the one that fits best."""
    graph = w[0].graph
    (K, k), (U, u) = (tuple(x[0] for x in maps) for maps in friction_solutions(Q[None], F[None]))
    U, u = U.reshape(27, 3, 3), u.reshape(27, 3)
    torques, misfit = [graph.zero] * 3, graph.zero
    for p, pattern in enumerate(PATTERNS):
        torque = [along(graph, row, w) + float(c) for row, c in zip(K[p], k[p], strict=True)]
        worst: Node | None = None
        for sticks, row, c in zip(pattern == 0, U[p], u[p], strict=True):
            value = along(graph, row, w) + float(c)
            value = absolute(value) - 1.0 if sticks else value
            worst = value if worst is None else maximum(worst, value)
        assert worst is not None
        if p == 0:
            torques, misfit = torque, worst
            continue
        better = above(misfit, worst)
        torques = [old + better * (new - old) for old, new in zip(torques, torque, strict=True)]
        misfit = misfit + better * (worst - misfit)
    return torques
