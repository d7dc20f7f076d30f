"""The wrist with elastic cables in the engine: the quasi-static law in slow motion, loads, energy, encoders."""

from __future__ import annotations

import itertools
from dataclasses import replace

import mujoco
import numpy as np
import pytest

import trocar as tr
from trocar import batch
from trocar.arms.parameters import Parameters, load_parameters
from trocar.arms.wrist_cables import load_wrist
from trocar.errors import TrocarError
from trocar.mechanics import CableWrist

CABLES = load_wrist("hwang2020")
WRIST = slice(3, 6)
KP = np.array([200.0, 200.0, 1000.0, 0.3, 0.4, 0.4, 0.2])
KD = np.array([10.0, 10.0, 50.0, 5e-3, 8e-3, 8e-3, 4e-3])
START = np.array([0.1, -0.1, 0.15, 0.2, -0.1, 0.1, 0.2])
# Corners of a slow motion of the wrist [rad], with reversals of every joint
CORNERS = np.array([[0.2, -0.1, 0.1], [0.4, 0.3, 0.1], [0.2, 0.3, 0.5], [0.3, 0.0, 0.1], [0.1, -0.2, 0.3]])


def changed(**numbers: float) -> Parameters:
    """The set wang2019 with other numbers of the drive disc_3."""
    known = load_parameters("PSM", "wang2019")
    return replace(known, drives=tuple(replace(d, **numbers) if d.name == "disc_3" else d for d in known.drives))


class Holder:
    """PID of the motors with gravity compensation."""

    def __init__(self, sim: tr.Simulator) -> None:
        self.sim, self.integral = sim, np.zeros(7)

    def step(self, target: np.ndarray) -> None:
        sim = self.sim
        error = target - sim.measured_q
        self.integral += 8.0 * sim.timestep * KP * error
        sim.step(sim.mechanism.gravity(sim.q) + KP * error + self.integral - KD * sim.measured_dq)


def started(**options) -> tuple[tr.Simulator, Holder]:
    sim = tr.Simulator("PSM", wrist="cables", **options)
    q = START.copy()
    q[WRIST] = CABLES.coupling @ START[WRIST]  # the motors are then at START
    sim.reset(q)
    return sim, Holder(sim)


def rest_positions(timestep: float, seconds: float = 2.0, **options) -> tuple[np.ndarray, np.ndarray]:
    """True wrist at the corners, in the engine and by the quasi-static law along the motors' way."""
    sim, holder = started(timestep=timestep, **options)
    way, at, true, target = [START[WRIST]], [], [], START.copy()
    steps = round(seconds / timestep)
    for before, after in itertools.pairwise(CORNERS):
        for k in range(steps):
            target[WRIST] = before + (after - before) * min(1.0, (k + 1) / (0.7 * steps))
            holder.step(target)
            if k % 10 == 9:
                way.append(sim.measured_q[WRIST])
        at.append(len(way) - 1)
        true.append(sim.q[WRIST])
    law = CableWrist(CABLES)
    return np.array(true), law.rest(np.array(way), law.relaxed(START[WRIST])).q[at]


@pytest.mark.parametrize("parameters", ["wang2019", "wang2019_refit"])
def test_slow_motion_follows_the_quasi_static_law(parameters: str) -> None:
    """With Coulomb friction and with hysteretic friction of the set: that of the joints is the cables'."""
    engine, law = rest_positions(1e-3, parameters=parameters)
    assert engine == pytest.approx(law, abs=1e-3)
    assert np.abs(engine - CORNERS[1:]).max() > 0.05  # the joints are not where the encoders report them


def test_rest_positions_converge_with_the_timestep_and_the_speed() -> None:
    errors = [np.subtract(*rest_positions(timestep, 1.0)) for timestep in (1e-3, 5e-4, 2.5e-4)]
    first, second = (np.abs(np.subtract(*pair)).max() for pair in itertools.pairwise(errors))
    assert second < 0.7 * first < 5e-4
    slower = np.subtract(*rest_positions(1e-3, 2.0))  # cables and contacts are damped
    assert np.abs(slower).max() < 0.6 * np.abs(errors[0]).max()


def test_encoders_read_the_motors_and_q_is_the_joint() -> None:
    sim, holder = started()
    law = CableWrist(CABLES)
    assert sim.measured_q == pytest.approx(START, abs=1e-12)
    assert sim.q[WRIST] == pytest.approx(law.relaxed(START[WRIST]).q, abs=1e-12)
    holder.step(START)
    tip = sim.mechanism.forward_kinematics(sim.q)
    assert sim.tip_pose() == pytest.approx(tip, abs=1e-6)


