// What the page is about, as text for the fragment of the address: nothing of it is stored on the server.
// Version 1: {v: 1, isa, variant, language, source, launch: {grid, block, args}, lesson}.

export const VERSION = 1;
const UPGRADES = new Map();  // from version n to n + 1

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

const MOST = 256;  // numbers or texts of a field

const isText = (value) => typeof value === "string";

const listOf = (right) => (value) => Array.isArray(value) && value.length <= MOST && value.every(right);

const PAGE = {isa: isText, variant: isText, language: isText, lesson: isText, launch: (value) => typeof value === "object"};
const LAUNCH = {grid: listOf(Number.isFinite), block: listOf(Number.isFinite), args: listOf(isText), textures: listOf(isText)};

// The fields that are what they have to be; `odd` gets the names of those that are something else.
function fitting(given, fields, odd, of = "") {
  const out = {};
  for (const [name, right] of Object.entries(fields)) {
    const value = given[name] ?? null;
    if (value !== null && right(value)) out[name] = value;
    else if (value !== null) odd.push(of + name);
  }
  return out;
}

// What a fragment holds, whoever wrote it: `odd` names fields that were left out.
export async function decode(fragment) {
  let state;
  try {
    const text = atob(fragment.replace(/-/g, "+").replace(/_/g, "/"));
    const data = await through(new DecompressionStream("deflate-raw"), Uint8Array.from(text, (c) => c.charCodeAt(0)));
    state = JSON.parse(new TextDecoder().decode(data));
  } catch (e) {
    throw new Error(`the address cannot be read: ${e.message}`);
  }
  while (UPGRADES.has(state?.v)) state = UPGRADES.get(state.v)(state);
  if (state?.v !== VERSION || typeof state.source !== "string") throw new Error("the address is of another version");
  const odd = [];
  const out = fitting(state, PAGE, odd);
  if (out.launch) out.launch = fitting(out.launch, LAUNCH, odd, "launch.");
  return {...out, source: state.source, odd};
}
