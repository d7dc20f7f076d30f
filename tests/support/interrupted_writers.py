"""Kills writers at every step of their writing; prints the files that each of them left, as JSON.

Run as a separate program, so that its processes can be forked from a single thread:

    python interrupted_writers.py FOLDER [all]

Without `all` the first writer gets every signal at every step, each of the others one signal at every other step.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import matplotlib
import numpy as np

import trocar as tr
from trocar import files
from trocar.appearance import render_video, save_png
from trocar.arms.parameters import load_parameters, to_toml
from trocar.plots import save as save_figure
from trocar.recording.markers import Markers
from trocar.report import Report

OLD = b"old"
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
MOST_STEPS = 40
Writer = Callable[[Path], Any]


class Steps:
    """Counts the steps of a writer and sends this process a signal at one of them."""

    def __init__(self, fatal: int, number: int) -> None:
        self.count, self._fatal, self._number = 0, fatal, number

    def step(self) -> None:
        self.count += 1
        if self.count == self._fatal:
            os.kill(os.getpid(), self._number)

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with a step before and one after it."""

        def stepped(*arguments: Any, **options: Any) -> Any:
            self.step()
            result = function(*arguments, **options)
            self.step()
            return result

        return stepped

    def install(self) -> None:
        """Make the operations of `write_whole` steps; a write is two, half of the data each."""
        steps = self

        class Halves:
            def __init__(self, stream: BinaryIO) -> None:
                self._stream = stream

            def write(self, data: bytes) -> None:
                for part in (data[: len(data) // 2], data[len(data) // 2 :]):
                    steps.around(self._stream.write)(part)
                    self._stream.flush()

            def __getattr__(self, name: str) -> Any:
                return getattr(self._stream, name)

            def __enter__(self) -> Halves:
                return self

            def __exit__(self, *_: object) -> None:
                self._stream.close()

        files.open = self.around(lambda *given: Halves(open(*given)))  # type: ignore[attr-defined]  # noqa: SIM115
        os.fsync = self.around(lambda _: None)  # the process is killed, not the machine
        os.replace = self.around(os.replace)
        pathlib.Path.unlink = self.around(pathlib.Path.unlink)  # type: ignore[method-assign]


def forked(work: Callable[[], None]) -> int:
    """Exit status of a process that does the work; negative: the signal that ended it."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except KeyboardInterrupt:
            os._exit(130)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def writers() -> dict[str, Writer]:
    arm, q = tr.load_arm("ECM"), np.zeros((50, 4))
    recording = tr.Recording(
        t=np.arange(50.0),
        q=q,
        dq=q,
        tau=q,
        joints=arm.joint_names,
        joint_units=arm.joint_units,
        provenance={"arm": "ECM"},
    )
    markers = Markers(t=[0.0, 1.0], q=[[0.0], [0.1]], joints=["pitch"], poses={"back": np.array([np.eye(4)] * 2)})
    report = Report("A report")
    image = np.zeros((16, 16, 3), dtype=np.uint8)
    matplotlib.use("agg")
    figure = matplotlib.figure.Figure(figsize=(1, 1))
    parameters = to_toml(load_parameters("ECM"))
    return {
        "recording.npz": recording.save,
        "recording.csv": recording.save,
        "markers.csv": lambda path: markers.save(path, ["rad"]),
        "claims.json": report.write_json,
        "report.html": report.write_html,
        "figure.png": lambda path: save_figure(figure, path),
        "picture.png": lambda path: save_png(path, image),
        "film.gif": lambda path: render_video(path, [image, image]),
        "parameters.toml": lambda path: files.write_whole(path, parameters),
        "in_a_thread.toml": lambda path: in_a_thread(path, parameters),
    }


def in_a_thread(path: Path, text: str) -> None:
    files.remove_temporaries_on_termination()
    thread = threading.Thread(target=files.write_whole, args=(path, text), daemon=True)
    thread.start()
    thread.join()


def left(folder: Path, name: str, writer: Writer, fatal: int, number: int) -> dict[str, Any]:
    """Files left after the writer was sent a signal at a step."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / name).write_bytes(OLD)

    def work() -> None:
        Steps(fatal, number).install()
        writer(folder / name)

    status = forked(work)
    content = (folder / name).read_bytes()
    stray = sorted(path.name for path in folder.iterdir() if path.name != name)
    return {"writer": name, "signal": number, "step": fatal, "status": status, "content": content, "stray": stray}


def main(folder: Path, everything: bool) -> None:
    found = []
    for k, (name, writer) in enumerate(writers().items()):
        shutil.rmtree(folder / "whole", ignore_errors=True)
        whole = Path(writer(folder / "whole" / name) or folder / "whole" / name).read_bytes()
        # Ctrl-C reaches the main thread only: a thread finishes its file.
        signals = SIGNALS if everything or k == 0 else SIGNALS[k % 3 :][:1]
        for number in (signal.SIGTERM,) if "thread" in name else signals:
            for fatal in range(1, MOST_STEPS, 1 if len(signals) > 1 else 2):
                row = left(folder / "work", name, writer, fatal, number)
                content = row.pop("content")
                row["file"] = "old" if content == OLD else "new" if content == whole else "neither"
                found.append(row)
                if row["status"] == 0:
                    break
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), everything="all" in sys.argv[2:])
