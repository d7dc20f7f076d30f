"""A batch of scenes in MuJoCo's own engine, in double precision on the threads of the processor."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence

import mujoco
import mujoco.batch
import numpy as np
from scipy.spatial.transform import Rotation

from trocar.batch.worlds.layout import SceneLayout
from trocar.batch.worlds.motor_table import MotorTable, varied_fields
from trocar.batch.worlds.status import BEYOND_STOP, CONSTRAINTS, CONTACTS, DIVERGED
from trocar.batch.worlds.threaded_control import ThreadedControl
from trocar.batch.worlds.world_values import each_row
from trocar.batch.worlds.wrist_arrays import nearest_joints, tip_poses, wrist_of
from trocar.errors import TrocarError
from trocar.laws.slip import SolidPairs
from trocar.spatial import Array, Values

# Evaluations of a line search. Where MuJoCo's 50 do not suffice, the solver stops far from the solution; an `Engine`
# repeats such a step, a batch cannot.
LINE_SEARCH = 200
# Warnings of a world that has diverged. MuJoCo replaces efforts above 1e10 by zeros, with the last one.
BAD = [
    *(mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC),
    mujoco.mjtWarning.mjWARN_BADCTRL,
]


class ThreadedWorlds(ThreadedControl):
    """State, motors and contacts of n worlds; the attributes of `WarpWorlds` as NumPy arrays."""

    def __init__(
        self,
        layouts: Sequence[SceneLayout],
        n: int,
        *,
        threads: int = 0,
        fields: Mapping[str, Array] | None = None,
    ) -> None:
        self.layout, model = layouts[0], layouts[0].model
        super().__init__(MotorTable.of(layouts), n, model.nq, model.nv, float(model.opt.timestep))
        model = copy.copy(model)
        model.opt.ls_iterations = LINE_SEARCH
        self._batch, self._process = mujoco.batch.Batch(model, n, threads, persistent=True), os.getpid()
        for name, values in (varied_fields(layouts) | dict(fields or {})).items():
            self._batch.expand(name)[...] = values[np.arange(n) % len(values)]
        self.qpos, self.qvel = self._batch.bind("qpos"), self._batch.bind("qvel")
        self._ctrl, self._applied = self._batch.bind("ctrl"), self._batch.bind("qfrc_applied")
        self._qacc = self._batch.bind("qacc")
        self._pairs = SolidPairs.of(model)
        self._warned = np.zeros(n, dtype=int)
        self.qpos_start = np.repeat(self.layout.qpos[None], n, axis=0)
        self.qvel_start = np.repeat(self.layout.qvel[None], n, axis=0)
        self.reset()

    def put(self, values: Values) -> Array:
        """An array of this backend."""
        return np.asarray(values)

    def reset(self, mask: Array | None = None) -> None:
        """Start the masked worlds (n,) at `qpos_start` and `qvel_start`, with controllers at rest there."""
        self._check_process()
        chosen = np.arange(self.n) if mask is None else np.flatnonzero(mask)
        self._batch.reset(chosen, stage=mujoco.mjtStage.mjSTAGE_NONE)
        self.qpos[chosen], self.qvel[chosen] = self.qpos_start[chosen], self.qvel_start[chosen]
        self._place(chosen, self.qpos[chosen], self.qvel[chosen])
        self._warned[chosen] = self._warnings()[chosen]
        self._set_slip()
        self._batch.forward(chosen)

    def place(self, body: int, poses: Array, mask: Array | None = None) -> None:
        """Put a fixed body of the masked worlds at poses (1 or n, 7), position and quaternion."""
        poses = np.broadcast_to(poses, (self.n, 7))
        chosen = slice(None) if mask is None else mask
        self._batch.expand("body_pos")[chosen, body] = poses[chosen, :3]
        self._batch.expand("body_quat")[chosen, body] = poses[chosen, 3:]

    def conditioned_field(self, name: str, values: Array) -> Array:
        """Values (k, ...) of a field of a `Scene`'s model as these worlds have them: the same."""
        return values

    def field(self, name: str) -> Array:
        """Values (n, ...) of a field of MuJoCo's model that every world has for itself."""
        return np.asarray(self._batch.expand(name))

    def step(self, steps: int = 1) -> None:
        """Advance all worlds."""
        self._check_process()
        with np.errstate(over="ignore", invalid="ignore"):  # numbers of worlds that diverge, which `status` names
            for _ in range(steps):
                self._ctrl[...] = self._efforts()
                self._applied[...] = self._friction(self.qpos)
                self._set_slip()
                self._batch.step()
                self._measure(self.qpos, self.qvel)
                self._guard()

    def _check_process(self) -> None:
        """Raise an error in a fork, which has no threads of the batch and would wait for them forever."""
        if os.getpid() != self._process:
            raise TrocarError("a forked process has no threads of the batch; make it in the process that steps it")

    def _set_slip(self) -> None:
        """Set the rates at which solids brake slip, to those of the current velocities."""
        pairs = self._pairs
        if pairs.pair.size:
            friction = self._batch.expanded("pair_friction")
            friction = self.layout.model.pair_friction if friction is None else friction
            rates = pairs.rates(self.qvel, friction[..., pairs.first, 0])
            self._batch.expand("pair_solreffriction")[:, pairs.pair, 1] = -rates

    def _warnings(self) -> Array:
        return self._counts()[:, [int(kind) for kind in BAD]].sum(axis=1)

    def _counts(self) -> Array:
        """Numbers (n, kinds) of MuJoCo's warnings; each has its last value and its number."""
        return np.asarray(self._batch.warning)[..., 1]

    def _guard(self) -> None:
        sound = np.linalg.norm(self._qacc, axis=1) < self.layout.runaway  # False for NaN
        stops = self.table.stops
        q = self.qpos[:, self.table.stop_rows]
        beyond = ~((q > stops[:, 0]) & (q < stops[:, 1])).all(axis=1)
        full = self._counts() > 0
        self.status |= np.where(sound & (self._warnings() == self._warned), 0, DIVERGED).astype(np.int32)
        self.status |= np.where(beyond, BEYOND_STOP, 0).astype(np.int32)
        self.status |= np.where(full[:, int(mujoco.mjtWarning.mjWARN_CONTACTFULL)], CONTACTS, 0).astype(np.int32)
        self.status |= np.where(full[:, int(mujoco.mjtWarning.mjWARN_CNSTRFULL)], CONSTRAINTS, 0).astype(np.int32)

    def read(self) -> tuple[Array, Array]:
        """Joints and joint velocities (n, N) of all arms."""
        return each_row(self._D[0], self.qpos), each_row(self._D[1], self.qvel)

    def touch(self) -> Array:
        """Parts of arms that touched objects (n, arms, objects) in the last step: bits 1, 2 fingers, 4 others."""
        table = self.table
        touched = np.zeros((self.n, len(self.layout.arms), max(1, len(self.layout.objects))), dtype=np.int32)
        for w in range(self.n):
            for a, b in self._batch.get_data(w).contact.geom.tolist():
                for finger, other in ((a, b), (b, a)):
                    if finger >= 0 and other >= 0 and table.thing[other] >= 0:
                        touched[w, :, table.thing[other]] |= table.finger[:, finger]
        return touched

    def contact_force(self) -> Array:
        """Forces (n, arms, 3) of objects on every instrument in the last step, world axes [N]."""
        member, forces = self.table.member, np.zeros((self.n, len(self.layout.arms), 3))
        local = np.zeros(6)
        for w in range(self.n):
            data = self._batch.get_data(w)
            for k, (first, second) in enumerate(data.contact.geom.tolist()):
                if first < 0 or second < 0 or data.contact.efc_address[k] < 0:
                    continue
                mujoco.mj_contactForce(self.layout.model, data, k, local)
                force = data.contact.frame[k].reshape(3, 3).T @ local[:3]
                for a in range(len(member)):
                    if member[a, first] == 2 and member[a, second] == 0:
                        forces[w, a] -= force
                    elif member[a, second] == 2 and member[a, first] == 0:
                        forces[w, a] += force
        return forces

    def contacts(self, world: int) -> int:
        """Number of contacts of a world in the last step."""
        return int(self._batch.get_data(world).ncon)

    def snapshot(self) -> dict[str, Array]:
        """Copies of the state of all worlds and their controllers."""
        return {"state": self._batch.state.copy()} | {name: array.copy() for name, array in self._memory().items()}

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Continue from a snapshot of this batch."""
        self._batch.state[...] = saved["state"]
        self._recall(dict(saved))

    def synchronize(self) -> None:
        """Wait for nothing: steps are done when they return."""

    def move_tips(self, arm: str, increments: Array, duration: float) -> None:
        """Tip increments (n, 7) of an arm as references of its servo over a duration [s]."""
        facts, part = self.layout.arms[arm], self.table.columns[arm]
        start = self.commanded[:, part]
        T = tip_poses(np, wrist_of(facts), facts.T_world_base, start)
        T[:, :3, 3] += increments[:, :3]
        T[:, :3, :3] = Rotation.from_rotvec(increments[:, 3:6].copy()).as_matrix() @ T[:, :3, :3]
        q, exists = nearest_joints(facts, T, start[:, :6])
        end = start + increments[:, 6:] * (np.arange(7) == 6)
        end[exists, :6] = q[exists]
        inverse = self.table.motor_from_joint[arm]
        self.ref[:, part], self.rate[:, part] = each_row(inverse, start), each_row(inverse, end - start) / duration
        self.commanded[:, part] = end
