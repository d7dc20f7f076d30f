"""Messages of ROS 2: bytes, names and hashes, compared with rosbags."""

import dataclasses
import re

import numpy as np
import pytest

from tests.support import odd_values
from trocar.errors import TrocarError
from trocar.robot import messages as m
from trocar.robot.interface import INTERFACES, Direction, Topic
from trocar.transports.camera import CameraSettings
from trocar.transports.ros2 import cdr, types
from trocar.transports.ros2.decoder import Decoder
from trocar.transports.ros2.template import Template
from trocar.transports.ros_time import Time
from trocar.transports.scene_messages import CameraInfo, Image, Transforms, message_to_ros
from trocar.transports.scene_topics import CLOCK, TF

TOPIC_TYPES = {topic.ros for interface in INTERFACES.values() for topic in interface.topics}
SCENE_TYPES = {topic.ros for topic in (TF, CLOCK, *CameraSettings("dvrk").topics)}
SERVICE_TYPES = {service.ros for interface in INTERFACES.values() for service in interface.services}
ALL_TYPES = sorted(
    TOPIC_TYPES | SCENE_TYPES | {f"{name}_{part}" for name in SERVICE_TYPES for part in ("Request", "Response")}
) + [types.PARTICIPANT_INFO]
ROUNDS = odd_values.rounds(20)
TEXTS = ("", "a", "yaw", "PSM1_base", "Ünïcode", "x" * 33)


def random_message(name, rng):
    """A message of a type with random values in all fields."""
    made = types.message_class(name)()
    for field in types.fields(name):
        if field.name != types.UNUSED:
            setattr(made, field.name, random_value(field, rng))
    return made


def random_value(field, rng):
    if field.length is not None:
        length = field.length or int(rng.integers(0, 8))
        if field.kind in types.PRIMITIVES:
            return np.array([random_one(field.kind, rng) for _ in range(length)], types.PRIMITIVES[field.kind])
        return [random_one(field.kind, rng) for _ in range(length)]
    return random_one(field.kind, rng)


def random_one(kind, rng):
    if kind == "string":
        return TEXTS[rng.integers(len(TEXTS))]
    if kind == "time":
        return Time.of(int(rng.integers(0, 2**31)) * 10**9 + int(rng.integers(0, 10**9)))
    if kind == "bool":
        return bool(rng.integers(2))
    if kind.startswith("float"):
        return float(rng.choice([0.0, -1.5, 1e300 if kind == "float64" else 1e30, rng.normal()]))
    if kind in types.PRIMITIVES:
        limits = np.iinfo(kind)
        return int(rng.integers(limits.min, limits.max, dtype=kind, endpoint=True))
    return random_message(kind, rng)


def in_rosbags(message, name):
    """The same message as an object of rosbags."""
    store = types.type_store()
    values = {}
    for field in types.fields(name):
        value = 0 if field.name == types.UNUSED else getattr(message, field.name)
        if field.kind == "time":
            value = store.types["builtin_interfaces/msg/Time"](sec=value.secs, nanosec=value.nsecs)
        elif field.kind not in types.PRIMITIVES and field.kind != "string":
            one = field.length is None
            value = in_rosbags(value, field.kind) if one else [in_rosbags(x, field.kind) for x in value]
        values[field.ros] = value
    return store.types[types.bag_name(name)](**values)


def same(a, b, name):
    """Compare two messages field by field, to the bit."""
    for field in types.fields(name):
        if field.name == types.UNUSED:
            continue
        x, y = getattr(a, field.name), getattr(b, field.name)
        nested = field.kind not in types.PRIMITIVES and field.kind not in ("string", "time")
        if field.length is not None and not nested:
            assert list(x) == list(y)
        elif field.length is not None:
            assert len(x) == len(y)
            for one, other in zip(x, y, strict=True):
                same(one, other, field.kind)
        elif nested:
            same(x, y, field.kind)
        else:
            assert x == y


@pytest.mark.parametrize("name", ALL_TYPES)
def test_bytes_are_those_of_rosbags_and_decode_to_the_same_message(name):
    rng = np.random.default_rng(odd_values.SEED)
    for _ in range(ROUNDS):
        message = random_message(name, rng)
        ours = cdr.encode(message, name)
        assert ours == bytes(types.type_store().serialize_cdr(in_rosbags(message, name), types.bag_name(name)))
        same(cdr.decode(ours, name), message, name)


