"""Clients of every kind of device: `rows` has their methods of the interface table, these classes what is added."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from trocar.errors import TrocarError
from trocar.robot.clients import rows
from trocar.robot.clients.device import MoveHandle, StatefulDevice
from trocar.robot.messages import Bool, Floats

CLOSED, OPEN = np.radians(-20.0), np.radians(60.0)  # angles of a jaw [rad]


class WrenchFrame(rows.WrenchFrameRows):
    """Wrenches and the Jacobian of an arm in one frame: `body` (tip axes) or `spatial` (base axes and origin)."""


class LocalFrame(rows.LocalFrameRows):
    """Poses of an arm in its own base."""


class ArmClient(StatefulDevice, rows.ArmRows, parts={"body": WrenchFrame, "spatial": WrenchFrame, "local": LocalFrame}):
    """An arm: PSM, ECM or MTM.

    `inverse_kinematics(jp, cp)` returns the joint positions that place the tip at `cp` (4, 4) in the arm's own base,
    closest to the seed `jp`; `forward_kinematics(jp)` the pose (4, 4) of the tip, or of link k for k < n positions.
    """

    body: WrenchFrame
    spatial: WrenchFrame
    local: LocalFrame


def _insert_jp(self: ArmClient, depth: float) -> MoveHandle:
    """Move the insertion joint alone to a depth [m]."""
    q = self.receive("setpoint_js").position.copy()
    q[2] = depth
    return self.move_jp(q)


class JawClient(rows.JawRows):
    """The jaw of an instrument, one joint; its motions share the arm's busy state."""

    def close(self) -> MoveHandle:
        """Close beyond contact, to -20 deg, so that the jaw grips."""
        return self.move_jp(CLOSED)

    def open(self, angle: float = OPEN) -> MoveHandle:
        """Open to an angle [rad]."""
        return self.move_jp(angle)


class PSMClient(ArmClient, rows.PSMRows, parts={"jaw": JawClient}):
    """A patient side manipulator."""

    jaw: JawClient
    default_timeout = 5.0
    insert_jp = _insert_jp

    def set_tool_present(self, tool_present: bool) -> None:
        """Emulate the insertion or removal of an instrument."""
        self.emulate_tool_present(tool_present)


class ECMClient(ArmClient, rows.ECMRows):
    """An endoscope camera manipulator."""

    default_name, default_timeout = "ECM", 5.0
    insert_jp = _insert_jp


class GripperClient(rows.GripperRows):
    """The gripper of a master, one joint, measured only."""


class MTMClient(ArmClient, rows.MTMRows, parts={"gripper": GripperClient}):
    """A master tool manipulator."""

    gripper: GripperClient
    default_timeout = 5.0

    def lock_orientation_as_is(self) -> None:
        """Lock the current orientation while a wrench is commanded."""
        self.lock_orientation(self.receive("setpoint_cp").T[:3, :3])


class SetUpFrame(rows.SetUpFrameRows):
    """Pose of set-up joints in the base of the cart."""


class SetUpArmClient(StatefulDevice, rows.SetUpArmRows, parts={"local": SetUpFrame}):
    """The set-up joints of one arm of the cart.

    `move_jp` places them at once, as by hand with the brakes released. No motion follows: its handle times out.
    """

    local: SetUpFrame


class SUJClient(StatefulDevice, rows.SUJRows, parts=dict.fromkeys(("ECM", "PSM1", "PSM2", "PSM3"), SetUpArmClient)):
    """All set-up joints of a cart."""

    ECM: SetUpArmClient
    PSM1: SetUpArmClient
    PSM2: SetUpArmClient
    PSM3: SetUpArmClient
    default_name = "SUJ"


class SystemClient(rows.SystemRows):
    """All arms together: power, homing and sounds."""

    default_name = "system"

    def beep(self, duration: float, frequency: float, volume: float = 1.0) -> None:
        """Beep for a duration [s] at a frequency [Hz]."""
        self.send("beep", Floats(values=np.array([duration, frequency, volume], dtype=float)))


class ConsoleClient(rows.ConsoleRows):
    """The surgeon's console: pedals, and teleoperation: on or off, its scale, the selected pairs of arms."""

    default_name = "console"

    def _connect(self) -> None:
        self._selected: set[str] = set()
        actions = {"selected": self._selected.add, "unselected": self._selected.discard}
        topics = {f"teleop/{word}": action for word, action in actions.items()}
        bus = self.robot.bus
        with bus.lock:
            past: list[tuple[Any, Callable[[str], None]]] = [
                (message, action)
                for topic, action in topics.items()
                for message in bus.history(f"{self._name}/{topic}")
            ]
            for topic, action in topics.items():
                self._subscribe(topic, partial(_apply, action))
            self._selected.clear()
            for message, action in sorted(past, key=lambda entry: entry[0].stamp):
                action(message.value)

    def teleop_start(self) -> None:
        """Enable teleoperation."""
        self.send("teleop/enable", Bool(value=True))

    def teleop_stop(self) -> None:
        """Disable teleoperation."""
        self.send("teleop/enable", Bool(value=False))

    def teleop_is_selected(self, name: str) -> bool:
        """True if a pair of arms is selected."""
        return name in self._selected


def _apply(action: Callable[[str], None], message: Any) -> None:
    action(message.value)


class TeleopECMClient(rows.TeleopECMRows):
    """Both MTMs that drive the ECM.

    `current_state()` is DISABLED, SETTING_ARMS_STATE, ALIGNING_MTM or ENABLED.
    """

    default_name = "MTML_MTMR_ECM"

    def _connect(self) -> None:
        if f"{self._name}/state_command" not in self.robot.bus.topics:
            raise TrocarError(
                f"the robot has no teleoperation {self._name}; trocar.teleoperation.Teleoperation(robot) adds it"
            )

    def enable(self) -> None:
        """Start following, when the pedals and the operator allow it."""
        self.state_command("enable")

    def disable(self) -> None:
        """Stop following."""
        self.state_command("disable")

    def is_following(self) -> bool:
        """True while the arms follow each other."""
        return self.following()


class TeleopPSMClient(TeleopECMClient, rows.TeleopPSMRows):
    """An MTM that drives a PSM, such as MTMR_PSM1. `alignment_offset()` is the rotation from the MTM to the PSM."""

    default_name = ""

    def align_MTM(self) -> None:
        """Align the MTM with the PSM and hold it there."""
        self.state_command("align_MTM")


class ArmSimulationClient(rows.ArmSimulationRows):
    """Services of the simulation for one arm."""


class SimulationClient(rows.SimulationRows):
    """The simulation of a robot in this process: time, changes of the scene, snapshots and frames."""

    default_name = "simulation"

    def arm(self, name: str) -> ArmSimulationClient:
        """Services for one arm: control laws, pushes, changes and recordings."""
        return ArmSimulationClient(self.robot, f"{self._name}/{name}")
