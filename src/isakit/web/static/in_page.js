// Requests to isakit in the page itself: a worker of the browser runs it, and there is no server.

import {Failure} from "./failure.js";

let worker = null;
let number = 0;
let waiting = new Map();  // number of a request -> {resolve, reject}
let lessons = {};
let onEnded = () => {};
let broken = "";  // why isakit cannot be loaded at all
const grammars = {};

function start() {
  worker = new Worker(new URL("page_worker.js", import.meta.url), {type: "module"});
  worker.onmessage = ({data}) => {
    if (data.broken) return end(broken = `isakit cannot be loaded: ${data.broken}`);
    if (data.ended) {
      worker.terminate();
      end(`isakit has ended, and is being loaded again: ${data.ended}`);
      return start();
    }
    const asked = waiting.get(data.id);
    waiting.delete(data.id);
    asked?.resolve(JSON.parse(data.answer));
  };
  worker.onerror = (e) => end(`isakit has ended: ${e.message || "its worker could not be started"}`);
}

function end(text) {
  const asked = waiting;
  waiting = new Map();
  for (const {reject} of asked.values()) reject(new Failure({error: text, kind: "ended"}));
  onEnded(text);
}

const json = async (name) => (await fetch(new URL(name, import.meta.url))).json();

start();  // before the rest of the page: it takes longest

export async function open(ended) {
  onEnded = ended;
  lessons = await json("lessons.json");
  return {lessons: lessons.list, given: []};
}

export async function answered(verb, fields) {
  if (verb === "grammar" && /^\w+$/.test(fields.isa)) return {result: await (grammars[fields.isa] ??= json(`grammar-${fields.isa}.json`))};
  if (broken) throw new Failure({error: broken, kind: "ended"});
  const id = ++number;
  return new Promise((resolve, reject) => {
    waiting.set(id, {resolve, reject});
    worker.postMessage({id, verb, fields: JSON.stringify(fields)});
  });
}

// A worker of the browser cannot be interrupted, only ended; the next one begins anew.
export async function interrupt() {
  if (!waiting.size) return;
  worker.terminate();
  end("interrupted: what ran has ended, and isakit is being loaded again");
  start();
}

export async function lesson(name) {
  const found = Object.hasOwn(lessons.lessons, name) && lessons.lessons[name];
  if (!found) throw new Failure({error: "there is no such lesson"});
  return structuredClone(found);
}

export const given = async () => new Uint8Array();