def test_big_endian_samples_are_read():
    ros = "sensor_msgs/JointState"
    message = types.message_class(ros)(name=["yaw"], position=[0.25], velocity=[], effort=[-2.0])
    big = b"".join(
        (
            b"\0\0\0\0",  # plain CDR, the most significant byte first
            (7).to_bytes(4, "big") + (8).to_bytes(4, "big"),
            (3).to_bytes(4, "big") + b"ab\0" + b"\0",
            (1).to_bytes(4, "big") + (4).to_bytes(4, "big") + b"yaw\0",
            (1).to_bytes(4, "big") + np.array([0.25], ">f8").tobytes(),
            (0).to_bytes(4, "big") + (1).to_bytes(4, "big") + np.array([-2.0], ">f8").tobytes(),
        )
    )
    found = cdr.decode(big, ros)
    assert found.header.stamp.to_nsec() == 7 * 10**9 + 8
    assert found.header.frame_id == "ab"
    found.header = message.header
    same(found, message, ros)


def sample_messages():
    """A message of every kind on the bus that a template packs, by type in ROS."""
    rng = np.random.default_rng(3)
    T = np.eye(4)
    T[:3, :3] = [[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]]
    joints = m.JointState(
        name=("yaw", "pitch"), position=rng.normal(size=2), velocity=rng.normal(size=2), effort=rng.normal(size=2)
    )
    return [
        ("sensor_msgs/JointState", joints),
        ("sensor_msgs/JointState", dataclasses.replace(joints, velocity=m.EMPTY)),
        ("sensor_msgs/JointState", dataclasses.replace(joints, name=("a", "long name"), frame_id="PSM1_base")),
        ("sensor_msgs/JointState", dataclasses.replace(joints, position=m.EMPTY, effort=m.EMPTY)),
        ("geometry_msgs/PoseStamped", m.Pose(T=T, frame_id="ECM")),
        ("geometry_msgs/TwistStamped", m.Twist(vector=rng.normal(size=6))),
        ("geometry_msgs/WrenchStamped", m.Wrench(vector=rng.normal(size=6), frame_id="abc")),
        ("std_msgs/Float64MultiArray", m.Matrix(values=rng.normal(size=(6, 4)))),
        ("tf2_msgs/TFMessage", Transforms(frames=(("base_link", "ECM", T), ("ECM", "ECM_left_optical", np.eye(4))))),
        ("rosgraph_msgs/Clock", m.Empty()),
        ("sensor_msgs/Image", Image(height=1, width=2, data=bytes(range(6)), frame_id="ECM_left_optical")),
        ("crtk_msgs/OperatingState", m.OperatingState(state="ENABLED", is_homed=True, is_busy=False)),
    ]


def test_a_packed_template_gives_the_bytes_of_the_encoder_whatever_came_before():
    templates = {}
    for stamp in (1, 1_700_000_000_000_000_003):
        for ros, message in sample_messages():
            template = templates.setdefault(ros, Template(ros))
            wanted = cdr.encode(message_to_ros(dataclasses.replace(message, stamp=stamp), ros), ros)
            assert template.pack(message, stamp) == wanted, ros


