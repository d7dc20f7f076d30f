"""The stereo endoscope above three instruments and a needle: colour, depth, labels and point cloud."""

import time

import numpy as np

import trocar as tr
from trocar.appearance import render, save_png
from trocar.appearance.endoscope_camera import StereoEndoscope
from trocar.simulation import Box, Solid, needle
from trocar.spatial import inverse, pose

PSMS = ("PSM1", "PSM2", "PSM3")
where = tr.load_scene("cart_classic")
x, y, z = np.mean([where.T_world_tip(name)[:3, 3] for name in PSMS], axis=0)
pad = Solid("pad", Box([0, 0, 0], [0.24, 0.24, 0.01]), pose(p=[x, y, z - 0.035]), colour=(0.78, 0.42, 0.38))
curved = needle("needle", pose(p=[x - 0.004, y - 0.008, z - 0.0294]))
scene = tr.load_scene("cart_classic", objects=[pad, curved])

try:
    endoscope = StereoEndoscope(scene, samples=4)
    both = endoscope.side_by_side()
except tr.TrocarError as error:
    raise SystemExit(f"no picture: {error}") from None
print("saved", save_png("stereo.png", both).name)
print("saved", save_png("scene_instruments.png", render(scene, (215.0, -12.0), (900, 640), at="PSM1")).name)

seen = endoscope.view("left")
print(f"intrinsics [pixels]\n{seen.lens.K}\nbaseline {1e3 * endoscope.baseline:g} mm (assumed)")
for name in PSMS:
    p = (inverse(seen.T_world_camera) @ scene.T_world_tip(name))[:3, 3]
    u, v = seen.lens.project(p)
    label, depth = seen.labels[seen.segmentation[round(v), round(u)]], seen.depth[round(v), round(u)]
    disparity = seen.lens.fx * endoscope.baseline / p[2]
    print(f"{name}: tip at pixel ({u:.1f}, {v:.1f}), which shows {label} at {1e3 * depth:.1f} mm; ", end="")
    print(f"the axis of its wrist is {1e3 * p[2]:.1f} mm away, disparity {disparity:.1f} pixels")
points, colours = seen.point_cloud()
print(f"point cloud: {len(points)} points; the needle covers {seen.mask('needle').sum()} pixels")

plain = StereoEndoscope(scene)
plain.pair()
start = time.perf_counter()
for _ in range(5):
    plain.pair()
print(f"a pair of 640 x 480 takes {1e3 * (time.perf_counter() - start) / 5:.0f} ms (one sample per pixel, no shadows)")
