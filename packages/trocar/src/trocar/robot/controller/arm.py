"""Controller of one arm: motion commands and control laws. PSM, ECM and MTM extend it.

Follows mtsIntuitiveResearchKitArm of sawIntuitiveResearchKit 2.4: a position command stays in force until the next, a
new move replaces the goal of the running one, and a command that cannot be executed causes a warning and changes
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from trocar.errors import TrocarError
from trocar.robot.controller import constants as c
from trocar.robot.controller.constants import CARTESIAN, EFFORT, JOINT, POSITION, TRAJECTORY
from trocar.robot.controller.hardware import Hardware
from trocar.robot.controller.power_on import MOVING, PoweredArm
from trocar.robot.controller.reports import Reports
from trocar.robot.controller.states import ENABLED, MAX_VALUE, CommandQueue, Refused, plain, usable
from trocar.robot.controller.tip import Tip, body_and_spatial, rates, turned
from trocar.robot.interface import Direction, Interface, Topic
from trocar.robot.messages import Bool, Float, Message
from trocar.spatial import Array, checked_pose

CLIPPED = 1e-3  # distance of a goal from a joint limit that is worth a warning [rad, m]
MIN_RATIO = 1e-6  # smallest ratio of velocities and accelerations: slower moves would take years


class ArmController(PoweredArm):
    """The dVRK's arm component.

    Args:
        hardware: motors, sensors and brakes of the simulated arm. interface: its topics.

    Attributes:
        tip: kinematics of its first n_tip joints. reports: published states.
        space, mode: control space and mode, "" after a change of state. gravity_compensation: enabled.
        absolute_wrenches: body wrenches are in axes of the frame of reference.
        goal: goal of a servo command, followed once per cycle. effort: commanded joint efforts (n,).
        wrench: frame and values of the commanded wrench. pushed: joint efforts (n,) of a Cartesian state command.
    """

    MEMORY: ClassVar[tuple[str, ...]] = (
        *("space", "mode", "goal", "wrench", "effort", "pushed", "gravity_compensation", "absolute_wrenches"),
        *("_gravity", "_velocity"),
    )

    def __init__(self, hardware: Hardware, interface: Interface) -> None:
        super().__init__(hardware)
        self.interface, self.n_tip = interface, self.arm.tip_joints
        self.tip = Tip(self.arm)
        self.reports = Reports(self)
        self.gravity_compensation = self.constants.gravity_compensation
        self.absolute_wrenches = False
        self.space = self.mode = ""
        self.goal: tuple[str, Any] | None = None
        self.wrench: tuple[str, Array] = ("body", np.zeros(6))
        self.effort = np.zeros(self.n)
        self._gravity: Array | None = None  # efforts fed forward
        self.pushed: Array | None = None
        self._velocity = np.zeros(self.n)  # initial velocity of the next move
        self._refusals, self._warned, self._outside = 0, -np.inf, 0
        self._clipped = -np.inf  # time of the last warning of a clipped setpoint [s]
        self._inbox = CommandQueue()
        self._put_on_bus()

    # -- bus -----------------------------------------------------------------------------------------------------------

    def _put_on_bus(self) -> None:
        topics = [topic for topic in self.interface.topics if topic.direction is Direction.command]
        commands = {topic.name: self._inbox.accept(self._handler(topic)) for topic in topics}
        self.bus.add(
            self.name, self.interface, states=self.sources(), commands=commands, services=self.reports.services()
        )
        self.states.publish()
        self.set_ratio(1.0)

    def sources(self) -> dict[str, Callable[[], Message]]:
        return self.reports.states()

    def _handler(self, topic: Topic) -> Callable[[Any], None]:
        """The function of a command: one of these, or the method of its name with the values of the message."""
        others: dict[str, Callable[[Any], None]] = {
            "free": lambda m: self.servo_jf(np.zeros(self.n_tip), "free"),
            "body/servo_cf": lambda m: self.servo_cf("body", m.vector),
            "spatial/servo_cf": lambda m: self.servo_cf("spatial", m.vector),
            "set_base_frame": self.reports.set_base_frame,
            "use_gravity_compensation": lambda m: setattr(self, "gravity_compensation", bool(m.value)),
            "body/set_cf_orientation_absolute": lambda m: setattr(self, "absolute_wrenches", bool(m.value)),
            "trajectory_j/set_ratio": lambda m: self.set_ratio(m.value),
            "trajectory_j/set_ratio_v": lambda m: self.set_ratio(m.value, of="v"),
            "trajectory_j/set_ratio_a": lambda m: self.set_ratio(m.value, of="a"),
        }
        if topic.name in others:
            return others[topic.name]
        method = topic.name.replace("/", "_")
        return lambda message: getattr(self, method)(*topic.values(message))

    def post(self, action: Callable[[ArmController], None]) -> None:
        """Let another device act on this arm at the start of its next cycle."""
        self._inbox.accept(action)(self)

    # -- cycle ---------------------------------------------------------------------------------------------------------

    def update(self) -> None:
        """One control cycle: execute the received commands, then control."""
        self._inbox.execute(self.states)
        if self.substate in MOVING:
            self.progress()
        if self.substate in ("HOMED", "MANUAL"):
            self.control()

    def control(self) -> None:
        if self.goal is not None:
            kind, goal = self.goal
            self.goal = None
            self.follow(kind, goal)
        if self.trajectory.active:
            arrived = self.trajectory.advance(c.PERIOD)
            self.hardware.track(self.clipped(self.trajectory.q), self.trajectory.dq)
            if arrived and self.mode == TRAJECTORY:
                self.end_move(True)
        if self.mode == EFFORT:
            self.hardware.exert(self.commanded_effort())
        feed = self.pushed
        if self.gravity_compensation and (self.constants.compensates_positions or self.mode != POSITION):
            # gravity changes little in 2 ms and costs as much as the rest of an arm's control
            if self._gravity is None or self.hardware.loop.cycle % c.GRAVITY_CYCLES == 0:
                self._gravity = self.hardware.gravity()
            feed = self._gravity if feed is None else self._gravity + feed
        else:
            self._gravity = None
        self.hardware.feed_forward(feed)

    def enter(self, substate: str) -> None:
        super().enter(substate)
        self.space = self.mode = ""
        self.goal = None

    def hold_here(self) -> None:
        """Hold the measured position from now on, if the arm is ready."""
        if self.substate == "HOMED":
            self.hardware.track(self.clipped(self.hardware.q), None, check=True)
            self.enter("HOMED")

    def adopt(self) -> None:
        """Continue with the arm of a changed scene; state, commands and setpoint stay."""
        super().adopt()
        self.tip = self.reports.tip = Tip(self.arm)
        self.reports.forget()
        self._gravity = None

    # -- readiness -----------------------------------------------------------------------------------------------------

    @property
    def tip_ready(self) -> bool:
        """True if the tip is reported and can be commanded."""
        return self.joints_ready

    @property
    def is_safe(self) -> bool:
        """True if inserted far enough to control the tip."""
        return True

    def ready(self, command: str, space: str = JOINT) -> bool:
        """True if a command can be executed; otherwise warns, at most once every 2 s."""
        able = self.joints_ready if space == JOINT else self.tip_ready
        if self.states.state == ENABLED and self.substate == "HOMED" and able:
            self._refusals, self._warned = 0, -np.inf
            return True
        if self.hardware.loop.time - self._warned > c.WARNING_INTERVAL:
            more = f" ({self._refusals} errors)" if self._refusals > 1 else ""
            self.states.warning(f"{command}, arm not ready{more}")
            self._warned = self.hardware.loop.time
        self._refusals += 1
        return False

    def switch(self, space: str, mode: str) -> bool:
        """Change control space and mode; False if the arm is not past its cannula for Cartesian control."""
        if (space, mode) == (self.space, self.mode):
            return True
        if space == CARTESIAN and self.space != CARTESIAN:
            if not self.is_safe:
                if self._outside % 1000 == 0:
                    self.states.warning(
                        "tool/endoscope needs to be inserted past the cannula to switch to cartesian space"
                    )
                self._outside += 1
                return False
            self._outside = 0
        self.space = space
        if mode != self.mode:
            self.goal = self.pushed = None
            # a move starts with the current velocity of the setpoint
            self._velocity = np.zeros(self.n)
            if mode not in (POSITION, EFFORT) and self.trajectory.active:
                self._velocity = self.trajectory.dq
            elif mode not in (POSITION, EFFORT) and self.mode == POSITION:
                self._velocity = self.hardware.dq
            self.interrupt()
            self.effort = np.zeros(self.n)
            self.mode = mode
            if mode == EFFORT:
                self.hardware.exert(self.commanded_effort())
            else:
                self.hardware.track(self.clipped(self.hardware.setpoint()), None, check=True)
            self.states.status(f"control {space}/{mode}")
        return True

    # -- motion --------------------------------------------------------------------------------------------------------

    def hold(self) -> None:
        if self.ready("hold") and self.switch(JOINT, POSITION):
            self.goal = "joints", (self.hardware.setpoint(), None)

    def servo_jp(self, positions: Array, velocities: Array) -> None:
        q = self.checked("servo_jp", positions)
        dq = self.checked("servo_jp", velocities) if len(velocities) else None
        if self.ready("servo_jp") and self.switch(JOINT, POSITION):
            self.goal = "joints", (self.padded(q), None if dq is None else self.padded(dq, np.zeros(self.n)))

    def servo_jr(self, difference: Array) -> None:
        dq = self.checked("servo_jr", difference)
        if self.ready("servo_jr") and self.switch(JOINT, POSITION):
            waiting = self.goal if self.goal is not None and self.goal[0] == "joints" else None
            q = self.hardware.setpoint() if waiting is None else waiting[1][0]
            self.goal = "joints", (q + self.padded(dq, np.zeros(self.n)), None)

    def servo_cp(self, T: Array) -> None:
        T = self.checked_pose("servo_cp", T)
        if self.ready("servo_cp", CARTESIAN) and self.switch(CARTESIAN, POSITION):
            self.goal = "tip", (T, None, None)

    def servo_cs(self, message: Any) -> None:
        T = None if message.T is None else self.checked_pose("servo_cs", message.T)
        twist, wrench = (
            None if x is None else self.checked_vector("servo_cs", x) for x in (message.twist, message.wrench)
        )
        if T is None and twist is None and wrench is None:
            self.servo_cf("body", np.zeros(6))
        elif self.ready("servo_cs", CARTESIAN) and self.switch(CARTESIAN, POSITION):
            self.goal = "tip", (T, twist, wrench)

    def servo_jf(self, efforts: Array, command: str = "servo_jf") -> None:
        tau = self.checked(command, efforts)
        if self.ready(command) and self.switch(JOINT, EFFORT):
            self.goal = None
            self.effort = self.padded(tau, np.zeros(self.n))

    def servo_cf(self, frame: str, wrench: Array) -> None:
        command = f"{frame}_servo_cf"
        w = self.checked_vector(command, wrench)
        if self.ready(command, CARTESIAN) and self.switch(CARTESIAN, EFFORT):
            if frame != self.wrench[0]:
                self.states.status(f"effort cartesian WRENCH_{frame.upper()}")
            self.goal, self.wrench = None, (frame, w)

    def move_jp(self, positions: Array) -> None:
        q = self.checked("move_jp", positions)
        if self.ready("move_jp") and self.switch(JOINT, TRAJECTORY):
            self.begin_move(self.padded(q, self.target()))

    def move_jr(self, difference: Array) -> None:
        dq = self.checked("move_jr", difference)
        if self.ready("move_jr") and self.switch(JOINT, TRAJECTORY):
            self.begin_move(self.target() + self.padded(dq, np.zeros(self.n)))

    def move_cp(self, T: Array) -> None:
        T = self.checked_pose("move_cp", T)
        if self.ready("move_cp", CARTESIAN) and self.switch(CARTESIAN, TRAJECTORY):
            q = self.solved(T)
            if q is None:
                self.trajectory.stop()
                self.bus.publish(f"{self.name}/goal_reached", Bool(value=False))
                self.states.set(busy=False)
                return
            self.begin_move(self.padded(q, self.target()))

    def target(self) -> Array:
        """Goal (n,) of the running move, or the setpoint."""
        return self.trajectory.goal if self.trajectory.active else self.hardware.setpoint()

    def begin_move(self, goal: Array) -> None:
        """Start a motion from the setpoint to joint positions (n,)."""
        running = self.trajectory.active
        q = self.trajectory.q if running else self.hardware.setpoint()
        dq = self.trajectory.dq if running else self._velocity
        self._velocity = np.zeros(self.n)
        self._warn_if_clipped("move", goal)
        try:
            self.trajectory.start(q, dq, self.clipped(goal))
        except TrocarError as error:
            self.states.error(str(error))
            self.trajectory.stop()
            self.end_move(False)
            return
        self.states.set(busy=True)

    def _warn_if_clipped(self, command: str, goal: Array) -> bool:
        """Name the joints of a goal (n,) that the arm cannot reach; True if there are any."""
        reached = self.clipped(goal)
        beyond = [
            f"{joint.name} {wanted:.4g} to {allowed:.4g} {unit}"
            for joint, unit, wanted, allowed in zip(self.arm.joints, self.arm.joint_units, goal, reached, strict=True)
            if abs(wanted - allowed) > CLIPPED
        ]
        if beyond:
            self.states.warning(f"{command}, goal beyond the joint limits, clipped: {', '.join(beyond)}")
        return bool(beyond)

    def end_move(self, reached: bool) -> None:
        """End the running move; clients receive the last sample before the arm is idle."""
        self.trajectory.stop()
        self.bus.publish(f"{self.name}/goal_reached", Bool(value=reached))
        self.bus.publish_states()
        self.states.set(busy=False)

    def interrupt(self) -> None:
        if self.trajectory.active:
            if self.substate == "HOMED" and self.mode == TRAJECTORY:
                self.end_move(False)
            self.trajectory.stop()

    def set_ratio(self, ratio: float, of: str = "va") -> None:
        """Scale velocities (v) and accelerations (a) of moves that begin from now on."""
        if not MIN_RATIO <= ratio <= 1.0:
            name = "set_ratio" if of == "va" else f"set_ratio_{of}"
            raise Refused(f"trajectory_j_{name}, ratio must be within ]0;1], received {ratio:g}")
        path = self.trajectory
        for kind in of:
            setattr(path, f"ratio_{kind}", ratio)
        both = path.ratio_v if path.ratio_v == path.ratio_a else 0.0
        for key, value in (("ratio", both), ("ratio_v", path.ratio_v), ("ratio_a", path.ratio_a)):
            self.bus.publish(f"{self.name}/trajectory_j/{key}", Float(value=value))

    # -- control laws --------------------------------------------------------------------------------------------------

    def follow(self, kind: str, goal: Any) -> None:
        self.pushed = None
        if kind == "joints":
            q, dq = goal
            now = self.hardware.loop.time
            if now - self._clipped > c.WARNING_INTERVAL and self._warn_if_clipped("servo_jp", q):
                self._clipped = now
            self.hardware.track(self.clipped(q), dq, asked=q)
            return
        T, twist, wrench = goal
        q = self.hardware.q[: self.n_tip] if T is None else self.solved(T)
        if q is None:
            return
        dq = None
        if twist is not None or wrench is not None:
            J, R_base_reference = self.reports.tip_motion()[1], self.reports.T_base_reference[:3, :3]
            if twist is not None:
                dq = np.zeros(self.n)
                dq[: self.n_tip] = rates(J, turned(R_base_reference, twist))
            if wrench is not None:
                self.pushed = np.zeros(self.n)
                self.pushed[: self.n_tip] = J.T.dot(turned(R_base_reference, wrench))
        q = self.padded(q)
        self.hardware.track(self.clipped(q), dq, asked=q)

    def solved(self, T: Array) -> Array | None:
        """Tip joints for a pose in the reference frame; None, with an error message, if inverse kinematics fails."""
        seed = self.hardware.q[: self.n_tip]
        local = self.reports.T_base_reference.dot(T)
        try:
            return self.solve(local, seed)
        except TrocarError as error:
            self.states.error(f"unable to solve inverse kinematics ({error})")
            return None

    def solve(self, local: Array, seed: Array) -> Array:
        """Inverse kinematics (n_tip,) of a proper pose (4, 4) in the arm's base."""
        distance = math.hypot(*local[:3, 3].tolist())
        if distance > c.MAX_DISTANCE:
            raise TrocarError(f"the position is {distance:g} m from the arm's base")
        if self.arm.has_rcm and distance < c.MIN_DISTANCE_TO_RCM:
            raise TrocarError("InverseKinematics, can't solve IK too close to RCM")
        return self.tip.joints(local, seed)

    def commanded_effort(self) -> Array:
        """Joint efforts (n,) of effort control."""
        if self.space == JOINT:
            return self.effort
        frame, w = self.wrench
        if not np.count_nonzero(w):
            tau = self.effort.copy()
            tau[: self.n_tip] = 0.0
            return tau
        T, J = self.reports.tip_motion()
        if frame == "spatial":
            return self.padded(body_and_spatial(T, J)[2].T.dot(w), self.effort)
        # J' of the wrench in base axes equals that of the body Jacobian with the wrench in tip axes
        R = self.reports.T_base_reference[:3, :3] if self.absolute_wrenches else T[:3, :3]
        return self.padded(J.T.dot(turned(R, w)), self.effort)

    # -- arguments -----------------------------------------------------------------------------------------------------

    def padded(self, q: Array, rest: Array | None = None) -> Array:
        """Tip joints completed with the other joints from `rest` (n,) or the setpoint."""
        if len(q) == self.n:
            return np.array(q)
        padded = self.hardware.setpoint() if rest is None else rest.copy()
        padded[: len(q)] = q
        return padded

    def checked(self, command: str, values: Array) -> Array:
        if plain(values, self.n_tip):
            return values
        if np.shape(values) != (self.n_tip,):
            raise Refused(f"{command}, expected {self.n_tip} joint values, received {np.size(values)}")
        if not usable(values):
            raise Refused(f"{command}, received a value that is not finite or beyond {MAX_VALUE:g}")
        return np.asarray(values, dtype=float)

    def checked_vector(self, command: str, values: Array, n: int = 6) -> Array:
        if plain(values, n):
            return values
        if np.shape(values) != (n,) or not usable(values):
            noun = "value" if n == 1 else "values"
            raise Refused(f"{command}, expected {n} finite {noun} within {MAX_VALUE:g}, received {values}")
        return np.asarray(values, dtype=float)

    def checked_pose(self, command: str, T: Array) -> Array:
        try:
            return checked_pose(T)
        except TrocarError as error:
            raise Refused(f"{command}, {error}") from None
