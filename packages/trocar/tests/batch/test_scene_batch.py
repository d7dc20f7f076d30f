"""Batches of scenes: the same numbers as a single scene on threads, and within float32 on Warp; failures by world."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trocar as tr
from trocar import batch
from trocar.batch.worlds.layout import SceneLayout
from trocar.batch.worlds.motor_table import MEMORY
from trocar.batch.worlds.reference_waves import Waves
from trocar.batch.worlds.status import BEYOND_STOP
from trocar.batch.worlds.torque_law import TorqueLaw
from trocar.batch.worlds.world_values import each_row
from trocar.control import ComputedTorque, Setpoint, State
from trocar.errors import TrocarError
from trocar.identification.drawn_parameters import DrawnParameters
from trocar.simulation import Box, Scene, SceneArm, Solid
from trocar.simulation.objects.scene_object import OBJECT
from trocar.spatial import pose

Q = np.array([0.1, -0.1, 0.1, 0.2, 0.1, -0.1, 0.3])
GAINS = np.array([20.0, 20.0, 200.0, 0.2, 0.2, 0.2, 0.2])
COMPILES = "Warp compiles the kernels of a scene for minutes; TROCAR_WARP_TESTS=1 or make gpu runs them"
needs_warp = pytest.mark.skipif(not os.environ.get("TROCAR_WARP_TESTS"), reason=COMPILES)


@pytest.fixture(scope="module")
def scene() -> Scene:
    """A PSM with Dahl friction, and a free block on a fixed plate."""
    objects = [
        Solid("plate", Box((0.0, 0.0, -0.005), (0.1, 0.1, 0.01)), pose(p=[0.0, 0.0, -0.16])),
        Solid(
            "block", Box((0.0, 0.0, 0.0), (0.01, 0.01, 0.01)), pose(p=[0.03, 0.0, -0.1549]), mass=0.002, friction=0.4
        ),
    ]
    arm = SceneArm(arm="PSM", base=np.eye(4), q=Q, parameters="wang2019_refit")
    return Scene({"PSM": arm}, objects=objects)


@pytest.fixture(scope="module")
def threads(scene: Scene) -> batch.SceneBatch:
    scene.reset()
    return batch.SceneBatch(scene, 3, threads=2)


def test_threads_step_a_scene_with_a_free_object_as_the_scene_itself(scene: Scene, threads: batch.SceneBatch) -> None:
    tau = scene.arms["PSM"].mechanism.gravity(Q) + [0.3, 0.1, 1.0, 0.0, 0.0, 0.0, 0.0]
    scene.reset()
    threads.reset()
    threads.apply("PSM", tau)
    for _ in range(40):
        scene.step({"PSM": tau})
    threads.step(40)
    assert np.allclose(threads.q["PSM"], scene.arms["PSM"].q, rtol=0.0, atol=1e-12)
    assert np.allclose(threads.poses["block"][:, :3], scene.objects["block"].pose[:3, 3], rtol=0.0, atol=1e-12)
    assert np.abs(threads.dq["PSM"]).max() > 0.05


@pytest.mark.parametrize("backend", ["threads", pytest.param("warp", marks=needs_warp)])
def test_a_block_is_stopped_by_coulomb_friction_in_every_backend(scene: Scene, backend: str) -> None:
    """It slides at 20 mm/s, at which friction of a constant 50 /s is viscous: it would go eight times as far."""
    scene.reset()
    tau = {"PSM": scene.arms["PSM"].mechanism.gravity(Q)}
    for _ in range(100):  # the block comes to rest on the plate
        scene.step(tau)
    scene.data.qvel[scene.model.body(OBJECT + "block").dofadr[0]] = 0.02
    start = scene.objects["block"].pose[:3, 3].copy()
    worlds = batch.SceneBatch(scene, 2, backend=backend, **({"device": "cpu"} if backend == "warp" else {"threads": 2}))
    worlds.apply("PSM", tau["PSM"])
    worlds.step(30)
    for _ in range(30):
        scene.step(tau)
    moved = worlds.numpy(worlds.poses["block"])[:, :3] - start
    # the push lifts the block off the plate for single steps, so that it slows down in jumps
    assert np.linalg.norm(moved, axis=1) == pytest.approx(0.02**2 / (2 * 0.4 * 9.81), rel=0.2)
    expected = scene.objects["block"].pose[:3, 3] - start
    assert np.allclose(moved, expected, rtol=0.0, atol=1e-12 if backend == "threads" else 2e-6)


def test_servo_and_pd_hold_against_gravity(threads: batch.SceneBatch) -> None:
    threads.reset()
    threads.servo("PSM", Q)
    threads.step(100)
    assert np.abs(threads.q["PSM"] - Q)[:, :2].max() < 0.05
    threads.pd("PSM", Q + [0.2, 0, 0, 0, 0, 0, 0], GAINS, 0.1 * GAINS)
    before = threads.q["PSM"][:, 0].copy()
    threads.step(100)
    assert (threads.q["PSM"][:, 0] > before + 0.01).all()


def test_servo_has_its_own_gains_after_pd(threads: batch.SceneBatch) -> None:
    ends = []
    for controlled in (False, True):
        threads.reset()
        if controlled:
            threads.pd("PSM", Q, GAINS, 0.1 * GAINS)
            threads.reset()
        threads.servo("PSM", Q + 0.05)
        threads.step(20)
        ends.append(threads.q["PSM"].copy())
    assert np.allclose(*ends, rtol=0.0, atol=1e-12)


def test_computed_torque_is_that_of_its_controller(scene: Scene, threads: batch.SceneBatch) -> None:
    """A wrong model with friction along a motion of constant acceleration; a snapshot within it is exact."""
    model, dt = tr.load_mechanism("PSM", "wang2019"), scene.timestep
    dq, ddq = np.full(7, 0.1), np.full(7, -0.5)
    law = ComputedTorque(model, 225.0, 30.0, friction=True)
    scene.reset()
    threads.reset()
    threads.computed_torque("PSM", model, Q, dq, ddq, kp=225.0, kd=30.0, friction=True, effort=[0.1, 0, 0, 0, 0, 0, 0])
    arm = scene.arms["PSM"]
    for t in dt * np.arange(40):
        setpoint = Setpoint(Q + dq * t + 0.5 * ddq * t**2, dq + ddq * t, ddq)
        scene.step({"PSM": law(State(t, arm.q, arm.dq), setpoint) + [0.1, 0, 0, 0, 0, 0, 0]})
    threads.step(20)
    saved = threads.snapshot()
    threads.step(20)
    after = threads.q["PSM"].copy()
    assert np.allclose(after, arm.q, rtol=0.0, atol=1e-12)
    assert np.abs(after - Q).max() > 1e-3
    threads.restore(saved)
    threads.step(20)
    assert np.array_equal(threads.q["PSM"], after)
    with pytest.raises(TrocarError, match="4 joints; PSM has 7"):
        threads.computed_torque("PSM", tr.load_mechanism("ECM"), Q, kp=225.0, kd=30.0)
    with pytest.raises(TrocarError, match="friction by load"):
        TorqueLaw.of(tr.load_mechanism("PSM_Si"), friction=True)


def test_computed_torque_follows_waves(scene: Scene, threads: batch.SceneBatch) -> None:
    """Own sinusoids of every world, from the time of its reset on, with the model of the simulated arm."""
    waves = Waves(Q, np.full(7, 0.05), np.array([2.0, 4.0, 6.0])[:, None] * np.ones(7), np.zeros(7), ramp=0.05)
    model = scene.arms["PSM"].mechanism
    threads.reset(q={"PSM": Q})
    threads.follow_waves("PSM", model, waves, kp=2500.0, kd=100.0, friction=True)
    threads.step(60)
    threads.reset([True, False, False])
    threads.step(60)
    times = np.array([60, 120, 120]) * threads.timestep
    expected = waves.motion(times)[0]
    assert np.abs(threads.q["PSM"] - expected)[:, :2].max() < 2e-3
    assert np.abs(expected - Q)[:, :2].min() > 3e-3
    assert np.array_equal(waves.positions(np, times), expected)


def test_every_world_can_have_its_own_gains(threads: batch.SceneBatch) -> None:
    ends = []
    for factor in (1.0, np.array([1.0, 0.5, 1.0])):
        threads.reset(q={"PSM": Q})
        threads.tune("PSM", kp=factor, kd=factor)
        threads.pd("PSM", Q, GAINS, 0.1 * GAINS)  # other gains in between
        threads.servo("PSM", Q + 0.05)
        threads.step(20)
        ends.append(threads.q["PSM"].copy())
    assert np.array_equal(ends[0][[0, 2]], ends[1][[0, 2]])
    assert np.abs(ends[0][1] - ends[1][1]).max() > 1e-4
    with pytest.raises(TrocarError, match="kp must be a factor"):
        threads.tune("PSM", kp=-1.0)
    threads.tune("PSM")


def test_tip_increments_move_the_tip(scene: Scene, threads: batch.SceneBatch) -> None:
    """Commanded joints of a straight line and a turn, against the arm's own kinematics; poses out of reach."""
    threads.reset()
    mechanism = scene.arms["PSM"].mechanism
    T = mechanism.forward_kinematics(Q)
    step = np.array([4e-4, -3e-4, 2e-4, 0.01, 0.02, -0.01, 0.05])
    for _ in range(3):
        threads.tip_increments("PSM", step, 0.02)
        threads.step(20)
        T[:3, 3] += step[:3]
        T[:3, :3] = Rotation.from_rotvec(step[3:6]).as_matrix() @ T[:3, :3]
    q = threads.commanded["PSM"][1]
    assert np.allclose(mechanism.forward_kinematics(q), T, rtol=0.0, atol=1e-9)
    assert q[6] == pytest.approx(Q[6] + 0.15)
    assert np.abs(threads.q["PSM"][1] - q)[[0, 1, 2]].max() < 0.02
    with pytest.raises(TrocarError, match="increments of PSM must have shape"):
        threads.tip_increments("PSM", np.zeros(6), 0.02)
    with pytest.raises(TrocarError, match="duration"):
        threads.tip_increments("PSM", np.zeros(7), 0.0)
    threads.reset()


