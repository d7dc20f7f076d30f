"""The command line of `trocar run`."""

import re
import subprocess
import sys

import mujoco
import numpy as np
import pytest
from typer.testing import CliRunner

import trocar as tr
from tests.support.repository import SUPPORT
from trocar.cli import app

pytestmark = pytest.mark.xdist_group("run")
ONE_ARM = SUPPORT / "run_scripts" / "psm1.toml"


def call(*arguments, answers=None):
    return CliRunner().invoke(app, ["run", *(str(argument) for argument in arguments)], input=answers)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(
        "import sys, crtk, dvrk\n"
        "arm = dvrk.psm(crtk.ral('x'), 'PSM1')\n"
        "q, t = arm.measured_jp()\n"
        "pedal = crtk.joystick_button(crtk.ral('y'), '/console/camera')\n"
        "print(arm.is_homed(), input('? '), input('? '), pedal.wait(2.0, 1), sys.argv[1:])\n"
        "sys.exit(5)\n"
    )
    return path


def test_a_piped_script_keeps_its_exit_status_and_arguments(script):
    command = [sys.executable, "-m", "trocar", "run", "--scene", ONE_ARM, "--speed", "fast", "--pedal", "camera@1.5"]
    ran = subprocess.run(
        [*command, script, "--scene", "--help", "-a"], input="one\ntwo\n", capture_output=True, text=True, timeout=120
    )
    assert (ran.returncode, ran.stdout) == (5, "? ? True one two True ['--scene', '--help', '-a']\n"), ran.stderr
    assert ran.stderr.splitlines() == [
        f"trocar run: --scene is passed to the script; options of trocar run go before {script}",
        "trocar run: API 2.4 (line 3: measured_jp() is unpacked into 2); choose with --api",
    ]


def test_answers_come_from_a_file_and_the_robot_may_start_without_power(script, tmp_path):
    script.write_text(script.read_text().replace("q, t = arm.measured_jp()", "sys.argv.append(arm.operating_state())"))
    answers = tmp_path / "answers.txt"
    answers.write_text("yes\nno\n")
    ran = call("--scene", ONE_ARM, "--speed", "fast", "--input", answers, "--api", "2.4", "--start", "off", script)
    assert (ran.exit_code, ran.stdout) == (5, "? ? False yes no False ['DISABLED']\n"), ran.stderr
    assert ran.stderr == ""


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--speed", "slow"], "speed 'slow' is unknown. Known: real, fast."),
        (["--api", "3"], "api '3' is unknown. Known: 1, 2.0, 2.2, 2.4."),
        (["--start", "on"], "start 'on' is unknown. Known: ready, off."),
        (["--pedal", "brake@1"], "pedal 'brake' is unknown."),
        (["--pedal", "clutch"], "--pedal must be NAME@T or NAME@T+D"),
        (["--pedal", "clutch@-1"], "--pedal must be NAME@T or NAME@T+D"),
        (["--pedal", "clutch@nan+1"], "--pedal must be NAME@T or NAME@T+D"),
        (["--duration", "-1"], "--duration must be positive and finite, got -1.0"),
        (["--input", "nowhere.txt"], "nowhere.txt: No such file or directory"),
        (["--scene", "dvkr"], "'dvkr' is unknown. Did you mean 'dvrk'?"),
    ],
)
def test_wrong_options_give_one_line_and_status_2(script, options, error):
    ran = call("--api", "2.4", *options, script)
    assert ran.exit_code == 2
    (line,) = ran.stderr.splitlines()
    assert line.startswith("error: ")
    assert error in line


def test_an_endless_script_ends_after_a_duration(tmp_path):
    path = tmp_path / "endless.py"
    path.write_text(
        "import rospy, time\nrospy.init_node('x')\nstart = rospy.get_time()\n"
        "while not rospy.is_shutdown():\n    current = rospy.get_time()\n    time.sleep(0.01)\n"
        "print(round(current - start, 1))\n"
        "time.sleep(0.2)\nprint(round(rospy.get_time() - start, 1))\n"
    )
    ran = call("--scene", ONE_ARM, "--speed", "fast", "--duration", "0.6", path)
    assert (ran.exit_code, ran.stdout) == (0, "0.6\n0.8\n"), ran.output


def test_a_missing_script_is_named():
    ran = call("nowhere.py")
    assert (ran.exit_code, ran.stderr) == (2, "error: the script nowhere.py does not exist\n")


def test_a_folder_is_no_script(tmp_path):
    ran = call(tmp_path)
    assert (ran.exit_code, ran.stderr) == (2, f"error: the script {tmp_path} is a folder, not a Python file\n")


