"""Rows of the model that tie points of a needle or thread to material points of a tissue.

A point has, compiled once: a bead with three slides, tied by a tendon equality per axis to the nodes of the tissue,
sum_i w_i(X) q_i - q_bead = -X; a slider on the bead, one slide along the needle with dry friction; and a connect from
the slider to the needle or a rod of its thread. At run time only numbers change: the weights w of the tendons, the
direction of the slider, its friction, and the end of the connect. Every force is thus a row of MuJoCo's solver, and
implicit.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from trocar.simulation.objects.solid import GRIP_SOLIMP, HARD_SOLREF
from trocar.simulation.objects.tissue_grid import TissueGrid
from trocar.spatial import Array

BEAD = 2e-5  # mass of a bead and of a slider [kg]
VISCOUS = 0.05  # damping of a slider [N s/m]: below a millinewton at the speed of a stitch
BEAD_DAMPING = 1e-3  # [N s/m], for beads that are not in use
AXIS, IDLE_FRICTION = np.array([1.0, 0.0, 0.0]), 1e-3  # of a slider that is not in use [N]
# Of the connects, softer than the rest: where two flaps of a wound meet, the thread leaves one and enters the other at
# nearly the same place, and hard constraints there are dependent; the solver then fails to converge.
HOLD_SOLIMP = (0.99, 0.99, 1e-3, 0.5, 2.0)
INERTIA = 1e-9  # [kg m^2]; they do not turn


def add_beads(base: mujoco.MjsBody, name: str, count: int) -> None:
    """Add beads and sliders of `count` points to the body of a tissue, before its nodes."""
    for k in range(count):
        bead = base.add_body(name=f"{name}/bead{k}")
        slider = bead.add_body(name=f"{name}/slider{k}")
        for body in (bead, slider):
            body.gravcomp, body.mass, body.inertia, body.explicitinertial = 1.0, BEAD, [INERTIA] * 3, True
        for axis, along in zip("xyz", np.eye(3), strict=True):
            bead.add_joint(
                name=f"{name}/bead{k}/{axis}",
                type=mujoco.mjtJoint.mjJNT_SLIDE,
                axis=along,
                damping=[BEAD_DAMPING, 0.0, 0.0],
            )
        slide = slider.add_joint(
            name=f"{name}/slider{k}",
            type=mujoco.mjtJoint.mjJNT_SLIDE,
            axis=AXIS,
            damping=[VISCOUS, 0.0, 0.0],
            frictionloss=IDLE_FRICTION,
        )
        slide.solref_friction, slide.solimp_friction = HARD_SOLREF, GRIP_SOLIMP


def add_ties(spec: mujoco.MjSpec, name: str, nodes: Sequence[str], count: int) -> None:
    """Add the constraints of `count` points; nodes: names of the tissue's free nodes."""
    hard = {"solref": HARD_SOLREF, "solimp": GRIP_SOLIMP, "active": False}
    holding = hard | {"solimp": HOLD_SOLIMP}
    for k in range(count):
        for axis in "xyz":
            tendon = spec.add_tendon(name=f"{name}/tie{k}/{axis}", group=5)
            for node in nodes:
                tendon.wrap_joint(f"{node}/{axis}", 1.0)
            tendon.wrap_joint(f"{name}/bead{k}/{axis}", -1.0)
            spec.add_equality(
                name=tendon.name,
                type=mujoco.mjtEq.mjEQ_TENDON,
                objtype=mujoco.mjtObj.mjOBJ_TENDON,
                name1=tendon.name,
                **hard,
            )
        spec.add_equality(
            name=f"{name}/hold{k}",
            type=mujoco.mjtEq.mjEQ_CONNECT,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            name1=name,
            name2=f"{name}/slider{k}",
            data=np.zeros(12),
            **holding,
        )


