"""Drive a suture needle through tissue with a PSM that holds it by friction, and print the forces."""

import numpy as np

from trocar.appearance import render, render_video, save_png
from trocar.simulation.skills import Hands, bite, suture_scene

ARM = "PSM1"
scene = suture_scene()  # an SH needle between the jaws, its thread, and a block of tissue
hands = Hands(scene)
frames = []


def film():
    """A picture every 0.15 s."""
    if scene.time >= 0.15 * len(frames):
        frames.append(render(scene, (60, -20), (320, 240), at=ARM, distance=0.07))


hands.watch = film
hands.close(ARM, 0.12, 0.3)
result = bite(hands, ARM, angle=np.radians(165.0), rate=np.radians(80.0))

for event in result.events:
    print(f"{event.time:.3f} s: {event.what}, {event.force:.2f} N along the needle")
print(f"the tissue resists with {result.mean:.2f} N on average and {result.peak:.2f} N at most")

for point in scene.objects["tissue"].forces:
    print(
        f"{point.kind} {1e3 * point.s:.1f} mm behind the needle's point: "
        f"{-1e3 * point.along:.0f} mN of friction, {1e3 * point.across:.0f} mN across"
    )

jaws = scene.T_world_base(ARM)[:3, :3] @ scene.arms[ARM].contact_wrench(of="needle")[:3]
print(f"the jaws feel {np.linalg.norm(jaws):.3f} N, the tissue {np.linalg.norm(scene.objects['tissue'].force):.3f} N")
save_png("stitch.png", render(scene, (60, -20), at=ARM, distance=0.07))
render_video("stitch.gif", frames, fps=7.0)
