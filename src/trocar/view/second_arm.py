"""Controls for a second arm of a scene, in addition to the selected one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import viser

from trocar.runtime.frame import Frame
from trocar.runtime.session import Session
from trocar.spatial import quaternion
from trocar.view.overlays import aim, arrows
from trocar.view.panels.driving import DrivingPanel
from trocar.view.selection import Selection

BASE = "/second_base"  # node of the scene that is the base of this arm


class SecondArm:
    """Controls, handles and push of the second arm. Bars, curves, marks and recordings show the selected arm.

    Args:
        select: called with the name of the arm that the user chose for the second.

    Attributes: name: of the arm. driving: its controls.
    """

    def __init__(self, server: viser.ViserServer, session: Session, name: str, select: Callable[[str], None]) -> None:
        self._session, self.name = session, name
        self._shown = Selection(session.frame, name)
        self._base = server.scene.add_frame(BASE, show_axes=False)
        self._push = arrows(server.scene, f"{BASE}/push", "push")
        self.driving = DrivingPanel(server, session, self._shown, select, BASE)
        self._place_base()

    def select(self, name: str) -> None:
        """Drive another arm. A push on the previous one ends."""
        self._session.push(np.zeros(3), self.name)
        self.name = name

    def update(self, frame: Frame) -> None:
        """Follow the simulation. While a recording is shown there is no second arm."""
        if not frame.live:
            for handle in (self._push, self.driving.tip.handle, self.driving.grip):
                handle.visible = False
            return
        before, self._shown = self._shown, Selection(frame, self.name)
        if before.frame.scene is not frame.scene or before.name != self.name:
            self._place_base()
            self.driving.rebuild(self._shown)
        self.driving.refresh(self._shown)
        state = self._shown.state
        aim(self._push, np.array([[state.T_tip[:3, 3], state.force]]), True)

    def reset(self, frame: Frame) -> None:
        """Set the targets to the arm's current state."""
        self.driving.reset(Selection(frame, self.name))

    def _place_base(self) -> None:
        T = self._shown.about.T_world_base
        self._base.position, self._base.wxyz = T[:3, 3], quaternion(T[:3, :3])
