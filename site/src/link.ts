/** The state of the page as the fragment of a link: positions at rest, goals, options. */
import type { Scene, Table } from "./table";
import { DEFAULTS, type Options, type Vector } from "./world";

export interface Shown {
  scene: string;
  joints: number[][]; // positions by arm
  goals: number[][];
  options: Options;
  motors: boolean;
  force: Vector; // on the tip [N]
  arm: number; // the selected one
}

export const MAX_LENGTH = 4000;
export const MAX_FORCE = 20; // [N]

export class BadLink extends Error {}

export function initial(table: Table, scene: string): Shown {
  const joints = table.scenes[scene].arms.map(({ start }) => start);
  return { scene, joints, goals: joints, options: DEFAULTS, motors: true, force: [0, 0, 0], arm: 0 };
}

const KEYS = ["scene", "q", "goal", "friction", "counterweight", "encoders", "motors", "force", "arm"];
const flag = (value: boolean): string => (value ? "1" : "0");
const rows = (values: number[][]): string =>
  values.map((row) => row.map((x) => String(Number(x.toPrecision(9)))).join(",")).join(";");

export function written(shown: Shown): string {
  const { friction, counterweight, encoders } = shown.options;
  return [
    `scene=${shown.scene}`,
    `q=${rows(shown.joints)}`,
    `goal=${rows(shown.goals)}`,
    `friction=${flag(friction)}`,
    `counterweight=${flag(counterweight)}`,
    `encoders=${flag(encoders)}`,
    `motors=${flag(shown.motors)}`,
    `force=${rows([shown.force])}`,
    `arm=${shown.arm}`,
  ].join("&");
}

/** What a fragment without its "#" shows; raises BadLink with one line that says what is wrong. */
export function read(fragment: string, table: Table): Shown {
  if (fragment.length > MAX_LENGTH)
    throw new BadLink(`The link has ${fragment.length} characters; at most ${MAX_LENGTH} are allowed.`);
  const values = new Map<string, string>();
  for (const part of fragment.split("&")) {
    const [key, value] = [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)];
    if (!KEYS.includes(key) || values.has(key)) throw new BadLink(`The link has an unknown or repeated part, ${quoted(key || part)}.`);
    values.set(key, value);
  }
  const scene = values.get("scene") ?? "";
  if (!Object.hasOwn(table.scenes, scene))
    throw new BadLink(`The link names the scene ${quoted(scene)}; there are ${Object.keys(table.scenes).join(", ")}.`);
  const shown = initial(table, scene);
  const facts = table.scenes[scene];
  if (values.has("q")) shown.joints = joints("q", values.get("q")!, table, facts);
  shown.goals = values.has("goal") ? joints("goal", values.get("goal")!, table, facts) : shown.joints;
  shown.options = {
    friction: chosen("friction", values, DEFAULTS.friction),
    counterweight: chosen("counterweight", values, DEFAULTS.counterweight),
    encoders: chosen("encoders", values, DEFAULTS.encoders),
  };
  shown.motors = chosen("motors", values, true);
  if (values.has("force")) {
    const force = numbers("force", values.get("force")!, 3);
    if (force.some((x) => Math.abs(x) > MAX_FORCE)) throw new BadLink(`The link's force is beyond ${MAX_FORCE} N.`);
    shown.force = force as Vector;
  }
  if (values.has("arm")) {
    [shown.arm] = numbers("arm", values.get("arm")!, 1);
    if (!facts.arms[shown.arm]) throw new BadLink(`The link selects the arm ${shown.arm}; the scene has ${facts.arms.length}.`);
  }
  return shown;
}

const quoted = (text: string): string => `"${text.slice(0, 30)}${text.length > 30 ? "..." : ""}"`;

function numbers(key: string, text: string, count: number): number[] {
  const values = text.split(",").map((x) => (x.trim() ? Number(x) : NaN));
  if (values.length !== count || !values.every(Number.isFinite))
    throw new BadLink(`The link's ${key} must be ${count} finite number${count > 1 ? "s" : ""}, got ${quoted(text)}.`);
  return values;
}

function joints(key: string, text: string, table: Table, scene: Scene): number[][] {
  const parts = text.split(";");
  if (parts.length !== scene.arms.length)
    throw new BadLink(`The link's ${key} has joints of ${parts.length} arms; the scene has ${scene.arms.length}.`);
  return scene.arms.map(({ name, arm }, k) => {
    const facts = table.arms[arm].joints;
    const q = numbers(`${key} of ${name}`, parts[k], facts.length);
    facts.forEach(({ name: joint, lower, upper, unit }, j) => {
      const slack = 1e-3 * (upper - lower); // a joint rests against its stop, which yields a little
      if (q[j] < lower - slack || q[j] > upper + slack)
        throw new BadLink(`The link's ${key} of ${name}: ${joint} must be ${lower.toFixed(3)} to ${upper.toFixed(3)} ${unit}, got ${q[j]}.`);
      q[j] = Math.min(Math.max(q[j], lower), upper);
    });
    return q;
  });
}

function chosen(key: string, values: Map<string, string>, otherwise: boolean): boolean {
  const value = values.get(key);
  if (value !== undefined && value !== "0" && value !== "1")
    throw new BadLink(`The link's ${key} must be 0 or 1, got ${quoted(value)}.`);
  return value === undefined ? otherwise : value === "1";
}
