// The page of a phone or headset: it sends the poses of the hands, and shows what the robot does.

import { RelativeHand, fromDevice, heading } from "./poses.js";
import { startSession } from "./headset.js";

const STRONGEST = 4; // force of the strongest vibration [N]
const METRES_PER_PIXEL = 0.0005; // of a finger on the pad
const MOST_UNSENT = 20000; // bytes; a slow network gets no more poses until it has taken these

const element = (id) => document.getElementById(id);
const parameters = new URLSearchParams(location.search);
const device = parameters.get("device") ?? "";
const mode = device.startsWith("vr") ? "immersive-vr" : "immersive-ar";
const hands = { right: new RelativeHand(), left: new RelativeHand() };
const held = new Set(); // buttons under a finger
let socket = null, session = null, running = false, clutched = false, anchored = false, orientation = null;
const touched = [0, 0, 0];

function problem(text) {
  element("problem").textContent = text;
}

// -- messages ---------------------------------------------------------------------------------------------------------

function connect() {
  const address = new URL("poses", location.href);
  address.protocol = "wss:";
  address.search = location.search; // with the token
  socket = new WebSocket(address);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => problem("");
  socket.onmessage = ({ data }) => (typeof data === "string" ? hear(JSON.parse(data)) : showPicture(data));
  socket.onclose = ({ reason }) => stop(`Not connected${reason ? `: ${reason}` : ""}. Press Start to connect again.`);
}

function send(found) {
  if (socket?.readyState === WebSocket.OPEN && socket.bufferedAmount < MOST_UNSENT) socket.send(JSON.stringify(found));
}

function hear({ force, status }) {
  element("status").textContent = status.join("\n");
  for (const [side, newtons] of Object.entries(force)) {
    const strength = Math.min(1, newtons / STRONGEST);
    if (strength < 0.02) continue;
    if (mode === "immersive-vr") session?.pulse(side, strength);
    else navigator.vibrate?.(Math.max(15, Math.round(50 * strength)));
  }
}

async function showPicture(data) {
  const eye = new Uint8Array(data, 0, 1)[0];
  const blob = new Blob([new Uint8Array(data, 1)], { type: "image/jpeg" });
  if (session?.screen) {
    session.screen.show(eye, await createImageBitmap(blob));
  } else if (eye === 0) {
    const shown = element("picture");
    URL.revokeObjectURL(shown.src);
    shown.src = URL.createObjectURL(blob);
    shown.hidden = false;
  }
}

// -- poses ------------------------------------------------------------------------------------------------------------

// Ahead is where the user looks at the start and whenever the clutch goes down.
function anchorAt(head, buttons) {
  const down = buttons.includes("clutch");
  if (head && (!anchored || (down && !clutched))) {
    const yaw = heading(head.q);
    for (const hand of Object.values(hands)) hand.anchor(yaw);
    session?.screen?.place(head.p, yaw);
    anchored = true;
  }
  clutched = down;
}

function fingerControls() {
  return { closed: held.has("gripper") ? 1 : 0, buttons: [...held].filter((name) => name !== "gripper") };
}

function sendControllers(head, found) {
  const pressed = Object.values(found).flatMap((hand) => hand?.buttons ?? []);
  for (const [side, hand] of Object.entries(found)) if (hand) hands[side].seen ??= hand.p;
  anchorAt(head, pressed);
  const message = {};
  for (const [side, hand] of Object.entries(found)) {
    message[side] = hand && { ...hands[side].moved(hand.p, hand.q), closed: hand.closed, buttons: hand.buttons };
  }
  send(message);
}

// A phone is one hand; the server knows which.
function sendPhone(pose) {
  const controls = fingerControls();
  if (pose) hands.right.seen ??= pose.p;
  anchorAt(pose, controls.buttons);
  const found = pose && { ...hands.right.moved(pose.p, pose.q), ...controls };
  send({ right: found, left: found });
}

// A finger moves the hand in the axes of the display, wherever the phone points; the phone turns it.
function sendTouch() {
  if (!running) return;
  const q = orientation ?? [0, 0, 0, 1], controls = fingerControls();
  anchorAt({ p: [0, 0, 0], q }, controls.buttons);
  const found = { ...hands.right.moved([0, 0, 0], q), p: [...touched], ...controls };
  send({ right: found, left: found });
  requestAnimationFrame(sendTouch);
}

// -- start and stop ---------------------------------------------------------------------------------------------------

async function start() {
  problem("");
  anchored = false;
  running = true;
  element("start").disabled = true;
  try {
    if (element("start").dataset.mode === "touch") {
      await startTouch();
    } else {
      const onFrame = mode === "immersive-vr" ? sendControllers : (head) => sendPhone(head);
      session = await startSession(mode, element("overlay"), onFrame, () => stop("The session has ended."));
    }
  } catch (error) {
    stop(`${error.name}: ${error.message}`);
    return;
  }
  connect();
  if (element("start").dataset.mode === "touch") requestAnimationFrame(sendTouch);
}

function stop(text) {
  if (!running) return; // the end of one thing ends the others too
  running = false;
  problem(text);
  const ended = session;
  session = null;
  ended?.end().catch(() => {});
  if (socket) socket.onclose = null;
  socket?.close();
  socket = null;
  element("start").disabled = false;
}

async function startTouch() {
  element("touch").hidden = false;
  await globalThis.DeviceOrientationEvent?.requestPermission?.(); // asked for on iPhones
  addEventListener("deviceorientation", ({ alpha, beta, gamma }) => {
    if (alpha === null) return; // a computer without the sensor
    if (orientation === null) anchored = false;
    orientation = fromDevice(alpha, beta, gamma, screen.orientation?.angle ?? 0);
  });
}

function drag(pad, move) {
  let last = null;
  pad.addEventListener("pointerdown", (event) => {
    pad.setPointerCapture(event.pointerId);
    last = event;
  });
  pad.addEventListener("pointermove", (event) => {
    if (!last) return;
    move(METRES_PER_PIXEL * (event.clientX - last.clientX), METRES_PER_PIXEL * (event.clientY - last.clientY));
    last = event;
  });
  pad.addEventListener("lostpointercapture", () => (last = null));
}

for (const button of document.querySelectorAll("[data-held]")) {
  const name = button.dataset.held;
  const press = (down) => {
    held[down ? "add" : "delete"](name);
    button.classList.toggle("held", down);
  };
  button.addEventListener("pointerdown", (event) => {
    button.setPointerCapture(event.pointerId);
    press(true);
  });
  button.addEventListener("lostpointercapture", () => press(false));
  button.addEventListener("contextmenu", (event) => event.preventDefault());
}
drag(element("pad"), (dx, dy) => {
  touched[0] += dx;
  touched[1] -= dy;
});
drag(element("depth"), (_dx, dy) => (touched[2] += dy));
element("start").addEventListener("click", start);
if (mode === "immersive-vr") for (const button of document.querySelectorAll("[data-held]")) button.hidden = true;

const supported = await (navigator.xr?.isSessionSupported(mode).catch(() => false) ?? false);
element("start").dataset.mode = supported ? mode : "touch";
element("start").textContent = supported ? "Start" : "Start (no WebXR: drag, and turn the phone)";
element("start").disabled = false;
element("status").textContent = "Press Start. Then close the gripper and open it, and the instrument follows.";
