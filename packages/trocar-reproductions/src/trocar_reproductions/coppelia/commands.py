"""Commands of the legacy remote API on a `RemoteScene`: each turns a key and data into the data of a reply."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.appearance.films import Picture
from trocar.spatial import Array, inverse, pose
from trocar_reproductions.coppelia.packets import RemoteCommand, ScriptCall, key_strings
from trocar_reproductions.coppelia.remote_scene import WORLD, NotServed, RemoteScene, SceneRefusal

SYNCHRONOUS, FREE_RUNNING, TRIGGER, FINISH = 0x0001, 0x0002, 0x0003, 0x000A  # executed by the server
SIMULATION, START, STOP = 0x1007, struct.pack("<i", 0), struct.pack("<i", 2)  # these two by the server
PROGRAM_VERSION = 40200  # CoppeliaSim 4.2.0
VERSION_PARAMETER = 1
JOINT_VELOCITY = 2012  # float parameter of an object
MAX_SIGNALS = 10_000

# Commands on files, scripts and the scene's objects are refused by name; other unknown ones by their number.
REFUSED = {
    0x0005: "simxCloseScene",
    0x1028: "simxRemoveObject",
    0x102E: "simxCopyPasteObjects",
    0x1037: "simxRemoveModel",
    0x3002: "simxLoadScene",
    0x3003: "simxLoadModel",
    0x3004: "simxTransferFile",
    0x3005: "simxLoadUI",
    0x3006: "simxEraseFile",
}


class PendingImage(NamedTuple):
    """The data of a reply that has a picture in it, which another thread renders."""

    picture: Future[Picture]
    grey: bool = False

    @property
    def size(self) -> int:
        """Bytes of the picture once it is rendered; 0 if it cannot be."""
        failed = self.picture.cancelled() or self.picture.exception() is not None
        return 0 if failed else self.picture.result().size

    def data(self) -> bytes:
        """Width, height and pixels, the bottom row first. Waits for the picture; raises a SceneRefusal."""
        try:
            picture = self.picture.result()[::-1]
        except Exception as error:  # of OpenGL
            raise NotServed(f"the picture cannot be rendered: {error}") from error
        if self.grey:
            picture = picture.mean(axis=2).astype(np.uint8)
        return struct.pack("<2i", picture.shape[1], picture.shape[0]) + np.ascontiguousarray(picture).tobytes()


def execute(scene: RemoteScene, command: RemoteCommand) -> bytes | PendingImage:
    """Execute a command and return the data of the reply; raises a SceneRefusal or a ProtocolError."""
    number = command.number
    if number in REFUSED:
        raise NotServed(f"{REFUSED[number]} is refused: files and objects of a scene cannot be changed from outside")
    if number not in COMMANDS:
        raise NotServed(f"command 0x{number:04x} is not served; see the list in docs/coppeliasim.md")
    return COMMANDS[number](scene, command)


# -- poses: in the frame of another object, or of the world -------------------------------------------------------


def relative_pose(scene: RemoteScene, handle: int, frame: int) -> Array:
    """Pose (4, 4) of an object in the frame of another."""
    T = scene.pose(handle)
    return T if frame == WORLD else inverse(scene.pose(frame)) @ T


def place(
    scene: RemoteScene,
    handle: int,
    frame: int,
    position: Sequence[float] | None = None,
    rotation: Rotation | None = None,
) -> None:
    """Place an object at a position or in an orientation in the frame of another; the other part is kept."""
    T = relative_pose(scene, handle, frame)
    R = T[:3, :3] if rotation is None else rotation.as_matrix()
    T = pose(R, T[:3, 3] if position is None else np.array(position))
    scene.place(handle, T if frame == WORLD else scene.pose(frame) @ T)


def euler_angles(T: Array) -> Array:
    """Angles (3,) a, b, c with R = Rx(a) Ry(b) Rz(c)."""
    R = T[:3, :3]
    b = np.arcsin(np.clip(R[0, 2], -1.0, 1.0))
    return np.array([np.arctan2(-R[1, 2], R[2, 2]), b, np.arctan2(-R[0, 1], R[0, 0])])


def from_euler_angles(angles: Sequence[float]) -> Rotation:
    """The rotation of such angles."""
    return Rotation.from_euler("XYZ", angles)


def quaternion_xyzw(T: Array) -> Array:
    """Quaternion (4,), the scalar last."""
    return np.asarray(Rotation.from_matrix(T[:3, :3]).as_quat())


def from_quaternion_xyzw(xyzw: Sequence[float]) -> Rotation:
    """The rotation of a quaternion with the scalar last."""
    if not 1e-6 < np.linalg.norm(xyzw) < 1e6:
        raise SceneRefusal(f"a quaternion must have a finite length above 0, got {tuple(xyzw)}")
    return Rotation.from_quat(xyzw)


def set_signal(signals: dict[str, Any], name: str, value: float | str | bytes) -> None:
    """Set a signal."""
    if name not in signals and len(signals) >= MAX_SIGNALS:
        raise SceneRefusal(f"the scene has {MAX_SIGNALS} signals; clear some before you set '{name}'")
    signals[name] = value


def signal(signals: dict[str, Any], name: str) -> Any:
    """Value of a signal."""
    if name not in signals:
        raise SceneRefusal(f"the signal '{name}' is not set")
    return signals[name]


# -- bytes --------------------------------------------------------------------------------------------------------


def numbers(layout: str, data: bytes) -> tuple[Any, ...]:
    """Numbers of a key or of data, which must have the length of the layout; floats must be finite."""
    if len(data) != struct.calcsize(layout):
        raise SceneRefusal(f"{len(data)} bytes were sent, expected {struct.calcsize(layout)}")
    values = struct.unpack(layout, data)
    if not all(np.isfinite(value) for value in values):
        raise SceneRefusal(f"numbers must be finite, got {values}")
    return values


def floats(values: Any) -> bytes:
    return np.asarray(values, dtype="<f4").tobytes()


def _of_object(read: Callable[[RemoteScene, int], Any], scene: RemoteScene, command: RemoteCommand) -> bytes:
    """Read floats of an object."""
    return floats(read(scene, *numbers("<i", command.key)))


def _of_two(read: Callable[[Array], Any], scene: RemoteScene, command: RemoteCommand) -> bytes:
    """Read floats of an object's pose in the frame of another."""
    return floats(read(relative_pose(scene, *numbers("<2i", command.key))))


