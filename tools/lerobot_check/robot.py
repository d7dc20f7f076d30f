"""Runs in the environment of lerobot: records the dVRK as a robot of LeRobot, in process and over ROS 2.

    python robot.py process FOLDER
    python robot.py ros2 FOLDER DOMAIN          with trocar serve ros2 in that domain

The same code records both: thirty observations and actions as a LeRobotDataset, which is read again.
"""

# mypy: ignore-errors
import sys
import time
from pathlib import Path

from train import stub_torchvision

STEP, FRAMES, RATE = 0.004, 30, 30  # distance of the tip [m], frames, frames per second
TOLERANCE = 0.25 * STEP  # [m]
SETTLING = 20.0  # on a busy machine the robot lags behind real time [s]


def main():
    connection, folder = sys.argv[1], Path(sys.argv[2])
    stub_torchvision()
    sys.path.insert(0, str(Path(__file__).parents[2] / "packages" / "lerobot-robot-dvrk"))
    from lerobot.datasets.lerobot_dataset import LeRobotDataset
    from lerobot.datasets.utils import build_dataset_frame, hw_to_dataset_features
    from lerobot_robot_dvrk import Dvrk, DvrkConfig

    options = {"domain": int(sys.argv[3])} if connection == "ros2" else {}
    robot = Dvrk(DvrkConfig(connection=connection, timeout=20.0, arms=["PSM1"], calibration_dir=folder, **options))
    features = hw_to_dataset_features(robot.action_features, "action")
    features |= hw_to_dataset_features(robot.observation_features, "observation")
    dataset = LeRobotDataset.create("local/dvrk", RATE, features, root=folder / "data", use_videos=False)
    robot.connect()
    first = robot.get_observation()
    goal = {name.replace("_pose.", "_sp.").replace("_jaw", "_jaw_sp"): value for name, value in first.items()}
    action = {name: goal[name] for name in robot.action_features}
    action["psm1_sp.position.x"] += STEP
    for _ in range(FRAMES):
        observation = robot.get_observation()
        sent = robot.send_action(action)
        frame = build_dataset_frame(features, observation, prefix="observation")
        frame |= build_dataset_frame(features, sent, prefix="action")
        dataset.add_frame(frame | {"task": "move the tip"})
        time.sleep(1.0 / RATE)
    deadline = time.monotonic() + SETTLING
    moved = 0.0
    while abs(moved - STEP) >= TOLERANCE and time.monotonic() < deadline:
        moved = robot.get_observation()["psm1_pose.position.x"] - first["psm1_pose.position.x"]
    robot.disconnect()
    dataset.save_episode()
    dataset.finalize()
    loaded = LeRobotDataset("local/dvrk", root=folder / "data")
    assert len(loaded) == FRAMES
    assert abs(moved - STEP) < TOLERANCE, f"the tip moved {1e3 * moved:.2f} mm instead of {1e3 * STEP:.2f}"
    print(f"{connection}: recorded {len(loaded)} frames of the dVRK with lerobot; the tip moved {1e3 * moved:.2f} mm")


if __name__ == "__main__":
    main()
