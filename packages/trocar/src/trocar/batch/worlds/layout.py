"""The parts of a scene that a batch of it needs: MuJoCo's model, rows of every arm, constants of its controllers.

A layout holds numbers and arrays only. It is pickled to machines with a GPU that have neither Pinocchio nor the arms'
facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from trocar.arms.structure import WristedShaft
from trocar.errors import TrocarError, check_type
from trocar.spatial import Array

if TYPE_CHECKING:
    from trocar.arms import Arm
    from trocar.simulation.scene import Scene
    from trocar.simulation.stepped_arm import SteppedArm

FINGERS = ("finger_left", "finger_right")


@dataclass(frozen=True, eq=False)
class WristLayout:
    """Constants of the closed-form inverse kinematics of a shaft with an offset wrist (PSM).

    Attributes:
        T_6_tip: (4, 4) tip in the last frame. roll, offset, insertion: lengths [m]. lower, upper: limits (6,).
        placements: (6, 4, 4) of the serial chain; each joint moves along or about z, the third slides.
    """

    T_6_tip: Array
    roll: float
    offset: float
    insertion: float
    lower: Array
    upper: Array
    placements: Array


@dataclass(frozen=True, eq=False)
class ArmLayout:
    """One arm of a scene.

    Attributes:
        q, v, u: (first, end) rows of its positions, velocities and motors in the model. n: independent joints.
        D, E: q = D qpos, qpos = E q with relaxed springs. D_measured: joints at the encoders = D_measured qpos.
        coupling: (n, n), joint from motor positions. effort: (n,) of its motors [N m, N].
        lower, upper, home: (n,) [rad, m]. motor_limits: efforts are cut at `effort`.
        kp, ki, kd, deadband, output, cutoff, momentum: (n,) of the dVRK's PID and observer, in motor space.
        constant: (nv,) forces in every state. B, F, slope, rate: Dahl elements, forces
            -B' (F + slope s) z at s = B qpos.
        T_world_base: (4, 4). tip: site. fingers: bodies, -1 if it has none. instrument: (ngeom,) 1 for its geoms,
            2 for those from the roll on. wrist: None for other structures.
    """

    name: str
    q: tuple[int, int]
    v: tuple[int, int]
    u: tuple[int, int]
    D: Array
    D_measured: Array
    E: Array
    coupling: Array
    effort: Array
    lower: Array
    upper: Array
    home: Array
    motor_limits: bool
    kp: Array
    ki: Array
    kd: Array
    deadband: Array
    output: Array
    cutoff: Array
    momentum: Array
    constant: Array
    B: Array
    F: Array
    slope: Array
    rate: Array
    T_world_base: Array
    tip: int
    fingers: tuple[int, int]
    instrument: Array
    wrist: WristLayout | None

    @property
    def n(self) -> int:
        """Number of independent joints."""
        return len(self.coupling)


@dataclass(frozen=True, eq=False)
class ObjectLayout:
    """An object: its body, and the first rows of its position and velocity if it is free, otherwise -1."""

    name: str
    body: int
    q: int
    v: int


@dataclass(frozen=True, eq=False)
class SceneLayout:
    """A scene: its model, its start, its arms and objects by name.

    Attributes:
        stop_rows, stops: (S,), (S, 2) rows of qpos, and positions beyond which a world has diverged.
        runaway: norm of accelerations above which it has. loop_stiffening: of the model's loops, see `Engine`.
    """

    model: mujoco.MjModel
    qpos: Array
    qvel: Array
    arms: dict[str, ArmLayout]
    objects: dict[str, ObjectLayout]
    stop_rows: Array
    stops: Array
    runaway: float
    loop_stiffening: float

    @classmethod
    def of(cls, scene: Scene) -> SceneLayout:
        """The layout of a scene in its current state; an error names what acts outside MuJoCo's model."""
        # imported here: layouts are read where the arms' dependencies are not installed
        from trocar.simulation.engine import LOOP_STIFFENING, RUNAWAY

        if scene.engine.accuracy == "exact":
            raise TrocarError('a batch of scenes needs accuracy="fast" or "discrete"; this scene has "exact"')
        acting = [name for name, placed in scene.objects.items() if placed.acts]
        if acting:
            raise TrocarError(f"{', '.join(acting)} acts between the steps of MuJoCo and cannot be part of a batch")
        if scene.model.nflex:
            raise TrocarError("a batch of scenes has rigid objects only; this scene has soft ones")
        if any(arm.options.compensation is not None for arm in scene.arms.values()):
            raise TrocarError("the controllers of a batch of scenes compensate no wrist; omit compensation")
        arms = {name: _arm(scene, name, stepped) for name, stepped in scene.stepped.items()}
        objects = {name: _object(scene.model, name, placed.body) for name, placed in scene.objects.items()}
        stops = scene.engine.stops
        return cls(
            scene.model,
            scene.data.qpos.copy(),
            scene.data.qvel.copy(),
            arms,
            objects,
            stop_rows=np.array([stop.address for stop in stops], dtype=np.int32),
            stops=np.array([(s.low + s.allowed - s.runaway, s.high - s.allowed + s.runaway) for s in stops]).reshape(
                -1, 2
            ),
            runaway=RUNAWAY,
            loop_stiffening=LOOP_STIFFENING,
        )

    def check_alike(self, other: SceneLayout) -> None:
        """Raise an error unless another layout has the same arms, objects and sizes."""
        a, b = self.model, other.model
        sizes = [name for name in ("nq", "nv", "nu", "nbody", "ngeom", "neq") if getattr(a, name) != getattr(b, name)]
        names = list(self.arms) != list(other.arms) or list(self.objects) != list(other.objects)
        if sizes or names or a.opt.timestep != b.opt.timestep:
            raise TrocarError("the scenes of a batch must have the same arms, objects and timestep")
        for name, arm in self.arms.items():
            if not np.array_equal(arm.B, other.arms[name].B):
                raise TrocarError(f"the scenes of a batch must have the same Dahl elements; those of {name} differ")
            if not np.array_equal(arm.E, other.arms[name].E):
                raise TrocarError(f"wrist cables of a batch of scenes must have the same coupling; {name} differs")


