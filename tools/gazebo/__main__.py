"""Run the models of models/ in Gazebo Classic and print a table for docs/exports.md: python -m tools.gazebo.

Gazebo 11 is in Debian 11, which is installed into a folder by mmdebstrap. `recorder.cc`, a plugin built there, drives
the joints by Gazebo's own PID and records them.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np

from trocar.simulation import Scene, load_scene
from trocar.simulation.export.links import flat
from trocar.simulation.export.sdf import joint_loads, pid_gains, with_discs
from trocar.spatial import Array
from trocar_reproductions.gondokaryono2019.simulation import CENTRE, FREQUENCY, KD, KI, KP

REPOSITORY = Path(__file__).parents[2]
SOURCE = Path(__file__).with_name("recorder.cc")
PACKAGES = "gazebo,libgazebo-dev,build-essential"
# Table 9 of Gondokaryono et al. 2019, on a Core i7-4770K
PUBLISHED = {"psm": "1", "ecm": "1", "cart_classic": "0.51"}
SWING = 0.9  # of the PSM's joints [rad], as in Fig. 10 but within the limits; of the insertion 0.1 m


@dataclass(frozen=True)
class Case:
    """A run: what drives the joints, and for how long [s]."""

    model: str
    drive: str  # "nothing", "hold", "move", or "Table 8": hold with the gains of the paper
    duration: float


CASES = [
    *(Case(model, drive, 5.0) for model in ("psm", "ecm", "mtmr", "psm_si") for drive in ("nothing", "hold")),
    Case("psm", "move", 20.0),
    Case("psm", "Table 8", 5.0),
    Case("cart_classic", "hold", 5.0),
]


@dataclass(frozen=True)
class Joint:
    """A driven joint: its target start + amplitude sin, gains and limit of effort."""

    name: str
    start: float
    amplitude: float
    gains: tuple[float, float, float]
    effort: float


def installed(folder: Path) -> Path:
    """The folder with Debian 11, Gazebo and the plugin."""
    root = folder / "debian"
    if not (root / "usr/bin/gzserver").exists():
        shutil.rmtree(root, ignore_errors=True)
        print(f"installing Debian 11 with Gazebo in {root}: 2.7 GB, a few minutes", flush=True)
        mirror = "http://deb.debian.org/debian"
        subprocess.run(["mmdebstrap", "--variant=apt", f"--include={PACKAGES}", "bullseye", root, mirror], check=True)
    shutil.copy(SOURCE, root / "srv/recorder.cc")
    build = "g++ -O2 -shared -fPIC -o librecorder.so recorder.cc $(pkg-config --cflags --libs gazebo)"
    _chroot(root, f"cd /srv && {build}")
    return root


def _chroot(root: Path, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["chroot", root, "bash", "-c", command], check=True, capture_output=True, text=True)


def scene_of(model: str) -> Scene:
    """The scene that a folder of models/ was exported from."""
    names = {"psm": "PSM", "ecm": "ECM", "mtmr": "MTMR", "psm_si": "PSM_Si", "cart_classic": "cart_classic"}
    return load_scene(names[model])


def driven(scene: Scene, drive: str) -> list[Joint]:
    """Joints with the gains of the position controllers in model.sdf, or those of Table 8."""
    joints = []
    for name, simulated in scene.arms.items():
        arm, prefix = simulated.arm, scene.stepped[name].prefix
        gains = [pid_gains(M) for M in joint_loads(simulated, np.array(arm.home), with_discs(simulated))[0]]
        if drive == "Table 8":
            gains = list(zip(KP, KI, KD, strict=True))
        start, size = np.array(arm.home), np.zeros(arm.n)
        if drive == "move":
            start, size = CENTRE, np.array([SWING, SWING, 0.1, SWING, SWING, SWING, 0.0])
        for k, joint in enumerate(arm.joints):
            limits = float(start[k]), float(size[k]), gains[k], float(joint.effort)
            joints.append(Joint(flat(prefix + joint.name), *limits))
    return joints


def recorded(root: Path, models: Path, case: Case, joints: list[Joint]) -> tuple[list[str], Array]:
    """Names of the columns and rows of a run."""
    shutil.rmtree(root / "srv/models", ignore_errors=True)
    shutil.copytree(models / case.model, root / "srv/models" / case.model)
    tree = ET.parse(models / case.model / "classic.world")
    world = tree.getroot().find("world")
    assert world is not None
    for rate in world.iter("real_time_update_rate"):
        rate.text = "0"  # as fast as it can
    plugin = ET.SubElement(world, "plugin", name="recorder", filename="/srv/librecorder.so")
    for tag, text in (("duration", case.duration), ("frequency", FREQUENCY), ("output", "/srv/run.csv")):
        ET.SubElement(plugin, tag).text = str(text)
    for joint in joints:
        entry = ET.SubElement(plugin, "joint")
        p, i, d = joint.gains
        values = {"name": joint.name, "start": joint.start, "amplitude": joint.amplitude, "effort": joint.effort}
        for tag, value in (values | {"p": p, "i": i, "d": d}).items():
            ET.SubElement(entry, tag).text = str(value)
    tree.write(root / "srv/run.world")
    (root / "srv/run.csv").unlink(missing_ok=True)
    environment = "GAZEBO_MODEL_PATH=/srv/models GAZEBO_MODEL_DATABASE_URI= GAZEBO_IP=127.0.0.1"
    environment += " GAZEBO_MASTER_URI=http://127.0.0.1:11345 HOME=/srv"
    _chroot(root, f"{environment} timeout 600 gzserver --verbose /srv/run.world")
    header, *lines = (root / "srv/run.csv").read_text(encoding="utf-8").splitlines()
    return header.split(","), np.array([[float(x) for x in line.split(",")] for line in lines])


def row(root: Path, models: Path, case: Case) -> str:
    """A row of the table."""
    joints = [] if case.drive == "nothing" else driven(scene_of(case.model), case.drive)
    names, rows = recorded(root, models, case, joints)
    t, wall, gap = rows[:, 0], rows[:, 1], rows[:, 2]
    sound = bool(np.isfinite(rows).all()) and t[-1] > case.duration - 0.1
    errors = []
    for joint in joints:
        error = rows[:, names.index(joint.name)] - joint.start
        error -= joint.amplitude * np.sin(2 * np.pi * FREQUENCY * t)
        errors.append(np.sqrt(np.mean(error[t > t[-1] / 2] ** 2)))
    factor = (t[-1] - t[0]) / (wall[-1] - wall[0])
    wrist = [k for k, name in enumerate(names) if name.endswith(("roll", "wrist_pitch", "wrist_yaw"))]
    still = np.abs(np.diff(rows[-100:, wrist], axis=0)).mean() / 0.01 if wrist else 0.0
    worst = f"{max(errors):.2g}" if errors else f"(wrist at {still:.2g} rad/s in the last second)"
    cells = [case.model, case.drive, f"{case.duration:g} s", "yes" if sound else "no", worst, f"{1e3 * gap.max():.2g}"]
    return "| " + " | ".join([*cells, f"{factor:.2f}", PUBLISHED.get(case.model, "")]) + " |"


def main() -> None:
    """Install Gazebo if needed, run all cases, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=REPOSITORY / "build/gazebo")
    parser.add_argument("--models", type=Path, default=REPOSITORY / "models")
    parser.add_argument("--only", default="", help="part of a model's name")
    options = parser.parse_args()
    root = installed(options.folder)
    titles = ["model", "driven", "time", "finite", "RMS error, worst joint [rad, m]", "gap of loops [mm]"]
    print("| " + " | ".join([*titles, "real-time factor", "printed"]) + " |")
    print("|---" * 8 + "|", flush=True)
    for case in CASES:
        if options.only in case.model:
            print(row(root, options.models, case), flush=True)


if __name__ == "__main__":
    main()
