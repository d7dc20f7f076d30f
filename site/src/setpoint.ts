/** A setpoint that follows its goal within the velocity and acceleration of a joint, and stops there. */
export class Setpoint {
  q = 0;
  dq = 0;
  goal = 0;

  constructor(private readonly velocity: number, private readonly acceleration: number) {}

  place(q: number): void {
    this.q = this.goal = q;
    this.dq = 0;
  }

  advance(dt: number): void {
    const distance = this.goal - this.q;
    const change = this.acceleration * dt;
    if (Math.abs(distance) <= 0.5 * change * dt && Math.abs(this.dq) <= change) {
      this.q = this.goal;
      this.dq = 0;
      return;
    }
    // the largest speed from which it can still stop at the goal, one period later
    const braking = Math.sqrt(0.25 * change * change + 2 * this.acceleration * Math.abs(distance)) - 0.5 * change;
    const wanted = Math.sign(distance) * Math.min(this.velocity, braking);
    this.dq += Math.min(Math.max(wanted - this.dq, -change), change);
    this.q += this.dq * dt;
  }
}
