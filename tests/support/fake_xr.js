// A WebXR device without hardware: window.fake holds the poses that it reports, and gets what the page does with it.
window.fake = {
  supported: true,
  head: { p: [0, 1.6, 0], q: [0, 0, 0, 1] },
  right: { p: [0.2, 1.2, -0.3], q: [0, 0, 0, 1], buttons: [0, 0, 0, 0, 0, 0], axes: [0, 0, 0, 0] },
  left: { p: [-0.2, 1.2, -0.3], q: [0, 0, 0, 1], buttons: [0, 0, 0, 0, 0, 0], axes: [0, 0, 0, 0] },
  guessed: false,
  asked: [],
  pulses: [],
  frames: 0,
};

const xyzw = ([x, y, z, w]) => ({ x, y, z, w });
const transform = (found) => ({ position: xyzw(found.p), orientation: xyzw(found.q) });
const identity = new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
// 90 degrees of view, from 0.1 to 10 m
const projection = new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1.02, -1, 0, 0, -0.202, 0]);

class FakeSession extends EventTarget {
  constructor(mode) {
    super();
    this.renderState = {};
    const actuator = (side) => ({ pulse: (strength) => fake.pulses.push([side, strength]) });
    this.inputSources = mode === "immersive-ar" ? [] : ["right", "left"].map((side) => ({
      handedness: side,
      gripSpace: side,
      get gamepad() {
        return { buttons: fake[side].buttons.map((value) => ({ value })), axes: fake[side].axes,
          hapticActuators: [actuator(side)] };
      },
    }));
  }
  async updateRenderState(state) { Object.assign(this.renderState, state); }
  async requestReferenceSpace(kind) { fake.asked.push(kind); return kind; }
  async end() { this.ended = true; this.dispatchEvent(new Event("end")); }
  requestAnimationFrame(callback) {
    requestAnimationFrame((time) => {
      if (this.ended) return;
      const [x, y, z] = fake.head.p;
      const matrix = identity.slice();
      matrix.set([-x, -y, -z], 12); // a head that does not turn
      callback(time, {
        getViewerPose: () => fake.head && {
          transform: transform(fake.head), emulatedPosition: fake.guessed,
          views: ["left", "right"].map((eye) => ({ eye, projectionMatrix: projection, transform: { inverse: { matrix } } })),
        },
        getPose: (side) => fake[side] && { transform: transform(fake[side]), emulatedPosition: fake.guessed },
      });
      fake.frames += 1;
      if (fake.gl) { // the middle of the left and of the right eye
        fake.seen = [16, 48].map((u) => {
          const pixel = new Uint8Array(4);
          fake.gl.readPixels(u, 16, 1, 1, fake.gl.RGBA, fake.gl.UNSIGNED_BYTE, pixel);
          return Array.from(pixel);
        });
      }
    });
  }
}

window.XRWebGLLayer = class {
  constructor(session, gl) {
    this.framebuffer = null;
    gl.canvas.width = 64;
    gl.canvas.height = 32;
    fake.gl = gl;
  }
  getViewport(view) { return { x: view.eye === "left" ? 0 : 32, y: 0, width: 32, height: 32 }; }
};
Object.defineProperty(navigator, "xr", { configurable: true, value: {
  isSessionSupported: async () => fake.supported,
  requestSession: async (mode, options) => { fake.asked.push(mode, Object.keys(options).join()); return new FakeSession(mode); },
} });
