"""Scenes from files: arms, where they are, where they start, and objects, in TOML. SI units, radians."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from trocar.arms import ARMS
from trocar.arms.file_fields import Fields
from trocar.arms.suj import CARTS
from trocar.errors import TrocarError, UnknownName, check_known
from trocar.mechanics.cart import load_cart
from trocar.simulation.modelling.arm_model import INTEGRATORS
from trocar.simulation.objects.assembly import Object
from trocar.simulation.objects.primitives import Box, Capsule, Cylinder, Obstacle, Sphere
from trocar.simulation.objects.soft_slab import SoftSlab
from trocar.simulation.objects.solid import Solid, needle
from trocar.simulation.scene import Scene, SceneArm, carried
from trocar.spatial import Array, pose, rotation

SCENE_FIELDS = ("timestep", "accuracy", "contacts", "cart", "set_up", "arms", "objects")
BUILT_IN = ("psm", "cart_classic", "cart_si", "masters", "dvrk", "dvrk_si")
FILES = ("parameters", "instrument")  # fields of an arm that may name a file
FLAGS, NUMBERS = ("counterweight", "friction", "limits", "motor_limits"), ("rotor_inertia", "added_mass")
ARM_FIELDS = ("arm", "mount", "position", "rpy", "q", *FILES, "endoscope", *FLAGS, *NUMBERS)
SHAPES = ("box", "sphere", "cylinder", "capsule", "needle", "slab")


def load_scene(source: str | PathLike[str], **options: Any) -> Scene:
    """A scene from a file (NAME.toml), or a built-in one: psm, cart_classic, cart_si, masters, dvrk, dvrk_si.

    Args:
        options: timestep, accuracy, contacts of `Scene`, in place of what the file says; objects, beside its own.
    """
    if not isinstance(source, (str, PathLike)):
        raise UnknownName("scene", source, (*BUILT_IN, "a path ending in .toml"))
    name = fspath(source)
    if name.endswith(".toml"):
        path = Path(name)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise TrocarError(f"the scene file {name!r} cannot be read: {error}") from None
        return _scene(text, name, path.parent, options)
    if name not in BUILT_IN:
        raise UnknownName("scene", name, (*BUILT_IN, "a path ending in .toml"))
    resource = files("trocar.simulation").joinpath("scenes", f"{name}.toml")
    return _scene(resource.read_text(encoding="utf-8"), name, Path(), options)


def _scene(text: str, name: str, folder: Path, options: Mapping[str, Any]) -> Scene:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TrocarError(f"{name} is not TOML: {error}") from None
    fields = Fields(table, name)
    chosen: dict[str, Any] = {
        "timestep": fields.number("timestep", 1e-3),
        "accuracy": fields.choice("accuracy", tuple(INTEGRATORS), "fast"),
        "contacts": fields.flag("contacts", True),
    }
    arms = {key: _arm(entry, f"{name}: arms.{key}", folder) for key, entry in _tables(table, "arms", name).items()}
    objects = [_object(entry, f"{name}: object {k + 1}") for k, entry in enumerate(_list(table, "objects", name))]
    cart = None
    if "cart" in table:
        kind = fields.choice("cart", CARTS, "")
        cart = load_cart(kind, q_setup=_tables(table, "set_up", name), instruments=carried(arms))
    elif "set_up" in table:
        raise TrocarError(f"{name}: 'set_up' are joints of a cart, but the file names no cart")
    check_known(f"{name}: field", SCENE_FIELDS, *table)
    try:
        things = [*objects, *options.get("objects", ())]
        return Scene(arms, cart=cart, **{**chosen, **options, "objects": things})
    except TrocarError as error:
        raise TrocarError(f"{name}: {error}") from None


def _arm(entry: Mapping[str, Any], where: str, folder: Path) -> SceneArm:
    fields = Fields(entry, where)
    given: dict[str, Any] = {}
    for key, value in entry.items():
        check_known(f"{where}: field", ARM_FIELDS, key)
        if key in FLAGS:
            given[key] = fields.flag(key, True)
        elif key in NUMBERS:
            given[key] = fields.number(key)
        elif key == "arm":
            given[key] = fields.choice(key, tuple(ARMS), "")
        elif key == "q":
            given[key] = fields.vector(key, len(value) if isinstance(value, list) else 1)
        elif key in ("position", "rpy"):
            given["base"] = _pose(fields)
        elif key == "endoscope" and not isinstance(value, str):
            given[key] = fields.number(key, least=0)
        else:
            text = fields.text(key)
            given[key] = fspath(folder / text) if key in FILES and text.endswith(".toml") else text
    return SceneArm(**given)


def _object(entry: Mapping[str, Any], where: str) -> Object:
    fields = Fields(entry, where)
    name, T = fields.text("name"), _pose(fields)
    kind = fields.choice("shape", SHAPES, "")
    friction = fields.number("friction", 0.5, least=0.0)
    if kind == "needle":
        made: Object = needle(name, T, friction=friction)
    else:
        red, green, blue = fields.vector("colour", 3, (0.80, 0.60, 0.45)).tolist()
        looks: dict[str, Any] = {"friction": friction, "colour": (red, green, blue)}
        if kind == "slab":
            made = SoftSlab(name, fields.vector("size", 3), T, young=fields.number("young", 3e4), **looks)
        else:
            mass = fields.number("mass", 0.0)  # none: fixed
            made = Solid(name, _shape(kind, fields), T, mass=mass or None, **looks)
    fields.check_all_read()
    return made


def _shape(kind: str, fields: Fields) -> Obstacle:
    """A shape about the origin, rods along z."""
    if kind == "box":
        return Box(np.zeros(3), fields.vector("size", 3))
    radius = fields.number("radius")
    if kind == "sphere":
        return Sphere(np.zeros(3), radius)
    half = np.array([0.0, 0.0, fields.number("length") / 2])
    return (Cylinder if kind == "cylinder" else Capsule)(-half, half, radius)


def _pose(fields: Fields) -> Array:
    """From a position [m] and roll, pitch, yaw about the fixed axes x, y, z [rad]."""
    roll, pitch, yaw = fields.vector("rpy", 3, (0.0, 0.0, 0.0))
    R = rotation("z", yaw) @ rotation("y", pitch) @ rotation("x", roll)
    return pose(R, fields.vector("position", 3, (0.0, 0.0, 0.0)))


def _tables(table: Mapping[str, Any], key: str, name: str) -> dict[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict) or (key == "arms" and not all(isinstance(v, dict) for v in value.values())):
        raise TrocarError(f"{name}: '{key}' must be tables, such as [{key}.PSM1]")
    return value


def _list(table: Mapping[str, Any], key: str, name: str) -> list[Any]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
        raise TrocarError(f"{name}: '{key}' must be a list of tables: [[{key}]]")
    return value
