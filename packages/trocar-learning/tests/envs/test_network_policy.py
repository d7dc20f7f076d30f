"""Learned policies as files: exact round trips, exports that act as in their libraries, one line for bad files."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.support.repository import ROOT
from tests.support.waiting import until
from trocar.cli import app
from trocar.errors import TrocarError
from trocar_learning.envs import make_task
from trocar_learning.envs.network_export import of_modules, of_rsl_rl, of_sb3
from trocar_learning.envs.network_policy import NetworkPolicy, load_network
from trocar_learning.envs.policies import load_policy
from trocar_learning.envs.scoring import episodes


def network(**changes) -> NetworkPolicy:
    random = np.random.default_rng(3)
    entries = {
        "task": "Reach",
        "mode": "joint_effort",
        "observation": "state",
        "weights": (random.normal(size=(5, 34)), random.normal(size=(7, 5))),
        "biases": (random.normal(size=5), random.normal(size=7)),
        "mean": random.normal(size=34),
        "std": random.uniform(0.5, 2.0, 34),
        "scale": np.full(7, 0.25),
        "activation": "elu",
        "output": "tanh",
        "notes": {"seed": 1},
    }
    return NetworkPolicy(**(entries | changes))


def test_a_network_is_the_formula_of_its_layers():
    own, x = network(), np.linspace(-1.0, 1.0, 34)
    (W0, W1), (b0, b1) = own.weights, own.biases
    y = W0 @ ((x - own.mean) / own.std) + b0
    y = np.array([v if v > 0 else np.exp(v) - 1.0 for v in y])
    np.testing.assert_allclose(own.action(x), 0.25 * np.tanh(W1 @ y + b1), rtol=1e-12)
    np.testing.assert_allclose(own.action(np.stack([x, 2 * x]))[0], own.action(x), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "at_minus_one"), [("relu", 0.0), ("tanh", -0.7616), ("elu", -0.6321), ("silu", -0.2689)]
)
def test_activations_are_those_of_the_libraries(name, at_minus_one):
    one = {"weights": (np.eye(34)[:1], np.ones((7, 1))), "biases": (np.zeros(1), np.zeros(7)), "scale": np.ones(7)}
    own = network(**one, mean=np.zeros(34), std=np.ones(34), activation=name, output="clip")
    assert own.action(-np.ones(34))[0] == pytest.approx(at_minus_one, abs=1e-4)


def test_a_saved_network_is_read_back(tmp_path):
    own = network()
    read = load_policy(own.save(tmp_path / "own.npz"))
    assert isinstance(read, NetworkPolicy)
    assert (read.task, read.mode, read.activation, read.notes) == ("Reach", "joint_effort", "elu", {"seed": 1})
    x = np.linspace(-1.0, 1.0, 34)
    np.testing.assert_allclose(read.action(x), own.action(x), atol=1e-6)
    again = read.save(tmp_path / "again.npz")
    np.testing.assert_array_equal(load_network(again).action(x), read.action(x))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"task": "Juggle"}, "Juggle"),
        ({"mode": "thought"}, "thought"),
        ({"activation": "softmax"}, "softmax"),
        ({"output": "argmax"}, "argmax"),
        ({"std": np.zeros(34)}, "std must be at least"),
        ({"mean": np.full(34, np.nan)}, "mean must be finite"),
        ({"scale": np.full(7, 1e9)}, "scale must be finite numbers of at most"),
        ({"scale": np.ones(6)}, "scale has the shape"),
        ({"weights": (np.ones((5, 34)), np.ones((7, 4)))}, "W1 has the shape"),
        ({"weights": (), "biases": ()}, "1 to 8 layers"),
        ({"mean": np.zeros((34, 1))}, "std has the shape"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(changes, reason):
    with pytest.raises(TrocarError, match=reason):
        network(**changes)


def test_files_of_something_else_are_one_line(tmp_path):
    path = network().save(tmp_path / "own.npz")
    with np.load(path) as file:
        sound = {name: file[name] for name in file.files}
    about = json.loads(str(sound["about"]))

    def written(**arrays) -> None:
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        path.write_bytes(buffer.getvalue())

    for arrays, reason in [
        ({"x": np.zeros(3)}, "no entry 'about'"),
        (sound | {"about": np.array("{")}, "not a policy"),
        (sound | {"about": np.array(json.dumps(about | {"format": "trocar policy 2"}))}, "must state the format"),
        (sound | {"about": np.array(json.dumps(about | {"code": "x"}))}, "'about' must hold"),
        (sound | {"W7": np.zeros(3)}, "entries must be"),
        (sound | {"W0": np.zeros((5, 34), dtype=complex)}, "not a policy"),
    ]:
        written(**arrays)
        with pytest.raises(TrocarError, match=reason) as error:
            load_network(path)
        assert "\n" not in str(error.value)
    np.savez(path, about=np.array([{}], dtype=object))  # a pickle
    with pytest.raises(TrocarError, match="not a policy"):
        load_network(path)
    path.write_bytes(b"PK")
    with pytest.raises(TrocarError, match=r"not an \.npz file"):
        load_network(path)


def test_a_policy_runs_on_its_own_task_and_options_only():
    own = network()
    with pytest.raises(TrocarError, match="trained on Reach, not on Track"):
        own(make_task("Track"))
    with pytest.raises(TrocarError, match="mode='joint_effort', got 'joint_target'"):
        own(make_task("Reach", mode="joint_target"))
    with pytest.raises(TrocarError, match="observation='state', got 'privileged'"):
        own(make_task("Reach", observation="privileged"))
    with pytest.raises(TrocarError, match="maps 34 numbers to 7"):
        network(mode="tip_increment", task="NeedlePick")(make_task("NeedlePick"))
    assert own(make_task("Reach"))(np.zeros(34)).shape == (7,)


def test_commands_take_the_file(tmp_path):
    path = network(mode="joint_target").save(tmp_path / "own.npz")
    result = CliRunner().invoke(app, ["score", "Reach", "--policy", str(path), "--json", str(tmp_path / "s.json")])
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "s.json").read_text())["summary"]["n"] == 10
    result = CliRunner().invoke(app, ["score", "Track", "--policy", str(path)])
    assert result.exit_code == 2
    assert "trained on Reach, not on Track" in result.output
    result = CliRunner().invoke(app, ["score", "--table", "--policy", str(path), "--level", "nominal", "-n", "1"])
    assert result.exit_code == 0, result.output
    assert "own.npz:" in result.output


def test_a_changed_file_is_a_new_row(tmp_path):
    path, table = network().save(tmp_path / "own.npz"), tmp_path / "e.jsonl"
    (first,) = episodes(["Reach", "Track"], [str(path)], ["nominal"], [0], table)
    network(scale=np.zeros(7)).save(path)
    (second,) = episodes(["Reach"], [str(path)], ["nominal"], [0], table)
    assert first.policy != second.policy
    assert len(table.read_text().splitlines()) == 2
    with pytest.raises(TrocarError, match="no policy fits"):
        list(episodes(["Track"], [str(path)], ["nominal"], [0]))


def test_a_page_plays_episodes_of_a_policy():
    from trocar_learning.view.policy_run import PolicyRun

    env = make_task("Reach")
    run = PolicyRun(env, lambda env: env.expert(), seed=5, speed=50.0).start()
    try:

        def both() -> bool:
            run.skip() if 5 in run.results and run.seed == 5 else None
            return 6 in run.results or run.error is not None

        until(both, "two episodes", 0.02)
        assert run.results == {5: True, 6: True}
        assert run.rate()[:2] == (2, 2)
        assert run.frame().time > 1.0
        assert run.marks.shape == (1, 3)
    finally:
        run.close()


def test_a_page_reports_a_policy_that_leaves():
    from trocar_learning.view.policy_run import PolicyRun

    run = PolicyRun(make_task("Reach"), lambda env: lambda observation: sys.exit(0), speed=50.0).start()
    try:
        until(lambda: run.error is not None, "the error")
    finally:
        run.close()
    assert isinstance(run.error, TrocarError)
    assert "SystemExit" in str(run.error)


# -- exports -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["PPO", "SAC", "TD3"])
def test_an_exported_model_of_stable_baselines3_acts_as_in_its_library(algorithm):
    sb3 = pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed (extra `learn`)")
    env = make_task("Reach")
    model = getattr(sb3, algorithm)("MlpPolicy", env, seed=0, device="cpu", policy_kwargs={"net_arch": [16, 8]})
    own = of_sb3(model, env, notes={"steps": 0})
    for x in np.random.default_rng(0).normal(size=(20, 34)).astype(np.float32):
        expected = model.predict(x, deterministic=True)[0]
        np.testing.assert_allclose(own.action(x), expected, atol=1e-6)


def test_an_exported_actor_of_rsl_rl_acts_as_in_its_library():
    reason = "rsl_rl is not installed (extra `learn`)"
    models = pytest.importorskip("rsl_rl.models", reason=reason)
    import torch
    from tensordict import TensorDict

    torch.manual_seed(0)
    x = torch.randn(64, 34) * 3.0 + 1.0
    observed = TensorDict({"policy": x}, batch_size=[64])
    gaussian = {"class_name": "GaussianDistribution", "init_std": 1.0}
    actor = models.MLPModel(
        observed, {"actor": ["policy"]}, "actor", 7, (16, 8), "elu", obs_normalization=True, distribution_cfg=gaussian
    )
    actor.update_normalization(observed)
    own = of_rsl_rl(actor, make_task("Reach"))
    expected = actor(observed).detach().numpy().clip(-1.0, 1.0)
    np.testing.assert_allclose(own.action(x.numpy()), expected, atol=1e-5)


def test_features_and_unused_actions_are_part_of_the_exported_network():
    torch = pytest.importorskip("torch", reason="torch is not installed (extra `learn`)")
    env, random = make_task("Reach"), np.random.default_rng(0)
    A, c = random.normal(size=(4, 34)), random.normal(size=4)
    scale = np.array([0.5, 0.0, 0.2, 0.0, 0.0, 0.0, 0.0])
    layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    mean, std = random.normal(size=4), random.uniform(1.0, 2.0, 4)
    own = of_modules([layers], env, features=(A, c), mean=mean, std=std, scale=scale)
    x = random.normal(size=34)
    y = layers(torch.tensor((A @ x + c - mean) / std, dtype=torch.float32)).detach().numpy().clip(-1.0, 1.0)
    np.testing.assert_allclose(own.action(x), [0.5 * y[0], 0, 0.2 * y[1], 0, 0, 0, 0], atol=1e-6)
    with pytest.raises(TrocarError, match="2 outputs, the action 7 numbers"):
        of_modules([layers], env)
    with pytest.raises(TrocarError, match="sequence of linear layers"):
        of_modules([torch.nn.Sequential(*layers, torch.nn.Dropout())], env)


@pytest.mark.parametrize("features", [5, [], {}, "unknown"])
def test_unknown_features_are_refused(features: object, tmp_path: Path) -> None:
    policy = ROOT / "examples/policies/needle_pick_ppo.npz"
    arrays = dict(np.load(policy))
    about = json.loads(str(arrays.pop("about"))) | {"features": features}
    np.savez(tmp_path / "bad.npz", about=np.array(json.dumps(about)), **arrays)
    assert load_network(policy).features == "needle_grip"
    with pytest.raises(TrocarError, match="features"):
        load_network(tmp_path / "bad.npz")