@pytest.mark.parametrize("force", [0.2, 1.0, 3.0])
def test_a_force_at_the_tip_loads_the_cables(force: float) -> None:
    """The deflection is that of the law: friction contacts and cables in parallel, then the cables alone."""
    sim, holder = started()
    motors, loads = [], []
    for k in range(4000):
        wrench = np.array([0.0, force * min(1.0, k / 3000), 0.0, 0.0, 0.0, 0.0])
        sim.apply_wrench(wrench)
        holder.step(START)
        motors.append(sim.measured_q[WRIST])
        loads.append(sim.mechanism.jacobian(sim.q)[:, WRIST].T @ wrench)
    law = CableWrist(CABLES)
    start = law.relaxed(START[WRIST])
    expected = law.rest(np.array(motors), start, np.array(loads)).q[-1]
    assert sim.q[WRIST] == pytest.approx(expected, abs=1e-3)
    assert np.abs(expected - start.q).max() > 2e-3 * force


GRIP = 5.0  # force of each finger at its end [N]


def loaded_cycle(force: float, grip: bool, friction: bool) -> tuple[np.ndarray, np.ndarray, float]:
    """True wrist and the law's at rest with forces at the tip of 0, +, 0, - and 0 [N]; and the opening of the jaws."""
    sim, holder = started(friction=friction)
    target, effort = START.copy(), GRIP * sim.arm.jaw_length * grip
    corners, steps = [0.0, 1.0, 0.0, -1.0, 0.0], 4000  # slow: the engine differs in proportion to the speed
    push = np.array([0.0, force, 0.0, 0.0, 0.0, 0.0])
    motors, loads, at, true = [START[WRIST]], [np.zeros(3)], [], []
    for before, after in itertools.pairwise([0.0, *corners]):
        for k in range(steps):
            wrench = (before + (after - before) * min(1.0, (k + 1) / (0.7 * steps))) * push
            sim.apply_wrench(wrench)
            error = target - sim.measured_q
            holder.integral += 8.0 * sim.timestep * KP * error
            tau = sim.mechanism.gravity(sim.q) + KP * error + holder.integral - KD * sim.measured_dq
            if grip:
                tau[6] = -effort
            sim.step(tau)
            if k % 10 == 9:
                motors.append(sim.measured_q[WRIST])
                loads.append(sim.mechanism.jacobian(sim.q)[:, WRIST].T @ wrench)
        at.append(len(motors) - 1)
        true.append(sim.q[WRIST])
    cables = CABLES if friction else replace(CABLES, friction=np.zeros(3))
    law = CableWrist(cables)
    return np.array(true), law.rest(np.array(motors), law.relaxed(START[WRIST]), np.array(loads)).q[at], float(sim.q[6])


def compliance(friction: bool, force: float) -> np.ndarray:
    """Deflection (3,) by a force along y at the tip while no contact slides: cables, and contacts parallel to them."""
    torques = tr.load_mechanism("PSM").jacobian(START)[:, WRIST].T @ [0.0, force, 0.0, 0.0, 0.0, 0.0]
    S = CABLES.stiffness + (np.diag(1.0 / CABLES.presliding) if friction else 0.0)
    return np.linalg.solve(S, torques)


@pytest.mark.parametrize("grip", [False, True])
@pytest.mark.parametrize(("force", "play"), [(1.0, 0.0), (3.0, 0.16)])
def test_a_loaded_wrist_deflects_and_has_play(force: float, play: float, grip: bool) -> None:
    """A force at the tip, with and without a grip of 5 N: the engine has the law's deflection and play.

    1 N does not overcome the friction of the wrist yaw, 3 N does. The jaw is rigid, and the fingers press against each
    other: the grip changes neither.
    """
    engine, law, jaw = loaded_cycle(force, grip, friction=True)
    assert engine == pytest.approx(law, abs=1e-3)
    assert np.abs(engine[4] - engine[2]).max() == pytest.approx(play, abs=0.05 * play + 1e-4)
    if not play:
        assert engine[1] - engine[0] == pytest.approx(compliance(True, force), rel=0.05, abs=2e-3)
    assert (jaw < 0.05) == grip


def test_without_friction_a_load_bends_the_wrist_by_its_compliance() -> None:
    """The closed form: inverse of S times the torques that the Jacobian gives, and no play."""
    engine, law, _ = loaded_cycle(1.0, grip=False, friction=False)
    assert engine == pytest.approx(law, abs=1e-3)
    assert engine[1] - engine[0] == pytest.approx(compliance(False, 1.0), rel=0.1, abs=2e-3)
    assert engine[4] == pytest.approx(engine[0], abs=1e-4)


