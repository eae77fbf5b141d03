// The worker that decodes one compressed picture. Ending it, at any time, also frees its memory.
// The decoders are those of npm's @cornerstonejs/codec-openjpeg, codec-charls and codec-openjph;
// each is a module by Emscripten, and is loaded when it is needed.
import { get } from "../page/addresses.js";

const DECODERS = { openjpeg: "J2KDecoder", openjph: "HTJ2KDecoder", charls: "JpegLSDecoder" };

const PAGE = 65536,
  MOST = 1 << 30; // bytes of memory

// bounded keeps a program's memory from growing beyond MOST.
function bounded({ exports }) {
  const memory = Object.values(exports).find((value) => value instanceof WebAssembly.Memory),
    { grow } = memory;
  memory.grow = (pages) => {
    if (memory.buffer.byteLength + pages * PAGE > MOST) throw new RangeError("too much memory");
    return grow.call(memory, pages);
  };
}

// load resolves to the module of a decoder. said receives what its program prints.
async function load(name, said) {
  const [{ default: start }, code] = await Promise.all([
    globalThis.mrprismDecoders?.[name] ?? import(`./${name}.js`),
    get(`${name}.wasm`).then((response) => response.arrayBuffer()),
  ]);
  return new Promise((resolve, reject) =>
    start({
      print() {},
      printErr: said,
      instantiateWasm(imports, done) {
        WebAssembly.instantiate(code, imports).then(({ instance }) => {
          bounded(instance);
          done(instance);
        }, reject);
        return {};
      },
    }).then(resolve, reject),
  );
}

// decode returns the samples, and whether components follow each other. form is from the header.
function decode(module, name, bytes, form) {
  const decoder = new module[DECODERS[name]]();
  decoder.getEncodedBuffer(bytes.length).set(bytes);
  decoder.decode();
  const { width, height, componentCount, bitsPerSample } = decoder.getFrameInfo();
  if (
    width !== form.width ||
    height !== form.height ||
    componentCount !== form.components ||
    bitsPerSample !== form.bits
  )
    throw new Error("it has no such picture");
  return {
    samples: decoder.getDecodedBuffer().slice(),
    planar: name === "charls" && decoder.getInterleaveMode() === 0,
  };
}

onmessage = async ({ data: { name, bytes, form } }) => {
  let last = "",
    module;
  try {
    module = await load(name, (text) => {
      last = text;
    });
  } catch (error) {
    return postMessage({ missing: String(error?.message ?? error) });
  }
  try {
    const decoded = decode(module, name, bytes, form);
    postMessage(decoded, [decoded.samples.buffer]);
  } catch (error) {
    // an error of C++ is a number
    const message =
      typeof error === "number"
        ? [module.getExceptionMessage?.(error)].flat().at(-1)
        : error?.message;
    postMessage({ error: last || message || "it is damaged" });
  }
};
