"""Many scenes with contact at once, stepped in lockstep: threads of the processor, or worlds of MuJoCo Warp on a GPU.

worlds = batch.SceneBatch(scene, 4096, backend="warp")
worlds.servo("PSM1", q)                      # the dVRK's PID follows q (n, joints)
worlds.step(30)
worlds.q["PSM1"], worlds.poses["needle"]     # (n, joints), (n, 7)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.batch.worlds.layout import SceneLayout, layouts
from trocar.batch.worlds.reference_waves import Waves
from trocar.batch.worlds.status import (
    BOTH_FINGERS,
    COMPUTED_TORQUE,
    EXERT,
    FAILURES,
    JOINT_PD,
    RAW,
    SERVO,
    WorldError,
)
from trocar.batch.worlds.torque_law import TorqueLaw
from trocar.batch.worlds.wrist_arrays import wrist_of
from trocar.errors import TrocarError, check_known
from trocar.spatial import Array

if TYPE_CHECKING:
    from trocar.mechanics import Mechanism
    from trocar.simulation import Scene, Simulator

BACKENDS = ("threads", "warp")
MAX_WORLDS = 1_000_000
MAX_STEPS = 100_000


class SceneBatch:
    """n copies of a scene of any arms and rigid objects, with contact, Dahl friction and the dVRK's servos.

    Arrays are NumPy's with threads, in double precision, and Warp's on the device with Warp, in float32: they have
    `.numpy()`, and `torch.from_dlpack` and `jax.dlpack.from_dlpack` take them without a copy.

    Args:
        scene: a `Scene` or `Simulator` in its starting state, or several that differ in parameters only: world k has
            those of scene k modulo their number. Draw them from an identification's covariance, for example.
        n: number of worlds. backend: "threads" or "warp".
        threads: of backend "threads". Default: all processors. device: of Warp, such as "cuda:0" or "cpu".
            Default: the first GPU.
        fields: values (n, ...) of MuJoCo's model of every world by MuJoCo's names, such as body_mass or geom_friction.
        max_contacts, max_constraints: on Warp, contacts per world on average, and constraint rows of each world.

    Attributes:
        worlds: the backend, with its arrays. layout: rows of arms and objects.

    On Warp poses of bodies are computed in double precision, all else in float32. The loops of an arm are 100 times
    softer than in a `Scene`, and friction weighs at most 5 times the normal force (`impratio`), as much as float32 can
    factorise.
    """

    def __init__(
        self,
        scene: Scene | Simulator | SceneLayout | Sequence[Scene | SceneLayout],
        n: int,
        *,
        backend: str = "threads",
        threads: int | None = None,
        device: str | None = None,
        fields: Mapping[str, ArrayLike] | None = None,
        max_contacts: int | None = None,
        max_constraints: int | None = None,
    ) -> None:
        check_known("backend", BACKENDS, backend)
        self.n, self.backend = checks.count("n", n, high=MAX_WORLDS), backend
        loaded = layouts(scene)
        self.layout = loaded[0]
        own = {name: self._checked_field(name, values) for name, values in (fields or {}).items()}
        self.worlds: Any
        if backend == "threads":
            from trocar.batch.worlds.threaded_worlds import ThreadedWorlds

            for name, value in (
                ("device", device),
                ("max_contacts", max_contacts),
                ("max_constraints", max_constraints),
            ):
                if value is not None:
                    raise TrocarError(f"{name} belongs to backend='warp'; with threads memory grows as needed")
            count = 0 if threads is None else checks.count("threads", threads, high=1024)
            self.worlds = ThreadedWorlds(loaded, self.n, threads=count, fields=own)
        else:
            from trocar.batch.worlds.warp_worlds import MAX_CONSTRAINTS, MAX_CONTACTS, WarpWorlds

            if threads is not None:
                raise TrocarError("threads belongs to backend='threads'")
            self.worlds = WarpWorlds(
                loaded,
                self.n,
                device=device,
                fields=own,
                max_contacts=MAX_CONTACTS if max_contacts is None else checks.count("max_contacts", max_contacts),
                max_constraints=MAX_CONSTRAINTS
                if max_constraints is None
                else checks.count("max_constraints", max_constraints),
            )
        self._columns = self.worlds.table.columns
        self._modes = self.numpy(self.worlds.mode)  # of the motors, known without asking the device
        self._scaled: dict[int, dict[str, Array]] = {}  # gains of the PID by first motor, where `tune` has changed them

    @property
    def timestep(self) -> float:
        """[s]."""
        return float(self.worlds.dt)

    @property
    def q(self) -> dict[str, Any]:
        """Joint positions (n, joints) of every arm [rad, m]."""
        return self._split(self.worlds.read()[0])

    @property
    def dq(self) -> dict[str, Any]:
        """Joint velocities (n, joints) of every arm [rad/s, m/s]."""
        return self._split(self.worlds.read()[1])

    @property
    def poses(self) -> dict[str, Any]:
        """Poses (n, 7) of the free objects in the world: position [m] and quaternion wxyz."""
        qpos = self.worlds.qpos if self.backend == "threads" else self.worlds.d.qpos
        return {name: qpos[:, o.q : o.q + 7] for name, o in self.layout.objects.items() if o.q >= 0}

    @property
    def status(self) -> Array:
        """Bits (n,) of what went wrong in every world since its reset; see `trocar.batch.worlds.status`."""
        return self.numpy(self.worlds.status)

    def numpy(self, array: Any) -> Array:
        """An array of this batch in NumPy."""
        return np.array(array if isinstance(array, np.ndarray) else array.numpy())

    def reset(
        self,
        mask: ArrayLike | None = None,
        q: Mapping[str, ArrayLike] | None = None,
        dq: Mapping[str, ArrayLike] | None = None,
        poses: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        """Start the masked worlds (n,) again, with controllers at rest; Dahl friction is relaxed.

        Args:
            q, dq: joints and rates (n, joints) or (joints,) by arm. Default: the last start.
            poses: (n, 7) or (7,) of objects by name, position and quaternion; fixed objects can be placed as well.
        """
        worlds = self.worlds
        chosen = np.ones(self.n, dtype=bool) if mask is None else np.asarray(self._host(mask)).astype(bool)
        if chosen.shape != (self.n,):
            raise TrocarError(f"mask must have shape ({self.n},), got {chosen.shape}")
        qpos, qvel = self.numpy(worlds.qpos_start), self.numpy(worlds.qvel_start)
        for name in (*(q or {}), *(dq or {})):
            check_known("arm of the scenes", self.layout.arms, name)
        for values, start, rows in ((q, qpos, "q"), (dq, qvel, "v")):
            for name, joints in (values or {}).items():
                arm = self.layout.arms[name]
                row = slice(*getattr(arm, rows))
                start[chosen, row] = (self._rows(name, joints, arm.n) @ arm.E.T)[chosen]
        for name, places in (poses or {}).items():
            check_known("object of the scenes", self.layout.objects, name)
            placed, rows7 = self.layout.objects[name], self._rows(name, places, 7)
            if placed.q >= 0:
                qpos[chosen, placed.q : placed.q + 7], qvel[chosen, placed.v : placed.v + 6] = rows7[chosen], 0.0
            else:
                worlds.place(placed.body, worlds.put(rows7), worlds.put(chosen))
        if self.backend == "threads":
            worlds.qpos_start, worlds.qvel_start = qpos, qvel
        else:
            worlds.qpos_start.assign(qpos)
            worlds.qvel_start.assign(qvel)
        worlds.reset(worlds.put(chosen))

    def apply(self, arm: str, efforts: Any, *, limited: bool = False) -> None:
        """Joint efforts (n, joints) [N m, N] from now on; limited: within the motors' limits, as on the dVRK."""
        facts, rows = self._facts(arm), self._rows(arm, efforts, self._facts(arm).n)
        self._command(arm, EXERT if limited else RAW, effort=rows @ facts.coupling)

    def servo(self, arm: str, q: Any, dq: Any = None) -> None:
        """The dVRK's PID follows joints (n, joints) that move at rates dq from now on."""
        inverse = self.worlds.table.motor_from_joint[self._facts(arm).name]
        rate = 0.0 if dq is None else self._rows(arm, dq, len(inverse)) @ inverse.T
        self._command(arm, SERVO, ref=self._rows(arm, q, len(inverse)) @ inverse.T, rate=rate)

    def pd(self, arm: str, q: Any, kp: Any, kd: Any, dq: Any = None) -> None:
        """PD of every joint, kp (q - q_measured) + kd (dq - dq_measured), gains (joints,) or (n, joints)."""
        n, part = self._facts(arm).n, self._columns[self._facts(arm).name]
        self._set_gains(part, kp=self._rows(arm, kp, n), kd=self._rows(arm, kd, n))
        self._command(arm, JOINT_PD, ref=self._rows(arm, q, n), rate=0.0 if dq is None else self._rows(arm, dq, n))

    def tune(self, arm: str, kp: Any = 1.0, ki: Any = 1.0, kd: Any = 1.0) -> None:
        """Scale the gains of the dVRK's PID by factors, one number or one per world (n,), as `Hardware.tune` does."""
        part, own = self._columns[self._facts(arm).name], self.worlds.table.gains
        scaled = {}
        for name, factor in (("kp", kp), ("ki", ki), ("kd", kd)):
            values = checks.real_array(name, self._host(factor))
            if values.shape not in ((), (self.n,)) or not (np.isfinite(values) & (values >= 0.0)).all():
                raise TrocarError(f"{name} must be a factor of at least 0 or ({self.n},) factors, got {values.shape}")
            scaled[name] = np.broadcast_to(values, (self.n,))[:, None] * own[name][part]
        self._scaled[part.start] = scaled
        if not (self._modes[part] == JOINT_PD).any() and not (self._modes[part] == COMPUTED_TORQUE).any():
            self._set_gains(part, **scaled)

    def computed_torque(
        self,
        arm: str,
        model: Mechanism | TorqueLaw,
        q: Any,
        dq: Any = None,
        ddq: Any = None,
        *,
        kp: Any,
        kd: Any,
        friction: bool = False,
        effort: Any = 0.0,
    ) -> None:
        """Computed torque in every step, tau = M (ddq + kd (dq - dq_measured) + kp (q - q_measured)) + c + g [+ f].

        The law is that of `control.ComputedTorque`, cut at the motors' limits. The reference is at q now and moves with
        rates dq that change by ddq; `follow_waves` follows sinusoids.

        Args:
            model: the controller's model, which may differ from those of the worlds: a `Mechanism`, or its `TorqueLaw`.
            q, dq, ddq: (joints,) or (n, joints). kp: [1/s^2]. kd: [1/s], numbers, (joints,) or (n, joints).
            friction: add the model's friction at the reference; a `TorqueLaw` has it or not.
            effort: joint efforts (joints,) or (n, joints) that are added [N m, N].
        """
        n = self._facts(arm).n
        zero = np.zeros(n)
        motion = {"ref": q, "rate": zero if dq is None else dq, "acceleration": zero if ddq is None else ddq}
        self.worlds.waves.pop(arm, None)
        self._compute_torque(arm, model, kp, kd, friction, effort)
        self._command(arm, COMPUTED_TORQUE, **{name: self._rows(arm, rows, n) for name, rows in motion.items()})

    def follow_waves(
        self,
        arm: str,
        model: Mechanism | TorqueLaw,
        waves: Waves,
        *,
        kp: Any,
        kd: Any,
        friction: bool = False,
        effort: Any = 0.0,
    ) -> None:
        """Computed torque along sinusoids of the time since each world's reset; see `computed_torque` and `Waves`."""
        n, names = self._facts(arm).n, ("centre", "size", "rate", "phase")
        arrays = {name: self.worlds.put(self._rows(arm, getattr(waves, name), n).copy()) for name in names}
        self._compute_torque(arm, model, kp, kd, friction, effort)
        self.worlds.waves[arm] = Waves(**arrays, ramp=checks.positive("ramp", waves.ramp, "s"))
        self._set_mode(arm, COMPUTED_TORQUE)
        if self.backend == "warp":
            self.worlds.forget_graphs()

    def _compute_torque(self, arm: str, model: Any, kp: Any, kd: Any, friction: bool, effort: Any) -> None:
        facts = self._facts(arm)
        law = model if isinstance(model, TorqueLaw) else TorqueLaw.of(model, friction=friction)
        if law.n != facts.n:
            raise TrocarError(f"the model of computed torque has {law.n} joints; {arm} has {facts.n}")
        gains = {
            name: self._rows(arm, np.broadcast_to(values, facts.n) if np.ndim(values) == 0 else values, facts.n)
            for name, values in (("kp", kp), ("kd", kd))
        }
        self._set_gains(self._columns[arm], **gains)
        self.worlds.laws[arm] = law
        self._command(arm, None, effort=self._rows(arm, np.zeros(facts.n) + effort, facts.n) @ facts.coupling)
        if self.backend == "warp":
            self.worlds.forget_graphs()

    def tip_increments(self, arm: str, increments: Any, duration: float) -> None:
        """Move the commanded tip of an arm with an offset wrist (PSM) under the dVRK's PID; see `commanded`.

        The servo's reference moves from the commanded joints to the new ones at a constant rate; step this duration.
        Joints beyond their limits are cut there; a pose out of reach leaves the command as it is.

        Args:
            increments: (n, 7): translation along the world's axes [m], rotation vector about them [rad], change of the
                opening of the jaws [rad]. duration: [s].
        """
        wrist_of(self._facts(arm))
        duration = checks.positive("duration", duration, "s")
        on_device = (
            self.backend == "warp" and hasattr(increments, "__dlpack__") and not isinstance(increments, np.ndarray)
        )
        self.worlds.move_tips(arm, increments if on_device else self._rows(arm, increments, 7), duration)
        self._set_mode(arm, SERVO)

    @property
    def commanded(self) -> dict[str, Any]:
        """Joints (n, joints) that tip increments have commanded so far; after a reset, the joints themselves."""
        return self._split(self.worlds.commanded)

    def step(self, steps: int = 1, *, check: bool = True) -> None:
        """Advance all worlds by `steps` timesteps under their commands.

        check: raise `WorldError`, which names the worlds, if any has diverged or has too many contacts. Without it,
        look at `status`.
        """
        self.worlds.step(checks.count("steps", steps, high=MAX_STEPS))
        if check:
            status = self.status
            if (status & FAILURES).any():
                raise WorldError(status)

    def contact_forces(self) -> dict[str, Array]:
        """Forces (n, 3) of objects on every instrument in the last step, world axes [N]."""
        forces = self.numpy(self.worlds.contact_force())
        return {name: forces[:, k] for k, name in enumerate(self.layout.arms)}

    def held(self, arm: str, thing: str) -> Array:
        """Worlds (n,) in which an object touches both fingers of an arm in the last step."""
        check_known("object of the scenes", self.layout.objects, thing)
        touched = self.numpy(self.worlds.touch())
        arms, things = list(self.layout.arms), list(self.layout.objects)
        parts = touched[:, arms.index(self._facts(arm).name), things.index(thing)]
        return np.asarray((parts & BOTH_FINGERS) == BOTH_FINGERS)

    def snapshot(self) -> Any:
        """The state of all worlds and their controllers, for `restore`."""
        return self.worlds.snapshot()

    def restore(self, snapshot: Any) -> None:
        """Continue from a snapshot of this batch."""
        self.worlds.restore(snapshot)

    def _facts(self, arm: str) -> Any:
        check_known("arm of the scenes", self.layout.arms, arm)
        return self.layout.arms[arm]

    def _command(self, arm: str, mode: int | None, **values: Any) -> None:
        part, worlds = self._columns[arm], self.worlds
        for name, rows in values.items():
            whole = self.numpy(getattr(worlds, name))
            whole[:, part] = rows
            self._assign(name, whole)
        if mode is not None:
            self._set_mode(arm, mode)

    def _set_mode(self, arm: str, mode: int) -> None:
        part = self._columns[arm]
        if not (self._modes[part] != mode).any():
            return
        if mode == SERVO and np.isin(self._modes[part], (JOINT_PD, COMPUTED_TORQUE)).any():
            own = self.worlds.table.gains
            self._set_gains(part, **self._scaled.get(part.start, {name: own[name][part] for name in ("kp", "kd")}))
        if self.backend == "warp" and (mode == COMPUTED_TORQUE or (self._modes[part] == COMPUTED_TORQUE).any()):
            self.worlds.forget_graphs()  # captured steps contain the laws of the arms under computed torque
        self._modes[part] = mode
        self._assign("mode", self._modes.copy())

    def _set_gains(self, part: slice, **values: Array) -> None:
        for name, gains in values.items():
            whole = np.broadcast_to(self.numpy(getattr(self.worlds, name)), (self.n, self.layout.model.nu)).copy()
            whole[:, part] = gains
            setattr(self.worlds, name, self.worlds.put(whole))
        if self.backend == "warp":
            self.worlds.forget_graphs()

    def _assign(self, name: str, values: Array) -> None:
        if self.backend == "threads":
            setattr(self.worlds, name, values)
        else:
            getattr(self.worlds, name).assign(values)

    def _split(self, joints: Any) -> dict[str, Any]:
        return {name: joints[:, part] for name, part in self._columns.items()}

    def _host(self, values: Any) -> Any:
        values = values.detach().cpu() if hasattr(values, "detach") else values  # torch, on any device
        return values.numpy() if hasattr(values, "numpy") else values

    def _rows(self, name: str, values: Any, width: int) -> Array:
        array = checks.real_array(f"values of {name}", self._host(values))
        if array.shape not in ((width,), (self.n, width)) or not np.isfinite(array).all():
            raise TrocarError(f"values of {name} must be finite, ({width},) or ({self.n}, {width}), got {array.shape}")
        return np.broadcast_to(array, (self.n, width))

    def _checked_field(self, name: str, values: ArrayLike) -> Array:
        array = checks.real_array(name, values)
        model = self.layout.model
        base: Any = model.opt.gravity if name == "opt.gravity" else getattr(model, name, None)
        shape = (self.n, *np.shape(base))
        if not isinstance(base, np.ndarray) or array.shape != shape or not np.isfinite(array).all():
            raise TrocarError(f"field {name} of MuJoCo's model must be finite numbers {shape}, got {array.shape}")
        return array
