/** Facts of arms and scenes, exported by Python (`tools/site`). SI units, radians. */
import json from "./generated/table.json";

export interface Joint {
  name: string;
  unit: string; // "rad" or "m"
  lower: number;
  upper: number;
  velocity: number;
  acceleration: number;
}

export interface Cable {
  body: string;
  ratio: number;
  coefficients: number[];
  lower: number;
  upper: number;
}

export type ServoConstants = Record<"kp" | "ki" | "kd" | "deadband" | "output" | "cutoff" | "momentum", number[]>;

export interface Arm {
  joints: Joint[];
  home: number[];
  tree: string[]; // names of the joints of the model, of which all positions follow: tree_from_joints q
  tree_from_joints: number[][];
  joints_from_tree: number[][];
  motors: string[];
  joints_from_motors: number[][];
  motors_from_joints: number[][];
  effort: number[]; // limits of the motors
  servo: ServoConstants;
  resolution: number[];
  compensates_gravity: boolean;
  counterweight: string | null;
  has_rcm: boolean;
  cables: Cable[];
  dahl: { row: number[]; F: number[]; slope: number[]; rate: number[] }[]; // friction with memory, by drive
}

export interface SceneArm {
  name: string;
  prefix: string;
  arm: string;
  start: number[]; // joints at the start
}

export interface Scene {
  title: string;
  file: string;
  arms: SceneArm[];
}

/** The peg transfer of `trocar_learning.contest`. */
export interface Contest {
  scene: Scene;
  hands: Record<string, string>; // arm of the left and of the right hand
  fingers: string[];
  instrument: string[]; // links that turn with the shaft
  pegs: string[];
  rules: Record<"duration" | "aside" | "above" | "still" | "max_tilt" | "rest" | "lost" | "margin", number>;
  board: { plate: number[]; posts: number[][] };
  objects: Record<string, number[]>[]; // by seed: position and angle about the vertical of board and pegs
  camera: { position: number[]; target: number[]; angle: number };
  wrist: { T_tip_6: number[][]; offset: number; insertion: number; roll: number; near: number };
  input: { period: number; way: number; turn: number; jaw: number; most: number[]; open: number; closed: number };
}

/** Printed numbers, and what the figures beside them need. */
export interface Papers {
  spiral: {
    centre: number[][]; // pose of the tip in the base
    axes: number[][]; // of the path, in the base
    radius: number;
    height: number;
    turns: number; // [Hz]
    waves: number; // [Hz]
    duration: number;
    settled: number; // errors are evaluated from here on
    start: number[];
  };
  drift: {
    scene: Scene;
    bodies: string[]; // driven by the first three joints
    limit: number[]; // in units
    units: string[];
    duration: number;
    poses: { q: number[]; compensation: number[]; band: number[]; lower: number[]; upper: number[]; printed: number[] }[];
  };
  workspace: { turn: number; moved: number; source: string };
}

export interface Table {
  repository: string; // address; empty until it is public
  rate: number;
  gravity_cycles: number;
  stiffening: { all: number; loops: number };
  stall: { gradient: number; recorded: number }; // of the solver, in iterations that are recorded
  arms: Record<string, Arm>;
  scenes: Record<string, Scene>;
  printed: { motion: string; without: number; with: number }[];
  contest: Contest;
  papers: Papers;
}

export const table: Table = json;
