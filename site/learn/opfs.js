// The file system of a Go program in a worker. Go's package os calls globalThis.fs as it calls
// Node's (Go's syscall/fs_js.go). Here the files lie in a folder of the browser's private file
// system (OPFS), which outlasts the page, or are Blobs that are only read. Import this module before
// wasm_exec.js.

const FOLDER = "learning"; // Go sees it as /
const flags = {
  O_WRONLY: 1,
  O_RDWR: 2,
  O_CREAT: 64,
  O_EXCL: 128,
  O_TRUNC: 512,
  O_APPEND: 1024,
  O_DIRECTORY: 65536,
};
const FILE = 0o100644,
  DIRECTORY = 0o40755; // modes
const WHOLE = 4e6; // bytes of a file that is read at once; of a larger one only what is asked for

// The errors of Unix, as Go names them, for those of the browser.
const codes = {
  NotFoundError: "ENOENT",
  TypeMismatchError: "ENOTDIR",
  NoModificationAllowedError: "EBUSY",
  InvalidModificationError: "ENOTEMPTY",
  QuotaExceededError: "ENOSPC",
};
const failure = (code) => Object.assign(new Error(code), { code });

const parts = (path) => path.split("/").filter((part) => part && part !== ".");

// Blobs by path. mount gives the program one as a file, of which nothing is copied.
const mounted = new Map();
const named = (names) => `/${names.join("/")}`;
export async function mount(path, blob) {
  await place(path, true); // others may be written beside it
  mounted.set(named(parts(path)), blob);
}
const under = (path) => {
  const folder = `${named(parts(path))}/`;
  return new Set(
    [...mounted.keys()]
      .filter((name) => name.startsWith(folder))
      .map((name) => name.slice(folder.length).split("/")[0]),
  );
};

// folderAt resolves to the handle of a folder.
async function folderAt(names, create = false) {
  let at = await (
    await navigator.storage.getDirectory()
  ).getDirectoryHandle(FOLDER, { create: true });
  for (const name of names) at = await at.getDirectoryHandle(name, { create });
  return at;
}

// place resolves to the folder of a path, and the last name in it.
async function place(path, create) {
  const names = parts(path),
    name = names.pop();
  return [await folderAt(names, create), name];
}

// find resolves to the handle of a file or a folder.
async function find(path) {
  const blob = mounted.get(named(parts(path)));
  if (blob) return { kind: "file", getFile: async () => blob };
  if (under(path).size) return { kind: "directory" };
  const [folder, name] = await place(path);
  if (name === undefined) return folder;
  return folder.getFileHandle(name).catch((error) => {
    if (error.name === "TypeMismatchError") return folder.getDirectoryHandle(name);
    throw error;
  });
}

const UNSAID = { dev: 0, ino: 0, nlink: 1, uid: 0, gid: 0, rdev: 0, blksize: 4096 };
const stat = (size, mode, ms = 0) => ({
  ...UNSAID,
  mode,
  size,
  blocks: Math.ceil(size / 512),
  atimeMs: ms,
  mtimeMs: ms,
  ctimeMs: ms,
  isDirectory: () => mode === DIRECTORY,
});
const statOf = async (handle) => {
  if (handle.kind === "directory") return stat(0, DIRECTORY);
  const { size, lastModified = 0 } = await handle.getFile();
  return stat(size, FILE, lastModified);
};

// An open file has a handle that writes, the bytes to read, or the Blob of a large one; a folder has
// none.
const opened = new Map();
let next = 3;

async function open(path, wanted) {
  const file = { path, at: 0, bytes: null, blob: null, sync: null };
  if (wanted & (flags.O_WRONLY | flags.O_RDWR)) {
    const [folder, name] = await place(path);
    if (wanted & flags.O_EXCL && (await find(path).catch(() => null))) throw failure("EEXIST");
    file.sync = await (
      await folder.getFileHandle(name, { create: Boolean(wanted & flags.O_CREAT) })
    ).createSyncAccessHandle();
    if (wanted & flags.O_TRUNC) file.sync.truncate(0);
    if (wanted & flags.O_APPEND) file.at = file.sync.getSize();
  } else {
    const handle = await find(path);
    const blob = handle.kind === "file" ? await handle.getFile() : null;
    if (blob?.size > WHOLE) file.blob = blob;
    else if (blob) file.bytes = new Uint8Array(await blob.arrayBuffer());
  }
  opened.set(next, file);
  return next++;
}

// What a program prints, and each write to a file, goes to these functions.
export const listeners = { printed: () => {}, wrote: () => {} };
const decoder = new TextDecoder();
const print = (bytes) => {
  listeners.printed(decoder.decode(bytes));
  return bytes.length;
};

// The program's standard input.
let typed = new Uint8Array(),
  wake = () => {};
