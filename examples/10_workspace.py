"""Singularities and workspace of each arm, and the volume that two arms can both reach."""

from pathlib import Path

import numpy as np

import trocar as tr
from trocar.appearance.figures import cloud_figure, manipulability_figure, shared_figure
from trocar.mechanics.singularities import singular_sets, singularity
from trocar.mechanics.workspace import Workspace, shared_volume
from trocar.plots import save
from trocar.spatial import pose, rotation

print("singular sets, inside or outside the joint limits:")
for name in tr.ARMS:
    for found in singular_sets(tr.load_mechanism(name)):
        where = ", ".join(f"{joint} {low:.4f} to {high:.4f}" for joint, (low, high) in found.joint_ranges.items())
        print(f"  {name:7} {found.condition:40} {'inside: ' + where if found.inside else 'outside'}")

# A withdrawn instrument is close to the remote centre: distance to the nearest singularity.
psm = tr.load_mechanism("PSM")
q = np.array([0.0, 0.3, 0.03, 0.0, 0.6, 0.0, 0.0])
near = singularity(psm, q)
print(
    f"\nat an insertion of 30 mm: det J = {near.determinant:.2e} m^2, "
    f"{1e3 * near.distance:.1f} mm from '{near.nearest}'"
)

print("\nvolumes in litres: wrist point (exact), tip (voxels of 30 mm)")
for name in tr.ARMS:
    workspace = Workspace(tr.load_mechanism(name))
    tip = workspace.volume(voxel=0.03)
    print(f"  {name:7} {1e3 * workspace.wrist_volume:8.3f} {1e3 * tip.value:8.2f} +- {1e3 * tip.error:.2f}")

# Two instruments through ports 200 mm apart, tilted towards each other.
pair = []
for side in (-1.0, 1.0):
    R = rotation("z", side * np.radians(20.0)) @ rotation("y", side * np.radians(25.0))
    pair.append(Workspace(psm, pose(R=R, p=[0.1 * side, 0.0, 0.0])))
shared = shared_volume(pair, voxel=0.02)
print(f"\ntwo PSMs share {1e3 * shared.value:.2f} +- {1e3 * shared.error:.2f} litres")

for figure, name in (
    (cloud_figure(psm, count=4096, voxel=0.02), "workspace"),
    (manipulability_figure(psm), "manipulability"),
    (shared_figure(pair, voxel=0.02), "shared_workspace"),
):
    print(f"wrote {save(figure, Path(f'{name}.png'))}")
