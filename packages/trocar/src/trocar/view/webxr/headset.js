// A WebXR session: poses of the hands in every frame, and the endoscope's picture before the eyes.

const VERTEX = `
  attribute vec2 corner; uniform mat4 projection, view; uniform vec3 centre, across; uniform float high;
  varying vec2 at;
  void main() {
    at = vec2(0.5 + corner.x, 0.5 - corner.y);
    vec3 point = centre + corner.x * across + vec3(0.0, corner.y * high, 0.0);
    gl_Position = projection * view * vec4(point, 1.0);
  }`;
const FRAGMENT = `
  precision mediump float; uniform sampler2D picture; varying vec2 at;
  void main() { gl_FragColor = texture2D(picture, at); }`;
const DISTANCE = 1.2, WIDTH = 1.2; // of the picture [m]

// A screen in space that shows one picture to each eye.
export class Screen {
  constructor(gl) {
    this.gl = gl;
    this.program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(this.program, shader);
    }
    gl.linkProgram(this.program);
    this.corners = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.corners);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-0.5, -0.5, 0.5, -0.5, -0.5, 0.5, 0.5, 0.5]), gl.STATIC_DRAW);
    this.textures = [null, null];
    this.high = WIDTH * 0.75;
    this.place([0, 0, 0], 0);
  }

  // Put the screen before a head at p that looks along a heading.
  place(p, yaw) {
    const [s, c] = [Math.sin(yaw), Math.cos(yaw)];
    this.centre = [p[0] - DISTANCE * s, p[1], p[2] - DISTANCE * c];
    this.across = [WIDTH * c, 0, -WIDTH * s];
  }

  show(eye, image) {
    const gl = this.gl;
    this.textures[eye] ??= gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.textures[eye]);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB, gl.RGB, gl.UNSIGNED_BYTE, image);
    for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    this.high = (WIDTH * image.height) / image.width;
  }

  draw(projection, view, eye) {
    const gl = this.gl, texture = this.textures[eye] ?? this.textures[0];
    if (!texture) return;
    const at = (name) => gl.getUniformLocation(this.program, name);
    gl.useProgram(this.program);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.corners);
    const corner = gl.getAttribLocation(this.program, "corner");
    gl.enableVertexAttribArray(corner);
    gl.vertexAttribPointer(corner, 2, gl.FLOAT, false, 0, 0);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.uniformMatrix4fv(at("projection"), false, projection);
    gl.uniformMatrix4fv(at("view"), false, view);
    gl.uniform3fv(at("centre"), this.centre);
    gl.uniform3fv(at("across"), this.across);
    gl.uniform1f(at("high"), this.high);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }
}

const three = ({ x, y, z }) => [x, y, z];
const four = ({ x, y, z, w }) => [x, y, z, w];

// Position and orientation of a pose, or null if it is not tracked (or only guessed).
function tracked(pose) {
  return !pose || pose.emulatedPosition ? null : { p: three(pose.transform.position), q: four(pose.transform.orientation) };
}

// Trigger, grip and thumbstick of a controller with the layout "xr-standard".
function controls(gamepad) {
  const value = (k) => gamepad?.buttons[k]?.value ?? 0;
  const stick = gamepad?.axes[3] ?? 0;
  const held = [];
  if (value(1) > 0.5) held.push("clutch");
  if (value(4) > 0.5) held.push("camera");
  if (stick > 0.7) held.push("slower");
  if (stick < -0.7) held.push("faster");
  return { closed: Math.min(1, Math.max(0, value(0))), buttons: held };
}

// Start a session; onFrame(head, hands) gets {p, q} or null of the head, and {p, q, closed, buttons} or null by side.
export async function startSession(mode, overlay, onFrame, onEnd) {
  const optionalFeatures = mode === "immersive-ar" ? ["dom-overlay"] : [];
  const options = mode === "immersive-ar" ? { optionalFeatures, domOverlay: { root: overlay } } : {};
  const session = await navigator.xr.requestSession(mode, options);
  session.addEventListener("end", onEnd);
  const gl = document.createElement("canvas").getContext("webgl", { xrCompatible: true });
  await session.updateRenderState({ baseLayer: new XRWebGLLayer(session, gl) });
  const space = await session.requestReferenceSpace("local");
  const screen = mode === "immersive-vr" ? new Screen(gl) : null;

  function frame(_time, xr) {
    session.requestAnimationFrame(frame);
    const viewer = xr.getViewerPose(space);
    const hands = {};
    for (const source of session.inputSources) {
      if (source.handedness !== "right" && source.handedness !== "left") continue;
      const pose = tracked(xr.getPose(source.gripSpace ?? source.targetRaySpace, space));
      hands[source.handedness] = pose && { ...pose, ...controls(source.gamepad) };
    }
    onFrame(tracked(viewer), hands);
    const layer = session.renderState.baseLayer;
    gl.bindFramebuffer(gl.FRAMEBUFFER, layer.framebuffer);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    for (const view of (screen && viewer?.views) || []) {
      const { x, y, width, height } = layer.getViewport(view);
      gl.viewport(x, y, width, height);
      screen.draw(view.projectionMatrix, view.transform.inverse.matrix, view.eye === "right" ? 1 : 0);
    }
  }
  session.requestAnimationFrame(frame);

  const sources = () => Array.from(session.inputSources);
  function pulse(side, strength) {
    const gamepad = sources().find((source) => source.handedness === side)?.gamepad;
    gamepad?.hapticActuators?.[0]?.pulse(strength, 100);
  }
  return { screen, pulse, end: () => session.end() };
}
