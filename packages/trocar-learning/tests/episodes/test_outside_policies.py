"""Policies from outside: LeRobot's folders (with a stand-in for lerobot), files, servers; scored and recorded."""

from __future__ import annotations

import io
import sys
from contextlib import nullcontext
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

import msgpack
import numpy as np
import pytest
from episodes.test_policy_servers import array, serving
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

from tests.support.small_episodes import shorten
from trocar.cli import app
from trocar.errors import TrocarError
from trocar.spatial import pose
from trocar_learning.envs.registration import make_task
from trocar_learning.envs.tasks.peg_transfer import PegTransferTask
from trocar_learning.episodes import Driving, EpisodeRecipe, PolicyFailure, evaluate, load_episodes, record
from trocar_learning.episodes import features as f
from trocar_learning.episodes.evaluation import Driver, increment
from trocar_learning.episodes.lerobot_policy import LeRobotPolicy
from trocar_learning.episodes.policy_server import Needs, TipGoal, goals

GOAL = f"{f.TASK_STATE}"


class StandInTensor(np.ndarray):
    """An array with the methods of torch.Tensor that are used, where torch is not installed."""

    def clone(self):
        return self.copy()

    def cpu(self):
        return self

    def numpy(self):
        return np.asarray(self)


class StandInPolicy:
    """A policy of lerobot 0.4.4 by its interface: goes to the goal that environment_state names, with the jaw open."""

    failing = False

    @classmethod
    def from_pretrained(cls, folder, config, local_files_only):
        assert local_files_only
        return cls()

    def eval(self):
        return self

    def reset(self):
        self.count = 0

    def select_action(self, batch):
        self.count += 1
        if self.failing and self.count > 3:
            raise RuntimeError("CUDA out of memory")
        assert batch["prepared"]
        action = batch["observation.state"].clone()
        action[:, :3] = batch[GOAL][:, 3:6]
        action[:, 7] = 0.5
        return action


def feature(kind, *shape):
    return SimpleNamespace(type=SimpleNamespace(value=kind), shape=shape)


@pytest.fixture
def lerobot(monkeypatch):
    """Modules of lerobot with the functions that are used; returns the configuration that they load."""
    config = SimpleNamespace(type="act", device="cpu", output_features={"action": feature("ACTION", 16)})
    config.input_features = {
        "observation.state": feature("STATE", 16),
        GOAL: feature("ENV", 6),
        "observation.images.endoscope.left": feature("VISUAL", 3, 32, 32),
    }

    def before(batch):
        assert isinstance(batch["task"], str)
        image = batch["observation.images.endoscope.left"]
        assert image.shape == (3, 32, 32)
        assert 0.0 <= float(image.min()) < float(image.max()) <= 1.0
        parts = {name: value[None] for name, value in batch.items() if name != "task"}
        return parts | {"prepared": True}

    factory = ModuleType("lerobot.policies.factory")
    factory.get_policy_class = {"act": StandInPolicy}.__getitem__
    factory.make_pre_post_processors = lambda config, pretrained_path: (before, lambda action: action)
    configs = ModuleType("lerobot.configs.policies")
    configs.PreTrainedConfig = SimpleNamespace(from_pretrained=lambda folder, local_files_only: config)
    for name in ("lerobot", "lerobot.policies", "lerobot.configs"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    if find_spec("torch") is None:
        torch = ModuleType("torch")
        torch.from_numpy, torch.no_grad = lambda array: array.view(StandInTensor), nullcontext
        monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, factory.__name__, factory)
    monkeypatch.setitem(sys.modules, configs.__name__, configs)
    return config


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "checkpoints" / "last" / "pretrained_model"
    place.mkdir(parents=True)
    (place / "config.json").write_text("{}")
    (place / "model.safetensors").write_bytes(b"weights")
    return place.parent  # a checkpoint of lerobot-train


def test_a_lerobot_policy_drives_the_arm_and_is_scored(lerobot, folder, monkeypatch):
    policy = LeRobotPolicy(folder)
    (episode,) = evaluate("Reach", policy, 1, seed=3, driving=Driving(size=(32, 32)))
    assert episode.held
    assert episode.policy == "last"
    monkeypatch.setattr(StandInPolicy, "failing", True)
    with pytest.raises(PolicyFailure, match=r"last failed: RuntimeError: CUDA out of memory.*the arms held"):
        evaluate("Reach", policy, 1, seed=3, driving=Driving(size=(32, 32)))


def test_lerobot_policies_that_do_not_fit_are_refused(lerobot, folder):
    lerobot.output_features = {"action": feature("ACTION", 7)}
    with pytest.raises(TrocarError, match=r"shape \(7,\), not \(16,\)"):
        LeRobotPolicy(folder)
    lerobot.output_features = {"action": feature("ACTION", 16)}
    lerobot.input_features["observation.images.wrist"] = feature("VISUAL", 3, 32, 32)
    with pytest.raises(TrocarError, match=r"needs the pictures.*wrist"):
        LeRobotPolicy(folder)
    del lerobot.input_features["observation.images.wrist"], lerobot.input_features["observation.images.endoscope.left"]
    lerobot.input_features["observation.force"] = feature("STATE", 3)
    with pytest.raises(TrocarError, match=r"needs 'observation.force' with the shape \(3,\); here it does not exist"):
        evaluate("Reach", LeRobotPolicy(folder), 1)


def test_without_lerobot_the_command_names_it(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "lerobot", None)
    result = CliRunner().invoke(app, ["score", "Reach", "--policy", str(folder), "-n", "1"])
    assert result.exit_code == 2
    assert "pip install lerobot" in result.output
    assert result.output.count("error:") == 1


