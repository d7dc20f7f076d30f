"""Controllers and sensors of all motors of many worlds on a device of Warp."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from trocar.batch.worlds import control_kernels, encoder_kernels, kernels, torque_kernels, wrist_kernels
from trocar.batch.worlds.encoder_arrays import EDGES
from trocar.batch.worlds.layout import SceneLayout
from trocar.batch.worlds.motor_table import MEMORY, MotorTable
from trocar.batch.worlds.reference_waves import WAVES, Waves
from trocar.batch.worlds.scene_worlds import is_elsewhere
from trocar.batch.worlds.status import COMPUTED_TORQUE
from trocar.batch.worlds.torque_law import INPUTS, TorqueLaw
from trocar.batch.worlds.world_values import each_row
from trocar.batch.worlds.wrist_arrays import wrist_of
from trocar.spatial import Array, Values, inverse

EDGE_MEMORY = (*EDGES, "last_rate")


class WarpControl:
    """Modes, references, measurements and memory; rows are worlds, columns motors.

    Attributes:
        mode: (N,) control of every motor, see `status`. kp, ki, kd: (1 or n, N).
        ref, rate, acceleration, effort: (n, N) of the motors, or of the joints under PD and computed torque.
        measured, measured_rate: (n, N) motor positions and velocities as the sensors report them.
        commanded: (n, N) joints that tip increments have commanded. applied: (n, N) sums of motor efforts.
        F, slope, dahl_rate, constant: (1 or n, ...) of Dahl friction and constant forces.
        laws, waves: models of computed torque and sinusoids that it follows, by arm. cycles: (n,) since the reset.
    """

    layout: SceneLayout
    mode: Values
    ref: Values
    rate: Values
    acceleration: Values
    effort: Values
    applied: Values
    commanded: Values
    measured: Values
    measured_rate: Values
    cycles: Values
    F: Values
    slope: Values
    dahl_rate: Values
    constant: Values

    def __init__(self, table: MotorTable, layout: SceneLayout, n: int, device: str) -> None:
        self.n, self.table, self.layout, self.device = n, table, layout, device
        self.dt = float(layout.model.opt.timestep)
        self._graphs: dict[int, Any] = {}
        self.laws: dict[str, TorqueLaw] = {}
        self.waves: dict[str, Waves] = {}
        self._law_kernels: dict[str, tuple[TorqueLaw, Any, Any]] = {}
        self._encoders: Values = None

    def _allocate_control(self) -> None:
        n, table = self.n, self.table
        N, K = len(table.limit), len(table.B)
        self._motors, self._control = control_kernels.MotorConstants(), control_kernels.Control()
        for name in ("first_q", "first_v", "first_u", "joints", "A", "D", "D_measured", "coupling", "limit"):
            setattr(self._motors, name, self.put(getattr(table, name)))
        for name in ("element_q", "element_v", "B"):
            setattr(self._motors, name, self.put(getattr(table, name)))
        for name in ("deadband", "output", "cutoff", "momentum"):
            setattr(self._motors, name, self.put(table.gains[name]))
        for name in (*MEMORY, "model_effort"):
            self._hold(name, wp.zeros((n, K if name in ("z", "s") else N), dtype=float))
        self._hold("mode", wp.zeros(N, dtype=int))
        self._hold("cycles", wp.zeros(n, dtype=int))
        self.q, self.dq, self.measured_q, self.measured_dq = (wp.zeros((n, N), dtype=float) for _ in range(4))
        self.kp, self.ki, self.kd = (self.put(table.gains[key][None]) for key in ("kp", "ki", "kd"))
        self.F, self.slope, self.dahl_rate = (self.put(getattr(table, key)) for key in ("F", "slope", "rate"))
        self.constant = self.put(table.constant)
        self._wrists = {
            name: (self._wrist(name), self.put(table.motor_from_joint[name]))
            for name, arm in self.layout.arms.items()
            if arm.wrist is not None
        }

    def _hold(self, name: str, array: Values) -> None:
        """Keep an array as an attribute and for the kernels."""
        setattr(self, name, array)
        setattr(self._control, name, array)

    def put(self, values: Values, dtype: Any = Any) -> Values:
        """An array of the device: float32 or int32 of NumPy's, the memory itself of arrays that have it there."""
        if isinstance(values, wp.array):
            return values
        if is_elsewhere(values):
            return wp.from_dlpack(values)
        array = np.asarray(values)
        kind = array.dtype if array.dtype.kind in "bi" else np.dtype(np.float32)
        kind = np.dtype(np.int32) if kind.kind == "i" else kind
        return wp.array(np.ascontiguousarray(array, dtype=kind), device=self.device, dtype=dtype)

    def launch(self, kernel: Any, dim: Any, *inputs: Values) -> None:
        """Launch a kernel on the device."""
        wp.launch(kernel, dim=dim, inputs=list(inputs), device=self.device)

    def assign(self, name: str, values: Array) -> None:
        """Write all numbers of an array."""
        self.array(name).assign(values)

    def write(self, name: str, part: slice, rows: Values, matrix: Array | None = None) -> None:
        """Write rows (n, k), or their products with a matrix (k, k), into columns of an array.

        Products of NumPy's rows are computed in double precision, those of arrays of a device where they are.
        """
        target = self.array(name)
        if matrix is not None and is_elsewhere(rows):
            self.launch(kernels.write_products, rows.shape, part.start, self.put(matrix), self.put(rows), target)
            return
        rows = rows if matrix is None else each_row(matrix, rows)
        wp.copy(target[:, part], self.put(rows))

    def array(self, name: str) -> Values:
        """An array that changes in place."""
        return getattr(self, name)

    def changed(self) -> None:
        """Capture steps again: an array, a mode or a law that they use was replaced."""
        self._graphs.clear()

    def own_friction(self) -> None:
        """Give every world a row of its own in `F`, `slope`, `dahl_rate` and `constant`."""
        for name in ("F", "slope", "dahl_rate", "constant"):
            rows = getattr(self, name).numpy()
            setattr(self, name, self.put(rows[np.arange(self.n) % len(rows)]))
        self.changed()

    def sense(self, resolution: Values) -> None:
        """Give all motors encoders of these resolutions (N,); see `bias`."""
        self._encoders = encoder_kernels.Encoders()
        self._encoders.resolution = self.put(resolution)
        for name in ("bias", *EDGE_MEMORY):
            setattr(self._encoders, name, wp.zeros(self.ref.shape, dtype=float, device=self.device))
        self.changed()

    @property
    def bias(self) -> Values:
        """Bias (n, N) of the encoders [rad, m]."""
        return self._encoders.bias

    def _control_arrays(self) -> dict[str, Values]:
        """The arrays of the controllers that a snapshot holds, by name."""
        arrays = {f"_{name}": getattr(self, name) for name in (*MEMORY, "cycles")}
        if self._encoders is not None:
            arrays |= {f"encoder {name}": getattr(self._encoders, name) for name in EDGE_MEMORY}
        return arrays

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

    def move_tips(self, arm: str, increments: Values, duration: float) -> None:
        """Tip increments (n, 7) of an arm as references of its servo over a duration [s]."""
        wrist_of(self.layout.arms[arm])
        wrist, inverse_coupling = self._wrists[arm]
        first = self.table.columns[arm].start
        self.launch(
            wrist_kernels.move_tips,
            self.n,
            *(wrist, first, duration, self.put(increments), inverse_coupling, self.commanded, self.ref, self.rate),
        )

    def _place_control(self, mask: Values, qpos: Values, qvel: Values) -> None:
        """Put the controllers of the masked worlds at rest at their states."""
        motors, now = self._motors, self._control
        self.launch(control_kernels.reset_control, self.ref.shape, mask, motors, now, qpos, qvel)
        if len(self.table.B):
            self.launch(control_kernels.reset_dahl, (self.n, len(self.table.B)), mask, motors, now, qpos)
        if self._encoders is not None:
            self.launch(encoder_kernels.place_encoders, self.ref.shape, mask, self._encoders, now)

    def _act(self, qpos: Values, ctrl: Values, applied: Values) -> None:
        """Efforts of motors and friction for the next step."""
        motors, now, dim = self._motors, self._control, self.ref.shape
        self.launch(control_kernels.move_references, dim, self.dt, now)
        for name in self.laws:
            if self._follows_law(name):
                self._compute_torque(name)
        self.launch(control_kernels.control_motors, dim, self.dt, motors, now, self.kp, self.ki, self.kd, ctrl)
        friction = self.F, self.slope, self.dahl_rate, self.constant
        self.launch(control_kernels.apply_dahl, self.n, motors, now, qpos, *friction, applied)

    def _follows_law(self, arm: str) -> bool:
        """True if an arm is under computed torque; the modes are read once per capture or step."""
        return bool(self._modes_now[self.table.columns[arm].start] == COMPUTED_TORQUE)

    def _read_modes(self) -> None:
        if self.laws:
            self._modes_now = self.mode.numpy()

    def _compute_torque(self, arm: str) -> None:
        law, kernel, inputs = self._law(arm)
        now, dim, first = self._control, (self.n, law.n), self.table.columns[arm].start
        waves = self.waves.get(arm)
        if waves is not None:
            arrays = (getattr(waves, name) for name in WAVES)
            self.launch(torque_kernels.wave_references, dim, self.dt, first, waves.ramp, *arrays, now)
        self.launch(torque_kernels.law_inputs, dim, self._motors, now, first, law.n, self.kp, self.kd, inputs)
        self.launch(kernel, self.n, first, inputs, self._control.model_effort)
        if waves is None:
            self.launch(torque_kernels.advance_references, dim, self.dt, first, now)

    def _law(self, arm: str) -> tuple[TorqueLaw, Any, Any]:
        """The law of an arm, its kernel and the array of its inputs."""
        law = self.laws[arm]
        if arm not in self._law_kernels or self._law_kernels[arm][0] is not law:
            inputs = wp.zeros((self.n, len(INPUTS) * law.n), dtype=float, device=self.device)
            self._law_kernels[arm] = law, torque_kernels.law_kernel(law), inputs
        return self._law_kernels[arm]

    def _measure(self, qpos: Values, qvel: Values) -> None:
        """Read the sensors after a step."""
        self.launch(control_kernels.measure_motors, self.ref.shape, self._motors, self._control, qpos, qvel)
        if self._encoders is not None:
            self.launch(encoder_kernels.read_encoders, self.ref.shape, self.dt, self._encoders, self._control)

    def joints(self) -> tuple[Values, Values]:
        """Measured joints and joint velocities (n, N) of all arms."""
        measured = self.measured_q, self.measured_dq
        self.launch(control_kernels.measured_joints, self.q.shape, self._motors, self._control, *measured)
        return measured
