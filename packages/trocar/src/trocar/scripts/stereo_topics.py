"""Images of a stereo camera for scripts, on the topics that a served robot has."""

from __future__ import annotations

import numpy as np

from trocar.scripts import rospy
from trocar.scripts.session import Session
from trocar.simulation import Scene
from trocar.transports.camera import CameraSettings, Moment, messages
from trocar.transports.ros_conversion import to_ros


class StereoPublisher:
    """Publishes images to a script at the rate of the settings, while it subscribes to them.

    They are rendered when the script waits, from a copy of the scene: a robot in real time goes on meanwhile.
    """

    def __init__(self, session: Session, settings: CameraSettings) -> None:
        self._session, self._settings = session, settings
        self._copy: Scene | None = None
        self._types = {topic.name: topic.ros for topic in settings.topics}
        self._period = round(1e9 / settings.rate)
        session.at(session.now, self._publish)

    def _publish(self) -> None:
        session, settings, node = self._session, self._settings, rospy.node()
        session.at(session.now + self._period, self._publish)
        read = frozenset(name for name in self._types if node.subscribers(name))
        if not read:
            return
        if self._copy is None:
            self._copy = Scene(**session.robot.scene.arguments)
            self._camera = settings.camera(self._copy)
        with session.bus.lock:
            self._copy.data.qpos[:] = session.robot.scene.data.qpos
            moment = Moment(session.now, np.array(self._copy.data.qpos), {}, read)
        for name, message in messages(settings, moment, self._camera.pair()):
            node.publish(name, to_ros(message, self._types[name]))
