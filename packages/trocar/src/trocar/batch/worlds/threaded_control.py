"""Controllers and sensors of all motors of many worlds in NumPy, in double precision."""

from __future__ import annotations

import numpy as np

from trocar.batch.worlds.encoder_arrays import EDGES, EncoderArrays
from trocar.batch.worlds.motor_table import MEMORY, MotorTable
from trocar.batch.worlds.reference_waves import Waves
from trocar.batch.worlds.status import COMPUTED_TORQUE, JOINT_PD, RAW, SERVO
from trocar.batch.worlds.torque_law import TorqueLaw
from trocar.batch.worlds.world_values import each_row
from trocar.laws.dahl import dahl_effort, dahl_state
from trocar.laws.law import ScalarLaw
from trocar.laws.servo import PARAMETERS, servo
from trocar.laws.sources.function_source import on_arrays
from trocar.spatial import Array

_SERVO = on_arrays(ScalarLaw(servo, PARAMETERS))
_STATE, _EFFORT = on_arrays(ScalarLaw(dahl_state)), on_arrays(ScalarLaw(dahl_effort))


class ThreadedControl:
    """Modes, references, measurements and memory; rows are worlds, columns motors. See `WarpWorlds` for the names."""

    ref: Array
    rate: Array
    acceleration: Array
    effort: Array
    integral: Array
    explained: Array
    observer: Array
    applied: Array
    commanded: Array
    measured: Array
    measured_rate: Array
    z: Array
    s: Array
    status: Array
    cycles: Array

    def __init__(self, table: MotorTable, n: int, nq: int, nv: int, dt: float) -> None:
        self.n, self.table, self.dt = n, table, dt
        N, K = len(table.limit), len(table.B)
        self.mode = np.zeros(N, dtype=np.int32)
        self.kp, self.ki, self.kd = (table.gains[key][None] for key in ("kp", "ki", "kd"))
        for name in MEMORY:
            setattr(self, name, np.zeros((n, K if name in ("z", "s") else N)))
        self.status, self.cycles = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
        self._A = _spread(table.A, table.first_q, nq), _spread(table.A, table.first_v, nv)
        self._D = _spread(table.D, table.first_q, nq), _spread(table.D, table.first_v, nv)
        self._D_measured = _spread(table.D_measured, table.first_q, nq)
        self._B = _spread(table.B, table.element_q, nq), _spread(table.B, table.element_v, nv)
        self._coupling = np.zeros((N, N))
        for name, part in table.columns.items():
            self._coupling[part, part] = np.linalg.inv(table.motor_from_joint[name])
        scene = np.arange(n) % len(table.F)
        self.F, self.slope, self.dahl_rate = (getattr(table, key)[scene] for key in ("F", "slope", "rate"))
        self.constant = table.constant[scene]
        self.laws: dict[str, TorqueLaw] = {}
        self.waves: dict[str, Waves] = {}
        self._encoders: EncoderArrays | None = None

    device = "cpu"

    def array(self, name: str) -> Array:
        """An array that changes in place."""
        return np.asarray(getattr(self, name))

    def assign(self, name: str, values: Array) -> None:
        """Write all numbers of an array."""
        getattr(self, name)[...] = values

    def write(self, name: str, part: slice, rows: Array, matrix: Array | None = None) -> None:
        """Write rows (n, k), or their products with a matrix (k, k), into columns of an array."""
        getattr(self, name)[:, part] = rows if matrix is None else each_row(matrix, rows)

    def changed(self) -> None:
        """Nothing is prepared for steps."""

    def sense(self, resolution: Array) -> None:
        """Give all motors encoders of these resolutions (N,); see `bias`."""
        self._encoders = EncoderArrays.at_rest(resolution, self.n)

    def own_friction(self) -> None:
        """Give every world a row of its own in `F`, `slope`, `dahl_rate` and `constant`, which they have already."""

    @property
    def bias(self) -> Array:
        """Bias (n, N) of the encoders [rad, m]."""
        assert self._encoders is not None
        return self._encoders.bias

    def _memory(self) -> dict[str, Array]:
        """The arrays of a snapshot by name."""
        arrays = {name: getattr(self, name) for name in (*MEMORY, "status", "cycles")}
        return arrays | ({name: getattr(self._encoders, name) for name in EDGES} if self._encoders else {})

    def _recall(self, saved: dict[str, Array]) -> None:
        for name in self._memory():
            setattr(self._encoders if name in EDGES else self, name, saved[name].copy())

    def _place(self, rows: Array, qpos: Array, qvel: Array) -> None:
        """Put the controllers of some worlds at rest at their states (k, nq), (k, nv)."""
        for array in self._memory().values():
            array[rows] = 0
        s = each_row(self._A[0], qpos)
        self.measured[rows], self.measured_rate[rows] = s, each_row(self._A[1], qvel)
        if self._encoders is not None:
            self.measured[rows], self.measured_rate[rows] = self._encoders.place(rows, s), 0.0
        joint_space = (self.mode == JOINT_PD) | (self.mode == COMPUTED_TORQUE)
        self.commanded[rows] = each_row(self._D_measured, qpos)
        self.ref[rows] = np.where(joint_space, self.commanded[rows], s)
        self.s[rows] = each_row(self._B[0], qpos)

    def _measure(self, qpos: Array, qvel: Array) -> None:
        """Read the sensors after a step."""
        self.cycles += 1
        s, ds = each_row(self._A[0], qpos), each_row(self._A[1], qvel)
        if self._encoders is not None:
            s, ds = self._encoders.read(s, self.measured_rate, self.dt)
        self.measured, self.measured_rate = s, ds

    def joints(self) -> tuple[Array, Array]:
        """Measured joints and joint velocities (n, N) of all arms."""
        return each_row(self._coupling, self.measured), each_row(self._coupling, self.measured_rate)

    def _efforts(self) -> Array:
        """Efforts (n, N) of the motors for the next step; their sum goes to `applied`."""
        mode, dt = self.mode, self.dt
        self.ref += np.where((mode == SERVO) | (mode == JOINT_PD), dt * self.rate, 0.0)
        tau = self.effort.copy()
        if (mode == SERVO).any():
            tau = np.where(mode == SERVO, self._servo(), tau)
        if (mode == JOINT_PD).any():
            q, dq = self.joints()
            pd = each_row(self._coupling.T, self.kp * (self.ref - q) + self.kd * (self.rate - dq))
            tau = np.where(mode == JOINT_PD, pd, tau)
        for name, law in self.laws.items():
            if mode[self.table.columns[name].start] == COMPUTED_TORQUE:
                tau[:, self.table.columns[name]] += self._computed_torque(name, law)
        limit = np.where(mode == RAW, np.inf, self.table.limit)
        tau = np.clip(tau, -limit, limit)
        self.applied += tau
        return tau

    def _computed_torque(self, name: str, law: TorqueLaw) -> Array:
        """Motor efforts (n, joints) of computed torque at the reference of this cycle, which then moves on."""
        part, dt = self.table.columns[name], self.dt
        if name in self.waves:
            motion = self.waves[name].motion(self.cycles * dt)
            self.ref[:, part], self.rate[:, part], self.acceleration[:, part] = motion
        ref, rate, acceleration = (x[:, part].copy() for x in (self.ref, self.rate, self.acceleration))
        q, dq = (x[:, part] for x in self.joints())
        kp, kd = self.kp[:, part], self.kd[:, part]
        tau = law.efforts(q, dq, acceleration + kd * (rate - dq) + kp * (ref - q), ref, rate)
        self.ref[:, part] = ref + dt * rate + 0.5 * dt**2 * acceleration
        self.rate[:, part] = rate + dt * acceleration
        return each_row(self._coupling[part, part].T, tau)

    def _servo(self) -> Array:
        """Efforts (n, N) of the dVRK's PID with its deadband and disturbance observer."""
        gains, limit = self.table.gains, self.table.limit
        caps, observer = (gains["deadband"], gains["output"], limit), (gains["cutoff"], gains["momentum"])
        law = _SERVO(self.kp, self.ki, self.kd, *caps, *observer, self.dt)
        memory = self.integral, self.explained, self.observer
        tau, _, *new = law(self.ref, self.rate, self.measured, self.measured_rate, *memory, 1.0)
        acts = self.mode == SERVO
        self.integral, self.explained, self.observer = (
            np.where(acts, after, before) for after, before in zip(new, memory, strict=True)
        )
        return np.asarray(tau)

    def _friction(self, qpos: Array) -> Array:
        """Constant forces and those of Dahl elements (n, nv), whose states follow the path since the last step."""
        here = each_row(self._B[0], qpos)
        self.z, self.s = _STATE(self.z, here - self.s, self.dahl_rate), here
        return np.asarray(self.constant - each_row(self._B[1].T, _EFFORT(self.z, here, self.F, self.slope)))


def _spread(rows: Array, first: Array, width: int) -> Array:
    """Rows (k, w) at their columns of a matrix (k, width)."""
    wide = np.zeros((len(rows), width))
    for k, (row, start) in enumerate(zip(rows, first, strict=True)):
        count = min(len(row), width - start)
        wide[k, start : start + count] = row[:count]
    return wide
