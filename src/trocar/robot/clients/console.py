"""Client of the surgeon's console."""

from __future__ import annotations

from trocar.robot.clients.device import Clock, Device
from trocar.robot.messages import Bool, Float, Message, String


class Console(Device):
    """Teleoperation as the console sees it: on or off, its scale, the selected pairs of arms."""

    def __init__(self, robot: Clock, name: str = "console") -> None:
        super().__init__(robot, name)
        self._selected: set[str] = set()
        handlers = {f"{name}/teleop/selected": self._select, f"{name}/teleop/unselected": self._unselect}
        with robot.bus.lock:
            past = [(message, handler) for topic, handler in handlers.items() for message in robot.bus.history(topic)]
            for topic, handler in handlers.items():
                robot.bus.subscribe(topic, handler)
            self._selected.clear()
            for message, handler in sorted(past, key=lambda entry: entry[0].stamp):
                handler(message)

    def _select(self, message: Message) -> None:
        assert isinstance(message, String)
        self._selected.add(message.value)

    def _unselect(self, message: Message) -> None:
        assert isinstance(message, String)
        self._selected.discard(message.value)

    def teleop_start(self) -> None:
        """Enable teleoperation."""
        self.send("teleop/enable", Bool(value=True))

    def teleop_stop(self) -> None:
        """Disable teleoperation."""
        self.send("teleop/enable", Bool(value=False))

    def teleop_set_scale(self, scale: float) -> None:
        """Set the scale from master to instrument motion of all pairs."""
        self.send("teleop/set_scale", Float(value=float(scale)))

    def teleop_get_scale(self) -> float:
        """Scale from master to instrument motion."""
        return float(self.receive("teleop/scale").value)

    def teleop_select(self, name: str) -> None:
        """Select a pair of arms, such as MTMR_PSM1."""
        self.send("teleop/select", String(value=name))

    def teleop_unselect(self, name: str) -> None:
        """Unselect a pair of arms."""
        self.send("teleop/unselect", String(value=name))

    def teleop_is_selected(self, name: str) -> bool:
        """True if a pair of arms is selected."""
        return name in self._selected
