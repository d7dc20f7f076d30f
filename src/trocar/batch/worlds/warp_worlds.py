"""A batch of scenes in MuJoCo Warp: worlds on one GPU, or on the processor where Warp has no other device."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import mujoco
import numpy as np

from trocar.batch.worlds.layout import SceneLayout
from trocar.batch.worlds.motor_table import MotorTable, varied_fields
from trocar.batch.worlds.wrist_arrays import wrist_of
from trocar.errors import TrocarError
from trocar.spatial import Array, inverse

try:
    import mujoco_warp as mjw
    import warp as wp

    from trocar.batch.worlds import kernels, wrist_kernels
    from trocar.batch.worlds.newton_damping import damped_newton
except ModuleNotFoundError as missing:
    raise TrocarError(f"backend 'warp' needs {missing.name}: pip install 'trocar[gpu]'") from None

setattr(wp.config, "quiet", True)  # noqa: B010 - a module whose stub lacks it
# Contacts per world, on average, and constraint rows of any one world.
MAX_CONTACTS, MAX_CONSTRAINTS = 64, 256
OVERFLOW = {
    "contacts": mjw.OverflowType.BROADPHASE | mjw.OverflowType.NARROWPHASE | mjw.OverflowType.CCD,
    "constraints": mjw.OverflowType.NEFC | mjw.OverflowType.NJMAX_NNZ,
    "iterations": mjw.OverflowType.ITERATIONS,
}
# State of MuJoCo and of the controllers that a snapshot holds.
PHYSICS = ("qpos", "qvel", "qacc_warmstart", "qacc", "ctrl", "qfrc_applied", "time", "cvel", "cdof_dot")
MEMORY = ("ref", "rate", "effort", "integral", "explained", "observer", "applied", "commanded", "z", "s", "status")


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
    loops = (model.eq_type == mujoco.mjtEq.mjEQ_CONNECT) & (model.eq_objtype == mujoco.mjtObj.mjOBJ_SITE)
    anchors = np.concatenate([model.eq_obj1id[loops], model.eq_obj2id[loops]])
    model.body_invweight0[np.unique(model.site_bodyid[anchors])] /= loop_stiffening
    return model


class WarpWorlds:
    """State, motors and contacts of n worlds on a device.

    Attributes:
        n, device, dt: worlds, Warp's device, timestep [s]. table: constants of the motors. m, d: MuJoCo Warp's model
            and data. All arrays below are Warp's, rows are worlds.
        q, dq: (n, N) joints of all arms as last read. mode: (N,) control of every motor, see `kernels`.
        ref, rate, effort: (n, N) of the motors, or of the joints under PD. kp, ki, kd: (1 or n, N).
        commanded: (n, N) joints that tip increments have commanded. applied: (n, N) sums of motor efforts.
        status: (n,) bits.
    """

    q: Any
    dq: Any
    ref: Any
    rate: Any
    effort: Any
    integral: Any
    explained: Any
    observer: Any
    applied: Any
    commanded: Any

    def __init__(
        self,
        layouts: Sequence[SceneLayout],
        n: int,
        *,
        device: str | None = None,
        fields: Mapping[str, Array] | None = None,
        max_contacts: int = MAX_CONTACTS,
        max_constraints: int = MAX_CONSTRAINTS,
    ) -> None:
        self.n, self.device, self.layout = n, device_name(device), layouts[0]
        self.table = table = MotorTable.of(layouts)
        self.dt = float(self.layout.model.opt.timestep)
        with self._memory(f"{n} worlds of {max_contacts} contacts and {max_constraints} constraint rows"):
            self._put(layouts, dict(fields or {}), max_contacts, max_constraints)
            self._allocate(table)
        self._wrists = {
            name: (self._wrist(name), self.put(table.motor_from_joint[name]))
            for name, arm in self.layout.arms.items()
            if arm.wrist is not None
        }
        self._graphs: dict[int, Any] = {}
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
        fields = varied_fields(layouts, lambda x: conditioned(x, self.layout.loop_stiffening)) | own
        for placed in self.layout.objects.values():
            if placed.q < 0:  # a fixed object can be placed in every world
                fields = {k: np.array(getattr(model, k))[None] for k in ("body_pos", "body_quat")} | fields
        sizes = {k: self.n if k in ("body_pos", "body_quat") else len(v) for k, v in fields.items()}
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
        m.opt.warn_overflow = 0  # `status` names the worlds
        self.d = mjw.make_data(model, nworld=self.n, nconmax=contacts, njmax=constraints)

    def _allocate(self, table: MotorTable) -> None:
        n, N, K = self.n, len(table.limit), len(table.B)
        numbers = "q", "dq", "ref", "rate", "effort", "integral", "explained", "observer", "applied", "commanded"
        for name in numbers:
            setattr(self, name, wp.zeros((n, N), dtype=float))
        self.z, self.s = wp.zeros((n, K), dtype=float), wp.zeros((n, K), dtype=float)
        self.status, self.mode = wp.zeros(n, dtype=int), wp.zeros(N, dtype=int)
        self.everywhere = wp.full(n, True, dtype=wp.bool)
        self.kp, self.ki, self.kd = (self.put(table.gains[key][None]) for key in ("kp", "ki", "kd"))
        self._rows = [self.put(getattr(table, key)) for key in ("first_q", "first_v", "first_u", "joints")]
        self._A, self._D, self._coupling = (self.put(x) for x in (table.A, table.D, table.coupling))
        self._servo = [self.put(table.gains[key]) for key in ("deadband", "output")]
        self._servo += [self.put(table.limit), *(self.put(table.gains[key]) for key in ("cutoff", "momentum"))]
        self._dahl = [self.put(x) for x in (table.element_q, table.element_v, table.B)]
        self._dahl += [self.put(x) for x in (table.F, table.slope, table.rate, table.constant)]
        self._stops = self.put(table.stop_rows), self.put(table.stops)
        self._member, self._finger, self._thing = (self.put(x) for x in (table.member, table.finger, table.thing))
        arms, objects = len(self.layout.arms), max(1, len(self.layout.objects))
        self.touched = wp.zeros((n, arms, objects), dtype=int)
        self.forces = wp.zeros((n, arms), dtype=wp.vec3)
        count = self.d.naconmax
        self._each_contact: Any = wp.array(np.arange(count, dtype=np.int32))
        self._contact_forces = wp.zeros(count, dtype=wp.spatial_vector)
        self.qpos_start = self.put(np.repeat(self.layout.qpos[None], n, axis=0))
        self.qvel_start = self.put(np.repeat(self.layout.qvel[None], n, axis=0))

    def put(self, values: Any, dtype: Any = Any) -> Any:
        """An array of the device: float32 or int32 of NumPy's, the memory itself of arrays that have it there."""
        if isinstance(values, wp.array):
            return values
        if hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray):
            return wp.from_dlpack(values)
        array = np.asarray(values)
        kind = array.dtype if array.dtype.kind in "bi" else np.dtype(np.float32)
        kind = np.dtype(np.int32) if kind.kind == "i" else kind
        return wp.array(np.ascontiguousarray(array, dtype=kind), device=self.device, dtype=dtype)

    def launch(self, kernel: Any, dim: Any, *inputs: Any) -> None:
        """Launch a kernel on the device."""
        wp.launch(kernel, dim=dim, inputs=list(inputs), device=self.device)

    def _wrist(self, name: str) -> Any:
        arm = self.layout.arms[name]
        facts, wrist = wrist_of(arm), wrist_kernels.Wrist()
        poses = {"T_world_base": arm.T_world_base, "T_base_world": inverse(arm.T_world_base)}
        poses |= {"T_6_tip": facts.T_6_tip, "T_tip_6": inverse(facts.T_6_tip)}
        poses |= {f"P{k}": T for k, T in enumerate(facts.placements)}
        for key, T in poses.items():
            setattr(wrist, key, wp.mat44(*np.asarray(T, dtype=np.float32).ravel().tolist()))
        wrist.lower, wrist.upper = (wrist_kernels.vec6(*x.tolist()) for x in (facts.lower, facts.upper))
        wrist.roll, wrist.offset, wrist.insertion = facts.roll, facts.offset, facts.insertion
        return wrist

    def move_tips(self, arm: str, increments: Any, duration: float) -> None:
        """Tip increments (n, 7) of an arm as references of its servo over a duration [s]."""
        wrist_of(self.layout.arms[arm])
        wrist, inverse_coupling = self._wrists[arm]
        first = self.table.columns[arm].start
        self.launch(
            wrist_kernels.move_tips,
            self.n,
            *(wrist, first, duration, self.put(increments), inverse_coupling, self.commanded, self.ref, self.rate),
        )

    def reset(self, mask: Any = None) -> None:
        """Start the masked worlds (n,) at `qpos_start` and `qvel_start`, with controllers at rest there."""
        mask = self.everywhere if mask is None else mask
        d, rows = self.d, self._rows
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
        self.launch(
            kernels.reset_control,
            self.ref.shape,
            *(mask, d.qpos, rows[0], self.mode, self._A, self._D),
            *(self.ref, self.rate, self.effort, self.integral, self.explained, self.observer, self.applied),
            self.commanded,
        )
        element_q, _, B = self._dahl[:3]
        if len(self.table.B):
            self.launch(kernels.reset_dahl, self.z.shape, mask, d.qpos, element_q, B, self.z, self.s)

    def place(self, body: int, poses: Any, mask: Any = None) -> None:
        """Put a fixed body of the masked worlds at poses (1 or n, 7), position and quaternion."""
        m = self.m
        mask = self.everywhere if mask is None else mask
        self.launch(kernels.place_bodies, self.n, mask, body, poses, m.body_pos, m.body_quat)
        self._place_geoms(body, mask)

    def _place_geoms(self, body: int, mask: Any) -> None:
        m, d, first = self.m, self.d, int(self.model.body_geomadr[body])
        dim = (self.n, int(self.model.body_geomnum[body]))
        geoms = m.body_pos, m.body_quat, m.geom_pos, m.geom_quat, d.geom_xpos, d.geom_xmat
        self.launch(kernels.place_geoms, dim, mask, body, first, *geoms)

    def field(self, name: str) -> Any:
        """Values (n, ...) of a field of MuJoCo's model that every world has for itself."""
        return getattr(self.m, name)

    def step(self, steps: int = 1) -> None:
        """Advance all worlds; on a GPU as one captured graph."""
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

    def forget_graphs(self) -> None:
        """Capture steps again: an array that they read was replaced."""
        self._graphs.clear()

    def substep(self) -> None:
        """One timestep: references, motors, Dahl friction, MuJoCo."""
        d, rows, N = self.d, self._rows, self.ref.shape
        self.launch(kernels.move_references, N, self.dt, self.mode, self.rate, self.ref)
        self.launch(
            kernels.control_motors,
            N,
            *(self.dt, d.qpos, d.qvel, self.mode, *rows, self._A, self._D, self._coupling),
            *(self.kp, self.ki, self.kd, *self._servo, self.ref, self.rate, self.effort),
            *(self.integral, self.explained, self.observer, self.applied, d.ctrl),
        )
        element_q, element_v, B, F, slope, rate, constant = self._dahl
        self.launch(
            kernels.apply_dahl,
            self.n,
            *(d.qpos, element_q, element_v, B, F, slope, rate, constant, self.z, self.s, d.qfrc_applied),
        )
        with wp.ScopedDevice(self.device), damped_newton():
            mjw.step(self.m, d)

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

    def read(self) -> tuple[Any, Any]:
        """Joints and joint velocities (n, N) of all arms."""
        d, rows = self.d, self._rows
        self.launch(kernels.read_joints, self.q.shape, d.qpos, d.qvel, rows[0], rows[1], self._D, self.q, self.dq)
        return self.q, self.dq

    def update_poses(self) -> None:
        """Bring poses of bodies and sites to the current state: after a step they are those at its start."""
        with wp.ScopedDevice(self.device):
            mjw.kinematics(self.m, self.d)

    def touch(self) -> Any:
        """Fingers (n, arms, objects) that touched every object in the last step: bits 1 left, 2 right."""
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

    def contact_force(self) -> Any:
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

    def snapshot(self) -> dict[str, Any]:
        """Copies of the state of all worlds and their controllers."""
        saved = {name: wp.clone(getattr(self.d, name)) for name in PHYSICS}
        saved |= {f"_{name}": wp.clone(getattr(self, name)) for name in MEMORY}
        return saved

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue from a snapshot of this batch."""
        for name in PHYSICS:
            wp.copy(getattr(self.d, name), saved[name])
        for name in MEMORY:
            wp.copy(getattr(self, name), saved[f"_{name}"])

    def synchronize(self) -> None:
        """Wait until the device has done all that it was asked to."""
        wp.synchronize_device(self.device)


def kernel_cache(folder: str | os.PathLike[str]) -> None:
    """Keep compiled kernels in a folder."""
    wp.config.kernel_cache_dir = os.fspath(folder)


__all__ = ["MAX_CONSTRAINTS", "MAX_CONTACTS", "WarpWorlds", "device_name", "kernel_cache"]
