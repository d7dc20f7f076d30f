"""Random bytes on command topics in ROS 1 and ROS 2: any bytes give a bus message or a plain error.

TROCAR_FUZZ sets the number of samples. A failure prints the sample; the seed makes it repeatable.
"""

import numpy as np
import pytest

from tests.support.odd_values import INPUTS, SEED, rounds
from tests.support.ros_samples import damaged, random_message
from trocar.errors import TrocarError
from trocar.robot import Robot
from trocar.robot.interface import Direction
from trocar.transports.codec import Decoder, codec

COUNT = rounds(1000)


@pytest.mark.parametrize("version", [1, 2])
def test_random_samples_are_messages_or_plain_errors_and_never_stop_the_robot(version):
    rng, ros = np.random.default_rng(SEED), codec(version)
    with Robot("psm", start="ready") as robot:
        topics = [topic for topic in robot.bus.topics.values() if topic.direction is Direction.command]
        decoders = {topic.name: Decoder(topic, ros) for topic in topics}
        accepted = refused = 0
        for _ in range(COUNT):
            topic = topics[rng.integers(len(topics))]
            INPUTS[f"samples of ROS {version}"] += 1
            sample = damaged(ros.bytes_of(random_message(topic.ros, rng, ros), topic.ros), rng)
            try:
                message = decoders[topic.name](sample)
            except TrocarError:
                refused += 1
                continue
            except Exception as error:
                raise AssertionError(f"{topic.name}: {sample.hex()}") from error
            accepted += 1
            robot.bus.publish(topic.name, message)
            robot.step()
        assert accepted > COUNT // 4
        assert refused > COUNT // 20
        state = robot.bus.read("PSM/operating_state")
        assert state.state in ("DISABLED", "ENABLED", "PAUSED", "FAULT")
        assert all(np.isfinite(robot.controllers["PSM"].hardware.q))
