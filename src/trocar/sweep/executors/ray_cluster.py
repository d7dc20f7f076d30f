"""Executor with tasks on a Ray cluster: an existing one, or a local one that lives as long as the sweep.

The local cluster listens on loopback, requires a new random authentication token, which is kept in the environment, and
stores its files in a temporary folder that is removed at the end. Nothing is written to the home folder.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from pathlib import Path
from typing import Any

from trocar.errors import TrocarError
from trocar.sweep.evaluation import Chunk, Evaluated, Job, evaluate
from trocar.sweep.executors.executor import Executor, Lost, Outcome, cores
from trocar.sweep.extras import optional

LOOPBACK = "127.0.0.1"
STORE = 200 * 2**20  # size of the local object store, which transfers partitions [bytes]
LONGEST_PATH = 30  # of the temporary folder: socket paths in it are limited to 107 bytes
_LOCAL = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # keeps Ray on loopback; despite its name also on Linux
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # workers use this Python, also under `uv run`
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # no warning without a GPU
}


def local_environment() -> dict[str, str]:
    """Environment of a local cluster: loopback and a new token."""
    return {**_LOCAL, "RAY_AUTH_TOKEN": secrets.token_hex(32)}


class RayCluster(Executor):
    """Ray tasks, two per worker in the queue. Ray's retries are off: lost chunks are counted here.

    Args:
        address: address of a cluster (HOST:PORT or "auto"). Default: RAY_ADDRESS, else a local cluster.
    """

    def __init__(self, job: Job, workers: int | None, address: str | None) -> None:
        super().__init__(job)
        address = address or os.environ.get("RAY_ADDRESS")
        self._environment = {} if address else local_environment()
        self._before = {name: os.environ.get(name) for name in self._environment}
        os.environ.update(self._environment)
        self._folder: Path | None = None
        try:
            self._ray: Any = optional("ray")
            self._ours = not self._ray.is_initialized()
            if self._ours:
                self._connect(workers, address)
            self.workers = workers or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
            # a task uses one core: its arithmetic is single-threaded
            self._evaluate = self._ray.remote(max_retries=0, num_cpus=1)(evaluate)
            self._job = self._ray.put(job)
        except BaseException:
            self._close()
            raise
        self.capacity = 2 * self.workers
        self._flying: dict[Any, Chunk] = {}

    def _connect(self, workers: int | None, address: str | None) -> None:
        quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False, "configure_logging": False}
        try:
            if address:
                self._ray.init(address=address, **quiet)
                return
            _read_environment(self._ray)
            self._folder = temporary_folder()
            self._ray.init(
                num_cpus=workers or cores(),
                include_dashboard=False,
                object_store_memory=STORE,
                _node_ip_address=LOOPBACK,
                _temp_dir=str(self._folder),
                **quiet,
            )
        except (ConnectionError, ValueError, RuntimeError, OSError, TimeoutError) as error:
            where = f"no Ray cluster at {address}" if address else "a local Ray cluster could not be started"
            raise TrocarError(f"{where}: {' '.join(str(error).split())}") from error
        found = self._ray.util.get_node_ip_address()
        if found != LOOPBACK:
            raise TrocarError(f"Ray listens on {found} instead of {LOOPBACK}; use --executor processes")

    def submit(self, chunk: Chunk) -> None:
        self._flying[self._evaluate.remote(self._job, chunk)] = chunk

    def finished(self) -> list[tuple[Chunk, Outcome]]:
        ready, _ = self._ray.wait(list(self._flying), num_returns=1)
        return [(self._flying.pop(reference), self._outcome(reference)) for reference in ready]

    def _outcome(self, reference: Any) -> Outcome:
        try:
            found = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, TrocarError):  # concerns the whole study, not a row
                raise TrocarError(str(error.cause)) from None
            raise TrocarError(f"a Ray worker cannot run the study: {_first_line(error.cause)}") from error
        except self._ray.exceptions.RayError as error:
            return Lost(f"{type(error).__name__} of Ray")
        assert isinstance(found, Evaluated)
        return found

    def stop(self) -> None:
        for reference in self._flying:
            self._ray.cancel(reference, force=True)
        self._flying.clear()
        self._close()

    def _close(self) -> None:
        if getattr(self, "_ours", False):
            self._ray.shutdown()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _read_environment(ray: Any) -> None:
    """Make Ray read its environment again: it reads it only on import, which may have happened before."""
    ray._private.ray_constants.ENABLE_RAY_CLUSTER = False
    ray._raylet.Config.initialize("")
    ray._raylet.AuthenticationTokenLoader.instance().reset_cache()


def temporary_folder() -> Path:
    """A new folder with a path short enough for the sockets in it."""
    place = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="trocar-ray-", dir=place if len(place) <= LONGEST_PATH else "/tmp"))


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0]
