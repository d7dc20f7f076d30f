"""Bytes, checksums and hashes of messages in ROS 1 and ROS 2."""

import dataclasses
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.support.odd_values import SEED, rounds
from tests.support.ros_samples import random_message
from trocar.appearance.lens import Lens
from trocar.errors import TrocarError
from trocar.robot import messages as m
from trocar.robot.interface import INTERFACES, Direction, Topic
from trocar.spatial import pose, rotation
from trocar.transports.camera import CameraSettings
from trocar.transports.codec import MAX_BYTES, Decoder, Encoder, _codec, codec
from trocar.transports.ros_conversion import answer, ask, from_ros, to_ros
from trocar.transports.scene_topics import CLOCK_TOPIC, TF, CameraInfo, CompressedImage, Image, Transforms

pytest.importorskip("rosbags")

JOINTS = "sensor_msgs/JointState"
SERVO_JP = Topic("PSM1/servo_jp", m.JointState, Direction.command, JOINTS)
TOPIC_TYPES = {topic.ros for interface in INTERFACES.values() for topic in interface.topics}
SCENE_TYPES = {topic.ros for topic in (TF, CLOCK_TOPIC, *CameraSettings("dvrk").topics)}
SERVICE_TYPES = {service.ros for interface in INTERFACES.values() for service in interface.services}
ALL_TYPES = sorted(
    TOPIC_TYPES | SCENE_TYPES | {f"{name}_{part}" for name in SERVICE_TYPES for part in ("Request", "Response")}
)
T = pose(rotation("z", 0.3) @ rotation("x", -2.9), [0.1, -0.2, 0.3])
SIX = np.arange(1.0, 7.0)
STAMP = 1_700_000_000_000_000_003
LENS = Lens(width=64, height=48, fx=50.0, fy=51.0, cx=32.0, cy=24.0, distortion=(0.1,) * 5)
STATISTICS = dict.fromkeys((field.name for field in dataclasses.fields(m.IntervalStatistics)[2:]), 3)
IMPEDANCE = m.ImpedanceGoal(
    force_R=T[:3, :3],
    force_position=SIX[:3],
    torque_R=np.eye(3),
    position_positive=m.HalfPlaneGains(p=SIX[:3], d=SIX[1:4]),
)
FULL = m.JointState(
    stamp=STAMP, frame_id="a", name=("yaw", "pitchx"), position=SIX[:2], velocity=SIX[1:3], effort=SIX[2:4]
)
EXAMPLES = [
    ("std_msgs/Empty", m.Empty()),
    ("std_msgs/Bool", m.Bool(value=True)),
    ("std_msgs/Float64", m.Float(value=0.5)),
    ("std_msgs/String", m.String(value="enablé")),
    ("crtk_msgs/StringStamped", m.String(value="x", stamp=STAMP)),
    ("std_msgs/Float64MultiArray", m.Floats(values=np.array([0.1, 440.0, 1.0]))),
    (JOINTS, FULL),
    (JOINTS, m.JointState(stamp=STAMP, name=("yaw", "pitchx"), position=SIX[:2])),
    ("geometry_msgs/PoseStamped", m.Pose(stamp=STAMP, frame_id="PSM1_base", T=T)),
    ("geometry_msgs/TwistStamped", m.Twist(vector=SIX, stamp=STAMP)),
    ("geometry_msgs/WrenchStamped", m.Wrench(vector=SIX)),
    ("std_msgs/Float64MultiArray", m.Matrix(values=np.arange(12.0).reshape(6, 2))),
    ("geometry_msgs/Quaternion", m.Rotation(R=T[:3, :3])),
    ("geometry_msgs/QuaternionStamped", m.Rotation(R=T[:3, :3], stamp=5)),
    ("crtk_msgs/OperatingState", m.OperatingState(stamp=7, state="ENABLED", is_homed=True, is_busy=False)),
    ("sensor_msgs/Joy", m.Joy(buttons=(1,), axes=(0.5,), stamp=9)),
    ("sensor_msgs/Joy", m.Joy()),
    ("cisst_msgs/IntervalStatistics", m.IntervalStatistics(**STATISTICS)),
    ("crtk_msgs/CartesianState", m.CartesianState(T=T, twist=SIX, stamp=4)),
    ("crtk_msgs/CartesianState", m.CartesianState(wrench=SIX)),
    ("crtk_msgs/CartesianImpedance", IMPEDANCE),
    ("rosgraph_msgs/Clock", m.Empty(stamp=STAMP)),
    ("tf2_msgs/TFMessage", Transforms(stamp=3, frames=(("a", "b", T), ("ECM", "c", np.eye(4))))),
    ("sensor_msgs/Image", Image(height=1, width=2, step=6, data=bytes(range(6)), frame_id="c")),
    ("sensor_msgs/CompressedImage", CompressedImage(data=b"abc", stamp=1)),
    ("sensor_msgs/CameraInfo", CameraInfo.of_lens(LENS, 0.005, stamp=5, frame_id="x")),
]
# Bytes of the examples as encoded by genpy (ROS 1) and by the CDR encoder of trocar 1 (ROS 2), in hexadecimal digits.
WIRE = json.loads((Path(__file__).parent / "wire_bytes.json").read_text())


