"""Step response under the dVRK's controller: published PID gains at the motors, 1500 Hz, one sample of delay."""

import numpy as np
from matplotlib.figure import Figure

import trocar as tr
from trocar.control import JointPID
from trocar.control.trajectories import step_to
from trocar.plots import save, style

start = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.3])
step = np.array([0.05, 0.05, 0.005, 0.1, 0.1, 0.1, 0.1])
runs = {
    "rigid drives": tr.Simulator("PSM", timestep=1 / 1500, motor_limits=True),
    "elastic drives": tr.Simulator("PSM", timestep=1 / 1500, motor_limits=True, compliance=tr.Compliance()),
}
with style():
    figure = Figure(figsize=(10, 5))
    axes = figure.subplots(2, 4).ravel()
    for label, sim in runs.items():
        sim.reset(start)
        pid = JointPID(sim.arm, delay=1)
        recording = tr.simulate(sim, pid, step_to(start, start + step, 0.05), duration=0.6)
        print(f"{label}: remaining error", np.array2string(start + step - recording.q[-1], precision=4))
        for j, name in enumerate(sim.arm.joint_names):
            axes[j].plot(recording.t, recording.q[:, j] - start[j], label=label)
            axes[j].set(title=name, xlabel="t [s]")
    for j in range(7):
        axes[j].axhline(step[j], color="k", lw=0.6, ls="--")
    axes[7].axis("off")
    axes[7].legend(*axes[0].get_legend_handles_labels(), loc="center")
print("wrote", save(figure, "step_response.png"))
