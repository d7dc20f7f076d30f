"""Scenes from TOML files: arms with their placement and initial state, and objects. SI units, radians."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.arms import ARMS, gravity_vector, load_arm
from trocar.arms.arm import CONTROL_RATE
from trocar.arms.file_fields import Fields
from trocar.arms.suj import CARTS
from trocar.errors import TrocarError, UnknownName, check_known
from trocar.mechanics.cart import load_cart
from trocar.plugins import names, plugin
from trocar.simulation.modelling.arm_model import INTEGRATORS
from trocar.simulation.named_scene import NamedScene
from trocar.simulation.objects import KINDS, SceneObject
from trocar.simulation.objects.closed_surface import MESH_FILES
from trocar.simulation.scene import Scene, carried
from trocar.simulation.scene_arm import SceneArm
from trocar.spatial import Array, pose, rotation
from trocar.toml_file import read_toml

SCENES = Path(__file__).parent / "scenes"
SCENE_FIELDS = ("timestep", "accuracy", "contacts", "cart", "set_up", "arms", "objects")
BUILT_IN = ("psm", "cart_classic", "cart_si", "masters", "dvrk", "dvrk_si", "suture")
PLUGINS = "trocar.scenes"  # entry points of scenes that other packages add
FILES = ("parameters", "instrument", "wrist", "compensation")  # fields of an arm that may name a file
FLAGS, NUMBERS = ("counterweight", "friction", "limits", "motor_limits"), ("rotor_inertia", "added_mass")
ARM_FIELDS = ("arm", "mount", "position", "rpy", "q", *FILES, "endoscope", *FLAGS, *NUMBERS)


def load_scene(
    source: str | PathLike[str],
    *,
    arms: Sequence[str] | None = None,
    parameters: Mapping[str, str | PathLike[str]] | None = None,
    arm_options: Mapping[str, Mapping[str, str | PathLike[str]]] | None = None,
    **options: Any,
) -> Scene:
    """Load a scene from a file (NAME.toml), a built-in one (psm, cart_classic, cart_si, masters, dvrk, dvrk_si,
    suture), or one of another package (`trocar.plugins`). The name of an arm, such as PSM, is a
    scene of this arm as it is usually mounted.

    Args:
        arms: names of the arms to load. Default: all of the file.
        parameters: parameter set or file by arm, instead of those of the file.
        arm_options: parameters, instrument, wrist and compensation by arm, instead of those of the file.
        options: timestep, accuracy and contacts of `Scene` override the file; objects are added to those of the file.
            They may be a function of the arms and the cart. A scene of another package takes its own options.
    """
    own = _own_options(parameters, arm_options)
    if (named := named_scene(source)) is not None:
        check_known(f"arm of the scene {source}", named.arms, *(arms or ()), *own)
        if arms is not None and set(arms) != set(named.arms):
            raise TrocarError(f"the scene {source} needs all of its arms, {', '.join(named.arms)}; leave out arms")
        sets = {arm: fields.pop("parameters") for arm, fields in own.items() if "parameters" in fields}
        more = {arm: fields for arm, fields in own.items() if fields}  # a scene need not know them
        return named.build(parameters=sets, **options, **({"arm_options": more} if more else {}))
    if isinstance(source, str) and source in ARMS:
        check_known(f"arm of the scene {source}", (source,), *(arms or ()), *own)
        alone = SceneArm(arm=source, **own.get(source, {}))
        added = options.get("objects", ())
        return arm_scene(alone, **{**options, "objects": added({source: alone}, None) if callable(added) else added})
    table, name = _read(source)
    if arms is not None:
        entries = Fields(table, name).tables("arms")
        check_known(f"arm of the scene {name}", entries, *arms)
        table = {**table, "arms": {arm: table["arms"][arm] for arm in entries if arm in arms}}
    if own:
        check_known(f"arm of the scene {name}", Fields(table, name).tables("arms"), *own)
        changed = {arm: {**table["arms"][arm], **fields} for arm, fields in own.items()}
        table = {**table, "arms": {**table["arms"], **changed}}
    folder = Path(name).parent if name.endswith(".toml") else Path()
    return _scene(table, name, folder, options)


def _own_options(
    parameters: Mapping[str, str | PathLike[str]] | None,
    arm_options: Mapping[str, Mapping[str, str | PathLike[str]]] | None,
) -> dict[str, dict[str, Any]]:
    """Fields of arms that name a set or file, by arm; paths are absolute."""
    own: dict[str, dict[str, Any]] = {
        arm: {"parameters": _absolute(chosen)} for arm, chosen in (parameters or {}).items()
    }
    for arm, fields in (arm_options or {}).items():
        check_known("option of an arm", FILES, *fields)
        own[arm] = own.get(arm, {}) | {name: _absolute(value) for name, value in fields.items()}
    return own


def arm_scene(
    options: SceneArm, gravity: ArrayLike | None = None, *, timestep: float = 1.0 / CONTROL_RATE, **model: Any
) -> Scene:
    """A scene of one arm, named by its kind, with its base at the world origin and the timestep of the controllers.

    Args:
        gravity: (3,) [m/s^2] in base axes. Default: as the arm is usually mounted. model: other arguments of `Scene`.
    """
    if options.arm is None:
        raise TrocarError(f"a scene of one arm needs arm= ({', '.join(ARMS)}, or an Arm)")
    facts = load_arm(options.arm) if isinstance(options.arm, str) else options.arm
    arms = {facts.name: replace(options, base=np.eye(4))}
    return Scene(arms, gravity=gravity_vector(facts, gravity), timestep=timestep, **model)


def _absolute(parameters: str | PathLike[str]) -> str:
    """A parameter set by name, or the absolute path of its file: a scene's own files are relative to the scene."""
    text = fspath(parameters)
    return str(Path(text).absolute()) if text.endswith(".toml") else text


