"""A worker process of a sweep: reads a job, then chunks, and returns results until the connection closes."""

from __future__ import annotations

import os
import sys
import threading
from multiprocessing.connection import Connection

from trocar.errors import TrocarError
from trocar.sweep.evaluation import evaluate

READY = "ready"  # first message of a worker: it has started and loaded the job


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
            except TrocarError as error:  # concerns the whole study, not a row
                connection.send(TrocarError(str(error)))
            except Exception as error:
                connection.send(TrocarError(f"a worker process failed: {type(error).__name__}: {error}"))
    except (EOFError, OSError):
        return


def _end_with_parent() -> None:
    """Exit when stdin closes, which happens when the parent process ends for any reason."""
    while os.read(0, 1024):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
