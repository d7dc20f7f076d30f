"""Runs in the environment of lerobot: reads an HDF5 file of trocar with robomimic's own functions.

python robomimic_rules.py demonstrations.hdf5
"""

# mypy: ignore-errors
import sys

import train

KEYS = ["position", "velocity", "effort", "environment_state"]


def main():
    train.StandIns.ROOTS += ("tensorboardX", "egl_probe", "robosuite", "gym")  # of other environments and logs
    train.stub_torchvision()
    import robomimic.utils.file_utils as files
    import robomimic.utils.obs_utils as observations
    from robomimic.utils.dataset import SequenceDataset

    path = sys.argv[1]
    env = files.get_env_metadata_from_dataset(path)
    observations.initialize_obs_utils_with_obs_specs({"obs": {"low_dim": KEYS}})
    shapes = files.get_shape_metadata_from_dataset(path, all_obs_keys=KEYS, verbose=False)
    assert shapes["ac_dim"] == 7
    lengths = {}
    for mask in (None, "train", "valid", "recovery"):
        options = {"filter_by_attribute": mask, "load_next_obs": True, "seq_length": 5}
        dataset = SequenceDataset(path, KEYS, ("actions", "rewards", "dones"), **options)
        item = dataset[len(dataset) - 1]
        assert item["actions"].shape == (5, 7)
        assert abs(item["actions"]).max() <= 1.0
        assert item["next_obs"]["effort"].shape == (5, 7)
        lengths[mask or "all"] = len(dataset)
        dataset.close_and_delete_hdf5_handle()
    assert lengths["all"] > lengths["train"] > lengths["valid"] > 0
    print(f"robomimic reads {env['env_name']} of type {env['env_type']}: {lengths} sequences")


if __name__ == "__main__":
    main()
