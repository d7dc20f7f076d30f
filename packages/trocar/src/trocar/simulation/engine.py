"""MuJoCo's model and data with stiffer constraints and a guard against divergence, and the rows of one arm in them."""

from __future__ import annotations

import io
import logging
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial, partialmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import mujoco
import numpy as np
from mujoco import mj_step

from trocar.appearance.kinematic_model import BASE
from trocar.arms import Arm
from trocar.errors import Inaccurate, TornApart, TrocarError, Unsolved, shown
from trocar.files import write_whole
from trocar.laws.slip import SolidPairs
from trocar.simulation.forces.compiled import compiled
from trocar.simulation.objects.scene_object import OBJECT
from trocar.spatial import Array, pose

if TYPE_CHECKING:
    from trocar.simulation.forces.environment import AppliedWrenches
    from trocar.simulation.objects.scene_object import PlacedObject
    from trocar.simulation.stepped_arm import ArmMemory, SteppedArm

KEPT = "TROCAR_DIVERGED_STATES"  # environment variable: number of saved states to keep
PREFIX, LAST_STATE = "trocar-diverged-", "last_state.npz"  # folder in the temporary folder, and the file in it
IMPEDANCE = (0.9999, 0.9999, 0.001, 0.5, 2.0)  # solimp of constraints: as hard as MuJoCo allows
# Scale applied to MuJoCo's inverse weights; smaller means stiffer constraints. Measured: below 1e-2, dry friction and
# the implicit integrator are incompatible.
STIFFENING = {"fast": 1e-1, "exact": 1e-2, "discrete": 1e-1}
# Additional scale of the bodies that close loops. A loop starts without load and yields at first: with 1, the first
# acceleration is off by up to 0.1 rad/s^2, and the error of "exact" is of second order in the timestep.
LOOP_STIFFENING = 1e-2
CONTACT = "friction_"  # prefix of the bodies that are the friction contacts of a wrist with cables
# Scale of their inverse weights. MuJoCo's dry friction creeps under load: with 1e-1 by 6 urad/s, with this by 0.6.
CONTACT_STIFFENING = 1e-2
RUNAWAY = 1e9  # norm of the accelerations above which a simulation has diverged [rad/s^2, m/s^2]
SPARSE_ITERATIONS = 50  # of the sparse solver, of which converging steps need at most fifteen
# Gradient of the solver's cost, as MuJoCo scales it, above which the solver stopped short of the solution. Measured: at
# most 2e-3 in steps that converge, 25 in one that did not. MuJoCo records it in the first iterations only.
STALLED, RECORDED = 0.1, 200
CHECKED = 20  # steps between two checks of loops and stops
# Tolerance, as a fraction of a step, when a time is rounded to a whole number of steps.
WHOLE = 1e-5
OPEN = 1e-4  # loop gap above which a warning is issued [m]
APART = 1e-3  # the same of points, threads and seams of objects, which are softer [m]
OVERRUN, OVERRUN_SLIDE = 0.2, 5e-3  # stop violation above which a warning is issued [rad], [m]
DIVERGED_OVERRUN = 10.0  # stop violation above which a simulation has diverged, over that of the warning
MAX_EFFORT = 1e9  # [N m, N]; MuJoCo ignores efforts above 1e10 without an error
STATE = mujoco.mjtState.mjSTATE_INTEGRATION
WARMSTART = int(mujoco.mjtDisableBit.mjDSBL_WARMSTART)


class Diverged(TrocarError):
    """The simulation produced accelerations that are not finite or implausibly large."""


def save_states(data: mujoco.MjData, tau: Array) -> str:
    """Write time, positions, velocities, accelerations and efforts to an .npz file in the temporary folder.

    Returns a sentence with the path, or with the reason why the state is not saved. The last five files of a user are
    kept; the environment variable TROCAR_DIVERGED_STATES changes this number, 0 disables saving.
    """
    limit = os.environ.get(KEPT, "5")
    if not limit.isdecimal():
        return f"the last state is not saved: {KEPT} must be a whole number, got {shown(limit)}"
    if int(limit) == 0:
        return f"the last state is not saved ({KEPT} = 0)"
    buffer = io.BytesIO()
    np.savez(buffer, t=data.time, q_tree=data.qpos, dq_tree=data.qvel, ddq_tree=data.qacc, tau=tau)
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        path = write_whole(folder / LAST_STATE, buffer.getvalue())
    except OSError as error:  # a full disk must not hide the divergence
        return f"the last state cannot be saved: {error.strerror}"
    _remove_older(folder, int(limit))
    return f"the last state is in {path}"


