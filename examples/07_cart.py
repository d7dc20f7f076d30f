"""The patient cart: poses and tilt of all arms, tips in the endoscope's view, and a port that is moved."""

import itertools

import numpy as np

import trocar as tr
from trocar import plots
from trocar.appearance.figures import link_points

np.set_printoptions(precision=3, suppress=True)
COLOURS = {"PSM1": "#0072B2", "PSM2": "#D55E00", "PSM3": "#009E73", "ECM": "#CC79A7"}


def home(cart, arm):
    return cart.arm(arm).home


def draw(axes, cart):
    """Draw the set-up joints of each arm in a pale colour and the arm at home in full colour; world axes."""
    for arm in cart.arms:
        poses = list(cart.set_up_poses(arm).values())
        points = [poses[0][:3, 3] * [1, 1, 0], poses[0][:3, 3]]
        for T, T_next in itertools.pairwise(poses[:-1]):  # along x, then along z, in the order of the DH table
            step = T_next[:3, 3] - T[:3, 3]
            points += [T[:3, 3] + (step @ T[:3, 0]) * T[:3, 0], T_next[:3, 3]]
        axes.plot(*np.transpose(points), color=COLOURS[arm], alpha=0.35, lw=3.5, solid_capstyle="round")

        mechanism, T_world_base = tr.load_mechanism(cart.set_up(arm).arm), cart.T_world_base(arm)
        links = link_points(mechanism, mechanism.arm.home)
        root = links[mechanism.arm.bodies[0].name][0]
        mount = T_world_base[:3, :3] @ root + T_world_base[:3, 3]
        axes.plot(*np.transpose([points[-1], mount]), color=COLOURS[arm], alpha=0.35, lw=3.5)
        for on_link in links.values():
            axes.plot(*(T_world_base[:3, :3] @ on_link.T + T_world_base[:3, 3:]), color=COLOURS[arm], lw=1.6)
        axes.plot(*T_world_base[:3, 3:], "o", color=COLOURS[arm], ms=4, label=arm)
    axes.set(
        xlabel="x [m]",
        ylabel="y [m]",
        zlabel="z [m]",
        title=f"{cart.name} cart, set-up joints of the dVRK's simulation",
    )
    axes.set(xticks=[-0.5, 0.0, 0.5], yticks=[0.0, 0.5, 1.0], zticks=[0.0, 0.5, 1.0, 1.5])
    axes.set_box_aspect(np.ptp([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()], axis=1), zoom=1.15)  # equal
    axes.view_init(elev=18, azim=25)


figure = plots.Figure(figsize=(9, 4.4))
with plots.style():
    for i, name in enumerate(("Classic", "Si")):
        cart = tr.load_cart(name)
        print(f"\n{name} cart: remote centre in the world [m], up in base axes, tip in ECM_view (left, up, away) [m]")
        for arm in cart.arms:
            T_view_tip = cart.T_view_tip(arm, home(cart, arm), home(cart, "ECM"))
            print(f"  {arm:4s}  {cart.T_world_base(arm)[:3, 3]}  {cart.up(arm)}  {T_view_tip[:3, 3]}")
        draw(figure.add_subplot(1, 2, i + 1, projection="3d"), cart)
    figure.axes[0].legend(loc="upper left")
print(f"\nsaved {plots.save(figure, 'cart.png').name}")

# Move the port of PSM1 by 5 cm and point the instrument 30 degrees from straight down, towards the patient's middle.
cart = tr.load_cart("Classic")
port = cart.T_world_base("PSM1")[:3, 3] + [-0.05, 0.0, 0.0]
shaft = [np.sin(np.radians(30)), 0.0, -np.cos(np.radians(30))]
found = cart.place("PSM1", port, shaft)
print(f"\nset-up joints {', '.join(cart.set_up('PSM1').joint_names)}")
print(f"  from {cart.q_setup['PSM1']}\n  to   {found.q_setup}, {found.position_error:.0e} m off")
print(f"gravity in the arm's base, before and after [m/s^2]: {cart.gravity('PSM1')}", end=" ")
cart = cart.moved({"PSM1": found.q_setup})
print(cart.gravity("PSM1"))
psm = tr.load_mechanism("PSM", gravity=cart.gravity("PSM1"))
print(f"holding the arm at rest now takes {psm.gravity(psm.arm.home)[:3]} N m, N m, N")

# The Si cart has no joint for that tilt and raises an error.
try:
    tr.load_cart("Si").place("PSM1", [-0.1, 0.8, 0.45], shaft)
except tr.Unreachable as error:
    print(f"\n{error}")