@pytest.mark.parametrize("friction", [True, False])
def test_cables_create_no_energy(friction: bool) -> None:
    """A deflected wrist, released in weightlessness with idle motors, only loses energy."""
    sim = tr.Simulator("PSM", wrist="cables", friction=friction, gravity=[0.0, 0.0, 0.0], timestep=2e-4)
    sim.reset(START)
    data, model = sim.data, sim.model
    data.qpos[model.joint("wrist_yaw").qposadr[0]] += 0.3
    mujoco.mj_forward(model, data)
    energy = []
    for _ in range(1000):
        mujoco.mj_fwdPosition(model, data)  # lengths of the tendons
        mujoco.mj_energyPos(model, data)
        potential, momentum, before = data.energy[0], np.zeros(model.nv), data.qvel.copy()
        sim.step(np.zeros(7))
        middle = 0.5 * (before + data.qvel)  # the velocity at the position before the step
        mujoco.mj_mulM(model, data, momentum, middle)
        energy.append(potential + 0.5 * momentum @ middle)
    assert energy[0] > 1e-3
    assert np.diff(energy).max() <= 1e-6 * energy[0]
    assert energy[-1] < 0.7 * energy[0]


def test_a_snapshot_of_the_cables_is_restored_bit_for_bit() -> None:
    sim, holder = started()
    target = START + np.array([0, 0, 0, 0.1, 0.2, -0.2, 0.0])
    for _ in range(100):
        holder.step(target)
    snapshot, integral = sim.snapshot(), holder.integral.copy()
    runs = []
    for _ in range(2):
        sim.restore(snapshot)
        holder.integral = integral.copy()
        for _ in range(50):
            holder.step(target)
        runs.append(sim.data.qpos.copy())
    assert np.array_equal(*runs)


def test_the_wrist_is_rigid_by_default() -> None:
    sim = tr.Simulator("PSM")
    assert sim.model.nq == len(sim.arm.bodies)
    assert np.array_equal(sim.measured_q, sim.q)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"wrist": "cables", "timestep": 0.01}, "too stiff for a timestep"),
        ({"wrist": "cables", "parameters": changed(Im=0.0)}, "couple wrist and jaw by 1.00"),
        ({"wrist": "cables", "parameters": changed(mu=0.1)}, "independent of load and position"),
        ({"wrist": "rope"}, "wrist cables"),
        ({"wrist": 3}, "wrist"),
    ],
)
def test_cables_that_cannot_be_simulated_are_refused(options: dict, problem: str) -> None:
    with pytest.raises(TrocarError, match=problem):
        tr.Simulator("PSM", **options)
    with pytest.raises(TrocarError, match="no wrist of roll"):
        tr.Simulator("ECM", wrist="cables")


def test_batches_of_scenes_refuse_compensation() -> None:
    with pytest.raises(TrocarError, match="compensate no wrist"):
        batch.SceneBatch(tr.Scene({"PSM": tr.SceneArm(arm="PSM", compensation="cables")}), 2)


def test_a_robot_reports_its_motors_and_moves_its_joints() -> None:
    """On the robot, measured_js follows the command and the tip does not."""
    scene = tr.Scene({"PSM1": tr.SceneArm(arm="PSM", wrist="cables")}, timestep=1 / 1500)
    with tr.Robot(scene, start="ready") as robot:
        psm = robot.arm("PSM1")
        goal = np.array([0.1, 0.1, 0.12, 0.2, 0.5, -0.3])
        psm.move_jp(goal).wait()
        robot.sleep(0.5)
        position, _ = psm.measured_jp()
        assert position == pytest.approx(goal, abs=0.02)
        true = scene.arms["PSM1"]
        assert np.abs(true.q[WRIST] - position[3:]).max() > 0.05
        reported, _ = psm.measured_cp()
        apart = np.linalg.norm(np.asarray(reported)[:3, 3] - true.tip_pose()[:3, 3])
        assert 2e-4 < apart < 5e-3


def test_a_scene_file_may_name_the_wrist(tmp_path) -> None:
    path = tmp_path / "scene.toml"
    path.write_text('[arms.PSM1]\narm = "PSM"\nwrist = "cables"\n')
    scene = tr.load_scene(path)
    assert scene.arms["PSM1"].options.cables is not None
