"""MoveIt configurations: names and limits of the URDF, topics of the served robot, and the relay of trajectories."""

import runpy
import sys
import time
import xml.etree.ElementTree as ElementTree
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import yaml

import trocar as tr
from trocar.robot import Robot, messages
from trocar.robot.interface import ARM, PSM
from trocar.simulation import Simulator
from trocar.simulation.export import DEFAULT_FORMATS, model_files, write_model
from trocar.simulation.export.yaml import yaml_text


@pytest.fixture(scope="module", params=["PSM", "ECM", "MTML"])
def sim(request):
    return Simulator(request.param)


@pytest.fixture(scope="module")
def folder(sim, tmp_path_factory):
    path = tmp_path_factory.mktemp(sim.arm.name)
    write_model(sim, path, ["moveit"])
    return path


def loaded(folder, file):
    return yaml.safe_load((folder / "moveit" / f"{file}.yaml").read_text())


def elements(sim, folder, suffix):
    return ElementTree.parse(folder / f"{sim.arm.name.lower()}.{suffix}").getroot()


def test_joint_limits_are_those_of_the_urdf(sim, folder):
    """All numbers are real: ROS rejects an integer where it expects a real number."""
    limits = loaded(folder, "joint_limits")["joint_limits"]
    assert set(limits) == set(sim.arm.joint_names)
    for joint in elements(sim, folder, "urdf").findall("joint"):
        if joint.get("name") in limits:
            own, urdf = limits[joint.get("name")], joint.find("limit")
            values = [own["min_position"], own["max_position"], own["max_velocity"]]
            assert values == pytest.approx([float(urdf.get(key)) for key in ("lower", "upper", "velocity")], rel=1e-12)
            assert {type(value) for value in own.values()} == {bool, float}
    for joint in sim.arm.joints:
        assert limits[joint.name]["max_acceleration"] == pytest.approx(joint.acceleration)


def test_groups_have_planners_controllers_and_a_solver(sim, folder):
    srdf = elements(sim, folder, "srdf")
    groups = {group.get("name") for group in srdf.findall("group")}
    planning, solvers = loaded(folder, "ompl_planning"), loaded(folder, "kinematics")
    for group in groups:
        assert set(planning[group]["planner_configs"]) <= planning["planner_configs"].keys()
    assert solvers.keys() == {"arm"} <= groups
    assert solvers["arm"]["position_only_ik"] == (sim.arm.tip_joints < 6)
    manager = loaded(folder, "moveit_controllers")["moveit_simple_controller_manager"]
    assert set(manager["controller_names"]) == {f"{group}_controller" for group in groups}
    n = sim.arm.tip_joints
    assert manager["arm_controller"]["joints"] == list(sim.arm.joint_names[:n])
    assert [joint for name in manager["controller_names"] for joint in manager[name]["joints"]] == list(
        sim.arm.joint_names
    )
    states = {(state.get("name"), state.get("group")) for state in srdf.findall("group_state")}
    assert states == {("home", group) for group in groups}


def record(*args, **named):
    return SimpleNamespace(args=args, **named)


def stand_in(monkeypatch, contents):
    for name, content in contents.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)


