"""A Ray cluster of two nodes on loopback; prints its address, ends a node on the line `lose`, and itself at the end.

Run as a separate program, with the environment of `trocar.sweep.executors.LOCAL_RAY`.
"""

from __future__ import annotations

import os
import shutil
import sys

from trocar.sweep.executors import LOOPBACK, OBJECT_STORE, temporary_folder


def main() -> None:
    folder = temporary_folder()
    os.environ["RAY_TMPDIR"] = str(folder)  # for files that Cluster writes outside its session
    (folder / "ray").mkdir()
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": OBJECT_STORE, "include_dashboard": False, "node_ip_address": LOOPBACK}
    cluster = Cluster(
        initialize_head=True, head_node_args={**node, "temp_dir": str(folder), "_system_config": DETECTION}
    )
    try:
        second = cluster.add_node(**node)
        print(cluster.address, flush=True)
        for line in sys.stdin:
            if line == "lose\n":
                cluster.remove_node(second, allow_graceful=False)
                print("lost", flush=True)
    finally:
        cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


# A lost node is detected within a second instead of half a minute.
DETECTION = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 300,
    "health_check_timeout_ms": 300,
    "health_check_failure_threshold": 2,
}

if __name__ == "__main__":
    main()
