"""A client node on Debian's rospy alone: connects as dvrk_python does, reads everything, moves PSM1, prints JSON."""

import base64
import json
import math
import socket
import time
from io import BytesIO

import rosgraph
import rosgraph.network
import rospy
from crtk_msgs.msg import OperatingState
from crtk_msgs.srv import QueryForwardKinematics, QueryInverseKinematics, TriggerOperatingState
from geometry_msgs.msg import PoseStamped
from ros1_endpoints import DEVICES, SUJ, SUJ_ARM
from roslib.message import get_message_class, get_service_class
from rospy.impl.tcpros_base import DEFAULT_BUFF_SIZE
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger

PATIENCE = 300.0  # [s]


def wait_for(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.005)


def service_header(master, name):
    """Type and checksum that a service announces."""
    host, port = rosgraph.network.parse_http_host_and_port(master.lookupService(name).replace("rosrpc", "http"))
    with socket.create_connection((host, port), timeout=PATIENCE) as connection:
        probe = {"probe": "1", "md5sum": "*", "callerid": rospy.get_name(), "service": name}
        rosgraph.network.write_ros_handshake_header(connection, probe)
        found = rosgraph.network.read_ros_handshake_header(connection, BytesIO(), DEFAULT_BUFF_SIZE)
    return [found["type"], found["md5sum"]]


rospy.init_node("client", disable_signals=True)
found = {}


def check_connections(endpoints, timeout):
    """Topics without a peer after some time; like crtk.ral.check_connections it ignores services."""
    deadline = time.monotonic() + timeout
    waiting = dict(endpoints)
    while waiting and time.monotonic() < deadline:
        waiting = {name: one for name, one in waiting.items() if not one.get_num_connections()}
        time.sleep(0.001)
    return list(waiting)


def opened(device, parts):
    """Publishers and subscribers of one device, with the options of crtk 1.4, and what the subscribers receive."""
    ends, seen = {}, {}
    for name, kind in parts["publish"].items():
        topic = f"/{device}/{name}"
        ends[f"{topic} <"] = rospy.Publisher(
            topic, get_message_class(kind), latch=name == "state_command", queue_size=10
        )
    for name, kind in parts["subscribe"].items():
        topic = f"/{device}/{name}"
        seen[topic] = []
        ends[f"{topic} >"] = rospy.Subscriber(topic, get_message_class(kind), seen[topic].append, queue_size=10)
    for name, kind in parts["services"].items():
        rospy.ServiceProxy(f"/{device}/{name}", get_service_class(kind)).wait_for_service(PATIENCE)
    return ends, seen


# One device after the other, as a script would; the arms of dvrk.suj are below their own names.
found["unconnected"], found["seconds"], found["silent"], found["endpoints"] = {}, {}, {}, {}
devices = {device: parts for device, (parts, _) in DEVICES.items()} | {f"{arm} of suj": SUJ_ARM for arm in SUJ}
for device, parts in devices.items():
    start = time.monotonic()
    ends, seen = opened(device.partition(" ")[0], parts)
    found["unconnected"][device] = check_connections(ends, PATIENCE)
    found["seconds"][device] = time.monotonic() - start
    found["endpoints"][device] = len(ends) + len(parts["services"])
    never = ("teleop/unselected",)  # latched, but nothing was unselected yet
    wanted = [topic for topic in seen if not topic.endswith(never)]
    wait_for(lambda seen=seen, wanted=wanted: all(seen[topic] for topic in wanted), f"samples of {device}")
    found["silent"][device] = [topic for topic in wanted if not seen[topic]]
    for end in ends.values():
        end.unregister()

# Connect with everything, as check_connections does: rospy refuses a peer with another checksum.
master = rosgraph.Master("/client")
publishers, subscribers, services = master.getSystemState()
types = dict(master.getTopicTypes())
served = "/dvrk"
found["published"] = {name: types[name] for name, nodes in publishers if served in nodes and name != "/rosout"}
found["subscribed"] = {name: types[name] for name, nodes in subscribers if served in nodes}
found["services"] = {
    name: service_header(master, name) for name, nodes in services if served in nodes and "logger" not in name
}
kinds = {name: get_message_class(kind) for name, kind in {**found["published"], **found["subscribed"]}.items()}
found["checksums"] = {kind._type: kind._md5sum for kind in kinds.values()}
events = []  # of all topics in the order of their arrival
readers = [
    rospy.Subscriber(name, kinds[name], lambda message, name=name: events.append((name, message)), tcp_nodelay=True)
    for name in found["published"]
]
writers = {name: rospy.Publisher(name, kinds[name], queue_size=10) for name in found["subscribed"]}
wait_for(lambda: all(r.get_num_connections() == 1 for r in readers), "publishers of the robot")
wait_for(lambda: all(w.get_num_connections() == 1 for w in writers.values()), "subscribers of the robot")


def received(topic, start=0, device="/PSM1"):
    return [message for name, message in events[start:] if name == f"{device}/{topic}"]


def first(topic):
    wait_for(lambda: received(topic), topic)
    return received(topic)[0]


def send(topic, message):
    writers[f"/PSM1/{topic}"].publish(message)