export function type(line) {
  typed = Uint8Array.of(...typed, ...new TextEncoder().encode(`${line}\n`));
  wake();
}
async function readTyped(to) {
  while (!typed.length)
    await new Promise((go) => {
      wake = go;
    });
  const n = Math.min(to.length, typed.length);
  to.set(typed.subarray(0, n));
  typed = typed.slice(n);
  return n;
}

const size = ({ sync, bytes, blob }) => (sync ? sync.getSize() : (bytes?.length ?? blob.size));
const calls = {
  open,
  async close(fd) {
    opened.get(fd)?.sync?.close();
    opened.delete(fd);
  },
  async read(fd, to, offset, length, at) {
    if (fd === 0) return readTyped(to.subarray(offset, offset + length));
    const file = opened.get(fd),
      from = at ?? file.at;
    const n = Math.max(0, Math.min(length, size(file) - from)),
      part = to.subarray(offset, offset + n);
    if (file.sync) file.sync.read(part, { at: from });
    else if (file.blob)
      part.set(new Uint8Array(await file.blob.slice(from, from + n).arrayBuffer()));
    else part.set(file.bytes.subarray(from, from + n));
    if (at == null) file.at += n;
    return n;
  },
  async write(fd, from, offset, length, at) {
    const part = from.subarray(offset, offset + length);
    if (fd < 3) return print(part);
    const file = opened.get(fd),
      n = file.sync.write(part, { at: at ?? file.at });
    if (n < length) throw failure("ENOSPC");
    if (at == null) file.at += n;
    listeners.wrote(file.path, part);
    return n;
  },
  async fsync(fd) {
    opened.get(fd).sync?.flush();
  },
  async ftruncate(fd, length) {
    opened.get(fd).sync.truncate(length);
  },
  async fstat(fd) {
    const file = opened.get(fd);
    return file && (file.sync || file.bytes || file.blob)
      ? stat(size(file), FILE)
      : stat(0, fd < 3 ? FILE : DIRECTORY);
  },
  async stat(path) {
    return statOf(await find(path));
  },
  async mkdir(path) {
    if (await find(path).catch(() => null)) throw failure("EEXIST");
    const [folder, name] = await place(path);
    await folder.getDirectoryHandle(name, { create: true });
  },
  async readdir(path) {
    const names = under(path);
    if (!names.size) for await (const name of (await folderAt(parts(path))).keys()) names.add(name);
    return [...names];
  },
  async unlink(path) {
    const [folder, name] = await place(path);
    await folder.getFileHandle(name); // a folder is none
    await folder.removeEntry(name);
  },
  async rmdir(path) {
    const [folder, name] = await place(path);
    await folder.removeEntry(name);
  },
  async rename(from, to) {
    const [folder, name] = await place(to);
    await move(await find(from), folder, name);
  },
};
// move moves a file, or a folder with all in it, which browsers do not.
async function move(handle, folder, name) {
  if (handle.kind === "file") return handle.move(folder, name);
  const made = await folder.getDirectoryHandle(name, { create: true });
  for await (const one of handle.values()) await move(one, made, one.name);
  await handle.remove();
}
calls.lstat = calls.stat;
for (const name of ["chmod", "fchmod", "chown", "fchown", "lchown", "utimes"])
  calls[name] = async () => {}; // there is nobody else
for (const name of ["link", "symlink", "readlink", "truncate"])
  calls[name] = async () => {
    throw failure("ENOSYS");
  };

globalThis.fs = { constants: flags, writeSync: (fd, bytes) => print(bytes) };
for (const [name, act] of Object.entries(calls)) {
  globalThis.fs[name] = (...all) => {
    const answer = all.pop();
    act(...all).then(
      (value) => answer(null, value),
      (error) => answer({ code: codes[error.name] ?? error.code ?? "EIO", message: error.message }),
    );
  };
}
globalThis.process = {
  getuid: () => 0,
  getgid: () => 0,
  geteuid: () => 0,
  getegid: () => 0,
  getgroups: () => [],
  pid: 1,
  ppid: 1,
  umask: () => 0,
  cwd: () => "/",
  chdir() {},
};
globalThis.path = { resolve: (...all) => `/${parts(all.join("/")).join("/")}` };

// put writes a whole file, in folders that it makes; remove removes one, or a folder with all in
// it.
export async function put(path, blob) {
  const [folder, name] = await place(path, true),
    sync = await (await folder.getFileHandle(name, { create: true })).createSyncAccessHandle();
  try {
    sync.truncate(0);
    sync.write(new Uint8Array(await blob.arrayBuffer()));
  } finally {
    sync.close();
  }
}
export async function remove(path) {
  const [folder, name] = await place(path, true);
  await folder.removeEntry(name, { recursive: true }).catch((error) => {
    if (error.name !== "NotFoundError") throw error;
  });
}
