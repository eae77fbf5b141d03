// Sessions that this browser keeps, as the user wishes: the files of a session (session.js) in a
// folder of the browser's private file system, by the session's id. One tab holds a session. A
// browser may be killed at any time, or have no space left: files lie by their content,
// session.json is written beside the one before, and takes its place when all that it names is
// there.
import { KEEPS as can } from "../review/workview.js";
import { sessionOf } from "./session.js";

export { can };

const FOLDER = "sessions",
  KNOWN = "mrprism-sessions",
  LIST = "session.json";

const folder = async (create) =>
  (await navigator.storage.getDirectory()).getDirectoryHandle(FOLDER, { create });
const flat = (name) => name.replaceAll("/", "_"),
  deep = (name) => name.replace("_", "/");

// hold resolves to whether this tab has the session for itself until release. A page that keeps
// nothing holds nothing.
const held = new Map();
export const hold = (id) =>
  !can || !id || held.has(id)
    ? Promise.resolve(true)
    : new Promise((resolve) => {
        navigator.locks.request(`mrprism-session-${id}`, { ifAvailable: true }, (lock) =>
          lock
            ? new Promise((release) => {
                held.set(id, release);
                resolve(true);
              })
            : resolve(false),
        );
      });
export function release(id) {
  held.get(id)?.();
  held.delete(id);
}

async function write(place, name, blob) {
  const handle = await place.getFileHandle(name, { create: true }),
    writing = await handle.createWritable(); // the file is empty until close
  await writing.write(blob).catch(async (error) => {
    await writing.abort().catch(() => {});
    throw error;
  });
  await writing.close();
  return handle;
}
// put writes the files of a session, each { name, blob }, as filesOf (session.js) names them by
// their content. It removes files that no reading names any more.
export async function put(id, files) {
  const place = await (await folder(true)).getDirectoryHandle(id, { create: true }),
    [list, ...others] = files,
    named = new Map(others.map(({ name, blob }) => [flat(name), blob])),
    there = new Map();
  remembered(true);
  for await (const [name, handle] of place.entries()) there.set(name, handle);
  for (const [name, blob] of named)
    if ((await there.get(name)?.getFile())?.size !== blob.size) await write(place, name, blob);
  await (await write(place, `${LIST}.${crypto.randomUUID()}`, list.blob)).move(LIST);
  for (const name of there.keys())
    if (name !== LIST && !named.has(name)) await place.removeEntry(name).catch(() => {}); // the next save removes it
}

// filesOf resolves to the files of a kept session by name, in the form of readZIP. All but images
// are copied, since put may remove them.
export async function filesOf(id) {
  const place = await (await folder(false)).getDirectoryHandle(id),
    files = new Map();
  for await (const [name, handle] of place.entries()) {
    const file = await handle.getFile();
    files.set(
      deep(name),
      Object.assign(
        async ({ later = false } = {}) => {
          const blob = name.startsWith("images_") ? file : new Blob([await file.arrayBuffer()]);
          return later ? () => blob : blob;
        },
        { size: file.size },
      ),
    );
  }
  return files;
}

// all resolves to what is kept, the last one first: a session's JSON, with the id, or { id, refused
// } with the error of one that cannot be read. That stays until a person forgets it.
export async function all() {
  if (!can) return [];
  const place = await folder(false).catch((error) => {
      if (error.name !== "NotFoundError") throw error;
    }),
    list = [];
  if (place)
    for await (const id of place.keys()) {
      list.push(
        await filesOf(id)
          .then((files) => sessionOf(files, id))
          .then(
            (session) => ({ ...session, id }),
            (refused) => ({ id, refused }),
          ),
      );
    }
  remembered(list.length > 0);
  return list.sort((a, b) => (b.saved ?? "").localeCompare(a.saved ?? ""));
}
export async function forget(id) {
  await (await folder(true)).removeEntry(id, { recursive: true }).catch((error) => {
    if (error.name !== "NotFoundError") throw error;
  });
}

// The page looks for kept sessions only if it may find one.
function remembered(any) {
  try {
    if (any) localStorage.setItem(KNOWN, "yes");
    else localStorage.removeItem(KNOWN);
  } catch {
    /* a private window */
  }
}
