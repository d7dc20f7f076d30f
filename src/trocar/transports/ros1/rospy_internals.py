"""All that trocar uses of rospy's private parts, as of rospy 1.15 to 1.17: limits, and sockets without send delay.

rospy has no public way to limit what it receives. A test fails if another version of rospy is installed.
"""

from __future__ import annotations

import threading
from typing import Any

VERSIONS = "1.15", "1.16", "1.17"  # of rospy with these parts
MAX_BYTES = 2**20  # of a message, header or request
HANDSHAKE_TIMEOUT = 5.0  # of the header of a new connection [s]


def limit() -> None:
    """Limit sizes and waiting times in this process; call it before rospy's init_node and before starting a master.

    rospy buffers messages of any length and accepts new connections one after the other: a silent one would block all
    others. A subscriber that does not request tcp_nodelay also disables it at the publisher, and small messages then
    wait for the acknowledgement of the previous one.
    """
    import rosgraph.network
    import rosgraph.xmlrpc
    import rospy.impl.tcpros_base as tcp
    import rospy.impl.tcpros_pubsub as pubsub
    from rospy.exceptions import TransportTerminated

    receive, accept, configure = tcp.recv_buff, tcp.TCPROSServer._tcp_server_callback, pubsub._configure_pub_socket
    read_header = rosgraph.network.read_ros_handshake_header

    def recv_buff(sock: Any, buffer: Any, size: int) -> int:
        if buffer.tell() > MAX_BYTES:
            raise TransportTerminated(f"a message of more than {MAX_BYTES} bytes")
        return int(receive(sock, buffer, size))

    def read_limited_header(sock: Any, buffer: Any, size: int) -> Any:
        return read_header(_Limited(sock), buffer, size)

    def accept_in_thread(server: Any, sock: Any, address: Any) -> None:
        def handshake() -> None:
            sock.settimeout(HANDSHAKE_TIMEOUT)
            accept(server, sock, address)

        threading.Thread(target=handshake, daemon=True).start()

    def do_POST(handler: Any) -> None:
        length = handler.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > MAX_BYTES:
            handler.send_error(413)
            handler.close_connection = True
            return
        post(handler)

    tcp.recv_buff = recv_buff
    pubsub._configure_pub_socket = lambda sock, tcp_nodelay: configure(sock, True)
    tcp.read_ros_handshake_header = read_limited_header
    tcp.TCPROSServer._tcp_server_callback = accept_in_thread
    handler = rosgraph.xmlrpc.SilenceableXMLRPCRequestHandler
    post = handler.do_POST
    handler.do_POST = do_POST


class _Limited:
    """A socket that limits reads to the size of a message."""

    def __init__(self, sock: Any) -> None:
        self._sock, self._left = sock, MAX_BYTES

    def recv(self, size: int) -> bytes:
        if self._left <= 0:
            raise ValueError(f"a header of more than {MAX_BYTES} bytes")
        data: bytes = self._sock.recv(size)
        self._left -= len(data)
        return data
