"""A scene with one joint, for tests of CoppeliaSim's remote APIs: it moves at its target velocity."""

from concurrent.futures import Future

import numpy as np

from trocar_reproductions.coppelia.packets import ScriptCall
from trocar_reproductions.coppelia.remote_scene import SceneRefusal

JOINT, FRAME, CAMERA = 7, 8, 9
PICTURE = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
HANDLES = {"joint": JOINT, "frame": FRAME, "camera": CAMERA}


class OneJointScene:
    period = 0.01

    def __init__(self):
        self.running = self.paused = False
        self.T = np.eye(4)
        self.names = {handle: name for name, handle in HANDLES.items()}
        self.kinds = {JOINT: 1, FRAME: 4, CAMERA: 9}
        self.parents = {JOINT: -1, FRAME: JOINT, CAMERA: FRAME}
        self.fail = self.slow = False
        self.pictures = []  # requested; a slow scene leaves them to the test
        self.clear()

    def clear(self):
        self.time, self.q, self.dq, self.limit = 0.0, 0.5, 0.0, 3.0
        self.floats, self.integers = {}, {}

    def check(self, handle, expected):
        if handle != expected:
            raise SceneRefusal(f"handle {handle}")

    def handle(self, name):
        if name not in HANDLES:
            raise SceneRefusal(name)
        return HANDLES[name]

    def joint_position(self, handle):
        self.check(handle, JOINT)
        return self.q

    def joint_range(self, handle):
        self.check(handle, JOINT)
        return -1.0, 2.0

    def joint_velocity(self, handle):
        self.check(handle, JOINT)
        return self.dq

    def joint_force(self, handle):
        self.check(handle, JOINT)
        return -2.0 * self.dq

    def joint_force_limit(self, handle):
        self.check(handle, JOINT)
        return self.limit

    def set_joint_position(self, handle, position):
        self.check(handle, JOINT)
        self.q = position

    def set_joint_target(self, handle, *, position=None, velocity=None):
        self.check(handle, JOINT)
        self.dq = velocity if position is None else (position - self.q) / self.period

    def set_joint_force_limit(self, handle, force):
        self.check(handle, JOINT)
        self.limit = force

    def pose(self, handle):
        self.check(handle, FRAME)
        return self.T

    def velocity(self, handle):
        self.check(handle, FRAME)
        return np.arange(6.0)

    def place(self, handle, T):
        self.check(handle, FRAME)
        self.T = T

    def image(self, handle):
        self.check(handle, CAMERA)
        picture = Future()
        self.pictures.append(picture)
        if not self.slow:
            picture.set_result(PICTURE)
        return picture

    def call(self, script, function, arguments):
        if function != "double":
            raise SceneRefusal(function)
        return ScriptCall(arguments.ints, tuple(2 * x for x in arguments.floats), (script,), arguments.buffer)

    def start(self):
        self.running, self.paused = True, False

    def pause(self):
        self.paused = True

    def stop(self):
        self.running = self.paused = False
        self.clear()

    def step(self):
        if self.fail:
            raise SceneRefusal("it diverged")
        self.time += self.period
        self.q += self.period * self.dq
