// Bundles other people's JavaScript: `node build.mjs OUT`, in a folder in which `npm ci` has installed the packages.
// Writes a module for each file of `bundles`, the style sheet of dockview, and the licences of all that is in them.

import {createRequire} from "node:module";
import {readFileSync, readdirSync, writeFileSync} from "node:fs";
import {join} from "node:path";
import {build, transform} from "esbuild";

const [out] = process.argv.slice(2);

const found = await build({
  entryPoints: readdirSync("bundles").sort().map((name) => join("bundles", name)),
  bundle: true, format: "esm", minify: true, legalComments: "none", metafile: true, outdir: out, logLevel: "error",
});

// dockview carries its style sheet in the form that puts it into a document, which the page's policy forbids.
const require = createRequire(import.meta.url);
let style = "";
globalThis.document = {createElement: () => ({}), head: {appendChild: (made) => { style = made.textContent; }}};
try {
  require("dockview-core/dist/dockview-core.js");
} catch (e) {
  if (!style) throw e;  // a document has more than this one, but the style comes first
}
// Of its two dozen themes the page uses one.
const rules = style.replace(/\/\*[^]*?\*\//g, "").match(/[^{}]+\{(?:[^{}]|\{[^{}]*\})*\}/g);
const used = rules.filter((rule) => !/dockview-theme-(?!light\b(?!-))/.test(rule.split("{")[0])).join("");
writeFileSync(join(out, "dockview.css"), (await transform(used, {loader: "css", minify: true})).code);

// The folder of a package, from the path of one of its files.
const packageOf = (path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];

const texts = new Map();  // of licences, to the packages they are of
for (const folder of [...new Set(Object.keys(found.metafile.inputs).map(packageOf).filter(Boolean))].sort()) {
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  if (!file) throw new Error(`${about.name} has no file with its licence`);
  const text = readFileSync(join(folder, file), "utf8").trim();
  texts.set(text, [...(texts.get(text) ?? []), `${about.name} ${about.version} (${about.license})`]);
}
writeFileSync(join(out, "LICENSES.txt"), [
  "What lies in this folder was made by others; the workbench of isakit uses it.\n",
  ...[...texts].map(([text, packages]) => `--- ${packages.join(", ")} ---\n\n${text}\n`),
].join("\n"));