def test_the_launch_file_gives_the_model_and_the_served_topics_to_move_group(sim, folder, monkeypatch):
    chosen = {"arm": "ARM7", "use_sim_time": "false"}
    stand_in(
        monkeypatch,
        {
            "launch": {"LaunchDescription": record},
            "launch.actions": dict.fromkeys(("DeclareLaunchArgument", "ExecuteProcess", "OpaqueFunction"), record),
            "launch.conditions": {"IfCondition": record},
            "launch.substitutions": {"LaunchConfiguration": lambda name: record(perform=lambda _: chosen[name])},
            "launch_ros": {},
            "launch_ros.actions": {"Node": record},
        },
    )
    launch = runpy.run_path(str(folder / "moveit" / "moveit.launch.py"))["generate_launch_description"]()
    *arguments, function = launch.args[0]
    defaults = {argument.args[0]: argument.default_value for argument in arguments}
    assert defaults == {"arm": sim.arm.dvrk_name, "rviz": "true", "use_sim_time": "false"}
    joints, frames, move_group, relay, rviz = function.function(None)
    parameters = {key: value for part in move_group.parameters for key, value in part.items()}
    urdf = ElementTree.fromstring(parameters["robot_description"])
    for mesh in urdf.iter("mesh"):
        assert mesh.get("filename").startswith(f"file://{folder}/assets/")
    assert parameters["robot_description_planning"] == loaded(folder, "joint_limits")
    assert parameters["ompl"] == loaded(folder, "ompl_planning")
    assert ElementTree.fromstring(parameters["robot_description_semantic"]).get("name") == sim.arm.name
    (own,) = (part for part in joints.parameters if "source_list" in part)
    served = (PSM if sim.arm.tip_joints < sim.n else ARM).topics
    names = {f"/ARM7/{topic.name}" for topic in served}
    assert set(own["source_list"]) <= names
    assert len(own["source_list"]) == (2 if sim.arm.tip_joints < sim.n else 1)
    assert relay.cmd[1:] == [str(folder / "moveit" / "trajectory_relay.py"), "ARM7"]
    for node in (joints, frames, move_group, rviz):
        assert ("joint_states", "/ARM7/joint_states") in node.remappings
        assert ("/tf", "/ARM7/tf") in node.remappings
    frame = yaml.safe_load((folder / "moveit" / "moveit.rviz").read_text())["Visualization Manager"]["Global Options"]
    assert frame["Fixed Frame"] in {link.get("name") for link in urdf.iter("link")}


# -- the relay ---------------------------------------------------------------------------------------------------------


class Result:
    INVALID_JOINTS = -2
    error_code = 0


class Goal:
    """A goal handle: its trajectory, and its end."""

    def __init__(self, joints, points, cancel_after=float("inf")):
        self.request = SimpleNamespace(trajectory=SimpleNamespace(joint_names=joints, points=points))
        self.cancel_after, self.asked, self.end = cancel_after, 0, None

    @property
    def is_cancel_requested(self):
        self.asked += 1
        return self.asked > self.cancel_after

    def succeed(self):
        self.end = "succeeded"

    def abort(self):
        self.end = "aborted"

    def canceled(self):
        self.end = "canceled"


def point(t, positions, velocities=()):
    duration = SimpleNamespace(sec=int(t), nanosec=round(1e9 * (t % 1)))
    return SimpleNamespace(time_from_start=duration, positions=list(positions), velocities=list(velocities))


@pytest.fixture
def relayed(monkeypatch, tmp_path):
    """The relay of a PSM in front of a simulated robot, whose time it follows; its callbacks by action, the robot."""
    write_model(Simulator("PSM"), tmp_path, ["moveit"])
    robot = Robot("psm", start="ready", speed="stepped")
    (name,) = (device for device, kind in robot.devices.items() if kind == "PSM")
    servers = {}

    class RosNode:
        def __init__(self, name):
            pass

        def create_publisher(self, kind, topic, depth):
            assert robot.bus.topics[topic.removeprefix("/")].message is messages.JointState
            return SimpleNamespace(publish=lambda message: robot.bus.publish(topic.removeprefix("/"), message))

    def joint_state(name, position):
        return messages.JointState(name=tuple(name), position=np.array(position))

    stand_in(
        monkeypatch,
        {
            "rclpy": {},
            "rclpy.action": {
                "ActionServer": lambda *args, **named: servers.setdefault(args[2], named["execute_callback"]),
                "CancelResponse": record(),
            },
            "rclpy.callback_groups": {"ReentrantCallbackGroup": record},
            "rclpy.executors": {"MultiThreadedExecutor": record},
            "rclpy.node": {"Node": RosNode},
            "control_msgs": {},
            "control_msgs.action": {"FollowJointTrajectory": SimpleNamespace(Result=Result)},
            "sensor_msgs": {},
            "sensor_msgs.msg": {"JointState": joint_state},
        },
    )
    relay = runpy.run_path(str(tmp_path / "moveit" / "trajectory_relay.py"))
    relay["TrajectoryRelay"](name)
    monkeypatch.setattr(time, "monotonic", lambda: robot.time)
    monkeypatch.setattr(time, "sleep", robot.run)
    return servers, robot, name, relay


