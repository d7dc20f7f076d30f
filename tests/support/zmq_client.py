"""A client of CoppeliaSim's ZMQ remote API that can send any bytes."""

import cbor2
import zmq


class ZmqClient:
    def __init__(self, port):
        self._context = zmq.Context()
        self.socket = self._context.socket(zmq.REQ)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.RCVTIMEO, 10_000)
        self.socket.connect(f"tcp://127.0.0.1:{port}")

    def raw(self, data):
        self.socket.send(data)
        return cbor2.loads(self.socket.recv())

    def __call__(self, func, *args):
        reply = self.raw(cbor2.dumps({"func": func, "args": list(args), "uuid": "x", "ver": 2, "lang": "python"}))
        if "err" in reply:
            raise RuntimeError(reply["err"])
        return reply["ret"]

    def close(self):
        self._context.destroy()
