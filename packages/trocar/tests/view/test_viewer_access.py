"""Access to the page, and messages that a browser may send to it. No browser: raw requests and messages."""

from __future__ import annotations

import contextlib
import threading
import time
import urllib.error
import urllib.request
from collections import Counter

import msgspec
import numpy as np
import pytest

pytest.importorskip("viser", reason="pip install 'trocar[view]'")

from websockets import Headers
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.http11 import Request

from tests.support.raw_browser import CAMERA, RawBrowser, until, websocket
from tests.support.viewed_robot import ViewedRobot
from tests.support.waiting import TIMEOUT
from trocar.errors import TrocarError
from trocar.view.access import Access
from trocar.view.panel import plain
from trocar.view.panels.transport import TransportPanel
from trocar.view.server import address, serve
from trocar.view.viser_internals import BURST, MAX_BROWSERS, MAX_MESSAGE, MAX_UPLOAD

pytestmark = pytest.mark.xdist_group("viewer_access")  # one worker: fixtures are built once

# -- access ---------------------------------------------------------------------------------------------------------


def request(host="127.0.0.1:8080", origin=None, token=None, cookie=None):
    headers = Headers()
    for name, value in (("Host", host), ("Origin", origin), ("Cookie", cookie)):
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                headers[name] = one
    return Request(f"/?token={token}" if token else "/", headers)


SAME = "http://127.0.0.1:8080"
EVIL = "http://evil.example"


@pytest.mark.parametrize(
    ("listens", "host", "origin", "refused"),
    [
        ("127.0.0.1", "127.0.0.1:8080", None, None),
        ("127.0.0.1", "127.0.0.1:8080", SAME, None),
        ("127.0.0.1", "localhost:9000", "http://localhost:9000", None),  # forwarded by ssh
        ("127.0.0.1", "LOCALHOST:9000", "http://localhost:9000", None),
        ("127.0.0.1", "[::1]:8080", "http://[::1]:8080", None),
        ("127.0.0.1", "evil.example", None, "not served under this name"),  # DNS rebinding
        ("127.0.0.1", "evil.example:8080", "http://evil.example:8080", "not served under this name"),
        ("127.0.0.1", "127.0.0.1.evil.example", None, "not served under this name"),
        ("127.0.0.1", "localhost.", None, "not served under this name"),
        ("127.0.0.1", "192.168.1.5:8080", None, "not served under this name"),
        ("127.0.0.1", "user@127.0.0.1:8080", None, "not served under this name"),
        ("127.0.0.1", "127.0.0.1:port", None, "not served under this name"),
        ("127.0.0.1", "[::1", None, "not served under this name"),
        ("127.0.0.1", "", None, "not served under this name"),
        ("127.0.0.1", None, None, "not served under this name"),
        ("127.0.0.1", ["127.0.0.1", "evil.example"], None, "not served under this name"),
        ("127.0.0.1", "127.0.0.1:8080", EVIL, "other web sites"),
        ("127.0.0.1", "127.0.0.1:8080", "http://127.0.0.1:3000", "other web sites"),  # another server here
        ("127.0.0.1", "127.0.0.1:8080", "null", "other web sites"),  # a sandboxed frame, a file
        ("127.0.0.1", "127.0.0.1:8080", "", "other web sites"),
        ("127.0.0.1", "127.0.0.1:8080", "http://[", "other web sites"),
        ("127.0.0.1", "127.0.0.1:8080", [SAME, EVIL], "other web sites"),
        ("robot.lab", "robot.lab:8080", "http://robot.lab:8080", None),
        ("robot.lab", "evil.example:8080", None, "not served under this name"),
        ("0.0.0.0", "192.168.1.5:8080", "http://192.168.1.5:8080", None),
        ("0.0.0.0", "evil.example:8080", None, "not served under this name"),
        ("0.0.0.0", "192.168.1.5:8080", EVIL, "other web sites"),
    ],
)
def test_hosts_and_origins_are_those_of_the_page(listens, host, origin, refused):
    access = Access(listens)
    found = access.refusal(request(host, origin, access.token))
    assert found is None if refused is None else refused in found


