// ZIP files and grey PNGs, written and read by the browser's own compression. Only sessions use
// them: the worker writes the other ZIPs (internal/output/archive).
const LOCAL = 0x04034b50,
  ENTRY = 0x02014b50,
  END = 0x06054b50; // signatures
const STORED = 0,
  DEFLATED = 8;
const LARGEST = 0xffffffff; // bytes of a ZIP without the 64-bit extension
const IN_MEMORY = 512 * 2 ** 20; // bytes that readZIP reads at once or unpacks, at most
const ENTRIES = 1e5,
  LONGEST = 1000; // files in a ZIP, and bytes of the name of one, at most
const SMALL = 2 ** 16,
  RUN = 2 ** 22; // bytes of a small file in a ZIP, and of several that are read at once
const utf8 = new TextEncoder(),
  text = new TextDecoder();

// Refused is an error for people: why a file is not read, and what to do.
export class Refused extends Error {
  constructor(message, next) {
    super(message);
    this.next = next;
  }
}
// within refuses a session with more of something than any page has saved.
export function within(name, n, most, what) {
  if (!(n <= most))
    throw new Refused(
      `${name} is too large: ${n} ${what}, of at most ${most}.`,
      "Choose a file that “Save session” has made, or another copy of it.",
    );
}
export const once = (make) => {
  let made;
  return () => (made ??= make());
};

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});
function crcOf(...pieces) {
  let crc = -1;
  for (const bytes of pieces)
    for (let i = 0; i < bytes.length; i++) crc = TABLE[(crc ^ bytes[i]) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

const through = (bytes, stream) =>
  new Response(new Blob([bytes]).stream().pipeThrough(stream))
    .arrayBuffer()
    .then((made) => new Uint8Array(made));

// record is the fields of a header in order: [bytes, value] each, then bytes of their own.
function record(fields, ...rest) {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [size]) => sum + size, 0)));
  let at = 0;
  for (const [size, value] of fields) {
    if (size === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += size;
  }
  return new Blob([view, ...rest]);
}

// writeZIP resolves to the Blob of a ZIP of files, each { name, blob }. JSON is compressed. Sizes
// stand before each file, so that the beginning of a ZIP that was cut short can be read.
export async function writeZIP(files) {
  const parts = [],
    list = [];
  let at = 0;
  for await (const { name, blob } of files) {
    const plain = new Uint8Array(await blob.arrayBuffer()),
      small = name.endsWith(".json"),
      bytes = small ? await through(plain, new CompressionStream("deflate-raw")) : plain;
    const called = utf8.encode(name),
      common = [
        [2, 20],
        [2, 0x800],
        [2, small ? DEFLATED : STORED],
        [4, 0x210000],
        [4, crcOf(plain)],
        [4, bytes.length],
        [4, plain.length],
        [2, called.length],
      ];
    const local = record([[4, LOCAL], ...common, [2, 0]], called);
    list.push(
      record(
        [[4, ENTRY], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [2, 0], [4, 0], [4, at]],
        called,
      ),
    );
    parts.push(local, small ? new Blob([bytes]) : blob);
    at += local.size + bytes.length;
    if (at > LARGEST) throw new RangeError("larger than 4 GB");
  }
  const size = list.reduce((sum, one) => sum + one.size, 0);
  return new Blob(
    [
      ...parts,
      ...list,
      record([
        [4, END],
        [2, 0],
        [2, 0],
        [2, list.length],
        [2, list.length],
        [4, size],
        [4, at],
        [2, 0],
      ]),
    ],
    { type: "application/zip" },
  );
}

