"""A batch of scenes in MuJoCo Warp: worlds on one GPU, or on the processor where Warp has no other device."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import mujoco
import numpy as np

from trocar.batch.worlds.layout import SceneLayout
from trocar.batch.worlds.motor_table import MotorTable, varied_fields
from trocar.errors import TrocarError
from trocar.laws.slip import SolidPairs
from trocar.spatial import Array, Values

try:
    import warp as wp

    wp.config.log_level = wp.LOG_WARNING  # otherwise Warp prints a line for every kernel
    import mujoco_warp as mjw

    from trocar.batch.worlds import control_kernels, kernels
    from trocar.batch.worlds.exact_kinematics import chains_of, exact_kinematics, loops_of, reset_loops
    from trocar.batch.worlds.newton_damping import damped_newton
    from trocar.batch.worlds.warp_control import WarpControl
except ModuleNotFoundError as missing:
    raise TrocarError(f"backend 'warp' needs {missing.name}: pip install 'trocar[gpu]'") from None

# Contacts per world, on average, and constraint rows of any one world.
MAX_CONTACTS, MAX_CONSTRAINTS = 64, 256
OVERFLOW = {
    "contacts": mjw.OverflowType.BROADPHASE | mjw.OverflowType.NARROWPHASE | mjw.OverflowType.CCD,
    "constraints": mjw.OverflowType.NEFC | mjw.OverflowType.NJMAX_NNZ,
    "iterations": mjw.OverflowType.ITERATIONS,
}
# State of MuJoCo that a snapshot holds.
PHYSICS = ("qpos", "qvel", "qacc_warmstart", "qacc", "ctrl", "qfrc_applied", "time", "cvel", "cdof_dot")


def device_name(device: str | None) -> str:
    """Name of Warp's device; an error says that there is no GPU."""
    wp.init()
    if device is None:
        if not wp.is_cuda_available():
            raise TrocarError(
                "backend 'warp' found no NVIDIA GPU; use backend='threads', or device='cpu' for tests of a few worlds"
            )
        return "cuda:0"
    known = [str(d) for d in wp.get_devices()]
    if device not in known:
        raise TrocarError(f"Warp has no device {device!r}; it has {', '.join(known)}")
    return device


# Largest weight of friction relative to that of the normal force in contacts, and iterations of the solver.
MAX_IMPRATIO, MAX_ITERATIONS = 5.0, 20


def conditioned(model: mujoco.MjModel, loop_stiffening: float) -> mujoco.MjModel:
    """A copy with loops and friction that float32 factorises; see `newton_damping`.

    The loops of an arm weigh 1e7 times its lightest motion, and single precision resolves 1.7e7; they get MuJoCo's own
    weight. Friction of a needle in jaws weighs 50 times the normal force in a `Scene`, 2e7 times the inertia with which
    the needle turns about a finger; with less, the solver converges in half of the iterations.
    """
    model = copy.copy(model)
    model.opt.impratio = min(model.opt.impratio, MAX_IMPRATIO)
    model.opt.iterations = min(model.opt.iterations, MAX_ITERATIONS)
    model.body_invweight0[_anchors(model)] /= loop_stiffening
    return model


def _anchors(model: mujoco.MjModel) -> Array:
    """Bodies that the loops of the arms join."""
    return np.unique(model.site_bodyid[loops_of(model)])