def test_the_token_must_be_in_the_address_or_in_this_runs_cookie():
    access, other = Access("127.0.0.1"), Access("127.0.0.1")
    cookie = access.cookie.partition(";")[0]
    for good in (request(token=access.token), request(cookie=cookie), request(cookie=f"a=b; {cookie}")):
        assert access.refusal(good) is None
    wrong = (None, "a", other.token, access.token[:-1], access.token + "a", "%ff", "ü")
    for bad in (
        *(request(token=token) for token in wrong),
        request(cookie=other.cookie.partition(";")[0]),
        request(cookie=cookie.partition("=")[0] + "="),
        request(cookie=";;=;[]"),
    ):
        assert "token is missing" in access.refusal(bad)
    assert "SameSite=Strict" in access.cookie
    assert "HttpOnly" in access.cookie


@pytest.fixture(scope="module")
def page():
    result = ViewedRobot()
    yield result
    result.close()


@pytest.fixture
def browser(page):
    result = RawBrowser(page.server)
    yield result
    result.close()
    until(lambda: not page.server.get_clients(), "the browser to be gone")


def fetch(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def test_the_page_is_served_only_at_its_own_address(page):
    url = address(page.server)
    status, headers, content = fetch(url)
    assert (status, b"<html" in content) == (200, True)
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "frame-ancestors 'self'" in headers["Content-Security-Policy"]
    cookie = headers["Set-Cookie"].partition(";")[0]
    assert fetch(url.partition("?")[0], Cookie=cookie)[0] == 200
    for bad in ((url.partition("?")[0], {}), (url, {"Host": "evil.example"}), (url, {"Origin": EVIL})):
        status, headers, content = fetch(bad[0], **bad[1])
        assert status == 403
        assert headers["Set-Cookie"] is None
        assert content.startswith(b"refused: ")


@pytest.mark.parametrize(
    "path",
    ["a" * 5000, "/".join(["a" * 200] * 30), "%00", "a%00b", "..%2f..%2fetc/passwd", "%ff%fe"],
    ids=["long name", "long path", "zero", "zero inside", "outside", "not UTF-8"],
)
def test_names_that_no_file_can_have_are_not_found(page, path):
    url, _, query = address(page.server).partition("?")
    status, _, content = fetch(f"{url}{path}?{query}")
    assert (status, len(content) < 100) == (404, True)


def test_a_websocket_opens_only_with_the_cookie_and_the_pages_own_origin(page):
    url = address(page.server)
    cookie = page.server.access.cookie.partition(";")[0]
    origin = url.partition("/?")[0]
    with websocket(page.server, {"Cookie": cookie, "Origin": origin}, token=False) as socket:
        assert len(socket.recv(timeout=TIMEOUT)) > 100  # the scene
    for headers, token in (
        ({}, False),
        ({"Origin": origin}, False),
        ({"Cookie": cookie, "Origin": EVIL}, False),
        ({"Cookie": cookie, "Origin": "null"}, True),
        ({"Cookie": cookie + "a"}, False),
    ):
        with pytest.raises(InvalidStatus, match="403"):
            websocket(page.server, headers, token=token)


def test_servers_that_start_at_once_have_their_own_tokens():
    found = []
    threads = [threading.Thread(target=lambda: found.append(serve(port=0))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        for server in found:
            for other in found:
                url = address(server).partition("token=")[0] + f"token={other.access.token}"
                assert fetch(url)[0] == (200 if other is server else 403)
    finally:
        for server in found:
            server.stop()


def test_the_number_of_browsers_is_limited(page):
    sockets = [websocket(page.server) for _ in range(MAX_BROWSERS)]
    with pytest.raises(InvalidStatus, match="503"):
        websocket(page.server)
    for socket in sockets:
        socket.close()

    def free():
        try:
            websocket(page.server).close()
        except InvalidStatus:
            return False
        return True

    until(free, "a free place")


# -- messages of a browser --------------------------------------------------------------------------------------------


def texts(page):
    return list(page.page.messages)


def sent(page, browser, action):
    """The new messages to the user after something was sent."""
    before = len(page.page.messages)
    action()
    browser.settled()
    return texts(page)[before:]


def check_alive(page, capfd):
    """Check that robot and page still run and that nothing was printed."""
    page.simulation.pause()
    time_before = page.frame().time
    page.simulation.step(3)
    assert page.frame().time > time_before
    assert page.robot.error is None
    assert page.page.running
    assert capfd.readouterr().err == ""


def test_a_control_is_set_by_the_browser(page, browser):
    assert sent(page, browser, lambda: browser.set(page.transport.speed, 0.5)) == []
    until(lambda: page.frame().speed == 0.5, "the speed")
    browser.set(page.transport.speed, 1)
    until(lambda: page.frame().speed == 1.0, "the speed")


def test_the_torque_mode_of_the_page_starts_at_rest(page, browser):
    page.simulation.reset()
    browser.set(page.controls.mode, "torque")
    until(lambda: (page.simulation.step(), page.arm().q_ref)[1] is None, "the mode")
    start = page.arm().q
    page.simulation.step(7500)  # 5 s
    moved = np.abs(page.arm().q - start)
    assert moved[[0, 1, 3, 4, 5, 6]].max() < 1e-3
    assert moved[2] < 1e-4
    browser.set(page.controls.mode, "joint")
    until(lambda: (page.simulation.step(), page.arm().q_ref)[1] is not None, "the mode")


def test_a_value_out_of_range_is_refused_where_it_is_used(page, browser, capfd):
    for speed in (-1.0, 1e8):
        before = len(texts(page))
        browser.set(page.transport.speed, speed)
        until(lambda before=before: len(texts(page)) > before, "the refusal")
        assert "speed" in texts(page)[-1]
        assert page.frame().speed == 1.0
    page.transport.speed.value = 1.0
    check_alive(page, capfd)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("control", "value", "reason"),
    [
        ("speed", NAN, "wrong shape"),  # this once froze the clock
        ("speed", INF, "wrong shape"),
        ("speed", "1", "must be a number"),
        ("speed", True, "must be a number"),
        ("speed", [1.0], "wrong shape"),
        ("speed", None, "wrong shape"),
        ("instrument", "/etc/hostname.toml", "is not one of"),  # this file was once opened
        ("instrument", "../own.toml", "is not one of"),
        ("instrument", 7, "is not one of"),
        ("mode", "cartesia", "is not one of"),
        ("law", "impedanc", "is not one of"),
        ("friction", 1, "must be True or False"),
        ("place", [1.0, 2.0], "wrong shape"),
        ("place", 1e10, "wrong shape"),
        ("place", NAN, "wrong shape"),
        ("place", "here", "must be a number"),
        ("play", False, "a button sends True"),
        ("load", True, "cannot be changed"),
        ("source", "recording", "is disabled"),
    ],
)
def test_an_invalid_value_of_a_control_is_refused_with_the_reason(page, browser, capfd, control, value, reason):
    handles = {
        "speed": page.transport.speed,
        "instrument": page.mechanism.controls["instrument"],
        "friction": page.mechanism.controls["friction"],
        "mode": page.controls.mode,
        "law": page.controls.law,
        "place": page.controls.tip.entry.fields[0],
        "play": page.transport.play,
        "load": page.recordings.load_a,
        "source": page.recordings.source,
    }
    was = handles[control].value
    (text,) = sent(page, browser, lambda: browser.set(handles[control], value))
    assert reason in text
    assert handles[control].value == was
    check_alive(page, capfd)


@pytest.mark.parametrize("attribute", ["removed", "update_cb", "sync_cb", "is_button", "options", "nothing"])
def test_no_other_attribute_of_a_control_can_be_changed(page, browser, capfd, attribute):
    """Regression: a control removed by a browser made the page print tracebacks forever."""
    for handle in (page.transport.speed, page.transport.play, page.controls.law):
        (text,) = sent(page, browser, lambda h=handle: browser.set(h, h.value, **{attribute: True}))
        assert "wrong shape" in text
        assert handle._impl.removed is False
    check_alive(page, capfd)


@pytest.mark.parametrize(
    "message",
    [
        "a text",
        b"",
        b"\xff" * 40,
        msgspec.msgpack.encode([1, 2]),
        msgspec.msgpack.encode({"type": "Nothing"}),
        msgspec.msgpack.encode({"type": "ShareUrlRequest"}),  # this would publish the page
        msgspec.msgpack.encode({"type": "GuiUpdateMessage", "uuid": "a"}),
        msgspec.msgpack.encode({"type": "GuiUpdateMessage", "uuid": 3, "updates": {"value": 1}}),
        msgspec.msgpack.encode({**CAMERA, "position": [1, 2]}),
        msgspec.msgpack.encode({**CAMERA, "position": [1, 2, NAN]}),
        msgspec.msgpack.encode({**CAMERA, "more": 1}),
        msgspec.msgpack.encode({**CAMERA, "fov": 1e300}),
        b"\x91" * 100_000,
        b"\x81\xa4type" + b"\x91" * 100_000,
    ],
    ids=lambda message: repr(message[:30]),
)
def test_a_malformed_message_is_refused_and_nothing_stops(page, browser, capfd, message):
    (text,) = sent(page, browser, lambda: browser.raw(message))
    assert "wrong shape" in text
    check_alive(page, capfd)


def test_a_handle_only_moves_to_rigid_poses_near_the_arm(page, browser, capfd):
    name = page.controls.tip.handle.name

    def move(name, wxyz=(1, 0, 0, 0), position=(0, 0, -0.1), **more):
        message = {"type": "TransformControlsUpdateMessage", "name": name, "wxyz": wxyz, "position": position}
        return sent(page, browser, lambda: browser.send(message | more))

    was = np.array(page.controls.tip.handle.position)
    assert "wrong shape" in move(name, position=(NAN, 0, 0))[0]
    assert "wrong shape" in move(name, position=(1e12, 0, 0))[0]
    assert "wrong shape" in move(name, wxyz=(1, 0, 0))[0]
    assert "unit quaternion" in move(name, wxyz=(0, 0, 0, 0))[0]
    assert "no such handle" in move("/lights/key")[0]
    assert "no such handle" in move("")[0]
    assert "no such handle" in move(name, owner="3")[0]
    np.testing.assert_array_equal(page.controls.tip.handle.position, was)
    check_alive(page, capfd)


def test_a_browser_that_has_not_sent_its_camera_changes_nothing(page):
    blind = RawBrowser(page.server, looks=False)
    was = page.transport.speed.value
    blind.set(page.transport.speed, 0.7)
    blind.settled()
    assert page.transport.speed.value == was
    blind.close()


def test_an_oversized_message_closes_the_connection(page, capfd):
    big = RawBrowser(page.server)
    big.raw(b"\x00" * (MAX_MESSAGE + 1))
    until(lambda: not page.server.get_clients(), "the connection to end")
    with pytest.raises(ConnectionClosedError, match="1009"):
        big.raw(b"")
    check_alive(page, capfd)


def test_a_flooding_browser_waits_and_others_do_not(page, browser):
    """At a rate of zero, a burst is read and the rest stays in the network."""
    flood = RawBrowser(page.server)
    page.server.rate = 1e-6
    try:
        before = page.server.inbox.accepted["ViewerCameraMessage"]
        for _ in range(2 * BURST):
            flood.send(CAMERA)
        until(lambda: page.server.inbox.accepted["ViewerCameraMessage"] - before >= BURST - 10, "the burst")
        browser.set(page.transport.speed, 0.9)
        until(lambda: page.frame().speed == 0.9, "the other browser")
        assert page.server.inbox.accepted["ViewerCameraMessage"] - before <= BURST
        browser.set(page.transport.speed, 1.0)
        until(lambda: page.frame().speed == 1.0, "the other browser")
    finally:
        page.server.rate = 1e6
        flood.socket.close()
    until(lambda: len(page.server.get_clients()) == 1, "the flood to end")


# -- uploads ---------------------------------------------------------------------------------------------------------


def start(page, transfer, size, parts, name="run.csv"):
    return {
        "type": "FileTransferStartUpload",
        "source_component_uuid": page.recordings.load_a._impl.uuid,
        "transfer_uuid": transfer,
        "filename": name,
        "mime_type": "text/csv",
        "part_count": parts,
        "size_bytes": size,
    }


def part(page, transfer, index, content):
    uuid = page.recordings.load_a._impl.uuid
    kind = "FileTransferPart"
    named = {"source_component_uuid": uuid, "transfer_uuid": transfer, "part_index": index}
    return {"type": kind, **named, "content": content}


def test_uploads_are_limited_to_their_announced_and_largest_size(page, browser, capfd):
    def send(message):
        return sent(page, browser, lambda: browser.send(message))

    held = page.server.gui._current_file_upload_states
    assert "larger than 64 MB" in send(start(page, "a", 600 << 20, 1200))[0]
    assert "parts" in send(start(page, "a", 1000, 0))[0]
    assert "parts" in send(start(page, "a", 1000, 10**6))[0]
    assert send(start(page, "b", 100_000, 2)) == []
    assert "is taken" in send(start(page, "b", 1000, 1))[0]
    assert "exceeds the announced size" in send(part(page, "b", 0, b"x" * 100_001))[0]
    assert send(part(page, "b", 0, b"x" * 50_000)) == []
    assert "came twice" in send(part(page, "b", 0, b"x" * 50_000))[0]
    assert "exceeds" in send(part(page, "b", 2, b"x"))[0]
    assert send(part(page, "unknown", 0, b"x")) == []  # no message, nothing kept
    assert list(held) == ["b"]
    # the sum of unfinished uploads of all browsers is limited too
    assert send(start(page, "c", MAX_UPLOAD, 128)) == []
    assert "not finished" in send(start(page, "d", MAX_UPLOAD, 128))[0]
    other = RawBrowser(page.server)
    assert "not finished" in sent(page, other, lambda: other.send(start(page, "e", MAX_UPLOAD, 128)))[0]
    browser.socket.close()
    until(lambda: not held, "the uploads to be forgotten")
    assert sent(page, other, lambda: other.send(start(page, "f", MAX_UPLOAD, 128))) == []
    other.close()
    until(lambda: not held, "the uploads to be forgotten")
    check_alive(page, capfd)


@pytest.mark.parametrize("name", ["run.bag", "..", "", "run.csv/", "\x00.csv", "/etc/passwd", "<b>.csv"])
def test_an_upload_of_any_name_is_a_recording_or_a_message(page, browser, capfd, name):
    before = len(texts(page))
    browser.send(start(page, name + "transfer", 5, 1, name))
    browser.send(part(page, name + "transfer", 0, b"junk\n"))
    until(lambda: len(texts(page)) > before, "the message")
    assert page.recordings.a is None
    check_alive(page, capfd)


def test_text_from_a_file_is_shown_as_plain_text():
    assert plain("<img src=x>") == r"\<img src\=x\>"
    assert plain("[a](http://b) **c**\n# d") == r"\[a\]\(http\:\/\/b\) \*\*c\*\* \# d"


# -- several at once -------------------------------------------------------------------------------------------------


def test_two_browsers_can_move_the_tip_and_change_the_mode(page, capfd):
    """Panel and robot end in the same mode."""
    first, second = RawBrowser(page.server), RawBrowser(page.server)
    pages = {"type": "TransformControlsUpdateMessage", "name": page.controls.tip.handle.name, "wxyz": [1, 0, 0, 0]}
    page.simulation.play()

    def tip():
        for k in range(60):
            first.send(pages | {"position": [0.001 * k, 0.0, -0.1]})

    def mode():
        for k in range(60):
            second.set(page.controls.mode, ("joint", "cartesian", "torque")[k % 3])

    hands = [threading.Thread(target=hand) for hand in (tip, mode)]
    for hand in hands:
        hand.start()
    for hand in hands:
        hand.join()
    for browser in (first, second):
        browser.settled()

    def agree():
        return (page.controls.mode.value == "torque") is (page.arm().q_ref is None)

    until(agree, "panel and robot to agree")
    for browser in (first, second):
        browser.close()
    until(lambda: not page.server.get_clients(), "the browsers to be gone")
    check_alive(page, capfd)
    page.controls.set_mode("joint")


def test_a_mode_that_the_robot_left_before_it_was_drawn_is_not_shown(monkeypatch):
    """A drag that was on its way ends the efforts; no frame shows that the arm ever followed them."""
    page = ViewedRobot()
    try:
        controls = page.controls
        page.simulation.play()
        with monkeypatch.context() as patch:
            patch.setattr(controls, "refresh", lambda selection: None)
            controls.set_mode("torque")
            until(lambda: page.arm().q_ref is None, "the arm to follow efforts")
            controls.move_joints(np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.4]))
            until(lambda: page.arm().q_ref is not None, "the arm to follow joints")
        until(lambda: controls.mode.value == "joint", "the mode of the robot")
    finally:
        page.close()