class PointRows:
    """The rows of all points of a tissue in a compiled model, by the number of the point."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, name: str, grid: TissueGrid, count: int) -> None:
        self._data, self._grid, self.count = data, grid, count
        # views, because every access to an attribute of MuJoCo's model or data builds an array
        self._qpos, self._qvel, self._active = data.qpos, data.qvel, data.eq_active
        self._eq_object, self._eq_data, self._wrap = model.eq_obj1id, model.eq_data, model.wrap_prm
        self._bead = [int(model.joint(f"{name}/bead{k}/x").qposadr[0]) for k in range(count)]
        self._bead_v = [int(model.joint(f"{name}/bead{k}/x").dofadr[0]) for k in range(count)]
        slides = [model.joint(f"{name}/slider{k}") for k in range(count)]
        self._axis = [model.jnt_axis[int(joint.id)] for joint in slides]
        self._friction, self._slide_v = model.dof_frictionloss, [int(joint.dofadr[0]) for joint in slides]
        self._hold = [int(model.equality(f"{name}/hold{k}").id) for k in range(count)]
        self._ties = [[int(model.equality(f"{name}/tie{k}/{a}").id) for a in "xyz"] for k in range(count)]
        tendons = [[int(model.tendon(f"{name}/tie{k}/{a}").id) for a in "xyz"] for k in range(count)]
        # addresses (3, 1) of the weights of the first node
        self._weights = [model.tendon_adr[three][:, None].astype(int) for three in tendons]
        self._all = np.arange(len(grid.nodes))
        # by cell: the mask of its free nodes, and the places of their weights in a tendon
        self._free_nodes: dict[int, tuple[Array, Array]] = {}
        self._cell = [-1] * count  # to whose nodes each bead is tied
        self._column = np.full(model.njnt, -1)  # place of a node's x joint among the weights of a tendon
        self._column[grid.nodes] = np.arange(len(grid.nodes))

    def free(self, k: int) -> None:
        """Take point k out of use, at rest."""
        self.release(k)
        self._qvel[self._bead_v[k] : self._bead_v[k] + 4] = 0.0

    def release(self, k: int) -> None:
        """Make the constraints of point k inactive; its numbers in the model return to fixed values.

        A point that is not in use hardly moves, but its numbers can change the last bits of the solution.
        """
        self._active[[*self._ties[k], self._hold[k]]] = 0
        self._wrap[self._weights[k] + self._all] = 0.0
        self._cell[k] = -1
        self.hold(k, 0, (0.0, 0.0, 0.0))
        self.slide(k, AXIS, IDLE_FRICTION)

    def use(self, k: int, X: Array) -> None:
        """Put point k at the material point X, at rest."""
        self._qvel[self._bead_v[k] : self._bead_v[k] + 4] = 0.0
        self.move(k, X)
        self.activate(k)

    def activate(self, k: int) -> None:
        """Make the constraints of point k act."""
        self._active[[*self._ties[k], self._hold[k]]] = 1

    def tie(self, k: int, X: Array) -> Array:
        """Tie bead k to the material point X; returns where X is now."""
        cell, weights, rest, place = self._grid.located(X)
        if cell != self._cell[k]:
            self._wrap[self._weights[k] + self._all] = 0.0
            self._cell[k] = cell
        if cell not in self._free_nodes:
            joints = self._grid.cell_joints(cell)
            self._free_nodes[cell] = joints >= 0, self._column[joints[joints >= 0]]
        free, columns = self._free_nodes[cell]
        self._wrap[self._weights[k] + columns] = weights[free]
        self._eq_data[self._ties[k], 0] = -rest
        return place

    def move(self, k: int, X: Array) -> None:
        """Tie bead k to the material point X and move it there, with its slider at the origin."""
        first = self._bead[k]
        self._qpos[first : first + 3], self._qpos[first + 3] = self.tie(k, X), 0.0

    def hold(self, k: int, body: int, place: Sequence[float]) -> None:
        """Connect slider k to a place (3,) in the frame of a body of the needle or thread."""
        row = self._hold[k]
        self._eq_object[row] = body
        self._eq_data[row, :6] = (*place, 0.0, 0.0, 0.0)

    def slide(self, k: int, direction: Array, friction: float) -> None:
        """Set direction (3,) in the tissue's frame and dry friction [N] of slider k."""
        self._axis[k][:] = direction
        self._friction[self._slide_v[k]] = friction

    def travel(self, k: int) -> float:
        """Take the travel [m] of slider k in the last step, which returns to its origin."""
        address = self._bead[k] + 3
        travel = float(self._qpos[address])
        self._qpos[address] = 0.0
        return travel

    def forces(self, points: Sequence[int]) -> list[Array]:
        """Forces (3,) of the tissue on the needle or thread at these points in the last step, world axes [N]."""
        if not points:
            return []
        data = self._data
        rows, values = data.efc_id[: data.ne].tolist(), data.efc_force
        forces = []
        for k in points:
            first = rows.index(self._hold[k]) if self._hold[k] in rows else None
            forces.append(np.zeros(3) if first is None else values[first : first + 3].copy())
        return forces
