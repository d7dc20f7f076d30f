"""A console with input devices as masters, which move PSMs and, with a camera button, the ECM; recordings of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trocar.errors import TrocarError, check_known
from trocar.recording import Recording
from trocar.robot import Robot
from trocar.robot import messages as m
from trocar.robot.interface import MTM, Interface
from trocar.spatial import Array, pose, quaternion, rotation
from trocar.teleoperation.channel import Channel
from trocar.teleoperation.component import CameraSample, PairSample
from trocar.teleoperation.coupling import PASSIVITIES, SCHEMES, PositionForce
from trocar.teleoperation.devices.device import Hand, HandState, InputDevice
from trocar.teleoperation.ecm_teleoperation import BOX
from trocar.teleoperation.live_coupling import LiveCoupling
from trocar.teleoperation.settings import PERIOD, ECMSettings, PSMSettings
from trocar.teleoperation.wiring import CAMERA, Teleoperation

PEDALS = frozenset({"clutch", "camera"})
SCALES = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0)  # selected with the buttons
REFLECTED = 10  # steps between two contact wrenches that devices feel
MAX_MESSAGES = 50  # number of messages kept
WORDS = {"DISABLED": "off", "ALIGNING_MTM": "holds; {begin} to follow"}  # by state; otherwise it holds
SIDES = {"PSM1": "right hand", "PSM2": "left hand"}
# Words of the dVRK for a master with motors and a gripper, and those for a device; {begin}: how it begins.
DEVICE_WORDS = {"pinch/twist MTM gripper a bit": "{begin}", "the MTM is aligned again": "you {begin}"}
MASTERS = {"PSM1": "MTMR", "PSM2": "MTML"}  # the right hand drives PSM1
FRAME = "HRSV"  # the display: X to the left, Y up, Z away
STATES = ("measured_cp", "setpoint_cp", "measured_cv", "gripper/measured_js")
SLAVE = ("measured_js", "setpoint_js", "jaw/measured_js", "jaw/setpoint_js", "measured_cp", "setpoint_cp")
MIDDLE = np.array([0.0, 0.0, 0.4])  # first midpoint of the virtual grips in front of the eyes [m]
HALF = 0.1  # half of the distance between them [m]
MARGIN = np.array([HALF, 0.05, 0.05])  # between their midpoint and the limits of camera control [m]

MAX_DURATION = 3600.0  # of a recording [s]; later rows are dropped
UNITS = {"hand_position": "m", "received_position": "m", "gripper": "rad", "contact_force": "N"}


class ConsoleMessage(NamedTuple):
    """A message of a component: time since the console was created [s], kind (error, warning, status), text."""

    time: float
    kind: str
    text: str


class DeviceConsole:
    """Devices that drive the PSMs of a robot by `Teleoperation`, at 1 kHz of the robot's clock.

    A device has no motors that could align it with the PSM, so the pair keeps the rotation between them (`align_MTM`
    off). As on the dVRK, following starts with a pinch of the gripper or a turn of the hand, also after camera control
    and after a fault. The topics of a hand are those of a dVRK's master: `measured_cp`, `measured_cv` and the gripper
    of the hand, and as `setpoint_cp` the pose that has reached the robot, after the delay.

    Args:
        robot: robot with the PSMs. devices: by name of the PSM, such as {"PSM1": Gamepad()}.
        scale: PSM translation per hand translation, at most 1; one number, or one by PSM.
        delay: one-way delay of the network [s].
        scheme, passivity: bilateral control, keys of `coupling.SCHEMES` and `PASSIVITIES`. Default: devices feel the
            contact wrench, and nothing limits the energy of the delayed loop.

    Attributes:
        teleoperation: pairs, camera control and console that the devices drive. pairs: by PSM. console: its state.
        couplings: bilateral control of every PSM that has it. coupling: its scheme, None for none, and passivity.
        hands: by PSM. grips: hands as they have reached the robot, by PSM.
        masters: name of each hand's topics, by PSM: MTMR for PSM1, MTML for PSM2, else such as hand_PSM3.
        delay: one-way delay [s]. messages: the latest ones, oldest first. wrenches: (6,) displayed, by PSM.
        pressed: buttons held on a page, in addition to those of the devices.
    """

    def __init__(
        self,
        robot: Robot,
        devices: Mapping[str, InputDevice],
        *,
        scale: float | Mapping[str, float] = 0.2,
        delay: float = 0.0,
        scheme: str | None = None,
        passivity: str = "none",
    ) -> None:
        if not devices:
            raise TrocarError("a console needs at least one device")
        check_known("PSM of the robot", [name for name, kind in robot.devices.items() if kind == "PSM"], *devices)
        self._robot, self._bus, self.delay = robot, robot.bus, delay
        self._forth, self._back = ({psm: Channel(delay) for psm in devices} for _ in range(2))
        scales = {psm: scale[psm] if isinstance(scale, Mapping) else scale for psm in devices}
        self.hands = {psm: Hand(device) for psm, device in devices.items()}
        self.coupling, self.couplings = (scheme, passivity), self._couplings(scheme, passivity)
        self.grips = {psm: HandState() for psm in devices}
        free = {psm: master for psm, master in MASTERS.items() if master not in robot.devices}
        self.masters = {psm: free.get(psm, f"hand_{psm}") for psm in devices}
        self.messages: deque[ConsoleMessage] = deque(maxlen=MAX_MESSAGES)
        self.pressed: set[str] = set()
        self.wrenches = {psm: np.zeros(6) for psm in devices}
        self._held: dict[str, frozenset[str]] = {}  # pedals under "", and other buttons by PSM
        self._middle, self._roll = MIDDLE, 0.0  # of the virtual grips
        self._start = self._last = robot.time
        self._dt, self._count = 0.0, 0
        sources: dict[str, Any] = {master: partial(self._pair_sample, psm) for psm, master in self.masters.items()}
        sources[CAMERA] = self._camera_sample
        # a hand has no motors; a pinch of the gripper signals an active operator
        each_own = [PSMSettings(scale=each, align_MTM=False, MTM_is_haptic=False) for each in scales.values()]
        settings = each_own[0], ECMSettings(MTM_is_haptic=False)
        pairs = {psm: f"{master}_{psm}" for psm, master in self.masters.items()}
        with self._bus.lock:
            for psm, master in self.masters.items():
                self._add_topics(psm, master)
            robot.every(PERIOD, self.step)  # before the step of teleoperation
            self.teleoperation = Teleoperation(robot, *settings, pairs=list(pairs.values()), sources=sources)
            self.console = self.teleoperation.console
            self.pairs = {psm: self.teleoperation.pairs[pair] for psm, pair in pairs.items()}
            for psm, each in scales.items():
                self.set_scale(each, psm)
            self._bus.subscribe("system/warning", partial(self._note, "warning"))  # such as a refused scale
            for psm, component in (*pairs.items(), *((("", CAMERA),) if self.teleoperation.camera else ())):
                for kind in ("error", "warning", "status"):
                    self._bus.subscribe(f"{component}/{kind}", partial(self._note, kind, psm=psm))
            self.messages.clear()  # of earlier ones

    def couple(self, scheme: str | None, passivity: str = "none") -> None:
        """Choose the bilateral control of all hands, as in the constructor; the PSMs hold until the devices begin."""
        couplings = self._couplings(scheme, passivity)
        with self._bus.lock:
            self.coupling, self.couplings = (scheme, passivity), couplings
            for hand in self.hands.values():
                hand.use(hand.device, "displays another force")

    def _couplings(self, scheme: str | None, passivity: str) -> dict[str, LiveCoupling]:
        """New bilateral control of every hand, if there is to be any; by PSM."""
        check_known("passivity control", PASSIVITIES, passivity)
        if scheme is None and passivity == "none":
            return {}
        check_known("scheme", SCHEMES, scheme or PositionForce.name)
        law = SCHEMES[scheme or PositionForce.name]
        options: Any = {"delay": self.delay, "dt": PERIOD}
        return {psm: LiveCoupling(law(), PASSIVITIES[passivity](), **options) for psm in self.hands}

    def use(self, psm: str, device: InputDevice) -> None:
        """Let another device drive a PSM, which holds until that device begins."""
        with self._bus.lock:
            self.hands[psm].use(device)

    def _add_topics(self, psm: str, master: str) -> None:
        robot, hand = self._robot, self.hands[psm]

        def gripper() -> m.JointState:
            return m.JointState(stamp=robot.now, name=("gripper",), position=np.array([hand.grip.gripper]))

        sources = {
            "measured_cp": lambda: m.Pose(stamp=robot.now, frame_id=FRAME, T=hand.grip.pose),
            "setpoint_cp": lambda: m.Pose(stamp=robot.now, frame_id=FRAME, T=self.grips[psm].pose),
            "measured_cv": lambda: m.Twist(stamp=robot.now, frame_id=FRAME, vector=hand.grip.twist),
            "gripper/measured_js": gripper,
        }
        robot.bus.add(master, Interface(tuple(MTM.topic(topic) for topic in STATES)), states=sources)

    def _note(self, kind: str, message: Any, psm: str = "") -> None:
        """Keep a message in the words of a device; of a PSM's pair, or of the camera or the system."""
        text = message.value
        if psm:
            text = text.replace(f"{self.masters[psm]}_{psm}: ", f"{psm}: ")
            for dvrk, words in DEVICE_WORDS.items():
                text = text.replace(dvrk, words.format(begin=self.hands[psm].device.begin))
        self.messages.append(ConsoleMessage(self._robot.time - self._start, kind, text))

    def start(self) -> None:
        """Switch teleoperation on, with an operator present."""
        self.poll()
        with self._bus.lock:
            for psm, channel in self._forth.items():
                channel.reset()  # sent before the first reading: a device that has sent nothing yet
                self.grips[psm] = HandState()
            self._robot.console().teleop_start()
            self._press("operator_present", True)

    def close(self) -> None:
        """Switch all pairs off and release the devices."""
        self.teleoperation.close()
        for hand in self.hands.values():
            hand.device.close()

    def poll(self) -> None:
        """Read every device and display its wrench. Call it about 200 times a second, always in the same thread."""
        for psm, hand in self.hands.items():
            hand.poll(self._robot.time)
            hand.device.feel(self.wrenches[psm])

    @property
    def scales(self) -> dict[str, float]:
        """Motion of every PSM per motion of its hand."""
        return {psm: pair.state.scale for psm, pair in self.pairs.items()}

    def set_scale(self, scale: float, psm: str) -> None:
        """Change the scale of a pair, 0 < scale <= 1; the PSM does not jump."""
        self._robot.teleop_psm(f"{self.masters[psm]}_{psm}").set_scale(scale)

    def states(self) -> dict[str, dict[str, str]]:
        """The hand of every PSM, its state, scale, contact force and delay in words, by PSM."""
        states = {}
        for psm, pair in self.pairs.items():
            state, device, force = pair.state, self.hands[psm].device, float(np.linalg.norm(self.wrenches[psm][:3]))
            holding = "clutched" if state.clutched else WORDS.get(state.current, "holds")
            camera = "holds; the hand moves the endoscope" if self.console.camera else ""
            states[psm] = {
                "hand": f"{SIDES[psm]}, {device.name}" if psm in SIDES else device.name,
                "state": "following" if state.following else camera or holding.format(begin=device.begin),
                "scale": f"{state.scale:g}",
                "contact": f"{force:.1f} N",
                "delay": f"{1e3 * self.delay:.0f} ms each way",
            }
        return states

    def summary(self) -> dict[str, str]:
        """State, scale and contact force of every PSM in one line, by PSM."""
        states = self.states().items()
        return {psm: f"{x['state']}, scale {x['scale']}, contact {x['contact']}" for psm, x in states}

    # -- cycle ---------------------------------------------------------------------------------------------------------

    def step(self, t: float) -> None:
        """One cycle of the hands, buttons and contact forces at time t [s] by the robot's clock."""
        self._dt, self._last = max(t - self._last, 0.0), t
        for psm, hand in self.hands.items():
            self._forth[psm].send(t, hand.step(t, self._dt) if self._dt > 0.0 else hand.grip)
            self.grips[psm] = self._forth[psm].receive(t) or self.grips[psm]
            if psm in self.couplings and self._dt > 0.0:
                self._couple(psm, t)
        self._change_buttons()
        self._count += 1
        if self._count % REFLECTED == 0:
            for psm, channel in self._back.items():
                if psm in self.couplings:
                    continue
                channel.send(t, self._contact(psm) if self.pairs[psm].state.following else np.zeros(6))
                wrench = channel.receive(t)
                self.wrenches[psm] = np.zeros(6) if wrench is None else wrench

    def _couple(self, psm: str, t: float) -> None:
        """Bilateral control: the force that the hand feels, and the hand's position that the PSM follows."""
        state, hand, grip = self.pairs[psm].state, self.hands[psm].grip, self.grips[psm]
        tip: Any = self._bus.read(f"{psm}/measured_cp")
        velocity: Any = self._bus.read(f"{psm}/measured_cv")
        force, position = self.couplings[psm].step(
            t,
            (hand.pose[:3, 3], hand.twist[:3]),
            grip.pose[:3, 3],
            (tip.T[:3, 3], velocity.vector[:3]),
            self._contact(psm)[:3],
            state.scale,
            state.following,
        )
        self.wrenches[psm] = np.concatenate([force, np.zeros(3)])
        self.grips[psm] = replace(grip, pose=pose(grip.pose[:3, :3], position))

    def _change_buttons(self) -> None:
        """Handle buttons that were pressed or released: pedals of any hand, and each hand's own for its scale."""
        buttons = {psm: grip.buttons for psm, grip in self.grips.items()}
        pedals = frozenset(self.pressed).union(*buttons.values()) & PEDALS
        held = {"": pedals} | {psm: its - PEDALS for psm, its in buttons.items()}
        before = self._held.get("", frozenset())
        for button in sorted(pedals - before) + sorted(before - pedals):
            if button == "camera":
                self._middle, self._roll = MIDDLE, 0.0
            self._press(button, button in pedals)
        for psm in buttons:
            for button in sorted(held[psm] - self._held.get(psm, frozenset())):
                scale, step = self.scales[psm], 1 if button == "faster" else -1
                others = [s for s in SCALES if (s - scale) * step > 1e-9]
                if others:
                    self.set_scale(min(others, key=lambda s: abs(s - scale)), psm)
        self._held = held

    def _press(self, pedal: str, down: bool) -> None:
        self._bus.publish(f"console/emulate_{pedal}", m.Joy(buttons=(int(down),)))

    def _pair_sample(self, psm: str, sample: PairSample) -> PairSample:
        """The sample of a pair with a hand as its master."""
        hand = self.grips[psm]
        T, twist = hand.pose, hand.twist
        return replace(sample, master=T, master_setpoint=T, twist=twist, gripper=hand.gripper, fault=hand.fault)

    def _camera_sample(self, sample: CameraSample) -> CameraSample:
        """Both grips of a virtual pair of masters that the hand with the camera button carries.

        They are around a midpoint that the hand moves; a turn about the line of sight rolls the picture.
        """
        hands = list(self.grips.values())
        hand = next((hand for hand in hands if "camera" in hand.buttons), hands[0])
        self._middle = np.clip(self._middle + self._dt * hand.twist[:3], BOX[0] + MARGIN, BOX[1] - MARGIN)
        self._roll += self._dt * float(hand.twist[5])
        half = rotation("z", self._roll) @ [HALF, 0.0, 0.0]  # x is to the left
        return replace(sample, left=pose(p=self._middle + half), right=pose(p=self._middle - half), fault=hand.fault)

    def _contact(self, psm: str) -> Array:
        """True wrench (6,) of the objects on the instrument, in the axes of the camera."""
        wrench = self._robot.contact_wrench(psm)
        R = self._robot.readings(psm).T_reference_base[:3, :3]
        return np.concatenate([R @ wrench[:3], R @ wrench[3:]])


