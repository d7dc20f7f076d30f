"""Define your own robot: a cable-driven spherical arm, with kinematics, two engines, control and export.

Like the RAVEN it turns about two axes that intersect in the remote centre, slides through it and rolls. A parallelogram
turns its elbow, and its motors pull cables that run over the preceding joints. One file of facts and numbers is enough.
"""

from dataclasses import replace

import mujoco
import numpy as np

import trocar as tr
from trocar.appearance import render, save_png
from trocar.arms import Arm, Joint, Motors, closure, prismatic, revolute, shift
from trocar.arms.parameters import Drive, Inertia, Parameters
from trocar.control import ComputedTorque
from trocar.control.trajectories import fourier
from trocar.identification.pipeline import identify
from trocar.simulation.export import write_model
from trocar.spatial import mdh

# Facts. Base frame: origin in the remote centre, z up. Every joint acts about or along the z axis of its placement.
R = 0.35  # radius of the sphere on which the joints lie [m]
BAR, CRANK = 0.15, 0.05  # sides of the parallelogram [m]


def on_sphere(angle):
    """Pose of the next joint on the sphere: to the remote centre, a rotation about x, and back out."""
    return shift(z=R) @ mdh(alpha=np.radians(angle)) @ shift(z=-R)


T_elbow = on_sphere(75.0)
bodies = (
    revolute("shoulder", None, mdh(alpha=np.radians(115.0)) @ shift(z=-R), {"shoulder": 1.0}),
    revolute("crank", "shoulder", T_elbow @ shift(x=-BAR), {"elbow": 1.0}),
    revolute("rod", "crank", shift(y=CRANK), {"elbow": -1.0}),
    revolute("forearm", "shoulder", T_elbow, {"elbow": 1.0}),
    prismatic("insertion", "forearm", on_sphere(-52.0), {"insertion": 1.0}),
    revolute("roll", "insertion", np.eye(4), {"roll": 1.0}),
)


def joint(name, kind, lower, upper, effort, velocity):
    return Joint(
        name=name, kind=kind, lower=lower, upper=upper, effort=effort, velocity=velocity, acceleration=5.0 * velocity
    )


