"""Sweeps: the same rows from every executor and after every interruption; errors change nothing."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import trocar as tr
from tests.support.waiting import until
from tools import killed_sweeps
from trocar import files
from trocar.errors import TrocarError
from trocar.sweep import Results, as_table, grid, load_study, read_table
from trocar.sweep.results import partitions, read_manifest
from trocar.sweep.running import MAX_TIME, MIN_TIME, Chunks

TABLE = {"x": list(range(40))}


def drawn(x: int, seed: int) -> dict[str, Any]:
    """A function that fails for one row."""
    if x == 17:
        raise ValueError("seventeen")
    return {"y": x * x, "z": float(np.random.default_rng(seed).normal()), "v": np.array([x, 0.5])}


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def workers() -> list[str]:
    """Command lines of worker processes of sweeps whose parent is this process."""
    lines = subprocess.run(
        ["ps", "-ww", "-o", "args=", "--ppid", str(os.getpid())], capture_output=True, text=True
    ).stdout
    return [line for line in lines.splitlines() if "loky" in line and "resource_tracker" not in line]


# Rows


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return tr.sweep.run(drawn, TABLE, tmp_path_factory.mktemp("sweep") / "serial")


def test_rows_contain_parameters_results_and_errors(serial: Results) -> None:
    assert serial.columns == ("row", "x", "seed", "y", "z", "v", "error")
    assert serial.outcomes == ("y", "z", "v")
    assert serial.errors == [(17, "ValueError: seventeen")]
    rows = serial.table().to_pylist()
    assert [row["row"] for row in rows] == list(range(40))
    assert rows[17]["y"] is None
    x = np.delete(np.arange(40), 17)
    np.testing.assert_array_equal(serial["y"], x**2)
    np.testing.assert_array_equal(serial["v"], np.column_stack([x, np.full(39, 0.5)]))
    assert len(set(serial["seed"])) == 39


def test_processes_give_the_same_rows_and_all_end(serial: Results, tmp_path: Path) -> None:
    results = tr.sweep.run(drawn, TABLE, tmp_path / "out", executor="processes", workers=2)
    assert results.table().equals(serial.table())
    assert workers() == []


def test_functions_of_scripts_and_lambdas_can_be_sent_to_processes(tmp_path: Path) -> None:
    factor = 3
    results = tr.sweep.run(
        lambda x: {"y": factor * x}, {"x": [1, 2]}, tmp_path / "out", executor="processes", workers=1
    )
    assert list(results["y"]) == [3, 6]


def test_another_seed_gives_other_seeds_and_a_column_of_seeds_is_kept(serial: Results, tmp_path: Path) -> None:
    other = tr.sweep.run(drawn, {"x": [1, 2]}, tmp_path / "a", seed=1)
    assert not set(other["seed"]) & set(serial["seed"])
    assert list(tr.sweep.run(drawn, {"x": [1], "seed": [5]}, tmp_path / "b")["seed"]) == [5]


def test_results_are_read_by_pandas_pyarrow_and_in_batches(serial: Results) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(serial.folder / "rows")
    assert list(frame["row"]) == list(range(40))
    assert frame.equals(serial.pandas())
    assert pa.dataset.dataset(serial.folder / "rows").count_rows() == 40
    sizes = [len(batch) for batch in serial.batches(["y"], rows=7)]
    assert sum(sizes) == 40
    assert max(sizes) <= 7


def test_partitions_of_failed_rows_and_of_whole_numbers_get_the_common_schema(tmp_path: Path) -> None:
    def late(x: int) -> dict[str, Any]:
        if x < 20:
            raise ValueError("too early")
        return {"y": x if x < 30 else x + 0.5}

    results = tr.sweep.run(late, TABLE, tmp_path / "out")
    assert len(partitions(tmp_path / "out")) > 1
    schemas = {str(pq.read_schema(path).remove_metadata()) for _, path in partitions(tmp_path / "out")}
    assert len(schemas) == 1
    assert pa.dataset.dataset(tmp_path / "out" / "rows").to_table()["y"].to_pylist()[-1] == 39.5
    assert len(results.errors) == 20


def test_batches_begin_at_fixed_rows_and_a_failing_one_is_run_row_by_row(tmp_path: Path) -> None:
    def columns(x: np.ndarray, seed: np.ndarray) -> dict[str, Any]:
        if (x == 13).any():
            raise ValueError("thirteen")
        return {"first": np.full(len(x), x[0]), "count": np.full(len(x), len(x)), "pair": np.stack([x, -x], 1)}

    results = tr.sweep.run(columns, {"x": np.arange(30)}, tmp_path / "out", batch=4)
    assert results.errors == [(13, "ValueError: thirteen")]
    x = results["x"]
    failing = x // 4 == 3
    np.testing.assert_array_equal(results["first"], np.where(failing, x, x - x % 4))
    np.testing.assert_array_equal(results["count"], np.where(failing, 1, np.where(x >= 28, 2, 4)))
    assert results["pair"].shape == (29, 2)


def test_a_study_that_exits_or_returns_nonsense_fails_in_its_row_only(tmp_path: Path) -> None:
    def odd(x: int) -> Any:
        if x == 0:
            sys.exit("bye")
        return {1: 2} if x == 1 else x if x == 2 else {"y": object()} if x == 3 else {"y": x}

    results = tr.sweep.run(odd, {"x": list(range(5))}, tmp_path / "out")
    assert [row for row, _ in results.errors] == [0, 1, 2, 3]
    assert all(len(text) < 2000 for _, text in results.errors)
    assert list(results["y"]) == [4]


@pytest.mark.parametrize("batch", [None, 3])
def test_text_with_a_lone_surrogate_fails_in_its_row_and_names_the_column(tmp_path: Path, batch: int | None) -> None:
    def odd(x: Any) -> Any:
        if batch is None:
            return {
                "label": f"a\ud800{x}" if x == 1 else "good",
                "list\ud800" if x == 3 else "list": ["\udfff"] * (x == 2),
            }
        return {"label": [f"a\ud800{one}" if one == 1 else "good" for one in x]}

    results = tr.sweep.run(odd, {"x": list(range(5))}, tmp_path / "out", batch=batch)
    errors = dict(results.errors)
    assert list(errors) == ([1, 2, 3] if batch is None else [1])
    assert "the result 'label' must be valid Unicode text, got a lone surrogate" in errors[1]
    assert all("\n" not in text for text in errors.values())
    assert list(results["label"]) == ["good"] * (5 - len(errors))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: {"y": "text" if x else 1.0}, "'y' must have one type"),
        (lambda x: {"x": 1}, "'x', which is a parameter"),
        (lambda x: {"error": 1}, "a reserved name"),
    ],
)
def test_results_that_cannot_be_a_column_stop_the_sweep(
    function: Callable[..., Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(TrocarError, match=words):
        tr.sweep.run(function, {"x": [0, 1, 0, 1]}, tmp_path / "out")


def test_a_manifest_names_version_study_and_table(serial: Results) -> None:
    manifest = read_manifest(serial.folder)
    assert (manifest.trocar, manifest.study, manifest.rows) == (tr.__version__, "drawn", 40)
    assert manifest.parameters == ("x", "seed")
    assert len(manifest.table) == len(manifest.source) == 64


# Tables


def test_a_grid_has_all_combinations() -> None:
    results = grid(a=[1, 2], b=["u", "v"], repeats=2)
    assert results["a"].tolist() == [1, 1, 1, 1, 2, 2, 2, 2]
    assert results["b"].tolist() == ["u", "u", "v", "v"] * 2


def test_tables_of_every_kind_are_the_same_table(tmp_path: Path) -> None:
    columns = {"a": [1, 2], "b": [0.5, 1.5], "c": ["x", "é"], "d": [True, False]}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "t.parquet")
    pyarrow.csv.write_csv(table, tmp_path / "t.csv")
    for given in (columns, rows, table, read_table(tmp_path / "t.parquet"), read_table(tmp_path / "t.csv")):
        results = as_table(given)
        assert {name: column.tolist() for name, column in results.items()} == columns


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, "no column"),
        ({"x": []}, "1 to 10,000,000 rows"),
        ({"x": [1, 2], "y": [1]}, "the same length"),
        ({"x": [[1], [2]]}, "list of numbers"),
        ({"x": [1, "a"]}, "list of numbers"),
        ({"x": [None]}, "list of numbers"),
        ({"x": [2**70]}, "list of numbers"),
        ({"error": [1]}, "a column of the results"),
        ({"not a name": [1]}, "must be a valid Python name"),
        ({"x": [1], "mass": [1]}, "does not take: 'mass'"),
        ({"seed": [1]}, "requires the parameter x"),
        ([{"x": 1}, {"y": 1}], "row 1 of the table"),
        (5, "must be a dictionary of columns"),
    ],
)
def test_a_table_that_does_not_match_gives_one_line_and_no_folder(table: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(TrocarError, match=words):
        tr.sweep.run(lambda x, seed: {"y": x}, table, tmp_path / "out")
    assert not (tmp_path / "out").exists()


ODD: list[Any] = [
    *(None, 0, -1, 1.5, True, "", "x", b"b", "a\0b", [], [1], [None], [[1]], {}, {"x": None}, {"x": 5}, {1: [1]}),
    *(
        {"x": [object()]},
        {"x": "abc"},
        np.zeros((2, 2)),
        np.array(5),
        float("nan"),
        10**30,
        object(),
        {1},
        (1, 2),
        [{}],
    ),
    *({"x": [1j]}, {"x": np.array([1], dtype="M8[s]")}, {"x": ["a\ud800"]}, range(3), [{"x": [1]}]),
]


def test_odd_arguments_give_a_result_or_one_clear_line(tmp_path: Path) -> None:
    def square(x: Any) -> dict[str, Any]:
        return {"y": 1}

    calls: list[Callable[[Any], Any]] = [
        as_table,
        load_study,
        read_table,
        Results,
        lambda odd: grid(x=odd),
        lambda odd: grid(odd, x=[1]),
        lambda odd: tr.sweep.run(square, odd, tmp_path / f"{id(odd)}-t"),
        lambda odd: tr.sweep.run(odd, {"x": [1]}, tmp_path / f"{id(odd)}-s"),
        lambda odd: tr.sweep.run(square, {"x": [1]}, f"{tmp_path}/{odd}" if isinstance(odd, str) else odd),
    ]
    for name in ("executor", "workers", "resume", "rows", "seed", "batch"):
        calls.append(
            lambda odd, name=name: tr.sweep.run(square, {"x": [1]}, tmp_path / f"{id(odd)}-{name}", **{name: odd})
        )
    refused: list[str] = []
    for odd in ODD:
        for call in calls:
            try:
                call(odd)
            except (TrocarError, OSError) as error:
                refused.append(str(error))
    assert all(0 < len(message) <= 500 for message in refused)
    assert len(refused) > len(ODD) * len(calls) // 2


def test_a_table_with_text_that_is_not_utf_8_is_one_clear_line(tmp_path: Path) -> None:
    buffers = [None, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\x8d")]
    pq.write_table(pa.table({"x": pa.Array.from_buffers(pa.string(), 1, buffers)}), tmp_path / "t.parquet")
    with pytest.raises(TrocarError, match=r"t\.parquet has text that is not UTF-8"):
        read_table(tmp_path / "t.parquet")


# Resuming and rejecting


def interrupted(folder: Path, function: Callable[..., Any] = drawn) -> None:
    """Run a sweep that is interrupted after its first partitions."""

    def stop(state: Any) -> None:
        if state.done > 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tr.sweep.run(function, TABLE, folder, progress=stop)


def test_a_resumed_sweep_computes_the_missing_rows_only(serial: Results, tmp_path: Path) -> None:
    interrupted(tmp_path / "out")
    before = content(tmp_path / "out")
    done = len(Results(tmp_path / "out"))
    assert 0 < done < 40
    states: list[Any] = []
    results = tr.sweep.run(drawn, TABLE, tmp_path / "out", resume=True, progress=states.append)
    assert states[0].done > done
    assert results.table().equals(serial.table())
    assert before.items() <= content(tmp_path / "out").items()


def damaged_partition(folder: Path) -> None:
    path = partitions(folder)[0][1]
    path.write_bytes(path.read_bytes()[:-20])


def other_version(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"trocar": "0.0.9"}))


def foreign_partition(folder: Path) -> None:
    (_, path), *_ = partitions(folder)
    pq.write_table(pq.read_table(path).replace_schema_metadata({b"trocar.sweep": b"other"}), path)


def overlapping_partition(folder: Path) -> None:
    (folder / "rows" / "part-000000000-000000003.parquet").write_bytes(partitions(folder)[0][1].read_bytes())


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (damaged_partition, "damaged or incomplete"),
        (other_version, "another version of trocar: 0.0.9, not"),
        (foreign_partition, "belongs to another sweep"),
        (overlapping_partition, "overlaps another"),
        (lambda folder: (folder / "manifest.json").unlink(), "has no manifest.json"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "not valid JSON"),
        (lambda folder: (folder / "rows" / "notes.txt").write_text("x"), "not a partition"),
    ],
)
def test_a_folder_of_another_sweep_is_refused_and_not_changed(
    damage: Callable[[Path], Any], words: str, tmp_path: Path
) -> None:
    interrupted(tmp_path / "out")
    damage(tmp_path / "out")
    before = content(tmp_path / "out")
    with pytest.raises(TrocarError, match=words):
        tr.sweep.run(drawn, TABLE, tmp_path / "out", resume=True)
    assert content(tmp_path / "out") == before


def other_code(x: int, seed: int) -> dict[str, Any]:
    return {"y": -x}


other_code.__qualname__ = drawn.__qualname__


@pytest.mark.parametrize(
    ("function", "table", "words"),
    [
        (drawn, {"x": list(range(1, 41))}, "other values"),
        (drawn, {"x": list(range(41))}, "another number of rows: 40, not 41"),
        (other_code, TABLE, "code of the study has changed"),
        (lambda x, seed: {"y": x}, TABLE, "another study"),
    ],
)
def test_another_table_or_study_is_refused(
    function: Callable[..., Any], table: Any, words: str, tmp_path: Path
) -> None:
    interrupted(tmp_path / "out")
    before = content(tmp_path / "out")
    with pytest.raises(TrocarError, match=words):
        tr.sweep.run(function, table, tmp_path / "out", resume=True)
    assert content(tmp_path / "out") == before


def test_an_existing_sweep_is_not_overwritten(tmp_path: Path) -> None:
    interrupted(tmp_path / "out")
    with pytest.raises(
        TrocarError, match=r"already contains this sweep with \d+ of 40 rows done; continue it with resume=True"
    ):
        tr.sweep.run(drawn, TABLE, tmp_path / "out")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(TrocarError, match="not empty and contains no sweep"):
        tr.sweep.run(drawn, TABLE, tmp_path / "other")
    with pytest.raises(TrocarError, match="does not exist"):
        tr.sweep.run(drawn, TABLE, tmp_path / "none", resume=True)
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_text("x")
    with pytest.raises(TrocarError, match="is a file"):
        tr.sweep.run(drawn, TABLE, tmp_path / "file")


def test_two_runs_cannot_write_into_one_folder(tmp_path: Path) -> None:
    def again(state: Any) -> None:
        with pytest.raises(TrocarError, match="another run is writing"):
            tr.sweep.run(drawn, TABLE, tmp_path / "out", resume=True)

    tr.sweep.run(drawn, TABLE, tmp_path / "out", progress=again)


def test_a_full_disk_stops_the_sweep_which_resumes_when_there_is_room(
    serial: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0

    def full(*given: Any) -> Any:
        nonlocal count
        count += 1
        if count > 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return open(*given)

    monkeypatch.setattr(files, "open", full, raising=False)
    with pytest.raises(OSError, match="No space left on device"):
        tr.sweep.run(drawn, TABLE, tmp_path / "out")
    monkeypatch.undo()
    assert 0 < len(Results(tmp_path / "out")) < 40
    assert tr.sweep.run(drawn, TABLE, tmp_path / "out", resume=True).table().equals(serial.table())


def test_a_missing_package_is_named_with_its_pip_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(TrocarError, match=r'require ray, which is not installed: pip install "trocar\[sweep\]"'):
        tr.sweep.run(drawn, TABLE, tmp_path / "out", executor="ray")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"executor": "threads"}, "executor 'threads' is unknown"),
        ({"workers": 0, "executor": "processes"}, "from 1 to 4096"),
        ({"workers": 2}, "serial executor has one worker"),
        ({"address": "127.0.0.1:1"}, "use executor='ray'"),
        ({"seed": -1}, "seed must be"),
        ({"batch": 0}, "BATCH of"),
    ],
)
def test_wrong_options_give_one_clear_line(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(TrocarError, match=words):
        tr.sweep.run(drawn, TABLE, tmp_path / "out", **options)


def test_a_name_that_is_too_long_is_one_clear_line(tmp_path: Path) -> None:
    folder = tmp_path / ("n" * 300)
    for call in (lambda: tr.sweep.run(drawn, TABLE, folder), lambda: tr.sweep.Results(folder)):
        with pytest.raises(TrocarError, match="cannot be a folder of results: File name too long"):
            call()


# Chunks


def test_chunks_take_at_least_half_a_second_and_at_most_ten() -> None:
    for seconds in (1e-6, 1e-3, 0.1, 3.0):
        chunks = Chunks({"x": np.arange(10**6)}, [(0, 10**6)], 1, 2)
        chunks.seconds_per_row = seconds
        for _, chunk in zip(range(8), chunks, strict=False):
            rows = len(chunk)
        assert rows == 20_000 if seconds == 1e-6 else MIN_TIME <= rows * seconds < MAX_TIME + seconds


def test_pending_rows_come_once_each_and_at_multiples_of_the_batch() -> None:
    chunks = list(Chunks({"x": np.arange(50)}, [(0, 20), (28, 50)], 4, 1))
    assert all(chunk.start % 4 == 0 for chunk in chunks)
    assert np.concatenate([c.columns["x"] for c in chunks]).tolist() == [*range(20), *range(28, 50)]


# Dead workers and dead sweeps

DEADLY = '''"""One row raises, one ends its process."""
import os, signal
import numpy as np

def table(rows, seed):
    return {"x": np.arange(rows)}

def run(x, seed):
    if x == 3:
        raise ValueError("three")
    if x == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"y": float(np.random.default_rng(seed).normal())}
'''


def deadly(folder: Path) -> Path:
    (folder / "deadly.py").write_text(DEADLY)
    return folder / "deadly.py"


def test_a_row_that_kills_its_worker_ends_the_sweep_and_the_finished_rows_are_kept(tmp_path: Path) -> None:
    with pytest.raises(TrocarError, match=r"a worker process was killed.* rows are kept: continue with resume=True"):
        tr.sweep.run(deadly(tmp_path), None, tmp_path / "out", rows=40, executor="processes", workers=1)
    assert workers() == []
    assert Results(tmp_path / "out").table()["row"].to_pylist()[0] == 0
    assert 1 <= len(Results(tmp_path / "out")) < 40


# As slow as a simulation but without its work; `python -m tools.killed_sweeps` uses real simulations.
SLOW = '''"""Random numbers, slowly."""
import os, time
import numpy as np

def table(rows, seed):
    return {"x": np.linspace(0.0, 1.0, rows)}

def run(x, seed):
    time.sleep(0.0 if os.getpid() == @PID@ else 0.01)  # at once in the process of the tests
    return {"y": x + np.random.default_rng(seed).normal(size=3)}
'''


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study, and its rows from an uninterrupted sweep."""
    place = tmp_path_factory.mktemp("slow")
    (place / "slow.py").write_text(SLOW.replace("@PID@", str(os.getpid())))
    tr.sweep.run(place / "slow.py", None, place / "whole", rows=300)
    return place


