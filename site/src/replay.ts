/** A game as text: the seed of its board and all inputs, small integers by channel, deflated, in base64. */
import { CHANNELS, most, type Input } from "./hands";
import { BadLink } from "./link";
import type { Contest } from "./table";

export interface Game {
  seed: number;
  inputs: Input[]; // both hands, in the order of the arms
}

export const MAX_REPLAY = 30000; // characters

const through = async (content: Uint8Array<ArrayBuffer>, stream: ReadableWritablePair<Uint8Array, BufferSource>, largest: number): Promise<Uint8Array> => {
  const parts: number[] = [];
  for (const reader = new Blob([content]).stream().pipeThrough(stream).getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return Uint8Array.from(parts);
    for (const byte of value) parts.push(byte);
    if (parts.length > largest) {
      await reader.cancel();
      throw new BadLink("The link's inputs are longer than a trial.");
    }
  }
};

export async function written({ seed, inputs }: Game): Promise<string> {
  const channels = inputs[0]?.length ?? 0;
  const bytes = new Int8Array(inputs.length * channels);
  inputs.forEach((row, t) => row.forEach((value, k) => (bytes[k * inputs.length + t] = value)));
  const packed = await through(new Uint8Array(bytes.buffer), new CompressionStream("deflate-raw"), Infinity);
  const text = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  return `seed=${seed}&inputs=${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** The game of a text; raises BadLink with one line that says what is wrong. */
export async function read(text: string, contest: Contest): Promise<Game> {
  if (text.length > MAX_REPLAY) throw new BadLink(`The link has ${text.length} characters; at most ${MAX_REPLAY} are allowed.`);
  const match = /^seed=(\d{1,4})(?:&inputs=([\w-]*))?$/.exec(text);
  if (!match) throw new BadLink("The link must be seed=NUMBER&inputs=TEXT.");
  const seed = Number(match[1]);
  if (!contest.objects[seed]) throw new BadLink(`The link's seed is ${seed}; there are boards 0 to ${contest.objects.length - 1}.`);
  if (!match[2]) return { seed, inputs: [] };
  const channels = CHANNELS * contest.scene.arms.length;
  const longest = Math.round(contest.rules.duration / contest.input.period);
  let bytes: Int8Array;
  try {
    const packed = Uint8Array.from(atob(match[2].replaceAll("-", "+").replaceAll("_", "/")), (x) => x.charCodeAt(0));
    bytes = new Int8Array((await through(packed, new DecompressionStream("deflate-raw"), channels * longest)).buffer);
  } catch (error) {
    if (error instanceof BadLink) throw error;
    throw new BadLink("The link's inputs cannot be unpacked; it may have been cut.");
  }
  if (bytes.length % channels) throw new BadLink(`The link's inputs must be ${channels} numbers each, got ${bytes.length} in all.`);
  const count = bytes.length / channels;
  const limits = most(contest);
  const inputs = Array.from({ length: count }, (_, t) => Array.from({ length: channels }, (_, k) => bytes[k * count + t]));
  if (inputs.some((row) => row.some((value, k) => Math.abs(value) > limits[k % CHANNELS])))
    throw new BadLink("The link's inputs move a hand faster than the page allows.");
  return { seed, inputs };
}
