"""The model folder of an arm: MJCF, URDF with SRDF, SDF, a configuration of RViz, meshes, README and licence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trocar.appearance import maker_meshes
from trocar.errors import TrocarError, check_known
from trocar.files import write_whole
from trocar.mechanics.arm_kinematics import ArmKinematics
from trocar.simulation.export.meshes import BASE, Mesh, meshes
from trocar.simulation.export.mjcf import mjcf, scene
from trocar.simulation.export.readme import CHANGELOG, readme
from trocar.simulation.export.rviz import rviz
from trocar.simulation.export.sdf import config, sdf
from trocar.simulation.export.srdf import srdf
from trocar.simulation.export.urdf import urdf
from trocar.simulation.simulator import Simulator
from trocar.spatial import Array

FORMATS = ("mjcf", "urdf", "sdf", "rviz")
LICENSE = """\
Copyright The trocar authors

Licensed under the Apache License, Version 2.0 (the "License"); you may not use these files except in compliance with
the License. You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on an
"AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific
language governing permissions and limitations under the License.
"""


def model_files(sim: Simulator, formats: Sequence[str] = FORMATS) -> dict[str, bytes]:
    """Contents of the model folder of a simulated arm, by path within it; without the picture."""
    check_known("format", FORMATS, *formats)
    if maker_meshes.checkout() is not None:
        raise TrocarError(
            f"unset {maker_meshes.VARIABLE} to export: the maker's meshes are not ours to pass on, and a folder"
            " without them would not be what is shown"
        )
    if sim.options.elastic_mount is not None:
        raise TrocarError("no format here describes an elastic_mount; export a Simulator without it")
    chosen = tuple(name for name in FORMATS if name in formats)
    arm, seen = sim.arm.name.lower(), meshes(sim.spec)
    centre, extent = _extent(sim, seen)
    texts: dict[str, str] = {"README.md": readme(sim, chosen), "LICENSE": LICENSE, "CHANGELOG.md": CHANGELOG}
    if "mjcf" in chosen:
        upright = not sim.gravity_vector[:2].any()
        texts |= {f"{arm}.xml": mjcf(sim, seen), "scene.xml": scene(arm, centre, extent, upright)}
    if "urdf" in chosen:
        texts |= {f"{arm}.urdf": urdf(sim, seen), f"{arm}.srdf": srdf(sim, seen)}
    if "sdf" in chosen:
        texts |= {"model.sdf": sdf(sim, seen), "model.config": config(sim)}
    if "rviz" in chosen:
        texts |= {f"{arm}.rviz": rviz(sim, centre, extent)}
    files = {name: text.encode() for name, text in texts.items()}
    if set(chosen) - {"rviz"}:
        files |= {f"assets/{mesh.file}": mesh.stl() for mesh in seen}
    return files


def write_model(sim: Simulator, folder: str | Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write the model folder of a simulated arm; every file whole or not at all."""
    return [write_whole(Path(folder) / name, content) for name, content in model_files(sim, formats).items()]


def _extent(sim: Simulator, seen: list[Mesh]) -> tuple[Array, float]:
    """Centre (3,) and size of the box around what is seen at home [m]."""
    poses = {**ArmKinematics(sim.arm).poses(np.array(sim.arm.home)), BASE: np.eye(4)}
    points = np.vstack(
        [mesh.triangles.reshape(-1, 3) @ T[:3, :3].T + T[:3, 3] for mesh in seen for T in [poses[mesh.link]]]
    )
    low, high = points.min(0), points.max(0)
    return (low + high) / 2, float(np.linalg.norm(high - low))