def check_same(folder: Path, whole: Path) -> None:
    assert Results(folder).table().equals(Results(whole).table())


def test_a_sweep_killed_three_times_has_the_rows_of_an_uninterrupted_one(slow: Path) -> None:
    options, study, folder = ("--executor", "processes", "-j", "1"), slow / "slow.py", slow / "killed"
    done = killed_sweeps.killed(study, folder, 300, 3, *options, environment={})
    assert done[0] < done[1] < done[2] < 300
    tr.sweep.run(study, None, folder, rows=300, resume=True)
    check_same(folder, slow / "whole")
    assert not list(folder.rglob("*.tmp"))


def test_workers_end_with_a_sweep_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import os, time\n"
        "def run(x):\n"
        f"    open('{tmp_path}/' + str(os.getpid()), 'w').close()\n"
        "    time.sleep(60)\n"
        "    return {'y': x}\n"
        "def table(rows, seed):\n"
        "    return {'x': list(range(rows))}\n"
    )
    process = killed_sweeps.start(tmp_path / "slow.py", tmp_path / "out", 4, "-j", "1", environment={})
    while not (pids := [int(path.name) for path in tmp_path.iterdir() if path.name.isdigit()]):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    until(lambda: not Path(f"/proc/{pids[0]}").exists(), "the end of the worker")


