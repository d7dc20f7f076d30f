/** Files of a scene in one gzipped pack: a line of JSON, [[name, size], ...], then the contents in this order. */

export async function bytes(packed: Uint8Array): Promise<Uint8Array> {
  if (packed[0] !== 0x1f || packed[1] !== 0x8b) return packed; // the host has decompressed it
  const stream = new Blob([packed.slice()]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export function unpack(content: Uint8Array): Map<string, Uint8Array> {
  const end = content.indexOf(10);
  const index = JSON.parse(new TextDecoder().decode(content.subarray(0, end))) as [string, number][];
  const files = new Map<string, Uint8Array>();
  let start = end + 1;
  for (const [name, size] of index) {
    files.set(name, content.subarray(start, start + size));
    start += size;
  }
  return files;
}