def test_a_dragged_tip_and_a_redrawn_panel_do_not_wait_for_each_other(page, browser, monkeypatch):
    """The page draws the target while a browser drags it: each needs what the other shows."""
    controls, inside, held = page.controls, threading.Event(), []
    move = controls.tip._move

    def redraw():
        with controls._lock:
            inside.set()
            controls.tip.show(np.eye(4))

    def dragged(T):
        held.append(threading.Thread(target=redraw, daemon=True))
        held[-1].start()
        inside.wait(0.5)  # in vain if drawing waits for the drag
        with contextlib.suppress(TrocarError):  # the arm may refuse the pose
            move(T)

    monkeypatch.setattr(controls.tip, "_move", dragged)
    hand = threading.Thread(target=controls.tip._on_drag, daemon=True)
    hand.start()
    until(lambda: not hand.is_alive(), "the end of the drag")
    until(lambda: not any(thread.is_alive() for thread in held), "the redrawn target")


def test_an_older_value_cannot_overtake_a_newer_one(page, browser, monkeypatch):
    """viser handles every message in another thread: a delayed one must not overwrite newer values."""
    page.simulation.pause()
    page.simulation.reset()
    page.controls.set_mode("joint")
    slider, go = page.controls.joints.handles["yaw"], threading.Event()
    place = page.controls._simulated.place
    calls, placed = [], []

    def held_up(q):
        calls.append(q)
        if len(calls) == 1:
            go.wait(60.0)
        place(q)
        placed.append(q)

    monkeypatch.setattr(page.controls._simulated, "place", held_up)
    browser.set(slider, 0.1)
    until(lambda: calls, "the first value")
    browser.set(slider, 0.2)
    until(lambda: slider.value == 0.2, "the second value")
    time.sleep(0.1)  # time enough to overtake
    go.set()
    until(lambda: len(placed) == 2, "both to be applied")
    assert page.arm().q[0] == pytest.approx(0.2)


