// ZIP files and grey PNGs, written and read by the browser's own compression. Only sessions use
// them: the worker writes the other ZIPs (internal/output/archive).
const LOCAL = 0x04034b50, ENTRY = 0x02014b50, END = 0x06054b50; // signatures
const STORED = 0, DEFLATED = 8;
const LARGEST = 0xffffffff; // bytes of a ZIP without the 64-bit extension
const IN_MEMORY = 512 * 2 ** 20; // bytes that readZIP reads at once, at most
const SMALL = 2 ** 16, RUN = 2 ** 22; // bytes of a small file in a ZIP, and of several that are read at once
const utf8 = new TextEncoder(), text = new TextDecoder();

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});
function crcOf(...pieces) {
  let crc = -1;
  for (const bytes of pieces) for (let i = 0; i < bytes.length; i++) crc = TABLE[(crc ^ bytes[i]) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

const through = (bytes, stream) => new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer().then((made) => new Uint8Array(made));

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
  const parts = [], list = [];
  let at = 0;
  for await (const { name, blob } of files) {
    const plain = new Uint8Array(await blob.arrayBuffer()), small = name.endsWith(".json"), bytes = small ? await through(plain, new CompressionStream("deflate-raw")) : plain;
    const called = utf8.encode(name), common = [[2, 20], [2, 0x800], [2, small ? DEFLATED : STORED], [4, 0x210000], [4, crcOf(plain)], [4, bytes.length], [4, plain.length], [2, called.length]];
    const local = record([[4, LOCAL], ...common, [2, 0]], called);
    list.push(record([[4, ENTRY], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [2, 0], [4, 0], [4, at]], called));
    parts.push(local, small ? new Blob([bytes]) : blob);
    at += local.size + bytes.length;
    if (at > LARGEST) throw new RangeError("larger than 4 GB");
  }
  const size = list.reduce((sum, one) => sum + one.size, 0);
  return new Blob([...parts, ...list, record([[4, END], [2, 0], [2, 0], [2, list.length], [2, list.length], [4, size], [4, at], [2, 0]])], { type: "application/zip" });
}

// readZIP resolves to { files, whole }: the files of a ZIP by name, each a function that resolves
// to its Blob and throws if it is damaged. later: it resolves to a function that makes the Blob, since
// a browser takes half a millisecond for each. unread: the caller compares the content itself, and a
// stored file is not read. whole is false if the end is missing; files are then those before it.
export async function readZIP(blob) {
  const tail = new DataView(await blob.slice(Math.max(0, blob.size - 65557)).arrayBuffer());
  for (let at = tail.byteLength - 22; at >= 0; at--) {
    if (tail.getUint32(at, true) !== END) continue;
    const from = tail.getUint32(at + 16, true), view = new DataView(await blob.slice(from, from + tail.getUint32(at + 12, true)).arrayBuffer());
    return { files: listed(blob, view, from), whole: true };
  }
  return { files: scanned(blob, new DataView(await blob.slice(0, IN_MEMORY).arrayBuffer())), whole: false };
}

// listed are the files in the list at the end of a ZIP, which begins at byte end. Small files that
// lie side by side are read at once: a thousand reads of a few bytes take seconds.
function listed(blob, view, end) {
  const all = [], files = new Map();
  for (let at = 0; at + 46 <= view.byteLength && view.getUint32(at, true) === ENTRY;) {
    const [length, extra, note] = [28, 30, 32].map((i) => view.getUint16(at + i, true)), name = text.decode(new Uint8Array(view.buffer, at + 46, length));
    const [method, crc, size, local] = [view.getUint16(at + 10, true), ...[16, 20, 42].map((i) => view.getUint32(at + i, true))];
    all.push({ name, length, method, crc, size, local });
    at += 46 + length + extra + note;
  }
  all.sort((a, b) => a.local - b.local);
  let run = null; // { from, to, bytes } of small files, once they are read
  for (const [i, { name, length, method, crc, size, local }] of all.entries()) {
    const to = all[i + 1]?.local ?? end, small = to - local <= SMALL;
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
    files.set(name, async ({ later = false, unread = false } = {}) => {
      const start = await begins(), part = () => blob.slice(start, start + size), make = unread && method === STORED ? part : await plain(part, await read(start, start + size), method, crc, name);
      return later ? make : make();
    });
  }
  return files;
}
// scanned are the whole files at the beginning of a ZIP.
function scanned(blob, view) {
  const files = new Map();
  for (let at = 0; at + 30 <= view.byteLength && view.getUint32(at, true) === LOCAL;) {
    const [method, length, extra] = [8, 26, 28].map((i) => view.getUint16(at + i, true)), [crc, size] = [14, 18].map((i) => view.getUint32(at + i, true));
    const start = at + 30 + length + extra, name = start <= view.byteLength ? text.decode(new Uint8Array(view.buffer, at + 30, length)) : "";
    at = start + size;
    if (at <= view.byteLength) files.set(name, async ({ later = false } = {}) => {
      const part = blob.slice(start, start + size), make = await plain(() => part, await part.arrayBuffer(), method, crc, name);
      return later ? make : make();
    });
  }
  return files;
}
// plain unpacks a file, given its part of a ZIP and the part's content, and resolves to a function
// that makes the file's Blob.
async function plain(part, content, method, crc, name) {
  const packed = new Uint8Array(content), bytes = method === DEFLATED ? await through(packed, new DecompressionStream("deflate-raw")) : packed;
  if ((method !== DEFLATED && method !== STORED) || crcOf(bytes) !== crc) throw new Error(`${name} is damaged`);
  return method === STORED ? part : () => new Blob([bytes]);
}

// writePNG resolves to the Blob of a grey PNG with 8 bits a pixel.
export async function writePNG({ width, height, values }) {
  const rows = new Uint8Array(height * (width + 1)); // each after the byte 0: no filter
  for (let y = 0; y < height; y++) rows.set(values.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  const chunk = (type, data) => {
    const name = utf8.encode(type), ends = new DataView(new ArrayBuffer(8));
    ends.setUint32(0, data.length);
    ends.setUint32(4, crcOf(name, data));
    return [ends.buffer.slice(0, 4), name, data, ends.buffer.slice(4)];
  };
  const head = new DataView(new ArrayBuffer(13));
  head.setUint32(0, width);
  head.setUint32(4, height);
  head.setUint16(8, 0x800); // 8 bits, grey
  const packed = await through(rows, new CompressionStream("deflate"));
  return new Blob([Uint8Array.of(137, 80, 78, 71, 13, 10, 26, 10), ...chunk("IHDR", new Uint8Array(head.buffer)), ...chunk("IDAT", packed), ...chunk("IEND", new Uint8Array(0))], { type: "image/png" });
}

// readPNG resolves to { width, height, values } of a grey PNG.
export async function readPNG(blob) {
  const bitmap = await createImageBitmap(blob, { colorSpaceConversion: "none", premultiplyAlpha: "none" }), { width, height } = bitmap;
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  const { data } = context.getImageData(0, 0, width, height), values = new Uint8Array(width * height);
  for (let i = 0; i < values.length; i++) values[i] = data[4 * i];
  return { width, height, values };
}
