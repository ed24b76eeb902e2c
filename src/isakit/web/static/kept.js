// What survives a reload: text, files, breakpoints and panes of this page, in the browser's own database. Every page has
// one entry, by a name that it keeps as long as its tab is there; those of tabs that are gone can be opened again.

const NAME = "isakit", STORE = "pages", OWN = "isakit-page";
const MOST = 8;          // entries
const LARGEST = 64 << 20;  // bytes of the files of an entry
const PAUSE = 400;       // milliseconds

let database = null;
let waiting = 0;
let current = () => ({});

const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

function own() {
  let id = sessionStorage.getItem(OWN);
  if (!id) sessionStorage.setItem(OWN, id = crypto.randomUUID());
  return id;
}

const store = (mode) => database.transaction(STORE, mode).objectStore(STORE);

// Whether the browser remembers anything; `entry`: gives what is to be remembered now.
export async function open(entry) {
  current = entry;
  try {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, {keyPath: "id"});
    database = await done(request);
    own();
  } catch (e) {
    database = null;  // no storage: what is lost is asked about when the page is left
  }
  document.addEventListener("visibilitychange", () => { if (document.hidden) save(); });
  return Boolean(database);
}

export async function mine() {
  return database ? done(store("readonly").get(own())) : null;
}

// Entries of tabs that are not this one, the newest first.
export async function others() {
  if (!database) return [];
  return (await done(store("readonly").getAll())).filter((e) => e.id !== own()).sort((a, b) => b.when - a.when);
}

// Soon, what the page holds is remembered.
export function later() {
  clearTimeout(waiting);
  waiting = setTimeout(save, PAUSE);
}

async function save() {
  clearTimeout(waiting);
  if (!database) return;
  const entry = {...current(), id: own(), when: Date.now()};
  let room = LARGEST;
  entry.files = (entry.files ?? []).filter(({file}) => (room -= file.size) >= 0);
  try {
    await done(store("readwrite").put(entry));
    for (const old of (await others()).slice(MOST - 1)) await done(store("readwrite").delete(old.id));
  } catch (e) {
    database = null;
  }
}

// Whether what is in the page would be lost with it.
export const remembers = () => database !== null;
