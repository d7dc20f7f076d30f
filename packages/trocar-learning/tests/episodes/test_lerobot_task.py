"""Tasks as LeRobot's environments: the wrapper, the file for its EnvHub, and its plug-in."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from tests.support.repository import ROOT
from trocar.errors import TrocarError
from trocar_learning.episodes.lerobot_task import LeRobotTask


@pytest.fixture
def envhub(monkeypatch):
    """The file for LeRobot's EnvHub, with one task."""
    monkeypatch.syspath_prepend(str(ROOT / "packages" / "lerobot-env-trocar" / "envhub"))
    monkeypatch.delitem(sys.modules, "env", raising=False)
    module = importlib.import_module("env")
    monkeypatch.setattr(module, "TASKS", ("Reach",))
    return module


def test_the_envhub_file_makes_vector_environments(envhub):
    env = envhub.make_env(n_envs=2)["trocar"][0]
    observation, _ = env.reset(seed=0, options={"an option of lerobot": True})
    assert observation["agent_pos"].shape == (2, 16)
    assert observation["environment_state"].shape == (2, 6)  # as observation.environment_state of a data set
    goal = observation["environment_state"][:, 3:6]
    for _ in range(150):  # commanded tips as in the actions of a data set
        action = observation["agent_pos"].copy()
        action[:, :3] = goal
        observation, _, over, _, info = env.step(action)
        if over.any():
            break
    assert info["final_info"]["is_success"].any()  # where lerobot reads it
    assert env.call("task_description")[0].startswith("Move the tip")
    env.close()


def test_a_lerobot_task_takes_actions_at_the_rate_of_its_policy():
    fast, slow = (LeRobotTask("Reach", rate=rate) for rate in (50, 10))
    assert slow._max_episode_steps * 5 == fast._max_episode_steps == 150
    assert slow.metadata["render_fps"] == 10
    (seen, _), (start, _) = fast.reset(seed=3), slow.reset(seed=3)
    action = start["agent_pos"].copy()
    action[:3] = start["environment_state"][3:6]
    for _ in range(5):
        seen, *_ = fast.step(action)
    after, *_ = slow.step(action)
    np.testing.assert_array_equal(after["agent_pos"], seen["agent_pos"])
    assert np.linalg.norm(after["agent_pos"][:3] - start["agent_pos"][:3]) > 1e-4
    with pytest.raises(TrocarError, match="rate must divide 50 Hz"):
        LeRobotTask("Reach", rate=30)
    with pytest.raises(TrocarError, match="PSMs"):
        LeRobotTask("CameraCentre")


def test_the_plug_in_of_lerobot_describes_states_pictures_and_actions(monkeypatch):
    """With stand-ins for the two modules of lerobot that it uses; `make check-lerobot` runs it in lerobot."""
    configs, envs = ModuleType("lerobot.configs"), ModuleType("lerobot.envs.configs")
    configs.FeatureType = SimpleNamespace(ACTION="ACTION", STATE="STATE", ENV="ENV", VISUAL="VISUAL")
    configs.PolicyFeature = lambda kind, shape: (kind, shape)
    envs.EnvConfig = type("EnvConfig", (), {"register_subclass": staticmethod(lambda name: lambda kind: kind)})
    for name, module in {"lerobot": ModuleType("lerobot"), "lerobot.envs": ModuleType("lerobot.envs")}.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "lerobot.configs", configs)
    monkeypatch.setitem(sys.modules, "lerobot.envs.configs", envs)
    monkeypatch.syspath_prepend(str(ROOT / "packages" / "lerobot-env-trocar"))
    monkeypatch.delitem(sys.modules, "lerobot_env_trocar", raising=False)
    plug_in = importlib.import_module("lerobot_env_trocar").TrocarEnv(task="Reach", width=64, height=48)
    assert plug_in.features == {
        "action": ("ACTION", (16,)),
        "agent_pos": ("STATE", (16,)),
        "environment_state": ("ENV", (6,)),
        "pixels/endoscope.left": ("VISUAL", (48, 64, 3)),
        "pixels/endoscope.right": ("VISUAL", (48, 64, 3)),
    }
    plug_in.images = False
    env = plug_in.create_envs(1)["trocar"][0]
    assert set(env.reset(seed=0)[0]) == {"agent_pos", "environment_state"}
    assert plug_in.features_map["pixels/endoscope.left"] == "observation.images.endoscope.left"
    env.close()
