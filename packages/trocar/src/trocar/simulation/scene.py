"""A scene: any set of arms, on a patient cart or placed freely, with objects, in one MuJoCo model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.appearance.kinematic_model import BASE, SET_UP, set_up_poses
from trocar.appearance.studio import Trace
from trocar.arms.arm import GRAVITY
from trocar.errors import TrocarError, check_known, check_type, shown
from trocar.mechanics import Mechanism
from trocar.mechanics.cart import Cart, load_cart
from trocar.recording import Recording
from trocar.simulation.engine import RUNAWAY, STATE, Diverged, Engine, Snapshot, save_states
from trocar.simulation.modelling.scene_model import SceneModel, set_contacts, simulated
from trocar.simulation.objects.scene_object import MAX_NAME, OBJECT, Contact, Part, SceneObject
from trocar.simulation.scene_arm import SceneArm
from trocar.simulation.simulated_arm import SimulatedArm
from trocar.simulation.stepped_arm import SteppedArm
from trocar.spatial import Array, checked_pose, inverse, pose, quaternion, rotation

WORLD_GRAVITY = np.array([0.0, 0.0, -GRAVITY])
MAX_OBJECTS = 1000  # a scene of more takes minutes to compile
MAX_ARMS = 30  # bits of MuJoCo's collision masks
OVERLAP = 1e-6  # [m] allowed overlap at the start


class Scene:
    """Several arms with their real mechanisms, stepped together. World: z up; that of the cart, if there is one.

    Arms collide with each other and with objects; links of one arm, which pass each other by design, do not.
    Set-up joints are braked: they hold any load, and only `set_up` moves them.

    Args:
        arms: by name. cart: "Classic", "Si" or a `Cart`, for arms with a mount.
        objects: objects that instruments can touch, such as a `Solid` or a `SoftSlab`; their poses are in the world.
        timestep: [s].
        accuracy: "fast" (implicit, first order), "exact" (Runge-Kutta 4, loops 100 times stiffer, about 3.5 times
            the cost) or "discrete" (MuJoCo's integrator for models with soft bodies).
        contacts: False disables contact. overlaps: True allows initial states with overlaps, such as a tip that is
            already pressed into an object.
        gravity: (3,) in the world [m/s^2]. Default: 9.81 downwards.

    Attributes:
        arms: by name; each has the interface of a `Simulator` (q, dq, tau, tip_pose(), apply_wrench(), ...), in its
            base.
        stepped: the engine's side of every arm. objects: by name.
        cart: with its current set-up joints. gravity: (3,) in the world [m/s^2].
        engine: MuJoCo's model and data, stepped. model, data: MuJoCo's.

    Names in the model are prefixed by the arm's name and a slash, except for a single arm whose base is the world.
    """

    def __init__(
        self,
        arms: Mapping[str, SceneArm],
        *,
        cart: str | Cart | None = None,
        objects: Sequence[SceneObject] = (),
        timestep: float = 1e-3,
        accuracy: str = "fast",
        contacts: bool = True,
        overlaps: bool = False,
        gravity: ArrayLike | None = None,
    ) -> None:
        check_type("arms", arms, Mapping, "a dictionary of SceneArm by name")
        if not arms:
            raise TrocarError("a scene needs at least one arm")
        if len(arms) > MAX_ARMS:
            raise TrocarError(f"a scene can have at most {MAX_ARMS} arms, got {len(arms)}")
        if len(objects) > MAX_OBJECTS:
            raise TrocarError(f"a scene can have at most {MAX_OBJECTS} objects, got {len(objects)}")
        self.cart = load_cart(cart, instruments=carried(arms)) if isinstance(cart, str) else cart
        self._options, self._overlaps = dict(arms), overlaps
        gravity = WORLD_GRAVITY if gravity is None else gravity
        self.gravity = checks.three_numbers("gravity", gravity, "in the world [m/s^2]")
        self._assemble(self._load(), tuple(objects), timestep, accuracy, contacts)
        self.reset()

    def __repr__(self) -> str:
        things = f", objects {', '.join(self.objects)}" if self.objects else ""
        return f"<Scene: {', '.join(self.arms)}{things}, timestep {self.timestep:.3g} s, t = {self.time:.4g} s>"

    @classmethod
    def of_one(cls, options: SceneArm, gravity: ArrayLike | None, mounting: float | None, *model: Any) -> Self:
        """A scene of one arm that allows overlaps; gravity and mounting as for `load_mechanism`.

        model: objects, timestep, accuracy and contacts, as for `Scene`.
        """
        scene = cls.__new__(cls)
        mechanism, options = options.loaded(None, gravity, mounting)
        scene.cart, scene._options, scene._overlaps = None, {mechanism.arm.name: options}, True
        scene.gravity = mechanism.gravity_vector
        scene._assemble({mechanism.arm.name: (mechanism, options)}, *model)
        scene.reset()
        return scene

    def _load(self) -> dict[str, tuple[Mechanism, SceneArm]]:
        """Equations and options of every arm; errors name the arm."""
        arms = {}
        for name, options in self._options.items():
            _check_name(name)
            check_type(f"the arm {name} of a scene", options, SceneArm, "a SceneArm, such as SceneArm(arm='PSM')")
            try:
                arms[name] = options.loaded(self.cart)
            except TrocarError as error:
                raise TrocarError(f"{name}: {error}") from None
        return arms

    def _assemble(self, arms: Mapping[str, tuple[Mechanism, SceneArm]], *model: Any) -> None:
        """Build the model and everything that refers to it; model: objects, timestep, accuracy and contacts."""
        self._mountings = {name: mechanism.arm.mounting for name, (mechanism, _) in arms.items()}
        bases = {name: self.T_world_base(name) for name in arms}
        self._build = build = SceneModel(arms, bases, self._mounts(), self.cart, self.gravity, *model)
        self._drawn: mujoco.MjSpec | None = None
        alone = len(arms) == 1 and not build.objects
        plain, prefixed, objects = simulated(build.spec(visual=False), alone), build.prefixed, build.objects
        try:
            compiled = plain.compile()
        except ValueError as error:
            raise TrocarError(f"MuJoCo rejects the model: {error}") from None
        self.engine = engine = Engine(compiled, build.accuracy)
        self.model, self.data = engine.model, engine.data
        self.stepped = {
            name: SteppedArm(mechanism.under(self._gravity(name)), options, engine, f"{name}/" if prefixed else "")
            for name, (mechanism, options) in arms.items()
        }
        tips = [stepped.body(stepped.arm.tip_body) for stepped in self.stepped.values()]
        set_contacts(self.model, objects, tips)
        self.objects = {thing.name: thing.placed(self.model, self.data) for thing in objects}
        for placed in self.objects.values():
            known = (*arms, *self.objects)
            check_known(f"arm or object of the scene with {placed.thing.name}", known, *placed.thing.partners)
            placed.meet(self.objects)
        self.arms = {name: SimulatedArm(stepped, self.objects) for name, stepped in self.stepped.items()}
        # cached, because they are read at every step
        self._items, self._all = tuple(self.stepped.items()), tuple(self.stepped.values())
        engine.attach(self._all, [placed for placed in self.objects.values() if placed.acts], self._raise_diverged)
        # every body of an arm, by its id; other bodies and soft objects are added when they first touch
        self._parts: dict[int, Part] = {}
        self._soft_parts: dict[int, Part] = {}
        self._geoms: dict[str, frozenset[int]] = {}  # by arm, when they are first asked for
        self._parts |= {stepped.base: Part("base", name) for name, stepped in self._items if prefixed}
        self._parts |= {
            stepped.body(body.name): Part(body.name, name)
            for name, stepped in self._items
            for body in stepped.arm.bodies
        }

    @property
    def spec(self) -> mujoco.MjSpec:
        """The specification of `model` with all visual shapes (`model` has none); built on first use."""
        if self._drawn is None:
            self._drawn = self._build.spec(visual=True)
        return self._drawn

    def _mounts(self) -> dict[str, str]:
        return {name: options.mount for name, options in self._options.items() if options.mount is not None}

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of `Scene` that build this scene at its start, with its current options and set-up joints."""
        return {
            "arms": dict(self._options),
            "cart": self.cart,
            "objects": tuple(self._build.objects),
            "timestep": self.timestep,
            "accuracy": self._build.accuracy,
            "contacts": self._build.contacts,
            "overlaps": self._overlaps,
            "gravity": self.gravity,
        }

    @property
    def time(self) -> float:
        """[s] since the last reset."""
        return self.engine.time

    @property
    def timestep(self) -> float:
        """[s]."""
        return float(self.model.opt.timestep)

    @property
    def unconverged(self) -> int:
        """Steps since the last reset in which the solver of constraints and contacts did not converge.

        The first one also raises an `Unsolved` warning. One such step can throw a light object out of the jaws.
        """
        return self.engine.unconverged

    @property
    def apart(self) -> int:
        """Checks, one every 20 steps since the last reset, in which a tie of an object was open by more than 1 mm.

        Ties join needle and tissue, the parts of a thread, and seams. The first also raises a `TornApart` warning.
        """
        return self.engine.apart

    def T_world_base(self, arm: str) -> Array:
        """Base (4, 4) of an arm in the world; for PSMs and ECMs its origin is the remote centre."""
        options = self._options[self._check_arm(arm)]
        if options.mount is not None and self.cart is not None:
            return self.cart.T_world_base(options.mount)
        if options.base is not None:
            return checked_pose(options.base)
        return pose(rotation("x", self._mountings[arm]))

    def mount(self, arm: str) -> str | None:
        """Mount of an arm on the scene's cart: PSM1, PSM2, PSM3 or ECM; None if it is not on the cart."""
        return self._options[self._check_arm(arm)].mount

    def T_world_tip(self, arm: str) -> Array:
        """Tip (4, 4) of an arm in the world, of the simulated closed chain."""
        self.engine.update()
        return self.stepped[self._check_arm(arm)].T_world_base @ self.arms[arm].tip_pose()

    def T_camera_tip(self, arm: str, camera: str = "ECM") -> Array:
        """Tip (4, 4) of an arm in the tip frame of the endoscope arm `camera`: x left, y up, z away from the lens."""
        if self.arms[self._check_arm(camera)].arm.carries != "endoscope":
            raise TrocarError(f"{camera} carries no endoscope; name the ECM of the scene as `camera`")
        return inverse(self.T_world_tip(camera)) @ self.T_world_tip(arm)

    def move_tip(
        self, arm: str, T_world: ArrayLike, duration: float, *, jaw: float | None = None
    ) -> dict[str, Recording]:
        """Move the tip of an arm on a straight line to T_world (4, 4) in `duration` [s]; the other arms hold.

        jaw: opening at the end [rad]. Default: unchanged. Returns recordings by arm; see `manipulation.move_tip`.
        """
        from trocar.simulation.manipulation import move_tip  # imported here: that module runs scenes

        return move_tip(self, arm, T_world, duration, jaw=jaw)

    def reset(self, q: Mapping[str, ArrayLike] | None = None, dq: Mapping[str, ArrayLike] | None = None) -> None:
        """Start at time 0 with joints q and rates dq (n,) by arm; omitted arms start at the scene's q, at rest.

        Raises an error if an arm overlaps anything, unless the scene allows `overlaps`.
        """
        q, dq = q or {}, dq or {}
        for name in (*q, *dq):
            self._check_arm(name)
        start = {name: self._at_start(name, q.get(name)) for name in self.arms}
        still = {name: np.zeros(arm.n) for name, arm in self.arms.items()}
        rates = {name: self.arms[name].mechanism.checked_joints(v, "dq") for name, v in (still | dict(dq)).items()}
        mujoco.mj_resetData(self.model, self.data)
        self.engine.counts = (0, 0, 0)
        for name, stepped in self._items:
            stepped.start(start[name], rates[name])
        for placed in self.objects.values():
            placed.reset()
        self.engine.forward()
        if not self._overlaps:
            self._check_apart("at the start", "choose another q, base or set-up joints")

    def set_up(self, arm: str, q_setup: ArrayLike) -> None:
        """Move the set-up joints (n,) [m, rad] of an arm on the cart, as by hand: release brakes, move, engage brakes.

        The arm keeps its joints and its time; its base pose and the direction of gravity change. The motion
        itself is not simulated. Raises an error, and does not move, if the arm would overlap anything.
        """
        mount = self._options[self._check_arm(arm)].mount
        if self.cart is None or mount is None:
            raise TrocarError(f"{arm} is not on a cart: its base is fixed")
        before, self.cart = self.cart, self.cart.moved({mount: q_setup})
        try:
            self._update_base(arm)
            self._check_apart("there", "choose other set-up joints")
        except TrocarError:
            self.cart = before
            self._update_base(arm)
            raise

    def changed(self, arms: Mapping[str, Mapping[str, Any]] | None = None, gravity: ArrayLike | None = None) -> Scene:
        """A copy of this scene in its current state, with some options of arms (see `SceneArm`) or gravity replaced.

        Joints keep positions (within the limits of the copy) and velocities, objects their poses; time continues.
        Wrenches and faults are removed, Dahl friction is relaxed. Raises an error if an arm would overlap anything new.

        Example: scene.changed({"PSM1": {"instrument": "400093", "friction": False}})
        """
        other = self.rebuilt(arms, gravity)
        other.continue_from(self)
        return other

    def rebuilt(self, arms: Mapping[str, Mapping[str, Any]] | None = None, gravity: ArrayLike | None = None) -> Scene:
        """As `changed`, without a state: `continue_from` sets it. Another thread may call it while this scene steps."""
        options = dict(arms or {})
        for name in options:
            self._check_arm(name)
        other = Scene.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._options = {
            name: replace(of, **options[name]) if name in options else of for name, of in self._options.items()
        }
        if gravity is not None:
            other.gravity = checks.three_numbers("gravity", gravity, "in the world [m/s^2]")
        if self.cart is not None:
            facts = {mount: self.cart.set_up(mount) for mount in self.cart.arms}
            instruments = {**self.cart.instruments, **carried(other._options)}
            other.cart = Cart(self.cart.name, facts, self.cart.q_setup, instruments)
        model = self._build
        other._assemble(other._load(), model.objects, self.timestep, model.accuracy, model.contacts)
        return other

    def continue_from(self, before: Scene) -> None:
        """Take the state of the scene that this one was `rebuilt` from.

        Raises an error if an arm would overlap anything new.
        """
        touched = {frozenset((contact.first, contact.second)) for contact in before.touching()}
        self.data.time, self.engine.counts = before.data.time, before.engine.counts
        for name, stepped in self._items:
            was, arm, rows = before.arms[name], stepped.arm, before.stepped[name]
            q = np.clip(was.q, arm.lower, arm.upper) if stepped.options.limits else was.q
            stepped.start(q, was.dq)
            if self._options[name] is before._options[name]:  # the same to the last bit, loops included
                self.data.qpos[stepped.q], self.data.qvel[stepped.v] = (
                    before.data.qpos[rows.q],
                    before.data.qvel[rows.v],
                )
                self.data.qacc_warmstart[stepped.v] = before.data.qacc_warmstart[rows.v]
        # objects come last and are the same in both
        q, v = (max(getattr(stepped, of).stop for stepped in before._all) for of in "qv")
        nq, nv = before.model.nq, before.model.nv
        if nq > q:
            self.data.qpos[q - nq :] = before.data.qpos[q:]
            self.data.qvel[v - nv :] = before.data.qvel[v:]
            self.data.qacc_warmstart[v - nv :] = before.data.qacc_warmstart[v:]
        for name, placed in before.objects.items():
            self.objects[name].memory = placed.memory
        self.engine.forward()
        for contact in self._contacts():
            new = frozenset((contact.first, contact.second)) not in touched
            if contact.of_arm and new and contact.distance < -OVERLAP:
                raise TrocarError(f"{contact} with these options; move the arm away first")

    def step(self, tau: Mapping[str, ArrayLike]) -> None:
        """Advance one timestep under joint efforts (n,) [N m, N] of every arm, held constant over the step."""
        try:
            for name, stepped in self._items:
                stepped.command(tau[name])
        except KeyError as missing:
            raise TrocarError(f"no efforts for {missing.args[0]}: step takes those of {', '.join(self.arms)}") from None
        except TypeError:
            check_type("tau", tau, Mapping, f"a dictionary with the efforts of {', '.join(self.arms)}")
            raise
        if len(tau) != len(self._all):
            self._check_arm(next(name for name in tau if name not in self.arms))
        self.engine.advance()

    def advance(self) -> None:
        """Advance one timestep under the efforts set by `SteppedArm.command` for every arm."""
        self.engine.advance()

    def touching(self, arm: str | None = None) -> list[Contact]:
        """Contacts of arms with each other and with objects at the start of the last step, deepest first.

        arm: only the deepest contact of each pair of bodies of which one belongs to this arm.
        """
        contacts = self._contacts(arm)
        if arm is None:
            return contacts
        pairs: dict[tuple[Part, Part], Contact] = {}
        for contact in contacts:
            pairs.setdefault((contact.first, contact.second), contact)
        return list(pairs.values())

    def _contacts(self, arm: str | None = None) -> list[Contact]:
        """Contacts, of one arm if given, deepest first; not between jaws of one instrument."""
        contacts: list[Contact] = []
        members = None if arm is None else self._geoms_of(arm)
        if not self.data.ncon:
            return contacts
        active = self.data.contact  # whole arrays: objects of single contacts are slow
        rows = zip(active.geom.tolist(), active.flex.tolist(), active.dist.tolist(), strict=True)
        for geoms, flexes, distance in rows:
            if members is not None and members.isdisjoint(geoms):
                continue
            first, second = map(self._part_of, geoms, flexes)
            if first.arm is None or first.arm != second.arm:
                contacts.append(Contact(first, second, distance))
        return sorted(contacts, key=lambda contact: contact.distance)

    def _geoms_of(self, arm: str) -> frozenset[int]:
        """Ids of all geoms of an arm."""
        if arm not in self._geoms:
            bodies = [body for body, part in self._parts.items() if part.arm == self._check_arm(arm)]
            self._geoms[arm] = frozenset(np.flatnonzero(np.isin(self.model.geom_bodyid, bodies)).tolist())
        return self._geoms[arm]

    def snapshot(self) -> Snapshot:
        """A copy of the complete state, for `restore`; set-up joints are not included."""
        state = np.empty(mujoco.mj_stateSize(self.model, STATE))
        mujoco.mj_getState(self.model, self.data, state, STATE)
        memories = {name: stepped.memory for name, stepped in self._items}
        objects = {name: placed.memory for name, placed in self.objects.items() if placed.memory is not None}
        engine = self.engine
        return Snapshot(state, self.data.ctrl.copy(), engine.qacc.copy(), memories, objects, engine.counts)

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot of this scene, or of one built alike; the continuation is bit-for-bit the same."""
        mujoco.mj_setState(self.model, self.data, snapshot.state, STATE)
        self.data.ctrl[:], self.engine.qacc = snapshot.tau, snapshot.ddq.copy()
        self.engine.counts = snapshot.counts
        for name, stepped in self._items:
            stepped.memory = snapshot.memories[name]
        for name, memory in snapshot.objects.items():
            self.objects[name].memory = memory
        self.engine.forward()

    def __getstate__(self) -> dict[str, Any]:
        """State for copies and other processes: the arguments of this scene and its `snapshot`."""
        own = {name: getattr(self, name) for name in ("cart", "_options", "_overlaps", "gravity")}
        build = self._build
        return own | {
            "model": (build.objects, self.timestep, build.accuracy, build.contacts),
            "snapshot": self.snapshot(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        model, snapshot = state.pop("model"), state.pop("snapshot")
        self.__dict__.update(state)
        self._assemble(self._load(), *model)
        self.restore(snapshot)

    def fixed_poses(self) -> dict[str, Array]:
        """Poses (4, 4) in the world of bodies that have no joints of the engine but move, by their names in `spec`.

        Set-up joints move the bases of arms; some objects follow the time.
        """
        poses = {f"{name}/{BASE}": self.T_world_base(name) for name, stepped in self._items if stepped.prefix}
        poses |= {OBJECT + name: placed.pose for name, placed in self.objects.items() if placed.driven}
        for name, mount in self._mounts().items():
            if self.cart is not None:
                poses |= {f"{name}/{SET_UP}{joint}": T for joint, T in set_up_poses(self.cart, mount).items()}
        return poses

    def lines(self) -> list[Trace]:
        """Lines that pictures show of objects that are not in MuJoCo's model."""
        return [placed.line for placed in self.objects.values() if placed.line is not None]

    def _update_base(self, arm: str) -> None:
        """Move the base of an arm to its current pose on the cart."""
        T, stepped = self.T_world_base(arm), self.stepped[arm]
        self.model.body_pos[stepped.base] = T[:3, 3]
        self.model.body_quat[stepped.base] = quaternion(T[:3, :3])
        stepped.set_gravity(self._gravity(arm))
        self.engine.forward()

    def _gravity(self, arm: str) -> Array:
        return np.asarray(self.T_world_base(arm)[:3, :3].T @ self.gravity)

    def _at_start(self, name: str, q: ArrayLike | None) -> Array:
        arm, start = self.arms[name], self._options[name].q
        if q is None:
            q = np.array(arm.arm.home) if start is None else start
        try:
            joints = arm.mechanism.checked_joints(q)
            if arm.options.limits:
                arm.arm.check_within_limits(joints)
        except TrocarError as error:
            raise TrocarError(f"{name}: {error}") from None
        return joints

    def _check_apart(self, where: str, remedy: str) -> None:
        for contact in self._contacts():
            if contact.of_arm and contact.distance < -OVERLAP:
                raise TrocarError(f"{contact} {where}: {remedy}")

    def _part_of(self, geom: int, flex: int) -> Part:
        """The link or object of a geom, or the soft object of a flex, if geom is -1."""
        if geom < 0:
            if flex not in self._soft_parts:
                name = str(mujoco.mj_id2name(self.model, mujoco.mjtObj.mjOBJ_FLEX, flex))
                self._soft_parts[flex] = Part(name.removeprefix(OBJECT))
            return self._soft_parts[flex]
        body = int(self.model.geom_bodyid[geom])
        if body not in self._parts:
            self._parts[body] = Part(self.model.body(body).name.removeprefix(OBJECT))
        return self._parts[body]

    def _check_arm(self, arm: str) -> str:
        check_known("arm of the scene", self._options, arm)
        return arm

    def _raise_diverged(self, joint: int | None, what: str) -> None:
        saved = save_states(self.data, np.concatenate([arm.tau for arm in self.arms.values()]))
        accelerations = {name: self.engine.qacc[stepped.v] for name, stepped in self._items}
        runaway = [name for name, qacc in accelerations.items() if not np.linalg.norm(qacc) < RUNAWAY]
        if joint is not None:
            dof = int(self.model.jnt_dofadr[joint])
            runaway = [name for name, stepped in self._items if stepped.v.start <= dof < stepped.v.stop]
        diverged = f"the simulation of {' and '.join(runaway) or 'an object'} diverged at t = {self.time:.4f} s{what}"
        raise Diverged(
            f"{diverged}; {saved}. "
            "The usual causes are efforts too large for the timestep, or a controller that is unstable at it"
        )


def carried(arms: Mapping[str, SceneArm]) -> dict[str, str]:
    """Instruments of the arms on a cart, by mount."""
    return {arm.mount: str(arm.instrument) for arm in arms.values() if arm.mount and arm.instrument}


def _check_name(name: object) -> None:
    """Raise an error unless recordings can be saved under the name of an arm."""
    plain = isinstance(name, str) and name[:1].isalnum() and name.isprintable() and not set(name) & set("/\\")
    if not plain or len(str(name)) > MAX_NAME:
        raise TrocarError(
            "the name of an arm in a scene must start with a letter or digit, have no '/', '\\' or line break and "
            f"at most {MAX_NAME} characters, got {shown(name)}"
        )