@pytest.fixture
def page_of():
    """A function that makes the page of a robot, without its thread."""
    pytest.importorskip("viser")
    from trocar.view.pages import script_page
    from trocar.view.server import serve

    server = serve(port=0)
    yield lambda robot: script_page(server, robot)
    server.stop()


def test_the_page_shows_the_robot_where_it_is_and_has_its_pedals(page_of):
    from trocar.robot import Robot
    from trocar.view.panels.states import PedalPanel

    with Robot(ONE_ARM, start="ready") as robot:
        page = page_of(robot)
        drawing = page.drawing
        before = drawing.data.xpos.copy()
        q, _ = robot.psm("PSM1").setpoint_jp()
        robot.psm("PSM1").move_jp(q + np.array([0.3, 0.0, 0.05, 0.0, 0.0, 0.0])).wait()
        page.draw()
        for pressed in (True, False):
            page.panel(PedalPanel).boxes["clutch"].value = pressed
            assert robot.bus.read("footpedals/clutch").buttons == (int(pressed),)
        mujoco.mj_kinematics(robot.scene.model, robot.scene.data)
        moved = robot.scene.data.xpos
        names = [robot.scene.model.body(k).name for k in range(1, robot.scene.model.nbody)]
        for name in names:
            body = drawing.model.body(name).id
            np.testing.assert_allclose(drawing.data.xpos[body], moved[robot.scene.model.body(name).id], atol=1e-9)
            np.testing.assert_allclose(drawing._nodes[name].position, drawing.data.xpos[body], atol=2e-6)
        assert abs(drawing.data.xpos - before).max() > 0.02
        assert page.address.startswith("http://127.0.0.1:")


def test_the_page_of_several_arms_offers_the_efforts_of_each(page_of):
    from tests.support.raw_browser import RawBrowser, until
    from trocar.robot import Robot
    from trocar.view.panels.plots import EffortPanel

    with Robot("masters", start="ready") as robot:
        page = page_of(robot)
        panel = page.panel(EffortPanel)
        assert tuple(panel.choice.options) == ("MTML", "MTMR")
        assert page.selected == panel.choice.value == "MTML"
        browser = RawBrowser(page.server)
        browser.set(panel.choice, "MTMR")
        until(lambda: page.selected == "MTMR", "the other arm")
        browser.close()
        page.draw()
        assert page.selection.name == "MTMR"


def test_the_page_of_one_arm_offers_no_choice_of_arms(page_of):
    from trocar.robot import Robot
    from trocar.view.panels.plots import EffortPanel

    with Robot(ONE_ARM, start="ready") as robot:
        assert page_of(robot).panel(EffortPanel).choice is None


def test_a_page_that_takes_long_to_draw_is_drawn_less_often(page_of, monkeypatch):
    from trocar.robot import Robot
    from trocar.view import page as page_module

    costs = [0.001, 0.001, 0.02, 0.001, 0.0]  # of each picture [s]
    clock, pauses = [0.0], []

    class Closing:
        def wait(self, pause):
            pauses.append(pause)
            return len(pauses) > len(costs)

    def draw():
        clock[0] += costs[len(pauses) - 1]

    with Robot(ONE_ARM, start="ready") as robot:
        page = page_of(robot)
        monkeypatch.setattr(page_module.time, "perf_counter", lambda: clock[0])
        monkeypatch.setattr(page, "draw", draw)
        monkeypatch.setattr(page, "_closing", Closing())
        page._run()
    assert pauses == pytest.approx([1 / 40, 0.024, 0.024, 0.18, 0.024, 1 / 40])


def test_the_page_hangs_the_arms_again_only_after_set_up_joints_have_moved(page_of, monkeypatch):
    from trocar.robot import Robot
    from trocar.view.model_drawing import ModelDrawing

    hung = []
    monkeypatch.setattr(ModelDrawing, "hang", lambda self, fixed: hung.append(fixed["PSM1/base"]))
    with Robot("cart_classic", start="ready") as robot:
        page = page_of(robot)
        page.draw()
        assert len(hung) == 1
        joints = np.array(robot.scene.cart.q_setup[robot.scene.mount("PSM1")])
        robot.scene.set_up("PSM1", joints + 0.01)
        page.draw()
        page.draw()
        assert len(hung) == 2
        assert abs(hung[1] - hung[0]).max() > 1e-3


