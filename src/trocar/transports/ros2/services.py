"""Services for clients of rmw_cyclonedds: a request and a reply topic, each with the identity of the call first.

Other ROS 2 implementations store the identity elsewhere: they can use the robot's topics, but not its services.
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cyclonedds.core import DDSException
from cyclonedds.qos import Policy

from trocar.errors import TrocarError
from trocar.robot.interface import Service
from trocar.transports.ros2.cdr import HEADER, decode, encode
from trocar.transports.ros2.participant import Participant, taken
from trocar.transports.ros2.qos import service_qos
from trocar.transports.ros2.samples import REQUEST_HEADER, sample_class
from trocar.transports.ros2.types import message_class, reply_name, request_name
from trocar.transports.ros_services import answer

MOST_CALLS = 64  # queued calls; further ones are dropped
MATCHING = 0.1  # longest wait until the client's reader of the reply is known, as in rmw_cyclonedds [s]
LOOK = 0.005  # interval between checks [s]


def identity(cdr: bytes) -> bytes:
    """Identity of a request for its reply, in the byte order of all replies."""
    order = "<" if cdr[1] else ">"
    return struct.pack("<Qq", *struct.unpack_from(f"{order}Qq", cdr, HEADER))


def user_data(entity: Any) -> dict[str, str]:
    """Keys and values announced by an endpoint."""
    found = entity.qos[Policy.Userdata] if entity is not None and Policy.Userdata in entity.qos else None
    text = found.data.decode(errors="replace") if found is not None else ""
    return dict(part.split("=", 1) for part in text.split(";") if "=" in part)


class ServiceServer:
    """One service.

    Args:
        number: among the services of the participant. call: calls the service of the bus.
    """

    def __init__(
        self,
        participant: Participant,
        service: Service,
        number: int,
        call: Callable[[str, tuple[Any, ...]], Any],
        pool: ThreadPoolExecutor,
    ) -> None:
        self._service, self._call, self._pool = service, call, pool
        self._request, self._response = f"{service.ros}_Request", f"{service.ros}_Response"
        own = participant.entity.guid.bytes[:12] + number.to_bytes(4, "big")
        qos = service_qos(f"serviceid={'.'.join(f'{byte:x}' for byte in own)};")
        self.reader = participant.reader(request_name(service.name), self._request, qos)
        self.writer = participant.writer(reply_name(service.name), self._response, qos)
        self._places = threading.Semaphore(MOST_CALLS)

    def handle(self) -> None:
        """Answer the requests that have come, in threads of the pool."""
        for sample in taken(self.reader):
            if self._places.acquire(blocking=False):
                self._pool.submit(self._answer, sample)

    def _answer(self, sample: Any) -> None:
        try:
            request = decode(sample.cdr, self._request, REQUEST_HEADER)
            response = self._respond(request)
            self._wait_for_reader(sample.sample_info.publication_handle)
            made = encode(response, self._response, identity(sample.cdr))
            self.writer.write(sample_class(self._response)(made))
        except (TrocarError, struct.error, DDSException):
            pass  # a ROS 2 service cannot reject a call: the client times out
        finally:
            self._places.release()

    def _respond(self, request: Any) -> Any:
        kind = message_class(self._response)
        try:
            return answer(
                lambda *arguments: self._call(self._service.name, arguments), self._service.ros, request, kind
            )
        except Exception as error:
            made = kind()
            if not hasattr(made, "message"):
                raise TrocarError(str(error)) from error
            made.message = str(error)  # `result` or `success` is False by default
            return made

    def _wait_for_reader(self, client: int) -> None:
        """Wait until the reply can reach the client: its reader may be discovered shortly after its writer."""
        wanted = user_data(self.reader.get_matched_publication_data(client)).get("clientid")
        deadline = time.monotonic() + MATCHING
        while wanted and time.monotonic() < deadline:
            matched = map(self.writer.get_matched_subscription_data, self.writer.get_matched_subscriptions())
            if any(user_data(reader).get("clientid") == wanted for reader in matched):
                return
            time.sleep(LOOK)