@pytest.mark.parametrize("rate", [30.0, 50.0, 12.5])
def test_a_policy_is_asked_at_its_rate(rate):
    asked = []

    class Counted:
        def goals(self, needs, frame, arms):
            asked.append(1)
            pose = np.append(frame.state[:7], frame.state[7])
            return goals({"psm1_pose": pose[None, :7], "psm1_gripper": pose[None, 7:]}, arms)

    env = make_task("Reach", mode="tip_increment")
    env.reset(seed=0)
    driver = Driver(env, Counted(), Needs(), Driving(rate=rate))
    for _ in range(100):
        env.step(driver.action())
    assert len(asked) == pytest.approx(2 * rate, abs=1)


def test_increments_reach_a_turned_and_shifted_goal():
    env = make_task("Reach", mode="tip_increment")
    env.reset(seed=0)
    (mode,) = env.modes.values()
    turn = Rotation.from_rotvec([0.05, -0.1, 0.15]).as_matrix()
    T = pose(turn @ mode.T[:3, :3], mode.T[:3, 3] + [0.002, -0.001, 0.001])
    first = increment(mode, TipGoal(T, 0.3), env.period)
    assert np.abs(first[:6]).max() == pytest.approx(1.0)  # at the largest speed
    for _ in range(10):
        env.step(increment(mode, TipGoal(T, 0.3), env.period))
    np.testing.assert_allclose(mode.T, T, atol=1e-9)


class Still:
    """A policy that keeps both tips where they are."""

    def needs(self):
        return Needs()

    def reset(self):
        pass

    def goals(self, needs, frame, arms):
        parts = {f"psm{k + 1}": frame.state[None, 8 * k : 8 * k + 8] for k in range(2)}
        named = {
            f"{arm}_{kind}": own
            for arm in arms
            for kind, own in (("pose", parts[arm][:, :7]), ("gripper", parts[arm][:, 7:]))
        }
        return goals(named, arms)


def test_a_driven_episode_has_the_points_of_the_peg_transfer(monkeypatch):
    monkeypatch.setattr(PegTransferTask, "duration", 0.04)
    (episode,) = evaluate("PegTransfer", Still(), 1)
    assert (episode.details["points"], episode.steps, episode.held) == (0, 2, False)


POLICY = """
import numpy as np
def policy(env):
    return lambda observation: np.zeros(env.action_space.shape)
"""


def test_episodes_of_a_file_are_recorded_with_measured_success(tmp_path, monkeypatch):
    shorten(monkeypatch)
    (tmp_path / "idle.py").write_text(POLICY)
    recipe = EpisodeRecipe(task="Reach", count=2, format="npz", recovery=0.0, policy=str(tmp_path / "idle.py"))
    record(recipe, tmp_path / "set", executor="serial")
    episodes = load_episodes(tmp_path / "set")
    env = make_task("Reach")
    for k, episode in enumerate(episodes):
        env.reset(seed=int(episode.about["seed"]))
        info, over = {}, False
        while not over:
            _, _, terminated, truncated, info = env.step(np.zeros(7))
            over = terminated or truncated
        assert episode.success == info["is_success"], k
        assert episode.about["policy"] == "idle.py"
    (tmp_path / "idle.py").write_text(POLICY + "# changed")
    changed = EpisodeRecipe(task="Reach", count=2, format="npz", recovery=0.0, policy=str(tmp_path / "idle.py"))
    with pytest.raises(TrocarError, match="fingerprint is"):
        record(changed, tmp_path / "set", executor="serial")


def test_episodes_of_a_server_are_recorded(tmp_path, monkeypatch):
    shorten(monkeypatch)

    def answer(request):
        if request["endpoint"] != "get_action":
            return msgpack.packb({})
        state = {name: np.load(io.BytesIO(v["as_npy"])) for name, v in request["data"]["observation"]["state"].items()}
        return msgpack.packb([{"psm1_pose": array(state["psm1_pose"]), "psm1_gripper": array([[[0.3]]])}, {}])

    with serving(answer) as (address, requests):
        recipe = EpisodeRecipe(task="Reach", count=1, format="npz", recovery=0.0, policy=address)
        record(recipe, tmp_path / "set", executor="serial")
    assert sum(request["endpoint"] == "reset" for request in requests) == 1
    episode = load_episodes(tmp_path / "set")[0]
    assert (episode.about["policy"], episode.about["mode"]) == (address, "tip_increment")


def test_a_server_that_is_gone_leaves_a_recording_that_continues(tmp_path, monkeypatch):
    from trocar_learning.episodes import PolicyServer, staging

    shorten(monkeypatch)
    monkeypatch.setattr(staging, "open_policy", lambda policy: PolicyServer(policy, 0.1))
    recipe = EpisodeRecipe(task="Reach", count=1, format="npz", recovery=0.0, policy="127.0.0.1:1")
    with pytest.raises(TrocarError, match="did not answer within"):
        record(recipe, tmp_path / "set", executor="serial")
    assert (tmp_path / "set" / ".recording").is_dir()


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("exprt", "Did you mean 'expert'"),
        ("missing.py", "missing.py does not exist"),
        ("folder/nowhere", "a policy from outside is an address"),
        ("http://host:80", "a policy from outside is an address"),
        ("\0", "policy"),
        ("x" * 5000, "policy"),
    ],
)
def test_texts_that_name_no_policy(policy, message):
    with pytest.raises(TrocarError, match=message):
        EpisodeRecipe(task="Reach", count=1, policy=policy)