def test_a_decoder_finds_the_same_as_the_first_time_whatever_came_before():
    """Streams of joint messages whose numbers, names and sizes change, some with damaged bytes."""
    rng = np.random.default_rng(3)
    topic = Topic("PSM1/servo_jp", m.JointState, Direction.command, "sensor_msgs/JointState")
    decoder, refused = Decoder(topic), 0
    for k in range(600):
        sizes = [(6, 0, 0), (6, 6, 0), (7, 7, 7), (1, 0, 1)][k // 7 % 4]
        names = tuple(f"joint{'x' * (k // 30 % 3)}{n}" for n in range(sizes[0] * (k // 11 % 2)))
        position, velocity, effort = (rng.normal(size=n) for n in sizes)
        message = m.JointState(
            name=names, position=position, velocity=velocity, effort=effort, frame_id="a" * (k // 50)
        )
        data = bytearray(Template(topic.ros).pack(message, int(rng.integers(2**60))))
        if k % 5 == 4:
            data[rng.integers(len(data))] = rng.integers(256)
        try:
            wanted = Decoder(topic)(bytes(data))
        except TrocarError as error:
            refused += 1
            with pytest.raises(TrocarError, match=re.escape(str(error))):
                decoder(bytes(data))
            continue
        found = decoder(bytes(data))
        for key in ("stamp", "frame_id", "name"):
            assert getattr(found, key) == getattr(wanted, key)
        for key in ("position", "velocity", "effort"):
            assert getattr(found, key).tobytes() == getattr(wanted, key).tobytes()
    assert refused > 10


def test_a_decoder_reads_names_once(monkeypatch):
    decoder = Decoder(Topic("PSM1/servo_jp", m.JointState, Direction.command, "sensor_msgs/JointState"))
    template, message = Template("sensor_msgs/JointState"), m.JointState(name=("yaw",), position=np.array([1.0]))
    decoder(template.pack(message, 5))
    monkeypatch.setattr("trocar.transports.ros2.decoder.decode", None)
    found = decoder(template.pack(dataclasses.replace(message, position=np.array([-2.0])), 6))
    assert (found.name, found.position, found.stamp) == (("yaw",), [-2.0], 6)


def test_a_camera_has_the_fields_of_ros_2_in_lower_case():
    info = CameraInfo(width=64, height=48, fx=50.0, fy=51.0, cx=32.0, cy=24.0, distortion=(0.0,) * 5, baseline=0.005)
    ros = "sensor_msgs/CameraInfo"
    found = types.type_store().deserialize_cdr(Template(ros).pack(info, 3), types.bag_name(ros))
    assert (found.width, found.height, found.distortion_model) == (64, 48, "plumb_bob")
    assert list(found.k) == [50.0, 0.0, 32.0, 0.0, 51.0, 24.0, 0.0, 0.0, 1.0]
    assert list(found.p) == [50.0, 0.0, 32.0, -0.25, 0.0, 51.0, 24.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    assert "float64[9] k\n" in types.definition(ros)


def test_a_template_replaces_numbers_without_encoding_again(monkeypatch):
    template = Template("sensor_msgs/JointState")
    message = m.JointState(name=("yaw",), position=np.array([1.0]))
    template.pack(message, 5)
    monkeypatch.setattr("trocar.transports.ros2.template.encode", None)
    packed = template.pack(dataclasses.replace(message, position=np.array([-2.0])), 6)
    assert cdr.decode(packed, "sensor_msgs/JointState").position == [-2.0]
    assert cdr.decode(packed, "sensor_msgs/JointState").header.stamp.to_nsec() == 6


def test_names_are_mangled_as_in_ros_2():
    assert types.topic_name("PSM1/measured_js") == "rt/PSM1/measured_js"
    assert types.request_name("PSM1/forward_kinematics") == "rq/PSM1/forward_kinematicsRequest"
    assert types.reply_name("PSM1/forward_kinematics") == "rr/PSM1/forward_kinematicsReply"
    assert types.dds_name("sensor_msgs/JointState") == "sensor_msgs::msg::dds_::JointState_"
    kinematics = "crtk_msgs::srv::dds_::QueryForwardKinematics_Request_"
    assert types.dds_name("crtk_msgs/QueryForwardKinematics_Request") == kinematics
    assert types.ros_name(kinematics) == "crtk_msgs/QueryForwardKinematics_Request"
    assert types.ros_name("DCPSParticipant") == ""


def test_hashes_stay_those_of_rosbags_for_jazzy():
    # as rosbags 0.11.9 computes them; not compared with an installation of ROS 2
    assert types.type_hash("sensor_msgs/JointState") == (
        "RIHS01_a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e"
    )
    assert types.type_hash("std_msgs/String") == (
        "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
    )
    assert types.type_hash("crtk_msgs/OperatingState") != types.type_hash("crtk_msgs/StringStamped")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "begins with nothing"),
        (b"\x00\x07\x00\x00" + bytes(80), "not in plain CDR"),
        (cdr.LITTLE + bytes(7), "cannot be decoded"),
        (cdr.LITTLE + bytes(8) + b"\xff\xff\xff\x7f" + bytes(40), "announces 2147483647 elements"),
        (cdr.LITTLE + bytes(8) + b"\x02\0\0\0\xff\0" + bytes(40), "cannot be decoded"),
        (bytes(cdr.LONGEST + 1), f"at most {cdr.LONGEST}"),
    ],
    ids=["empty", "other encoding", "short", "long sequence", "no text", "oversized"],
)
def test_samples_that_are_not_messages_are_rejected(data, said):
    with pytest.raises(TrocarError, match=said):
        cdr.decode(data, "sensor_msgs/JointState")


def test_identities_have_24_bytes_up_to_humble():
    for name, length in ((types.PARTICIPANT_INFO, 16), (types.PARTICIPANT_INFO_HUMBLE, 24)):
        info = types.ParticipantEntitiesInfo(types.Gid(bytes(range(length))))
        assert len(cdr.encode(info, name)) == cdr.HEADER + length + 4
    assert types.dds_name(types.PARTICIPANT_INFO_HUMBLE) == types.dds_name(types.PARTICIPANT_INFO)
