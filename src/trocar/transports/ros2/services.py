"""Services for clients of rmw_cyclonedds: a request and a reply topic, each with the identity of the call first.

Other ROS 2 implementations store the identity elsewhere: they can use the robot's topics, but not its services.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cyclonedds.core import DDSException
from cyclonedds.qos import Policy

from trocar.errors import TrocarError
from trocar.robot.interface import Service
from trocar.transports.codec import codec
from trocar.transports.ros2.participant import Participant, sample_class, taken
from trocar.transports.ros_conversion import answer
from trocar.transports.ros_messages import message_class

MAX_CALLS = 64  # in the queue; further ones are dropped
MATCHING_TIMEOUT = 0.1  # of the discovery of the client's reader of the reply, as in rmw_cyclonedds [s]
POLL_INTERVAL = 0.005  # [s]


def user_data(entity: Any) -> dict[str, str]:
    """Keys and values announced by an endpoint."""
    policy = entity.qos[Policy.Userdata] if entity is not None and Policy.Userdata in entity.qos else None
    text = policy.data.decode(errors="replace") if policy is not None else ""
    return dict(part.split("=", 1) for part in text.split(";") if "=" in part)


class ServiceServer:
    """One service. number: among those of the participant. call: calls the service of the bus."""

    def __init__(
        self,
        participant: Participant,
        service: Service,
        number: int,
        call: Callable[..., Any],
        pool: ThreadPoolExecutor,
    ) -> None:
        self._service, self._call, self._pool, self._codec = service, call, pool, codec(2)
        self._request, self._response = f"{service.ros}_Request", f"{service.ros}_Response"
        self.reader, self.writer = participant.service_end(service.name, service.ros, number, "serviceid")
        self._places = threading.Semaphore(MAX_CALLS)

    def handle(self) -> None:
        """Answer the requests that have come, in threads of the pool."""
        for sample in taken(self.reader):
            if self._places.acquire(blocking=False):
                self._pool.submit(self._answer, sample)

    def _answer(self, sample: Any) -> None:
        try:
            request = self._codec.message_in(sample.cdr, self._request)
            response = self._respond(request)
            response.client, response.number = request.client, request.number
            self._wait_for_reader(sample.sample_info.publication_handle)
            self.writer.write(sample_class(self._response)(self._codec.bytes_of(response, self._response)))
        except (TrocarError, DDSException):
            pass  # a ROS 2 service cannot reject a call: the client times out
        finally:
            self._places.release()

    def _respond(self, request: Any) -> Any:
        call, ros = lambda *arguments: self._call(self._service.name, arguments), self._service.ros
        try:
            return answer(call, ros, request, self._codec)
        except Exception as error:
            if "message" not in message_class(self._response).__slots__:
                raise TrocarError(str(error)) from error
            return self._codec.make(self._response, message=str(error))  # `result` or `success` is False by default

    def _wait_for_reader(self, client: int) -> None:
        """Wait until the reply can reach the client: its reader may be discovered shortly after its writer."""
        name = user_data(self.reader.get_matched_publication_data(client)).get("clientid")
        deadline = time.monotonic() + MATCHING_TIMEOUT
        while name and time.monotonic() < deadline:
            matched = map(self.writer.get_matched_subscription_data, self.writer.get_matched_subscriptions())
            if any(user_data(reader).get("clientid") == name for reader in matched):
                return
            time.sleep(POLL_INTERVAL)
