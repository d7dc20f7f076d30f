"""Scripts for every release of the Python interface run unchanged, in simulated time and in real time."""

import io
import sys
import threading
import time

import pytest

from tests.support.repository import ROOT, SUPPORT
from trocar.robot import Robot
from trocar.scripts import session
from trocar.scripts.launcher import run_script
from trocar.scripts.script_api import judge
from trocar.scripts.session import Session

pytestmark = pytest.mark.xdist_group("run")  # one robot for all
SCRIPTS = SUPPORT / "run_scripts"
ONE_ARM = SCRIPTS / "psm1.toml"
# API, arguments, lines for input(), exit status, last line of the output
RUNS = {
    "api_1": ("1", ["--x", "y"], "", 0, "passed: 1 ['--x', 'y']"),
    "api_2_0": ("2.0", [], "1\n", 0, "passed: 2.0 3"),
    "api_2_2": ("2.2", [], "", 4, "passed: 2.2 no namespace"),
    "api_2_4": ("2.4", ["-a", "PSM1"], "", 0, "passed: states"),
    "master_1": ("1", [], "", 0, "passed: 1 [0, 1, 0]"),
    "master_2_0": ("2.0", [], "", 0, "passed: 2.0 PSM1_base"),
    "master_2_2": ("2.2", [], "", 0, "passed: 2.2 1"),
    "master_2_4": ("2.4", [], "", 0, "passed: 2.4 LARGE_NEEDLE_DRIVER_400006 1"),
}


@pytest.fixture(scope="module")
def robot():
    with Robot(ONE_ARM, start="off") as robot:
        yield robot


def run(robot, script, arguments=(), api="2.4", answers="", fast=True, pedal_after=None):
    """Exit status of a script."""
    session = Session(robot, api, fast=fast)
    if pedal_after is not None:
        press(session, pedal_after)
    try:
        return run_script(session, script, list(arguments), io.StringIO(answers))
    finally:
        session.close()


def press(session, seconds):
    from trocar.robot.messages import Joy

    for after, button in ((seconds, 1), (seconds + 0.5, 0)):
        message = Joy(buttons=(button,))
        session.at(
            session.now + round(after * 1e9),
            lambda message=message: session.bus.publish("console/emulate_clutch", message),
        )


@pytest.fixture(scope="module")
def two_sides():
    with Robot(SCRIPTS / "masters.toml", start="ready") as robot:
        yield robot


@pytest.fixture(scope="module")
def whole_robot():
    with Robot("dvrk", start="ready") as robot:
        yield robot


@pytest.mark.parametrize("name", RUNS)
def test_a_script_of_every_release_runs_unchanged(request, name, capsys):
    api, arguments, answers, status, last = RUNS[name]
    fixture = "two_sides" if name.startswith("master") else "whole_robot" if name == "api_2_2" else "robot"
    robot = request.getfixturevalue(fixture)
    script = SCRIPTS / f"{name}.py"
    assert judge(script).api == api
    exit_status = run(robot, script, arguments, api, answers, pedal_after=2.0)
    output = capsys.readouterr()
    # the scripts also try commands that the robot refuses, which it reports
    others = [line for line in output.err.splitlines() if not line.startswith(("robot warning at", "robot error at"))]
    assert (exit_status, output.out.splitlines()[-1:], others) == (status, [last], [])


def test_the_script_of_the_documentation_runs(robot, script, capsys):
    page = (ROOT / "docs" / "run_your_script.md").read_text(encoding="utf-8")
    path = script(page.split("```python\n")[1].split("```")[0])
    assert judge(path).api == "2.4"
    assert run(robot, path) == 0, capsys.readouterr().err
    distance = capsys.readouterr().out.removesuffix(" mm from the goal\n")
    assert float(distance) < 2.0


