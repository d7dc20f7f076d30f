"""The model folder of an arm or a scene: MJCF, URDF with SRDF, SDF, RViz configuration, meshes, README, licence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from trocar.appearance import maker_meshes
from trocar.errors import TrocarError, check_known
from trocar.files import write_whole
from trocar.mechanics.arm_kinematics import ArmKinematics
from trocar.simulation.export.gazebo import world
from trocar.simulation.export.links import ROOT
from trocar.simulation.export.meshes import BASE, Mesh, meshes
from trocar.simulation.export.mjcf import lit_scene, mjcf
from trocar.simulation.export.readme import readme, texts
from trocar.simulation.export.sdf import VERSION, config, sdf
from trocar.simulation.export.srdf import srdf
from trocar.simulation.export.urdf import urdf
from trocar.simulation.scene import Scene
from trocar.simulation.simulator import Simulator
from trocar.spatial import Array

FORMATS = ("mjcf", "urdf", "sdf", "rviz")


def model_files(
    model: Simulator | Scene, formats: Sequence[str] = FORMATS, name: str | None = None
) -> dict[str, bytes]:
    """Contents of the model folder of a simulated arm or a scene, by path within it; without the image.

    Args:
        name: name of the model and its files. Default: the arm's name, "cart_classic" or "cart_si" for a scene on a
            cart, "scene" for other scenes. A scene is written in its current state, with the set-up joints fixed.
    """
    check_known("format", FORMATS, *formats)
    if maker_meshes.checkout() is not None:
        raise TrocarError(
            f"unset {maker_meshes.VARIABLE} to export: the manufacturer's meshes may not be redistributed, and a"
            " folder without them would differ from the displayed model"
        )
    scene = model if isinstance(model, Scene) else model.scene
    if scene.objects:
        raise TrocarError(f"only arms and carts can be exported; remove the objects {', '.join(scene.objects)}")
    for arm in scene.arms.values():
        if arm.options.elastic_mount is not None:
            raise TrocarError(f"no export format supports the elastic_mount of {arm.arm.name}; omit elastic_mount")
        if BASE in [body.name for body in arm.arm.bodies]:
            raise TrocarError(
                f"{arm.arm.name} has a body named '{BASE}', the name that exports give to the fixed base; rename it"
            )
    chosen = tuple(one for one in FORMATS if one in formats)
    name = model_name(model) if name is None else name
    start = {arm: simulated.q for arm, simulated in scene.arms.items()}
    if isinstance(model, Simulator):
        start = {arm: np.array(simulated.arm.home) for arm, simulated in scene.arms.items()}
    seen = meshes(scene.spec, {arm: simulated.arm.name.lower() for arm, simulated in scene.arms.items()})
    file, title, (centre, extent, lowest) = name.lower(), _title(scene), _extent(scene, start, seen)
    content = {"README.md": readme(scene, name, chosen), "LICENSE": texts()["licence"]}
    content["CHANGELOG.md"] = texts()["changelog"]
    if "mjcf" in chosen:
        below = lowest if scene.cart is not None else float(centre[2]) - 0.75 * extent
        floor = None if scene.gravity[:2].any() else below  # no floor below an arm with a tilted mounting
        content |= {
            f"{file}.xml": mjcf(scene, name, title, start, seen),
            "scene.xml": lit_scene(file, centre, extent, floor),
        }
    if "urdf" in chosen:
        content |= {f"{file}.urdf": urdf(scene, name, title, seen), f"{file}.srdf": srdf(scene, name, start, seen)}
    if "sdf" in chosen:
        content |= {
            "model.sdf": sdf(scene, name, title, start, seen),
            "model.config": config(name, title),
            "world.sdf": world(name, VERSION),
        }
    if "rviz" in chosen:
        x, y, z = (round(float(value), 2) for value in centre)
        view = {"distance": round(1.6 * extent, 2), "x": x, "y": y, "z": z}
        content[f"{file}.rviz"] = texts()["rviz"].format(arm=name, base=ROOT, **view)
    files = {path: text.encode() for path, text in content.items()}
    if set(chosen) - {"rviz"}:
        files |= {f"assets/{mesh.file}": mesh.stl() for mesh in seen}
    return files


def write_model(
    model: Simulator | Scene, folder: str | Path, formats: Sequence[str] = FORMATS, name: str | None = None
) -> list[Path]:
    """Write the model folder of a simulated arm or a scene; every file is written atomically."""
    return [write_whole(Path(folder) / path, content) for path, content in model_files(model, formats, name).items()]


def model_name(model: Simulator | Scene) -> str:
    """Default name of a model: see `model_files`."""
    if isinstance(model, Simulator):
        return model.arm.name
    return "scene" if model.cart is None else f"cart_{model.cart.name.lower()}"


def _title(scene: Scene) -> str:
    """Sentences that name the arms and the sources of their numbers."""
    sets = {arm.arm.name: arm.parameters for arm in scene.arms.values()}
    return " ".join(f"{name} with {parameters.name}: {parameters.source}." for name, parameters in sets.items())


def _extent(scene: Scene, start: Mapping[str, Array], seen: list[Mesh]) -> tuple[Array, float, float]:
    """Centre (3,), size and lowest height of the bounding box of all visible shapes at `start` [m]."""
    poses = {BASE: np.eye(4), **scene.fixed_poses()}
    for name, q in start.items():
        prefix = scene.stepped[name].prefix
        T = scene.T_world_base(name) if prefix else np.eye(4)
        of_bodies = ArmKinematics(scene.arms[name].arm).poses(q)
        poses |= {prefix + body: T @ T_base_body for body, T_base_body in of_bodies.items()}
    points = np.vstack(
        [mesh.triangles.reshape(-1, 3) @ T[:3, :3].T + T[:3, 3] for mesh in seen for T in [poses[mesh.link]]]
    )
    low, high = points.min(0), points.max(0)
    return (low + high) / 2, float(np.linalg.norm(high - low)), float(low[2])
