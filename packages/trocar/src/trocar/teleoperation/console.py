"""The console: components selected from the operator's presence and the camera pedal; debounced pedals.

| teleoperation on, pair selected | operator present | PSM pairs | ECM |
|---|---|---|---|
| camera up | yes | enable | disable |
| camera up | no | align_MTM | disable |
| camera down | either | disable | enable |
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

ENABLE, DISABLE, ALIGN = "enable", "disable", "align_MTM"
DEBOUNCE = 0.2  # delay before clutch, camera and coag are reported [s]; sawRobotIO1394
ROUNDING = 1e-9  # rounding error of times [s]
RELEASED, PRESSED, CLICKED = 0, 1, 2
SENSORS = ("ONLY", "ISI_HEAD_SENSOR", "DVRK_HEAD_SENSOR", "GOOVIS_HEAD_SENSOR")
INPUT_TYPES = (*(f"PEDALS_{sensor}" for sensor in SENSORS), "SIMULATED", "COMPONENTS")


@dataclass
class ConsoleState:
    """Console state, and the resulting state commands of all components.

    Attributes:
        pairs: names of the PSM pairs. cameras: names of the ECM components.
        enabled: teleoperation is on. operator_present: an operator is at the console. camera: the camera pedal is
            down. selected: names of the selected pairs.
    """

    pairs: tuple[str, ...]
    cameras: tuple[str, ...] = ()
    enabled: bool = False
    operator_present: bool = False
    camera: bool = False
    selected: set[str] = field(default_factory=set)

    def commands(self) -> dict[str, str]:
        """State command of every component: enable, disable or align_MTM. Components to disable come first."""
        running = DISABLE if self.camera else ENABLE if self.operator_present else ALIGN
        commands = {pair: running if self.enabled and pair in self.selected else DISABLE for pair in self.pairs}
        commands |= dict.fromkeys(self.cameras, ENABLE if self.enabled and self.camera else DISABLE)
        return dict(sorted(commands.items(), key=lambda item: item[1] != DISABLE))


def swapped(selected: Iterable[str], pairs: Iterable[str]) -> list[str]:
    """Pairs to select after a tap of the clutch: for every MTM with two pairs, the one not selected."""
    swaps = []
    for pair in selected:
        others = [x for x in pairs if x.partition("_")[0] == pair.partition("_")[0] and x != pair]
        swaps += others if len(others) == 1 else []
    return swaps


@dataclass
class Pedal:
    """One switch. Presses and releases are reported after `debounce`; a shorter press is a click.

    Attributes:
        debounce: delay [s]; 0 reports immediately. reported: last reported state, RELEASED or PRESSED.
    """

    debounce: float = DEBOUNCE
    reported: int = RELEASED
    _down: bool = False
    _since: float | None = None  # time of a change that is not reported yet [s]

    def step(self, t: float, down: bool) -> int | None:
        """Process the switch at time t [s]; return PRESSED, RELEASED or CLICKED if one is to be reported, else None."""
        if down != self._down:
            self._down = down
            if down and self.reported == RELEASED:
                self._since = t
            elif not down and self.reported == RELEASED and self._since is not None:
                self._since = None
                return CLICKED  # released before the press was reported
            else:
                self._since = None if down else t
        if self._since is None or t - self._since < self.debounce - ROUNDING:
            return None
        self._since, self.reported = None, PRESSED if down else RELEASED
        return self.reported
