"""Experiments on the console; each returns its measured figures as claims.

Bounds without a source are our own. The law, states and constants are the dVRK's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from trocar.report import Claim
from trocar.spatial import Array, pose, rotation
from trocar.teleoperation.console_bench.bounds import as_published, own_bound
from trocar.teleoperation.console_bench.camera_claims import camera_control
from trocar.teleoperation.console_bench.master_claims import gravity_compensation, platform
from trocar.teleoperation.console_bench.rig import MASTER, Q_MASTER, SLAVE, PairRig, angle_between, minimum_jerk
from trocar.teleoperation.console_bench.timing import teleop_figures
from trocar.teleoperation.law import origins as origins_at
from trocar.teleoperation.law import psm_goal
from trocar.teleoperation.pair_sample import PairSample
from trocar.teleoperation.settings import PERIOD, PSMSettings
from trocar.teleoperation.teleop_psm import TeleopPSM

SAW = "sawIntuitiveResearchKit 2.4"
DEGREE = math.pi / 180.0
COMPENSATED_RMSE = 0.34  # largest RMSE of a separate, earlier program with gravity compensation [mm]
STILL = (1e-6, 1e-4, 0.1)  # bounds for a PSM at rest: set-point step [m], motion [m], rotation [deg]


# -- no jumps ----------------------------------------------------------------------------------------------------------


class _StillWatch:
    """Largest set-point step, motion and rotation of the PSM since the start."""

    def __init__(self, rig: PairRig) -> None:
        self._rig, self._set, self._start = rig, rig.setpoint(), rig.measured()
        self.step = self.motion = self.turn = 0.0

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds * 1500)):
            self._rig.robot.step()
            now, T = self._rig.setpoint(), self._rig.measured()
            self.step = max(self.step, float(np.linalg.norm(now[:3, 3] - self._set[:3, 3])))
            self.motion = max(self.motion, float(np.linalg.norm(T[:3, 3] - self._start[:3, 3])))
            self.turn = max(self.turn, angle_between(T[:3, :3], self._start[:3, :3]))
            self._set = now

    def claims(self, id: str, note: str) -> list[Claim]:
        return [
            own_bound(f"{id}: set-point step", self.step, STILL[0], "m", note),
            own_bound(f"{id}: PSM moved", self.motion, STILL[1], "m"),
            own_bound(f"{id}: PSM turned", math.degrees(self.turn), STILL[2], "deg"),
        ]


def _resting(seconds: float = 0.5) -> PairRig:
    """A pair that follows a hand at rest."""
    rig = PairRig()
    rig.follow()
    rig.hand.grasp()
    rig.robot.run(seconds)
    return rig


def clutch(distance: float = 0.1) -> list[Claim]:
    """Move the hand while the clutch is down: the PSM must not move, even after the release."""
    rig = _resting()
    watch = _StillWatch(rig)
    rig.press("clutch")
    watch.run(0.05)
    begun = rig.hand.arm.tip_pose()
    assert rig.hand.goal is not None
    start = rig.hand.goal.copy()
    for k in range(50):
        rig.hand.goal[0, 3] = start[0, 3] + distance * minimum_jerk((k + 1) / 50)
        watch.run(0.02)
    watch.run(1.0)
    moved = float(np.linalg.norm(rig.hand.arm.tip_pose()[:3, 3] - begun[:3, 3]))
    rig.press("clutch", False)
    waited = rig.until(lambda: rig.pair.state.following, 3.0)
    watch.run(0.3)
    found = watch.claims("clutch", f"hand moved {1e3 * moved:.0f} mm, following again after {waited:.2f} s")
    return [*found, own_bound("clutch: hand moved", moved, 0.9 * distance, "m", at_least=True)]


def scale(before: float = 0.2, after: float = 0.5) -> list[Claim]:
    """Change the scale while the PSM follows a hand that rests away from the origin."""
    rig = _resting(0.3)
    rig.pair.set_scale(before)
    assert rig.hand.goal is not None
    rig.hand.goal[0, 3] += 0.05
    rig.robot.run(1.2)
    watch = _StillWatch(rig)
    rig.pair.set_scale(after)
    watch.run(0.5)
    assert rig.pair.state.following
    assert rig.pair.state.scale == after
    return watch.claims("scale", f"scale {before:g} to {after:g}, 50 mm from the origin of following")


# -- states ------------------------------------------------------------------------------------------------------------


def alignment(angle: float = 60.0 * DEGREE) -> list[Claim]:
    """Align a master with one wrist joint off by an angle at the start."""
    q = Q_MASTER.copy()
    q[4] += angle
    rig = PairRig(q_master=q)
    commanded: list[int] = []
    for topic in ("servo_cp", "servo_cs"):
        rig.robot.bus.subscribe(f"PSM1/{topic}", lambda _: commanded.append(1))
    rig.start()
    slave = rig.setpoint()[:3, :3]

    def error() -> float:
        return angle_between(rig.robot.controllers[MASTER].reports.measured_cp().T[:3, :3], slave)

    off = error()
    took = rig.until(lambda: error() < 5.0 * DEGREE, 5.0)
    before = len(commanded)
    followed = rig.until(lambda: rig.pair.state.following, 3.0)
    return [
        own_bound("alignment: time to 5 deg", took, 3.0, "s", f"{math.degrees(off):.0f} deg off at the start"),
        own_bound("alignment: PSM goals sent before", before, 0.0, ""),
        own_bound("alignment: time to following", took + followed, 4.0, "s"),
    ]


def operator() -> list[Claim]:
    """Motions of gripper and roll that must, or must not, be detected as an operator [deg]."""
    cases = ((0.0, 3.9, False), (0.0, 4.1, True), (35.0, 0.0, False), (36.0, 0.0, True), (33.0, 3.0, True))
    right = sum(_shows(gripper * DEGREE, roll * DEGREE) == shown for gripper, roll, shown in cases)
    steady = [np.linspace(0.0, 60.0 * DEGREE, 500).tolist(), [0.0] * 500]
    return [
        as_published(
            "operator: correct detections",
            right,
            len(cases),
            "",
            0.0,
            SAW,
            "gripper, roll: 0, 3.9; 0, 4.1; 35, 0; 36, 0; 33, 3",
        ),
        as_published(
            "operator: steadily opening gripper", float(_detects(*steady)), 0.0, "", 0.0, SAW, "never detected"
        ),
    ]


def _shows(gripper: float, roll: float) -> bool:
    """True if a swing to these angles and back is detected."""
    swing = 0.5 - 0.5 * np.cos(np.linspace(math.pi, 3.0 * math.pi, 400))
    return _detects((gripper * swing).tolist(), (roll * swing).tolist())


def _detects(gripper: Sequence[float], roll: Sequence[float]) -> bool:
    pair = TeleopPSM()
    pair.state_command("enable")
    for k, (g, angle) in enumerate(zip(gripper, roll, strict=True)):
        T = pose(rotation("x", angle))
        pair.step(k * PERIOD, PairSample(T, T, np.eye(4), gripper=g, jaw=0.0))
    return pair.state.following


def jaw() -> list[Claim]:
    """Rates at which the jaw follows the gripper, which is 30 deg away when following starts."""
    pair = TeleopPSM(settings=PSMSettings(start_gripper_threshold=0.0), jaw=(0.0, 60.0 * DEGREE))
    pair.state_command("enable")
    gripper, angles, jaw_now = 40.0 * DEGREE, [], 10.0 * DEGREE
    for k in range(3000):
        gripper = 40.0 * DEGREE if k < 2000 else 5.0 * DEGREE
        sample = PairSample(np.eye(4), np.eye(4), np.eye(4), gripper=gripper, jaw=jaw_now)
        for command in pair.step(k * PERIOD, sample).commands:
            if command.name == "jaw/servo_jp":
                jaw_now = command.value
                angles.append((k, jaw_now))
    k, angle = np.array(angles).T
    rates = np.abs(np.diff(angle)) / (np.diff(k) * PERIOD) / DEGREE
    catching = angle[:-1] < 38.0 * DEGREE
    slow = rates[(k[1:] < 2000) & catching]
    fast = rates[(k[1:] >= 2000) & (rates > 100.0)]
    return [
        as_published("jaw: rate after clutch", float(np.median(slow)), 36.0, "deg/s", 1e-6, SAW),
        as_published("jaw: fastest rate", float(np.max(fast)), 720.0, "deg/s", 1e-6, SAW),
    ]


# -- following ---------------------------------------------------------------------------------------------------------


def following(seconds: float = 4.0, amplitude: float = 0.04) -> list[Claim]:
    """Follow a hand on a circle, one turn in 2 s, without and with gravity compensation of the PSM.

    The dVRK's PID of a PSM has no integral part and, by default, no gravity compensation, so the arm sags.
    """
    found = []
    for compensated in (False, True):
        rest, errors = _following_errors(seconds, amplitude, compensated)
        rmse, largest = float(np.sqrt(np.mean(np.square(errors)))), max(errors)
        found.append(
            own_bound(
                "following, PSM with gravity compensation: RMSE" if compensated else "following: RMSE",
                1e3 * rmse,
                COMPENSATED_RMSE if compensated else 0.5,
                "mm",
                f"scale 0.2, largest {1e3 * largest:.2f} mm; at rest {1e3 * rest:.2f} mm"
                + ("" if compensated else ", the sag of a PSM without gravity compensation, the dVRK's default"),
            )
        )
    return found


def _following_errors(seconds: float, amplitude: float, compensated: bool) -> tuple[float, list[float]]:
    """Distances of the measured tip from the current goal [m]: at rest, and in motion."""
    rig = _resting(0.5)
    rig.robot.psm(SLAVE).use_gravity_compensation(compensated)
    rig.robot.run(0.3)
    assert rig.hand.goal is not None
    centre, rest, errors = rig.hand.goal[:3, 3].copy(), _error(rig), []
    for k in range(round(seconds * 1000)):
        t = k * PERIOD
        ease = minimum_jerk(t / 0.5)
        phase = math.pi * t
        rig.hand.goal[0, 3] = centre[0] + ease * amplitude * math.sin(phase)
        rig.hand.goal[2, 3] = centre[2] + ease * amplitude * (1.0 - math.cos(phase))
        rig.robot.run(PERIOD)
        errors.append(_error(rig))
    assert rig.pair.state.following
    return rest, errors


def _error(rig: PairRig) -> float:
    s = rig.pair.state
    goal = psm_goal(rig.robot.controllers[MASTER].reports.measured_cp().T, s.at, s.scale)
    return float(np.linalg.norm(rig.measured()[:3, 3] - goal[:3, 3]))


# -- parity ------------------------------------------------------------------------------------------------------------


def parity(samples: int = 300) -> list[Claim]:
    """Compare PSM goals of random samples with the published law, written here element by element."""
    rng, worst = np.random.default_rng(1), 0.0
    for _ in range(samples):
        m0, s0, now, b0, b = (pose(_random_rotation(rng), rng.uniform(-0.2, 0.2, 3)) for _ in range(5))
        k = float(rng.uniform(0.05, 1.0))
        goal = psm_goal(now, origins_at(m0, s0, b0), k, base=b)
        expected = np.eye(4)
        for i in range(3):
            expected[i, 3] = s0[i, 3] + k * (now[i, 3] - m0[i, 3])
            for j in range(3):
                A = [sum(m0[n, i2] * s0[n, j] for n in range(3)) for i2 in range(3)]
                expected[i, j] = sum(now[i, i2] * A[i2] for i2 in range(3))
        worst = max(worst, float(np.abs(goal - np.linalg.solve(b, b0 @ expected)).max()))
    return [own_bound("parity: PSM goals", worst, 1e-12, "m, -", f"{samples} samples; law of {SAW}")]


def _random_rotation(rng: np.random.Generator) -> Array:
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return R if np.linalg.det(R) > 0 else -R


def real_time() -> list[Claim]:
    """Real-time factors of two pairs and of camera control, by processor time; other programs reduce them."""
    found = teleop_figures(rounds=1)
    return [
        own_bound(f"real-time factor: {state}", found[f"teleop_{state}_real_time_factor"], 1.0, "", note, at_least=True)
        for state in ("two_pairs", "camera")
        for note in [
            f"{found[f'teleop_{state}_us_per_ms']:.0f} us per ms; mj_step {found['teleop_mj_step_us_per_ms']:.0f}"
        ]
    ]


EXPERIMENTS: dict[str, Callable[[], list[Claim]]] = {
    "clutch": clutch,
    "scale": scale,
    "alignment": alignment,
    "operator": operator,
    "jaw": jaw,
    "camera": camera_control,
    "gravity_compensation": gravity_compensation,
    "platform": platform,
    "following": following,
    "parity": parity,
    "real_time": real_time,
}


def console_claims(names: Sequence[str] = tuple(EXPERIMENTS)) -> list[Claim]:
    """Claims of all experiments on the console, or of those named."""
    return [claim for name in names for claim in EXPERIMENTS[name]()]
