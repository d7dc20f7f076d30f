"""The functions of CoppeliaSim's module `sim` that the ZMQ remote API serves."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from trocar import checks
from trocar.errors import shown
from trocar.spatial import Array
from trocar_reproductions.coppelia import commands
from trocar_reproductions.coppelia.commands import PendingImage
from trocar_reproductions.coppelia.packets import ScriptCall
from trocar_reproductions.coppelia.remote_scene import DUMMY, JOINT, VISION_SENSOR, WORLD, SceneRefusal
from trocar_reproductions.coppelia.stepping import Stepping

MAX_STRING = 1 << 16  # length of a string signal
GREY = 1  # option of getVisionSensorImg
ALL, SCENE, NOTHING = -2, -12, -1  # handles of all objects and of the scene; no object
DYNAMIC = 5  # mode of joints with a motor
EFFORT_VELOCITY = 1e3  # target velocity of a motor that applies its largest effort
CONSTANTS = {
    "handle_world": WORLD,
    "handle_all": ALL,
    "handle_scene": SCENE,
    "object_joint_type": JOINT,
    "object_dummy_type": DUMMY,
    "object_visionsensor_type": VISION_SENSOR,
    "jointmode_dynamic": DYNAMIC,
    "simulation_stopped": 0,
    "simulation_paused": 8,
    "simulation_advancing_running": 17,
}


class SimFunctions:
    """The functions of the module `sim` on a scene, by name in `table`; a tuple holds several results."""

    def __init__(self, stepping: Stepping) -> None:
        self._stepping, scene = stepping, stepping.scene
        self._scene = scene
        self._strings: dict[str, Any] = {}
        self.table: Mapping[str, Callable[..., Any]] = {
            "getObject": lambda path, options=None: self._handle(_text(path).rsplit("/", 1)[-1], options),
            "getObjectHandle": lambda name, options=None: self._handle(_text(name), options),
            "getObjectAlias": lambda one, options=-1: self._known(one, scene.names),
            "getObjectParent": lambda one: self._known(one, scene.parents),
            "getObjectType": lambda one: self._known(one, scene.kinds),
            "getObjectsInTree": self._tree,
            "getJointMode": lambda joint: (scene.joint_position(_handle(joint)), (DYNAMIC, 0))[1],
            "getJointInterval": self._interval,
            "getJointTargetForce": lambda joint: float(scene.joint_force_limit(_handle(joint))),
            "setJointTargetForce": self._set_target_force,
            "getJointPosition": lambda joint: float(scene.joint_position(_handle(joint))),
            "getJointVelocity": lambda joint: float(scene.joint_velocity(_handle(joint))),
            "getJointForce": lambda joint: float(scene.joint_force(_handle(joint))),
            "getJointMaxForce": lambda joint: float(scene.joint_force_limit(_handle(joint))),
            "setJointPosition": lambda joint, x: scene.set_joint_position(_handle(joint), _number(x)),
            "setJointTargetPosition": lambda joint, x, motion=None: scene.set_joint_target(
                _handle(joint), position=_number(x)
            ),
            "setJointTargetVelocity": lambda joint, v, motion=None: scene.set_joint_target(
                _handle(joint), velocity=_number(v)
            ),
            "setJointMaxForce": lambda joint, f: scene.set_joint_force_limit(_handle(joint), _number(f)),
            "getObjectPosition": lambda one, frame=WORLD: self._pose(one, frame)[:3, 3].tolist(),
            "getObjectOrientation": lambda one, frame=WORLD: commands.euler_angles(self._pose(one, frame)).tolist(),
            "getObjectQuaternion": lambda one, frame=WORLD: commands.quaternion_xyzw(self._pose(one, frame)).tolist(),
            "getObjectPose": lambda one, frame=WORLD: self._pose_numbers(one, frame),
            "getObjectMatrix": lambda one, frame=WORLD: self._pose(one, frame)[:3].ravel().tolist(),
            "setObjectPosition": self._set_position,
            "setObjectOrientation": self._set_orientation,
            "setObjectQuaternion": self._set_quaternion,
            "getObjectVelocity": lambda one: tuple(x.tolist() for x in np.split(scene.velocity(_handle(one)), 2)),
            "getVisionSensorImg": lambda one, options=0: PendingImage(scene.image(_handle(one)), options == GREY),
            "getFloatSignal": lambda name: scene.floats.get(_text(name)),
            "setFloatSignal": lambda name, x: commands.set_signal(scene.floats, _text(name), _number(x)),
            "clearFloatSignal": lambda name: scene.floats.pop(_text(name), None) and None,
            "getInt32Signal": lambda name: scene.integers.get(_text(name)),
            "setInt32Signal": lambda name, n: commands.set_signal(scene.integers, _text(name), _integer(n)),
            "clearInt32Signal": lambda name: scene.integers.pop(_text(name), None) and None,
            "getStringSignal": lambda name: self._strings.get(_text(name)),
            "setStringSignal": lambda name, text: commands.set_signal(self._strings, _text(name), _string(text)),
            "clearStringSignal": lambda name: self._strings.pop(_text(name), None) and None,
            "callScriptFunction": lambda function, script, *args: self._script(function, script),
            "startSimulation": lambda: scene.start(),
            "pauseSimulation": lambda: scene.pause(),
            "stopSimulation": lambda wait=False: self._stop(),
            "getSimulationState": self._state,
            "getSimulationTime": lambda: float(scene.time) if scene.running else 0.0,
            "getSimulationTimeStep": lambda: float(scene.period),
            "setStepping": lambda on=True: self._set_stepping(on),
            "step": lambda wait=True: self._step(),
        }

    def _handle(self, name: str, options: object) -> int:
        if isinstance(options, dict) and options.get("noError") and name not in self._scene.names.values():
            return NOTHING
        return self._scene.handle(name)

    def _known(self, one: object, table: Mapping[int, Any]) -> Any:
        handle = _handle(one)
        if handle not in table:
            raise SceneRefusal(f"there is no object with the handle {handle}")
        return table[handle]

    def _tree(self, root: object = SCENE, kind: object = ALL, options: object = 0) -> list[int]:
        """Handles of the objects below one, or of all; options bit 0: without the object itself, 1: children only."""
        root, kind, bits = _handle(root), _handle(kind), checks.count("options", options, 0, 3)
        parents = self._scene.parents
        if root in (SCENE, WORLD, ALL):
            level, handles = [one for one, parent in parents.items() if parent == WORLD], []
        else:
            self._known(root, parents)
            level, handles = [one for one, parent in parents.items() if parent == root], [] if bits & 1 else [root]
        while level:
            handles += level
            level = [] if bits & 2 else [one for one, parent in parents.items() if parent in level]
        return [one for one in handles if kind in (ALL, self._scene.kinds[one])]

    def _interval(self, joint: object) -> tuple[bool, list[float]]:
        """Cyclic, and lower limit and range."""
        lower, upper = self._scene.joint_range(_handle(joint))
        if math.isinf(lower) or math.isinf(upper):
            return True, [-math.pi, 2.0 * math.pi]
        return False, [lower, upper - lower]

    def _set_target_force(self, joint: object, force: object, signed: object = True) -> None:
        """Let a motor apply an effort: its largest one, in the direction of the sign."""
        handle, effort = _handle(joint), _number(force)
        self._scene.set_joint_force_limit(handle, abs(effort))
        if signed:
            self._scene.set_joint_target(handle, velocity=math.copysign(EFFORT_VELOCITY, effort) if effort else 0.0)

    def _pose_numbers(self, one: object, frame: object) -> list[float]:
        T = self._pose(one, frame)
        return [*T[:3, 3].tolist(), *commands.quaternion_xyzw(T).tolist()]

    def _stop(self) -> None:
        self._stepping.stop()
        self._strings.clear()

    def _pose(self, one: object, frame: object) -> Array:
        return commands.relative_pose(self._scene, _handle(one), _handle(frame))

    def _set_position(self, one: object, *rest: object) -> None:
        position, frame = _value_and_frame(rest, 3)
        commands.place(self._scene, _handle(one), frame, position=position)

    def _set_orientation(self, one: object, *rest: object) -> None:
        angles, frame = _value_and_frame(rest, 3)
        commands.place(self._scene, _handle(one), frame, rotation=commands.from_euler_angles(angles))

    def _set_quaternion(self, one: object, *rest: object) -> None:
        xyzw, frame = _value_and_frame(rest, 4)
        commands.place(self._scene, _handle(one), frame, rotation=commands.from_quaternion_xyzw(xyzw))

    def _script(self, function: object, script: object) -> None:
        self._scene.call(_text(script), _text(function), ScriptCall())

    def _state(self) -> int:
        state = "stopped" if not self._scene.running else "paused" if self._scene.paused else "advancing_running"
        return CONSTANTS[f"simulation_{state}"]

    def _set_stepping(self, on: object) -> None:
        if on and self._stepping.others(self):
            raise SceneRefusal("a client of the legacy remote API steps this simulation")
        self._stepping.synchronise(self, bool(on), guest=True)

    def _step(self) -> None:
        if self._stepping.others(self):
            raise SceneRefusal("a client of the legacy remote API steps this simulation")
        self._stepping.check_trigger(self)
        self._stepping.trigger(self)


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > 1000:
        raise SceneRefusal(f"a name must be a text of at most 1000 characters, got {shown(value)}")
    return value


def _string(value: object) -> str | bytes:
    if not isinstance(value, str | bytes) or len(value) > MAX_STRING:
        raise SceneRefusal(f"a string signal must be a text of at most {MAX_STRING} characters, got {shown(value)}")
    return value


def _handle(value: object) -> int:
    return checks.count("a handle", value, -(2**31), 2**31 - 1)


def _integer(value: object) -> int:
    return checks.count("an integer signal", value, -(2**31), 2**31 - 1)


def _number(value: object) -> float:
    if not checks.is_number(value):
        raise SceneRefusal(f"expected a number, got {shown(value)}")
    return checks.number("a number", value, -3.4e38, 3.4e38)


def _value_and_frame(rest: Sequence[object], n: int) -> tuple[list[float], int]:
    """Numbers and a frame, in the order of version 4.6 (value, frame) or of older ones (frame, value)."""
    values = [one for one in rest if isinstance(one, list)]
    frames = [one for one in rest if not isinstance(one, list)]
    if len(values) != 1 or len(values[0]) != n or len(frames) > 1:
        raise SceneRefusal(f"expected a list of {n} numbers and at most one frame, got {shown(rest)}")
    return [_number(x) for x in values[0]], _handle(frames[0]) if frames else WORLD