// readZIP resolves to { files, whole }: the files of a ZIP by name, each a function that resolves
// to its Blob and throws if it is damaged. It has the bytes of the file as size. later: it resolves
// to a function that makes the Blob, since a browser takes half a millisecond for each. unread: the
// caller compares the content itself, and a stored file is not read. whole is false if the end is
// missing; files are then those before it. A ZIP whose list says that it is too large is refused
// before anything is unpacked, and a file with more than the list says is damaged. called is the
// ZIP's name.
export async function readZIP(blob, called = blob.name) {
  const tail = new DataView(await blob.slice(Math.max(0, blob.size - 65557)).arrayBuffer());
  for (let at = tail.byteLength - 22; at >= 0; at--) {
    if (tail.getUint32(at, true) !== END) continue;
    const from = tail.getUint32(at + 16, true),
      view = new DataView(
        await blob
          .slice(from, from + Math.min(tail.getUint32(at + 12, true), IN_MEMORY))
          .arrayBuffer(),
      );
    return { files: listed(blob, view, from, called), whole: true };
  }
  const is = new DataView(await blob.slice(0, 4).arrayBuffer()),
    begins = is.byteLength === 4 && is.getUint32(0, true) === LOCAL;
  return {
    files: begins
      ? scanned(blob, new DataView(await blob.slice(0, IN_MEMORY).arrayBuffer()), called)
      : new Map(),
    whole: false,
  };
}

// checked refuses a ZIP with too many files, too long names, or files that overlap or unpack to too
// much.
function checked(all, blob, called) {
  const sum = (list, field) => list.reduce((n, one) => n + one[field], 0),
    packed = all.filter(({ method }) => method !== STORED);
  within(called, all.length, ENTRIES, "files");
  within(
    called,
    all.reduce((most, { length }) => Math.max(most, length), 0),
    LONGEST,
    "bytes of a name",
  );
  within(called, sum(all, "size"), blob.size, "bytes of its files");
  within(called, sum(packed, "plain"), IN_MEMORY, "bytes unpacked");
}

// listed are the files in the list at the end of a ZIP, which begins at byte end. Small files that
// lie side by side are read at once: a thousand reads of a few bytes take seconds.
function listed(blob, view, end, called) {
  const all = [],
    files = new Map();
  for (
    let at = 0;
    at + 46 <= view.byteLength && view.getUint32(at, true) === ENTRY && all.length <= ENTRIES;
  ) {
    const [length, extra, note] = [28, 30, 32].map((i) => view.getUint16(at + i, true)),
      name = text.decode(
        new Uint8Array(view.buffer, at + 46, Math.min(length, view.byteLength - at - 46)),
      );
    const [method, crc, size, plain, local] = [
      view.getUint16(at + 10, true),
      ...[16, 20, 24, 42].map((i) => view.getUint32(at + i, true)),
    ];
    all.push({ name, length, method, crc, size, plain, local });
    at += 46 + length + extra + note;
  }
  checked(all, blob, called);
  all.sort((a, b) => a.local - b.local);
  let run = null; // { from, to, bytes } of small files, once they are read
  for (const [i, one] of all.entries()) {
    const { name, length, size, local } = one,
      to = all[i + 1]?.local ?? end,
      small = to - local <= SMALL;
    if (!small || !run || to - run.from > RUN) run = small ? { from: local } : null;
    const near = run ?? { from: local };
    near.to = to;
    const read = async (from, to) => {
      if (!small) return blob.slice(from, to).arrayBuffer();
      near.bytes ??= blob.slice(near.from, near.to).arrayBuffer();
      return (await near.bytes).slice(from - near.from, to - near.from);
    };
    const begins = async () => {
      if (to - local === 30 + length + size) return local + 30 + length; // no more fields than in the list
      const head = new DataView(await read(local, local + 30));
      return local + 30 + head.getUint16(26, true) + head.getUint16(28, true);
    };
    files.set(
      name,
      opener(one, async () => {
        const start = await begins();
        return [() => blob.slice(start, start + size), () => read(start, start + size)];
      }),
    );
  }
  return files;
}
// scanned are the whole files at the beginning of a ZIP.
function scanned(blob, view, called) {
  const all = [];
  for (
    let at = 0;
    at + 30 <= view.byteLength && view.getUint32(at, true) === LOCAL && all.length <= ENTRIES;
  ) {
    const [method, length, extra] = [8, 26, 28].map((i) => view.getUint16(at + i, true)),
      [crc, size, plain] = [14, 18, 22].map((i) => view.getUint32(at + i, true));
    const start = at + 30 + length + extra,
      name =
        start <= view.byteLength ? text.decode(new Uint8Array(view.buffer, at + 30, length)) : "";
    at = start + size;
    if (at <= view.byteLength) all.push({ name, length, method, crc, size, plain, start });
  }
  checked(all, blob, called);
  return new Map(
    all.map((one) => [
      one.name,
      opener(one, async () => {
        const part = blob.slice(one.start, one.start + one.size);
        return [() => part, () => part.arrayBuffer()];
      }),
    ]),
  );
}
// opener is the function of a file, as readZIP has it. place resolves to two functions: its part of
// the ZIP, and that part's content. However many ask for a file, it is unpacked once.
function opener({ name, method, crc, size, plain }, place) {
  const unpacked = once(async () => {
    const [part, content] = await place(),
      packed = new Uint8Array(await content()),
      bytes = method === DEFLATED ? await inflated(packed, plain) : packed;
    if ((method !== DEFLATED && method !== STORED) || crcOf(bytes) !== crc)
      throw new Error(`${name} is damaged`);
    return method === STORED ? part : once(() => new Blob([bytes]));
  });
  const open = async ({ later = false, unread = false } = {}) => {
    const make = unread && method === STORED ? (await place())[0] : await unpacked();
    return later ? make : make();
  };
  return Object.assign(open, { size: method === STORED ? size : plain });
}
// inflated resolves to the content of a compressed file, which has a known size.
async function inflated(packed, size) {
  const bytes = new Uint8Array(size),
    pieces = new Blob([packed])
      .stream()
      .pipeThrough(new DecompressionStream("deflate-raw"))
      .getReader();
  for (let at = 0; ;) {
    const { done, value } = await pieces.read();
    if (done && at === size) return bytes;
    if (done || at + value.length > size) {
      pieces.cancel().catch(() => {});
      throw new Error("a compressed file has another size than its ZIP says");
    }
    bytes.set(value, at);
    at += value.length;
  }
}

