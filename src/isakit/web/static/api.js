// Requests to the server: one page has one worker there, which lives as long as the stream `alive` is read.

export class Failure extends Error {
  constructor(answer) {
    super(answer.error);
    this.kind = answer.kind;
    this.diagnostics = answer.diagnostics || [];
  }
}

let tab = "";
let onEnded = () => {};

export async function open(ended) {
  onEnded = ended;
  const answer = await (await fetch("open", {method: "POST"})).json();
  if (answer.error) throw new Failure(answer);
  tab = answer.tab;
  stay();
  return answer;
}

async function stay() {
  try {
    const reader = (await fetch(`alive/${tab}`)).body.getReader();
    while (!(await reader.read()).done);
  } catch (e) {
    // said below
  }
  onEnded("The server has ended, or this page was asleep too long. Reload the page to go on.");
}

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

async function answered(verb, fields) {
  let response;
  try {
    response = await fetch(`ask/${tab}/${verb}`, {
      method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(fields),
    });
  } catch (e) {
    throw new Failure({error: "the server does not answer", kind: "ended"});
  }
  let answer;
  try {
    answer = await response.json();
  } catch (e) {
    throw new Failure({error: `the server refused this (${response.status})`, kind: "request"});
  }
  if (answer.error !== undefined) throw new Failure(answer);
  return answer.result;
}

export const interrupt = () => fetch(`interrupt/${tab}`, {method: "POST"});

export async function lesson(name) {
  const answer = await (await fetch(`lesson/${encodeURIComponent(name)}`)).json();
  if (answer.error) throw new Failure(answer);
  return answer;
}

export async function given(name) {
  return new Uint8Array(await (await fetch(`given/${encodeURIComponent(name)}`)).arrayBuffer());
}

export function base64(bytes) {
  let text = "";
  for (let k = 0; k < bytes.length; k += 0x8000) text += String.fromCharCode(...bytes.subarray(k, k + 0x8000));
  return btoa(text);
}

export function bytes(base) {
  return Uint8Array.from(atob(base), (c) => c.charCodeAt(0));
}
