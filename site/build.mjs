// Builds the page into build/ (or --out DIR), or its tests (--tests) into build/test, build/browser and build/tools.
import { build } from "esbuild";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { createHash } from "node:crypto";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = path.dirname(fileURLToPath(import.meta.url));
const models = path.join(here, "..", "models");
const argument = (name) => process.argv[process.argv.indexOf(name) + 1];
const out = process.argv.includes("--out") ? path.resolve(argument("--out")) : path.join(here, "build", "site");
process.chdir(here); // tests find models/ from here
const mujoco = path.join(here, "node_modules", "@mujoco", "mujoco");

const NODE_ONLY = ["module", "worker_threads", "fs", "path", "url", "crypto", "ws"]; // what MuJoCo imports in Node only
const generated = path.join(here, "src", "generated");
const PAGES = {
  index: { script: "play", kind: "play", name: "Play", title: "the dVRK in a tab" },
  peg_transfer: { script: "peg_transfer", kind: "play", name: "Peg transfer", title: "peg transfer" },
  understand: { script: "understand", kind: "understand", name: "Understand", title: "understand the dVRK" },
  papers: { script: "papers", kind: "understand", name: "Papers", title: "papers, live" },
};

/** Files in one pack: [name in the pack, path]; src/pack.ts has the format. */
export async function pack(files) {
  const names = files.map(([name]) => name);
  const contents = await Promise.all(files.map(([, file]) => readFile(file)));
  const index = JSON.stringify(names.map((name, k) => [name, contents[k].length]));
  return gzipSync(Buffer.concat([Buffer.from(`${index}\n`), ...contents]), { level: 9 });
}

/** The files of a scene that MuJoCo reads: those of models/; some scenes have their own model. */
async function modelFiles(name, folder) {
  const root = path.join(models, folder);
  const own = path.join(generated, `${name}.xml`);
  const assets = (await readdir(path.join(root, "assets"))).sort().map((file) => `assets/${file}`);
  const files = ["scene.xml", ...assets].map((file) => [file, path.join(root, file)]);
  return [[`${folder}.xml`, existsSync(own) ? own : path.join(root, `${folder}.xml`)], ...files];
}

/** The files of the peg transfer; its meshes are those of the cart. */
async function contestFiles() {
  const model = path.join(generated, "peg_transfer.xml");
  const meshes = [...(await readFile(model, "utf8")).matchAll(/<mesh file="([^"]+)"/g)].map(([, file]) => file);
  return [["peg_transfer.xml", model], ...meshes.map((file) => [`assets/${file}`, path.join(models, "cart_classic", "assets", file)])];
}

/** A page between the common head and its end. */
async function page(name) {
  const { script, kind, title } = PAGES[name];
  const links = Object.entries(PAGES).map(([other, { name: text }]) => `<a href="./${other}.html"${other === name ? ' aria-current="page"' : ""}>${text}</a>`);
  const words = { TITLE: title, SCRIPT: script, KIND: kind, PAGES: links.join("") };
  const head = (await readFile(path.join(here, "pages", "head.html"), "utf8")).replace(/TITLE|SCRIPT|KIND|PAGES/g, (word) => words[word]);
  return `${head}${await readFile(path.join(here, "pages", `${name}.html`), "utf8")}  </body>\n</html>\n`;
}

async function tests() {
  const folder = path.join(here, "test");
  const options = { bundle: true, platform: "node", format: "esm", target: "node20", outExtension: { ".js": ".mjs" } };
  for (const [end, target] of [[".test.ts", "test"], [".browser.ts", "browser"], ["measure.ts", "tools"]])
    await build({
      ...options,
      entryPoints: (await readdir(folder)).filter((name) => name.endsWith(end)).map((name) => path.join(folder, name)),
      outdir: path.join(here, "build", target),
      external: ["@mujoco/mujoco", "playwright-core"],
    });
  await build({ ...options, platform: "browser", target: "es2022", external: NODE_ONLY, entryPoints: [path.join(folder, "runs.page.ts")], outdir: path.join(here, "build", "page") });
}

/**
 * The functions that MuJoCo's bindings compile from text at run time, compiled here instead, so that the page's content
 * security policy can forbid it. They are recorded while every function of a world is used.
 */