def test_the_page_shows_operating_states_and_the_latest_messages_first():
    pytest.importorskip("viser")
    from trocar.robot import Robot
    from trocar.view.panels.states import MAX_LINES, MessagePanel, StatePanel

    with Robot(ONE_ARM, start="ready") as robot:
        states, messages = StatePanel(robot).text, MessagePanel(robot).text
        psm = robot.psm("PSM1")
        assert re.search(r">PSM1</td><td[^>]*><b[^>]*>ENABLED</b></td><td[^>]*>homed<", states())
        assert "no warnings, no errors" in messages()
        psm.state_command("<b>dance")
        robot.run(0.5)
        assert re.search(r"0\.0 s <b[^>]*>warning</b> PSM1: &lt;b&gt;dance doesn", messages())
        q, _ = psm.setpoint_jp()
        psm.servo_jp(q + np.array([0.8, 0.0, 0.0, 0.0, 0.0, 0.0]))
        robot.run(0.01)
        page = messages()
        assert re.search(r">PSM1</td><td[^>]*><b[^>]*>FAULT</b></td><td[^>]*>not homed<", states())
        assert 0 < page.index("PID: tracking error, mask (1 for error): 1 0 0 0 0 0 0") < page.index("dance")
        for _ in range(MAX_LINES + 3):
            psm.state_command("resume")
        robot.run(0.01)
        assert messages().count(" s <b") == MAX_LINES


def test_a_script_drives_the_simulated_teleoperation(tmp_path):
    path = tmp_path / "teleop.py"
    path.write_text(
        "import crtk, dvrk, std_msgs.msg\n"
        "ral = crtk.ral('x')\n"
        "pair, console = dvrk.teleop_psm(ral, 'MTMR_PSM1'), dvrk.console(ral)\n"
        "states = []\n"
        "ral.subscriber('MTMR_PSM1/current_state', std_msgs.msg.String, lambda m: states.append(m.data))\n"
        "console.teleop_start()\n"
        "pair.set_scale(0.4)\n"
        "rate = ral.create_rate(100)\n"
        "for _ in range(10):\n"
        "    rate.sleep()\n"
        "console.teleop_stop()\n"
        "rate.sleep(); rate.sleep()\n"
        "print(pair.get_scale(), states)\n"
    )
    ran = call("--scene", "dvrk", "--speed", "fast", "--api", "2.4", path)
    expected = "0.4 ['DISABLED', 'SETTING_ARMS_STATE', 'ALIGNING_MTM', 'DISABLED']\n"
    assert (ran.exit_code, ran.stdout) == (0, expected), ran.stderr


def test_a_handle_of_a_class_without_operating_state_fails_when_it_is_waited_for(tmp_path):
    """As with crtk itself, whose handle asks the class for `wait_for_busy`."""
    path = tmp_path / "child.py"
    path.write_text(
        "import crtk, numpy\n"
        "class Arm:\n"
        "    def __init__(self, ral):\n"
        "        utils = crtk.utils(self, ral)\n"
        "        utils.add_move_jp(), utils.add_setpoint_js()\n"
        "arm = Arm(crtk.ral('x').create_child('PSM1'))\n"
        "handle = arm.move_jp(numpy.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.0]))\n"
        "try:\n"
        "    handle.wait()\n"
        "except AttributeError as error:\n"
        "    print(error)\n"
    )
    ran = call("--arms", "PSM1", "--speed", "fast", path)
    assert (ran.exit_code, ran.stdout) == (0, "'Arm' object has no attribute 'wait_for_busy'\n"), ran.stderr


