"""Sterile adapters and instruments of the PSMs, mounted and taken off while the boards are served."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from trocar.arms import instruments
from trocar.errors import TrocarError, check_known
from trocar.simulation import Scene
from trocar.transports.fpga.chip import chip_memory
from trocar.transports.fpga.discs import DISCS, Discs

if TYPE_CHECKING:
    from trocar.transports.fpga.plant import RobotPlant

ADAPTER, TOOL = "adapter", "tool"  # names of the switches after that of the arm
SWITCH_INTERVAL = 5e-4  # of threads while a scene is rebuilt [s]; Python's 5 ms would delay replies


class Mounting:
    """Adapters and instruments of a plant. All start mounted and engaged.

    Args:
        plant: its scene is replaced when an arm gets another instrument. names: of the arms with an instrument.

    Attributes:
        discs: by arm. refused: reason why the last instrument was not mounted; empty if it was.
    """

    def __init__(self, plant: RobotPlant, names: Iterable[str]) -> None:
        self._plant = plant
        self.discs = {name: Discs() for name in names}
        self.refused = ""
        self._change: _InstrumentChange | None = None
        for name in self.discs:
            self._report(name)

    @property
    def changing(self) -> bool:
        """A scene with another instrument is being prepared."""
        return self._change is not None

    def instruments(self) -> dict[str, str | None]:
        """Mounted instruments by arm; None where there is none."""
        arms = self._plant.scene.arms
        return {name: arms[name].arm.instrument if discs.tool else None for name, discs in self.discs.items()}

    def insert(self, name: str, what: str | None = None) -> None:
        """Mount an adapter if there is none, and an instrument; the discs engage when they turn.

        `what`: "adapter" for the adapter alone, or number or name of an instrument. Default: the last instrument.
        A new instrument needs another scene, which a thread prepares; `update` mounts it.
        """
        check_known("arm with an instrument", self.discs, name)
        if self._change is not None:
            raise TrocarError(f"an instrument is being mounted on {self._change.name}; try again in 0.1 s")
        discs, arm = self.discs[name], self._plant.scene.arms[name].arm
        self.refused = ""
        if what in (None, ADAPTER):
            discs.adapter, discs.tool = True, discs.tool or what is None
            self._report(name)
            return
        if str(what).endswith(".toml"):  # a text from outside never opens a file
            raise TrocarError(f"{what} is a file; give the number or name of an instrument")
        instrument = instruments.load_instrument(str(what), arm.name).name
        chip_memory(instrument, arm.name)  # raises if it has none
        if discs.tool:
            raise TrocarError(f"{name} carries {arm.instrument}; remove it first")
        self._change = _InstrumentChange(self._plant.scene, name, instrument)

    def update(self) -> None:
        """Mount the instrument whose scene has been prepared in the meantime."""
        if self._change is None or not self._change.ready:
            return
        change, self._change = self._change, None
        try:
            self._plant.adopt(change.scene())
        except TrocarError as error:
            self.refused = str(error)
            return
        name = change.name
        discs = self.discs[name]
        discs.adapter = discs.tool = True
        self._report(name)
        del change  # which holds the last scene, of 1 MB
        if not gc.isenabled():  # the server collects nothing by itself, and has frozen what was there: 1 ms
            gc.collect()

    def remove(self, name: str, what: str | None = None) -> None:
        """Take instrument and adapter off, or with "tool" the instrument only: the discs are free."""
        check_known("arm with an instrument", self.discs, name)
        if what not in (None, TOOL):
            raise TrocarError(f"remove takes an arm, or an arm and the word {TOOL}, got {what}")
        discs = self.discs[name]
        if discs.tool:
            discs.remove_tool(self._plant.actuators(name)[DISCS])
        if what is None:
            discs.remove_adapter()
        self._report(name)

    def _report(self, name: str) -> None:
        """Set switches and chip of an arm."""
        plant, discs = self._plant, self.discs[name]
        for switch, mounted in ((ADAPTER, discs.adapter), (TOOL, discs.tool)):
            if f"{name}_{switch}" in plant.inputs:
                plant.press(f"{name}_{switch}", mounted)
        board, arm = plant.configuration.chips.get(name), plant.scene.arms[name].arm
        if board is not None:
            plant.boards.chips[board] = chip_memory(arm.instrument, arm.name) if discs.tool else b""


class _InstrumentChange:
    """A copy of a scene with another instrument, prepared by a thread: it takes longer than a client waits."""

    def __init__(self, scene: Scene, name: str, instrument: str) -> None:
        self.name = name
        self._before, self._instrument = scene, instrument
        self._q = {arm: simulated.q for arm, simulated in scene.arms.items()}
        self._scene: Scene | TrocarError | None = None
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_INTERVAL)
        self._thread = threading.Thread(target=self._prepare, daemon=True)
        self._thread.start()

    @property
    def ready(self) -> bool:
        return not self._thread.is_alive()

    def _prepare(self) -> None:
        try:
            scene = self._before.rebuilt({self.name: {"instrument": self._instrument}})
            for name, stepped in scene.stepped.items():
                arm = stepped.arm
                stepped.start(np.clip(self._q[name], arm.lower, arm.upper), np.zeros(arm.n))
            warm_up(scene)
            self._scene = scene
        except TrocarError as error:
            self._scene = error
        finally:
            sys.setswitchinterval(self._interval)

    def scene(self) -> Scene:
        """The copy in the state that the first scene has now."""
        if not isinstance(self._scene, Scene):
            raise self._scene or TrocarError(f"the scene with {self._instrument} could not be built")
        self._scene.continue_from(self._before)
        return self._scene


def warm_up(scene: Scene) -> None:
    """Take a step and return: the first one takes 60 ms, longer than a client waits for a reply."""
    snapshot = scene.snapshot()
    scene.step({name: arm.mechanism.gravity(arm.q) for name, arm in scene.arms.items()})
    scene.restore(snapshot)
