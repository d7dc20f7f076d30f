"""Play, pause, step, speed and reset, with the most important figures and advice for a slow simulation."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Collection, Sequence

import viser

from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.mechanics.singularities import singularity
from trocar.robot import Robot
from trocar.robot.laws import LAWS
from trocar.robot.messages import Frame
from trocar.view.page import Page
from trocar.view.panel import RobotPanel, Selection, length, plain

NEAR_SINGULAR = 0.05  # smallest singular value of the scaled Jacobian below which the page warns
STEPS = {"1 step": 1, "10 ms": 15, "100 ms": 150}
SPEEDS = 0.05, 2.0  # of the slider
FIRST_STEPS = {
    True: "A simulated arm under the dVRK's controller. Try first: drag the coloured handle at its tip, push it with a "
    "force, switch counterweight or friction off under **Mechanism**.",
    False: "Simulated arms, each under the dVRK's controller. Try first: choose an **Arm** below, drag the coloured "
    "handle at its tip, switch counterweight or friction off under **Mechanism**.",
}  # for an arm alone, and for several
SLOW = 0.9  # of the requested speed
SETTLING_TIME = 2.0  # real time of the average: after a start or a change, the speed needs time to settle [s]


class TransportPanel(RobotPanel):
    """Controls of a robot's clock; recordings have separate ones. Attributes: play, speed: button and slider."""

    def __init__(self, robot: Robot) -> None:
        super().__init__(robot)
        self._stepping, self._lock, self._pace = threading.Lock(), threading.Lock(), SlowDown()

    def build(self, page: Page) -> None:
        add, simulation = page.add, self.simulation
        self._first, self._first_speed = simulation.snapshot(), simulation.frame(()).speed
        self._hint = add("markdown", FIRST_STEPS[page.selection.alone])
        self._status = add("markdown", "")
        self._warning, self._slow = (add("markdown", "", visible=False) for _ in range(2))
        with page.server.gui.add_folder(None) as self._buttons:
            self.play = add("button", "Play", lambda _: self._play(), icon=viser.Icon.PLAYER_PLAY, color="green")
            add("button_group", "Step", lambda event: self._step(STEPS[event.target.value]), tuple(STEPS))
            hint = "the start: positions, and everything that was changed on this page"
            add("button", "Reset", lambda _: self._reset(), icon=viser.Icon.REWIND_BACKWARD_5, hint=hint)
            speed, hint = simulation.frame(()).speed, "simulated time per real time"
            self.speed = add("slider", "Speed [×]", lambda _: self._set_speed(), *SPEEDS, 0.05, speed, hint=hint)

    def _play(self) -> None:
        (self.simulation.pause if self.robot.playing else self.simulation.play)()

    def _reset(self) -> None:
        self.simulation.restore(self._first)
        self.simulation.reset()
        self.speed.value = self._first_speed
        self._set_speed()

    def _step(self, steps: int) -> None:
        """Take steps, unless earlier ones are still running: steps take longer than key presses."""
        if self._stepping.acquire(blocking=False):
            try:
                self.simulation.pause()
                self.simulation.step(steps)
            finally:
                self._stepping.release()

    def _set_speed(self) -> None:
        with self._lock:  # viser calls from many threads: the last speed is the newest
            self.simulation.set_speed(self.speed.value)

    def arms(self, selected: str) -> Collection[str]:
        return self.robot.arms

    def refresh(self, selection: Selection) -> None:
        frame = selection.frame
        self._buttons.visible = self._hint.visible = frame.live
        if frame.live:
            self.play.label = "Pause" if frame.playing else "Play"
            self.play.icon = viser.Icon.PLAYER_PAUSE if frame.playing else viser.Icon.PLAYER_PLAY
            self.play.color = "orange" if frame.playing else "green"
        self._status.content = self._text(selection)
        self._warning.content = warning = _singular(selection, self.page.mechanism)
        self._warning.visible = bool(warning)
        costly = [name for panel in self.page.panels if (name := panel.costly)]
        self._slow.content = advice = self._pace.advice(frame, time.monotonic(), costly)
        self._slow.visible = bool(advice)

    def _text(self, selection: Selection) -> str:
        frame, state, about = selection.frame, selection.state, selection.about
        name, _, kind = selection.title.partition(" ")
        what = f"**{name}** {kind}".rstrip() + f", parameters {about.parameters.name}"
        if about.arm.instrument:
            what += f", {plain(about.arm.instrument)}"
        digits = 2 if frame.live and frame.playing else 4  # of a single step, 0.67 ms, when it is paused
        pieces = [f"t = {frame.time:.{digits}f} s"]
        if frame.live and not frame.playing:
            pieces.append("paused")  # the speed is that of the slider; advice follows if it is not reached
        if state.rcm_error is not None:
            pieces.append(f"RCM off by {length(state.rcm_error)}")
        if state.loop_error is not None:
            pieces.append(f"loops open by {length(state.loop_error)}")
        off = [name for name in ("counterweight", "friction") if not getattr(about, name)]
        if off:
            pieces.append("without " + " and ".join(off))
        lines = [what, ", ".join(pieces)]
        if frame.live and self.robot.error is not None:
            lines.append(f"**The simulation has stopped:** {plain(str(self.robot.error) or repr(self.robot.error))}")
        return "  \n".join(lines)


def _singular(selection: Selection, mechanism: Mechanism) -> str:
    try:
        nearest = singularity(mechanism, selection.state.q)
    except TrocarError:
        return ""
    sigma = float(nearest.smallest_singular_value)
    if sigma > NEAR_SINGULAR:
        return ""
    return f"**Near a singularity** ({nearest.nearest}): smallest singular value {sigma:.2g}"


class SlowDown:
    """Detects that the simulation has been slower than requested for a while."""

    def __init__(self) -> None:
        self._began: float | None = None  # real time when it started to play [s]
        self._ratios: deque[tuple[float, float]] = deque()  # real times [s], and speeds per requested speed

    def advice(self, frame: Frame, now: float, costly: Sequence[str] = ()) -> str:
        """A warning in Markdown with what to switch off; empty while the simulation keeps up.

        Args:
            now: real time [s]. costly: drawings that the page can switch off, the most expensive first.
        """
        if not (frame.live and frame.playing and frame.speed):
            self._began = None
            self._ratios.clear()
            return ""
        self._began = now if self._began is None else self._began
        self._ratios.append((now, frame.factor / frame.speed))
        while now - self._ratios[0][0] > SETTLING_TIME:
            self._ratios.popleft()
        ratio = sum(each for _, each in self._ratios) / len(self._ratios)
        if now - self._began < SETTLING_TIME or ratio > SLOW:
            return ""
        factor, arms = ratio * frame.speed, frame.arms.items()
        # share of one core: a Cartesian law takes about 0.3, the endoscope's view 0.12, curves 0.02
        off = [f"the Cartesian law of {name}" for name, arm in arms if arm.law and LAWS[arm.law].cartesian]
        off += costly
        if frame.scene.arguments["objects"]:
            off.append("objects (start without them)")
        remedy = f"Switch off {', '.join(off)}; or set" if off else "Set"
        return (
            f"**Slower than requested**: {factor:.2f} instead of {frame.speed:.2f} × real time. "
            f"{remedy} the speed to {max(factor, SPEEDS[0]):.2f}."
        )