def arms_of(source: str | PathLike[str]) -> tuple[str, ...]:
    """Names of the arms of a scene."""
    if (named := named_scene(source)) is not None:
        return named.arms
    if isinstance(source, str) and source in ARMS:
        return (source,)
    table, name = _read(source)
    return tuple(Fields(table, name).tables("arms"))


def timestep_of(source: str | PathLike[str]) -> float | None:
    """The time step that a scene specifies [s]; None if it specifies none."""
    if (named := named_scene(source)) is not None:
        return named.timestep
    if isinstance(source, str) and source in ARMS:
        return 1.0 / CONTROL_RATE
    table, name = _read(source)
    return Fields(table, name).number("timestep") if "timestep" in table else None


def scene_names() -> tuple[str, ...]:
    """Names of all scenes: built in, then those of other packages."""
    return (*BUILT_IN, *names(PLUGINS))


def named_scene(source: str | PathLike[str]) -> NamedScene | None:
    """The scene of another package by name; None for a built-in scene or a file."""
    if not isinstance(source, str) or source in BUILT_IN or source not in names(PLUGINS):
        return None
    scene: NamedScene = plugin(PLUGINS, source)
    return scene


def _read(source: str | PathLike[str]) -> tuple[dict[str, Any], str]:
    """Content and name of a scene, from a file or built in."""
    name = fspath(source) if isinstance(source, str | PathLike) else ""
    if name.endswith(".toml"):
        return read_toml(name, "scene file"), name
    if name not in BUILT_IN:
        raise UnknownName("scene", source, (*scene_names(), *ARMS, "a path ending in .toml"))
    return read_toml(SCENES / f"{name}.toml", "scene file"), name


def _scene(table: Mapping[str, Any], name: str, folder: Path, options: Mapping[str, Any]) -> Scene:
    fields = Fields(table, name)
    fields.check_known(SCENE_FIELDS)
    chosen: dict[str, Any] = {
        "timestep": fields.positive("timestep", 1e-3, unit="s"),
        "accuracy": fields.choice("accuracy", tuple(INTEGRATORS), "fast"),
        "contacts": fields.flag("contacts", True),
    }
    arms = {key: _arm(entry, folder) for key, entry in fields.tables("arms").items()}
    entries = table.get("objects", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise TrocarError(f"{name}: 'objects' must be a list of tables: [[objects]]")
    objects = [_object(Fields(_located(entry, folder), f"{name}: object {k}")) for k, entry in enumerate(entries, 1)]
    cart = None
    if "cart" in table:
        kind = fields.choice("cart", CARTS, "")
        joints = fields.table("set_up") if "set_up" in fields else Fields({}, name)
        q_setup = {mount: joints.numbers(mount) for mount in joints}
        cart = load_cart(kind, q_setup=q_setup, instruments=carried(arms))
    elif "set_up" in table:
        raise TrocarError(f"{name}: 'set_up' needs a cart, but the file names no cart")
    try:
        added = options.get("objects", ())
        things = [*objects, *(added(arms, cart) if callable(added) else added)]
        return Scene(arms, cart=cart, **{**chosen, **options, "objects": things})
    except TrocarError as error:
        raise TrocarError(f"{name}: {error}") from None


def _arm(fields: Fields, folder: Path) -> SceneArm:
    options: dict[str, Any] = {}
    fields.check_known(ARM_FIELDS)
    for key in fields:
        if key in FLAGS:
            options[key] = fields.flag(key, True)
        elif key in NUMBERS:
            options[key] = fields.number(key)
        elif key == "arm":
            options[key] = fields.choice(key, tuple(ARMS), "")
        elif key == "q":
            options[key] = np.array(fields.numbers(key))
        elif key in ("position", "rpy"):
            options["base"] = _pose(fields)
        elif key == "endoscope" and not fields.is_text(key):
            options[key] = fields.number(key, least=0)
        else:
            text = fields.text(key)
            options[key] = fspath(folder / text) if key in FILES and text.endswith(".toml") else text
    return SceneArm(**options)


def _located(entry: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """The table of an object, with the file of its surface, if any, in the folder of the scene."""
    text = entry.get("surface")
    if not isinstance(text, str) or not text.lower().endswith(MESH_FILES):
        return entry
    return {**entry, "surface": fspath(folder / text)}


def _object(fields: Fields) -> SceneObject:
    name, T = fields.text("name"), _pose(fields)
    thing = KINDS[fields.choice("shape", tuple(KINDS), "")](fields, name, T)
    fields.check_all_read()
    return thing


def _pose(fields: Fields) -> Array:
    """Pose from a position [m] and roll, pitch, yaw about the fixed axes x, y, z [rad]."""
    roll, pitch, yaw = fields.vector("rpy", 3, (0.0, 0.0, 0.0))
    R = rotation("z", yaw) @ rotation("y", pitch) @ rotation("x", roll)
    return pose(R, fields.vector("position", 3, (0.0, 0.0, 0.0)))