# Samples
wait_for(lambda: len(received("measured_js")) > 10, "a stream of measured_js")
found["names"] = first("measured_js").name
first("setpoint_js")
first("local/setpoint_cp")
found["stamps"] = [m.header.stamp.to_nsec() for m in received("measured_js")]
state = first("operating_state")
assert isinstance(state, OperatingState)
found["first_state"] = [state.state, state.is_homed, state.is_busy]
jacobian = first("body/jacobian")
assert isinstance(jacobian, Float64MultiArray)
found["jacobian"] = [*(d.size for d in jacobian.layout.dim), len(jacobian.data)]

# Scene: frames, joints of the model, images
for name in ("tf", "tf_static"):
    wait_for(lambda name=name: received(name, device=""), name)
frames = [one for name in ("tf", "tf_static") for one in received(name, device="")[-1].transforms]
found["frames"] = {
    one.child_frame_id: [
        one.header.frame_id,
        *(getattr(one.transform.translation, axis) for axis in "xyz"),
        *(getattr(one.transform.rotation, axis) for axis in "wxyz"),
    ]
    for one in frames
}
wait_for(lambda: received("joint_states", device=""), "joint_states")
found["joints"] = list(received("joint_states", device="")[-1].name)
found["description"] = rospy.get_param("/robot_description")
for eye in ("left", "right"):
    for name in ("image_raw", "image_raw/compressed", "camera_info"):
        wait_for(lambda eye=eye, name=name: received(f"{eye}/{name}", device="/stereo"), f"{eye}/{name}")
raw, packed, info = (
    received(f"left/{name}", device="/stereo")[-1] for name in ("image_raw", "image_raw/compressed", "camera_info")
)
right = received("right/camera_info", device="/stereo")[-1]
found["image"] = [raw.width, raw.height, raw.encoding, raw.step, len(raw.data), raw.header.frame_id]
found["colours"] = len(set(raw.data))
found["jpeg"] = base64.b64encode(packed.data).decode()
found["camera"] = [info.width, info.height, list(info.K), list(info.P), list(right.P), info.header.frame_id]
for reader in readers:  # nothing more is rendered
    if reader.name.startswith("/stereo/"):
        reader.unregister()

# A move
goal = list(received("setpoint_js")[-1].position)
goal[0] += 0.1
goal[2] += 0.01
begin = len(events)
found["commanded"] = rospy.Time.now().to_nsec()
send("move_jp", JointState(position=goal))
wait_for(lambda: len(received("operating_state", begin)) >= 2, "busy and idle")
found["busy"] = [m.is_busy for m in received("operating_state", begin)]
found["state_stamps"] = [m.header.stamp.to_nsec() for m in received("operating_state", begin)]
found["goal"] = goal
# Topics have connections of their own, and only stamps tell the order between them.
idle = found["state_stamps"][1]


def stamped(topic):
    return [(m.header.stamp.to_nsec(), list(m.position)) for m in received(topic)]


wait_for(lambda: all(stamped(name)[-1][0] > idle for name in ("setpoint_js", "measured_js")), "the next samples")
found["setpoint_at_idle"] = [position for stamp, position in stamped("setpoint_js") if stamp <= idle][-1]
found["reached"] = stamped("measured_js")[-1][1]

# Services
local = received("local/setpoint_cp")[-1]
assert isinstance(local, PoseStamped)
forward = rospy.ServiceProxy("/PSM1/local/forward_kinematics", QueryForwardKinematics)
answer = forward(jp=goal)
found["forward"] = [answer.result, answer.message]
found["forward_position"] = [answer.cp.position.x, answer.cp.position.y, answer.cp.position.z]
found["local_position"] = [local.pose.position.x, local.pose.position.y, local.pose.position.z]
answer = rospy.ServiceProxy("/PSM1/inverse_kinematics", QueryInverseKinematics)(cp=answer.cp, jp=goal)
found["inverse"] = [answer.result, answer.message, list(answer.jp)]
answer = forward(jp=[0.0] * 9)
found["too_many"] = [answer.result, answer.message]
answer = rospy.ServiceProxy("/PSM1/operating_state", TriggerOperatingState)().operating_state
found["trigger"] = [answer.state, answer.is_homed]
answer = rospy.ServiceProxy("/PSM1/crtk_version", Trigger)()
found["version"] = [answer.success, answer.message]

# Invalid commands, one after the other
before = received("setpoint_js")[-1].position
begin = len(events)
pose = PoseStamped()
pose.pose.orientation.w = math.nan
for count, (topic, message) in enumerate(
    [("move_jp", JointState(position=[math.nan] * 6)), ("servo_jp", JointState(position=[0.0])), ("servo_cp", pose)], 1
):
    send(topic, message)
    wait_for(lambda count=count: len(received("warning", begin)) >= count, f"warning about {topic}")
so_far = len(received("setpoint_js"))
wait_for(lambda: len(received("setpoint_js")) > so_far + 2, "setpoints")
found["warnings"] = [m.data for m in received("warning", begin)]
assert all(isinstance(m, String) for m in received("warning", begin))
found["moved_by_invalid"] = max(abs(a - b) for a, b in zip(received("setpoint_js")[-1].position, before, strict=True))
print(json.dumps(found))
rospy.signal_shutdown("done")
