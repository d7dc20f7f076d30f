"""The recording that the page's exercise on identification uses: the yaw joint of the simulated PSM on slow sines.

    python -m tools.site.recording

No recording of a real robot: the simulated arm follows two sines under the dVRK's PID, read by its encoders, with the
noise of its current sensors.
"""

from __future__ import annotations

import json
import math
from typing import Any

import mujoco
import numpy as np

import trocar as tr
from tools.site.reference import GENERATED, MODELS, RunArm, step, stiff
from trocar.files import write_whole
from trocar.robot.controller.actuators import ActuatorSensors, Sensors

SECONDS, EVERY = 12.0, 15  # length [s], and periods of the control loop between rows
POSE = [0.0, 0.3, 0.14, 0.0, 0.0, 0.0, 0.3]
SINES = ((0.45, 0.25), (0.2, 0.75))  # amplitude [rad], frequency [Hz]


def recording(seconds: float = SECONDS) -> dict[str, Any]:
    """Rows of time, position, velocity and effort of the yaw joint, and the parameters of the simulated joint."""
    table = json.loads((GENERATED / "table.json").read_text(encoding="utf-8"))
    facts, rate = table["arms"]["PSM"], table["rate"]
    model = stiff(mujoco.MjModel.from_xml_path(str(MODELS / "psm/scene.xml")), table)
    data = mujoco.MjData(model)
    arm = RunArm(model, facts, "", rate)
    data.qpos[arm.q] = arm.E @ POSE
    mujoco.mj_forward(model, data)
    sim = tr.Simulator("PSM")
    noise = ActuatorSensors([sim.arm], Sensors()).effort_noise[0] * np.random.default_rng(0).standard_normal(10**5)
    rows = []
    for cycle in range(round(seconds * rate)):
        t, q, dq = cycle / rate, list(POSE), [0.0] * 7
        fade = min(1.0, t)
        q[0] = fade * sum(a * math.sin(2 * math.pi * f * t) for a, f in SINES)
        dq[0] = fade * sum(2 * math.pi * f * a * math.cos(2 * math.pi * f * t) for a, f in SINES)
        s, ds = arm.measured(data, encoders=True)
        data.ctrl[arm.u] = arm.efforts(q, dq, s, ds)
        if cycle % EVERY == 0:
            rows.append([round(t, 4), round(s[0], 6), round(ds[0], 5), round(data.ctrl[arm.u][0] + noise[cycle], 4)])
        step(model, data, table)
    drive = sim.parameters.drives[0]
    inertia = float(sim.mechanism.mass_matrix(np.array(POSE))[0, 0])
    return {"rows": rows, "Fc": drive.Fc, "Fv": drive.Fv, "inertia": inertia}


def main() -> None:
    text = json.dumps(recording(), separators=(",", ":")) + "\n"
    write_whole(GENERATED / "recording.json", text.encode())
    print(f"{len(text)} characters")


if __name__ == "__main__":
    main()