@pytest.mark.parametrize(("name", "wrong"), [("api_2_0", "2.4"), ("api_2_4", "2.2"), ("api_1", "2.0")])
def test_the_wrong_release_fails_with_a_hint(robot, name, wrong, capsys):
    assert run(robot, SCRIPTS / f"{name}.py", RUNS[name][1], wrong, RUNS[name][2]) == 1
    assert "choose it with --api 1, 2.0, 2.2 or 2.4" in capsys.readouterr().err


@pytest.fixture
def script(tmp_path):
    def write(text, name="script.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_clocks_sleeps_and_time_outs_follow_simulated_time(robot, script, capsys, monkeypatch):
    monkeypatch.setattr(session, "BLOCKED_TIMEOUT", 60.0)  # on a loaded machine a thread can wait for a processor
    text = """
import threading, time
from time import monotonic, sleep
import rospy

rospy.init_node("clocks")
start = time.time(), monotonic(), time.perf_counter(), rospy.get_time(), time.time_ns() / 1e9
sleep(0.2)
time.sleep(0.3)
after = time.time(), monotonic(), time.perf_counter(), rospy.get_time(), time.time_ns() / 1e9
assert all(abs(b - a - 0.5) < 0.002 for a, b in zip(start, after)), (start, after)

event = threading.Event()
assert not event.wait(0.25)
assert abs(rospy.get_time() - after[0] - 0.25) < 0.002
rospy.Timer(rospy.Duration(0.1), lambda _: event.set(), oneshot=True)
assert event.wait()
thread = threading.Thread(target=sleep, args=(0.1,))
thread.start()
thread.join()
rate = rospy.Rate(50)
before = rospy.get_time()
for _ in range(10):
    rate.sleep()
assert abs(rospy.get_time() - before - 0.2) < 0.002

times = {"fast": [], "slow": []}
def loop(name, period, count):
    for _ in range(count):
        time.sleep(period)
        times[name].append(rospy.get_time())
threads = [threading.Thread(target=loop, args=a) for a in (("fast", 0.01, 30), ("slow", 0.03, 10))]
before = rospy.get_time()
for thread in threads:
    thread.start()
sum(k * k for k in range(200000))  # however long this takes, no time passes
for thread in threads:
    thread.join()
for name, period in (("fast", 0.01), ("slow", 0.03)):
    assert all(abs(t - before - period * (k + 1)) < 0.001 * (k + 2) for k, t in enumerate(times[name])), times[name]
assert abs(rospy.get_time() - before - 0.3) < 0.03
print("passed", flush=True)
"""
    before = robot.time
    assert run(robot, script(text)) == 0, capsys.readouterr().err
    assert 1.4 < robot.time - before < 1.6
    assert time.time() > 1e9  # this module has the real clock again


def test_a_thread_that_blocks_in_something_else_does_not_stop_time(robot, script, capsys):
    text = """
import queue, threading, time
answers = queue.Queue()
def work():
    for k in range(3):
        time.sleep(0.1)
        answers.put((k, round(time.time() - start, 1)))
start = time.time()
threading.Thread(target=work, daemon=True).start()
print([answers.get() for _ in range(3)])
"""
    assert run(robot, script(text)) == 0
    assert capsys.readouterr().out == "[(0, 0.1), (1, 0.2), (2, 0.3)]\n"


def test_log_functions_use_the_right_stream_and_respect_once_and_throttle(robot, script, capsys):
    text = """
import rospy
rospy.init_node("speaker")
for k in range(10):
    rospy.loginfo_once("once %d", k)
    rospy.logwarn_throttle(0.25, "seldom %d" % k)
    rospy.logdebug("never")
    rospy.sleep(0.1)
rospy.logerr("100%")
"""
    assert run(robot, script(text)) == 0
    output = capsys.readouterr()
    assert [line.split("]: ")[1] for line in output.out.splitlines()] == ["once 0"]
    assert [line.split("]: ")[1] for line in output.err.splitlines()] == [
        *(f"seldom {k}" for k in (0, 3, 6, 9)),
        "100%",
    ]


def test_callbacks_may_command_and_wait(robot, script, capsys):
    text = """
import dvrk, numpy, rospy
from std_msgs.msg import Float64

arm = dvrk.psm("PSM1")
arm.enable(10)
arm.home(10)
done = []
def on_goal(message):
    q = arm.setpoint_jp()
    q[0] = message.data
    done.append(arm.move_jp(q).wait())
rospy.Subscriber("goal", Float64, on_goal)
rospy.Subscriber("goal", Float64, lambda message: 1 / 0)
rospy.Publisher("goal", Float64, queue_size=1).publish(0.1)
while not done:
    rospy.sleep(0.1)
print(done, round(arm.measured_jp()[0], 2))
"""
    assert run(robot, script(text), api="2.0") == 0
    output = capsys.readouterr()
    assert output.out == "[True] 0.1\n"
    assert "error in a callback" in output.err
    assert "ZeroDivisionError" in output.err


def test_arms_have_the_methods_of_the_package_and_no_others(robot, script, capsys):
    text = """
import crtk, dvrk
arm = dvrk.psm(crtk.ral("x"), "PSM1")
names = "move_jp", "insert_jp", "trajectory_j_get_ratio", "set_base_frame", "tool_type"
print([hasattr(arm, name) for name in names])
print(arm.jaw.ral().namespace(), arm.name(), arm.local.name())
arm.trajectory_j_set_ratio(ratio=1.0)
arm.tool_type()
"""
    assert run(robot, script(text)) == 1
    output = capsys.readouterr()
    assert output.out.splitlines() == ["[True, True, True, False, False]", "PSM1/jaw PSM1 PSM1/local"]
    assert "crtk and dvrk have no method tool_type; use the topic tool_type" in output.err


def test_two_runs_give_the_same_numbers(script, capsys):
    text = """
import dvrk, crtk
arm = dvrk.psm(crtk.ral("again"), "PSM1")
q, _ = arm.setpoint_jp()
q[1] += 0.1
arm.move_jp(q).wait()
print(repr(arm.measured_js()))
"""
    path, printed = script(text), []
    for _ in range(2):
        with Robot(ONE_ARM, start="ready") as robot:
            assert run(robot, path) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != ""


def test_in_real_time_callbacks_run_in_parallel_with_the_script(script, capsys):
    text = """
import threading, time
import rospy
from crtk_msgs.msg import OperatingState
from sensor_msgs.msg import JointState

rospy.init_node("real")
threads, stamps = set(), []
def on_joints(message):
    threads.add(threading.current_thread())
    stamps.append(message.header.stamp.to_sec())
rospy.Subscriber("/PSM1/measured_js", JointState, on_joints)
while len(stamps) < 5:
    time.sleep(0.01)
assert stamps == sorted(stamps)
assert abs(stamps[-1] - time.time()) < 60
assert threading.main_thread() not in threads
rospy.signal_shutdown("done")
assert rospy.is_shutdown()
"""
    with Robot(ONE_ARM, speed="real", start="ready") as robot:
        assert run(robot, script(text), fast=False) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("ending", "status", "hint"),
    [
        ("pass", 0, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit(7)", 7, ""),
        ("sys.exit('no arm')", 1, "no arm"),
        ("raise RuntimeError('broken')", 1, "RuntimeError: broken"),
        ("raise KeyboardInterrupt", 130, "interrupted"),
        ("input('more? ')", 1, "pass a file with --input"),
        ("import rclpy", 1, "does not offer rclpy: use crtk.ral"),
        ("import tf2_ros", 1, "does not offer tf2_ros: read poses from the arms"),
        ("from PyKDL import Tree", 1, "cannot import name 'Tree'"),
        ("rospy.Frobnicate", 1, "rospy.Frobnicate is not offered by trocar run"),
        ("print 'two'\nx = = 2", 1, "SyntaxError"),
        ("dvrk.psm(crtk.ral('x'), 'PSM9')", 1, "PSM9 is not in the scene, which has"),
    ],
)
def test_the_exit_status_is_the_scripts_and_errors_give_hints(robot, script, capsys, ending, status, hint):
    assert run(robot, script(f"import sys, rospy, crtk, dvrk\n{ending}\n")) == status
    error = capsys.readouterr().err
    assert hint in error
    assert "launcher.py" not in error  # a traceback begins in the script


def test_the_script_is_main_with_its_own_arguments_folder_and_input(robot, script, capsys):
    script("value = 5\n", "beside_the_script.py")
    path = script(
        "import sys, beside_the_script\n"
        "assert __name__ == '__main__' and sys.modules['__main__'].__file__ == __file__ == sys.argv[0]\n"
        "print(sys.argv[1:], beside_the_script.value, input(), sys.stdin.readline())\n"
    )
    before = robot.time
    assert run(robot, path, ["--speed", "-h", ""], answers="first\nsecond\n") == 0
    assert 1.0 <= robot.time - before < 1.01  # half a second for each answer
    assert capsys.readouterr().out == "['--speed', '-h', ''] 5 first second\n\n"


@pytest.mark.parametrize(
    "line", ["print 'two'", "try: pass\nexcept IOError, error: pass", "x = 0777", "if 1 <> 2: pass"]
)
def test_a_script_in_python_2_is_refused_with_a_remedy(robot, script, capsys, line):
    path = script(f"import dvrk\n{line}\n")
    assert judge(path).api == "2.4"
    assert run(robot, path) == 1
    error = capsys.readouterr().err
    assert "SyntaxError" in error
    assert "the script is written for Python 2; convert it with `2to3 -w SCRIPT.py`" in error


def test_a_script_leaves_nothing_behind(robot, script):
    before = dict(sys.modules), sys.argv, sys.path, sys.stdin, list(sys.meta_path)
    assert run(robot, script("import rospy, crtk, dvrk, PyKDL, std_msgs.msg, tf_conversions.posemath, time\n")) == 0
    names = ("rospy", "crtk", "dvrk", "PyKDL", "std_msgs", "std_msgs.msg", "tf_conversions", "time", "threading")
    assert {name: sys.modules.get(name) for name in names} == {name: before[0].get(name) for name in names}
    assert (sys.argv, sys.path, sys.stdin, list(sys.meta_path)) == before[1:]
    assert sys.modules["time"] is time
    with pytest.raises(ModuleNotFoundError):
        __import__("rospy_msgs_of_nobody")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # of SystemExit, else unseen
@pytest.mark.parametrize("fast", [True, False])
def test_daemon_threads_end_with_the_script(script, fast):
    text = """
import threading, time, rospy
def forever():
    while True:
        rospy.get_time()
        time.sleep(0.01)
        rospy.Rate(100).sleep()
thread = threading.Thread(target=forever, daemon=True)
thread.start()
time.sleep(0.1)
"""
    before = set(threading.enumerate())
    with Robot(ONE_ARM, speed="fast" if fast else "real", start="ready") as robot:
        assert run(robot, script(text), fast=fast) == 0
        for thread in set(threading.enumerate()) - before:
            if thread.name != "trocar-dvrk":  # of the robot itself
                threading.Thread.join(thread, 20.0)
                assert not thread.is_alive()


def test_ctrl_c_stops_the_node_and_the_script_can_clean_up(robot, script, capsys):
    text = """
import os, signal, threading
import rospy
rospy.init_node("stopped")
rospy.on_shutdown(lambda: print("goodbye"))
rospy.Timer(rospy.Duration(0.1), lambda _: os.kill(os.getpid(), signal.SIGINT), oneshot=True)
rate = rospy.Rate(10)
try:
    while not rospy.is_shutdown():
        rate.sleep()
except rospy.ROSInterruptException:
    print("cleaned up", rospy.is_shutdown())
"""
    assert run(robot, script(text)) == 0, capsys.readouterr().err
    assert capsys.readouterr().out == "goodbye\ncleaned up True\n"


def test_a_session_can_be_closed_twice(robot):
    session = Session(robot, "2.4")
    session.close()
    session.close()
