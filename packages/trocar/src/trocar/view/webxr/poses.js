// Poses of a hand: quaternions are [x, y, z, w]; x is to the right, y up, z towards the user, as in WebXR.

export function multiply([ax, ay, az, aw], [bx, by, bz, bw]) {
  return [
    aw * bx + ax * bw + ay * bz - az * by,
    aw * by - ax * bz + ay * bw + az * bx,
    aw * bz + ax * by - ay * bx + az * bw,
    aw * bw - ax * bx - ay * by - az * bz,
  ];
}

export function rotate(q, v) {
  const [x, y, z, w] = multiply(multiply(q, [...v, 0]), [-q[0], -q[1], -q[2], q[3]]);
  return [x, y, z];
}

export function about(axis, angle) {
  const s = Math.sin(angle / 2);
  return [axis[0] * s, axis[1] * s, axis[2] * s, Math.cos(angle / 2)];
}

// Direction in which a head or a phone looks, as an angle about the vertical. A phone that lies flat looks where its
// upper edge points.
export function heading(q) {
  const forward = rotate(q, [0, 0, -1]);
  const up = rotate(q, [0, 1, 0]);
  const flat = Math.abs(forward[1]) > 0.7;
  const ahead = flat ? up.map((x) => -Math.sign(forward[1]) * x) : forward;
  return Math.atan2(-ahead[0], -ahead[2]);
}

// Orientation of a phone from a deviceorientation event (degrees about z, x', y'' of the earth) and the angle of its
// screen.
export function fromDevice(alpha, beta, gamma, screenAngle) {
  const radians = Math.PI / 180;
  const [x, y, z] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
  // earth axes (east, north, up) -> WebXR (east, up, south)
  const earth = about(x, -Math.PI / 2);
  const device = multiply(multiply(about(z, alpha * radians), about(x, beta * radians)), about(y, gamma * radians));
  return multiply(multiply(earth, device), about(z, -screenAngle * radians));
}

// A hand relative to where it was when it was last anchored: ahead is where the user looked then, and its position
// does not jump.
export class RelativeHand {
  constructor() {
    this.turn = [0, 0, 0, 1];
    this.origin = null; // where it was anchored, and what was sent then
    this.base = [0, 0, 0];
    this.sent = [0, 0, 0];
    this.seen = null;
  }

  anchor(yaw) {
    this.turn = about([0, 1, 0], -yaw);
    this.origin = this.seen;
    this.base = this.sent;
  }

  moved(p, q) {
    this.seen = p;
    this.origin ??= p;
    const way = rotate(this.turn, p.map((x, i) => x - this.origin[i]));
    this.sent = this.base.map((x, i) => x + way[i]);
    const turned = multiply(this.turn, q);
    const length = Math.hypot(...turned);
    return { p: this.sent, q: turned.map((x) => x / length) };
  }
}
