"""CoppeliaSim's ZMQ remote API (protocol 2) on this machine, beside the legacy one and on the same scene.

A request is a CBOR map {func, args, ...}, the reply {ret: [...]} or {err: text}. Clients ask for the functions and
constants that there are (`zmqRemoteApi.info`). Numbers are doubles, and calls are executed at once.
"""

from __future__ import annotations

import inspect
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from trocar import checks
from trocar.errors import TrocarError, shown
from trocar.spatial import Array
from trocar_reproductions.coppelia import commands
from trocar_reproductions.coppelia.commands import PendingImage
from trocar_reproductions.coppelia.packets import ScriptCall
from trocar_reproductions.coppelia.remote_scene import WORLD, SceneRefusal
from trocar_reproductions.coppelia.stepping import Stepping

try:
    import cbor2
    import zmq
except ImportError:  # named when a server is made
    zmq = cbor2 = None  # type: ignore[assignment]

PORT = 23000
MAX_REQUEST = 1 << 20  # bytes
POLL_INTERVAL = 200  # [ms]
GREY = 1  # option of getVisionSensorImg
TIMEOUT = 600.0  # time without a request after which stepping ends: this protocol does not tell that a client has left
CONSTANTS = {"handle_world": WORLD, "simulation_stopped": 0, "simulation_paused": 8, "simulation_advancing_running": 17}


class ZmqApiServer:
    """Serves the scene of a `Stepping` to clients of the ZMQ remote API, until it is closed.

    Args:
        stepping: the steps of the simulation, shared with the server of the legacy API.
        port: 0 selects a free one. report: called with one line about requests that are not understood.
    """

    def __init__(self, stepping: Stepping, port: int = PORT, report: Callable[[str], None] = print) -> None:
        if zmq is None:
            raise TrocarError("the ZMQ remote API needs pyzmq and cbor2: pip install 'trocar-reproductions[zmq]'")
        checks.count("port", port, 0, 65535)
        self._stepping, self._report = stepping, report
        self._functions = SimFunctions(stepping)
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.REP)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_REQUEST)
        try:
            self._socket.bind(f"tcp://127.0.0.1:{port or '*'}")
        except zmq.ZMQError as error:
            self._context.destroy()
            raise TrocarError(f"port {port} cannot be opened: {error}; choose another port") from None
        self.port = int(self._socket.getsockopt_string(zmq.LAST_ENDPOINT).rpartition(":")[2])
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="trocar-coppelia-zmq", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server."""
        self._closing = True
        self._thread.join(timeout=10.0)

    def _run(self) -> None:
        last = time.monotonic()
        while not self._closing:
            if self._socket.poll(POLL_INTERVAL):
                parts = self._socket.recv_multipart()
                last = time.monotonic()
                self._socket.send(self._answer(b"".join(parts)))
            elif time.monotonic() - last > TIMEOUT:
                with self._stepping.lock:
                    self._stepping.synchronise(self._functions, False)
        with self._stepping.lock:
            self._stepping.synchronise(self._functions, False)
        self._context.destroy()

    def _answer(self, data: bytes) -> bytes:
        try:
            request = cbor2.loads(data)
            func, args = request["func"], request.get("args") or []
            if not (isinstance(func, str) and isinstance(args, list)):
                raise TypeError("func must be a text and args a list")
        except Exception as error:  # whatever the decoder makes of the bytes
            problem = f"a request is not a CBOR map with func and args: {shown(str(error))}"
            self._report(problem)
            return cbor2.dumps({"err": problem})
        try:
            with self._stepping.lock:
                results = self._call(func, args)
            if results and isinstance(results[0], PendingImage):  # rendered while the simulation goes on
                data = results[0].data()
                results = [data[8:], list(struct.unpack_from("<2i", data))]
            return cbor2.dumps({"ret": results})
        except TrocarError as error:
            return cbor2.dumps({"err": f"{error} (in function {shown(func)})"})

    def _call(self, func: str, args: list[Any]) -> list[Any]:
        """Results of a function."""
        match func:
            case "zmqRemoteApi.require" | "_*executed*_":
                return []
            case "_*end*_":
                self._stepping.synchronise(self._functions, False)
                return []
            case "zmqRemoteApi.info":
                known: dict[str, Any] = {name: {"func": {}} for name in self._functions.table}
                known |= {name: {"const": value} for name, value in CONSTANTS.items()}
                return [known if args == ["sim"] else {}]
        module, _, name = func.partition(".")
        if module != "sim" or name not in self._functions.table:
            raise SceneRefusal("this function is not served; see the list in docs/coppeliasim.md")
        function = self._functions.table[name]
        try:
            inspect.signature(function).bind(*args)
        except TypeError as error:
            raise SceneRefusal(f"wrong arguments: {error}") from None
        result = function(*args)
        return list(result) if type(result) is tuple else [result]


class SimFunctions:
    """The functions of the module `sim` on a scene, by name in `table`; a tuple holds several results."""

    def __init__(self, stepping: Stepping) -> None:
        self._stepping, scene = stepping, stepping.scene
        self._scene = scene
        self.table: Mapping[str, Callable[..., Any]] = {
            "getObject": lambda path, options=None: scene.handle(_text(path).rsplit("/", 1)[-1]),
            "getObjectHandle": lambda name, options=None: scene.handle(_text(name)),
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
            "callScriptFunction": lambda function, script, *args: self._script(function, script),
            "startSimulation": lambda: scene.start(),
            "pauseSimulation": lambda: scene.pause(),
            "stopSimulation": lambda wait=False: scene.stop(),
            "getSimulationState": self._state,
            "getSimulationTime": lambda: float(scene.time) if scene.running else 0.0,
            "getSimulationTimeStep": lambda: float(scene.period),
            "setStepping": lambda on=True: self._set_stepping(on),
            "step": lambda wait=True: self._step(),
        }

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
        self._stepping.synchronise(self, bool(on))

    def _step(self) -> None:
        if self._stepping.others(self):
            raise SceneRefusal("a client of the legacy remote API steps this simulation")
        self._stepping.trigger(self)


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > 1000:
        raise SceneRefusal(f"a name must be a text of at most 1000 characters, got {shown(value)}")
    return value


def _handle(value: object) -> int:
    return checks.count("a handle", value, -(2**31), 2**31 - 1)


def _integer(value: object) -> int:
    return checks.count("an integer signal", value, -(2**31), 2**31 - 1)


def _number(value: object) -> float:
    return checks.number("a number", value, -3.4e38, 3.4e38)


def _value_and_frame(rest: Sequence[object], n: int) -> tuple[list[float], int]:
    """Numbers and a frame, in the order of version 4.6 (value, frame) or of older ones (frame, value)."""
    values = [one for one in rest if isinstance(one, list)]
    frames = [one for one in rest if not isinstance(one, list)]
    if len(values) != 1 or len(values[0]) != n or len(frames) > 1:
        raise SceneRefusal(f"expected a list of {n} numbers and at most one frame, got {shown(rest)}")
    return [_number(x) for x in values[0]], _handle(frames[0]) if frames else WORLD
