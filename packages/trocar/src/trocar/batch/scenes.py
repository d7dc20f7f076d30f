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
from trocar.batch.worlds.batch_snapshot import BatchSnapshot, digest
from trocar.batch.worlds.layout import ArmLayout, SceneLayout, layouts
from trocar.batch.worlds.motor_table import varied_fields
from trocar.batch.worlds.reference_waves import WAVES, Waves
from trocar.batch.worlds.scene_worlds import SceneWorlds, is_elsewhere
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
from trocar.batch.worlds.world_values import (
    check_starts,
    each_row,
    model_field,
    on_host,
    world_mask,
    world_poses,
    world_rows,
)
from trocar.batch.worlds.wrist_arrays import wrist_of
from trocar.errors import TrocarError, check_known, check_type
from trocar.spatial import Array, Values

if TYPE_CHECKING:
    from trocar.mechanics import Mechanism
    from trocar.simulation import Scene, Simulator

BACKENDS = ("threads", "warp")
MAX_WORLDS = 1_000_000
MAX_STEPS = 100_000
GAINS = ("kp", "ki", "kd")


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
        deterministic: two runs give the same bits, also on a GPU, whose sums have no order otherwise; slower there.

    Commands take NumPy's arrays, which are checked, and arrays of the device, such as tensors of torch, of which only
    the shape is checked: they stay where they are.

    Attributes:
        worlds: the backend, with its arrays. layout: rows of arms and objects. columns: of the joints by arm, in arrays
            of all arms.

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
        deterministic: bool = False,
    ) -> None:
        check_known("backend", BACKENDS, backend)
        self.n, self.backend = checks.count("n", n, high=MAX_WORLDS), backend
        loaded = layouts(scene)
        self.layout = loaded[0]
        model = self.layout.model
        if fields is not None:
            check_type("fields", fields, Mapping, "a dictionary of fields of MuJoCo's model")
        own = {name: model_field(model, name, values, self.n) for name, values in (fields or {}).items()}
        limits = {"max_contacts": max_contacts, "max_constraints": max_constraints}
        self.worlds: SceneWorlds
        checks.flag("deterministic", deterministic)
        if backend == "threads":
            from trocar.batch.worlds.threaded_worlds import ThreadedWorlds

            for name, value in {"device": device, **limits}.items():
                if value is not None:
                    raise TrocarError(f"{name} belongs to backend='warp'; leave it out with threads")
            count = 0 if threads is None else checks.count("threads", threads, high=1024)
            self.worlds = ThreadedWorlds(loaded, self.n, threads=count, fields=own)
        else:
            from trocar.batch.worlds.warp_worlds import WarpWorlds

            if threads is not None:
                raise TrocarError("threads belongs to backend='threads'; leave it out with warp")
            sizes = {name: checks.count(name, value) for name, value in limits.items() if value is not None}
            self.worlds = WarpWorlds(loaded, self.n, device=device, fields=own, deterministic=deterministic, **sizes)
        self.columns = self.worlds.table.columns
        self._size = backend, self.n, int(model.nq), int(model.nu)
        table = self.worlds.table
        self._parameters = digest([model, model.opt, table, table.gains, varied_fields(loaded), own])
        self._modes = self.numpy(self.worlds.mode)  # of the motors, known without asking the device
        self._scaled: dict[int, dict[str, Array]] = {}  # gains of the PID by first motor, where `tune` has changed them

    @property
    def timestep(self) -> float:
        """[s]."""
        return float(self.worlds.dt)

    @property
    def q(self) -> dict[str, Values]:
        """Joint positions (n, joints) of every arm [rad, m]."""
        return self._split(self.worlds.read()[0])

    @property
    def dq(self) -> dict[str, Values]:
        """Joint velocities (n, joints) of every arm [rad/s, m/s]."""
        return self._split(self.worlds.read()[1])

    @property
    def measured_q(self) -> dict[str, Values]:
        """Joint positions (n, joints) of every arm as its encoders report them [rad, m]."""
        return self._split(self.worlds.joints()[0])

    @property
    def poses(self) -> dict[str, Values]:
        """Poses (n, 7) of the free objects in the world: position [m] and quaternion wxyz."""
        qpos = self.worlds.array("qpos")
        return {name: qpos[:, o.q : o.q + 7] for name, o in self.layout.objects.items() if o.q >= 0}

    @property
    def status(self) -> Array:
        """Bits (n,) of what went wrong in every world since its reset; see `trocar.batch.worlds.status`."""
        return self.numpy(self.worlds.status)

    def numpy(self, array: Values) -> Array:
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
        worlds, chosen = self.worlds, world_mask(mask, self.n)
        qpos, qvel = self.numpy(worlds.array("qpos_start")), self.numpy(worlds.array("qvel_start"))
        for name, joints in (q or {}).items():
            arm, rows = self._facts(name), self._host(name, "q", joints)
            check_starts(name, rows[chosen], arm.lower, arm.upper)
            qpos[chosen, slice(*arm.q)] = each_row(arm.E, rows[chosen])
        for name, rates in (dq or {}).items():
            arm = self._facts(name)
            qvel[chosen, slice(*arm.v)] = each_row(arm.E, self._host(name, "dq", rates)[chosen])
        fixed = []
        for name, places in (poses or {}).items():
            check_known("object of the scenes", self.layout.objects, name)
            placed, rows = self.layout.objects[name], world_poses(name, places, self.n)
            if placed.q >= 0:
                qpos[chosen, placed.q : placed.q + 7], qvel[chosen, placed.v : placed.v + 6] = rows[chosen], 0.0
            else:
                fixed.append((placed.body, rows))
        for body, rows in fixed:  # once all values are checked
            worlds.place(body, worlds.put(rows), worlds.put(chosen))
        worlds.assign("qpos_start", qpos)
        worlds.assign("qvel_start", qvel)
        worlds.reset(worlds.put(chosen))

    def apply(self, arm: str, efforts: Values, *, limited: bool = False) -> None:
        """Joint efforts (n, joints) [N m, N] from now on; limited: within the motors' limits, as on the dVRK."""
        rows = self._rows(arm, "efforts", efforts)
        self._command(arm, EXERT if limited else RAW, self._facts(arm).coupling.T, effort=rows)

    def servo(self, arm: str, q: Values, dq: Values = None) -> None:
        """The dVRK's PID follows joints (n, joints) that move at rates dq from now on."""
        inverse = self.worlds.table.motor_from_joint[self._facts(arm).name]
        self._command(arm, SERVO, inverse, ref=self._rows(arm, "q", q), rate=self._rates(arm, "dq", dq))

    def pd(self, arm: str, q: Values, kp: Values, kd: Values, dq: Values = None) -> None:
        """PD of every joint, kp (q - q_measured) + kd (dq - dq_measured), gains (joints,) or (n, joints)."""
        gains = {"kp": self._host(arm, "kp", kp), "kd": self._host(arm, "kd", kd)}
        motion = {"ref": self._rows(arm, "q", q), "rate": self._rates(arm, "dq", dq)}
        self._set_gains(self.columns[arm], **gains)
        self._command(arm, JOINT_PD, None, **motion)

    def tune(self, arm: str, kp: Values = 1.0, ki: Values = 1.0, kd: Values = 1.0) -> None:
        """Scale the gains of the dVRK's PID by factors, one number or one per world (n,), as `Hardware.tune` does."""
        part, own = self.columns[self._facts(arm).name], self.worlds.table.gains
        scaled = {}
        for name, factor in (("kp", kp), ("ki", ki), ("kd", kd)):
            values = checks.real_array(name, on_host(factor))
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
        q: Values,
        dq: Values = None,
        ddq: Values = None,
        *,
        kp: Values,
        kd: Values,
        friction: bool = False,
        effort: Values = 0.0,
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
        motion = {"ref": self._rows(arm, "q", q)}
        motion |= {"rate": self._rates(arm, "dq", dq), "acceleration": self._rates(arm, "ddq", ddq)}
        self._compute_torque(arm, model, kp, kd, friction, effort)
        self.worlds.waves.pop(arm, None)
        self._command(arm, COMPUTED_TORQUE, None, **motion)

    def follow_waves(
        self,
        arm: str,
        model: Mechanism | TorqueLaw,
        waves: Waves,
        *,
        kp: Values,
        kd: Values,
        friction: bool = False,
        effort: Values = 0.0,
    ) -> None:
        """Computed torque along sinusoids of the time since each world's reset; see `computed_torque` and `Waves`."""
        check_type("waves", waves, Waves, "Waves")
        arrays = {name: self.worlds.put(self._host(arm, name, getattr(waves, name)).copy()) for name in WAVES}
        own = Waves(**arrays, ramp=checks.positive("ramp", waves.ramp, "s"))
        self._compute_torque(arm, model, kp, kd, friction, effort)
        self.worlds.waves[arm] = own
        self._set_mode(arm, COMPUTED_TORQUE)
        self.worlds.changed()

    def _compute_torque(self, arm: str, model: Any, kp: Values, kd: Values, friction: bool, effort: Values) -> None:
        facts = self._facts(arm)
        law = model if isinstance(model, TorqueLaw) else TorqueLaw.of(model, friction=friction)
        if law.n != facts.n:
            raise TrocarError(f"the model of computed torque has {law.n} joints; {arm} has {facts.n}")
        gains = {name: self._host(arm, name, values, or_number=True) for name, values in (("kp", kp), ("kd", kd))}
        added = self._host(arm, "effort", effort, or_number=True)
        self._set_gains(self.columns[arm], **gains)
        self.worlds.laws[arm] = law
        self.worlds.write("effort", self.columns[arm], added, facts.coupling.T)
        self.worlds.changed()

    def tip_increments(self, arm: str, increments: Values, duration: float) -> None:
        """Move the commanded tip of an arm with an offset wrist (PSM) under the dVRK's PID; see `commanded`.

        The servo's reference moves from the commanded joints to the new ones at a constant rate; step this duration.
        Joints beyond their limits are cut there; a pose out of reach leaves the command as it is.

        Args:
            increments: (n, 7): translation along the world's axes [m], rotation vector about them [rad], change of the
                opening of the jaws [rad]. duration: [s].
        """
        wrist_of(self._facts(arm))
        duration = checks.positive("duration", duration, "s")
        self.worlds.move_tips(arm, self._numbers(f"increments of {arm}", increments, 7), duration)
        self._set_mode(arm, SERVO)

    @property
    def commanded(self) -> dict[str, Values]:
        """Joints (n, joints) that tip increments have commanded so far; after a reset, those at the encoders."""
        return self._split(self.worlds.array("commanded"))

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
        """Worlds (n,) in which an object touches both fingers of an arm in the last step.

        After a reset, there are none on Warp until the next step.
        """
        check_known("object of the scenes", self.layout.objects, thing)
        touched = self.numpy(self.worlds.touch())
        arms, things = list(self.layout.arms), list(self.layout.objects)
        parts = touched[:, arms.index(self._facts(arm).name), things.index(thing)]
        return np.asarray((parts & BOTH_FINGERS) == BOTH_FINGERS)

    def snapshot(self) -> BatchSnapshot:
        """The state of all worlds and their controllers, for `restore`."""
        worlds = self.worlds
        gains = {name: getattr(worlds, name) for name in GAINS}  # arrays that are replaced, not changed
        controllers = dict(self._scaled), dict(worlds.laws), dict(worlds.waves)
        return BatchSnapshot(self._size, self._parameters, worlds.snapshot(), self._modes.copy(), gains, *controllers)

    def restore(self, snapshot: BatchSnapshot) -> None:
        """Continue from a snapshot of this batch."""
        check_type("snapshot", snapshot, BatchSnapshot, "a snapshot of this batch")
        if snapshot.size != self._size:
            raise TrocarError("the snapshot is that of another batch; restore one of this batch")
        if snapshot.parameters != self._parameters:
            raise TrocarError("the snapshot is that of a batch with other parameters; restore one of this batch")
        worlds = self.worlds
        worlds.restore(snapshot.state)
        laws, waves = dict(snapshot.laws), dict(snapshot.waves)
        same = laws == worlds.laws and waves == worlds.waves and np.array_equal(snapshot.modes, self._modes)
        if same and all(getattr(worlds, name) is values for name, values in snapshot.gains.items()):
            return
        for name, values in {**snapshot.gains, "laws": laws, "waves": waves}.items():
            setattr(worlds, name, values)
        self._scaled, self._modes = dict(snapshot.scaled), snapshot.modes.copy()
        worlds.assign("mode", self._modes)
        worlds.changed()

    def _facts(self, arm: str) -> ArmLayout:
        check_known("arm of the scenes", self.layout.arms, arm)
        return self.layout.arms[arm]

    def _command(self, arm: str, mode: int, matrix: Array | None, **values: Values) -> None:
        """Write rows (n, joints) of an arm, or their products with a matrix, and set its mode."""
        for name, rows in values.items():
            self.worlds.write(name, self.columns[arm], rows, matrix)
        self._set_mode(arm, mode)

    def _set_mode(self, arm: str, mode: int) -> None:
        part = self.columns[arm]
        if not (self._modes[part] != mode).any():
            return
        if mode == SERVO and np.isin(self._modes[part], (JOINT_PD, COMPUTED_TORQUE)).any():
            own = self.worlds.table.gains
            self._set_gains(part, **self._scaled.get(part.start, {name: own[name][part] for name in ("kp", "kd")}))
        if mode == COMPUTED_TORQUE or (self._modes[part] == COMPUTED_TORQUE).any():
            self.worlds.changed()  # prepared steps contain the laws of the arms under computed torque
        self._modes[part] = mode
        self.worlds.assign("mode", self._modes)

    def _set_gains(self, part: slice, **values: Array) -> None:
        for name, gains in values.items():
            whole = np.broadcast_to(self.numpy(getattr(self.worlds, name)), (self.n, self.layout.model.nu)).copy()
            whole[:, part] = gains
            setattr(self.worlds, name, self.worlds.put(whole))
        self.worlds.changed()

    def _split(self, joints: Values) -> dict[str, Values]:
        return {name: joints[:, part] for name, part in self.columns.items()}

    def _rows(self, arm: str, name: str, values: Values) -> Values:
        """Values (n, joints) of an arm, on the device if they are there; `name` is that of the argument."""
        return self._numbers(f"{name} of {arm}", values, self._facts(arm).n)

    def _rates(self, arm: str, name: str, values: Values) -> Values:
        return self._rows(arm, name, np.zeros(self._facts(arm).n) if values is None else values)

    def _host(self, arm: str, name: str, values: Values, *, or_number: bool = False) -> Array:
        """Values (n, joints) of an arm in NumPy."""
        return world_rows(f"{name} of {arm}", values, self.n, self._facts(arm).n, or_number=or_number)

    def _numbers(self, name: str, values: Values, width: int) -> Values:
        """Rows (n, width); those of a device are taken as they are."""
        if self.backend != "warp" or not is_elsewhere(values):
            return world_rows(name, values, self.n, width)
        if tuple(values.shape) != (self.n, width):  # a kernel would read beyond their end
            raise TrocarError(f"{name} must have shape ({self.n}, {width}), got {tuple(values.shape)}")
        return values
