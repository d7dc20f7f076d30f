"""A misbehaving client node: broken connections, invalid, oversized and too many messages; prints JSON."""

import http.client
import json
import random
import socket
import struct
import time
import urllib.parse
import xmlrpc.client

import rosgraph
import rospy
from crtk_msgs.srv import TriggerOperatingState
from sensor_msgs.msg import JointState
from std_msgs.msg import String

PATIENCE = 300.0  # [s]
FLOOD = 3000  # messages
rospy.init_node("rough", disable_signals=True)
random.seed(0)
found = {}


def wait_for(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.005)


def state():
    """Answer of the robot to a new call on a new connection."""
    return rospy.ServiceProxy("/PSM1/operating_state", TriggerOperatingState)().operating_state.state


def closed_by_peer(connection, data):
    """The other side closes a connection that these data are sent to, at the latest when time is out."""
    connection.settimeout(PATIENCE)
    try:
        connection.sendall(data)
        while connection.recv(4096):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


class Spoilt(JointState):
    """A message with the right type and checksum, but invalid content."""

    def serialize(self, buff):
        buff.write(bytes(random.randrange(256) for _ in range(random.randrange(64))))


class Huge(String):
    """A message longer than any command."""

    def serialize(self, buff):
        buff.write(struct.pack("<I", 3 * 2**20) + bytes(3 * 2**20))


# Connections: to the node's topics (TCPROS) and to its XML-RPC
node = rosgraph.Master("/rough").lookupNode("/dvrk")
_, _, (_, host, port) = xmlrpc.client.ServerProxy(node).requestTopic("/rough", "/PSM1/measured_js", [["TCPROS"]])
silent = [socket.create_connection((host, port)) for _ in range(20)]
found["beside_silent"] = state()
found["garbage_closed"] = closed_by_peer(socket.create_connection((host, port)), struct.pack("<I", 60) + bytes(60))
endless = struct.pack("<I", 2**32 - 1) + bytes(3 * 2**20)
found["endless_header_closed"] = closed_by_peer(socket.create_connection((host, port)), endless)
address = urllib.parse.urlparse(node)
request = http.client.HTTPConnection(address.hostname, address.port, timeout=PATIENCE)
request.putrequest("POST", "/RPC2")
request.putheader("Content-Length", str(2**40))
request.endheaders()
found["large_request"] = request.getresponse().status
found["after_connections"] = state()

# Messages
samples, warnings = [], []
reader = rospy.Subscriber("/PSM1/setpoint_js", JointState, samples.append, queue_size=10)
rospy.Subscriber("/PSM1/warning", String, warnings.append, queue_size=1000)
spoilt = rospy.Publisher("/PSM1/servo_jr", Spoilt, queue_size=10)
huge = rospy.Publisher("/PSM1/set_tool_type", Huge, queue_size=10)
flood = rospy.Publisher("/PSM1/servo_jp", JointState, queue_size=FLOOD)
wait_for(lambda: all(p.get_num_connections() for p in (spoilt, huge, flood)) and samples, "connections")
before = list(samples[-1].position)
for _ in range(20):
    spoilt.publish(Spoilt())
huge.publish(Huge())
wait_for(lambda: not huge.get_num_connections(), "the end of the connection of a message that is too long")
found["after_spoilt"] = state()
for k in range(FLOOD):
    wrong = k % 3 == 0
    flood.publish(JointState(position=before[:3] if wrong else before, name=["x" * 50] * 100 if wrong else []))
wait_for(lambda: any("servo_jp" in warning.data for warning in warnings), "a warning")
found["after_flood"] = state()
count = len(samples)
wait_for(lambda: len(samples) > count + 3, "samples after the flood")
found["moved"] = max(abs(a - b) for a, b in zip(samples[-1].position, before, strict=True))
print(json.dumps(found))
rospy.signal_shutdown("done")
