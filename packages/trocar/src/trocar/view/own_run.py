"""`tr.show`: a simulator or a scene under one's own controllers in the browser, from a script or a notebook."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.control import Setpoint, State
from trocar.errors import TrocarError
from trocar.recording import Recording
from trocar.robot.description import SceneDescription
from trocar.robot.frames import scene_frame, simulated_arm
from trocar.robot.messages import Frame
from trocar.simulation import Scene, Simulator, simulate
from trocar.spatial import Array
from trocar.view.paced_run import PacedRun

FRAME_INTERVAL = 1 / 40  # real time between two frames [s]
MAX_ROWS = 4000  # of the curves: 100 s at 40 frames per second


class _Ended(Exception):
    """The view was closed, or its run starts again."""


class OwnRun(PacedRun):
    """A simulation under its user's controllers, paced by real time, with frames for a page.

    Attributes:
        result: what `simulate` returned; None before the end.
        rows: (t, q, q_ref or None, tau) of the first arm, newest last; q_ref is None for a tip controller.
    """

    def __init__(
        self, sim: Simulator | Scene, controller: Any, reference: Any, duration: float, speed: float = 1.0
    ) -> None:
        first = next(iter(controller.values())) if isinstance(controller, Mapping) else controller
        super().__init__(speed, getattr(first, "period", None) or sim.timestep, "trocar-own-run")
        self._sim, self._scene = sim, sim if isinstance(sim, Scene) else sim.scene
        self._controller, self._reference, self._duration = controller, reference, duration
        self._description = SceneDescription.of(self._scene)
        self._start, self._begin = self._scene.snapshot(), self._scene.time
        self.result: Recording | dict[str, Recording] | None = None
        self.rows: deque[tuple[float, Array, Array | None, Array]] = deque(maxlen=MAX_ROWS)
        self._again = threading.Event()
        self._due = 0.0  # of the next frame
        self._latest = self._frame(None)

    @property
    def ended(self) -> bool:
        return self.result is not None

    def again(self) -> None:
        """Run again from the start state."""
        self._again.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the run has ended; False after `timeout` [s]."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.result is None and self.error is None and self._thread.is_alive():
            if end is not None and time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def _run(self) -> None:
        while not self._closing.is_set():
            self._again.clear()
            self.rows.clear()
            self.result = self.error = None
            self._latest = self._frame(None)
            self.pace.restart()
            try:
                result = simulate(self._sim, self._watched(), self._reference, self._duration)
                self._latest = self._frame(None)
                self.result = result
            except _Ended:
                pass
            except Exception as error:  # of the user's controller: the page and `wait` report it
                self.error = error
            while not (self._closing.is_set() or self._again.wait(0.05)):
                pass
            if not self._closing.is_set():
                self._scene.restore(self._start)

    def _watched(self) -> Any:
        """The user's controllers; the first one also paces the run and makes the frames."""
        if isinstance(self._controller, Mapping):
            first, *others = self._controller
            watched = _Watched(self._controller[first], self._step)
            return {first: watched, **{name: self._controller[name] for name in others}}
        return _Watched(self._controller, self._step)

    def _step(self, state: State, setpoint: Any) -> None:
        """Called before every control step: make a frame now and then, and keep pace with the real time."""
        now = time.perf_counter()
        if now >= self._due:
            self._latest, self._due = self._frame(setpoint), now + FRAME_INTERVAL
        if not self.pace.wait(self._stopped):
            raise _Ended

    def _stopped(self) -> bool:
        return self._closing.is_set() or self._again.is_set()

    def _frame(self, setpoint: Any) -> Frame:
        scene = self._scene
        stepped = scene.time > self._begin
        first = next(iter(scene.arms))
        q_ref = np.array(setpoint.q) if isinstance(setpoint, Setpoint) else None
        arms = {
            name: simulated_arm(arm, stepped, q_ref=q_ref if name == first else None)
            for name, arm in scene.arms.items()
        }
        frame = scene_frame(scene, self._description, arms, number=next(self._numbers))
        if stepped and setpoint is not None:
            self.rows.append((scene.time, frame.arms[first].q, q_ref, np.array(scene.arms[first].tau)))
        return frame