def test_reset_by_mask_and_snapshots(threads: batch.SceneBatch) -> None:
    threads.reset()
    threads.apply("PSM", np.zeros(7))
    threads.step(20)
    moved = threads.q["PSM"].copy()
    saved = threads.snapshot()
    threads.step(10)
    later = threads.q["PSM"].copy()
    threads.restore(saved)
    threads.step(10)
    assert np.array_equal(threads.q["PSM"], later)
    threads.restore(saved)
    placed = np.array([0.02, 0.01, -0.14, 1.0, 0.0, 0.0, 0.0])
    threads.reset([False, True, False], q={"PSM": Q + 0.01}, poses={"block": placed})
    assert np.array_equal(threads.q["PSM"][[0, 2]], moved[[0, 2]])
    assert np.allclose(threads.q["PSM"][1], Q + 0.01)
    assert np.allclose(threads.poses["block"][1], placed)
    threads.reset(q={"PSM": Q}, poses={"block": [0.03, 0.0, -0.1549, 1.0, 0.0, 0.0, 0.0]})


def test_a_reset_clears_the_memory_of_the_masked_worlds_alone(scene: Scene, threads: batch.SceneBatch) -> None:
    scene.reset()
    fresh = batch.SceneBatch(scene, 3)
    for worlds in (fresh, threads):
        worlds.servo("PSM", Q)
        worlds.reset(q={"PSM": Q})
    for name in MEMORY:
        getattr(threads.worlds, name)[...] = 0.7
    threads.reset([False, True, False])
    for name in MEMORY:
        rows = getattr(threads.worlds, name)
        assert np.allclose(rows[1], getattr(fresh.worlds, name)[1], rtol=0.0, atol=1e-15), name
        assert (rows[[0, 2]] == 0.7).all(), name


