"""A stand-in for the Python package dvrk, releases 2.0 to 2.4: arms with the features of `crtk.utils`.

Release 2.4: psm(ral, 'PSM1'); 2.2: the same with `expected_interval`; 2.0: psm('PSM1').
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from trocar.robot.clients.devices import ConsoleClient, SystemClient, TeleopPSMClient
from trocar.robot.messages import Bool, Rotation
from trocar.scripts.crtk_package import utils
from trocar.scripts.node import node_of
from trocar.scripts.session import current

CLOSED, OPEN = math.radians(-20.0), math.radians(60.0)


class Part:
    """A device in a child of a node, with its features and parts: body, spatial, local, jaw, gripper."""

    features: ClassVar[tuple[str, ...]] = ()
    parts: ClassVar[Mapping[str, type[Part]]] = {}

    if TYPE_CHECKING:  # methods that `utils` adds

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, ral: Any, name: str, connection_timeout: float, arm: Any = None) -> None:
        self._arm_name, self._ral = name, ral.create_child(name)
        self._utils = utils(self, self._ral, connection_timeout, arm)
        for feature in self.features:
            self._utils.add(feature)
        for space, kind in self.parts.items():
            setattr(self, space, kind(self._ral, space, connection_timeout, self))

    def name(self) -> str:
        return self._arm_name

    def ral(self) -> Any:
        return self._ral

    def check_connections(self, timeout: float = 5.0) -> None:
        self._ral.check_connections(timeout)


class _WrenchFrame(Part):
    """Wrenches and the Jacobian in the axes of the tip (body) or of the base (spatial)."""

    features = ("measured_cf", "jacobian", "servo_cf")


class _LocalFrame(Part):
    """Poses in the arm's own base."""

    features = ("measured_cp", "setpoint_cp", "forward_kinematics")


class arm(Part):
    """An arm by its name."""

    features: ClassVar[tuple[str, ...]] = (
        "operating_state", "setpoint_js", "setpoint_cp", "measured_js", "measured_cp", "measured_cv", "hold", "free",
        "servo_jp", "servo_jr", "servo_cp", "servo_jf", "move_jp", "move_jr", "move_cp", "forward_kinematics",
        "inverse_kinematics", "body/set_cf_orientation_absolute", "use_gravity_compensation", "trajectory_j/set_ratio",
        "trajectory_j/ratio",
    )  # fmt: skip
    parts = {"body": _WrenchFrame, "spatial": _WrenchFrame, "local": _LocalFrame}  # noqa: RUF012
    default_timeout = 1.0

    def __init__(
        self, ral: Any = None, arm_name: str = "", connection_timeout: float | None = None, *,
        expected_interval: float | None = None, ros_namespace: str = "",
    ) -> None:  # fmt: skip
        timeout = self.default_timeout if connection_timeout is None else connection_timeout
        if isinstance(ral, str):  # release 2.0: (arm_name, ros_namespace, expected_interval)
            ral, arm_name, ros_namespace = None, ral, arm_name or ros_namespace
        if ral is None:
            ral, timeout = node_of(ros_namespace), max(timeout, 1.0)
        super().__init__(ral, arm_name, timeout)

    def _setpoint_jp(self) -> Any:
        return self._utils.device.receive("setpoint_js").position.copy()

    def _insert(self, depth: float) -> Any:
        """Move the insertion joint to a depth [m]."""
        q = self._setpoint_jp()
        q[2] = depth
        return self.move_jp(q)


class _Jaw(Part):
    """The jaw: one joint. Its motions share the busy state of the arm."""

    features = ("measured_js", "setpoint_js", "servo_jp", "move_jp", "servo_jf")

    def close(self) -> Any:
        """Close beyond contact, to -20 deg, so that the jaw grips."""
        return self.move_jp(np.array([CLOSED]))

    def open(self, angle: float = OPEN) -> Any:
        """Open to an angle [rad]."""
        return self.move_jp(np.array([angle]))