def _set_joint(write: Callable[[RemoteScene, int, float], None], scene: RemoteScene, command: RemoteCommand) -> bytes:
    write(scene, *numbers("<i", command.key), *numbers("<f", command.data))
    return b""


def _place(layout: str, part: str, read: Callable[[Any], Any], scene: RemoteScene, command: RemoteCommand) -> bytes:
    (handle,), (frame, *values) = numbers("<i", command.key), numbers(layout, command.data)
    place(scene, handle, frame, **{part: read(values)})
    return b""


def _simulation(scene: RemoteScene, command: RemoteCommand) -> bytes:
    (which,) = numbers("<i", command.key)
    if which not in (0, 1):
        raise SceneRefusal(f"the simulation can be started (0), paused (1) and stopped (2), got {which}")
    (scene.start, scene.pause)[which]()
    return b""


def _integer_parameter(scene: RemoteScene, command: RemoteCommand) -> bytes:
    if numbers("<i", command.key) != (VERSION_PARAMETER,):
        raise SceneRefusal("of the integer parameters only 1 is served, the version of the program")
    return struct.pack("<i", PROGRAM_VERSION)


def _float_parameter(scene: RemoteScene, command: RemoteCommand) -> bytes:
    handle, parameter = numbers("<2i", command.key)
    if parameter != JOINT_VELOCITY:
        raise SceneRefusal(f"of the float parameters of objects only {JOINT_VELOCITY} is served, a joint's velocity")
    return floats(scene.joint_velocity(handle))


def _velocity(scene: RemoteScene, command: RemoteCommand) -> bytes:
    return floats(scene.velocity(*numbers("<i", command.key)))


def _image(grey: bool, scene: RemoteScene, command: RemoteCommand) -> PendingImage:
    return PendingImage(scene.image(*numbers("<i", command.key)), grey)


def _name(command: RemoteCommand) -> str:
    return key_strings(command.key)[0]


def _handle(scene: RemoteScene, command: RemoteCommand) -> bytes:
    return struct.pack("<i", scene.handle(_name(command)))