def same(a, b):
    """Two bus messages with equal content."""
    assert type(a) is type(b)
    for name, value in vars(a).items():
        if dataclasses.is_dataclass(value):
            same(value, getattr(b, name))
        elif isinstance(value, np.ndarray):
            np.testing.assert_allclose(getattr(b, name), value, rtol=0, atol=1e-12)
        else:
            assert getattr(b, name) == value, name


@pytest.mark.parametrize("version", [1, 2])
def test_bytes_stay_those_of_genpy_and_of_the_earlier_cdr_encoder(version):
    for (ros, message), hexadecimal in zip(EXAMPLES, WIRE[f"ros{version}"], strict=True):
        wire = bytes.fromhex(hexadecimal)
        assert codec(version).encode(message, ros) == wire, ros
        assert Encoder(ros, codec(version))(message, message.stamp) == wire, ros


@pytest.mark.parametrize("version", [1, 2])
def test_messages_of_the_interface_survive_encoding(version):
    for ros, message in EXAMPLES:
        if ros in TOPIC_TYPES:
            topic = Topic("device/topic", type(message), Direction.state, ros)
            same(message, codec(version).decode(codec(version).encode(message, ros), topic))


@pytest.mark.parametrize("version", [1, 2])
def test_every_type_decodes_what_it_encodes(version):
    rng, ros = np.random.default_rng(SEED), codec(version)
    for ros_type in ALL_TYPES:
        for _ in range(rounds(5)):
            data = ros.bytes_of(random_message(ros_type, rng, ros), ros_type)
            assert ros.bytes_of(ros.message_in(data, ros_type), ros_type) == data


def test_stand_ins_and_wire_messages_convert_to_the_same_bus_message():
    for ros, message in EXAMPLES:
        if ros in TOPIC_TYPES:
            same(from_ros(to_ros(message, ros), ros, type(message)), message)


@pytest.mark.parametrize("version", [1, 2])
def test_services_return_the_result_of_the_bus(version):
    ros, found = codec(version), m.KinematicsResult(T, True, "fine")
    results = {
        "crtk_msgs/QueryForwardKinematics": (found, (SIX,)),
        "crtk_msgs/QueryInverseKinematics": (m.KinematicsResult(SIX, False, "far"), (SIX, T)),
        "crtk_msgs/TriggerOperatingState": (dict(EXAMPLES)["crtk_msgs/OperatingState"], ()),
        "cisst_msgs/ConvertFloat64Array": (SIX, (SIX[:2],)),
        "std_srvs/Trigger": ("1.1.0", ()),
    }
    assert set(results) == SERVICE_TYPES
    for name, (result, arguments) in results.items():
        calls = []

        def call(*values, calls=calls, result=result):
            calls.append(values)
            return result

        def service(request, name=name, call=call):
            received = ros.message_in(ros.bytes_of(request, f"{name}_Request"), f"{name}_Request")
            response = answer(call, name, received, ros)
            return ros.message_in(ros.bytes_of(response, f"{name}_Response"), f"{name}_Response")

        returned = ask(service, name, arguments, ros)
        for value, sent in zip(calls[0], arguments, strict=True):
            np.testing.assert_allclose(value, sent, atol=1e-12)
        if dataclasses.is_dataclass(result):
            same(result, returned)
        else:
            np.testing.assert_array_equal(returned, result)