joints = (
    joint("shoulder", "revolute", -1.0, 1.0, 10.0, 1.5),
    joint("elbow", "revolute", -1.0, 1.0, 10.0, 1.5),
    joint("insertion", "prismatic", 0.0, 0.2, 30.0, 0.3),
    joint("roll", "revolute", -3.0, 3.0, 0.5, 3.0),
)
# q = cables @ q_motor: the cables of elbow and insertion run over the shoulder's drum.
cables = np.array([[1.0, 0.0, 0.0, 0.0], [-0.3, 1.0, 0.0, 0.0], [0.02, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
arm = Arm(
    name="OwnArm",
    joints=joints,
    bodies=bodies,
    tip_body="roll",
    T_body_tip=shift(z=R),  # at the remote centre if the insertion is 0
    loops=(closure("parallelogram", bodies, "rod", (BAR, 0.0, 0.0), "forearm"),),
    driven={"elbow": "crank"},
    has_rcm=True,
    motors=Motors.of(joints, cables),
    home=(0.0, 0.0, 0.1, 0.0),
)


# Numbers: link inertias [kg, m, kg m^2], friction in the joints, rotors at the motors.
def link(mass, com, size):
    return Inertia(mass=mass, com=np.array(com), I=mass * size**2 / 12.0 * np.diag([1.0, 1.1, 0.3]))


inertias = {
    "shoulder": link(2.0, [0.0, 0.1, 0.1], 0.3),
    "crank": link(0.1, [0.0, CRANK / 2, 0.0], 0.05),
    "rod": link(0.2, [BAR / 2, 0.0, 0.0], 0.1),
    "forearm": link(1.2, [0.0, -0.08, 0.08], 0.25),
    "insertion": link(0.5, [0.0, 0.0, 0.05], 0.15),
    "roll": link(0.1, [0.002, 0.0, 0.1], 0.1),
}
numbers = {  # by joint: rotor [kg m^2, kg], viscous and Coulomb friction [N m s/rad, N s/m; N m, N]
    "shoulder": (2e-2, 0.2, 0.3),
    "elbow": (2e-2, 0.2, 0.25),
    "insertion": (0.3, 3.0, 1.0),
    "roll": (1e-4, 1e-3, 5e-3),
}
drives = tuple(
    drive
    for name, (Im, Fv, Fc) in numbers.items()
    for drive in (
        Drive(name=name, joints={name: 1.0}, Fv=Fv, Fc=Fc, terms=("Fv", "Fc")),
        Drive(name=f"motor_{name}", motors={f"motor_{name}": 1.0}, Im=Im, terms=("Im",)),
    )
)
parameters = Parameters(arm=arm.name, inertias=inertias, drives=drives)

# Kinematics. No closed form is known for this arm, so inverse kinematics is numerical.
mech = tr.load_mechanism(arm, parameters)
q = np.array([0.4, -0.5, 0.12, 1.0])
T = mech.forward_kinematics(q)
print(f"error of inverse kinematics: {np.abs(mech.inverse_kinematics(T) - q).max():.0e}")
print(f"loop closed to {mech.loop_residual(q).max():.0e} m, shaft within {mech.rcm_residual(q):.0e} m of the RCM")
print(f"smallest singular value of J: {np.linalg.svd(mech.jacobian(q), compute_uv=False)[-1]:.3f}")

# Two engines: the equations in four coordinates, and six bodies with an explicit loop closure in MuJoCo.
sim = tr.Simulator(arm, parameters, friction=False, limits=False)
rng = np.random.default_rng(0)
worst = 0.0
for _ in range(10):
    q, dq, tau = rng.uniform(arm.lower, arm.upper), rng.normal(size=4) * 0.3, rng.normal(size=4)
    sim.reset(q, dq)
    sim.step(tau)
    expected = mech.forward_dynamics(q, dq, tau)
    worst = max(worst, np.abs((sim.ddq - expected) / np.abs(expected).max()).max())
print(f"accelerations of the two engines agree to {worst:.0e}")
assert worst < 1e-3

# Control: computed torque along a motion that excites the parameters, recorded.
sim = tr.Simulator(arm, parameters)
harmonic, speed = np.arange(1, 6)[:, None], np.array([0.5, 0.5, 0.055, 1.2])
a, b = speed * np.cos(harmonic * [1.0, 2.0, 3.0, 4.0]), speed * np.sin(harmonic * [5.0, 3.0, 1.0, 2.0])
reference = fourier(arm.home, a, b, frequency=0.2)
sim.reset(reference(0.0).q, reference(0.0).dq)
controller = ComputedTorque(mech, kp=400.0, kd=40.0, friction=True)
recording = tr.simulate(sim, controller, reference, duration=10.0, every=4)
print("largest tracking error:", np.abs(recording.commands["q"] - recording.q).max(0).round(5))

# Identification from that recording, starting from links that are 30 % too heavy.
guess = replace(
    parameters, inertias={n: Inertia(mass=1.3 * x.mass, com=x.com, I=1.3 * x.I) for n, x in inertias.items()}
)
found = identify(recording, arm, parameters=guess)
print("relative error of effort, cross-validated:", found.cv_relative_error.round(3))
for name, model in (("true", mech), ("guess", tr.load_mechanism(arm, guess)), ("found", found.mechanism())):
    print(f"gravity, {name:5s}:", model.gravity([0.3, 0.4, 0.15, 0.5])[:3].round(2))

# Picture and export.
print("saved", save_png("own_arm.png", render(sim, "iso", (640, 480))).name)
written = write_model(sim, "own_arm", ("mjcf", "urdf"))
model = mujoco.MjModel.from_xml_path("own_arm/ownarm.xml")
print(f"{len(written)} files; MuJoCo reads {model.nbody} bodies and {model.neq} loop closure from the MJCF")
