"""Pictures without a window: a close-up of a wrist, arms without dynamic parameters, and whole carts."""

import trocar as tr
from trocar.appearance import render, save_png

# The wrist and jaws of a simulated PSM in its current state.
sim = tr.Simulator("PSM")
sim.reset([0.0, 0.0, 0.12, 0.3, 0.35, -0.25, 0.7])
print("saved", save_png("psm_tip.png", render(sim, "tip", (640, 480))).name)

# Any arm at any joint positions; `direction` is azimuth and elevation of the view [deg].
for name, q, direction in (
    ("ECM", [0.0, 0.0, 0.10, 0.0], (215.0, -18.0)),
    ("MTMR", [0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0], (130.0, -15.0)),
    ("PSM_Si", [0.0, 0.1, 0.12, 0.0, 0.0, 0.0, 0.4], (205.0, -15.0)),
):
    picture = render(tr.load_arm(name), direction, (640, 480), q=q)
    print("saved", save_png(f"{name.lower()}.png", picture).name)

# The Classic cart with its set-up joints spread so that no arm hides another, and the Si cart as in the dVRK.
opened = {
    "PSM1": [0.15, -0.2, -0.9, -0.5, 0.0, 0.2],
    "PSM2": [0.15, 0.2, 0.9, 0.5, 0.0, -0.2],
    "PSM3": [0.0, -1.1, 0.9, 0.9, 0.0, 0.0],
    "ECM": [0.5, 0.6, -1.2, 3.7],
}
for cart in (tr.load_cart("Classic", q_setup=opened), tr.load_cart("Si")):
    picture = render(cart, (-101.0, -9.0), (960, 640), labels=True)
    print("saved", save_png(f"cart_{cart.name.lower()}.png", picture).name)