def test_the_relay_moves_the_simulated_arm_along_a_trajectory(relayed):
    servers, robot, name, _ = relayed
    arm, jaw = robot.bus.read(f"{name}/measured_js"), robot.bus.read(f"{name}/jaw/measured_js")
    assert (*arm.name, *jaw.name) == tr.load_arm("PSM").joint_names  # those of the URDF
    start = np.array(arm.position)
    end = start + [0.1, 0.05, 0.01, 0.1, 0.1, -0.1]
    order = [3, 0, 5, 1, 2, 4]  # a trajectory may name its joints in any order
    points = [point(t, p[order], np.zeros(6)) for t, p in ((0.0, start), (1.0, end))]
    goal = Goal([arm.name[i] for i in order], points)
    servers["arm_controller/follow_joint_trajectory"](goal)
    assert goal.end == "succeeded"
    robot.run(0.3)
    np.testing.assert_allclose(robot.bus.read(f"{name}/setpoint_js").position, end, atol=1e-9)
    np.testing.assert_allclose(robot.bus.read(f"{name}/measured_js").position, end, atol=1e-2)
    goal = Goal(["jaw"], [point(0.0, jaw.position), point(0.5, [0.3])])
    servers["jaw_controller/follow_joint_trajectory"](goal)
    robot.run(0.1)
    assert robot.bus.read(f"{name}/jaw/setpoint_js").position == pytest.approx([0.3])


def test_the_relay_aborts_on_wrong_joints_and_stops_when_canceled(relayed):
    servers, robot, name, _ = relayed
    execute = servers["arm_controller/follow_joint_trajectory"]
    wrong = Goal(["yaw"], [point(0.0, [0.0])])
    assert execute(wrong).error_code == Result.INVALID_JOINTS
    assert wrong.end == "aborted"
    arm = robot.bus.read(f"{name}/measured_js")
    start = np.array(arm.position)
    goal = Goal(list(arm.name), [point(0.0, start), point(1.0, start + 0.1 * np.eye(6)[0])], cancel_after=20)
    execute(goal)
    assert goal.end == "canceled"
    assert 0.005 < robot.bus.read(f"{name}/setpoint_js").position[0] - start[0] < 0.02


def test_the_relay_interpolates_as_the_trajectory_defines(relayed):
    positions_at = relayed[3]["positions_at"]
    cubic = [point(t, [t**3 - t], [3 * t**2 - 1]) for t in (0.0, 0.7, 1.5)]
    line = [point(t, [2 * t, -t]) for t in (0.0, 0.4, 1.5)]
    for t in np.linspace(0.0, 1.5, 16):
        assert positions_at(t, cubic) == pytest.approx([t**3 - t], abs=1e-12)
        assert positions_at(t, line) == pytest.approx([2 * t, -t], abs=1e-12)
    assert positions_at(9.0, line) == line[-1].positions


# -- formats -----------------------------------------------------------------------------------------------------------


def test_moveit_is_written_on_request_with_the_urdf_and_for_single_arms_only(sim, folder):
    assert "moveit" not in DEFAULT_FORMATS
    assert (folder / f"{sim.arm.name.lower()}.urdf").is_file()
    scene = tr.load_scene("cart_classic")
    with pytest.raises(tr.TrocarError, match="single arms only"):
        model_files(scene, ["moveit"])


def test_yaml_text_reads_back(tmp_path):
    values = {
        "a b": {"c": [1e-5, -2.5e-20, 3.0, 1e20], "d": {"e": True, "f": 'say "yes": no'}},
        "g": [{"x": {"y": 0.5}}],
    }
    text = yaml_text(values, "comment")
    assert yaml.safe_load(text) == values | {"a b": values["a b"] | {"c": [1e-5, 0.0, 3.0, 1e20]}}
    assert {type(value) for value in yaml.safe_load(text)["a b"]["c"]} == {float}