// writePNG resolves to the Blob of a grey PNG with 8 bits a pixel.
export async function writePNG({ width, height, values }) {
  const rows = new Uint8Array(height * (width + 1)); // each after the byte 0: no filter
  for (let y = 0; y < height; y++)
    rows.set(values.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  const chunk = (type, data) => {
    const name = utf8.encode(type),
      ends = new DataView(new ArrayBuffer(8));
    ends.setUint32(0, data.length);
    ends.setUint32(4, crcOf(name, data));
    return [ends.buffer.slice(0, 4), name, data, ends.buffer.slice(4)];
  };
  const head = new DataView(new ArrayBuffer(13));
  head.setUint32(0, width);
  head.setUint32(4, height);
  head.setUint16(8, 0x800); // 8 bits, grey
  const packed = await through(rows, new CompressionStream("deflate"));
  return new Blob(
    [
      Uint8Array.of(137, 80, 78, 71, 13, 10, 26, 10),
      ...chunk("IHDR", new Uint8Array(head.buffer)),
      ...chunk("IDAT", packed),
      ...chunk("IEND", new Uint8Array(0)),
    ],
    { type: "image/png" },
  );
}

// readPNG resolves to { width, height, values } of a grey PNG, which has to be so large: its header
// is read before a browser takes memory for the picture.
export async function readPNG(blob, wide, high) {
  const head = new DataView(await blob.slice(0, 24).arrayBuffer());
  if (
    head.byteLength < 24 ||
    head.getUint32(0) !== 0x89504e47 ||
    head.getUint32(16) !== wide ||
    head.getUint32(20) !== high
  )
    throw new RangeError("it has another size than the session says");
  const bitmap = await createImageBitmap(blob, {
      colorSpaceConversion: "none",
      premultiplyAlpha: "none",
    }),
    { width, height } = bitmap;
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  const { data } = context.getImageData(0, 0, width, height),
    values = new Uint8Array(width * height);
  for (let i = 0; i < values.length; i++) {
    if (data[4 * i + 3] !== 255) throw new RangeError("it has transparent pixels");
    values[i] = data[4 * i];
  }
  return { width, height, values };
}
