/** Keys, buttons, gamepad and pointers as inputs of two hands. */
import { most, NOTHING, type Hand, type Input } from "./hands";
import type { Contest } from "./table";
import type { Vector } from "./world";

export const SIDES = ["left", "right"] as const;
export type Side = (typeof SIDES)[number];
export type Action = "x-" | "x+" | "y-" | "y+" | "z-" | "z+" | "turn-" | "turn+" | "jaw";

/** Keys by their place on the keyboard, for each hand. */
export const KEYS: Record<Side, Record<Action, string>> = {
  left: { "x-": "KeyA", "x+": "KeyD", "y-": "KeyS", "y+": "KeyW", "z-": "KeyQ", "z+": "KeyE", "turn-": "KeyZ", "turn+": "KeyC", jaw: "KeyX" },
  right: { "x-": "KeyJ", "x+": "KeyL", "y-": "KeyK", "y+": "KeyI", "z-": "KeyU", "z+": "KeyO", "turn-": "KeyN", "turn+": "Comma", jaw: "KeyM" },
};
export const shownKey = (code: string): string => (code === "Comma" ? "," : code.replace("Key", ""));

/** Buttons of a standard gamepad: of up, down, turns and jaw; axes of the stick. */
const PADS = {
  left: { axes: [0, 1], "z+": 4, "z-": 6, "turn-": 14, "turn+": 15, jaw: 10 },
  right: { axes: [2, 3], "z+": 5, "z-": 7, "turn-": 2, "turn+": 1, jaw: 11 },
};
const DEAD = 0.12; // of a stick
const FINE = 0.25; // of the speed while Shift is held
// Room of the commanded tips about the middle of the board [m]; above: height over it.
const ROOM = { x: 0.09, y: 0.07, below: 0.002, above: 0.11 };

const pad = (): Gamepad | null | undefined => globalThis.navigator?.getGamepads?.().find((one) => one?.connected && one.mapping === "standard");

/** Position of an axis of the gamepad, from -1 to 1. */
export function stick(axis: number): number {
  const value = pad()?.axes[axis] ?? 0;
  return Math.abs(value) > DEAD ? value : 0;
}

export class Controls {
  readonly held = new Map<string, Set<Action>>(SIDES.map((side) => [side, new Set<Action>()]));
  readonly closed: Record<Side, boolean> = { left: false, right: false };
  readonly targets: Record<Side, Vector | null> = { left: null, right: null }; // of pointers
  readonly active: Record<Side, boolean> = { left: false, right: false };
  fine = false;
  private readonly pressed = new Set<string>(); // jaw buttons of the gamepad

  constructor(private readonly contest: Contest) {}

  reset(): void {
    for (const side of SIDES) {
      this.held.get(side)!.clear();
      this.closed[side] = false;
      this.targets[side] = null;
    }
  }

  /** A key goes down or up; true if it belongs to a hand. */
  key(code: string, down: boolean, repeated = false): boolean {
    for (const side of SIDES)
      for (const [action, key] of Object.entries(KEYS[side]) as [Action, string][])
        if (key === code) {
          if (!repeated) this.press(side, action, down);
          return true;
        }
    return false;
  }

  press(side: Side, action: Action, down: boolean): void {
    if (action !== "jaw") this.held.get(side)![down ? "add" : "delete"](action);
    else if (down) this.closed[side] = !this.closed[side];
  }

  /** The next input of a hand. */
  input(side: Side, hand: Hand): Input {
    const limits = most(this.contest);
    const { way, turn, jaw, open, closed } = this.contest.input;
    const held = this.held.get(side)!;
    const tilt = this.device(side);
    const share = (action: string, k: number): number => tilt[k] + Number(held.has(`${action}+` as Action)) - Number(held.has(`${action}-` as Action));
    const speed = this.fine ? FINE : 1;
    const wanted = [...NOTHING];
    ["x", "y", "z"].forEach((axis, k) => (wanted[k] = speed * limits[k] * share(axis, k)));
    wanted[5] = speed * limits[5] * share("turn", 3);
    const [across, along] = [hand.R[2], hand.R[5]]; // the jaws point down by themselves, and turn about the vertical
    if (hand.used) [wanted[3], wanted[4]] = [-along / turn, across / turn];
    const target = this.targets[side];
    if (target) target.forEach((x, k) => (wanted[k] = (x - hand.tip[k]) / way));
    this.within(wanted, hand);
    const moved = wanted.some((x) => Math.abs(x) >= 0.5);
    // jaws start half open and stay so until the hand is used
    const begun = moved || this.closed[side] || hand.used;
    wanted[6] = begun ? ((this.closed[side] ? closed : open) - hand.opening) / jaw : 0;
    const counts = wanted.map((x, k) => Math.round(Math.min(Math.max(x, -limits[k]), limits[k])) || 0);
    this.active[side] = counts.some((x) => x !== 0);
    return counts;
  }

  private within(wanted: number[], hand: Hand): void {
    const { way } = this.contest.input;
    const [, , z] = this.contest.objects[0].board;
    const room = [[-ROOM.x, ROOM.x], [-ROOM.y, ROOM.y], [z + ROOM.below, z + ROOM.above]];
    room.forEach(([low, high], k) => (wanted[k] = Math.min(Math.max(wanted[k], (low - hand.tip[k]) / way), (high - hand.tip[k]) / way)));
  }

  private device(side: Side): number[] {
    const device = pad();
    if (!device) return [0, 0, 0, 0];
    const { axes, jaw, ...buttons } = PADS[side];
    const down = device.buttons[jaw].pressed;
    if (down && !this.pressed.has(side)) this.press(side, "jaw", true);
    this.pressed[down ? "add" : "delete"](side);
    const value = (name: keyof typeof buttons): number => device.buttons[buttons[name]].value;
    return [stick(axes[0]), -stick(axes[1]), value("z+") - value("z-"), value("turn+") - value("turn-")];
  }
}
