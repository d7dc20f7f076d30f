"""Published data are fetched completely and verified. A local server replaces the authors' server."""

import functools
import hashlib
import http.server
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trocar.cli import app
from trocar.errors import TrocarError
from trocar_reproductions.datasets import DATASETS, Dataset

FILES = {"psm/one.csv": b"1,2,3\n", "psm/two.csv": b"4,5,6\n"}


@pytest.fixture
def server(tmp_path):
    """Folder and address of the server, and the requested paths."""
    folder, asked = tmp_path / "authors", []
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            asked.append(self.path)

    handler = functools.partial(Handler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{running.server_port}/", asked
        running.shutdown()
        thread.join()


@pytest.fixture
def dataset(server):
    return Dataset(
        title="Recordings",
        citation="Somebody",
        repository="https://example.org/recordings",
        url=server[1],
        folder="recordings",
        files={name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()},
    )


def test_every_file_is_fetched_once(server, dataset, tmp_path):
    done = []
    new = dataset.fetch(tmp_path / "data", done.append)
    assert {path.relative_to(tmp_path / "data" / "recordings").as_posix() for path in new} == set(FILES)
    assert all((tmp_path / "data/recordings" / name).read_bytes() == content for name, content in FILES.items())
    assert done == sorted(done)
    server[2].clear()
    assert dataset.fetch(tmp_path / "data") == []
    assert server[2] == []


def test_an_interrupted_download_is_completed(server, dataset, tmp_path):
    here = tmp_path / "data/recordings/psm"
    here.mkdir(parents=True)
    (here / "one.csv").write_bytes(FILES["psm/one.csv"])
    (here / "two.csv").write_bytes(b"4,5")
    assert dataset.fetch(tmp_path / "data") == [here / "two.csv"]
    assert (here / "two.csv").read_bytes() == FILES["psm/two.csv"]
    assert server[2] == ["/psm/two.csv"]


def test_a_file_that_differs_from_the_published_one_is_discarded(server, dataset, tmp_path):
    (server[0] / "psm/two.csv").write_bytes(b"other\n")
    with pytest.raises(TrocarError, match=r"1 of 2 files .* missing: psm/two.csv \(differs from the published file"):
        dataset.fetch(tmp_path / "data")
    assert [path.name for path in (tmp_path / "data/recordings").rglob("*") if path.is_file()] == ["one.csv"]


def test_a_missing_file_does_not_stop_the_others(server, dataset, tmp_path):
    (server[0] / "psm/one.csv").unlink()
    with pytest.raises(TrocarError, match=r"1 of 2 files .* missing: psm/one.csv \(404"):
        dataset.fetch(tmp_path / "data")
    assert (tmp_path / "data/recordings/psm/two.csv").is_file()


def test_a_failed_connection_names_the_repository_and_the_target_folder(dataset, tmp_path):
    silent = replace(dataset, url="http://127.0.0.1:9/")
    with pytest.raises(
        TrocarError, match=r"answer \(no connection\)\. .*https://example.org/recordings to .*recordings"
    ):
        silent.fetch(tmp_path / "data")


@pytest.mark.parametrize("name", DATASETS)
def test_checksums_are_those_of_the_measured_data(name):
    if "TROCAR_DATA" not in os.environ:
        pytest.skip("needs the recordings: TROCAR_DATA")
    dataset = DATASETS[name]
    root = Path(os.environ["TROCAR_DATA"]) / dataset.folder
    there = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    assert len(there) >= 9
    for path, file in there.items():
        assert hashlib.sha256(file.read_bytes()).hexdigest() == dataset.files[path]


def test_the_command_fetches_and_reproduce_finds_it(dataset, tmp_path, monkeypatch):
    monkeypatch.setattr("trocar_reproductions.datasets.DATASETS", {"ours": dataset})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TROCAR_DATA", raising=False)
    seen = []

    class Spy:
        name, title = "spy", "Spy"

        def run(self, context):
            seen.append(context.data)
            raise TrocarError("enough")

    monkeypatch.setattr("trocar_reproductions.experiments.EXPERIMENTS", {"spy": Spy()})
    runner = CliRunner()
    assert runner.invoke(app, ["reproduce"]).exit_code == 1
    result = runner.invoke(app, ["fetch"])
    assert result.exit_code == 0, result.output
    assert "2 files fetched, 0 already present" in result.output
    assert "2 already present" in runner.invoke(app, ["fetch", "ours"]).output
    assert runner.invoke(app, ["reproduce"]).exit_code == 1
    assert seen == [None, tmp_path / "cache/trocar/data"]


def test_the_command_writes_data_to_the_given_folder(dataset, tmp_path, monkeypatch):
    monkeypatch.setattr("trocar_reproductions.datasets.DATASETS", {"ours": dataset})
    result = CliRunner().invoke(app, ["fetch", "-o", str(tmp_path / "there")])
    assert result.exit_code == 0, result.output
    assert f"--data {tmp_path / 'there'}" in result.output
    assert (tmp_path / "there/recordings/psm/one.csv").is_file()
    unknown = CliRunner().invoke(app, ["fetch", "our"])
    assert unknown.exit_code == 2
    assert "Did you mean 'ours'?" in unknown.output


def test_a_file_outside_the_datasets_folder_is_fetched_from_its_own_address(server, dataset, tmp_path):
    (server[0] / "scenes").mkdir()
    (server[0] / "scenes/cart.ttt").write_bytes(b"scene")
    checksum = hashlib.sha256(b"scene").hexdigest()
    scenes = replace(
        dataset,
        url=f"{server[1]}psm/",
        files={"one.csv": dataset.files["psm/one.csv"], "scenes/cart.ttt": checksum},
        urls={"scenes/cart.ttt": f"{server[1]}scenes/cart.ttt"},
    )
    assert len(scenes.fetch(tmp_path / "data")) == 2
    assert (tmp_path / "data/recordings/scenes/cart.ttt").read_bytes() == b"scene"