def _remove_older(newest: Path, limit: int) -> None:
    """Remove all but the last `kept` saved states of this user."""
    with suppress(OSError):  # another process may be removing them concurrently
        folders = [path for path in newest.parent.glob(f"{PREFIX}*") if path != newest]
        user = newest.stat().st_uid
        ours = [(path.stat().st_mtime_ns, path) for path in folders if path.stat().st_uid == user]
        for _, folder in sorted(ours)[: max(0, len(ours) + 1 - limit)]:
            with suppress(OSError):
                (folder / LAST_STATE).unlink(missing_ok=True)
                folder.rmdir()


def log_mujoco_warnings() -> None:
    """Send MuJoCo's warnings to Python's log instead of MUJOCO_LOG.TXT in the working folder.

    MuJoCo has one handler per process; an existing handler is kept.
    """
    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(lambda message: logging.getLogger("mujoco").warning(message))


def stiffen(model: mujoco.MjModel, accuracy: str = "fast") -> None:
    """Make constraints stiffer than MuJoCo's impedance allows, by scaling the inverse weights they refer to."""
    for weights in (model.body_invweight0, model.dof_invweight0, model.tendon_invweight0):
        weights[:] *= STIFFENING[accuracy]
    contacts = [
        model.joint(j).dofadr[0]
        for j in range(model.njnt)
        if model.joint(j).name.rpartition("/")[2].startswith(CONTACT)
    ]
    model.dof_invweight0[contacts] *= CONTACT_STIFFENING / STIFFENING[accuracy]
    # loops connect sites; points in tissue connect bodies
    loops = (model.eq_type == mujoco.mjtEq.mjEQ_CONNECT) & (model.eq_objtype == mujoco.mjtObj.mjOBJ_SITE)
    anchors = np.concatenate([model.eq_obj1id[loops], model.eq_obj2id[loops]])
    model.body_invweight0[np.unique(model.site_bodyid[anchors])] *= LOOP_STIFFENING


@dataclass(frozen=True)
class Snapshot:
    """The complete state of a simulation, which determines its future.

    Attributes:
        memories: of every arm, by name. objects: memories of objects with a process of their own, by name.
        counts: those of the engine.
    """

    state: Array
    tau: Array
    ddq: Array
    memories: Mapping[str, ArmMemory]
    objects: Mapping[str, Any] = field(default_factory=dict)
    counts: tuple[int, int, int] = (0, 0, 0)


class JointStop(NamedTuple):
    """A joint limit: low and high are positions with the allowed violation [rad, m]; address: row of qpos."""

    joint: int
    address: int
    low: float
    high: float
    allowed: float
    unit: str

    @classmethod
    def of(cls, model: mujoco.MjModel, joint: int) -> JointStop:
        slides = model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE
        allowed, unit = (OVERRUN_SLIDE, "m") if slides else (OVERRUN, "rad")
        low, high = model.jnt_range[joint].tolist()
        return cls(joint, int(model.jnt_qposadr[joint]), low - allowed, high + allowed, allowed, unit)

    @property
    def runaway(self) -> float:
        """Distance beyond the stop at which a simulation has diverged [rad, m]."""
        return DIVERGED_OVERRUN * self.allowed

    def violation(self, q: float | Array) -> Any:
        """Distance of positions q beyond the stop [rad, m]."""
        return np.maximum(self.low - q, q - self.high) + self.allowed


