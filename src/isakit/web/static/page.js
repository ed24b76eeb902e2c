// What the page knows, for all of its parts, and how it says what went wrong.

import {Failure} from "./api.js";
import {$, make, say} from "./dom.js";

export const page = {
  units: [],         // programs, as the server describes them
  unit: null,        // the one that is shown
  state: null,       // where the launch stands, null while there is none
  lesson: null,      // name of the lesson
  scene: null,       // {name, program}: a scene, and the file in it that the editor holds
  frames: null,      // {name, draw}: a captured frame, and the draw it is shown after
  wanted: null,      // the launch that a lesson or an address asks for
  ptx: "",           // what the text was compiled to first
  numbers: "hex",    // how registers are shown
  arrays: null,      // arrays and memory as they were shown last, to mark what has changed
  memory: null,
  largest: Infinity,  // bytes of a file that is opened
  files: [],         // what was opened: {file, path}
  stops: new Map(),  // breakpoints of a program by its name: {kind, where, condition, addresses}
  projects: new Map(),  // what is known of a file, by its name: {now, past, future}
  original: "",      // the text as it was opened: another one is the user's
};

export const stopsOf = (unit) => page.stops.get(unit?.unit) ?? [];

// What is told when there is something to remember; main.js sets it.
export const remember = {soon: () => {}};

// Do something; say what went wrong.
export async function trying(what) {
  try {
    return await what();
  } catch (e) {
    if (!(e instanceof Failure)) console.error(e);
    if (e.kind === "ended") document.dispatchEvent(new Event("worker-ended"));
    say(e.message, true);
    return undefined;
  }
}

// Ask something; the answer is whether the button with `yes` was pressed.
export function asked(title, text, yes, no) {
  return new Promise((resolve) => {
    const answer = (value) => () => { resolve(value); $("dialog").close(); };
    tell(title, make("p", {}, text), make("p", {class: "bar"}, make("button", {type: "button", id: "yes", onclick: answer(true)}, yes),
      make("button", {type: "button", id: "no", onclick: answer(false)}, no)));
    $("dialog").addEventListener("close", () => resolve(false), {once: true});
  });
}

export function tell(title, ...content) {
  $("dialog-title").textContent = title;
  $("dialog-body").replaceChildren(...content.filter(Boolean));
  $("dialog").showModal();
}