def pair_topics(robot: Robot, pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Measured and set-point topics of pairs (master, PSM), and those of the endoscope that they are seen with."""
    names = [f"{master}/{topic}" for master, _ in pairs for topic in STATES]
    names += [f"{psm}/{topic}" for _, psm in pairs for topic in SLAVE]
    names += [f"ECM/{topic}" for topic in SLAVE if not topic.startswith("jaw/")]
    return [name for name in names if name in robot.bus.topics]


class MotionLog:
    """Notes the topics of every pair 100 times a second of the robot's clock, for at most an hour.

    A recording has the PSM's joints as measured, its set-points as commands, and the hand: `hand_position` and
    `hand_quaternion` (wxyz) in the display, `received_position` and `received_quaternion` as they reach the robot,
    `gripper`, `following`, `clutched`, `scale` and `contact_force`, which the hand feels.
    """

    def __init__(self, robot: Robot, console: DeviceConsole) -> None:
        self._robot, self._console = robot, console
        self._start = robot.now
        self._rows: dict[str, list[dict[str, Any]]] = {psm: [] for psm in console.pairs}
        self._measured: dict[str, Any] = {}  # latest measured_js, by PSM
        for psm in console.pairs:  # every subscriber gets the same samples, with the same noise
            robot.bus.subscribe(f"{psm}/measured_js", partial(self._measured.__setitem__, psm))
            robot.bus.subscribe(f"{psm}/jaw/measured_js", partial(self._note, psm))  # published after measured_js

    def _note(self, psm: str, jaw: m.Message) -> None:
        arm, rows = self._measured[psm], self._rows[psm]
        new = arm.valid and jaw.valid and (not rows or arm.stamp > rows[-1]["stamp"])
        if not new or arm.stamp - self._start > MAX_DURATION * 1e9:
            return
        console, read = self._console, self._robot.bus.read
        state = console.pairs[psm].state
        tip: Any = read(f"{psm}/local/setpoint_cp")
        row = {"stamp": arm.stamp, "tip_goal": tip.T[:3, 3].copy()}
        row |= {name: _joined(name, arm, jaw) for name in ("position", "velocity", "effort")}
        row["goal"] = _joined("position", *(read(f"{psm}/{topic}") for topic in ("setpoint_js", "jaw/setpoint_js")))
        for name, topic in (("hand", "measured_cp"), ("received", "setpoint_cp")):
            pose: Any = read(f"{console.masters[psm]}/{topic}")
            row |= {f"{name}_position": pose.T[:3, 3].copy(), f"{name}_quaternion": quaternion(pose.T[:3, :3])}
        row |= {"gripper": console.hands[psm].grip.gripper, "following": float(state.following), "scale": state.scale}
        row["clutched"] = float(state.clutched)
        row["contact_force"] = console.wrenches[psm][:3].copy()
        rows.append(row)

    def recordings(self) -> dict[str, Recording]:
        """Recording of every PSM that was driven; `trocar view` plays it."""
        with self._robot.bus.lock:
            noted = {psm: list(rows) for psm, rows in self._rows.items() if len(rows) > 1}
        return {psm: self._recording(psm, rows) for psm, rows in noted.items()}

    def _recording(self, psm: str, rows: list[dict[str, Any]]) -> Recording:
        columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        stamp, arm = columns.pop("stamp"), self._robot.readings(psm).arm
        return Recording(
            t=1e-9 * (stamp - stamp[0]),
            q=columns.pop("position"),
            dq=columns.pop("velocity"),
            tau=columns.pop("effort"),
            joints=arm.joint_names,
            joint_units=arm.joint_units,
            commands={"q": columns.pop("goal"), "tip_position": columns.pop("tip_goal")},
            extra=columns,
            extra_units=UNITS,
            provenance={"arm": arm.name, "teleoperation": self._console.hands[psm].device.name},
        )

    def save(self, folder: Path) -> list[Path]:
        """Write DIR/PSM1.npz and the like."""
        return [recording.save(folder / f"{psm}.npz") for psm, recording in self.recordings().items()]

    def save_as(self, path: Path) -> list[Path]:
        """Write the recording of one PSM to FILE.npz, those of several to FILE-PSM1.npz and the like."""
        return [recording.save(named(path, psm, len(self._rows))) for psm, recording in self.recordings().items()]


def named(path: Path, psm: str, pairs: int) -> Path:
    """The file of one PSM among the files of a number of pairs."""
    return path if pairs == 1 else path.with_stem(f"{path.stem}-{psm}")


def _joined(name: str, *messages: Any) -> Array:
    """A field (n,) of the joint states of an arm and its jaw."""
    return np.concatenate([getattr(message, name) for message in messages])
