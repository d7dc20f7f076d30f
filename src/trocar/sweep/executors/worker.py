"""A worker process of a sweep: reads a job, then chunks, and sends back their results until the other side closes."""

from __future__ import annotations

import os
import sys
import threading
from multiprocessing.connection import Connection

from trocar.errors import TrocarError
from trocar.sweep.evaluation import evaluate

READY = "ready"  # the first message of a worker: it has started and knows the job


def main() -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    connection = Connection(int(sys.argv[1]))
    try:
        job = connection.recv()
        connection.send(READY)
        while True:
            chunk = connection.recv()
            try:
                connection.send(evaluate(job, chunk))
            except TrocarError as error:  # of the study as a whole, not of a row
                connection.send(TrocarError(str(error)))
            except Exception as error:
                connection.send(TrocarError(f"a worker process failed: {type(error).__name__}: {error}"))
    except (EOFError, OSError):
        return


def _end_with_parent() -> None:
    """The pipe on stdin closes when the process that started this one ends, in whatever way."""
    while os.read(0, 1024):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
