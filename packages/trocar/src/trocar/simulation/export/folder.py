"""The model folder of an arm or a scene: the files of each format, meshes, README, change log, licence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from trocar.appearance import maker_meshes
from trocar.arms.parameters import CableTorque
from trocar.errors import TrocarError, check_known
from trocar.files import write_whole
from trocar.mechanics.arm_kinematics import ArmKinematics
from trocar.simulation.engine import LOOP_STIFFENING, STIFFENING
from trocar.simulation.export.ambf import ambf_files
from trocar.simulation.export.links import ROOT, own_inertias
from trocar.simulation.export.meshes import BASE, Mesh, meshes
from trocar.simulation.export.mjcf import mjcf
from trocar.simulation.export.moveit import moveit_files
from trocar.simulation.export.sdf import BANDWIDTH, MIN_MASS, VERSION, sdf
from trocar.simulation.export.sdf_classic import VERSION as CLASSIC_VERSION
from trocar.simulation.export.sdf_classic import hold_script, sdf_classic
from trocar.simulation.export.urdf import srdf, urdf
from trocar.simulation.export.xml import filled, menagerie_style, quoted, texts
from trocar.simulation.scene import Scene
from trocar.simulation.simulated_arm import SimulatedArm
from trocar.simulation.simulator import Simulator
from trocar.spatial import Array


def readme(scene: Scene, name: str, formats: tuple[str, ...]) -> str:
    """Text of README.md."""
    file = name.lower()
    alone = len(scene.arms) == 1 and scene.cart is None
    kinds = {"" if alone else simulated.arm.name: simulated for simulated in scene.arms.values()}
    steps = [line for kind, simulated in kinds.items() for line in _derivation(kind, simulated)]
    return "\n".join(
        [
            texts()["head"].format(name=name, file=file, summary=_summary(scene, alone)),
            *[f"| {line.format(file=file)} |" for key, line in texts()["files"].items() if key in formats],
            "",
            *steps,
            *_section("limits", _limits(kinds, formats)),
            *(_section("sdf", _about_sdf(kinds)) if "sdf" in formats else ()),
            *(_section("classic", _about_classic(kinds, file)) if "sdf" in formats else ()),
            *(_section("moveit", _about_moveit(kinds[""])) if "moveit" in formats else ()),
            *(_section("ambf", _about_ambf(kinds[""], file)) if "ambf" in formats else ()),
            texts()["tail"],
        ]
    )


def _section(key: str, lines: list[str]) -> list[str]:
    return [texts()[key]["title"], "", *[f"- {line}" for line in lines], ""]


def _of(kind: str) -> str:
    """The end of a noun phrase: of which arm, if there are several."""
    return f" of the {kind}" if kind else ""


def _summary(scene: Scene, alone: bool) -> str:
    text, arms = texts()["summary"], []
    for name, simulated in scene.arms.items():
        arm, numbers = simulated.arm, simulated.parameters
        words = {"name": name, "arm": arm.name, "geometry": arm.geometry, "instrument": arm.instrument}
        words |= {"parameters": numbers.name, "source": numbers.source}
        arms.append(text["arm" if alone else "one_of_them"].format(**words))
    if alone:
        return arms[0]
    cart = "" if scene.cart is None else text["cart"].format(cart=scene.cart.name)
    return str(text["scene"].format(cart=cart, arms=", ".join(arms)))


def _derivation(kind: str, simulated: SimulatedArm) -> list[str]:
    keys, text = ("serial", "joints", "geometry", "motors"), texts()["derivation"]
    sources = {key: simulated.arm.sources.get(key, "given in Python") for key in keys}
    sources["source"] = simulated.parameters.source
    steps = [f"{i}. {step.format(**sources)}" for i, step in enumerate(text["steps"], 1)]
    return [text["title"].format(it=f"the {kind}" if kind else "it"), "", *steps, ""]


def _limits(kinds: dict[str, SimulatedArm], formats: tuple[str, ...]) -> list[str]:
    text, lines = texts()["limits"], []
    if "mjcf" in formats:
        lines.append(text["stiffness"].format(stiffening=STIFFENING["fast"], loops=LOOP_STIFFENING))
        for kind, simulated in kinds.items():
            varying = [d.name for d in simulated.parameters.drives if d.hysteresis or d.Fx or d.mu]
            if varying and simulated.options.friction:
                lines.append(text["friction"].format(drives=", ".join(varying), of=_of(kind)))
            for cable in simulated.parameters.elastics:
                if isinstance(cable, CableTorque):
                    coefficients = ", ".join(f"{c:g}" for c in cable.coefficients)
                    lines.append(text["cable"].format(**vars(cable) | {"coefficients": coefficients, "of": _of(kind)}))
    if "urdf" in formats or "sdf" in formats:
        lines.append(text["tree"])
    if "urdf" in formats:
        lines += [text["rotors"].format(of=_of(kind), rotors=_rotors(arm)) for kind, arm in kinds.items()]
    return lines or [text["none"]]


def _rotors(simulated: SimulatedArm) -> str:
    """The rotor inertias, which URDF cannot express, in joint coordinates."""
    drives, names = simulated.mechanism.drives, simulated.arm.joint_names
    R = drives.A.T @ np.diag(drives.Im) @ drives.A
    entries = np.argwhere(np.triu(np.abs(R) > 1e-12))
    pairs = [f"`{names[i]}`" + (f"-`{names[j]}`" if i != j else "") + f" {R[i, j]:.6g}" for i, j in entries]
    return ", ".join(pairs) or "none"


def _about_sdf(kinds: dict[str, SimulatedArm]) -> list[str]:
    """The section on the SDF model."""
    text = texts()["sdf"]
    bare = {body.kind for arm in kinds.values() for body in arm.arm.bodies if body.name not in own_inertias(arm)}
    cameras = any(arm.arm.carries == "endoscope" for arm in kinds.values())
    holds = {
        "mass": bool(bare),
        "discs": "revolute" in bare,
        "cameras": cameras,
        "arms": "" not in kinds,
        "title": False,
    }
    which = "of the other joints" if "revolute" in bare else "of the motors"
    words = {"bandwidth": BANDWIDTH, "mass": MIN_MASS, "which": which}
    return [line.format(**words) for key, line in text.items() if holds.get(key, True)]


def _about_classic(kinds: dict[str, SimulatedArm], file: str) -> list[str]:
    """The section on the SDF model with closed loops."""
    text = texts()["classic"]
    arms = [simulated.arm for simulated in kinds.values()]
    followers = {f"`{body}`": arm.body(body).kind for arm in arms for body in arm.transmissions}
    turning, sliding = ([b for b, kind in followers.items() if kind == k] for k in ("revolute", "prismatic"))
    holds = {"title": False, "gearbox": bool(turning), "fixed": bool(sliding)}
    words = {"file": file, "turning": ", ".join(turning), "sliding": ", ".join(sliding)}
    return [line.format(**words) for key, line in text.items() if holds.get(key, True)]


def _about_moveit(simulated: SimulatedArm) -> list[str]:
    """The section on the configuration of MoveIt."""
    arm, text = simulated.arm, texts()["moveit"]
    holds = {"title": False, "jaw": arm.tip_joints < arm.n, "few": arm.tip_joints < 6}
    words = {"arm": arm.dvrk_name or arm.name, "joints": arm.tip_joints}
    return [line.format(**words) for key, line in text.items() if holds.get(key, True)]


def _about_ambf(simulated: SimulatedArm, file: str) -> list[str]:
    """The section on the description file of AMBF."""
    arm, text = simulated.arm, texts()["ambf"]
    coupled = [arm.body(body) for body in arm.transmissions]
    turning = [
        f"`{b.name}` to {factor:g} x `{j}`" for b in coupled for j, factor in b.coupling.items() if b.kind == "revolute"
    ]
    sliding = [f"`{body.name}`" for body in coupled if body.kind == "prismatic"]
    holds = {"title": False, "turning": bool(turning), "sliding": bool(sliding)}
    words = {"file": file, "turning": ", ".join(turning), "sliding": ", ".join(sliding), "mass": MIN_MASS}
    return [line.format(**words) for key, line in text.items() if holds.get(key, True)]


FORMATS = ("mjcf", "urdf", "sdf", "rviz", "moveit", "ambf")
OF_ONE_ARM = ("moveit", "ambf")  # and on request only: programs for one robot, meshes of AMBF's own
DEFAULT_FORMATS = tuple(one for one in FORMATS if one not in OF_ONE_ARM)


def model_files(
    model: Simulator | Scene, formats: Sequence[str] | None = None, name: str | None = None
) -> dict[str, bytes]:
    """Contents of the model folder of a simulated arm or a scene, by path within it; without the image.

    Args:
        formats: of FORMATS. Default: DEFAULT_FORMATS.
        name: name of the model and its files. Default: the arm's name, "cart_classic" or "cart_si" for a scene on a
            cart, "scene" for other scenes. A scene is written in its current state, with the set-up joints fixed.
    """
    formats = DEFAULT_FORMATS if formats is None else formats
    check_known("format", FORMATS, *formats)
    if isinstance(model, Scene) and set(formats) & set(OF_ONE_ARM):
        raise TrocarError(f"{' and '.join(OF_ONE_ARM)} are written for single arms only; export each arm on its own")
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
    needed = {*formats, "urdf"} if "moveit" in formats else set(formats)
    chosen = tuple(one for one in FORMATS if one in needed)
    name = model_name(model) if name is None else name
    start = {arm: simulated.q for arm, simulated in scene.arms.items()}
    if isinstance(model, Simulator):
        start = {arm: np.array(simulated.arm.home) for arm, simulated in scene.arms.items()}
    seen = meshes(scene.spec, {arm: simulated.arm.name.lower() for arm, simulated in scene.arms.items()})
    file, title, (centre, extent, lowest) = name.lower(), _title(scene), _extent(scene, start, seen)
    words = {"name": quoted(name), "file": quoted(file), "title": quoted(title), "version": VERSION}
    words["classic_version"] = CLASSIC_VERSION
    content = {"README.md": readme(scene, name, chosen), "LICENSE": texts()["licence"]}
    content["CHANGELOG.md"] = texts()["changelog"]
    if "mjcf" in chosen:
        below = lowest if scene.cart is not None else float(centre[2]) - 0.75 * extent
        # no floor below an arm with a tilted mounting
        floor = "" if scene.gravity[:2].any() else filled("floor", height=round(below, 2))
        content |= {
            f"{file}.xml": mjcf(scene, name, title, start, seen),
            "scene.xml": menagerie_style(
                filled("scene", **words, floor=floor, centre=np.round(centre, 2), extent=round(extent, 2))
            ),
        }
    if "urdf" in chosen:
        content |= {f"{file}.urdf": urdf(scene, name, title, seen), f"{file}.srdf": srdf(scene, name, start, seen)}
    if "sdf" in chosen:
        content |= {
            "model.sdf": sdf(scene, name, title, start, seen),
            "model-1_7.sdf": sdf_classic(scene, name, title, start, seen),
            "model.config": filled("config", **words),
            "world.sdf": filled("world", **words),
            "classic.world": filled("classic_world", **words),
            "classic_hold.sh": hold_script(scene, name, start),
        }
    if "rviz" in chosen:
        x, y, z = (round(float(value), 2) for value in centre)
        view = {"distance": round(1.6 * extent, 2), "x": x, "y": y, "z": z}
        content[f"{file}.rviz"] = texts()["rviz"].format(arm=name, base=ROOT, **view)
    if "moveit" in chosen:
        content |= moveit_files(scene, name)
    if "ambf" in chosen:
        ((_, q),) = start.items()
        content |= ambf_files(scene, name, title, q, seen)
    files = {path: text.encode() for path, text in content.items()}
    if set(chosen) - {"rviz", "ambf"}:
        files |= {f"assets/{mesh.file}": mesh.stl() for mesh in seen}
    return files


def write_model(
    model: Simulator | Scene, folder: str | Path, formats: Sequence[str] | None = None, name: str | None = None
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
