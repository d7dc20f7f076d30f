"""Client of the simulation itself: time, control laws, changes of the scene, frames and recordings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from trocar.recording import Recording
from trocar.robot.clients.device import DeviceClient
from trocar.robot.messages import Frame

if TYPE_CHECKING:
    from trocar.mechanics import Mechanism
    from trocar.robot.recorder import Recorder
    from trocar.robot.simulation_server import RobotSnapshot


class ArmSimulationClient(DeviceClient):
    """Services for one arm."""

    def set_law(self, name: str, gains: Mapping[str, float] | None = None) -> None:
        """Let the arm follow its setpoint by a control law of `trocar.robot.laws.LAWS`; default gains if not given."""
        self.call("set_law", name, gains)

    def set_gravity_model(self, mechanism: Mechanism | None) -> None:
        """Let gravity compensation use these equations, such as wrong ones. None: those that are simulated."""
        self.call("set_gravity_model", mechanism)

    def place(self, q: ArrayLike) -> None:
        """Place the arm at q (n,) [rad, m], clipped to its limits and at rest, without simulating the motion."""
        self.call("place", q)

    def push(self, force: ArrayLike) -> None:
        """Push the tip with a force (3,) [N] in base axes until changed; zeros remove it."""
        self.call("push", force)

    def change(self, **options: Any) -> None:
        """Change counterweight, friction, instrument or set_up ((k,) [m, rad], on a cart); the state stays."""
        self.call("change", **options)

    def record(self) -> None:
        """Start a new recording; it keeps the last 120 s."""
        self.call("record")

    def recorded(self) -> Recording:
        """Stop the recording and return it."""
        recording: Recording = self.call("recorded")
        return recording

    def history(self) -> Recorder:
        """The last 8 s for plots; rows are kept from the first call on."""
        recorder: Recorder = self.call("history")
        return recorder


class SimulationClient(DeviceClient):
    """The simulation of a robot in this process."""

    default_name = "simulation"

    def arm(self, name: str) -> ArmSimulationClient:
        """Services for one arm."""
        return ArmSimulationClient(self.robot, f"{self.name()}/{name}")

    def play(self) -> None:
        """Let time pass."""
        self.call("play")

    def pause(self) -> None:
        """Stop time."""
        self.call("pause")

    def step(self, cycles: int = 1) -> None:
        """Pause and advance by control cycles of 1/1500 s."""
        self.call("step", cycles)

    def set_speed(self, speed: float) -> None:
        """Set the ratio of simulated to real time."""
        self.call("set_speed", speed)

    def reset(self) -> None:
        """Restart at time 0: every arm at rest at its start and in its initial state, without pushes."""
        self.call("reset")

    def snapshot(self) -> RobotSnapshot:
        """The complete state, for `restore`."""
        snapshot: RobotSnapshot = self.call("snapshot")
        return snapshot

    def restore(self, snapshot: RobotSnapshot) -> None:
        """Return to a snapshot; what follows is bit-for-bit the same."""
        self.call("restore", snapshot)

    def change(self, *, gravity: ArrayLike) -> None:
        """Change gravity (3,) [m/s^2] in the world."""
        self.call("change", gravity=gravity)

    def frame(self, arms: Collection[str] | None = None) -> Frame:
        """The current moment: a copy, for any thread. arms: names of those whose state it has. Default: all."""
        frame: Frame = self.call("frame", arms)
        return frame
