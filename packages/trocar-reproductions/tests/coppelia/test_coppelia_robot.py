"""A live robot for clients of CoppeliaSim: its arms move under their own controllers, and other windows see it."""

import struct

import numpy as np
import pytest

from tools.coppelia.client import RemoteApiClient, RemoteError
from trocar.errors import TrocarError
from trocar.robot import Robot
from trocar_reproductions.coppelia.robot_scene import JointTargets, RobotScene
from trocar_reproductions.coppelia.server import RemoteApiServer


@pytest.fixture
def served():
    """Robot, scene, and a synchronous client with the simulation started."""
    robot = Robot("psm", start="ready", speed="stepped")
    scene = RobotScene(robot)
    with RemoteApiServer(scene, 0, lambda line: None) as server, RemoteApiClient(server.port) as client:
        client.synchronous()
        client.start()
        yield robot, scene, client
    scene.close()


def command(client, number, handle, value):
    client.call(number, struct.pack("<i", handle), struct.pack("<f", value))


def test_a_joint_moves_to_its_target_and_other_windows_see_it(served):
    robot, _, client = served
    joints = [client.handle(f"J{k + 1}_PSM") for k in range(7)]
    before = np.array([client.joint_position(joint) for joint in joints])
    frames = []
    robot.bus.subscribe("PSM/measured_js", frames.append)
    command(client, 0x100C, joints[0], before[0] + 0.05)
    command(client, 0x1008, joints[3], 0.5)
    command(client, 0x100C, joints[6], before[6] + 0.1)
    for _ in range(30):
        client.trigger()
    moved = np.array([client.joint_position(joint) for joint in joints]) - before
    np.testing.assert_allclose(moved, [0.05, 0.0, 0.0, 0.15, 0.0, 0.0, 0.1], atol=0.02)
    assert len(frames) == 31  # the sample of before, and one per step
    np.testing.assert_allclose(frames[-1].position[:6], (before + moved)[:6], atol=1e-3)
    frame = robot.simulation().frame()
    np.testing.assert_allclose(frame.arms["PSM"].q, before + moved, atol=1e-6)
    force = struct.unpack("<f", client.call(0x100D, struct.pack("<i", joints[2])))[0]
    assert force == pytest.approx(-frame.arms["PSM"].tau[2], rel=1e-5)
    T = frame.scene.arms["PSM"].T_world_base @ frame.arms["PSM"].T_tip
    np.testing.assert_allclose(client.position(client.handle("Tip_PSM")), T[:3, 3], atol=1e-6)
    base = client.handle("RCM_PSM")
    np.testing.assert_allclose(
        client.position(client.handle("Tip_PSM"), base), frame.arms["PSM"].T_tip[:3, 3], atol=1e-6
    )


def test_an_instrument_has_the_names_of_the_dvrks_scenes_for_vrep():
    robot = Robot("dvrk", arms=["PSM1"], start="ready", speed="stepped")
    scene = RobotScene(robot)
    with RemoteApiServer(scene, 0, lambda line: None) as server, RemoteApiClient(server.port) as client:
        client.synchronous()
        client.start()
        for k, target in ((4, 0.2), (5, -0.1), (6, 0.15), (7, 0.4)):
            command(client, 0x100C, client.handle(f"J{k}_PSM1"), target)
        for _ in range(100):
            client.trigger()
        roll, pitch, dx, sx = (client.joint_position(client.handle(f"J{k}_TOOL1")) for k in ("1", "2", "3_dx", "3_sx"))
        # ucsdarclab/dVRL, ArmPSM.getJointAngles: yaw and jaw from both fingers
        measured = [roll, pitch, 0.5 * (dx - sx), dx + sx]
        np.testing.assert_allclose(measured, [0.2, -0.1, 0.15, 0.4], atol=0.01)
        tip = client.position(client.handle("Tip_PSM1"))
        for name in ("EE_virtual_TOOL1", "J3_dx_tip_TOOL1", "J3_sx_tip_TOOL1", "IK_target_dx_PSM1"):
            np.testing.assert_array_equal(client.position(client.handle(name)), tip)
        target = client.handle("IK_target_sx_PSM1")
        client.call(0x101B, struct.pack("<i", target), struct.pack("<i3f", -1, 1.0, 2.0, 3.0))
        np.testing.assert_array_equal(client.position(target), [1.0, 2.0, 3.0])
        with pytest.raises(RemoteError):
            command(client, 0x100C, client.handle("J3_dx_TOOL1"), 0.1)
    assert scene.names[scene.parents[client_handle(scene, "J2_TOOL1")]] == "J1_TOOL1"
    assert scene.parents[client_handle(scene, "RCM_PSM1")] == -1
    scene.close()


