"""Measures the rate of pose updates that a browser gets, and whether the simulation keeps real time meanwhile.

    python -m tools.bench.page_rate

Not a test: it measures this machine. A frozen browser (SIGSTOP) must not slow the simulation.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import time
from typing import Any

import msgspec
import numpy as np
import zstandard

from trocar.robot.messages import JointState

browser_tests: Any = importlib.import_module("tests.view.test_viewer_browser")


def updates(payload: bytes) -> int:
    """1 if a message window moves the arm, 0 if not; viser's wire format."""
    size = int.from_bytes(payload[8:16], "little")
    window = msgspec.msgpack.decode(zstandard.decompress(payload[16 : 16 + size]))
    return int(any(str(m.get("name", "")).startswith("/arm/") and "wxyz" in m for m in window["messages"]))


def factor(viewer: Any, seconds: float) -> float:
    """Simulated time per real time."""
    began, start = time.perf_counter(), viewer.frame().time
    time.sleep(seconds)
    return (viewer.frame().time - start) / (time.perf_counter() - began)


def main() -> None:
    with browser_tests.sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_tests.CHROMIUM, args=browser_tests.FLAGS)
        viewer = browser_tests.Viewer(browser)
        received: list[float] = []

        def count(frame: object) -> None:
            if isinstance(frame, bytes) and updates(frame):
                received.append(time.perf_counter())

        viewer.tab.on("websocket", lambda socket: socket.on("framereceived", count))
        viewer.tab.reload()
        viewer.tab.get_by_text("PSM", exact=True).first.wait_for()
        viewer.simulation.play()
        sign = 1.0
        for attempt in range(3):
            received.clear()
            began, start = time.perf_counter(), viewer.frame().time
            for _ in range(5):  # always in motion
                sign = -sign
                goal = sign * np.array([1.0, 0.4, 0.0, 1.0, 0.4, 0.2]) + [0, 0, 0.12, 0, 0, 0]
                viewer.robot.bus.publish("PSM/move_jp", JointState(position=goal))
                viewer.tab.wait_for_timeout(1000)
            wall = time.perf_counter() - began
            print(
                f"{attempt + 1}: {len(received) / wall:.1f} pose updates/s received, "
                f"{(viewer.frame().time - start) / wall:.3f} x real time"
            )
        pids = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "node"], capture_output=True, text=True).stdout
        print(f"watched: {factor(viewer, 3.0):.3f} x real time")
        frozen = [int(pid) for pid in _below(int(pids.split()[0]))]
        for pid in frozen:
            os.kill(pid, signal.SIGSTOP)
        print(f"browser frozen ({len(frozen)} processes): {factor(viewer, 5.0):.3f} x real time")
        for pid in frozen:
            os.kill(pid, signal.SIGCONT)
        browser.close()
        print(f"nobody looks: {factor(viewer, 3.0):.3f} x real time")
        viewer.close()


def _below(parent: int) -> list[str]:
    """Processes that a process has started, and theirs."""
    children = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True).stdout.split()
    return [pid for child in children for pid in (child, *_below(int(child)))]


if __name__ == "__main__":
    main()