def test_ctrl_c_ends_a_study_that_hangs_and_ignores_signals(tmp_path: Path) -> None:
    (tmp_path / "hangs.py").write_text(
        "import os, signal, time\n"
        "def run(x):\n"
        "    signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        f"    open('{tmp_path}/' + str(os.getpid()), 'w').close()\n"
        "    while True: time.sleep(60)\n"
        "def table(rows, seed):\n"
        "    return {'x': list(range(rows))}\n"
    )
    process = killed_sweeps.start(tmp_path / "hangs.py", tmp_path / "out", 4, "-j", "1", environment={})
    while not (pids := [int(path.name) for path in tmp_path.iterdir() if path.name.isdigit()]):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "--resume" in errors.decode().splitlines()[-1]
    assert not Path(f"/proc/{pids[0]}").exists()


def test_a_worker_that_cannot_load_the_study_ends_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.py").write_text(
        "import os\nif os.environ.get('OF_THE_PARENT') is None: import nowhere\n"
        "def run(x): return {}\ndef table(rows, seed): return {'x': [1, 2]}"
    )
    monkeypatch.setenv("OF_THE_PARENT", "1")
    study = load_study(tmp_path / "own.py")
    monkeypatch.delenv("OF_THE_PARENT")
    with pytest.raises(TrocarError, match="No module named 'nowhere' while loading"):
        tr.sweep.run(study, None, tmp_path / "a", executor="processes", workers=1)
    assert workers() == []