class Engine:
    """Model, data and integrator that all arms of a simulation share."""

    def __init__(self, model: mujoco.MjModel, accuracy: str) -> None:
        log_mujoco_warnings()
        self.model, self.accuracy = model, accuracy
        self.data = mujoco.MjData(model)
        self._set_slip: Callable[[], None] | None = None  # sets the rates at which solids brake slip
        self._exact = accuracy == "exact"
        self._arms: Sequence[SteppedArm] = ()
        self._processes: Sequence[PlacedObject] = ()
        self._diverged: Callable[[int | None, str], None] = lambda joint, what: None
        self.posed = False
        self.qacc = np.zeros(model.nv)  # at the start of the step just taken
        self._qacc_view, self._timestep = self.data.qacc, float(model.opt.timestep)
        # read at every step: a memoryview gives plain numbers in half the time
        self._iterations = memoryview(self.data.solver_niter)
        self._max_iterations, self._steps = int(model.opt.iterations), 0
        self._warned: set[type[UserWarning]] = set()
        self.unconverged = 0  # steps in which the solver did not converge
        self.apart = 0  # checks in which a tie of an object was open
        connects = np.flatnonzero(model.eq_type == mujoco.mjtEq.mjEQ_CONNECT).tolist()
        self._loops = {i for i in connects if not model.equality(i).name.startswith(OBJECT)}
        self._ties = {i for i in range(model.neq) if model.equality(i).name.startswith(OBJECT)}
        # A sparse solver that has not solved its ties by then is tried again with dense matrices. Objects without ties
        # need all iterations for the stiffness of their cells.
        self._sparse = not self._exact and bool(self._ties) and bool(mujoco.mj_isSparse(model))
        # elliptic cones are those of contacts with objects
        self._guarded = self._sparse or (not self._exact and model.opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC)
        self._gradients = memoryview(self.data.solver.gradient)
        self._option = model.opt
        self._max_sparse = min(SPARSE_ITERATIONS, self._max_iterations)
        # all that a step changes: views, and copies from before the step
        changed = (self.data.qpos, self.data.qvel, self.data.act, self.data.qacc_warmstart)
        self._before = [(now, now.copy()) for now in changed if now.size]
        self.stops = [JointStop.of(model, int(joint)) for joint in np.flatnonzero(model.jnt_limited)]
        stiffen(model, accuracy)

    @property
    def time(self) -> float:
        """Time [s] as a whole number of steps, unless it was set to another value.

        MuJoCo accumulates timesteps with a systematic rounding error of 0.2 ms per day.
        """
        time, timestep = self.data.time, self._timestep
        whole: float = round(time / timestep) * timestep
        return whole if abs(time - whole) < WHOLE * timestep else float(time)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Steps, unconverged steps and checks with an open tie since the last reset.

        Assign them to continue a simulation: the number of steps determines in which ones the clock is corrected.
        """
        return self._steps, self.unconverged, self.apart

    @counts.setter
    def counts(self, counts: tuple[int, int, int]) -> None:
        self._steps, self.unconverged, self.apart = counts

    def update(self) -> None:
        """Update poses to the current state: after a step, MuJoCo's poses are those at its start."""
        if not self.posed:
            mujoco.mj_kinematics(self.model, self.data)
            self.posed = True

    def forward(self) -> None:
        """Compute poses, velocities and accelerations from the state."""
        if self._set_slip is not None:
            self._set_slip()
        mujoco.mj_forward(self.model, self.data)
        self.posed = True

    def rest(self) -> None:
        """Clear the acceleration, which is unknown before the first step."""
        self.qacc = np.zeros(self.model.nv)

    def attach(
        self,
        arms: Sequence[SteppedArm],
        processes: Sequence[PlacedObject],
        diverged: Callable[[int | None, str], None],
    ) -> None:
        """Set the arms to step, the objects that act after every step, and the function that raises a divergence."""
        self._arms, self._processes, self._diverged = arms, processes, diverged
        pairs = SolidPairs.of(self.model)
        if pairs.pair.size:
            bound = compiled(
                "slip",
                **pairs._asdict(),
                qvel=self.data.qvel,
                friction=self.model.pair_friction,
                reference=self.model.pair_solreffriction,
                rate=np.zeros(pairs.first.size),
                bodies=pairs.first.size,
                pairs=pairs.pair.size,
                dofs=self.model.nv,
            )
            self._set_slip = partial(self._set_rates, pairs) if bound is None else bound.run
            self._slip = bound  # keeps its arrays in memory

    def _set_rates(self, pairs: SolidPairs) -> None:
        """Set the rates at which solids brake slip to those of the current velocities."""
        model = self.model
        rates = pairs.rates(self.data.qvel, model.pair_friction[pairs.first, 0])
        model.pair_solreffriction[pairs.pair, 1] = -rates

    def advance(self) -> None:
        """Advance one step under the efforts that were commanded for every arm."""
        if self._set_slip is not None:
            self._set_slip()
        if self._exact:
            qacc = self._exact_step()
        else:
            if self._guarded:
                self._guarded_step()
            else:
                mj_step(self.model, self.data)
            qacc = self._qacc_view
        self.qacc, self.posed = qacc, False
        sound = bool(qacc.dot(qacc) < RUNAWAY**2)  # False for NaN
        if (self._iterations[0] >= self._max_iterations or (self._guarded and self._stalled())) and sound:
            self.unconverged += 1
            self._warn(
                Unsolved,
                f"the constraint solver did not converge within {self._iterations[0]} iterations",
                "use a smaller timestep or softer contacts",
            )
        self._steps += 1
        if self._steps % CHECKED == 0 and sound:
            self.data.time = self.time  # corrects the sum before it loses more than a few digits
            self._check()
        if not sound:
            self._diverged(None, "")
        if self._processes:
            self.update()
            for process in self._processes:
                process.after_step()

    def _guarded_step(self) -> None:
        """A step that is repeated if the solver does not reach the solution.

        The sparse Newton solver of MuJoCo 4.0.0 has a wrong Hessian and can stall where the dense one needs ten
        iterations; 4.0.1 corrects it, but the package `mujoco` still requires 4.0.0. A line search that reaches its
        limit of evaluations ends Newton's method wherever it is: once in about four million steps of the peg transfer,
        contact forces were wrong by orders of magnitude. Without its warm start the solver converges there.
        """
        data, option, time = self.data, self._option, self.data.time
        for now, before in self._before:
            before[:] = now
        if self._sparse:
            option.iterations = self._max_sparse
            mj_step(self.model, data)
            option.iterations = self._max_iterations
            if self._iterations[0] >= self._max_sparse:
                jacobian, option.jacobian = option.jacobian, mujoco.mjtJacobian.mjJAC_DENSE
                self._repeat(time)
                option.jacobian = jacobian
        else:
            mj_step(self.model, data)
        if self._stalled():
            flags, option.disableflags = option.disableflags, option.disableflags | WARMSTART
            self._repeat(time)
            option.disableflags = flags

    def _repeat(self, time: float) -> None:
        """Take the last step again, from the state before it."""
        self.data.time = time
        for now, before in self._before:
            now[:] = before
        mj_step(self.model, self.data)

    def _stalled(self) -> bool:
        count = self._iterations[0]
        return 0 < count <= RECORDED and self._gradients[count - 1] > STALLED

    def _exact_step(self) -> Array:
        """A Runge-Kutta step; returns the accelerations at its start."""
        model, data, arms = self.model, self.data, self._arms
        mujoco.mj_forward(model, data)
        qacc = data.qacc.copy()
        if sum(arm.act_ahead() for arm in arms):
            mujoco.mj_forward(model, data)
        pulled = [(arm, source.force) for arm in arms for source in arm.forces.smooth]
        pushed = [arm.wrenches for arm in arms if arm.wrenches.by_place]
        if pulled or pushed:
            self._runge_kutta(pulled, pushed)
        else:
            mujoco.mj_RungeKutta(model, data, 4)
        return qacc

    def _check(self) -> None:
        """Warn if loop gaps or stop violations are larger than an accurate step allows."""
        data = self.data
        rows = data.ne
        gaps = data.efc_pos[:rows].tolist()
        if gaps and (max(gaps) > OPEN or min(gaps) < -OPEN):
            ties = list(zip(data.efc_id[:rows].tolist(), gaps, strict=True))
            gap = max((abs(gap) for i, gap in ties if i in self._loops), default=0.0)
            if gap > OPEN:
                self._warn(Inaccurate, f"a loop is open by {1e3 * gap:.2g} mm", "use a smaller timestep")
            gap, tie = max(((abs(gap), i) for i, gap in ties if i in self._ties), default=(0.0, 0))
            if gap > APART:
                self.apart += 1
                name = self.model.equality(tie).name.removeprefix(OBJECT)
                self._warn(
                    TornApart,
                    f"{name} is torn apart by {1e3 * gap:.2g} mm",
                    "use smaller forces and speeds, or a smaller timestep",
                )
        if not data.nl:  # no joint is at a stop
            return
        q = data.qpos.tolist()
        beyond = [stop for stop in self.stops if not stop.low <= q[stop.address] <= stop.high]
        if beyond:
            worst = max(beyond, key=lambda stop: stop.violation(q[stop.address]) / stop.allowed)
            distance = float(worst.violation(q[worst.address]))
            what = f"{self.model.joint(worst.joint).name} is {distance:.2g} {worst.unit} beyond its stop"
            if distance > worst.runaway:
                self._diverged(worst.joint, f": {what}")
            self._warn(Inaccurate, what, "use a smaller timestep or less effort")

    def _warn(self, kind: type[UserWarning], what: str, remedy: str) -> None:
        """Warn once per kind and engine."""
        if kind not in self._warned:
            self._warned.add(kind)
            dt, t = self.model.opt.timestep, self.data.time
            warnings.warn(f"{what} at t = {t:.4g} s, with a timestep of {dt:.3g} s: {remedy}", kind, stacklevel=4)

    def _runge_kutta(
        self,
        pulled: Sequence[tuple[SteppedArm, Callable[[Array, Array], Array]]],
        pushed: Sequence[AppliedWrenches],
    ) -> None:
        """Fourth-order Runge-Kutta step with the forces outside the model and applied wrenches evaluated at each stage.

        MuJoCo's own step would hold these forces, and the levers of wrenches, constant, which is first order.
        """
        model, data = self.model, self.data
        h, t, q, v = model.opt.timestep, data.time, data.qpos.copy(), data.qvel.copy()
        applied = data.qfrc_applied.copy()
        for arm, force in pulled:
            applied[arm.v] -= force(arm.qpos, arm.qvel)
        rates, accelerations = [v], [data.qacc.copy()]
        for share in (0.5, 0.5, 1.0):
            data.qpos[:], data.time = q, t + share * h
            mujoco.mj_integratePos(model, data.qpos, rates[-1], share * h)
            data.qvel[:] = v + share * h * accelerations[-1]
            data.qfrc_applied[:] = applied
            for arm, force in pulled:
                data.qfrc_applied[arm.v] += force(arm.qpos, arm.qvel)
            for wrenches in pushed:
                self.posed = False
                wrenches.act()
            mujoco.mj_forward(model, data)
            rates.append(data.qvel.copy())
            accelerations.append(data.qacc.copy())
        rate, acceleration = ((a + 2.0 * b + 2.0 * c + d) / 6.0 for a, b, c, d in (rates, accelerations))
        data.qpos[:], data.time = q, t + h
        mujoco.mj_integratePos(model, data.qpos, rate, h)
        data.qvel[:] = v + h * acceleration
        data.qacc_warmstart[:] = data.qacc