def test_errors_and_warnings_of_the_robot_are_printed_and_explain_a_time_out(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(
        "import crtk, dvrk, numpy\n"
        "arm = dvrk.psm(crtk.ral('x'), 'PSM1')\n"
        "arm.move_jp(numpy.array([0.0, 0.0, 0.5, 0.0, 0.0, 0.0])).wait()\n"
        "arm.servo_jp(numpy.array([1.0, 0.0, 0.12, 0.0, 0.0, 0.0]))\n"
        "crtk.ral('y').create_rate(10).sleep()\n"
        "arm.wait_for_operating_state('ENABLED', 0.2)\n"
        "arm.measured_js()\n"
    )
    ran = call("--scene", ONE_ARM, "--speed", "fast", "--api", "2.4", path)
    assert ran.exit_code == 1
    fault = r"PSM1: PID: tracking error, mask \(1 for error\): 1 0 1 0 0 0 0"
    for line in (
        r"robot warning at 0\.\d\d s: PSM1: move, goal beyond the joint limits, clipped: insertion 0.5 to 0.24 m",
        rf"robot error at \d\.\d\d s: {fault}",
        rf"trocar run: /PSM1: not ENABLED within 0.2 s; last error 0\.\d\d s before: {fault}",
        rf"TimeoutError: no valid data on /PSM1/measured_js; last error \d\.\d\d s before: {fault}",
    ):
        assert re.search(f"^{line}$", ran.stderr, re.MULTILINE), (line, ran.stderr)


def test_a_loop_that_polls_without_sleeping_ends_with_a_warning(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(
        "import crtk, dvrk, time\n"
        "ral = crtk.ral('x')\n"
        "arm = dvrk.psm(ral, 'PSM1')\n"
        "end = ral.to_sec(ral.now()) + 0.02\n"
        "while ral.to_sec(ral.now()) < end: arm.measured_js()\n"
        "start = time.time()\n"
        "while time.time() < start + 0.02: pass\n"
        "print('done')\n"
    )
    ran = call("--scene", ONE_ARM, "--speed", "fast", "--api", "2.4", path)
    assert (ran.exit_code, ran.stdout) == (0, "done\n"), ran.stderr
    assert ran.stderr.count("without sleeping") == 1


def test_some_arms_of_a_scene_run_with_their_own_parameters_and_are_recorded(tmp_path):
    path, bag = tmp_path / "script.py", tmp_path / "run.bag"
    path.write_text(
        "import crtk, dvrk\n"
        "arm = dvrk.psm(crtk.ral('x'), 'PSM1')\n"
        "print(arm.move_jp(arm.measured_jp()[0]).wait())\n"
        "dvrk.ecm(crtk.ral('x'), 'ECM')\n"
    )
    options = ("--scene", "dvrk", "--speed", "fast", "--api", "2.4", "--arms", "PSM1")
    ran = call(*options, "-p", "PSM1=wang2019_refit", "--record", bag, path)
    assert "ECM is not in the scene, which has PSM1," in ran.stderr
    assert ran.stdout == "True\n"
    recording = tr.load_recording(bag, "PSM")  # the only arm of the bag
    assert recording.t[-1] > 0.3
    assert recording.joints == tr.load_arm("PSM").joint_names
    for wrong, error in (
        ("ECM=wang2019", "arm of the scene 'ECM' is unknown"),
        ("PSM1=", "takes ARM=SET"),
        ("PSM1=none.toml", "none.toml"),
        ("PSM1.wrist=rope", "wrist cables 'rope' is unknown"),
        ("PSM1.colour=red", "option of --parameters 'colour' is unknown"),
    ):
        ran = call(*options, "-p", wrong, path)
        assert ran.exit_code == 2
        assert error in ran.stderr


def test_the_wrist_of_an_arm_and_its_compensation_are_options_of_the_command(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(
        "import crtk, dvrk, numpy\n"
        "arm = dvrk.psm(crtk.ral('x'), 'PSM1')\n"
        "goal = numpy.array([0.0, 0.0, 0.12, 0.1, 0.4, -0.3])\n"
        "arm.move_jp(goal).wait()\n"
        "print(numpy.abs(arm.measured_jp()[0] - goal).max() > 0.1, arm.setpoint_jp()[0][4])\n"
    )
    options = ("--scene", "dvrk", "--speed", "fast", "--api", "2.4", "--arms", "PSM1", "-p", "PSM1.wrist=cables")
    assert call(*options, path).stdout == "False 0.4\n"
    assert call(*options, "-p", "PSM1.compensation=cables", path).stdout == "True 0.4\n"


def test_an_older_script_gets_the_statistics_and_the_wrench_command_it_knows(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(
        "import crtk, dvrk, rospy\n"
        "from cisst_msgs.msg import mtsIntervalStatistics\n"
        "arm = dvrk.psm(crtk.ral('x'), 'PSM1')\n"
        "m = rospy.wait_for_message('/PSM1/period_statistics', mtsIntervalStatistics, 1.0)\n"
        "print(round(1 / m.PeriodAvg))\n"
        "arm.move_jp(arm.measured_jp()[0]).wait()\n"
        "arm.servo_cf([0.0, 0.0, 0.0, 0.0, 0.0, 0.0])\n"
        "rospy.sleep(0.1)\n"
        "print(arm.setpoint_js()[2].shape)\n"
    )
    ran = call("--scene", ONE_ARM, "--speed", "fast", "--api", "2.4", path)
    assert (ran.exit_code, ran.stdout) == (0, "1500\n(6,)\n"), ran.stderr
