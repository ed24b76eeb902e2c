// Compiles what a page imports, in its folder of Python's files: node compile.mjs FOLDER. See isakit.web.precompiled.

import {readFileSync, writeFileSync} from "node:fs";
import {join, resolve} from "node:path";
import {pathToFileURL} from "node:url";

process.on("uncaughtException", (e) => {  // node would show a line of Pyodide's, which is long
  console.error(e.message);
  process.exit(1);
});
const folder = resolve(process.argv[2]);
const file = (name) => join(folder, name);
const bytes = (name) => new Uint8Array(readFileSync(file(name)));
const {loadPyodide} = await import(pathToFileURL(file("pyodide.mjs")));
const python = await loadPyodide({indexURL: join(folder, "/")});
for (const name of ["numpy.zip", "isakit.zip"]) python.unpackArchive(bytes(name), "zip", {extractDir: "/site"});
python.runPython('import sys; sys.path.insert(0, "/site")');
const {imported, with_code} = python.pyimport("isakit.web.precompiled");
const used = imported();
// isakit reads its own sources: what an instruction does is written there.
for (const [name, place, keep] of [["numpy.zip", "/site/", false], ["isakit.zip", "/site/", true], ["python_stdlib.zip", "/lib/python312.zip/", false]]) {
  writeFileSync(file(name), with_code(python.toPy(bytes(name)), place, used, keep).toJs());
}
