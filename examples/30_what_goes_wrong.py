"""A dVRK-Si PSM under its controllers with wrong settings, a payload and faults: tracking errors, drift, FAULT."""

from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

import trocar as tr
from trocar import plots
from trocar.arms.parameters import load_parameters
from trocar.report import Report
from trocar.robot import Robot
from trocar.simulation.forces.faults import MotorLoss

START, MOVE = np.array([0.2, 0.5, 0.15, 0.0, 0.0, 0.0, 0.0]), np.array([0.4, -0.3, 0.05, 0.0, 0.0, 0.0])
MOVED, FREED, END = 0.3, 2.0, 3.0  # times of the move, of the release and of the end [s]
JOINTS = ("yaw [mrad]", "pitch [mrad]", "insertion [mm]")
STATES = ("DISABLED", "FAULT", "ENABLED")

nominal = load_parameters("PSM_Si")
heavier = {name: replace(body, mass=1.2 * body.mass, I=1.2 * body.I) for name, body in nominal.inertias.items()}
model = tr.load_mechanism("PSM_Si")
wrong_model = tr.load_mechanism("PSM_Si", replace(nominal, inertias=heavier))
gains = replace(model.arm.gains, kp=tuple(0.25 * kp for kp in model.arm.gains.kp))
soft = replace(model.arm, gains=gains)


def run(arm="PSM_Si", believed=model, added_mass=0.0, fault=None, step=None, observers=False):
    """Hold, move and hold, then let the arm float; rows of time, tracking error, effort, position and state.

    The disturbance observers of a dVRK-Si hide wrong settings in position control, so only one case has them on.
    """
    given = tr.SceneArm(arm=arm, parameters=nominal, base=np.eye(4), q=START, added_mass=added_mass)
    robot = Robot(tr.Scene({"PSM": given}, timestep=1 / 1500), start="ready", supported=False, observers=observers)
    robot.simulation().arm("PSM").set_gravity_model(believed)  # model used by gravity compensation
    psm, q = robot.psm("PSM"), START[:6]
    if fault is not None:
        robot.scene.arms["PSM"].inject(fault)
    psm.servo_jp(q)
    begin, rows, done = robot.time, [], set()
    while (t := robot.time - begin) < END:
        if t >= MOVED and "moved" not in done:
            done.add("moved")
            psm.move_jp(q + MOVE) if step is None else psm.servo_jp(q + step)
        if t >= FREED and "freed" not in done and psm.is_enabled():
            done.add("freed")
            psm.free()  # gravity compensation alone
        robot.run(0.01)
        measured, wanted = robot.bus.read("PSM/measured_js"), robot.bus.read("PSM/setpoint_js")
        error = 1e3 * (wanted.position - measured.position)[:3]
        q_true = robot.scene.arms["PSM"].q[:3]  # the robot reports no measurement in FAULT
        rows.append((t, *error, *measured.effort[:3], *q_true, STATES.index(psm.operating_state())))
    errors = [message.value for message in robot.bus.history("PSM/error")]
    return np.array(rows), errors


cases = {
    "correct settings": run(),
    "disturbance observers on": run(observers=True),
    "Kp a quarter": run(arm=soft),
    "model 20 % too heavy": run(believed=wrong_model),
    "payload of 0.3 kg": run(added_mass=0.3),
    "step of 0.6 rad in yaw": run(step=np.array([0.6, 0.0, 0.0, 0.0, 0.0, 0.0])),
    "insertion motor lost at 0.5 s": run(fault=MotorLoss(motor="insertion", at=0.5)),
}

report = Report("Symptoms of wrong settings and faults on a dVRK-Si PSM")
np.set_printoptions(precision=2, suppress=True, floatmode="fixed")
report.paragraphs.append("Errors and displacements are those of yaw, pitch [mrad] and insertion [mm].")
print(report.paragraphs[0])
for name, (rows, errors) in cases.items():
    t, error, q = rows[:, 0], rows[:, 1:4], 1e3 * rows[:, 7:10]
    if errors:
        tripped = t[rows[:, -1] == STATES.index("FAULT")][0]
        text = f"{name}: FAULT at {tripped:.2f} s ({errors[-1]}), moves by {q[-1] - q[t < tripped][-1]} until {END:g} s"
    else:
        held = (t > FREED - 0.3) & (t < FREED)
        drift = q[-1] - q[held][-1]
        most = np.abs(error[t < FREED]).max(0)
        text = f"{name}: largest error {most}, steady error {error[held].mean(0)}, drift in {END - FREED:g} s {drift}"
    print(text)
    report.paragraphs.append(text)

with plots.style():
    for what, first, names in (
        ("Tracking error", 1, JOINTS),
        ("Measured effort", 4, ("yaw [N m]", "pitch [N m]", "insertion [N]")),
        ("Position", 7, ("yaw [rad]", "pitch [rad]", "insertion [m]")),
    ):
        figure = Figure(figsize=(8.0, 8.0))
        axes = figure.subplots(4, 1, sharex=True, height_ratios=(1, 1, 1, 0.6))
        for name, (rows, _) in cases.items():
            on = (rows[:, -1] == STATES.index("ENABLED")) | (first == 7)
            for k in range(3):
                axes[k].plot(rows[on, 0], rows[on, first + k], label=name)
            axes[3].step(rows[:, 0], rows[:, -1], where="post")
        for axis, label in zip(axes, (*names, "state"), strict=True):
            axis.set_ylabel(label)
            axis.axvline(FREED, color="grey", linestyle=":")
        if first == 1:  # scaled for arms that still follow; the others leave the figure
            for axis, most in zip(axes, (16.0, 16.0, 2.5), strict=False):
                axis.set_ylim(-most, most)
        axes[3].set_yticks(range(len(STATES)), STATES)
        axes[3].set_ylim(-0.3, 2.3)
        axes[3].set_xlabel("time [s]")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
        until = "" if first == 7 else " until the arm is in FAULT"
        report.add_figure(figure, f"{what}{until}. After the dotted line the arm floats under gravity compensation.")
print("report:", report.write_html("what_goes_wrong.html"))
