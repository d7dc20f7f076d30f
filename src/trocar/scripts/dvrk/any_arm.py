"""Any arm: `dvrk.arm`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trocar.robot.clients.device import Device
from trocar.robot.messages import Bool, Float
from trocar.scripts.crtk.features import utils
from trocar.scripts.crtk.node import node_of
from trocar.scripts.session import current


class Part:
    """A part of an arm with separate methods: body, spatial, local, jaw, gripper."""

    if TYPE_CHECKING:  # methods that `utils` adds

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, ral: Any, name: str, connection_timeout: float, arm: Any = None) -> None:
        self._ral = ral.create_child(name)
        self._utils = utils(self, self._ral, connection_timeout, operating_state_instance=arm)

    def ral(self) -> Any:
        return self._ral


class _WrenchFrame(Part):
    """Wrenches and the Jacobian in the axes of the tip (body) or of the base (spatial)."""

    def __init__(self, ral: Any, name: str, connection_timeout: float) -> None:
        super().__init__(ral, name, connection_timeout)
        self._utils.add_measured_cf()
        self._utils.add_jacobian()
        self._utils.add_servo_cf()


class _LocalFrame(Part):
    """Poses in the arm's own base."""

    def __init__(self, ral: Any, connection_timeout: float) -> None:
        super().__init__(ral, "local", connection_timeout)
        self._utils.add_measured_cp()
        self._utils.add_setpoint_cp()
        self._utils.add_forward_kinematics()


class arm:
    """An arm by its name. Release 2.4: arm(ral, 'PSM1'); 2.2: the same with `expected_interval`; 2.0: arm('PSM1')."""

    if TYPE_CHECKING:  # methods that `utils` adds

        def __getattr__(self, name: str) -> Any: ...

    def __init__(
        self,
        ral: Any = None,
        arm_name: str = "",
        connection_timeout: float = 1.0,
        *,
        expected_interval: float | None = None,
        ros_namespace: str = "",
    ) -> None:
        if isinstance(ral, str):  # release 2.0: (arm_name, ros_namespace, expected_interval)
            ral, arm_name, ros_namespace = None, ral, arm_name or ros_namespace
        if ral is None:
            ral, connection_timeout = node_of(ros_namespace), max(connection_timeout, 1.0)
        self._arm_name = arm_name
        self._ral = ral.create_child(arm_name)
        self._timeout = connection_timeout
        self._utils = utils(self, self._ral, connection_timeout)
        self._device = Device(current(), self._ral.namespace(), connection_timeout)
        for feature in (
            "operating_state", "setpoint_js", "setpoint_cp", "measured_js", "measured_cp", "measured_cv", "hold",
            "free", "servo_jp", "servo_jr", "servo_cp", "servo_jf", "move_jp", "move_jr", "move_cp",
            "forward_kinematics", "inverse_kinematics",
        ):  # fmt: skip
            getattr(self._utils, f"add_{feature}")()
        self.body = _WrenchFrame(self._ral, "body", connection_timeout)
        self.spatial = _WrenchFrame(self._ral, "spatial", connection_timeout)
        self.local = _LocalFrame(self._ral, connection_timeout)

    def name(self) -> str:
        return self._arm_name

    def ral(self) -> Any:
        return self._ral

    def check_connections(self, timeout: float = 5.0) -> None:
        self._ral.check_connections(timeout)

    def body_set_cf_orientation_absolute(self, absolute: bool) -> None:
        """Use the axes of the reference frame for body wrenches instead of those of the tip."""
        self._device.send("body/set_cf_orientation_absolute", Bool(value=bool(absolute)))

    def use_gravity_compensation(self, gravity_compensation: bool) -> None:
        self._device.send("use_gravity_compensation", Bool(value=bool(gravity_compensation)))

    def trajectory_j_set_ratio(self, ratio: float) -> None:
        """Scale velocities and accelerations of motions, 0 < ratio <= 1."""
        self._device.send("trajectory_j/set_ratio", Float(value=float(ratio)))

    def trajectory_j_get_ratio(self) -> float:
        return float(self._device.receive("trajectory_j/ratio").value)

    def trajectory_j_ratio(self) -> float:
        return self.trajectory_j_get_ratio()

    def _setpoint_jp(self) -> Any:
        return self._device.receive("setpoint_js").position.copy()

    def _insert(self, depth: float) -> Any:
        q = self._setpoint_jp()
        q[2] = depth
        return self.move_jp(q)
