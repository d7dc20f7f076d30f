"""Export a PSM and a whole cart, and load the files in MuJoCo and Pinocchio."""

import mujoco
import numpy as np
import pinocchio

import trocar as tr
from trocar.simulation.export import write_model

sim = tr.Simulator("PSM")
written = write_model(sim, "psm")  # like the command: trocar export PSM
print(f"{len(written)} files, {sum(path.stat().st_size for path in written) / 1e3:.0f} kB in psm/")

# MuJoCo: the closed chain with its drives. Without effort it sinks as far as friction allows.
model = mujoco.MjModel.from_xml_path("psm/psm.xml")
data = mujoco.MjData(model)
mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
for _ in range(500):
    mujoco.mj_step(model, data)
sim.reset(sim.arm.home)
for _ in range(500):
    sim.step(np.zeros(7))
pitch = data.joint("back").qpos[0]
print(f"after {data.time:.1f} s without effort, pitch: MJCF {pitch:.5f}, Simulator {sim.q[1]:.5f} rad")

# Pinocchio: the tree. Links moved by loops and cables are mimic joints; the other joints are those of the dVRK.
tree = pinocchio.buildModelFromUrdf("psm/psm.urdf", mimic=True)
state = tree.createData()
q = np.array([0.2, -0.1, 0.12, 0.5, 0.3, -0.2, 0.4])
pinocchio.framesForwardKinematics(tree, state, q)
tip = state.oMf[tree.getFrameId("tip_link")].homogeneous
T = sim.mechanism.forward_kinematics(q)
print(f"tip of the URDF is {1e6 * np.linalg.norm(tip[:3, 3] - T[:3, 3]):.3f} um from that of the dVRK's table")

# A whole cart, as `trocar export cart_classic` writes it: PSM1_yaw ... ECM_roll in one tree.
write_model(tr.load_scene("cart_classic"), "cart_classic", ["urdf"])
cart = pinocchio.buildModelFromUrdf("cart_classic/cart_classic.urdf", mimic=True)
print(f"the Classic cart has {cart.nq} joints and {cart.njoints - 1 - cart.nq} mimic joints")
