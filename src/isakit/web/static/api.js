// Requests of the page, to a server or to isakit in the page itself: the document says which.

import {Failure} from "./failure.js";

export {Failure};

const backend = await import(document.documentElement.dataset.backend === "page" ? "./in_page.js" : "./server.js");
export const {open, interrupt, lesson, given} = backend;

let waiting = 0;

// A request; one that takes a while is seen to be under way.
export async function ask(verb, fields = {}) {
  waiting++;
  const slow = setTimeout(() => { document.body.dataset.busy = "yes"; }, 300);
  try {
    return await answered(verb, fields);
  } finally {
    clearTimeout(slow);
    if (--waiting === 0) delete document.body.dataset.busy;
  }
}

// One after another: what answers a later question is never overwritten by what answers an earlier one.
let last = Promise.resolve();

async function answered(verb, fields) {
  const asked = last.then(() => backend.answered(verb, fields));
  last = asked.catch(() => {});
  const answer = await asked;
  if (answer.error !== undefined) throw new Failure(answer);
  return answer.result;
}

export function base64(bytes) {
  let text = "";
  for (let k = 0; k < bytes.length; k += 0x8000) text += String.fromCharCode(...bytes.subarray(k, k + 0x8000));
  return btoa(text);
}

export function bytes(base) {
  return Uint8Array.from(atob(base), (c) => c.charCodeAt(0));
}
