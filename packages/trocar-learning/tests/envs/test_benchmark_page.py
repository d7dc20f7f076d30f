"""The benchmark page and the films of the tasks: from recorded episodes, complete, small."""

from __future__ import annotations

from dataclasses import replace

from tools import benchmark_page
from tools.task_films import FOLDER, SHOTS
from trocar_learning.envs import TASKS
from trocar_learning.envs.episode import Episode

REACH = {"task": "Reach", "policy": "expert", "level": "nominal", "seed": 3, "held": True, "first": True}
EPISODE = Episode.read({**REACH, "steps": 80, "seconds": 0.125, "time": 1.6, "peak_force": 0.5, "drops": 0})


def test_the_page_is_that_of_the_recorded_episodes():
    episodes = benchmark_page.load(benchmark_page.EPISODES)
    assert benchmark_page.page(episodes) == benchmark_page.PAGE.read_text(encoding="utf-8")
    assert benchmark_page.merged(episodes) == episodes


def test_episodes_survive_their_table_and_later_ones_win(tmp_path):
    newer = replace(EPISODE, held=False, first=True)
    both = benchmark_page.merged([EPISODE, replace(EPISODE, seed=4)], [newer])
    (tmp_path / "episodes.csv").write_text(benchmark_page.text(both))
    assert benchmark_page.load(tmp_path / "episodes.csv") == both == [newer, replace(EPISODE, seed=4)]
    expected = "| `Reach` | not run | not run | **50 %** (1 to 99), first 100 %, n = 2 |  | 95 % |"
    assert expected in benchmark_page.page(both)


def test_points_and_learned_policies_have_their_place(tmp_path):
    contest = replace(EPISODE, task="PegTransfer", details={"points": 8})
    learned = replace(EPISODE, policy="mine.npz:12345678")
    both = benchmark_page.merged([contest, replace(contest, seed=4, details={"points": 9}, drops=1), learned])
    (tmp_path / "episodes.csv").write_text(benchmark_page.text(both))
    assert benchmark_page.load(tmp_path / "episodes.csv") == both
    page = benchmark_page.page(both)
    assert "first 100 %, 8.5 points (8 to 9), 1 drops, n = 2" in page
    assert "| not run | not run | not run | `mine.npz:12345678` **100 %**" in page


def test_every_task_has_a_small_film_on_the_page():
    text = (benchmark_page.DOCS / "task_films.md").read_text(encoding="utf-8")
    assert set(SHOTS) == set(TASKS)
    sizes = {path.stem: path.stat().st_size for path in FOLDER.glob("*.webp")}
    assert set(sizes) == set(TASKS)
    assert max(sizes.values()) <= 300_000
    assert sum(sizes.values()) < 3_000_000
    assert all(f"images/tasks/{task}.webp" in text for task in sizes)