def test_big_endian_messages_are_read():
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
    position, effort = np.array([0.25]), np.array([-2.0])
    expected = m.JointState(stamp=7 * 10**9 + 8, frame_id="ab", name=("yaw",), position=position, effort=effort)
    decoder = Decoder(SERVO_JP, codec(2))
    for _ in range(2):
        same(expected, decoder(big))


# -- streams -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_an_encoder_gives_the_bytes_of_the_codec_whatever_came_before(version):
    encoders = {}
    variants = [
        (JOINTS, dataclasses.replace(FULL, **changes))
        for changes in (
            {"velocity": m.EMPTY},
            {"name": ("a", "long name"), "frame_id": "PSM1_base"},
            {"position": m.EMPTY, "effort": m.EMPTY},
        )
    ]
    for stamp in (1, STAMP):
        for ros, message in [*EXAMPLES, *variants]:
            encoder = encoders.setdefault(ros, Encoder(ros, codec(version)))
            expected = codec(version).encode(dataclasses.replace(message, stamp=stamp), ros)
            assert encoder(message, stamp) == expected, ros


@pytest.mark.parametrize("version", [1, 2])
def test_a_decoder_reads_the_same_as_the_first_time_whatever_came_before(version):
    """Streams of joint messages whose numbers, names and sizes change, some with damaged bytes."""
    rng, ros = np.random.default_rng(3), codec(version)
    decoder, refused = Decoder(SERVO_JP, ros), 0
    for k in range(600):
        sizes = [(6, 0, 0), (6, 6, 0), (7, 7, 7), (1, 0, 1)][k // 7 % 4]
        names = tuple(f"joint{'x' * (k // 30 % 3)}{n}" for n in range(sizes[0] * (k // 11 % 2)))
        position, velocity, effort = (rng.normal(size=n) for n in sizes)
        message = m.JointState(
            name=names, position=position, velocity=velocity, effort=effort, frame_id="a" * (k // 50)
        )
        data = bytearray(Encoder(JOINTS, ros)(message, int(rng.integers(2**60))))
        if k % 5 == 4:
            data[rng.integers(len(data))] = rng.integers(256)
        try:
            expected = Decoder(SERVO_JP, ros)(bytes(data))
        except TrocarError as error:
            refused += 1
            with pytest.raises(TrocarError, match=re.escape(str(error))):
                decoder(bytes(data))
            continue
        decoded = decoder(bytes(data))
        for key in ("stamp", "frame_id", "name"):
            assert getattr(decoded, key) == getattr(expected, key)
        for key in ("position", "velocity", "effort"):
            assert getattr(decoded, key).tobytes() == getattr(expected, key).tobytes()
    assert refused > 10


@pytest.mark.parametrize("version", [1, 2])
def test_streams_replace_and_read_numbers_without_the_whole_message(version, monkeypatch):
    ros = codec(version)
    encoder, decoder = Encoder(JOINTS, ros), Decoder(SERVO_JP, ros)
    message = m.JointState(name=("yaw",), position=np.array([1.0]))
    decoder(encoder(message, 5))
    monkeypatch.setattr(ros, "encode", None)
    monkeypatch.setattr(ros, "decode", None)
    decoded = decoder(encoder(dataclasses.replace(message, position=np.array([-2.0])), 6))
    assert (decoded.name, decoded.position, decoded.stamp) == (("yaw",), [-2.0], 6)


# -- types -------------------------------------------------------------------------------------------------------------


def test_a_camera_has_the_fields_of_ros_2_in_lower_case():
    info = CameraInfo.of_lens(LENS, 0.005)
    ros = "sensor_msgs/CameraInfo"
    decoded = codec(2).message_in(codec(2).encode(info, ros), ros)
    assert (decoded.width, decoded.height, decoded.distortion_model) == (64, 48, "plumb_bob")
    assert list(decoded.k) == [50.0, 0.0, 32.0, 0.0, 51.0, 24.0, 0.0, 0.0, 1.0]
    assert list(decoded.p) == [50.0, 0.0, 32.0, -0.25, 0.0, 51.0, 24.0, 0.0, 0.0, 0.0, 1.0, 0.0]


def test_names_are_mangled_as_in_ros_2():
    pytest.importorskip("cyclonedds")
    from trocar.transports.ros2 import participant as names

    assert names.topic_name("PSM1/measured_js") == "rt/PSM1/measured_js"
    assert names.request_name("PSM1/forward_kinematics") == "rq/PSM1/forward_kinematicsRequest"
    assert names.reply_name("PSM1/forward_kinematics") == "rr/PSM1/forward_kinematicsReply"
    assert names.dds_name(JOINTS) == "sensor_msgs::msg::dds_::JointState_"
    kinematics = "crtk_msgs::srv::dds_::QueryForwardKinematics_Request_"
    assert names.dds_name("crtk_msgs/QueryForwardKinematics_Request") == kinematics
    assert names.ros_name(kinematics) == "crtk_msgs/QueryForwardKinematics_Request"
    assert names.ros_name("DCPSParticipant") == ""


def test_hashes_stay_those_of_rosbags_for_jazzy():
    # as rosbags 0.11.9 computes them; not compared with an installation of ROS 2
    assert codec(2).type_hash(JOINTS) == "RIHS01_a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e"
    assert codec(2).type_hash("std_msgs/String") == (
        "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
    )
    assert codec(2).type_hash("crtk_msgs/OperatingState") != codec(2).type_hash("crtk_msgs/StringStamped")


def test_checksums_of_ros_1_are_those_of_its_documentation():
    assert codec(1).definition_and_checksum(JOINTS)[1] == "3066dcd76a6cfaef579bd0f34173e9fd"
    assert codec(1).definition_and_checksum("geometry_msgs/PoseStamped")[1] == "d3812c3cbc69362b77dc0b19b345f8f5"
    assert codec(1).service_checksum("std_srvs/Trigger") == "937c9679a518e3a18d831e57125ea522"
    assert codec(1).service_checksum("std_srvs/Empty") == hashlib.md5(b"").hexdigest()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "Invalid or unsupported CDR"),
        (b"\x00\x07\x00\x00" + bytes(80), "Invalid or unsupported CDR"),
        (b"\0\1\0\0" + bytes(7), "cannot be decoded"),
        (b"\0\1\0\0" + bytes(8) + b"\xff\xff\xff\x7f" + bytes(40), "Invalid string length 2147483647"),
        (b"\0\1\0\0" + bytes(8) + b"\x02\0\0\0\xff\0" + bytes(40), "cannot be decoded"),
        (bytes(MAX_BYTES + 1), f"at most {MAX_BYTES}"),
    ],
    ids=["empty", "other encoding", "short", "long sequence", "no text", "oversized"],
)
def test_bytes_that_are_not_messages_are_rejected(data, reason):
    with pytest.raises(TrocarError, match=reason):
        codec(2).message_in(data, JOINTS)


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr("trocar.transports.codec.find_spec", lambda name: None)
    _codec.cache_clear()
    with pytest.raises(TrocarError, match=r"ROS 1 requires the Python package rosbags: pip install 'trocar\[ros1\]'"):
        codec(1)


def test_identities_have_24_bytes_up_to_humble():
    pytest.importorskip("cyclonedds")
    from rosbags.typesys import get_typestore

    from trocar.transports.ros2.node import LENGTHS, STORES, node_info

    sizes = {
        distro: len(node_info(get_typestore(store), LENGTHS[distro], bytes(16), "dvrk", [], []))
        for distro, store in STORES.items()
    }
    assert LENGTHS == {"jazzy": 16, "humble": 24}
    assert sizes["humble"] - sizes["jazzy"] == 8


@pytest.mark.parametrize("version", [1, 2])
def test_a_time_with_more_nanoseconds_than_a_second_is_refused(version):
    ros, decoder = codec(version), Decoder(SERVO_JP, codec(version))
    sample = bytearray(ros.encode(FULL, JOINTS))
    at = decoder._stamp_at
    wrong = sample[:at] + b"\xff\xff\xff\x7f\xff\xff\xff\xff" + sample[at + 8 :]
    for _ in range(2):  # a first message, and one like the last
        with pytest.raises(TrocarError, match="less than 1000000000 nanoseconds"):
            decoder(bytes(wrong))
        assert decoder(bytes(sample)).stamp == STAMP
