"""Recordings as motions of an arm: its state at any time, the difference of two, and a simulation along one."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from trocar.arms import ARMS
from trocar.arms.parameters import set_names
from trocar.checks import finite
from trocar.control import ComputedTorque, Setpoint
from trocar.errors import TrocarError, check_known
from trocar.files import scratch_folder
from trocar.recording import Recording, differences, load_recording
from trocar.recording.bag_file import is_bag, read_bag_apart
from trocar.recording.filters import lowpass
from trocar.recording.loading import SUFFIXES
from trocar.robot.controller.constants import PERIOD
from trocar.robot.frames import DescribedArm
from trocar.robot.messages import Frame
from trocar.robot.settings import RECORDED, ArmSettings, checked_changes
from trocar.simulation import simulate
from trocar.spatial import Array

CHANNELS = ("q", "dq", "ddq", "tau")
MAX_UNPACKED = 512 << 20  # [bytes]
RATE, CUTOFF = 200.0, 10.0  # sampling rate of the motion to follow, and its highest frequency [Hz]
BANDWIDTH = 30.0  # controller bandwidth [rad/s]
SHORT = 30  # rows; fewer are not filtered


class Track(DescribedArm):
    """A recording and its arm; times run from 0 to `duration` [s].

    Joints that were not recorded stay at home. Values between rows are interpolated.

    Attributes:
        completed: the recording with all joints of the arm.
    """

    def __init__(self, recording: Recording, name: str, settings: ArmSettings | None = None) -> None:
        self.recording, self.name = recording, name
        super().__init__(settings_of(recording, settings or ArmSettings()))
        check_known(f"{name}: joint of {self.arm.name}", self.arm.joint_names, *recording.joints)
        self.t = recording.t - recording.t[0]
        names, units = self.arm.joint_names, self.arm.joint_units
        channels: dict[str, Any] = {channel: self._in_joints(channel) for channel in CHANNELS}
        self.completed = replace(recording, **channels, joints=names, joint_units=units, commands={})

    @classmethod
    def load(cls, path: str | Path, settings: ArmSettings | None = None, namespace: str | None = None) -> Track:
        """A recording from a file; `namespace` is the arm in a bag that holds several."""
        path = Path(path)
        return cls(load_recording(path, (settings or ArmSettings()).name, namespace=namespace), path.name, settings)

    @classmethod
    def from_bytes(cls, name: str, content: bytes, settings: ArmSettings | None = None) -> Track:
        """A recording from the name and the content of one file: .csv, .npz, or a bag (.bag, .mcap, .db3)."""
        suffix = Path(name).suffix.lower()
        if suffix not in SUFFIXES:
            raise TrocarError(f"{name!r}: a recording is a file ending in {', '.join(SUFFIXES)}")
        if suffix == ".npz":
            _check_unpacked(name, content)
        with scratch_folder("trocar-upload-") as folder:
            path = folder / f"recording{suffix}"  # the given name is untrusted
            path.write_bytes(content)
            arm = (settings or ArmSettings()).name
            try:
                recording = read_bag_apart(path, arm) if is_bag(path) else load_recording(path, arm)
                return cls(recording, Path(name).name, settings)
            except TrocarError as error:
                raise TrocarError(str(error).replace(str(path), Path(name).name)) from None

    @property
    def duration(self) -> float:
        return float(self.t[-1])

    def at(self, channel: str, t: float | Array) -> Array | None:
        """A channel (..., n) at times t (...) [s], constant beyond its ends; None if it was not recorded."""
        values = getattr(self.completed, channel)
        if values is None:
            return None
        return np.stack([np.interp(np.asarray(t), self.t, column) for column in values.T], axis=-1)

    def _in_joints(self, channel: str) -> Array | None:
        recorded = getattr(self.recording, channel)
        if recorded is None:
            return None
        values = np.tile(np.array(self.arm.home) if channel == "q" else np.zeros(self.arm.n), (len(self.t), 1))
        values[:, [self.arm.joint_names.index(joint) for joint in self.recording.joints]] = recorded
        return values

    def frame(self, t: float, number: int = 0, playing: bool = False, speed: float = 1.0) -> Frame:
        """The arm at time t [s]."""
        state = {channel: self.at(channel, t) for channel in CHANNELS}
        return self.framed(state, number=number, time=t, playing=playing, speed=speed)


def _check_unpacked(name: str, content: bytes) -> None:
    """Reject a small file that unpacks to a huge one."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            size = sum(entry.file_size for entry in file.infolist())
    except (zipfile.BadZipFile, ValueError, EOFError):
        return  # the reader reports the problem
    if size > MAX_UNPACKED:
        raise TrocarError(f"{name}: {size >> 20} MB when unpacked; at most {MAX_UNPACKED >> 20} MB are read")


