"""Messages, topics and bags of the stand-ins, and the detection of a script's release."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

from trocar.robot import INTERFACES
from trocar.robot import messages as m
from trocar.robot.interface import Direction
from trocar.scripts import pykdl
from trocar.scripts import tf_transformations as tf
from trocar.scripts.script_api import judge
from trocar.scripts.topics import converted, convertible, present_name
from trocar.spatial import pose, rotation
from trocar.transports import rosbag
from trocar.transports.ros_conversion import from_ros, to_ros
from trocar.transports.ros_messages import MESSAGES, SERVICES, modules
from trocar.transports.ros_time import Duration, Time

T = pose(rotation("z", 0.3) @ rotation("x", -2.9), [0.1, -0.2, 0.3])
SIX = np.arange(1.0, 7.0)
EXAMPLES = {
    m.Empty: m.Empty(),
    m.Bool: m.Bool(value=True),
    m.Float: m.Float(value=0.5),
    m.String: m.String(value="enable"),
    m.Floats: m.Floats(values=np.array([0.1, 440.0, 1.0])),
    m.JointState: m.JointState(stamp=5, name=("yaw",), position=SIX[:1], velocity=SIX[1:2], effort=SIX[2:3]),
    m.Pose: m.Pose(stamp=1_500_000_001, frame_id="PSM1_base", T=T),
    m.Twist: m.Twist(vector=SIX),
    m.Wrench: m.Wrench(vector=SIX),
    m.Matrix: m.Matrix(values=np.arange(12.0).reshape(6, 2)),
    m.Rotation: m.Rotation(R=T[:3, :3]),
    m.OperatingState: m.OperatingState(stamp=7, state="ENABLED", is_homed=True, is_busy=False),
    m.Joy: m.Joy(buttons=(1,), axes=(0.5,)),
    m.IntervalStatistics: m.IntervalStatistics(**dict.fromkeys(
        ("period_avg", "period_std_dev", "period_min", "period_max", "compute_time_avg", "compute_time_std_dev",
         "compute_time_min", "compute_time_max", "number_of_samples", "number_of_overruns", "statistics_interval"), 3)),
}  # fmt: skip
TOPICS = [topic for interface in INTERFACES.values() for topic in interface.topics]


def same(a, b):
    """Equal contents of two messages of the bus."""
    return type(a) is type(b) and all(
        np.allclose(x, vars(b)[name], atol=1e-12) if isinstance(x, np.ndarray) else x == vars(b)[name]
        for name, x in vars(a).items()
        if name not in ("stamp", "frame_id") or b.stamp
    )


def test_every_message_of_the_robot_converts_to_ros():
    sent = {(topic.message, topic.ros) for topic in TOPICS if topic.direction is not Direction.command}
    for kind, ros in sent:
        message = to_ros(EXAMPLES[kind], ros)
        assert message._type == ros
        if hasattr(message, "header"):
            assert message.header.stamp.to_nsec() == EXAMPLES[kind].stamp
    assert to_ros(EXAMPLES[m.Matrix], "std_msgs/Float64MultiArray").layout.dim[1].size == 2


def test_every_command_survives_a_round_trip_through_ros():
    commands = {(topic.message, topic.ros) for topic in TOPICS if topic.direction is Direction.command}
    for kind, ros in commands:
        if kind in EXAMPLES:
            again = from_ros(to_ros(EXAMPLES[kind], ros), ros, kind)
            assert same(EXAMPLES[kind], again), (ros, again)
        else:
            assert kind in (m.CartesianState, m.ImpedanceGoal)
            assert isinstance(from_ros(MESSAGES[ros](), ros, kind), kind)


def test_an_impedance_keeps_its_gains_and_axes():
    goal = MESSAGES["crtk_msgs/CartesianImpedance"]()
    goal.force_orientation.w, goal.force_orientation.z = np.cos(0.2), np.sin(0.2)
    goal.force_position.y = 0.4
    goal.position_negative.deadband.z = 0.01
    impedance = from_ros(goal, goal._type, m.ImpedanceGoal)
    np.testing.assert_allclose(impedance.force_R, rotation("z", 0.4), atol=1e-12)
    np.testing.assert_array_equal(impedance.force_position, [0.0, 0.4, 0.0])
    np.testing.assert_array_equal(impedance.position_negative.deadband, [0.0, 0.0, 0.01])
    np.testing.assert_array_equal(impedance.torque_R, np.eye(3))  # an untouched quaternion


def test_every_service_of_the_robot_has_its_class():
    types = {service.ros for interface in INTERFACES.values() for service in interface.services}
    assert types <= set(SERVICES)
    for service in SERVICES.values():
        assert service.Request() == service.Request()
        assert service.Response() == service.Response()


def test_messages_take_all_fields_by_position_or_some_by_name():
    point = MESSAGES["geometry_msgs/Point"]
    assert point(1.0, 2.0, 3.0) == point(x=1.0, y=2.0, z=3.0) != point()
    assert repr(point(x=1.0)) == "x: 1.0\ny: 0.0\nz: 0.0"
    with pytest.raises(TypeError, match=r"takes all of its fields \['x', 'y', 'z'\]"):
        point(1.0)
    with pytest.raises(AttributeError, match="has no field q; it has x, y, z"):
        point(q=1.0)
    with pytest.raises(AttributeError):
        point().q = 1.0
    stamped = MESSAGES["geometry_msgs/PoseStamped"]()
    again = copy.deepcopy(stamped)
    again.pose.position.x = 1.0
    assert stamped.pose.position.x == 0.0
    assert modules()["geometry_msgs.msg"].PoseStamped is type(stamped)
    with pytest.raises(AttributeError, match=r"does not offer sensor_msgs\.msg\.LaserScan"):
        modules()["sensor_msgs.msg"].LaserScan  # noqa: B018
    assert modules()["crtk_msgs.srv"].QueryForwardKinematicsRequest().jp == []


def test_times_and_durations_keep_nanoseconds():
    time, second = Time(1, 500), Duration(1.0)
    assert (time + second - time, (time - second).to_nsec(), time.secs, time.nsecs) == (second, 500, 1, 500)
    assert time < time + Duration(0, 1)
    assert second / 4 == Duration(0.25) == second * 0.25
    assert Time.from_sec(2.5) == Time(2, 500_000_000) == pickle.loads(pickle.dumps(Time(2.5)))
    assert (-Duration(0.5)).to_sec() == -0.5
    assert not Time()


def test_earlier_names_and_types_reach_the_same_topics():
    assert present_name("dvrk/PSM1/state_joint_current") == "PSM1/measured_js"
    assert present_name("dvrk/footpedals/clutch") == "footpedals/clutch"
    assert present_name("PSM1/measured_js") == "PSM1/measured_js"
    stamped = to_ros(EXAMPLES[m.Pose], "geometry_msgs/PoseStamped")
    for kind in ("geometry_msgs/TransformStamped", "geometry_msgs/Pose"):
        assert convertible(kind, stamped._type)
        other = converted(stamped, kind)
        assert (other._type, converted(other, stamped._type).pose) == (kind, stamped.pose)
    assert converted(stamped, "geometry_msgs/TransformStamped").header == stamped.header
    wrench = MESSAGES["geometry_msgs/Wrench"]()
    wrench.torque.z = 2.0
    assert converted(wrench, "geometry_msgs/WrenchStamped").wrench == wrench
    assert converted(MESSAGES["std_msgs/String"]("home"), "crtk_msgs/StringStamped").string == "home"
    assert not convertible("std_msgs/String", "std_msgs/Bool")


def test_transformations_agree_with_kdl_and_with_each_other():
    a, b, c = 0.3, -0.7, 2.1
    T = tf.euler_matrix(a, b, c)
    np.testing.assert_allclose(T[:3, :3], pykdl.Rotation.RPY(a, b, c).array, atol=1e-12)
    np.testing.assert_allclose(tf.euler_matrix(c, b, a, "rzyx"), T, atol=1e-12)
    np.testing.assert_allclose(tf.euler_from_matrix(T), (a, b, c), atol=1e-12)
    q = tf.quaternion_from_euler(a, b, c)
    np.testing.assert_allclose(q, pykdl.Rotation.RPY(a, b, c).GetQuaternion(), atol=1e-12)
    np.testing.assert_allclose(tf.quaternion_from_matrix(tf.quaternion_matrix(q)), q, atol=1e-12)
    np.testing.assert_allclose(tf.euler_from_quaternion(q), (a, b, c), atol=1e-12)
    np.testing.assert_allclose(tf.quaternion_multiply(q, tf.quaternion_inverse(q)), [0, 0, 0, 1], atol=1e-12)
    p = tf.quaternion_about_axis(0.4, [0, 0, 2])
    product = tf.concatenate_matrices(tf.quaternion_matrix(p), tf.quaternion_matrix(q))
    np.testing.assert_allclose(tf.quaternion_matrix(tf.quaternion_multiply(p, q)), product, atol=1e-12)
    moved = tf.rotation_matrix(0.5, [0, 1, 0], point=[1.0, 2.0, 3.0])
    np.testing.assert_allclose(moved @ [1.0, 2.0, 3.0, 1.0], [1.0, 2.0, 3.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(tf.inverse_matrix(moved) @ moved, tf.identity_matrix(), atol=1e-12)
    shift = tf.translation_matrix([1.0, 2.0, 3.0])
    np.testing.assert_allclose(tf.translation_from_matrix(shift), [1.0, 2.0, 3.0])
    np.testing.assert_allclose(tf.unit_vector([3.0, 0.0, 4.0]), [0.6, 0.0, 0.8])
    with pytest.raises(ValueError, match="axes are s or r"):
        tf.euler_matrix(0.0, 0.0, 0.0, "xyz")


@pytest.mark.parametrize(
    ("source", "api", "reason"),
    [
        ("p = dvrk.psm('PSM1')\np.get_current_position()", "1", "line 2: get_current_position()"),
        ("p = dvrk.psm('PSM1')\np.home()\np.move(f)", "1", "line 3: move() of an arm without a node"),
        ("from dvrk import psm\np = psm('PSM1')\np.move(f)", "1", "line 3: move() of an arm without a node"),
        ("p = dvrk.psm('PSM1')\np.measured_cp().p", "2.0", "line 1: dvrk.psm() without a node"),
        ("p = dvrk.arm('PSM1')\np, v, e, t = p.measured_js()", "2.0", "line 1: dvrk.arm() without a node"),
        ("u = crtk.utils(self, 'PSM1')", "2.0", "line 1: crtk.utils() without a node"),
        ("u = crtk.utils(self, name)\nx = a.measured_cp().p", "2.0", "line 1: crtk.utils() without a node"),
        ("def f(ral):\n    u = crtk.utils(self, ral)", "2.4", "the script does not show which"),
        ("r = crtk.ral('x')\np = r.arm.measured_cp().M", "2.2", "line 2: measured_cp().M"),
        ("r = crtk.ral('x')\nq = numpy.copy(a.setpoint_jp())", "2.2", "line 2: copy(setpoint_jp())"),
        ("r = crtk.ral('x')\nself.f = a.measured_cp()\nself.f.p[0] = 1", "2.2", "line 3: self.f.p, from measured_cp()"),
        ("r = crtk.ral('x')\nd = a.measured_jp() - b", "2.2", "line 2: arithmetic with measured_jp()"),
        ("r = crtk.ral('x')\nq, t = a.measured_jp(extra=True)", "2.2", "line 2: measured_jp(extra=...)"),
        ("p = dvrk.psm(arm_name=n, expected_interval=0.1)", "2.0", "line 1: dvrk.psm() without a node"),
        ("p = dvrk.psm(ral, arm_name=n, expected_interval=0.1)", "2.2", "line 1: psm(expected_interval=...)"),
        ("p = dvrk.psm(ral=r, arm_name=n, connection_timeout=1)", "2.4", "line 1: psm(connection_timeout=...)"),
        ("r = crtk.ral('x')\nq, _ = a.setpoint_jp()", "2.4", "line 2: setpoint_jp() is unpacked into 2"),
        ("r = crtk.ral('x')\nf = a.measured_cp()[0]", "2.4", "line 2: a.measured_cp()[0]"),
        ("import rospy", "2.4", "the script does not show which"),
        ("x = = 2", "2.4", "the script does not show which"),
        ("import beside", "2.2", "line 1: measured_cp().p"),
    ],
)
def test_the_release_is_detected_from_the_source(tmp_path, source, api, reason):
    (tmp_path / "beside.py").write_text("x = a.measured_cp().p\nimport script, beside\n")
    script = tmp_path / "script.py"
    script.write_text(source)
    assert judge(script) == (api, reason)


def test_a_bag_is_read_as_messages_of_the_stand_ins(tmp_path):
    pytest.importorskip("rosbags")
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    types = store.types
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](3, 250_000_000), "base")
    message = types["sensor_msgs/msg/JointState"](header, ["yaw"], SIX[:1], SIX[1:2], SIX[2:3])
    with Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        for topic in ("/PSM1/setpoint_js", "/PSM2/setpoint_js"):
            connection = writer.add_connection(topic, message.__msgtype__, typestore=store)
            for time in (10, 20):
                writer.write(connection, time, store.serialize_cdr(message, message.__msgtype__))
    (data,) = Path(tmp_path / "bag").glob("*.mcap")
    with data.open("rb") as file, rosbag.Bag(file.name) as bag:
        assert bag.get_message_count() == 4
        messages = list(bag.read_messages(topics=["/PSM1/setpoint_js"], start_time=Time(0, 15)))
    assert [(topic, time.to_nsec()) for topic, _, time in messages] == [("/PSM1/setpoint_js", 20)]
    joints = messages[0].message
    assert (joints._type, joints.name, joints.velocity) == ("sensor_msgs/JointState", ["yaw"], [2.0])
    assert joints.header.stamp.to_sec() == 3.25
