// Sessions that this browser keeps, as the user wishes: the files of a session (session.js) in a
// folder of the browser's private file system, by the session's id. One tab holds a session.
const FOLDER = "sessions", KNOWN = "mrprism-sessions";

// can says whether this browser keeps sessions. Kiosks keep none.
const wishes = new URLSearchParams(location.search);
export const can = !wishes.has("idle") && !wishes.has("kiosk") && Boolean(navigator.locks && navigator.storage?.getDirectory && globalThis.FileSystemFileHandle?.prototype.createWritable);

const folder = async (create) => (await navigator.storage.getDirectory()).getDirectoryHandle(FOLDER, { create });
const flat = (name) => name.replaceAll("/", "_"), deep = (name) => name.replace("_", "/");

// hold resolves to whether this tab has the session for itself from now on.
const held = new Set();
export const hold = (id) => (held.has(id) ? Promise.resolve(true) : new Promise((resolve) => {
  navigator.locks.request(`mrprism-session-${id}`, { ifAvailable: true }, (lock) => {
    if (lock) held.add(id);
    resolve(Boolean(lock));
    return lock && new Promise(() => {});
  });
}));

const there = new Map(); // Blobs in the folder of the session by name
// put writes the files of a session, each { name, blob }: session.json after those that it names.
// It removes files that no reading names any more.
export async function put(id, files) {
  const place = await (await folder(true)).getDirectoryHandle(id, { create: true });
  remembered(true);
  for (const { name, blob } of [...files.slice(1), files[0]]) {
    if (there.get(name) === blob) continue;
    const writing = await (await place.getFileHandle(flat(name), { create: true })).createWritable(); // the old file stays until close
    await writing.write(blob);
    await writing.close();
    there.set(name, blob);
  }
  const names = new Set(files.map(({ name }) => flat(name)));
  for await (const name of place.keys()) if (!names.has(name)) await place.removeEntry(name);
}

// filesOf resolves to the files of a kept session by name, in the form of readZIP. All but images
// are copied, since put may write in their place.
export async function filesOf(id) {
  const place = await (await folder(false)).getDirectoryHandle(id), files = new Map();
  for await (const [name, handle] of place.entries()) {
    const file = await handle.getFile();
    files.set(deep(name), async ({ later = false } = {}) => {
      const blob = name.startsWith("images_") ? file : new Blob([await file.arrayBuffer()]);
      return later ? () => blob : blob;
    });
  }
  return files;
}

// all resolves to the JSON of each kept session, the last one first. forget removes one.
export async function all() {
  const place = can && await folder(false).catch(() => null), list = [];
  if (place) for await (const id of place.keys()) {
    const text = await filesOf(id).then((files) => files.get("session.json")?.()).then((blob) => blob?.text()).catch(() => null);
    if (text) list.push({ ...JSON.parse(text), id });
    else await place.removeEntry(id, { recursive: true }).catch(() => {}); // it was never written whole
  }
  remembered(list.length > 0);
  return list.sort((a, b) => b.saved.localeCompare(a.saved));
}
export async function forget(id) {
  there.clear();
  await (await folder(true)).removeEntry(id, { recursive: true }).catch(() => {});
}

// The page looks for kept sessions only if it may find one.
function remembered(any) {
  try { if (any) localStorage.setItem(KNOWN, "yes"); else localStorage.removeItem(KNOWN); } catch { /* a private window */ }
}
