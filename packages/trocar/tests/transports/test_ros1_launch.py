"""Launch files for RViz are well-formed, and all names in them exist in a served robot."""

import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from xml.etree import ElementTree

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from trocar.cli import app
from trocar.robot.interface import INTERFACES
from trocar.simulation.export.links import ROOT
from trocar.transports.camera import CameraSettings
from trocar.transports.launch import FILES, HERE
from trocar.transports.scene_topics import DESCRIPTION, JOINT_STATES, TF

SERVED = {
    *(f"/PSM1/{topic.name}" for topic in INTERFACES["PSM"].topics),
    *(f"/{topic.name}" for topic in (TF, JOINT_STATES, DESCRIPTION, *CameraSettings("dvrk").topics)),
}


@pytest.fixture
def folder(tmp_path):
    ran = CliRunner().invoke(app, ["serve", "launch-files", str(tmp_path)])
    assert ran.exit_code == 0, ran.output
    assert [Path(line).name for line in ran.output.split()] == list(FILES)
    return tmp_path


def test_the_command_writes_every_file_of_the_package(folder):
    written = {path.name for path in folder.iterdir()}
    assert written == {path.name for path in HERE.iterdir() if path.is_file() and path.name != "__init__.py"}


def values(part):
    """All texts in a configuration."""
    if isinstance(part, dict):
        return [found for value in part.values() for found in values(value)]
    if isinstance(part, list):
        return [found for value in part for found in values(value)]
    return [part] if isinstance(part, str) else []


@pytest.mark.parametrize(("file", "plugins"), [("ros1.rviz", "rviz/"), ("ros2.rviz", "rviz_default_plugins/")])
def test_rviz_shows_served_topics_from_the_root_link_of_the_model(folder, file, plugins):
    view = YAML(typ="safe").load(folder / file)["Visualization Manager"]
    assert view["Global Options"]["Fixed Frame"] == ROOT
    assert all(display["Class"].startswith(plugins) for display in view["Displays"])
    topics = [value for value in values(view["Displays"]) if value.startswith("/")]
    assert topics
    assert set(topics) <= SERVED
    (model,) = (display for display in view["Displays"] if display["Class"].endswith("/RobotModel"))
    assert model.get("Robot Description", "robot_description") == "robot_description"


def test_the_launch_file_of_ros_1_starts_rviz_with_its_configuration(folder):
    launch = ElementTree.parse(folder / "rviz_ros1.launch").getroot()
    assert launch.tag == "launch"
    assert [node.get("pkg") for node in launch.iter("node")] == ["robot_state_publisher", "rviz"]
    (arguments,) = (node.get("args") for node in launch.iter("node") if node.get("pkg") == "rviz")
    assert (folder / arguments.rpartition("$(dirname)/")[2]).is_file()
    declared = {argument.get("name") for argument in launch.iter("arg")}
    assert {node.get("if", "$(arg rviz)") for node in launch.iter("node")} == {f"$(arg {name})" for name in declared}


def record(*args, **named):
    return SimpleNamespace(args=args, **named)


class Listener:
    """A node of rclpy that gets the last message of its topic at once, if it is served and the reader asks for it."""

    def create_subscription(self, kind, topic, callback, qos):
        if topic == f"/{DESCRIPTION.name}" and DESCRIPTION.latched and qos.durability == "transient_local":
            callback(SimpleNamespace(data="<robot/>"))

    def destroy_node(self):
        pass


def test_the_launch_file_of_ros_2_gives_the_served_model_to_robot_state_publisher(folder, monkeypatch):
    """The file runs with stand-ins for the packages of launch and rclpy, which only record their arguments."""
    executor = SimpleNamespace(add_node=lambda node: None, spin_once=lambda timeout_sec: None)
    given = {"use_sim_time": "true"}
    stands = {
        "launch": {"LaunchDescription": record},
        "launch.actions": {"DeclareLaunchArgument": record, "OpaqueFunction": record},
        "launch.conditions": {"IfCondition": record},
        "launch.substitutions": {"LaunchConfiguration": lambda name: record(name, perform=lambda context: given[name])},
        "launch_ros": {},
        "launch_ros.actions": {"Node": record},
        "rclpy": {
            "Context": record,
            "create_node": lambda *_, **named: Listener(),
            "init": record,
            "shutdown": record,
        },
        "rclpy.executors": {"SingleThreadedExecutor": lambda context: executor},
        "rclpy.qos": {"DurabilityPolicy": SimpleNamespace(TRANSIENT_LOCAL="transient_local"), "QoSProfile": record},
        "std_msgs": {},
        "std_msgs.msg": {"String": record},
    }
    for name, content in stands.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    made = runpy.run_path(str(folder / "rviz_ros2.launch.py"))["generate_launch_description"]()
    *arguments, function = made.args[0]
    assert {argument.args[0] for argument in arguments} == {"rviz", *given}
    publisher, rviz = function.function(None)
    assert (publisher.package, rviz.package) == ("robot_state_publisher", "rviz2")
    assert publisher.parameters == [{"robot_description": "<robot/>", "use_sim_time": True}]
    assert rviz.condition.args[0].args == ("rviz",)
    assert Path(rviz.arguments[1]).is_file()
