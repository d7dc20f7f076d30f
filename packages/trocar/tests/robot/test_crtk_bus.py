"""The bus and the table of the interface."""

import numpy as np
import pytest

from trocar.errors import TrocarError
from trocar.robot.bus import Bus
from trocar.robot.interface import ARM, INTERFACES, PSM, Direction, Interface, Topic
from trocar.robot.messages import Bool, Empty, Float, String

DEVICE = Interface(
    (
        Topic("level", Float, Direction.state, "std_msgs/Float64"),
        Topic("note", String, Direction.event, "std_msgs/String"),
        Topic("set", Float, Direction.command, "std_msgs/Float64"),
    )
)


class Tank:
    """A device with one number."""

    def __init__(self):
        self.now, self.level, self.samples = 5, 1.0, 0
        self.bus = Bus(lambda: self.now)
        self.bus.add("tank", DEVICE, states={"level": self.sample}, commands={"set": self.set})

    def sample(self):
        self.samples += 1
        return Float(value=self.level, stamp=self.now)

    def set(self, message):
        self.level = message.value


@pytest.fixture
def tank():
    return Tank()


def test_a_command_reaches_its_device(tank):
    tank.bus.publish("tank/set", Float(value=3.0))
    assert tank.bus.read("tank/level").value == 3.0


def test_a_state_without_subscribers_is_not_sampled(tank):
    tank.bus.publish_states()
    assert tank.samples == 0


def test_a_subscriber_of_a_state_gets_the_current_sample_at_once_and_then_every_one(tank):
    got = []
    subscription = tank.bus.subscribe("tank/level", lambda m: got.append(m.value))
    tank.level = 2.0
    tank.bus.publish_states()
    subscription.close()
    tank.bus.publish_states()
    assert got == [1.0, 2.0]


def test_a_late_subscriber_of_an_event_gets_the_last_one(tank):
    assert tank.bus.read("tank/note") is None
    for text in ("first", "second"):
        tank.bus.publish("tank/note", String(value=text))
    got = []
    tank.bus.subscribe("tank/note", lambda m: got.append(m.value))
    assert got == ["second"]
    assert [m.value for m in tank.bus.history("tank/note")] == ["first", "second"]


def test_stamps_of_events_strictly_increase_while_the_clock_stands_still_or_jumps_back(tank):
    stamps = [tank.bus.publish("tank/note", String(value="a")).stamp for _ in range(3)]
    tank.now = 2
    stamps.append(tank.bus.publish("tank/note", String(value="a")).stamp)
    tank.now = 100
    stamps.append(tank.bus.publish("tank/note", String(value="a")).stamp)
    assert all(np.diff(stamps) > 0)
    assert stamps[0] > 5
    assert stamps[-1] > 100


def test_a_message_of_another_type_is_refused(tank):
    with pytest.raises(TrocarError, match="tank/set takes a Float"):
        tank.bus.publish("tank/set", Bool(value=True))


def test_an_unknown_topic_is_refused_with_the_nearest_name(tank):
    with pytest.raises(TrocarError, match="tank/level"):
        tank.bus.read("tank/levle")


def test_a_device_must_serve_its_whole_interface():
    with pytest.raises(TrocarError, match="must serve exactly the commands"):
        Bus(lambda: 1).add("tank", DEVICE, states={"level": lambda: Float(value=0.0)})


@pytest.mark.parametrize("kind", INTERFACES)
def test_no_interface_names_a_topic_or_service_twice(kind):
    names = [topic.name for topic in INTERFACES[kind].topics]
    services = [service.name for service in INTERFACES[kind].services]
    assert len(set(names)) == len(names)
    assert len(set(services)) == len(services)


def test_events_are_latched_and_states_have_the_rate_of_the_dvrk():
    assert PSM.topic("tool_type").latched
    assert PSM.topic("operating_state").latched
    assert not PSM.topic("measured_js").latched
    assert {topic.rate for topic in PSM.topics if topic.direction is Direction.state} == {100.0}


def test_the_interface_has_every_topic_that_the_real_console_needs():
    # dvrk_arms_from_ros of sawIntuitiveResearchKit 2.4
    commands = "hold free state_command servo_cp servo_jp body/servo_cf use_gravity_compensation jaw/servo_jp"
    states = "period_statistics setpoint_js measured_js setpoint_cp measured_cp measured_cv jaw/setpoint_js"
    events = "operating_state error warning status"
    for names, direction in ((commands, "command"), (states, "state"), (events, "event")):
        for name in names.split():
            assert PSM.topic(name).direction == direction
    assert {"servo_ci", "lock_orientation"} <= {t.name for t in INTERFACES["MTM"].topics} - {t.name for t in ARM.topics}


def test_an_event_without_content_can_be_published():
    bus = Bus(lambda: 1)
    bus.add("arm", Interface((Topic("pinch", Empty, Direction.event, "std_msgs/Empty"),)))
    assert bus.publish("arm/pinch", Empty()).valid