def settings_of(recording: Recording, default: ArmSettings) -> ArmSettings:
    """Settings of the arm of a recording, from its provenance or, if missing, from `default`."""
    known = recording.provenance
    arm = known.get("arm", default.name)
    options: dict[str, Any] = {}
    if arm != default.name:  # parameters, instrument and gravity of another arm do not apply
        check_known("the recording's arm", ARMS, arm)
        default = ArmSettings(arm=arm)
    if known.get("parameters") in set_names(arm):
        options["parameters"] = known["parameters"]
    stated = {key: known[key] for key in ("counterweight", "friction", "instrument") if key in known}
    if stated.get("instrument") == "none":
        del stated["instrument"]
    options |= checked_changes(stated)
    if "gravity" in known:
        options["gravity"] = tuple(finite("gravity", known["gravity"], (3,), "three finite numbers [m/s^2]").tolist())
    return replace(default, **options)


def difference(a: Track, b: Track) -> dict[str, Array]:
    """RMS (n,) of b - a for each channel, over the time that both cover, at the rows of a."""
    if a.arm.joint_names != b.arm.joint_names:
        raise TrocarError(
            f"{a.name} is a recording of {a.arm.name}, {b.name} of {b.arm.name}; choose recordings of the same arm"
        )
    _, by_channel = differences(a.completed, b.completed)
    return {channel: np.sqrt((x**2).mean(axis=0)) for channel, x in by_channel.items()}


def resimulated(
    track: Track, settings: ArmSettings | None = None, progress: Callable[[float], None] | None = None
) -> Track:
    """The motion of a track, below 10 Hz and within joint limits, followed by computed torque with friction.

    Its efforts are those that the simulated arm needs for that motion, for comparison with the recorded ones.
    """
    settings = settings or track.settings
    scene = settings.build()
    ((name, sim),) = scene.arms.items()
    reference = motion(track, sim.arm.lower, sim.arm.upper)
    start = reference(0.0)
    scene.reset({name: start.q}, {name: start.dq})
    law = ComputedTorque(sim.mechanism, BANDWIDTH**2, 2 * BANDWIDTH, friction=settings.friction)
    recordings = simulate(
        scene, {name: law}, {name: reference}, track.duration, progress, every=round(RECORDED / PERIOD)
    )
    return Track(recordings[name], f"{track.name}, simulated", settings)


def motion(track: Track, lower: Array, upper: Array) -> Callable[[float], Setpoint]:
    """The positions of a track as a smooth reference with its derivatives, within joint limits (n,) [rad, m]."""
    q = track.completed.q
    # a reader faster than the robot repeats rows, which are not measurements
    fresh = np.concatenate([[True], (np.diff(q, axis=0) != 0).any(1)])
    fresh[-1] = True
    t = np.linspace(0.0, track.duration, max(2, round(track.duration * RATE) + 1))
    dense = np.stack([np.interp(t, track.t[fresh], column) for column in q[fresh].T], axis=1)
    if len(t) > SHORT:
        dense = lowpass(dense, CUTOFF, (len(t) - 1) / track.duration)
    # clip last, because filters overshoot
    spline = scipy.interpolate.CubicSpline(t, np.clip(dense, lower, upper), bc_type="natural")
    derivatives = spline.derivative(1), spline.derivative(2)

    def reference(time: float) -> Setpoint:
        time = float(np.clip(time, 0.0, t[-1]))
        return Setpoint(np.clip(spline(time), lower, upper), *(np.asarray(d(time)) for d in derivatives))

    return reference
