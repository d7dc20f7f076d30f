"""The clients have a method for every row of the interface table, written by the generator."""

import inspect

import numpy as np
import pytest

from tools import client_rows
from trocar.robot import interface
from trocar.robot import messages as m
from trocar.robot.clients import devices, rows
from trocar.robot.clients.device import DeviceClient
from trocar.robot.clients.methods import methods
from trocar.robot.interface import INTERFACES, SIMULATED_ARM, SIMULATION, Direction, Interface, Service, Topic

CLIENTS = {
    "ARM": devices.ArmClient,
    "PSM": devices.PSMClient,
    "ECM": devices.ECMClient,
    "MTM": devices.MTMClient,
    "SUJ": devices.SUJClient,
    "SUJ_ARM": devices.SetUpArmClient,
    "SYSTEM": devices.SystemClient,
    "CONSOLE": devices.ConsoleClient,
    "TELEOP_PSM": devices.TeleopPSMClient,
    "TELEOP_ECM": devices.TeleopECMClient,
    "SIMULATION": devices.SimulationClient,
    "SIMULATED_ARM": devices.ArmSimulationClient,
}
UNREAD = (m.Empty, m.IntervalStatistics)  # messages that no getter returns


class FakeRobot:
    """Remembers commands and calls; every topic holds one message."""

    def __init__(self, message=None):
        self.bus, self.now, self.message, self.log = self, 1, message, []

    def publish(self, name, message):
        self.log.append((name, message))

    def call(self, name, *arguments):
        self.log.append((name, *arguments))
        return m.KinematicsResult(np.zeros(2), True, "fine")

    def read(self, name):
        return self.message

    def check_running(self):
        pass

    def wait_for(self, condition, timeout):
        return condition()


def test_the_committed_methods_are_those_of_the_table():
    assert client_rows.ROWS.read_text(encoding="utf-8") == client_rows.source()


def test_a_method_has_source_code_of_its_own():
    source = inspect.getsource(devices.PSMClient.move_jp)
    assert source.splitlines()[0] == "    def move_jp(self, setpoint: ArrayLike) -> MoveHandle:"
    assert devices.PSMClient.row("move_jp").first[0] == "move_jp"
    assert devices.PSMClient.row("insert_jp") is None


@pytest.mark.parametrize("kind", CLIENTS)
def test_every_row_of_the_table_has_a_method(kind):
    client = CLIENTS[kind]
    table = {**INTERFACES, "SIMULATION": SIMULATION, "SIMULATED_ARM": SIMULATED_ARM}[kind]
    unread = {t.name for t in table.topics if t.message in UNREAD and t.direction is not Direction.command}
    for row in (*table.topics, *table.services):
        space, _, end = row.name.rpartition("/")
        owner, name = (client.parts[space], end) if space in client.parts else (client, row.name.replace("/", "_"))
        there = hasattr(owner, name) or hasattr(client, row.name.replace("/", "_"))
        assert there is (row.name not in unread), row.name


def test_every_client_of_the_table_is_tested():
    generated = {kind for kind, client in vars(devices).items() if inspect.isclass(client) and kind.endswith("Client")}
    parts = {"JawClient", "GripperClient"}
    assert generated - parts == {client.__name__ for client in CLIENTS.values()}


def test_a_new_row_is_a_method_with_its_namespace_type_and_time(monkeypatch):
    table = Interface(
        (
            Topic("torch/measured_cp", m.Pose, Direction.state, "geometry_msgs/PoseStamped"),
            Topic("torch/brightness", m.Float, Direction.event, "std_msgs/Float64"),
            Topic("torch/set_brightness", m.Float, Direction.command, "std_msgs/Float64"),
            Topic("aim/servo_jf", m.JointState, Direction.command, "sensor_msgs/JointState"),
        ),
        (Service("aim/inverse_kinematics", "crtk_msgs/QueryInverseKinematics"),),
    )

    monkeypatch.setattr(interface, "LAMP", table, raising=False)
    namespace = vars(rows).copy()
    exec(client_rows.class_source("LampRows", client_rows.Rows("LAMP")), namespace)

    class Lamp(namespace["LampRows"]):
        default_name = "lamp"

    robot = FakeRobot(m.Pose(T=np.eye(4), stamp=2_000_000_000))
    lamp = Lamp(robot)
    T, time = lamp.torch_measured_cp()
    assert time == 2.0
    np.testing.assert_array_equal(T, np.eye(4))
    lamp.torch_set_brightness(brightness=3)
    lamp.aim_servo_jf([1, 2])
    robot.message = m.Float(value=0.5, stamp=1)
    assert lamp.torch_brightness() == lamp.torch_get_brightness() == 0.5
    assert lamp.aim_inverse_kinematics([0.0], np.eye(4), extra=True)[1:] == (True, "fine")
    assert lamp.aim_inverse_kinematics([0.0], np.eye(4)).shape == (2,)
    (brightness_topic, brightness), (effort_topic, efforts), *calls = robot.log
    assert (brightness_topic, brightness.value) == ("lamp/torch/set_brightness", 3.0)
    assert effort_topic == "lamp/aim/servo_jf"
    np.testing.assert_array_equal(efforts.effort, [1.0, 2.0])
    assert efforts.position.size == 0
    assert [call[0] for call in calls] == ["lamp/aim/inverse_kinematics"] * 2
    with pytest.raises(TypeError, match=r"torch_set_brightness\(\) missing 1 required positional argument"):
        lamp.torch_set_brightness()
    with pytest.raises(TypeError, match="DeviceClient needs the name of a device"):
        DeviceClient(robot)


def test_a_getter_without_valid_data_raises_after_its_time_out():
    arm_rows = [method for method in methods(INTERFACES["SYSTEM"]) if method.name == "volume"]
    assert [method.doc for method in arm_rows] == ["Last value of volume."]
    with pytest.raises(TimeoutError, match="no valid data on system/volume within 1 s"):
        devices.SystemClient(FakeRobot()).volume()
