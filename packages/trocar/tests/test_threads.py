"""Many threads share one mechanism: results are bit-identical to those of serial calls."""

import pickle
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import trocar as tr
from trocar.appearance import Picture, StereoEndoscope
from trocar.appearance.endoscope_camera import CameraView
from trocar.appearance.lens import Lens
from trocar.simulation.objects.solid import Sphere
from trocar.simulation.planning.collision import CollisionScene

THREADS, CALLS = 16, 60


@pytest.fixture(autouse=True)
def hurried() -> Iterator[None]:
    """Switch threads as often as Python can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def queries(mech: tr.Mechanism) -> dict[str, Callable[[np.ndarray, np.ndarray], object]]:
    """Every query that takes one state, by name."""
    return {
        "forward_kinematics": lambda q, dq: mech.forward_kinematics(q),
        "jacobian": lambda q, dq: mech.jacobian(q),
        "inverse_kinematics": lambda q, dq: mech.inverse_kinematics(mech.forward_kinematics(q), q),
        "mass_matrix": lambda q, dq: mech.mass_matrix(q),
        "gravity": lambda q, dq: mech.gravity(q),
        "terms": lambda q, dq: np.concatenate([x.ravel() for x in mech.terms(q, dq)]),
        "friction": lambda q, dq: mech.friction(q, dq),
        "inverse_dynamics": lambda q, dq: mech.inverse_dynamics(q, dq, dq, friction=True),
        "inverse_dynamics_derivatives": lambda q, dq: mech.inverse_dynamics_derivatives(q, dq, dq),
        "forward_dynamics": lambda q, dq: mech.forward_dynamics(q, dq, dq, friction=True),
        "regressor": lambda q, dq: mech.regressor(q, dq, dq),
        "potential_energy": lambda q, dq: mech.potential_energy(q),
    }


@pytest.mark.parametrize("name", ["PSM", "ECM", "PSM_Si"])
def test_results_are_bit_identical_in_several_threads(name: str) -> None:
    mech = tr.load_mechanism(name)
    rng = np.random.default_rng(0)
    arm = mech.arm
    q = rng.uniform(0.8 * arm.lower + 0.2 * arm.upper, 0.2 * arm.lower + 0.8 * arm.upper, (CALLS, arm.n))
    dq = rng.normal(size=q.shape)
    work = [(query, k) for query in queries(mech) for k in range(CALLS)]

    def answer(item: tuple[str, int]) -> object:
        query, k = item
        return queries(mech)[query](q[k], dq[k])

    expected = [answer(item) for item in work]
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(answer, work))
    wrong = [item for item, a, b in zip(work, found, expected, strict=True) if not np.array_equal(a, b)]
    assert not wrong


def test_returned_arrays_are_copies() -> None:
    mech = tr.load_mechanism("PSM")
    q, dq = np.array(mech.arm.home), np.ones(7)
    for name, query in queries(mech).items():
        first = np.asarray(query(q, dq))
        kept = first.copy()
        if first.flags.writeable:
            first[...] = np.nan
        np.testing.assert_array_equal(query(q, dq), kept, err_msg=name)
    for name in ("parameter_vector", "effort_bias", "gravity_vector"):
        assert not getattr(mech, name).flags.writeable, name


def test_a_mechanism_can_be_sent_to_another_process() -> None:
    mech = tr.load_mechanism("PSM")
    mech.gravity(np.zeros(7))
    again = pickle.loads(pickle.dumps(mech))
    np.testing.assert_array_equal(again.gravity(np.ones(7)), mech.gravity(np.ones(7)))
    np.testing.assert_array_equal(again.forward_kinematics(np.ones(7)), mech.forward_kinematics(np.ones(7)))


def test_threads_share_a_collision_scene() -> None:
    arm = tr.load_arm("PSM")
    scene = CollisionScene(arm, {"ball": Sphere((0.05, 0.0, -0.1), 0.03)})
    q = np.random.default_rng(0).uniform(arm.lower, arm.upper, (400, 7))

    def answer(k: int) -> tuple[float, bool]:
        return scene.clearance(q[k]).distance, scene.collides(q[k], margin=0.01 * (k % 3))

    expected = [answer(k) for k in range(len(q))]
    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(answer, range(len(q)))) == expected


def test_every_thread_can_draw() -> None:
    sim = tr.Simulator("ECM")
    sim.reset(sim.arm.home)
    expected = tr.render(sim, size=(64, 48))
    with ThreadPoolExecutor(3) as pool:
        pictures = list(pool.map(lambda _: tr.render(sim, size=(64, 48)), range(6)))
    for picture in pictures:
        np.testing.assert_array_equal(picture, expected)


def test_every_thread_can_look_through_one_endoscope() -> None:
    endoscope = StereoEndoscope(tr.Simulator("ECM").scene, lens=Lens.of_view(1.0, 64, 48))
    expected = endoscope.view("left")
    left, right = endoscope.pair()

    def looked(_: int) -> tuple[CameraView, tuple[Picture, Picture]]:
        return endoscope.view("left"), endoscope.pair()

    with ThreadPoolExecutor(3) as pool:
        for view, pair in pool.map(looked, range(6)):
            for name in ("rgb", "depth", "segmentation"):
                np.testing.assert_array_equal(getattr(view, name), getattr(expected, name))
            np.testing.assert_array_equal(pair, (left, right))
