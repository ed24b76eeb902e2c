// What the page is about, as text for the fragment of the address: nothing of it is stored on the server.
// Version 1: {v: 1, isa, variant, language, source, launch: {grid, block, args}, lesson}.

export const VERSION = 1;
const UPGRADES = {};  // from version n to n + 1

const LONGEST = 2 ** 21;

async function through(stream, data) {
  const reader = new Blob([data]).stream().pipeThrough(stream).getReader();
  const parts = [];
  let size = 0;
  for (;;) {
    const {done, value} = await reader.read();
    if (done) break;
    size += value.length;
    if (size > LONGEST) throw new Error("the address holds more than a page takes");
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

export async function encode(state) {
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify({v: VERSION, ...state})));
  let text = "";
  for (const b of packed) text += String.fromCharCode(b);
  return btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

export async function decode(fragment) {
  const text = atob(fragment.replace(/-/g, "+").replace(/_/g, "/"));
  const data = await through(new DecompressionStream("deflate-raw"), Uint8Array.from(text, (c) => c.charCodeAt(0)));
  let state = JSON.parse(new TextDecoder().decode(data));
  while (UPGRADES[state.v]) state = UPGRADES[state.v](state);
  if (state.v !== VERSION || typeof state.source !== "string") throw new Error("the address is of another version");
  return state;
}