# Ray


@pytest.mark.xdist_group("ray")
def test_ray_on_two_nodes_survives_a_killed_sweep_and_a_lost_node(slow: Path) -> None:
    with killed_sweeps.two_nodes() as (address, environment, lose):
        options, study, folder = ("--executor", "ray", "--address", address), slow / "slow.py", slow / "ray"
        killed_sweeps.killed(study, folder, 300, 1, *options, environment=environment)
        process = killed_sweeps.start(study, folder, 300, *options, environment=environment)
        killed_sweeps.wait_for_rows(folder, 0, process)
        lose()
        killed_sweeps.finish(process)
    check_same(folder, slow / "whole")


@pytest.mark.xdist_group("ray")
@pytest.mark.parametrize("what", ["worker", "raylet"])
def test_a_killed_worker_is_replaced_and_a_killed_raylet_ends_the_sweep_with_its_rows(slow: Path, what: str) -> None:
    place, options = Path(tempfile.mkdtemp(dir="/tmp")), ("--executor", "ray", "-j", "1")
    folder = slow / what
    process = killed_sweeps.start(slow / "slow.py", folder, 300, *options, environment={"TMPDIR": str(place)})
    killed_sweeps.wait_for_rows(folder, 0, process)
    running = {int(entry.name): entry for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    (raylet,) = (
        pid
        for pid, entry in running.items()
        if "raylet" in _program(entry) and str(place) in _program(entry, whole=True)
    )
    # the agents of a raylet have such titles too
    titles = {pid: _program(entry, whole=True) for pid, entry in running.items() if _parent(entry) == raylet}
    workers = [pid for pid, title in titles.items() if title.startswith("ray::") and "Agent" not in title]
    assert workers
    for pid in workers if what == "worker" else [raylet]:
        os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=120)
    # 1: Ray itself ended the process
    assert process.returncode in ((0,) if what == "worker" else (1, 2))
    shutil.rmtree(place)
    tr.sweep.run(slow / "slow.py", None, folder, rows=300, resume=True)
    check_same(folder, slow / "whole")


