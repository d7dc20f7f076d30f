"""Random commands to an arm: it always follows the rules of its state machine.

TROCAR_FUZZ sets the number of commands, TROCAR_FUZZ_SEED selects another series. A failure prints the last commands;
the seed makes it repeatable.
"""

import itertools

import numpy as np
import pytest

import trocar as tr
from tests.support.odd_values import CAMPAIGN, INPUTS, SEED, rounds
from trocar.robot import Robot
from trocar.robot import messages as m
from trocar.robot.controller.constants import PERIOD
from trocar.robot.interface import Direction

COUNT = rounds(2500)
# Operating states that may follow each other; powering up is DISABLED and busy.
FOLLOWS = {
    "DISABLED": {"DISABLED", "ENABLED"},
    "ENABLED": {"ENABLED", "DISABLED", "PAUSED", "FAULT"},
    "PAUSED": {"PAUSED", "ENABLED", "DISABLED", "FAULT"},
    "FAULT": {"FAULT", "DISABLED"},
}
STATE_COMMANDS = ("enable", "disable", "home", "unhome", "pause", "resume", "jump")
HURT = (0.02, 0.02)  # probability of NaN, infinity or a number beyond reason; of a wrong length


class Fuzz:
    """One arm, random commands and the rules."""

    def __init__(self, name, seed):
        scene = tr.Scene({name: tr.SceneArm(arm=name, base=np.eye(4))}, timestep=PERIOD)
        self.robot = Robot(scene, start="ready")
        self.name, self.arm = name, self.robot.controllers[name]
        self.random = np.random.default_rng(seed)
        self.commands = [t for t in self.arm.interface.topics if t.direction is Direction.command]
        self.states, self.said, self.log = [], [], []
        self.robot.bus.subscribe(f"{name}/operating_state", self.states.append)
        for topic in ("warning", "error"):
            self.robot.bus.subscribe(f"{name}/{topic}", lambda message: self.said.append(message.value))
        self.homed = self.robot.simulation().snapshot()

    def vector(self, n, centre=0.0, width=1.0):
        """n numbers, sometimes invalid, and a flag for invalid ones."""
        values = centre + width * self.random.standard_normal(n)
        nan, length = self.random.random(2) < HURT
        if nan and n:
            values[self.random.integers(n)] = self.random.choice([np.nan, np.inf, -np.inf, 1e10, 1e160, -1e308])
        if length:
            values = np.append(values, 0.0)
        return values, bool(nan or length)

    def message(self, topic):
        """A random message of a topic, and a flag for invalid content."""
        n, random = 1 if topic.name.split("/")[1].startswith("jaw") else self.arm.n_tip, self.random
        near = self.arm.hardware.setpoint()[-1:] if n == 1 else self.arm.hardware.setpoint()[: self.arm.n_tip]
        kind = topic.message
        if kind is m.JointState:
            if topic.name.endswith("f"):
                tau, wrong = self.vector(n, 0.0, 0.05)
                return m.JointState(effort=tau), wrong
            if topic.name.endswith("v"):
                dq, wrong = self.vector(n, 0.0, 0.1)
                return m.JointState(velocity=dq), wrong
            relative = topic.name.endswith("r")
            width = 0.02 if "servo" in topic.name else 0.3
            q, wrong = self.vector(n, 0.0 if relative else near, width)
            return m.JointState(position=q), wrong
        if kind is m.Twist:
            v, wrong = self.vector(6, 0.0, 0.02)
            return m.Twist(vector=v), wrong
        if kind is m.Pose:
            relative = topic.name.endswith("r")
            T = np.eye(4) if relative else np.array(self.robot.bus.read(f"{self.name}/setpoint_cp").T)
            T[:3, 3] += 0.01 * random.standard_normal(3)
            wrong = random.random() < 0.05
            if wrong:
                T[random.integers(3), random.integers(4)] = np.nan
            return m.Pose(T=T, frame_id="table"), wrong
        if kind is m.Wrench:
            w, wrong = self.vector(6, 0.0, 0.5)
            return m.Wrench(vector=w), wrong
        if kind is m.CartesianState:
            w, wrong = self.vector(6, 0.0, 0.1)
            return m.CartesianState(wrench=w), wrong
        if kind is m.ImpedanceGoal:
            T = self.robot.bus.read(f"{self.name}/measured_cp").T
            side = m.HalfPlaneGains(p=np.full(3, -100.0), d=np.full(3, -3.0))
            goal = {"force_R": T[:3, :3], "force_position": T[:3, 3], "torque_R": T[:3, :3]}
            return m.ImpedanceGoal(position_positive=side, position_negative=side, **goal), False
        if kind is m.Rotation:
            return m.Rotation(R=self.robot.bus.read(f"{self.name}/measured_cp").T[:3, :3]), False
        if kind is m.Bool:
            return m.Bool(value=bool(random.random() < 0.7)), False
        if kind is m.Float:
            ratio = float(random.choice([0.3, 1.0, 1.0, -1.0, np.nan]))
            return m.Float(value=ratio), not 0 < ratio <= 1
        if kind is m.String:
            return m.String(value="nothing"), True
        return m.Empty(), False

    def act(self):
        """One random command and a few cycles."""
        random, name, arm = self.random, self.name, self.arm
        if arm.substate != "HOMED" and random.random() < 0.15:
            self.make_homed()
        topic = self.commands[random.integers(len(self.commands))]
        if random.random() < 0.15:
            topic = self.arm.interface.topic("state_command")
        still = not (arm.trajectory.active or arm.mode == "effort" or arm.goal is not None)
        wrong = False
        if topic.name == "state_command":
            command = str(random.choice(STATE_COMMANDS, p=[0.3, 0.04, 0.35, 0.01, 0.07, 0.21, 0.02]))
            message = m.String(value=command)
        else:
            message, wrong = self.message(type(topic)(f"{name}/{topic.name}", *(topic.message, topic.direction, "")))
        self.log.append((topic.name, message))
        before, said = arm.hardware.setpoint(), len(self.said)
        tracks = arm.substate == "HOMED"
        self.robot.bus.publish(f"{name}/{topic.name}", message)
        self.robot.step()
        if wrong:
            assert len(self.said) > said, "wrong content without a warning"
            if still and tracks and arm.substate == "HOMED":
                np.testing.assert_allclose(arm.hardware.setpoint(), before, atol=1e-12)
        self.check()
        self.run(int(random.choice([1, 5, 30, 200], p=[0.4, 0.4, 0.17, 0.03])))
        if topic.name == "set_base_frame":  # back, so that poses stay reachable
            self.robot.bus.publish(f"{name}/set_base_frame", m.Pose(T=np.eye(4)))

    def make_homed(self):
        """Enable and home the arm again, because most commands need a homed arm.

        Homing takes thousands of cycles: three times in four the robot is restored as it was at the start.
        """
        if self.random.integers(4):
            self.robot.simulation().restore(self.homed)
            del self.states[:-1]
            return
        for command in ("disable", "enable", "home"):
            self.robot.bus.publish(f"{self.name}/state_command", m.String(value=command))
            for _ in range(400):
                self.run(10)
                if self.arm.substate == {"disable": "DISABLED", "enable": "ENABLED", "home": "HOMED"}[command]:
                    break

    def run(self, cycles):
        for _ in range(max(cycles // 10, 1)):
            self.robot.step(min(cycles, 10))
            self.check()

    def check(self):
        arm, states = self.arm, self.states
        for first, second in itertools.pairwise(states):
            assert second.state in FOLLOWS[first.state], (first, second)
            assert second.stamp > first.stamp
        del states[:-1]
        state = states[-1]
        assert (state.state, state.is_homed, state.is_busy) == (arm.states.state, arm.states.homed, arm.states.busy)
        if state.is_homed:
            assert state.state in ("ENABLED", "PAUSED")
            assert arm.powered
            assert arm.biased
        if state.is_busy:
            assert state.state == "ENABLED" or arm.substate == "POWERING"
        if state.state in ("DISABLED", "FAULT"):
            assert not arm.hardware.powers
        if arm.trajectory.active:
            assert state.is_busy == (arm.mode != "interpolation")
        valid = self.robot.bus.read(f"{self.name}/measured_js").valid
        assert valid == (arm.powered and arm.biased)
        if arm.mode == "position" and arm.substate == "HOMED":
            assert (arm.arm.excess(arm.hardware.setpoint()) < 1e-9).all()
        assert np.isfinite(arm.hardware.q).all()


# The master has a smaller share: its inverse kinematics takes milliseconds.
@pytest.mark.parametrize(("name", "seed", "share"), [("PSM", 1, 0.45), ("ECM", 2, 0.45), ("MTMR", 5, 0.1)])
def test_random_commands_never_break_the_rules_of_an_arm(name, seed, share):
    fuzz = Fuzz(name, seed + 1000 * SEED)
    seen = set()
    for _ in range(round(share * COUNT)):
        try:
            fuzz.act()
            INPUTS[f"CRTK commands to {name}"] += 1
        except AssertionError as error:
            raise AssertionError(f"{error}\nafter {fuzz.log[-8:]}") from None
        seen.add((fuzz.arm.states.state, fuzz.arm.mode))
    if not CAMPAIGN:  # a short piece of a campaign does not reach all of them
        assert {"DISABLED", "ENABLED", "PAUSED"} <= {state for state, _ in seen}
        assert {"position", "trajectory", "effort"} <= {mode for _, mode in seen}
