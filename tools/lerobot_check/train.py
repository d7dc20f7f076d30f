"""Runs in the environment of lerobot: loads a data set, compares it with its files, and trains a small ACT policy.

    python train.py DIR [STEPS]

torchvision's wheel does not load beside a CPU build of torch; it and the packages of other policies are replaced by
stand-ins.
"""

# mypy: ignore-errors
import json
import sys
import time
import types
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np


class StandIn:
    """Stands for any class, function or decorator that is imported but not used."""

    def __init__(self, *arguments, **named):
        pass

    def __init_subclass__(cls, **named):
        pass


class StandIns:
    """Finds modules of packages that lerobot imports with its other policies, and that this check does not need."""

    ROOTS = ("torchvision", "diffusers", "transformers", "peft", "timm", "wandb")

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in self.ROOTS else None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = self.attribute
        return module

    def exec_module(self, module):
        pass

    @staticmethod
    def attribute(name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (StandIn,), {})


def stub_torchvision():
    sys.meta_path.insert(0, StandIns())


def decoded_frames(folder, name):
    """Frames of all films of a feature that PyAV, lerobot's decoder, decodes, with their size checked."""
    import av

    height, width, _ = json.loads((folder / "meta/info.json").read_text())["features"][name]["shape"]
    count = 0
    for path in sorted((folder / "videos" / name).glob("chunk-*/file-*.mp4")):
        with av.open(str(path)) as film:
            for frame in film.decode(video=0):
                assert (frame.height, frame.width) == (height, width)
                count += 1
    return count


def main():
    folder, steps = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 300
    stub_torchvision()
    import torch
    from lerobot.configs.types import FeatureType, NormalizationMode, PolicyFeature
    from lerobot.datasets.lerobot_dataset import LeRobotDataset, LeRobotDatasetMetadata
    from lerobot.policies.act.configuration_act import ACTConfig
    from lerobot.policies.act.modeling_act import ACTPolicy
    from lerobot.policies.factory import make_pre_post_processors

    torch.set_num_threads(1)
    torch.manual_seed(0)
    info = json.loads((folder / "meta/info.json").read_text())
    meta = LeRobotDatasetMetadata("local/set", root=folder)
    assert (meta.total_episodes, meta.total_frames) == (info["total_episodes"], info["total_frames"])
    chunk = 8
    deltas = {"action": [k / meta.fps for k in range(chunk)]}
    dataset = LeRobotDataset("local/set", root=folder, delta_timestamps=deltas)
    assert len(dataset) == info["total_frames"]
    row = dataset.hf_dataset[len(dataset) // 2]
    assert row["observation.state"].shape == (16,)
    films = {name: decoded_frames(folder, name) for name in meta.video_keys}
    assert set(films.values()) <= {len(dataset)}, f"the films have {films} frames"
    print(f"loaded {meta.total_episodes} episodes, {len(dataset)} frames with lerobot; film keys {meta.video_keys}")

    inputs = {
        "observation.state": PolicyFeature(FeatureType.STATE, (16,)),
        "observation.environment_state": PolicyFeature(
            FeatureType.ENV, tuple(info["features"]["observation.environment_state"]["shape"])
        ),
    }
    config = ACTConfig(
        input_features=inputs,
        output_features={"action": PolicyFeature(FeatureType.ACTION, (16,))},
        chunk_size=chunk,
        n_action_steps=chunk,
        dim_model=64,
        n_heads=4,
        dim_feedforward=128,
        n_encoder_layers=2,
        latent_dim=8,
        n_vae_encoder_layers=1,
        device="cpu",
        normalization_mapping=dict.fromkeys(("STATE", "ENV", "ACTION"), NormalizationMode.MEAN_STD),
    )
    policy = ACTPolicy(config)
    policy.train()
    before, after = make_pre_post_processors(config, dataset_stats=meta.stats)
    optimiser = torch.optim.AdamW(policy.parameters(), lr=1e-3)
    columns = {name: np.stack(dataset.hf_dataset.with_format("numpy")[name]) for name in (*inputs, "action")}
    ends = np.array(dataset.hf_dataset.with_format("numpy")["episode_index"]).ravel()
    random, losses, begin = np.random.default_rng(0), [], time.process_time()
    for _ in range(steps):
        rows = random.integers(len(ends), size=32)
        index = np.minimum(rows[:, None] + np.arange(chunk), len(ends) - 1)
        padded = ends[index] != ends[rows][:, None]
        index = np.where(padded, rows[:, None], index)
        batch = {name: torch.as_tensor(columns[name][rows]) for name in inputs}
        batch |= {"action": torch.as_tensor(columns["action"][index]), "action_is_pad": torch.as_tensor(padded)}
        loss, _ = policy.forward(before(batch))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    first, last = np.mean(losses[:20]), np.mean(losses[-20:])
    seconds = time.process_time() - begin
    print(f"trained ACT for {steps} steps in {seconds:.1f} s of CPU time: loss {first:.3f} -> {last:.3f}")
    if not last < 0.7 * first:
        sys.exit("the loss did not fall by 30 %")
    target = folder.parent / f"{folder.name}-act"
    for part in (policy, before, after):
        part.save_pretrained(target)


if __name__ == "__main__":
    main()
