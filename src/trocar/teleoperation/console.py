"""The console selects the running components from the operator's presence and the camera pedal.

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
INPUT_TYPES = (
    "PEDALS_ONLY",
    "PEDALS_ISI_HEAD_SENSOR",
    "PEDALS_DVRK_HEAD_SENSOR",
    "PEDALS_GOOVIS_HEAD_SENSOR",
    "SIMULATED",
    "COMPONENTS",
)


@dataclass
class Console:
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
        wanted = {pair: running if self.enabled and pair in self.selected else DISABLE for pair in self.pairs}
        wanted |= dict.fromkeys(self.cameras, ENABLE if self.enabled and self.camera else DISABLE)
        return dict(sorted(wanted.items(), key=lambda item: item[1] != DISABLE))


def swapped(selected: Iterable[str], pairs: Iterable[str]) -> list[str]:
    """Pairs to select after a tap of the clutch: for every MTM with two pairs, the one not selected."""
    chosen = list(selected)
    found = []
    for pair in chosen:
        master = pair.partition("_")[0]
        others = [other for other in pairs if other.partition("_")[0] == master and other != pair]
        if len(others) == 1:
            found.append(others[0])
    return found