def test_a_world_beyond_a_joint_stop_is_named(threads: batch.SceneBatch) -> None:
    threads.reset()
    threads.servo("PSM", Q)
    arm = threads.layout.arms["PSM"]
    pulled = Q.copy()
    pulled[2] = arm.upper[2] + 0.1
    threads.worlds.qpos[2, slice(*arm.q)] = arm.E @ pulled
    with pytest.raises(batch.WorldError, match="1 of 3 worlds were pushed through a joint stop: 2"):
        threads.step()
    assert threads.status.tolist()[:2] == [0, 0]
    assert threads.status[2] & BEYOND_STOP
    threads.reset(threads.status != 0)
    assert not threads.status.any()


def test_an_object_between_both_fingers_is_held(threads: batch.SceneBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bits of touching parts of three worlds: one finger, both, and both with the wrist; the other object is free."""
    parts = np.zeros((3, 1, 2), dtype=np.int32)
    parts[:, 0, list(threads.layout.objects).index("block")] = [1, 3, 7]
    monkeypatch.setattr(threads.worlds, "touch", lambda: parts)
    assert threads.held("PSM", "block").tolist() == [False, True, True]
    assert not threads.held("PSM", "plate").any()


def test_a_snapshot_holds_modes_gains_and_laws(scene: Scene, threads: batch.SceneBatch) -> None:
    """Commands of other kinds after a snapshot do not change how it goes on."""
    model, moved = scene.arms["PSM"].mechanism, Q + 0.05
    threads.tune("PSM", kp=0.5)
    commands = (
        lambda: threads.servo("PSM", moved),
        lambda: threads.pd("PSM", moved, GAINS, 0.1 * GAINS),
        lambda: threads.computed_torque("PSM", model, moved, kp=225.0, kd=30.0),
    )
    for command in commands:
        threads.reset(q={"PSM": Q})
        command()
        threads.step(5)
        saved = threads.snapshot()
        threads.step(20)
        expected = threads.q["PSM"].copy()
        for other in (*commands, lambda: threads.apply("PSM", np.zeros(7)), lambda: threads.tune("PSM")):
            other()
            threads.step(2)
        threads.restore(saved)
        threads.step(20)
        assert np.array_equal(threads.q["PSM"], expected)
    threads.tune("PSM")
    with pytest.raises(TrocarError, match="that of another batch"):
        batch.SceneBatch(scene, 2).restore(saved)
    with pytest.raises(TrocarError, match="a snapshot of this batch"):
        threads.restore(None)
    same, mass = batch.SceneBatch(scene, threads.n), scene.model.body_mass
    same.restore(saved)
    same.step(20)
    assert np.array_equal(same.q["PSM"], expected)
    for factors in ([1.1] * 3, [1.0, 1.0, 1.1]):
        other = batch.SceneBatch(scene, threads.n, fields={"body_mass": np.outer(factors, mass)})
        with pytest.raises(TrocarError, match="of a batch with other parameters"):
            other.restore(saved)


@pytest.mark.parametrize("value", [1e300, -1e10, np.inf, np.nan])
def test_a_command_is_a_number_that_an_arm_could_mean(threads: batch.SceneBatch, value: float) -> None:
    with pytest.raises(TrocarError, match=r"^q of PSM must be finite and at most 1e\+09, got"):
        threads.servo("PSM", np.full(7, value))


def test_a_refused_command_leaves_the_controllers_as_they_are(scene: Scene, threads: batch.SceneBatch) -> None:
    model, waves = scene.arms["PSM"].mechanism, Waves(Q, Q, Q, Q, ramp=0.0)
    refused = (
        lambda: threads.pd("PSM", np.full(7, np.nan), GAINS, GAINS),
        lambda: threads.computed_torque("PSM", model, np.zeros(6), kp=225.0, kd=30.0),
        lambda: threads.computed_torque("PSM", model, Q, kp=225.0, kd=30.0, effort=np.zeros(3)),
        lambda: threads.follow_waves("PSM", model, waves, kp=225.0, kd=30.0),
        lambda: threads.reset(q={"PSM": Q}, poses={"plate": [0, 0, -0.2, 1, 0, 0, 0], "block": np.zeros(7)}),
    )
    ends = []
    for calls in ((), refused):
        threads.reset(q={"PSM": Q})
        threads.servo("PSM", Q + 0.05)
        for call in calls:
            with pytest.raises(TrocarError):
                call()
        threads.step(20)
        ends.append((threads.q["PSM"].copy(), threads.poses["block"].copy()))
    assert np.array_equal(ends[0][0], ends[1][0])
    assert np.array_equal(ends[0][1], ends[1][1])


def test_the_observer_of_an_arm_rests_while_its_servo_is_off() -> None:
    """Efforts of one arm do not move the disturbance observers of the other, whose servo starts afterwards."""
    bases = {"left": pose(p=[-0.3, 0.0, 0.0]), "right": pose(p=[0.3, 0.0, 0.0])}
    arms = {name: SceneArm(arm="PSM_Si", base=base, q=Q, friction=False) for name, base in bases.items()}
    worlds = batch.SceneBatch(Scene(arms), 1)
    worlds.servo("left", Q)
    worlds.apply("right", np.array([0.3, 0.2, 1.0, 0.0, 0.0, 0.0, 0.0]))
    worlds.step(20)
    right = worlds.worlds.table.columns["right"]
    assert np.abs(worlds.worlds.observer[:, : right.start]).max() > 0.0
    assert not worlds.worlds.observer[:, right].any()
    assert not worlds.worlds.explained[:, right].any()


def test_worlds_have_the_parameters_of_their_scenes(scene: Scene) -> None:
    samples = DrawnParameters(scene.arms["PSM"].mechanism)
    drawn = samples.parameters(samples.draw(1.0, 3)[0])
    scene.reset()
    light = scene.changed({"PSM": {"parameters": drawn}})
    worlds = batch.SceneBatch([scene, light], 3)
    worlds.apply("PSM", np.zeros(7))
    worlds.step(20)
    q = worlds.q["PSM"]
    assert np.array_equal(q[0], q[2])
    light.reset()
    for _ in range(20):
        light.step({"PSM": np.zeros(7)})
    assert np.allclose(q[1], light.arms["PSM"].q, rtol=0.0, atol=1e-12)
    assert np.abs(q[0] - q[1]).max() > 1e-6
    heavy = np.repeat(scene.model.body_mass[None], 2, axis=0)
    heavy[1] *= 1.5
    own = batch.SceneBatch(scene, 2, fields={"body_mass": heavy})
    own.apply("PSM", np.zeros(7))
    own.step(20)
    assert np.abs(np.diff(own.q["PSM"], axis=0)).max() > 1e-5


def test_products_of_a_world_do_not_depend_on_the_other_worlds() -> None:
    rng = np.random.default_rng(0)
    matrix, rows = rng.normal(size=(7, 24)), rng.normal(size=(17, 24))
    alone = np.concatenate([each_row(matrix, row[None]) for row in rows])
    for n in range(1, len(rows) + 1):
        assert np.array_equal(each_row(matrix, rows[:n]), alone[:n])
    assert np.allclose(alone, rows @ matrix.T, rtol=0.0, atol=1e-13)


def test_failed_worlds_are_named(threads: batch.SceneBatch) -> None:
    threads.reset()
    efforts = np.zeros((3, 7))
    efforts[1] = 1e6
    threads.apply("PSM", efforts)
    with pytest.raises(batch.WorldError, match=r"1 of 3 worlds .*: 1; ") as error:
        threads.step(50)
    assert error.value.worlds.tolist() == [1]
    threads.reset(threads.status != 0)
    assert not threads.status.any()
    efforts[1] = 1e11  # MuJoCo would replace it by zero
    with pytest.raises(TrocarError, match="efforts of PSM must be finite and at most"):
        threads.apply("PSM", efforts)
    efforts[1] = 1e9
    threads.apply("PSM", efforts)
    with pytest.raises(batch.WorldError, match=r"1 of 3 worlds diverged: 1; "):
        threads.step()
    threads.reset()
    threads.servo("PSM", Q)
    threads.worlds.qpos[2, 0] = np.nan
    with pytest.raises(batch.WorldError, match=r"1 of 3 worlds diverged.*: 2; "):
        threads.step(3)
    threads.reset()
    threads.servo("PSM", Q)
    threads.step(3)
    assert np.array_equal(threads.q["PSM"][0], threads.q["PSM"][2])


def test_contact_forces_and_layouts_without_a_scene(scene: Scene) -> None:
    scene.reset()
    worlds = batch.SceneBatch(pickle.loads(pickle.dumps(SceneLayout.of(scene))), 1)
    worlds.apply("PSM", scene.arms["PSM"].mechanism.gravity(Q) + [0, 0, 6.0, 0, 0, 0, 0])
    worlds.step(300, check=False)
    forces = worlds.contact_forces()["PSM"]
    assert forces[0, 2] > 1.0  # the plate pushes the instrument up
    assert not worlds.held("PSM", "block").any()


def test_given_efforts_run_with_a_free_object() -> None:
    block = Solid("block", Box((0.0, 0.0, 0.0), (0.01, 0.01, 0.01)), pose(p=[0.2, 0.0, -0.1]), mass=0.002)
    rollouts = batch.SceneRollouts(tr.Simulator("PSM", "wang2019", objects=[block]))
    state, _ = rollouts.rollout(rollouts.state(np.tile(Q[:, None], 2)), np.zeros((5, 7)))
    assert np.isfinite(state.rows).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: batch.SceneBatch(tr.Simulator("MTML"), 2), "outside MuJoCo's model"),
        (lambda s: batch.SceneBatch(tr.Simulator("PSM", accuracy="exact"), 2), "accuracy"),
        (lambda s: batch.SceneBatch(s, 0), "n must be"),
        (lambda s: batch.SceneBatch(s, 2, backend="cuda"), "Known: threads, warp"),
        (lambda s: batch.SceneBatch(s, 2, device="cpu"), "belongs to backend='warp'"),
        (lambda s: batch.SceneBatch(s, 2, fields={"body_mass": np.ones(3)}), "body_mass"),
        (lambda s: batch.SceneBatch(s, 2, fields={"body_massss": np.ones(3)}), "Did you mean 'body_mass'"),
        (lambda s: batch.SceneBatch(s, 2, fields={"opt.timestep": np.ones(2)}), "opt.timestep' is unknown"),
        (lambda s: batch.SceneBatch(s, 2, max_contacts=3), "belongs to backend='warp'"),
        (lambda s: batch.SceneBatch(s, 2, threads=0), "threads must be"),
        (lambda s: batch.SceneBatch("PSM", 2), "a Scene, a Simulator"),
        (lambda s: batch.SceneBatch([s, s.rebuilt({"PSM": {"parameters": "wang2019"}})], 2), "Dahl elements"),
    ],
)
def test_bad_batches_are_refused(scene: Scene, call: object, words: str) -> None:
    with pytest.raises(TrocarError, match=words):
        call(scene)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda b: b.reset([0, 2, 1]), r"mask must be booleans of shape \(3,\)"),
        (lambda b: b.reset([True, False]), r"mask must be booleans of shape \(3,\)"),
        (lambda b: b.reset(q={"PSM2": Q}), "arm of the scenes 'PSM2'"),
        (lambda b: b.reset(q={"PSM": Q + [0, 0, 5, 0, 0, 0, 0]}), "q of PSM, joint 3 of world 0, must be from"),
        (lambda b: b.reset(dq={"PSM": np.full(7, np.nan)}), "dq of PSM must be finite"),
        (lambda b: b.reset(poses={"block": np.zeros(7)}), "unit quaternion"),
        (lambda b: b.reset(poses={"blok": np.zeros(7)}), "Did you mean 'block'"),
        (lambda b: b.apply("PSM", np.zeros((2, 7))), r"efforts of PSM must have shape \(7,\) or \(3, 7\)"),
        (lambda b: b.servo("PSM", None), "q of PSM must be an array of numbers"),
        (lambda b: b.computed_torque("PSM", "wang2019", Q, kp=1.0, kd=1.0), "a Mechanism or a TorqueLaw"),
        (lambda b: b.follow_waves("PSM", None, Q, kp=1.0, kd=1.0), "waves must be Waves"),
        (lambda b: b.step(0), "steps must be"),
        (lambda b: b.held("PSM", "needle"), "object of the scenes 'needle'"),
    ],
)
def test_bad_values_are_refused(threads: batch.SceneBatch, call: object, words: str) -> None:
    with pytest.raises(TrocarError, match=words):
        call(threads)  # type: ignore[operator]


@needs_warp
def test_warp_agrees_with_the_engine(
    scene: Scene, threads: batch.SceneBatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Positions after 60 steps of the servo within 1e-6; failures named as on threads; no lines about kernels."""
    scene.reset()
    warp = batch.SceneBatch(scene, 3, backend="warp", device="cpu")
    for worlds in (warp, threads):
        worlds.reset()
        worlds.servo("PSM", Q + 0.05)
        worlds.step(60)
    assert np.allclose(warp.numpy(warp.q["PSM"]), threads.q["PSM"], rtol=0.0, atol=1e-6)
    assert np.allclose(warp.numpy(warp.poses["block"]), threads.poses["block"], rtol=0.0, atol=1e-6)
    warp.apply("PSM", np.array([np.zeros(7), np.full(7, 1e6), np.zeros(7)]))
    with pytest.raises(batch.WorldError, match="1 of 3 worlds"):
        warp.step(50)
    warp.reset(warp.status != 0)
    for worlds in (warp, threads):  # the diverged world starts again as the others
        worlds.reset()
        for _ in range(3):
            worlds.tip_increments("PSM", [4e-4, -3e-4, 2e-4, 0.01, 0.02, -0.01, 0.05], 0.02)
            worlds.step(20)
    assert np.allclose(warp.numpy(warp.commanded["PSM"]), threads.commanded["PSM"], rtol=0.0, atol=2e-6)
    assert np.allclose(warp.numpy(warp.q["PSM"]), threads.q["PSM"], rtol=0.0, atol=5e-6)
    for worlds in (warp, threads):
        worlds.reset()
        model = tr.load_mechanism("PSM", "wang2019")
        worlds.computed_torque("PSM", model, Q, np.full(7, 0.1), kp=225.0, kd=30.0, friction=True)
        worlds.step(60)
    assert np.allclose(warp.numpy(warp.q["PSM"]), threads.q["PSM"], rtol=0.0, atol=1e-5)
    import torch

    for odd in (torch.zeros(2, 7), torch.zeros(7)):
        with pytest.raises(TrocarError, match=r"increments of PSM must have shape \(3, 7\)"):
            warp.tip_increments("PSM", odd, 0.02)
    warp.reset(q={"PSM": Q})
    warp.apply("PSM", scene.arms["PSM"].mechanism.gravity(Q) + [0, 0, 6.0, 0, 0, 0, 0])
    warp.step(300, check=False)
    touched = warp.numpy(warp.worlds.touch())
    assert touched.any(axis=(1, 2)).all()  # the instrument presses on the plate
    warp.reset([True, False, False])
    assert not warp.numpy(warp.worlds.touch())[0].any()
    assert np.array_equal(warp.numpy(warp.worlds.touch())[1:], touched[1:])
    warp.servo("PSM", Q)
    saved = warp.snapshot()
    warp.step(3)
    expected = warp.numpy(warp.q["PSM"])
    warp.pd("PSM", Q, GAINS, GAINS)
    warp.step(2)
    warp.restore(saved)
    warp.step(3)
    assert np.array_equal(warp.numpy(warp.q["PSM"]), expected)
    small = batch.SceneBatch(scene, 2, backend="warp", device="cpu", max_constraints=4)  # loops have 8
    with pytest.raises(batch.WorldError, match="constraint rows"):
        small.step(2)
    assert "Module" not in capfd.readouterr().out


@needs_warp
def test_a_missing_gpu_is_named(scene: Scene) -> None:
    import warp

    if warp.is_cuda_available():
        pytest.skip("there is a GPU")
    with pytest.raises(TrocarError, match="no NVIDIA GPU"):
        batch.SceneBatch(scene, 2, backend="warp")


@needs_warp
def test_commands_of_device_arrays_stay_there(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors as commands act as NumPy's arrays do, and no command reads numbers on the host."""
    import torch

    from trocar.batch import scenes

    scene.reset()
    gravity = scene.arms["PSM"].mechanism.gravity(Q)
    commands = {
        "servo": lambda worlds, of: worlds.servo("PSM", of(Q + 0.02), of(np.full(7, 0.01))),
        "apply": lambda worlds, of: worlds.apply("PSM", of(gravity), limited=True),
        "tips": lambda worlds, of: worlds.tip_increments("PSM", of(np.full(7, 1e-4)), 0.02),
    }
    worlds = batch.SceneBatch(scene, 3, backend="warp", device="cpu")

    def ends(of: object) -> list[object]:
        after = []
        for command in commands.values():
            worlds.reset()
            command(worlds, of)
            worlds.step(20)
            after.append(worlds.numpy(worlds.q["PSM"]))
        return after

    expected = ends(lambda rows: np.tile(rows, (3, 1)))

    def on_host(*_: object, **__: object) -> None:
        raise AssertionError("a command was read on the host")

    monkeypatch.setattr(scenes, "world_rows", on_host)
    for moved, there in zip(
        ends(lambda rows: torch.tensor(np.tile(rows, (3, 1)), dtype=torch.float32)), expected, strict=True
    ):
        assert np.allclose(moved, there, rtol=0.0, atol=2e-6)


@needs_warp
def test_deterministic_worlds_have_the_same_bits_twice(scene: Scene) -> None:
    """MuJoCo Warp gets all its switches; without the option none."""
    import mujoco_warp

    scene.reset()
    ends = []
    for _ in range(2):
        worlds = batch.SceneBatch(scene, 2, backend="warp", device="cpu", deterministic=True)
        assert worlds.worlds.m.opt.deterministic == int(mujoco_warp.DeterminismType.ALL)
        worlds.apply("PSM", scene.arms["PSM"].mechanism.gravity(Q) + [0, 0, 6.0, 0, 0, 0, 0])
        worlds.step(150)
        ends.append(worlds.numpy(worlds.q["PSM"]).tobytes())
    assert ends[0] == ends[1]