class psm(arm):
    """A PSM with its jaw."""

    parts = {**arm.parts, "jaw": _Jaw}  # noqa: RUF012
    default_timeout = 5.0
    insert_jp = arm._insert

    def set_tool_present(self, tool_present: bool) -> None:
        """Emulate the insertion or removal of the instrument."""
        self._utils.device.send("emulate_tool_present", Bool(value=bool(tool_present)))


class ecm(arm):
    """An ECM."""

    default_timeout = 5.0
    insert_jp = arm._insert


class _Gripper(Part):
    """The gripper: one joint, measured only."""

    features = ("measured_js",)


class mtm(arm):
    """An MTM with its gripper; `servo_ci` takes a crtk_msgs/CartesianImpedance."""

    features = (*arm.features, "lock_orientation", "unlock_orientation", "servo_ci")
    parts = {**arm.parts, "gripper": _Gripper}  # noqa: RUF012
    default_timeout = 5.0

    def lock_orientation_as_is(self) -> None:
        """Lock the current orientation while a wrench is commanded."""
        T = self._utils.device.receive("setpoint_cp").T
        self._utils.device.send("lock_orientation", Rotation(R=T[:3, :3].copy()))


class _SetUpFrame(Part):
    """Pose in the base of the cart."""

    features = ("measured_cp",)


class _SetUpArm(Part):
    """The set-up joints of one arm; `move_jp` places them at once, and returns a handle without a motion."""

    features = ("operating_state", "measured_js", "measured_cp", "move_jp")
    parts = {"local": _SetUpFrame}  # noqa: RUF012


class suj(Part):
    """All set-up joints of a cart: ECM, PSM1, PSM2, PSM3.

    Release 2.4.0 of dvrk looks for /PSM1 instead of /SUJ/PSM1; this one uses the robot's names.
    """

    parts = dict.fromkeys(("ECM", "PSM1", "PSM2", "PSM3"), _SetUpArm)

    def __init__(self, ral: Any = "", connection_timeout: Any = 1.0) -> None:
        timeout = connection_timeout if isinstance(connection_timeout, int | float) else 1.0
        super().__init__(node_of("") if isinstance(ral, str) else ral, "SUJ", timeout)


class _Forwarding(Part):
    """A device with some methods of a client."""

    def _forward(self, client: Any, *methods: str) -> None:
        for method in methods:
            setattr(self, method, getattr(client, method))


def _named(ral: Any, name: str) -> tuple[Any, str, float]:
    """Node, name and time-out; release 2.0 passes only a name."""
    return (node_of(""), ral or name, 1.0) if isinstance(ral, str) else (ral, name, 1.0)


class system(_Forwarding):
    """Power, homing and sounds of the whole system."""

    def __init__(self, ral: Any = "", system_namespace: str = "system") -> None:
        super().__init__(*_named(ral, system_namespace))
        client = SystemClient(current(), self._ral.namespace())
        self._forward(client, "power_on", "power_off", "home", "set_volume", "beep", "string_to_speech")


class console(_Forwarding):
    """Teleoperation state of the console. In releases before 2.4 it also has the methods of `system`."""

    def __init__(self, ral: Any = "", console_name: str = "console") -> None:
        super().__init__(*_named(ral, console_name))
        client = ConsoleClient(current(), self._ral.namespace())
        self._forward(
            client, "teleop_start", "teleop_stop", "teleop_set_scale", "teleop_get_scale", "teleop_select",
            "teleop_unselect", "teleop_is_selected",
        )  # fmt: skip
        if not current().tuples:
            self._forward(SystemClient(current()), "power_on", "power_off", "home")


class teleop_psm(_Forwarding):
    """Teleoperation of one pair of arms, such as MTMR_PSM1."""

    def __init__(self, ral: Any, teleop_name: str = "") -> None:
        super().__init__(*_named(ral, teleop_name))
        client = TeleopPSMClient(current(), self._ral.namespace())
        self._forward(client, "set_scale", "get_scale", "enable", "disable")


MODULE: dict[str, type[Any]] = {
    "arm": arm,
    "console": console,
    "ecm": ecm,
    "mtm": mtm,
    "psm": psm,
    "suj": suj,
    "system": system,
    "teleop_psm": teleop_psm,
}