def _get_signal(layout: str, kind: str, scene: RemoteScene, command: RemoteCommand) -> bytes:
    return struct.pack(layout, signal(getattr(scene, kind), _name(command)))


def _set_signal(layout: str, kind: str, scene: RemoteScene, command: RemoteCommand) -> bytes:
    if len(command.data) != 4:
        raise SceneRefusal(f"a signal has 4 bytes, got {len(command.data)}")
    # not checked to be finite: programs also send numbers that they only plot; the scene checks those that it uses
    set_signal(getattr(scene, kind), _name(command), struct.unpack(layout, command.data)[0])
    return b""


def _clear_signal(kind: str, scene: RemoteScene, command: RemoteCommand) -> bytes:
    getattr(scene, kind).pop(_name(command), None)
    return b""


def _call(scene: RemoteScene, command: RemoteCommand) -> bytes:
    strings = key_strings(command.key, 4)
    if len(strings) != 2:
        raise SceneRefusal("simxCallScriptFunction needs the names of an object and of a function")
    return scene.call(strings[0], strings[1], ScriptCall.unpacked(command.data)).packed()


def _position(T: Array) -> Array:
    return T[:3, 3]


COMMANDS: dict[int, Callable[[RemoteScene, RemoteCommand], bytes | PendingImage]] = {
    0x1001: partial(_of_object, lambda scene, joint: scene.joint_position(joint)),  # simxGetJointPosition
    0x1002: partial(_set_joint, lambda scene, joint, x: scene.set_joint_position(joint, x)),  # simxSetJointPosition
    0x1003: partial(_image, True),  # simxGetVisionSensorImage, grey
    0x1004: partial(_image, False),  # simxGetVisionSensorImage, colour
    SIMULATION: _simulation,  # simxStartSimulation, simxPauseSimulation, simxStopSimulation
    0x1008: partial(_set_joint, lambda scene, joint, v: scene.set_joint_target(joint, velocity=v)),
    0x100C: partial(_set_joint, lambda scene, joint, x: scene.set_joint_target(joint, position=x)),
    0x100D: partial(_of_object, lambda scene, joint: scene.joint_force(joint)),  # simxGetJointForce
    0x100E: partial(_set_joint, lambda scene, joint, f: scene.set_joint_force_limit(joint, f)),  # simxSetJointForce
    0x1018: partial(_of_object, lambda scene, handle: euler_angles(scene.pose(handle))),  # before 2014
    0x1019: partial(_of_object, lambda scene, handle: _position(scene.pose(handle))),  # before 2014
    0x101A: partial(_place, "<i3f", "rotation", from_euler_angles),  # simxSetObjectOrientation
    0x101B: partial(_place, "<i3f", "position", tuple),  # simxSetObjectPosition
    0x1021: _integer_parameter,  # simxGetPingTime
    0x1036: _velocity,  # simxGetObjectVelocity
    0x1038: partial(_of_object, lambda scene, joint: scene.joint_force_limit(joint)),  # simxGetJointMaxForce
    0x1801: partial(_place, "<i4f", "rotation", from_quaternion_xyzw),  # simxSetObjectQuaternion
    0x2007: _float_parameter,  # simxGetObjectFloatParameter
    0x200D: partial(_of_two, euler_angles),  # simxGetObjectOrientation
    0x200E: partial(_of_two, _position),  # simxGetObjectPosition
    0x2801: partial(_of_two, quaternion_xyzw),  # simxGetObjectQuaternion
    0x3001: _handle,  # simxGetObjectHandle
    0x3008: lambda scene, command: b"",  # simxAddStatusbarMessage: there is no status bar
    0x300D: partial(_clear_signal, "floats"),  # simxClearFloatSignal
    0x300E: partial(_clear_signal, "integers"),  # simxClearIntegerSignal
    0x3010: partial(_get_signal, "<f", "floats"),  # simxGetFloatSignal
    0x3011: partial(_get_signal, "<i", "integers"),  # simxGetIntegerSignal
    0x3013: partial(_set_signal, "<f", "floats"),  # simxSetFloatSignal
    0x3014: partial(_set_signal, "<i", "integers"),  # simxSetIntegerSignal
    0x3401: _call,  # simxCallScriptFunction
}
