"""The node of a script: `crtk.ral`, the same for ROS 1 and ROS 2 scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trocar.scripts import rospy
from trocar.scripts.session import current
from trocar.scripts.topics import resolved
from trocar.transports.ros_time import Duration, Time, seconds_of


class ral:
    """A node in a namespace."""

    def __init__(self, node_name: str, namespace: str = "", node: Any = None) -> None:
        self._node_name, self._namespace = node_name, namespace.strip("/")
        self._children: dict[str, ral] = {}
        self._robot_topics: dict[str, str] = {}
        if not rospy.node().name:
            rospy.init_node(node_name)

    parse_argv = staticmethod(rospy.myargv)
    is_shutdown = staticmethod(rospy.is_shutdown)
    on_shutdown = staticmethod(rospy.on_shutdown)
    now = staticmethod(Time.now)
    create_duration, create_time, create_rate = Duration, Time, rospy.UninterruptedRate

    @staticmethod
    def ros_version() -> int:
        return 1

    def node_name(self) -> str:
        return self._node_name

    def namespace(self) -> str:
        return self._namespace

    def create_child(self, child_namespace: str) -> ral:
        """A child node in another namespace, such as PSM1 or PSM1/jaw."""
        name = child_namespace.strip("/")
        if name in self._children:
            raise RuntimeError(f"the node already has a child {name!r}")
        self._children[name] = child = ral(self._node_name, self._below(name))
        return child

    def spin(self) -> None:
        """Does nothing: callbacks run whenever the script waits."""

    def shutdown(self) -> None:
        rospy.signal_shutdown("shutdown")

    def spin_and_execute(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Run a function; callbacks run while it waits."""
        function(*arguments)

    def check_connections(self, timeout_seconds: float = 5.0, check_children: bool = True) -> None:
        """Raise TimeoutError if a topic of this node has no peer; 0 s: do not check."""
        if timeout_seconds == 0.0:
            return
        node = rospy.node()
        missing = [
            name
            for name, role in self._robot_topics.items()
            if not (node.subscribers(name) if role == "publisher" else node.publishers(name))
        ]
        if missing:
            current().sleep(timeout_seconds)
            devices = ", ".join(current().robot.devices)
            raise TimeoutError(f"nothing answers on /{', /'.join(missing)}; the scene has {devices}")
        if check_children:
            for child in self._children.values():
                child.check_connections(timeout_seconds)

    def get_timestamp(self, t: Any) -> Any:
        """The time of a message or of its header; a time is returned unchanged."""
        for part in ("header", "stamp"):
            t = getattr(t, part, t)
        return t

    def set_timestamp(self, msg: Any) -> None:
        msg.header.stamp = self.now()

    def to_sec(self, t: Any) -> float:
        """Seconds of a time, of a duration or of the time of a message."""
        return seconds_of(self.get_timestamp(t))

    def publisher(self, topic: str, msg_type: Any, queue_size: int = 10, latch: bool = False, **_options: Any) -> Any:
        self.expect(topic, "publisher")
        return rospy.Publisher(f"/{self._below(topic)}", msg_type, latch=latch, queue_size=queue_size)

    def subscriber(
        self, topic: str, msg_type: Any, callback: Callable[..., None], queue_size: int = 10, **_options: Any
    ) -> Any:
        self.expect(topic, "subscriber")
        return rospy.Subscriber(f"/{self._below(topic)}", msg_type, callback, queue_size=queue_size)

    def service_client(self, name: str, srv_type: Any) -> Any:
        return rospy.ServiceProxy(f"/{self._below(name)}", srv_type)

    def get_topic_name(self, pubsub: Any) -> str:
        return str(pubsub.name)

    def expect(self, topic: str, role: str) -> None:
        self._robot_topics[self._below(topic)] = role

    def _below(self, name: str) -> str:
        """The name in the namespace, even with a leading slash."""
        return resolved(name.strip("/"), self._namespace)


def node_of(node_or_namespace: Any) -> ral:
    """The node passed to a class, or a node in the namespace that earlier releases pass."""
    if isinstance(node_or_namespace, ral):
        return node_or_namespace
    return ral(rospy.node().name or "trocar_run", node_or_namespace)