def client_handle(scene, name):
    return next(handle for handle, one in scene.names.items() if one == name)


def test_stopping_resets_the_robot_and_the_next_run_has_the_same_bits(served):
    _, _, client = served
    joint = client.handle("J2_PSM")

    def run():
        client.synchronous()
        client.start()
        command(client, 0x1008, joint, 0.3)
        positions = []
        for _ in range(10):
            client.trigger()
            positions.append(client.joint_position(joint))
        client.stop()
        return positions

    first = run()
    start = client.joint_position(joint)
    assert first[-1] - start > 0.01
    assert run() == first
    assert client.joint_position(joint) == start


def test_a_joint_can_be_placed(served):
    robot, _, client = served
    joint = client.handle("J3_PSM")
    command(client, 0x1002, joint, 0.13)
    assert client.joint_position(joint) == pytest.approx(0.13, abs=1e-6)
    client.trigger()
    assert robot.simulation().frame().arms["PSM"].q[2] == pytest.approx(0.13, abs=1e-3)


def test_the_velocity_of_the_tip_is_that_of_its_position(served):
    _, scene, client = served
    command(client, 0x1008, client.handle("J1_PSM"), 0.5)
    for _ in range(10):
        client.trigger()
    client.ping()
    tip = scene.handle("Tip_PSM")
    before, v = scene.pose(tip), scene.velocity(tip)
    client.trigger()
    client.ping()
    np.testing.assert_allclose((scene.pose(tip) - before)[:3, 3] / 0.01, 0.5 * (v + scene.velocity(tip))[:3], atol=2e-3)


@pytest.mark.parametrize(
    ("number", "name", "data"),
    [
        (0x100E, "J1_PSM", struct.pack("<f", 1.0)),
        (0x101B, "Tip_PSM", struct.pack("<i3f", -1, 0, 0, 0)),
        (0x1004, "Tip_PSM", b""),
        (0x1004, "J1_PSM", b""),
        (0x1001, "RCM_PSM", b""),
    ],
)
def test_commands_that_a_robot_does_not_have_are_errors(served, number, name, data):
    _, _, client = served
    with pytest.raises(RemoteError):
        client.call(number, struct.pack("<i", client.handle(name)), data)
    with pytest.raises(RemoteError):
        client.handle("J8_PSM")


def test_set_points_keep_the_speed_and_the_range_of_a_joint():
    targets = JointTargets(np.zeros(3), np.array([1.0, 1.0, 1.0]), np.full(3, -0.5), np.full(3, 0.5))
    targets.position[:] = 0.05, np.nan, np.nan
    targets.velocity[:] = 0.0, 2.0, -0.1
    np.testing.assert_allclose(targets.advance(0.01), [0.01, 0.01, -0.001])
    for _ in range(100):
        targets.advance(0.01)
    np.testing.assert_allclose(targets.q, [0.05, 0.5, -0.101])
    assert targets.moving
    targets.velocity[2] = 0.0
    assert not targets.moving


@pytest.mark.parametrize("period", [0.005, 0.0001, 1.0, np.nan])
def test_the_period_is_a_number_of_control_cycles(period):
    with pytest.raises(TrocarError, match="period"):
        RobotScene(Robot("psm", speed="stepped"), period)
