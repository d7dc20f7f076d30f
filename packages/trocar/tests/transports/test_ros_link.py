"""The pipe between a simulation and the process of a ROS node, without ROS."""

import multiprocessing
import threading

import numpy as np
import pytest

from trocar.errors import TrocarError
from trocar.robot.messages import JointState
from trocar.transports.link import (
    MAX_BYTES,
    Answer,
    Call,
    CommandBatch,
    ProcessLink,
    Publish,
    RefusedMessage,
    receive,
    send,
)


@pytest.fixture
def ends():
    near, far = multiprocessing.Pipe()
    yield near, far
    near.close()
    far.close()


def command(size):
    return ("PSM1/servo_jp", JointState(position=np.zeros(size)))


def test_commands_that_fit_together_travel_together_and_longer_ones_are_refused_alone(ends):
    near, far = ends
    link = ProcessLink(far, MAX_BYTES)
    link.command([command(6)] * 4)
    assert len(receive(near).messages) == 4
    link.command([command(1000), command(3000), command(1000), command(6)])
    found = [receive(near) for _ in range(4)]
    assert [type(said) for said in found] == [CommandBatch, RefusedMessage, CommandBatch, CommandBatch]
    assert [said.messages[0][1].position.size for said in found if isinstance(said, CommandBatch)] == [1000, 1000, 6]
    assert "too long" in found[1].reason
    assert not near.poll()


def test_a_call_returns_its_answer_or_says_why_there_is_none(ends):
    near, far = ends
    link = ProcessLink(far, MAX_BYTES)

    def serve():
        for _ in range(2):
            call = receive(near)
            assert isinstance(call, Call)
            send(near, Answer(call.number, *((42, "") if call.service == "good" else (None, "no such service"))))

    threads = [threading.Thread(target=serve), threading.Thread(target=lambda: list(link.values()))]
    for thread in threads:
        thread.start()
    assert link.call("good", ()) == 42
    with pytest.raises(TrocarError, match="no such service"):
        link.call("bad", ())
    with pytest.raises(TrocarError, match="bytes"):
        link.call("good", (np.zeros(3000),))
    send(near, None)
    for thread in threads:
        thread.join(10.0)
    assert link.closed


def test_publications_end_when_the_other_process_ends(ends):
    near, far = ends
    link = ProcessLink(far)
    send(near, Publish((("PSM1/status", b""),)))
    near.close()
    assert [said.messages for said in link.values()] == [(("PSM1/status", b""),)]
    assert link.closed
