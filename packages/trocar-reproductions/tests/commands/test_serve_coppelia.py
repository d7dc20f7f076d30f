"""`trocar serve coppelia` as a process: a client connects, Ctrl-C ends it."""

import re
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tests.support.waiting import TIMEOUT
from tools.coppelia.client import RemoteApiClient
from tools.coppelia.program import Program
from trocar.cli import app
from trocar.errors import TrocarError


def test_a_session_with_logs_ends_with_ctrl_c(tmp_path):
    command = [sys.executable, "-m", "trocar", "serve", "coppelia", "--port", "0", "--log", str(tmp_path)]
    command += ["--torque", "--period", "0.01", "--place", "Start=-1.539,-0.16781,0.71475"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        line = process.stdout.readline()
        port = int(re.search(r"on 127\.0\.0\.1:(\d+); press Ctrl-C", line)[1])
        with RemoteApiClient(port) as client:
            program = Program(client, "line")
            assert program.period == 0.01
            log = program.run(5)
            client.finish()
        assert log.pdes[0] == pytest.approx([-1.539, -0.16781, 0.71475], abs=1e-6)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=TIMEOUT)
        assert process.returncode == 0, rest
    assert "wrote 5 rows" in rest
    assert (tmp_path / "LogSession_0" / "tauCmd.txt").read_text().count(";") == 5


@pytest.mark.parametrize(
    ("scene", "number"), [(["coppelia"], signal.SIGTERM), (["coppelia-robot", "psm"], signal.SIGINT)]
)
def test_a_page_shows_the_served_scene_until_a_signal(scene, number):
    pytest.importorskip("viser")
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]  # as a shell starts a job in the background
    command += [sys.executable, "-m", "trocar", "serve", *scene, "--port", "0", "--view"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        port = int(re.search(r"on 127\.0\.0\.1:(\d+)", process.stdout.readline())[1])
        assert process.stdout.readline().startswith("page: http://127.0.0.1:")
        with RemoteApiClient(port) as client:
            if len(scene) > 1:
                client.synchronous()
                client.start()
                client.trigger()
                assert abs(client.joint_position(client.handle("J1_PSM"))) < 1.0
            else:
                Program(client, "line").run(5)
        process.send_signal(number)
        rest, _ = process.communicate(timeout=TIMEOUT)
        assert process.returncode == 0, rest
    assert "Traceback" not in rest


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["coppelia", "--period", "0.003"], "multiple of the physics step"),
        (["coppelia", "--arms", "ECM"], "ECM"),
        (["coppelia", "--place", "Start"], "NAME=X,Y,Z"),
        (["coppelia", "--place", "Start=1,2,nan"], "NAME=X,Y,Z"),
        (["coppelia", "--place", "Nothing=1,2,3"], "Nothing"),
        (["coppelia", "--port", "70000"], "port"),
        (["coppelia", "-p", "nothing"], "nothing"),
        (["coppelia-robot", "psm", "--port", "0", "--period", "0.005"], "multiple of the robot's cycle"),
    ],
)
def test_wrong_options_are_named_in_one_line(options, words):
    from typer.testing import CliRunner

    from trocar.cli import app

    result = CliRunner().invoke(app, ["serve", *options])
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())


@pytest.mark.parametrize("command", ["coppelia", "coppelia-robot"])
def test_clients_write_no_floods_to_the_terminal(monkeypatch, command):
    def flood(scene, port, report):
        for k in range(1000):
            report(f"client {k} left\n")
        raise TrocarError("the end")

    monkeypatch.setattr("trocar_reproductions.coppelia.server.RemoteApiServer", flood)
    result = CliRunner().invoke(app, ["serve", command, *(["psm"] if "robot" in command else [])])
    assert "error: the end" in result.output
    assert 10 <= result.output.count("left") < 100
    assert "client 0 left\\n\n" in result.output
