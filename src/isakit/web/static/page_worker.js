// A worker of the browser that runs isakit: Python as WebAssembly, NumPy, and the package itself.

import {loadPyodide} from "./python/pyodide.mjs";

const base = new URL("python/", import.meta.url).href;
const archive = async (name) => {
  const response = await fetch(base + name);
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return response.arrayBuffer();
};

async function load() {
  const archives = ["numpy.zip", "isakit.zip"].map(archive);
  const python = await loadPyodide({indexURL: base});
  for (const data of archives) python.unpackArchive(await data, "zip", {extractDir: "/site"});
  python.runPython('import sys; sys.path.insert(0, "/site")');
  return python.pyimport("isakit.web.in_page").Page();
}

const page = load();
page.catch((e) => postMessage({broken: e.message}));

const IDLE = 60;  // milliseconds
let shown = false, waiting = 0;

// While somebody reads the page, what a launch needs is loaded, a part at a time, so that no request waits for long.
function prepare(isakit) {
  waiting = setTimeout(() => { if (isakit.prepare()) prepare(isakit); }, IDLE);
}

onmessage = async ({data: {id, verb, fields}}) => {
  const isakit = await page;
  clearTimeout(waiting);
  let answer;
  try {
    answer = isakit.answer(verb, fields);
  } catch (e) {  // Python itself has ended, of too little memory for instance
    postMessage({ended: e.message});
    return;
  }
  postMessage({id, answer});
  shown ||= verb === "listing";
  if (shown) prepare(isakit);
};
