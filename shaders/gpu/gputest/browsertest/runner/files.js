// The file system of a test binary in the browser. The binary's output goes to the server, and the
// server sends files. Nothing can be written. These are the parts of Node's fs, process and path
// that Go's syscall package calls.

const request = (method, address, body) => {
  const r = new XMLHttpRequest();
  r.open(method, address, false); // allowed in workers
  r.responseType = "arraybuffer";
  r.send(body);
  return r;
};

const fault = (code) => Object.assign(new Error(code), { code });

// load returns the {bytes} of a file, or the {names} in a folder with no bytes.
const load = (path) => {
  const absolute = path.startsWith("/") ? path : `${process.cwd()}/${path}`;
  const r = request("GET", `/read?path=${encodeURIComponent(absolute)}`);
  if (r.status === 404) throw fault("ENOENT");
  if (r.status !== 200) throw fault("EIO");
  const bytes = new Uint8Array(r.response);
  if (r.getResponseHeader("Content-Type") !== "application/json") return { bytes };
  return { bytes: new Uint8Array(0), names: JSON.parse(new TextDecoder().decode(bytes)) };
};

const stat = ({ bytes, names }) => ({
  dev: 0,
  ino: 0,
  mode: names ? 0o040755 : 0o100444,
  nlink: 1,
  uid: 0,
  gid: 0,
  rdev: 0,
  size: bytes.length,
  blksize: 4096,
  blocks: Math.ceil(bytes.length / 512),
  atimeMs: 0,
  mtimeMs: 0,
  ctimeMs: 0,
  isDirectory: () => Boolean(names),
});

const open = new Map(); // open files and folders by descriptor: {bytes, names, position}
let last = 2;

// answer calls back with the result of work, or with the error that work throws.
const answer = (callback, work) => {
  let result;
  try {
    result = work();
  } catch (error) {
    callback(error.code ? error : fault("EIO"));
    return;
  }
  callback(null, result);
};

const refuse =
  (code) =>
  (...parameters) =>
    parameters.at(-1)(fault(code));

globalThis.fs = {
  constants: {
    O_WRONLY: 1,
    O_RDWR: 2,
    O_CREAT: 64,
    O_TRUNC: 512,
    O_APPEND: 1024,
    O_EXCL: 128,
    O_DIRECTORY: 65536,
  },
  writeSync(fd, bytes) {
    request("POST", "/output", bytes.slice());
    return bytes.length;
  },
  write(fd, buffer, offset, length, position, callback) {
    answer(callback, () => {
      if (fd > 2) throw fault("EROFS");
      return this.writeSync(fd, buffer.subarray(offset, offset + length));
    });
  },
  open(path, flags, mode, callback) {
    answer(callback, () => {
      if (flags & (1 | 2 | 64)) throw fault("EROFS");
      open.set(++last, { ...load(path), position: 0 });
      return last;
    });
  },
  read(fd, buffer, offset, length, position, callback) {
    answer(callback, () => {
      const file = open.get(fd);
      if (!file) throw fault("EBADF");
      const from = position ?? file.position;
      const part = file.bytes.subarray(from, from + length);
      buffer.set(part, offset);
      if (position === null || position === undefined) file.position += part.length;
      return part.length;
    });
  },
  close(fd, callback) {
    answer(callback, () => {
      open.delete(fd);
    });
  },
  stat(path, callback) {
    answer(callback, () => stat(load(path)));
  },
  lstat(path, callback) {
    answer(callback, () => stat(load(path)));
  },
  fstat(fd, callback) {
    answer(callback, () => {
      if (!open.has(fd)) throw fault("EBADF");
      return stat(open.get(fd));
    });
  },
  readdir(path, callback) {
    answer(callback, () => {
      const { names } = load(path);
      if (!names) throw fault("ENOTDIR");
      return names;
    });
  },
  fsync(fd, callback) {
    callback(null);
  },
  readlink: refuse("EINVAL"),
};
for (const name of [
  "chmod",
  "chown",
  "fchmod",
  "fchown",
  "ftruncate",
  "lchown",
  "link",
  "mkdir",
  "rename",
  "rmdir",
  "symlink",
  "truncate",
  "unlink",
  "utimes",
]) {
  fs[name] = refuse("EROFS");
}

globalThis.process = {
  pid: -1,
  ppid: -1,
  getuid: () => -1,
  getgid: () => -1,
  geteuid: () => -1,
  getegid: () => -1,
  getgroups: () => [],
  umask: () => 0,
  cwd: () => "/",
  chdir() {
    throw fault("ENOSYS");
  },
};
globalThis.path = {
  resolve: (...parts) => parts.slice(parts.findLastIndex((p) => p.startsWith("/"))).join("/"),
};