def _parent(process: Path) -> int:
    """Parent of a process in /proc; 0 if it has ended."""
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _program(process: Path, whole: bool = False) -> str:
    """Path of the program of a process in /proc, or its whole command line; "" if it has ended."""
    try:
        words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    return " ".join(words) if whole else Path(words[0]).name


def test_ray_imported_before_a_sweep_is_refused_because_its_address_cannot_be_chosen(tmp_path: Path) -> None:
    script = (
        "import ray, trocar as tr\n"
        "def run(x): return {'y': x}\n"
        f"tr.sweep.run(run, {{'x': [1]}}, {str(tmp_path / 'out')!r}, executor='ray')\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "Ray was imported before the sweep" in ended.stderr


@pytest.mark.xdist_group("ray")
def test_ray_of_this_machine_stays_on_loopback_and_leaves_nothing_behind(slow: Path, tmp_path: Path) -> None:
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir()
    # short, because socket paths are limited
    place = Path(tempfile.mkdtemp(dir="/tmp"))
    environment = {"HOME": str(tmp_path / "home"), "TMPDIR": str(place), "MPLCONFIGDIR": str(tmp_path / "tmp")}
    options = ("--executor", "ray", "-j", "1")
    process = killed_sweeps.start(slow / "slow.py", tmp_path / "out", 300, *options, environment=environment)
    killed_sweeps.wait_for_rows(tmp_path / "out", 0, process)
    listening = subprocess.run(["ss", "-ltnp"], capture_output=True, text=True).stdout.splitlines()
    places = [line.split()[3] for line in listening if any(x in line for x in ("raylet", "gcs_server", '"ray::'))]
    killed_sweeps.finish(process)
    assert len(places) >= 3
    assert all("127.0.0.1" in place for place in places)
    check_same(tmp_path / "out", slow / "whole")
    assert os.listdir(tmp_path / "home") == []
    assert os.listdir(place) == []
    place.rmdir()