class ArmSlice:
    """Indices of one arm in a MuJoCo model, and its base frame.

    Args:
        prefix: prefix of its names in the model; "" if the arm is alone and its base is the world.
        extra: number of joints that follow those of the arm's tree.

    Attributes:
        base: id of the arm's base body. q, v, u: slices of its positions, velocities and motors. pairs: ids of its
            contact pairs.
    """

    def __init__(self, engine: Engine, arm: Arm, prefix: str = "", extra: int = 0) -> None:
        self.engine, self.arm, self.prefix = engine, arm, prefix
        model, count = engine.model, len(arm.bodies) + extra
        self.base = model.body(prefix + BASE).id if prefix else 0
        self._R_world_base = engine.data.xmat[self.base].reshape(3, 3)  # a view
        first = model.joint(prefix + arm.bodies[0].name)
        self.q = _following(first.qposadr[0], count)
        self.v = _following(first.dofadr[0], count)
        self.u = _following(model.actuator(prefix + arm.motors.names[0]).id, arm.n)
        for i, body in enumerate(arm.bodies):  # the maps between joints and links rely on this order
            assert self.dof(body.name) == i, (prefix, body.name)
        links = {self.body(body.name) for body in arm.bodies}
        self.pairs = [k for k, g in enumerate(model.pair_geom1) if int(model.geom_bodyid[g]) in links]

    def dof(self, joint: str) -> int:
        """Index of a joint among those of this arm."""
        return int(self.engine.model.joint(self.prefix + joint).dofadr[0]) - self.v.start

    def _id(self, kind: str, name: str) -> int:
        return int(getattr(self.engine.model, kind)(self.prefix + name).id)

    joint = partialmethod(_id, "joint")
    body = partialmethod(_id, "body")
    site = partialmethod(_id, "site")
    tendon = partialmethod(_id, "tendon")
    equality = partialmethod(_id, "equality")

    @property
    def T_world_base(self) -> Array:
        """Pose (4, 4) of the arm's base in the world of the model."""
        data = self.engine.data
        return pose(data.xmat[self.base].reshape(3, 3), data.xpos[self.base])

    def in_base(self, R: Array, p: Array) -> Array:
        """Pose (4, 4) in the arm's base of an item that MuJoCo has at R (9,), p (3,) in the world."""
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = R.reshape(3, 3), p
        if self.base:
            R_base = self.engine.data.xmat[self.base].reshape(3, 3).T
            T[:3, :3], T[:3, 3] = R_base @ T[:3, :3], R_base @ (T[:3, 3] - self.engine.data.xpos[self.base])
        return T

    def to_base(self, vector: Array) -> Array:
        """A vector (3,) of the world in base axes."""
        return self._R_world_base.T.dot(vector) if self.base else vector

    def to_world(self, vector: Array) -> Array:
        """A vector (3,) of the base in world axes."""
        return self._R_world_base.dot(vector) if self.base else vector


def _following(first: int, count: int) -> slice:
    return slice(int(first), int(first) + count)
