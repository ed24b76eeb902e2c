// The two parts that are always there. What happens in them is decided in main.js, which sets the functions.

import {$, has} from "./dom.js";
import {Listing} from "./listing.js";

const {Editor} = await import(has("codemirror") ? "./editor.js" : "./plain_editor.js");

export const listing = new Listing($("listing"), {});

export const inEditor = {changed: () => {}, moved: () => {}};
export const editor = new Editor($("editor"), (text) => inEditor.changed(text), (line) => inEditor.moved(line));
