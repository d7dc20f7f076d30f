"""Random ROS messages to every command of an arm, as rospy would pass them: typed, with any content."""

import re
import struct

import numpy as np
import pytest

from tests.support.crtk_robot import started
from tests.support.odd_values import INPUTS, SEED, number, numbers, rounds, text
from trocar.errors import TrocarError
from trocar.robot.interface import INTERFACES, Direction
from trocar.transports.remote_bus import devices, topics_of_nodes
from trocar.transports.ros_conversion import answer, from_ros, to_ros
from trocar.transports.ros_messages import MESSAGES, SERVICES

# Numbers of 1e308 overflow in comparisons with a limit; they only have to be rejected.
pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning"),
]
STATES = ("DISABLED", "ENABLED", "PAUSED", "FAULT")


def odd(rng, kind):
    """A value of a field's type."""
    listed = re.fullmatch(r"(.+)\[(\d*)\]", kind)
    if listed and listed[1] == "float64":
        return numbers(rng, 6)
    if listed:
        return [odd(rng, listed[1]) for _ in range(int(listed[2] or rng.integers(0, 4)))]
    if kind == "string":
        return text(rng)
    if kind == "bool":
        return bool(rng.integers(2))
    if re.fullmatch(r"u?int\d+", kind):
        return int(rng.integers(0, 100))
    if kind.startswith("float"):
        return number(rng)
    return filled(rng, MESSAGES[kind]) if kind in MESSAGES else None


def filled(rng, message):
    made = message()
    for name, kind in message._fields.items():
        value = odd(rng, kind)
        if value is not None:  # a time stays 0
            setattr(made, name, value)
    return made


@pytest.mark.parametrize("name", ["PSM", "MTMR"])
def test_ros_messages_are_executed_or_rejected(name):
    rng = np.random.default_rng(SEED)
    robot = started(name)
    kind = robot.devices[name]
    commands = [topic for topic in INTERFACES[kind].topics if topic.direction is Direction.command]
    outcomes = {"sent": 0, "refused": 0}
    for _ in range(rounds(400)):
        topic = commands[rng.integers(len(commands))]
        INPUTS[f"ROS messages to {name}"] += 1
        try:
            message = from_ros(filled(rng, MESSAGES[topic.ros]), topic.ros, topic.message)
            robot.bus.publish(f"{name}/{topic.name}", message)
            outcomes["sent"] += 1
        except TrocarError:
            outcomes["refused"] += 1
        robot.step(2)
        state = robot.bus.read(f"{name}/operating_state")
        assert state.state in STATES
        assert np.isfinite(robot.bus.read(f"{name}/measured_js").position).all(), topic.name
    assert outcomes["sent"] > outcomes["refused"]


def test_ros_requests_are_answered_or_rejected():
    rng = np.random.default_rng(SEED)
    robot = started("PSM")
    services = INTERFACES["PSM"].services
    for _ in range(rounds(200)):
        service = services[rng.integers(len(services))]
        INPUTS["ROS service calls"] += 1
        kind = SERVICES[service.ros]
        try:
            found = answer(
                lambda *given, name=service.name: robot.bus.call(f"PSM/{name}", *given),
                service.ros,
                filled(rng, kind.Request),
            )
        except (TrocarError, ValueError):  # which the bridge passes on as the text of a failed call
            continue
        assert isinstance(found, kind.Response)


def test_every_message_of_the_table_survives_a_round_trip_through_ros():
    rng = np.random.default_rng(SEED)
    topics = {(topic.message, topic.ros) for interface in INTERFACES.values() for topic in interface.topics}
    for message, ros in sorted(topics, key=str):
        sent = filled(rng, MESSAGES[ros])
        if ros == "std_msgs/Float64MultiArray" and message.__name__ == "Matrix":
            dimension = MESSAGES["std_msgs/MultiArrayDimension"]
            sent.layout.dim, sent.data = (
                [dimension("rows", 2, 6), dimension("cols", 3, 3)],
                [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            )
        try:
            there = from_ros(sent, ros, message)
        except TrocarError:
            continue
        back = from_ros(to_ros(there, ros), ros, message)
        for key, value in vars(there).items():
            again = getattr(back, key)
            if isinstance(value, np.ndarray) and np.isfinite(value).all():
                np.testing.assert_allclose(again, value, atol=1e-12, err_msg=f"{ros} {key}")
            elif isinstance(value, str | bool | int):
                assert again == value, f"{ros} {key}"


def test_any_names_and_types_of_other_nodes_are_sorted():
    rng = np.random.default_rng(SEED)
    known = [f"A/{topic.name}" for topic in INTERFACES["PSM"].topics]
    for _ in range(rounds(200)):
        seen = [
            {
                (known[rng.integers(len(known))] if rng.integers(2) else text(rng)): list(MESSAGES)[
                    rng.integers(len(MESSAGES))
                ]
                for _ in range(rng.integers(0, 30))
            }
            for _ in range(2)
        ]
        INPUTS["ROS graphs"] += 1
        topics = topics_of_nodes(seen[0], seen[1])
        assert set(topics) <= set(seen[0]) | set(seen[1])
        assert set(devices(topics).values()) <= set(INTERFACES)


def test_a_signalling_nan_in_a_quaternion_is_rejected_without_a_warning():
    made = MESSAGES["geometry_msgs/PoseStamped"]()
    made.pose.orientation.x = struct.unpack("<d", bytes.fromhex("010000000000f07f"))[0]
    pose = next(t.message for t in INTERFACES["PSM"].topics if t.ros == "geometry_msgs/PoseStamped")
    with np.errstate(invalid="raise"), pytest.raises(TrocarError, match="quaternion is not finite"):
        from_ros(made, "geometry_msgs/PoseStamped", pose)