class _Watched:
    """A controller that calls `step` before the user's own."""

    def __init__(self, controller: Callable[..., ArrayLike], step: Callable[[State, Any], None]) -> None:
        self._controller, self._step = controller, step
        period = getattr(controller, "period", None)
        if period is not None:
            self.period = period

    def __call__(self, state: State, setpoint: Any) -> ArrayLike:
        self._step(state, setpoint)
        return self._controller(state, setpoint)

    def reset(self) -> None:
        if hasattr(self._controller, "reset"):
            self._controller.reset()


class View:
    """A page over a run, open until `close` or the end of the program. In a notebook it is shown below the cell.

    Attributes:
        address: of the page. run: the simulation.
    """

    def __init__(self, run: OwnRun, page: Any, server: Any) -> None:
        self.run, self._page, self._server = run, page, server

    @property
    def address(self) -> str:
        return str(self._page.address)

    @property
    def recording(self) -> Recording | dict[str, Recording]:
        """The recording, as `tr.simulate` returns it; waits for the end, and raises the error that ended the run."""
        self.run.wait()
        if self.run.error is not None:
            raise self.run.error
        if self.run.result is None:
            raise TrocarError("the view was closed before its run ended")
        return self.run.result

    def wait(self) -> None:
        """Return on Ctrl-C, or when the view is closed; raises the error of a controller."""
        try:
            while self._page.running:
                if self.run.error is not None:
                    raise self.run.error
                time.sleep(0.1)
        except KeyboardInterrupt:
            pass

    def close(self) -> None:
        """End the run and the page."""
        self.run.close()
        self._page.close()
        self._server.stop()

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        """The page in a notebook, under the notebook's own host name: a browser shares its cookies with no other."""
        rest = self.address.partition("//")[2].partition("/")[2]
        port = self._server.get_port()
        name = f"trocar-{port}"
        return (
            f'<div id="{name}"></div><script>(() => {{ const f = document.createElement("iframe"); const h = '
            '["localhost", "127.0.0.1"].includes(location.hostname) ? location.hostname : "127.0.0.1"; '
            f'f.src = "http://" + h + ":{port}/{rest}"; f.width = "100%"; f.height = 620; f.style.border = 0; '
            f'document.getElementById("{name}").replaceChildren(f); }})()</script>'
            f'<a href="{self.address}" target="_blank" rel="noreferrer">Open in a tab</a>'
        )


def show(
    sim: Simulator | Scene,
    controller: Any,
    reference: Any = None,
    duration: float = 10.0,
    *,
    speed: float = 1.0,
    port: int = 0,
    wait: bool | None = None,
    browser: bool = True,
) -> View:
    """Show a simulation under your own controller in the browser, with efforts and tracking error; in real time.

    Arguments are those of `tr.simulate`. The page has buttons for pause, speed and "Run again". A script waits at this
    call until Ctrl-C; in a notebook or an interactive session it returns at once, and the notebook shows the page.

    Args:
        speed: simulated time per real time. port: of the page on this machine; 0 for any free one.
        wait: default: False in notebooks and interactive sessions, else True. browser: open one if there is a display.

    Returns:
        the view; `view.recording` is what `tr.simulate` returns, `view.close()` ends it.
    """
    if not isinstance(sim, Simulator | Scene):
        raise TrocarError(f"show needs a Simulator or a Scene, got {type(sim).__name__}")
    if not callable(controller) and not isinstance(controller, Mapping):
        raise TrocarError(f"controller must be a function (state, setpoint) -> effort, got {type(controller).__name__}")
    duration, speed = checks.positive("duration", duration), checks.positive("speed", speed)
    try:
        from trocar.view import pages
        from trocar.view.server import open_browser, serve
    except ModuleNotFoundError as error:
        raise TrocarError(f"the page needs {error.name}: pip install 'trocar[view]'") from error
    notebook = "ipykernel" in sys.modules
    server = serve(port=port, framed=notebook)
    try:
        run = OwnRun(sim, controller, reference, duration, speed)
        page = pages.own_page(server, run).start()
    except BaseException:
        server.stop()
        raise
    shown = View(run.start(), page, server)
    if not notebook:
        print(f"trocar view: {shown.address}")
        if browser:
            open_browser(shown.address)
    interactive = notebook or hasattr(sys, "ps1") or bool(sys.flags.interactive)
    if wait if wait is not None else not interactive:
        try:
            shown.wait()
        finally:
            shown.close()
    return shown
