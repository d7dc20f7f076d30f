"""All that trocar uses of rospy's private parts, as of rospy 1.15 to 1.17: limits, log, registration, send delay.

rospy has no public way to limit what it receives. A test fails if another version of rospy is installed.
"""

from __future__ import annotations

import socket
import struct
import threading
from typing import Any

from trocar.transports.terminal_log import TerminalHandler, limit_records, log_failure

VERSIONS = "1.15", "1.16", "1.17"  # of rospy with these parts
MAX_BYTES = 2**20  # of a message, header or request
HANDSHAKE_TIMEOUT = 5.0  # of the header of a new connection, and of the request to a service [s]
SILENCE_TIMEOUT = 60.0  # of further requests on a persistent connection to a service, or by XML-RPC [s]


def limit() -> None:
    """Limit sizes and waiting times in this process; call it before rospy's init_node and before starting a master.

    rospy buffers messages of any length and accepts new connections one after the other: a silent one would block all
    others. It logs what clients send, of any length, to the terminal. A subscriber that does not request tcp_nodelay
    also disables it at the publisher, and small messages then wait for the acknowledgement of the previous one.
    """
    import rosgraph.network
    import rosgraph.roslogging
    import rosgraph.xmlrpc
    import rospy.impl.tcpros_base as tcp
    import rospy.impl.tcpros_pubsub as pubsub
    import rospy.impl.tcpros_service as services
    from rospy.exceptions import TransportTerminated

    receive, accept, configure = tcp.recv_buff, tcp.TCPROSServer._tcp_server_callback, pubsub._configure_pub_socket
    read_header, handle = rosgraph.network.read_ros_handshake_header, services.ServiceImpl.handle

    def recv_buff(sock: Any, buffer: Any, size: int) -> int:
        if buffer.tell() > MAX_BYTES:
            raise TransportTerminated(f"a message of more than {MAX_BYTES} bytes")
        received = int(receive(sock, buffer, size))
        if not received:  # only after a time-out
            raise TransportTerminated("the client is silent")
        return received

    def handle_request(service: Any, transport: Any, header: Any) -> None:
        persistent = str(header.get("persistent", "")).lower() in ("1", "true")
        timeout = int(SILENCE_TIMEOUT if persistent else HANDSHAKE_TIMEOUT)
        # of the kernel, because rospy sets that of Python's socket
        transport.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", timeout, 0))
        handle(service, transport, header)

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
    services.ServiceImpl.handle = handle_request
    handler = rosgraph.xmlrpc.SilenceableXMLRPCRequestHandler
    post = handler.do_POST
    handler.do_POST = do_POST
    handler.timeout = SILENCE_TIMEOUT
    rosgraph.roslogging.RosStreamHandler = TerminalHandler
    limit_records()
    threading.excepthook = log_failure


def register_again(name: str) -> None:
    """Register the topics and services of this node again, after its master was restarted.

    Raises:
        OSError, rosgraph.MasterException: the master does not answer, or refuses.
    """
    import rosgraph
    from rospy.core import get_node_uri
    from rospy.impl import registration

    master, uri = rosgraph.Master(name), get_node_uri()
    topics, services = registration.get_topic_manager(), registration.get_service_manager()
    for topic, kind in topics.get_publications():
        master.registerPublisher(topic, kind, uri)
    for service, address in services.get_services():
        master.registerService(service, address, uri)
    listeners = registration.get_registration_listeners().listeners
    for topic, kind in topics.get_subscriptions():
        publishers = master.registerSubscriber(topic, kind, uri)
        for listener in listeners:
            if isinstance(listener, registration.RegManager):
                listener.publisher_update(topic, publishers)


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
