// Requests to the server: one page has one worker there, which lives as long as the stream `alive` is read.

import {Failure} from "./failure.js";

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

export async function answered(verb, fields) {
  let response;
  try {
    response = await fetch(`ask/${tab}/${verb}`, {
      method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(fields),
    });
  } catch (e) {
    throw new Failure({error: "the server does not answer", kind: "ended"});
  }
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch (e) {
    throw new Failure({error: `the server refused this: ${text.trim() || response.status}`, kind: "request"});
  }
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