def test_after_sixteen_browsers_the_robot_matches_the_page(page, capfd):
    page.simulation.pause()
    page.simulation.reset()
    page.controls.set_mode("joint")
    browsers = [RawBrowser(page.server) for _ in range(MAX_BROWSERS)]
    sliders = list(page.controls.joints.handles.values())

    def hand(k, browser):
        rng = np.random.default_rng(k)
        for _ in range(20):
            slider = sliders[rng.integers(len(sliders))]
            browser.set(slider, float(rng.uniform(slider.min, slider.max)))

    hands = [threading.Thread(target=hand, args=each) for each in enumerate(browsers)]
    for thread in hands:
        thread.start()
    for thread in hands:
        thread.join()
    for browser in browsers:
        browser.settled()

    def agree():
        return np.allclose(page.arm().q, [slider.value for slider in sliders], atol=2e-4)  # resolution of encoders

    until(agree, "the arm to be where the sliders are")
    for browser in browsers:
        browser.close()
    until(lambda: not page.server.get_clients(), "the browsers to be gone")
    check_alive(page, capfd)


def test_a_page_that_fails_to_draw_reports_it_once(page, capfd, monkeypatch):
    rounds = Counter()

    def broken(selection):
        rounds["drawn"] += 1
        raise RuntimeError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(page.page.panel(TransportPanel), "refresh", broken)
        until(lambda: rounds["drawn"] > 3, "some rounds")
    error = capfd.readouterr().err
    assert error.count("Traceback") == 1
    assert sum("the page failed to draw: RuntimeError('a bug')" in text for text in texts(page)) == 1
    check_alive(page, capfd)


def test_many_changes_that_rebuild_the_scene_end_with_the_last_of_each_option(page, browser, monkeypatch):
    rebuilt, change = [], page.mechanism._apply

    def counted(*arguments):
        rebuilt.append(arguments)
        change(*arguments)

    monkeypatch.setattr(page.mechanism, "_apply", counted)
    entry, friction = page.mechanism.gravity, page.mechanism.controls["friction"]
    with page.robot.bus.lock:  # no change can be made meanwhile
        for k in range(40):
            browser.enter(entry, 0.0, 0.0, -1.0 - 0.1 * k)
            browser.set(friction, bool(k % 2))
        browser.settled()
        until(lambda: tuple(entry.values) == (0.0, 0.0, -4.9) and friction.value is True, "the last values")
    until(lambda: not page.mechanism.changing, "the changes")
    assert 2 <= len(rebuilt) <= 6
    about = page.frame().scene.arms["PSM"]
    np.testing.assert_allclose(about.world_gravity, [0.0, 0.0, -4.9])
    assert about.friction is True