async function invokers() {
  const recorded = new Map();
  const Original = globalThis.Function;
  globalThis.Function = function (...texts) {
    recorded.set(JSON.stringify(texts), texts);
    return new Original(...texts);
  };
  try {
    const outfile = path.join(here, "build", "record.mjs");
    const shared = { bundle: true, platform: "node", format: "esm", target: "node20", external: ["@mujoco/mujoco"] };
    await build({ ...shared, entryPoints: [path.join(here, "test", "record.ts")], outfile });
    await (await import(`file://${outfile}`)).useAll();
  } finally {
    globalThis.Function = Original;
  }
  const cases = [...recorded].map(([key, texts]) => {
    const body = texts[texts.length - 1];
    return `[${JSON.stringify(key)}, function (${texts.slice(0, -1).join(",")}) {${body}\n}]`;
  });
  return `const functions = new Map([${cases.join(",\n")}]);
export function compiled(...texts) {
  const known = functions.get(JSON.stringify(texts));
  if (!known) throw new Error("MuJoCo's bindings need a function that was not recorded: " + texts);
  return known;
}`;
}

/** MuJoCo's bindings with the recorded functions in place of compiled text. */
function withoutEval(source) {
  return {
    name: "without-eval",
    setup(builder) {
      builder.onResolve({ filter: /^recorded-functions$/ }, () => ({ path: "recorded-functions", namespace: "recorded" }));
      builder.onLoad({ filter: /.*/, namespace: "recorded" }, () => ({ contents: source, loader: "js" }));
      builder.onLoad({ filter: /@mujoco[\\/]mujoco[\\/]mujoco\.js$/ }, async ({ path: file }) => {
        const text = await readFile(file, "utf8");
        if (!text.includes("new Function(")) throw new Error("MuJoCo's bindings no longer compile text; drop this plugin");
        return {
          contents: `import { compiled } from "recorded-functions";\n${text.replaceAll("new Function(", "compiled(")}`,
          loader: "js",
          resolveDir: here,
        };
      });
    },
  };
}

async function site() {
  const recorded = await invokers();
  await rm(out, { recursive: true, force: true });
  await mkdir(path.join(out, "scenes"), { recursive: true });
  await build({
    entryPoints: Object.values(PAGES).map(({ script }) => path.join(here, "src", `${script}.ts`)),
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    target: "es2022",
    outdir: out,
    external: NODE_ONLY,
    logLevel: "warning",
    plugins: [withoutEval(recorded)],
  });
  for (const name of Object.keys(PAGES)) await writeFile(path.join(out, `${name}.html`), await page(name));
  await cp(path.join(here, "pages", "icon.svg"), path.join(out, "icon.svg"));
  await cp(path.join(generated, "expert.txt"), path.join(out, "expert.txt"));
  await writeFile(path.join(out, "mujoco.wasm.pack"), gzipSync(await readFile(path.join(mujoco, "mujoco.wasm")), { level: 9 }));
  const { scenes } = JSON.parse(await readFile(path.join(generated, "table.json"), "utf8"));
  for (const [name, { file }] of Object.entries(scenes))
    await writeFile(path.join(out, "scenes", `${name}.pack`), await pack(await modelFiles(name, path.dirname(file))));
  await writeFile(path.join(out, "scenes", "peg_transfer.pack"), await pack(await contestFiles()));
  const measured = "psm_si_measured"; // no meshes
  await writeFile(path.join(out, "scenes", `${measured}.pack`), await pack([[`${measured}.xml`, path.join(generated, `${measured}.xml`)]]));
  await worker();
}

/** The service worker keeps all files; its name of the cache is a digest of them. */
async function worker() {
  const names = (await readdir(out, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(out, path.join(entry.parentPath ?? entry.path, entry.name)).replaceAll("\\", "/"))
    .sort();
  const digest = createHash("sha256");
  for (const name of names) digest.update(name).update(await readFile(path.join(out, name)));
  const text = await readFile(path.join(here, "src", "worker.js"), "utf8");
  const head = `const CACHE = ${JSON.stringify(`trocar-${digest.digest("hex").slice(0, 16)}`)};\nconst FILES = ${JSON.stringify(names)};\n`;
  await writeFile(path.join(out, "worker.js"), head + text);
}

if (process.argv.includes("--tests")) await tests();
else await site();
