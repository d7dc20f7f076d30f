"""The commands of a simulation, with checks of their arguments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from numpy.typing import ArrayLike

from trocar.errors import TrocarError, check_known
from trocar.runtime import arguments
from trocar.runtime.controllers import Mode
from trocar.runtime.settings import TIMESTEP

if TYPE_CHECKING:
    from trocar.runtime.live import Live

R = TypeVar("R")


class Commands(ABC, Generic[R]):
    """Commands to the arms of a scene; `arm` may be omitted if there is only one.

    Arguments are checked first: an invalid one raises a `TrocarError` that names it, and nothing changes.

    Attributes:
        joints: number of joints of every arm, by name.
    """

    joints: Mapping[str, int]

    @abstractmethod
    def _do(self, command: Callable[[Live], None]) -> R:
        """Execute a command with checked arguments."""

    def name(self, arm: str | None) -> str:
        """The name of an arm of the scene; None for the only one."""
        if arm is None and len(self.joints) == 1:
            return next(iter(self.joints))
        if arm is None:
            raise TrocarError(f"arm must name one of {', '.join(self.joints)}")
        check_known("arm of the scene", self.joints, arm)
        return arm

    def reset(self, q: ArrayLike | None = None, arm: str | None = None) -> R:
        """Restart at time 0 with all arms at rest at their start, or one of them at q (n,) [rad, m]."""
        start = {}
        if q is not None:
            name = self.name(arm)
            start[name] = arguments.vector("q", q, self.joints[name])
        return self._do(lambda live: live.restart(start))

    def drive(self, controller: str, gains: Mapping[str, float] | None = None, arm: str | None = None) -> R:
        """Switch to another controller, which holds the arm until it gets a target."""
        name, checked = self.name(arm), arguments.gains(controller, gains)
        return self._do(lambda live: live.change_driver(name, controller, checked))

    def retune(self, gains: Mapping[str, float], arm: str | None = None) -> R:
        """Change some gains of the controller."""
        # the controller checks their names when the command is executed
        name, given = self.name(arm), arguments.named_numbers("gains", gains)
        return self._do(lambda live: live.drivers[name].retune(given))

    def move_joints(self, q: ArrayLike, arm: str | None = None) -> R:
        """Move to joint positions q (n,) [rad, m], clipped to the limits; requires a joint controller."""
        name = self.name(arm)
        target = arguments.vector("q", q, self.joints[name])
        return self._do(lambda live: live.drivers[name].aim(Mode.joint, target))

    def move_tip(self, T: ArrayLike, arm: str | None = None) -> R:
        """Move the tip to T (4, 4) in the base frame; requires a Cartesian controller."""
        name, target = self.name(arm), arguments.tip_pose(T)
        return self._do(lambda live: live.drivers[name].aim(Mode.cartesian, target))

    def set_effort(self, tau: ArrayLike, arm: str | None = None) -> R:
        """Apply joint efforts tau (n,) [N m, N]; requires an effort controller."""
        name = self.name(arm)
        target = arguments.vector("tau", tau, self.joints[name])
        return self._do(lambda live: live.drivers[name].aim(Mode.torque, target))

    def place(self, q: ArrayLike, arm: str | None = None) -> R:
        """Place an arm at q (n,) [rad, m], clipped to the limits and at rest, without simulating the motion."""
        name = self.name(arm)
        target = arguments.vector("q", q, self.joints[name])
        return self._do(lambda live: live.put_arm(name, target))

    def push(self, force: ArrayLike, arm: str | None = None) -> R:
        """Push the tip with a force (3,) [N] in base axes until changed; zeros remove it."""
        name, checked = self.name(arm), arguments.vector("force", force, 3)
        return self._do(lambda live: live.push_tip(name, checked))

    def change(self, arm: str | None = None, **changes: Any) -> R:
        """Change options of the running simulation; state, controllers and targets are kept.

        counterweight, friction, instrument, set_up (set-up joints (n,) [m, rad], on a cart): for one arm.
        gravity: (3,) [m/s^2] in the world, for all arms.
        """
        name, checked = self.name(arm), arguments.changes(changes)
        return self._do(lambda live: live.apply_changes(name, checked))

    def record(self, arm: str | None = None) -> R:
        """Start recording an arm."""
        name = self.name(arm)
        return self._do(lambda live: live.start_recording(name))

    def connect(self, name: str, source: Callable[[Live], None], period: float = TIMESTEP) -> R:
        """Call `source(live)` before a step, every `period` [s] of simulated time, so that it can send commands.

        A source that raises is disconnected and reported; the arms then hold their last targets.
        """
        steps = round(arguments.number("period", period, TIMESTEP, 10.0) / TIMESTEP)
        checked = arguments.text("name", name)
        if not callable(source):
            raise TrocarError(f"source must be a function of the simulation, got {source!r}")
        return self._do(lambda live: live.connect_input(checked, source, steps))

    def disconnect(self, name: str) -> R:
        """Disconnect an input; does nothing if there is no input with this name."""
        checked = arguments.text("name", name)
        return self._do(lambda live: live.connect_input(checked, None))

    def set_status(self, name: str, text: str | None) -> R:
        """Show a short text under a name in all following frames; None removes it."""
        checked = arguments.text("name", name), None if text is None else arguments.text("text", text)
        return self._do(lambda live: live.put_status(*checked))