def _arm(scene: Scene, name: str, stepped: SteppedArm) -> ArmLayout:
    arm, options = stepped.arm, stepped.options
    _check_acting(name, stepped)
    controller, model = arm.controller, scene.model
    gains = {key: np.array(getattr(arm.gains, key), dtype=float) for key in ("kp", "ki", "kd")}
    gains = {key: value if len(value) == arm.n else np.zeros(arm.n) for key, value in gains.items()}
    output = np.array(controller.output, dtype=float)
    memory = stepped.forces.hysteresis
    names = {body.name for body in arm.bodies}
    first = "roll" if "roll" in arm.joint_names else arm.tip_body
    instrument = np.zeros(model.ngeom, dtype=np.int32)
    for body in arm.bodies:
        own = model.geom_bodyid == stepped.body(body.name)
        instrument[own] = 2 if first in arm.carriers(body.name) else 1
    return ArmLayout(
        name=name,
        q=(stepped.q.start, stepped.q.stop),
        v=(stepped.v.start, stepped.v.stop),
        u=(stepped.u.start, stepped.u.stop),
        D=stepped.D,
        D_measured=stepped.D_measured,
        E=stepped.E,
        coupling=np.array(arm.motors.coupling, dtype=float),
        effort=np.array(arm.motors.effort, dtype=float),
        lower=arm.lower,
        upper=arm.upper,
        home=np.array(arm.home),
        motor_limits=bool(options.motor_limits),
        kp=gains["kp"],
        ki=gains["ki"],
        kd=gains["kd"],
        deadband=np.array(controller.deadband, dtype=float),
        output=np.where(np.isfinite(output), output, 1e30),
        cutoff=np.array(controller.cutoff, dtype=float),
        momentum=np.array(controller.cutoff, dtype=float) * np.array(controller.nominal_mass, dtype=float),
        constant=np.array(stepped.forces.constant),
        B=np.zeros((0, stepped.D.shape[1])) if memory is None else memory.B,
        F=np.zeros(0) if memory is None else memory.F,
        slope=np.zeros(0) if memory is None else memory.slope,
        rate=np.zeros(0) if memory is None else memory.rate,
        T_world_base=scene.T_world_base(name),
        tip=stepped.site("tip"),
        fingers=tuple(stepped.body(finger) if finger in names else -1 for finger in FINGERS),  # type: ignore[arg-type]
        instrument=instrument,
        wrist=wrist_layout(arm) if isinstance(arm.structure, WristedShaft) else None,
    )


def _check_acting(name: str, stepped: SteppedArm) -> None:
    """Raise an error that names the forces outside MuJoCo's model that a batch does not have."""
    drives, options = stepped.mechanism.drives, stepped.options
    varying = bool(options.friction and (drives.mu.any() or drives.Fx.any()))
    reasons = {
        "friction by load or position, which needs the equations of the arm at every step": varying,
        "cables, elastic drives or a port": bool(stepped.forces.smooth),
        "a mirrored counterweight": options.transmission not in ("rigid", None) and not _is_cable(options.transmission),
        "faults": stepped.faults is not None,
        "brakes that are engaged": bool(stepped.brakes) and stepped.brakes.engaged,
    }
    present = [reason for reason, is_so in reasons.items() if is_so]
    if present:
        raise TrocarError(
            f"{name} has {' and '.join(present)}: outside MuJoCo's model; a batch needs parameters without them "
            "(PSM: wang2019 or wang2019_refit), or friction=False"
        )


def _is_cable(transmission: Any) -> bool:
    return all(hasattr(transmission, field) for field in ("stiffness", "damping"))


def wrist_layout(arm: Arm) -> WristLayout:
    """The constants of an arm whose structure is a shaft with an offset wrist."""
    serial = arm.serial
    return WristLayout(
        arm.T_last_tip,
        roll=float(serial[3].placement[2, 3]),
        offset=float(serial[5].placement[0, 3]),
        insertion=float(serial[2].placement[:3, 3] @ serial[2].placement[:3, 2]),
        lower=arm.lower[:6],
        upper=arm.upper[:6],
        placements=np.array([link.placement for link in serial[:6]]),
    )


def _object(model: mujoco.MjModel, name: str, body: int) -> ObjectLayout:
    joint = int(model.body_jntadr[body])
    if joint >= 0 and model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
        return ObjectLayout(name, body, int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint]))
    return ObjectLayout(name, body, -1, -1)


def layouts(scenes: Any) -> list[SceneLayout]:
    """Layouts of a scene, a simulator, a layout or a sequence of these, which must be alike."""
    many = list(scenes) if isinstance(scenes, list | tuple) else [scenes]
    loaded = [_layout(scene) for scene in many]
    if not loaded:
        raise TrocarError("a batch needs at least one scene")
    for layout in loaded[1:]:
        loaded[0].check_alike(layout)
    return loaded


def _layout(scene: Any) -> SceneLayout:
    if isinstance(scene, SceneLayout):
        return scene
    from trocar.simulation import Scene, Simulator  # imported here: layouts are read where neither is installed

    check_type("scene", scene, (Scene, Simulator), "a Scene, a Simulator or a SceneLayout")
    return SceneLayout.of(scene.scene if isinstance(scene, Simulator) else scene)
