"""Recordings as something that can be looked at: which arm they move, and what it looks like at any time."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trocar.appearance import Picture, render
from trocar.arms import ARMS
from trocar.arms.parameters import SETS
from trocar.errors import TrocarError, UnknownName
from trocar.recording import Recording, differences, load_recording
from trocar.simulation import Simulator
from trocar.spatial import Array
from trocar.viewer.frame import Frame
from trocar.viewer.plant import Plant, Settings


class Track:
    """A recording and the arm that moves as it says; times run from 0 to `duration` [s].

    Joints that the recording does not have stay at home. Values between two rows are interpolated.
    """

    def __init__(self, recording: Recording, name: str, settings: Settings | None = None) -> None:
        self.recording, self.name = recording, name
        self.plant = Plant(settings_of(recording, settings or Settings()))
        arm = self.plant.arm
        for joint in recording.joints:
            if joint not in arm.joint_names:
                raise UnknownName(f"{name}: joint of {arm.name}", joint, arm.joint_names)
        self._columns = [arm.joint_names.index(joint) for joint in recording.joints]
        self.t = recording.t - recording.t[0]

    @classmethod
    def load(cls, path: str | Path, settings: Settings | None = None) -> Track:
        path = Path(path)
        return cls(load_recording(path, (settings or Settings()).arm), path.name, settings)

    @classmethod
    def from_bytes(cls, name: str, content: bytes, settings: Settings | None = None) -> Track:
        """A recording that came as a file's name and content."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / Path(name).name
            path.write_bytes(content)
            try:
                return cls(load_recording(path, (settings or Settings()).arm), name, settings)
            except TrocarError as error:
                raise TrocarError(str(error).replace(f"{folder}/", "")) from None

    @property
    def duration(self) -> float:
        return float(self.t[-1])

    def values(self, channel: str) -> Array | None:
        """A channel (N, n) in the joints of the arm; None where the recording has none."""
        recorded = getattr(self.recording, channel)
        if recorded is None:
            return None
        arm = self.plant.arm
        found = np.tile(np.array(arm.home) if channel == "q" else np.zeros(arm.n), (len(self.t), 1))
        found[:, self._columns] = recorded
        return found

    @property
    def completed(self) -> Recording:
        """The recording with every joint of the arm."""
        arm = self.plant.arm
        channels: dict[str, Any] = {name: self.values(name) for name in ("q", "dq", "ddq", "tau")}
        return replace(self.recording, **channels, joints=arm.joint_names, joint_units=arm.joint_units, commands={})

    def frame(self, t: float, number: int = 0, playing: bool = False, speed: float = 1.0) -> Frame:
        """The arm at time t [s], the first or last row beyond the ends."""
        plant = self.plant
        q = self._at("q", t)
        assert q is not None
        qpos = plant.arm.E @ q
        dq = self._at("dq", t)
        return Frame(
            number=number,
            plant=plant,
            time=t,
            q=q,
            dq=np.zeros_like(q) if dq is None else dq,
            ddq=self._at("ddq", t),
            tau=self._at("tau", t),
            qpos=qpos,
            T_tip=plant.mechanism.forward_kinematics(q),
            playing=playing,
            speed=speed,
        )

    def pictures(self, fps: float, speed: float = 1.0, camera: str = "iso", size: tuple[int, int] = (960, 720)) -> Film:
        """Images for a film of the whole recording, one after the other."""
        return Film(self, np.arange(0.0, self.duration + 1e-9, speed / fps), camera, size)

    def picture(self, t: float, camera: str = "iso", size: tuple[int, int] = (960, 720)) -> Picture:
        """Image of the arm at time t [s]."""
        q = self._at("q", t)
        assert q is not None
        sim = self.plant.sim
        assert isinstance(sim, Simulator)  # a track has an arm that is alone
        sim.place(q)
        return render(sim, camera, size)

    def _at(self, channel: str, t: float) -> Array | None:
        values = self.values(channel) if channel != "q" else self._q
        if values is None:
            return None
        k = int(np.clip(np.searchsorted(self.t, t) - 1, 0, max(len(self.t) - 2, 0)))
        if len(self.t) == 1:
            return values[0].copy()
        u = float(np.clip((t - self.t[k]) / (self.t[k + 1] - self.t[k]), 0.0, 1.0))
        return np.asarray((1.0 - u) * values[k] + u * values[k + 1])

    @property
    def _q(self) -> Array:
        values = self.values("q")
        assert values is not None  # a recording always has positions
        return values


class Film:
    """Images of a track at given times, made as they are asked for."""

    def __init__(self, track: Track, times: Array, camera: str, size: tuple[int, int]) -> None:
        self._track, self._times, self._camera, self._size = track, times, camera, size

    def __len__(self) -> int:
        return len(self._times)

    def __iter__(self) -> Iterator[Picture]:
        return (self._track.picture(float(t), self._camera, self._size) for t in self._times)


def settings_of(recording: Recording, usual: Settings) -> Settings:
    """What the recording says of its arm; what it does not say is as in `usual`."""
    said = recording.provenance
    arm = said.get("arm", usual.arm)
    if arm not in ARMS:
        raise UnknownName("the recording's arm", arm, ARMS)
    known: dict[str, Any] = {"arm": arm}
    if arm != usual.arm:  # the parameters, instrument and gravity of another arm do not fit
        usual = Settings()
    if said.get("parameters") in SETS.get(arm, ()):
        known["parameters"] = said["parameters"]
    for key in ("instrument", "counterweight", "friction"):
        if key in said and not (key == "instrument" and arm.startswith("MTM")):
            known[key] = said[key]
    if "gravity" in said:
        known["gravity"] = tuple(float(g) for g in said["gravity"])
    return replace(usual, touch=False, **known)


def difference(a: Track, b: Track) -> dict[str, Array]:
    """Root mean square (n,) of b - a, channel by channel, over the time that both have, on the rows of a."""
    if a.plant.arm.joint_names != b.plant.arm.joint_names:
        raise TrocarError(f"{a.name} is of {a.plant.arm.name}, {b.name} of {b.plant.arm.name}: nothing to compare")
    _, found = differences(a.completed, b.completed)
    return {channel: np.sqrt((x**2).mean(axis=0)) for channel, x in found.items()}
