"""Tissue, needle and thread under a live robot and under `simulate`."""

import numpy as np
import pytest

from trocar.control import ComputedTorque
from trocar.control.trajectories import quintic
from trocar.robot import Robot
from trocar.robot.controller.constants import PERIOD
from trocar.simulation import Thread, simulate
from trocar.simulation.skills import Hands, bite, suture_scene
from trocar.teleoperation.devices import training_scene

ARM = "PSM1"


@pytest.fixture(scope="module")
def pierced():
    """A scene with the needle half way through the tissue, and its state."""
    thread = Thread("thread", "needle", length=0.03, segments=4)
    scene = suture_scene(timestep=PERIOD, thread=thread)
    hands = Hands(scene)
    hands.close(ARM, 0.12, 0.2)
    bite(hands, ARM, angle=np.radians(90.0), rate=np.radians(100.0))
    assert scene.objects["tissue"].forces[0].kind == "cut"
    return scene, scene.snapshot()


def test_a_live_robot_runs_the_process_of_tissue_and_shows_its_forces(pierced):
    scene, state = pierced
    scene.restore(state)
    tissue = scene.objects["tissue"]
    before = [point.force for point in tissue.forces]
    robot = Robot(scene, start="ready", speed="fast")
    robot.run(0.02)
    points = tissue.forces
    assert len(points) >= len(before)
    assert not np.array_equal(points[0].force, before[0])  # read after every step
    frame = robot.simulation().frame()
    for point in points:
        assert any(np.array_equal(force, point.force) for force in frame.contacts[:, 1])
    places = frame.contacts[-len(points) :, 0]
    np.testing.assert_allclose(places, [tissue.position(point.X) for point in points], atol=1e-12)


def test_simulate_runs_the_process_of_tissue(pierced):
    scene, state = pierced
    scene.restore(state)
    tissue = scene.objects["tissue"]
    before = tissue.forces[0].force
    arm = scene.arms[ARM]
    q = arm.q
    goal = q - 0.3 * np.eye(len(q))[3]  # the roll drives the needle on
    law = ComputedTorque(arm.mechanism, 6400.0, 160.0, friction=True)
    reference = quintic(q, goal, 0.05)
    start = scene.time
    simulate(scene, {ARM: law}, {ARM: lambda t: reference(t - start)}, 0.05)
    assert not np.array_equal(tissue.forces[0].force, before)
    assert np.linalg.norm(tissue.force) > 0.05


def test_the_task_of_suturing_has_a_needle_at_rest_on_a_tray():
    robot = Robot(training_scene(("PSM1", "PSM2"), "suture"), start="ready", speed="fast")
    start = robot.scene.objects["needle"].pose
    robot.run(0.1)
    scene = robot.scene
    assert set(scene.arms) == {"PSM1", "PSM2", "ECM"}
    np.testing.assert_allclose(scene.objects["needle"].pose, start, atol=1e-4)
    touching = {part.name for contact in scene.touching() for part in (contact.first, contact.second)}
    assert {"needle", "tray"} <= touching
    assert scene.unconverged == 0
