"""The page in `site/`: its generated files are current, its laws and its physics are those of Python."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import trocar as tr
from tests.support.repository import ROOT
from tools.site.__main__ import FOLDER, texts
from tools.site.laws import LAWS
from tools.site.recording import recording
from tools.site.reference import run, setpoint
from tools.site.table import ARMS, table
from trocar.laws.law import ScalarLaw
from trocar.laws.servo import PARAMETERS, servo
from trocar.laws.sources.function_source import on_numbers
from trocar.robot.controller.actuators import Servo

SITE = ROOT / "site"
NODE, NPM = shutil.which("node"), shutil.which("npm")
CHROMIUM = shutil.which("chromium")
needs_node = pytest.mark.skipif(not (NODE and NPM), reason="no node and npm: apt install nodejs npm")


NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])")


def test_the_generated_files_are_current() -> None:
    for name, text in texts().items():
        content, remedy = (FOLDER / name).read_text(encoding="utf-8"), f"{name}: run python -m tools.site"
        assert NUMBER.sub("#", content) == NUMBER.sub("#", text), remedy
        # processors round sums of products differently
        committed, current = (np.array(NUMBER.findall(x), dtype=float) for x in (content, text))
        np.testing.assert_allclose(current, committed, rtol=1e-9, atol=1e-12, err_msg=remedy)


def test_the_table_follows_its_schema() -> None:
    schema = json.loads((SITE / "table.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    facts = table()
    assert list(validator.iter_errors(facts)) == []
    facts["arms"]["PSM"]["joints"][0]["unit"] = "degree"
    assert list(validator.iter_errors(facts))


def test_the_recording_of_the_exercise_is_that_of_the_simulated_arm() -> None:
    content, again = json.loads((FOLDER / "recording.json").read_text(encoding="utf-8")), recording(1.0)
    np.testing.assert_allclose(again["rows"], content["rows"][: len(again["rows"])], rtol=0.0, atol=1e-3)
    assert {key: content[key] for key in ("Fc", "Fv", "inertia")} == pytest.approx(
        {key: again[key] for key in ("Fc", "Fv", "inertia")}
    )


@needs_node
def test_the_servo_in_javascript_is_that_in_python_to_the_bit() -> None:
    law, rng = ScalarLaw(servo, PARAMETERS), np.random.default_rng(0)
    names = [node.name for node in law.inputs]
    rows = rng.normal(size=(500, len(names))) * 10.0 ** rng.uniform(-3.0, 1.0, (500, len(names)))
    rows[rng.random(rows.shape) < 0.1] = 0.0
    split = len(names) - len(PARAMETERS)
    rows[:, [names.index(k) for k in ("deadband", "output", "limit", "cutoff", "dt")]] **= 2
    expected = [on_numbers(law)(*row[split:])(*row[:split]) for row in rows.tolist()]
    np.testing.assert_array_equal(in_javascript(law, rows, split), np.array(expected))


@needs_node
@pytest.mark.parametrize("law", [law for law in LAWS if law.name != "servo"], ids=lambda law: law.name)
def test_the_other_laws_in_javascript_are_those_in_python(law: ScalarLaw) -> None:
    """Those without functions such as exp and atan2, whose last digit differs, to the bit."""
    rows = np.random.default_rng(0).normal(size=(300, len(law.inputs)))
    expected = np.array([np.atleast_1d(on_numbers(law)(*row)) for row in rows.tolist()])
    exact = law.name in ("encoder", "rested_encoder", "dahl_effort")
    np.testing.assert_allclose(
        in_javascript(law, rows), expected, rtol=0.0 if exact else 1e-12, atol=0.0 if exact else 1e-12
    )


def in_javascript(law: ScalarLaw, rows: np.ndarray, split: int = 0) -> np.ndarray:
    """Results of a law of the page for rows of inputs; split: where its parameters begin, if it has any."""
    call = f"{law.name}(...r.slice({split}))(...r.slice(0, {split}))" if split else f"{law.name}(...r)"
    script = (
        f"import {{ {law.name} }} from {json.dumps((FOLDER / 'laws.js').as_uri())};"
        "import { readFileSync } from 'node:fs';"
        "const rows = JSON.parse(readFileSync(0, 'utf8'));"
        f"console.log(JSON.stringify(rows.map((r) => {call})));"
    )
    return np.array(json.loads(node("--input-type=module", "-e", script, text=json.dumps(rows.tolist()))))


@pytest.mark.parametrize("name", ["PSM", "PSM_refit", "MTMR", "ECM"])
def test_the_scripted_run_is_that_of_the_simulator(name: str) -> None:
    """The page's run, in MuJoCo alone, against the simulator under the robot's own servo, for 1.1 s without pushes."""
    seconds, script = 1.1, json.loads((SITE / "test/scripts.json").read_text(encoding="utf-8"))[name.lower()]
    arm, parameters = ARMS[name]
    sim = tr.Simulator(arm, parameters, timestep=1.0 / 1500.0)
    sim.reset(sim.arm.home)
    law, A = Servo([sim.arm]), sim.arm.motors.coupling
    law.on[:] = True
    facts, feed, samples = sim.arm.controller, np.zeros(sim.n), []
    for cycle in range(round(1500 * seconds)):
        if facts.gravity_compensation and facts.compensates_positions and cycle % 3 == 0:
            feed = sim.mechanism.gravity(sim.q)
        q_ref, dq_ref = setpoint(script, 0, list(sim.arm.home), cycle / 1500)
        law.q_ref[:], law.dq_ref[:] = np.linalg.solve(A, q_ref), np.linalg.solve(A, dq_ref)
        law.feed_forward[:] = A.T @ feed
        tau = law.efforts(np.linalg.solve(A, sim.q), np.linalg.solve(A, sim.dq))
        sim.step(np.linalg.solve(A.T, tau))
        samples.append(sim.q.copy())
    expected = np.array(run(name.lower(), seconds))
    np.testing.assert_allclose(np.array(samples)[74::75], expected, rtol=0.0, atol=1e-6)


@needs_node
def test_the_unit_tests_of_the_page_pass() -> None:
    install()
    command = [str(NPM), "test", "--silent"]
    done = subprocess.run(command, cwd=SITE, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


@needs_node
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt install chromium")
@pytest.mark.xdist_group("browser")
def test_the_controls_of_the_page_work_in_a_browser() -> None:
    install()
    command, short = [str(NPM), "run", "--silent", "test:browser"], {**os.environ, "TROCAR_SITE_SHORT": "1"}
    done = subprocess.run(command, cwd=SITE, capture_output=True, text=True, timeout=900, check=False, env=short)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def install() -> None:
    """Install the locked packages, unless they are; skipped where npm's registry is out of reach."""
    lock, installed = SITE / "package-lock.json", SITE / "node_modules" / ".package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime:
        return
    command = [str(NPM), "ci", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(command, cwd=SITE, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode and "ENOTFOUND" in done.stderr + done.stdout:
        pytest.skip("npm's registry cannot be reached, and site/node_modules is not installed")
    assert done.returncode == 0, done.stderr


def node(*arguments: str, text: str, folder: Path = SITE) -> str:
    command = [str(NODE), *arguments]
    return subprocess.run(command, cwd=folder, input=text, capture_output=True, text=True, check=True).stdout
