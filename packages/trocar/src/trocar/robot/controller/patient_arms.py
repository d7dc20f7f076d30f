"""Controllers of patient-side arms: clutch buttons; the endoscope of an ECM; adapter, instrument and jaw of a PSM.

The simulated instrument always exists; adapter and tool are present from the start, and `emulate_tool_present` removes
the tool or inserts it again, which engages its discs again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from trocar.arms.instruments import load_instrument
from trocar.errors import TrocarError
from trocar.robot.controller import constants as c
from trocar.robot.controller.arm import CARTESIAN, EFFORT, JOINT, POSITION, TRAJECTORY, ArmController
from trocar.robot.controller.hardware import Hardware
from trocar.robot.controller.states import Refused
from trocar.robot.interface import Interface
from trocar.robot.messages import Empty, JointState, Joy, Message, String
from trocar.spatial import Array, skew

JAW = 6
ENGAGE_DEPTH = 0.025  # a tool with its tip this far past the RCM counts as engaged [m]
MIN_INSERTION = 0.040  # of an ECM from inverse kinematics [m]


class ClutchedArm(ArmController):
    """An arm with a clutch on its carriage (PSM, ECM)."""

    def __init__(self, hardware: Hardware, interface: Interface) -> None:
        super().__init__(hardware, interface)
        for button in ("IO/arm_clutch", "IO/SUJ_clutch", "arm_clutch"):
            self.bus.publish(f"{self.name}/{button}", Joy(buttons=(Joy.RELEASED,)))

    def press_clutch(self, pressed: bool) -> None:
        for button in ("IO/arm_clutch", "arm_clutch"):
            self.bus.publish(f"{self.name}/{button}", Joy(buttons=(Joy.PRESSED if pressed else Joy.RELEASED,)))
        if pressed and self.substate == "HOMED" and self.joints_ready:
            self.enter("MANUAL")
        elif pressed:
            self.states.warning("arm not ready yet, manipulator clutch ignored")
        elif self.substate == "MANUAL":
            self.enter("HOMED")

    def enter(self, substate: str) -> None:
        super().enter(substate)
        if substate == "MANUAL":
            self.space, self.mode, self.effort = JOINT, EFFORT, np.zeros(self.n)
            self.states.set("ENABLED", busy=True)


class ECMController(ClutchedArm):
    """An arm that reports the type of its endoscope."""

    def __init__(self, hardware: Hardware, interface: Interface) -> None:
        super().__init__(hardware, interface)
        T = self.tip.pose(np.array(self.arm.home[: self.n_tip]))
        self._shaft = T[:3, :3].T @ T[:3, 3] / np.linalg.norm(T[:3, 3])  # direction away from the RCM, in the tip frame
        self.endoscope = f"{self.arm.generation}_HD_{self.arm.instrument.upper()}"
        self.bus.publish(f"{self.name}/endoscope_type", String(value=self.endoscope))

    def set_endoscope_type(self, name: str) -> None:
        """The mounted endoscope is part of the scene: only its own name is accepted."""
        if name != self.endoscope:
            raise Refused(f'endoscope type "{name}" is not supported; this arm carries {self.endoscope}')
        self.bus.publish(f"{self.name}/endoscope_type", String(value=name))

    def solve(self, local: Array, seed: Array) -> Array:
        """As for every arm, but with the goal turned until its shaft points away from the RCM, as the dVRK turns it.

        The endoscope never moves into the cannula.
        """
        q = super().solve(self._aligned(local), seed)
        q[2] = max(q[2], MIN_INSERTION)
        return q

    def _aligned(self, T: Array) -> Array:
        """A pose (4, 4) with the same position and the nearest orientation that four joints can have there."""
        goal, distance = T[:3, 3], np.linalg.norm(T[:3, 3])
        if distance < c.MIN_DISTANCE_TO_RCM:
            return T  # refused by inverse kinematics
        shaft, away = T[:3, :3] @ self._shaft, goal / distance
        axis, cosine = np.cross(shaft, away), float(shaft @ away)
        if cosine < -1.0 + 1e-9:
            raise TrocarError("the endoscope would look away from its goal")
        K = skew(axis)
        aligned = T.copy()
        aligned[:3, :3] = (np.eye(3) + K + K @ K / (1.0 + cosine)) @ T[:3, :3]
        return aligned


class PSMController(ClutchedArm):
    """An arm with separate commands for its last joint, the jaw."""

    MEMORY: ClassVar[tuple[str, ...]] = (
        *("adapter_engaged", "tool_engaged", "adapter_present", "tool_present"),
        *("_jaw", "_jaw_goal_known", "_must_engage", "_stages"),
    )

    def __init__(self, hardware: Hardware, interface: Interface) -> None:
        self.adapter_engaged = self.tool_engaged = False
        self.adapter_present = self.tool_present = True
        self._jaw: float | None = None  # position from a servo command in this cycle [rad]
        self._jaw_goal_known = False  # a jaw command or a move has set the goal of the jaw, which starts at 0
        self._must_engage = False  # the tool was inserted while the arm was on
        self._stages: list[Array] = []  # goals of the discs while engaging the tool
        super().__init__(hardware, interface)
        self.instrument = load_instrument(self.arm.instrument, self.arm.name)
        self._publish_tool()

    def adopt(self) -> None:
        super().adopt()
        instrument = load_instrument(self.arm.instrument, self.arm.name)
        if instrument.name != self.instrument.name:
            self.instrument = instrument
            self._publish_tool()

    def emulate_tool_present(self, present: bool) -> None:
        if present == self.tool_present:
            return
        self.tool_present, self.tool_engaged = present, False
        self._must_engage = present and self.substate == "HOMED"
        self.states.status("tool detected" if present else "tool removed")
        if not present and self.space == CARTESIAN:
            self.enter("HOMED")
        self._publish_tool()
        self.states.set(homed=self.is_homed())

    def emulate_adapter_present(self, present: bool) -> None:
        if present == self.adapter_present:
            return
        self.adapter_present, self.adapter_engaged = present, False
        self.states.status("adapter detected" if present else "no adapter detected")
        self._publish_tool()
        self.states.set(homed=self.is_homed())

    def set_tool_type(self, name: str) -> None:
        """The mounted instrument is part of the scene: only its own name is accepted."""
        if name not in (self.instrument.name, self.arm.instrument):
            raise Refused(f"set_tool_type, this arm carries {self.instrument.name}, received {name!r}")
        self._publish_tool()

    def _publish_tool(self) -> None:
        for key, there in (("IO/tool", self.tool_present), ("IO/adapter", self.adapter_present)):
            self.bus.publish(f"{self.name}/{key}", Joy(buttons=(Joy.PRESSED if there else Joy.RELEASED,)))
        self.bus.publish(f"{self.name}/tool_type", String(value=self.instrument.name if self.tool_present else ""))
        if not self.tool_present:
            self.bus.publish(f"{self.name}/tool_type_request", Empty())

    def is_homed(self) -> bool:
        if self.tool_present:
            engaged = self.adapter_engaged and self.tool_engaged
        else:
            engaged = self.adapter_engaged or not self.adapter_present
        return super().is_homed() and engaged

    @property
    def tip_ready(self) -> bool:
        return self.joints_ready and self.tool_engaged

    @property
    def is_safe(self) -> bool:
        return self.tip.depth(self.hardware.q) >= c.SAFE_DISTANCE - c.SAFE_BUFFER

    def unhome(self) -> None:
        self.tool_engaged = False
        super().unhome()

    def make_ready(self) -> None:
        self.adapter_engaged, self.tool_engaged = self.adapter_present, self.tool_present
        super().make_ready()

    def control(self) -> None:
        if self.joints_ready and not self._stages:
            self._engage()
        super().control()

    def _engage(self) -> None:
        if self.adapter_present and not self.adapter_engaged:
            self.enter("ENGAGING_ADAPTER")
            self.adapter_engaged = True  # an adapter with a tool is engaged
            self.enter("HOMED")
        if self.adapter_engaged and self.tool_present and not self.tool_engaged:
            self.enter("ENGAGING_TOOL")
            if self._must_engage and np.linalg.norm(self.tip.pose(self.hardware.q[:6])[:3, 3]) < ENGAGE_DEPTH:
                lower, upper = np.array(self.instrument.engage_lower), np.array(self.instrument.engage_upper)
                self._stages = [lower, upper, np.zeros(4)]
                self._sweep()
                return
            if self._must_engage:
                self.states.status('tool tip is outside the cannula, assuming it doesn\'t need to "engage"')
            self._engaged()

    def request(self, desired: str) -> None:
        super().request(desired)
        if desired == "HOMED":
            self._report_missing_adapter()

    def _report_missing_adapter(self) -> None:
        """Tell why a homed arm with a tool is not reported as homed; the dVRK only reports the adapter's removal."""
        if self.substate == "HOMED" and self.tool_present and not self.adapter_present:
            self.states.warning("not homed: no adapter, so the tool cannot be engaged; attach the adapter")

    def resume(self) -> None:
        super().resume()
        if self.substate.startswith("ENGAGING"):  # restart
            self.enter("HOMED")

    def enter(self, substate: str) -> None:
        if substate in ("DISABLED", "FAULT", "PAUSED"):
            self._stages = []
        super().enter(substate)
        self._report_missing_adapter()
        if substate in ("ENGAGING_ADAPTER", "ENGAGING_TOOL"):
            self.states.set("ENABLED", homed=False, busy=True)

    def update(self) -> None:
        super().update()
        if self.substate == "ENGAGING_TOOL" and self._stages:
            arrived = self.trajectory.advance(c.PERIOD)
            self.hardware.track(self.trajectory.q, self.trajectory.dq)
            if arrived:
                self._stages.pop(0)
                self.states.status(f"engaging tool {3 - len(self._stages)} of 3")
                (self._sweep if self._stages else self._engaged)()

    def _sweep(self) -> None:
        q = self.hardware.setpoint()
        self.begin_motion(q, np.concatenate([q[:3], self._stages[0]]))

    def _engaged(self) -> None:
        self.tool_engaged, self._must_engage, self._stages = True, False, []
        self.states.status("current state TOOL_ENGAGED")
        self.enter("HOMED")

    def solve(self, local: Array, seed: Array) -> Array:
        """As for every arm, but never closer to the RCM than is safe for the wrist."""
        q = super().solve(local, seed)
        distance = self.tip.depth(q)
        if distance < c.SAFE_DISTANCE:
            least = q[2] + (c.SAFE_DISTANCE - distance)
            q[2] = max(seed[2], q[2]) if seed[2] <= least else least
        return q

    def jaw_servo_jp(self, position: Array, _velocity: Array) -> None:
        angle = float(self.checked_vector("jaw_servo_jp", position, 1)[0])
        if self.ready("jaw_servo_jp", CARTESIAN) and self.switch(self.space or JOINT, POSITION):
            self._jaw, self._jaw_goal_known = angle, True
            if self.goal is None:
                self.goal = "joints", (self.hardware.setpoint(), None)

    def follow(self, kind: str, goal: Any) -> None:
        if kind == "joints":
            q, dq = goal
            goal = self.padded(q[:JAW], q), dq
        super().follow(kind, goal)
        self._jaw = None

    def padded(self, q: Array, rest: Array | None = None) -> Array:
        """As for every arm, with the jaw at the position commanded in this cycle."""
        padded = super().padded(q, rest)
        if self._jaw is not None and len(q) == JAW and self.mode == POSITION:
            padded[JAW] = self._jaw
        return padded

    def switch(self, space: str, mode: str) -> bool:
        if mode != POSITION:
            self._jaw = None
        return super().switch(space, mode)

    def move_jp(self, positions: Array) -> None:
        """As for every arm. A jaw that was never commanded closes to 0 in the first move, as on the dVRK."""
        q = self.checked("move_jp", positions)
        if self.ready("move_jp") and self.switch(JOINT, TRAJECTORY):
            goal = self.padded(q, self.target())
            if not self._jaw_goal_known:
                goal[JAW], self._jaw_goal_known = 0.0, True
            self.begin_move(goal)

    def jaw_move_jp(self, position: Array) -> None:
        angle = float(self.checked_vector("jaw_move_jp", position, 1)[0])
        if self.ready("jaw_move_jp", CARTESIAN) and self.switch(self.space or JOINT, TRAJECTORY):
            self._jaw_goal_known = True
            goal = self.target().copy()
            goal[JAW] = angle
            self.begin_move(goal)

    def jaw_servo_jf(self, effort: Array) -> None:
        tau = float(self.checked_vector("jaw_servo_jf", effort, 1)[0])
        if not self.ready("jaw_servo_jf", CARTESIAN):
            return
        if self.mode != EFFORT:
            if not self.switch(CARTESIAN, EFFORT):
                return
            self.wrench = "body", np.zeros(6)
        self.effort = self.effort.copy()
        self.effort[JAW] = tau

    def servo_jf(self, efforts: Array, command: str = "servo_jf") -> None:
        jaw = 0.0 if command == "free" else self.effort[JAW]
        super().servo_jf(efforts, command)
        if self.mode == EFFORT:
            self.effort[JAW] = jaw

    def sources(self) -> dict[str, Callable[[], Message]]:
        h = self.hardware
        return super().sources() | {
            "jaw/measured_js": lambda: self._jaw_state(h.q, h.dq, h.tau),
            "jaw/setpoint_js": lambda: self._jaw_state(h.setpoint(), h.setpoint_velocity(), h.setpoint_effort()),
        }

    def _jaw_state(self, q: Array, dq: Array, tau: Array) -> JointState:
        position, velocity, effort = (float(self.tip_ready) * x[JAW:] for x in (q, dq, tau))
        return self.reports.joint_state(position, velocity, effort, ("jaw",), valid=self.tip_ready)