class WarpWorlds(WarpControl):
    """State, motors and contacts of n worlds on a device.

    Attributes:
        n, device, dt: worlds, Warp's device, timestep [s]. table: constants of the motors. m, d: MuJoCo Warp's model
            and data. All arrays are Warp's, rows are worlds.
        q, dq: (n, N) joints of all arms as last read. status: (n,) bits.
    """

    def __init__(
        self,
        layouts: Sequence[SceneLayout],
        n: int,
        *,
        device: str | None = None,
        fields: Mapping[str, Array] | None = None,
        max_contacts: int = MAX_CONTACTS,
        max_constraints: int = MAX_CONSTRAINTS,
        deterministic: bool = False,
    ) -> None:
        self._deterministic = deterministic
        super().__init__(MotorTable.of(layouts), layouts[0], n, device_name(device))
        with self._memory(f"{n} worlds of {max_contacts} contacts and {max_constraints} constraint rows"):
            self._put(layouts, dict(fields or {}), max_contacts, max_constraints)
            self._allocate_control()
            self._allocate(self.table)
        for placed in self.layout.objects.values():
            if placed.q < 0:
                self._place_geoms(placed.body, self.everywhere)
        self.reset()

    @contextmanager
    def _memory(self, what: str) -> Iterator[None]:
        try:
            with wp.ScopedDevice(self.device):
                yield
        except RuntimeError as error:
            if "allocat" not in str(error):
                raise
            raise TrocarError(
                f"the memory of {self.device} does not hold {what}; use fewer worlds, max_contacts or max_constraints"
            ) from None

    def _put(self, layouts: Sequence[SceneLayout], own: dict[str, Array], contacts: int, constraints: int) -> None:
        model = conditioned(self.layout.model, self.layout.loop_stiffening)
        self.model = model
        # AUTORESET and MIDPHASE, which Warp does not know: it never resets by itself
        model.opt.disableflags &= sum(int(bit) for bit in mjw.DisableBit)
        fields = varied_fields(layouts, lambda x: conditioned(x, self.layout.loop_stiffening))
        fields |= {name: self.conditioned_field(name, values) for name, values in own.items()}
        for placed in self.layout.objects.values():
            if placed.q < 0:  # a fixed object can be placed in every world
                fields = {k: np.array(getattr(model, k))[None] for k in ("body_pos", "body_quat")} | fields
        pairs = SolidPairs.of(model)
        if pairs.pair.size:
            fields |= {"pair_solreffriction": np.array(model.pair_solreffriction)[None]}
        of_each = ("body_pos", "body_quat", "pair_solreffriction")
        sizes = {k: self.n if k in of_each else len(v) for k, v in fields.items()}
        options = {name: fields.pop(name) for name in [*fields] if name.startswith("opt.")}
        try:
            self.m = m = mjw.put_model(model, batch_sizes={name: sizes[name] for name in fields})
        except (ValueError, NotImplementedError) as error:
            raise TrocarError(f"MuJoCo Warp cannot run these scenes: {error}") from None
        for name, values in fields.items():
            tiled = np.resize(values, (sizes[name], *values.shape[1:])) if len(values) != sizes[name] else values
            getattr(m, name).assign(tiled.astype(np.float32))
        for name, values in options.items():
            if name != "opt.gravity":
                raise TrocarError(f"the scenes of a batch must agree in {name}")
            m.opt.gravity = wp.array(values.astype(np.float32), dtype=wp.vec3)
        m.opt.deterministic = int(mjw.DeterminismType.ALL if self._deterministic else mjw.DeterminismType.NONE)
        m.opt.warn_overflow = 0  # `status` names the worlds
        self._chains = chains_of(model, self.n, self.device)
        self._solids = (
            self.put(pairs.pair),
            self.put(pairs.dof[:, 0, pairs.between].T),
            self.put(pairs.radius[:, pairs.between].T),
            pairs.fastest,
        )
        self.d = mjw.make_data(model, nworld=self.n, nconmax=contacts, njmax=constraints)

    def _allocate(self, table: MotorTable) -> None:
        n = self.n
        self.status, self.everywhere = wp.zeros(n, dtype=int), wp.full(n, True, dtype=wp.bool)
        self._stops = self.put(table.stop_rows), self.put(table.stops)
        self._member, self._finger, self._thing = (self.put(x) for x in (table.member, table.finger, table.thing))
        arms, objects = len(self.layout.arms), max(1, len(self.layout.objects))
        self.touched = wp.zeros((n, arms, objects), dtype=int)
        self.forces = wp.zeros((n, arms), dtype=wp.vec3)
        count = self.d.naconmax
        self._each_contact: Values = wp.array(np.arange(count, dtype=np.int32))
        self._contact_forces = wp.zeros(count, dtype=wp.spatial_vector)
        self.qpos_start = self.put(np.repeat(self.layout.qpos[None], n, axis=0))
        self.qvel_start = self.put(np.repeat(self.layout.qvel[None], n, axis=0))

    def reset(self, mask: Values = None) -> None:
        """Start the masked worlds (n,) at `qpos_start` and `qvel_start`, with controllers at rest there."""
        mask = self.everywhere if mask is None else mask
        d = self.d
        self.launch(
            kernels.reset_worlds,
            self.n,
            *(mask, self.qpos_start, self.qvel_start, d.qpos, d.qvel, d.qacc_warmstart, d.qacc, d.time),
            *(d.overflow, self.status),
        )
        width = max(self.model.nbody, self.model.nv)
        self.launch(kernels.reset_velocities, (self.n, width), mask, d.cvel, d.cdof_dot)
        efc = d.efc
        self.launch(kernels.reset_constraints, efc.J.shape[:2], mask, efc.J, efc.D, efc.aref, efc.force)
        self.launch(reset_loops, self._chains.residual.shape, mask, self._chains)
        self.launch(kernels.forget_contacts, d.naconmax, mask, d.nacon, d.contact.worldid, d.contact.geom)
        self._place_control(mask, d.qpos, d.qvel)

    def place(self, body: int, poses: Values, mask: Values = None) -> None:
        """Put a fixed body of the masked worlds at poses (1 or n, 7), position and quaternion."""
        m = self.m
        mask = self.everywhere if mask is None else mask
        self.launch(kernels.place_bodies, self.n, mask, body, poses, m.body_pos, m.body_quat)
        self._place_geoms(body, mask)

    def _place_geoms(self, body: int, mask: Values) -> None:
        m, d, first = self.m, self.d, int(self.model.body_geomadr[body])
        dim = (self.n, int(self.model.body_geomnum[body]))
        geoms = m.body_pos, m.body_quat, m.geom_pos, m.geom_quat, d.geom_xpos, d.geom_xmat
        self.launch(kernels.place_geoms, dim, mask, body, first, *geoms)

    def conditioned_field(self, name: str, values: Array) -> Array:
        """Values (k, ...) of a field of a `Scene`'s model as these worlds have them: with softer loops."""
        if name != "body_invweight0":
            return values
        weights = np.array(values, dtype=float)
        weights[:, _anchors(self.model)] /= self.layout.loop_stiffening
        return weights

    def array(self, name: str) -> Values:
        return getattr(self.d if name in ("qpos", "qvel") else self, name)

    def field(self, name: str) -> Values:
        """Values (n, ...) of a field of MuJoCo's model that every world has for itself."""
        return getattr(self.m, name)

    def step(self, steps: int = 1) -> None:
        """Advance all worlds; on a GPU as one captured graph."""
        if not self._graphs:
            self._read_modes()
        if not wp.get_device(self.device).is_cuda:
            for _ in range(steps):
                self.substep()
            self._guard()
            return
        if steps not in self._graphs:
            before = self.snapshot()
            self.substep()  # loads all kernels, which a capture cannot
            self._guard()
            self.restore(before)
            with wp.ScopedDevice(self.device), wp.ScopedCapture() as capture:
                for _ in range(steps):
                    self.substep()
                self._guard()
            self._graphs[steps] = capture.graph
        wp.capture_launch(self._graphs[steps])

    def substep(self) -> None:
        """One timestep: references, motors, Dahl friction, MuJoCo, sensors."""
        m, d = self.m, self.d
        self._act(d.qpos, d.ctrl, d.qfrc_applied)
        slip = d.qvel, m.pair_friction, m.pair_solreffriction
        self.launch(kernels.set_slip, (self.n, len(self._solids[0])), *self._solids, *slip)
        with wp.ScopedDevice(self.device), damped_newton(), exact_kinematics(self._chains):
            mjw.step(m, d)
        self._measure(d.qpos, d.qvel)

    def _guard(self) -> None:
        d = self.d
        bits = (int(OVERFLOW[key]) for key in ("contacts", "constraints", "iterations"))
        self.launch(
            kernels.guard_worlds,
            self.n,
            self.layout.runaway,
            d.qacc,
            d.qpos,
            *self._stops,
            d.overflow,
            *bits,
            self.status,
        )

    def read(self) -> tuple[Values, Values]:
        """Joints and joint velocities (n, N) of all arms."""
        d = self.d
        self.launch(control_kernels.read_joints, self.q.shape, self._motors, d.qpos, d.qvel, self.q, self.dq)
        return self.q, self.dq

    def touch(self) -> Values:
        """Parts of arms that touched objects (n, arms, objects) in the last step: bits 1, 2 fingers, 4 others."""
        d = self.d
        self.touched.zero_()
        dim = (d.naconmax, len(self.layout.arms))
        self.launch(
            kernels.note_touched,
            dim,
            d.nacon,
            d.contact.worldid,
            d.contact.geom,
            self._finger,
            self._thing,
            self.touched,
        )
        return self.touched

    def contact_force(self) -> Values:
        """Forces (n, arms) of objects on every instrument in the last step, world axes [N]."""
        d = self.d
        self.forces.zero_()
        with wp.ScopedDevice(self.device):
            mjw.contact_force(self.m, d, self._each_contact, True, self._contact_forces)
        dim = (d.naconmax, len(self.layout.arms))
        self.launch(
            kernels.sum_contacts,
            dim,
            *(d.nacon, d.contact.worldid, d.contact.geom, self._contact_forces, self._member, self.forces),
        )
        return self.forces

    def snapshot(self) -> dict[str, Values]:
        """Copies of the state of all worlds and their controllers."""
        return {name: wp.clone(array) for name, array in self._state().items()}

    def restore(self, saved: Mapping[str, Values]) -> None:
        """Continue from a snapshot of this batch."""
        for name, array in self._state().items():
            wp.copy(array, saved[name])

    def _state(self) -> dict[str, Values]:
        arrays = {name: getattr(self.d, name) for name in PHYSICS} | self._control_arrays()
        return arrays | {"status": self.status, "loops": self._chains.residual}

    def synchronize(self) -> None:
        """Wait until the device has done all that it was asked to."""
        wp.synchronize_device(self.device)


def kernel_cache(folder: str | os.PathLike[str]) -> None:
    """Keep compiled kernels in a folder."""
    wp.config.kernel_cache_dir = os.fspath(folder)


__all__ = ["MAX_CONSTRAINTS", "MAX_CONTACTS", "WarpWorlds", "device_name", "kernel_cache"]
