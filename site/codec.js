// The worker that decodes one compressed picture. It can be ended at any time, and its memory with
// it. The decoders are those of npm's @cornerstonejs/codec-openjpeg, codec-charls and
// codec-openjph; each is a module that Emscripten made, and a program that comes when it is wanted.
import { get } from "./addresses.js";

const DECODERS = {
  openjpeg: { script: () => import("./openjpeg.js"), decoder: "J2KDecoder" },
  openjph: { script: () => import("./openjph.js"), decoder: "HTJ2KDecoder" },
  charls: { script: () => import("./charls.js"), decoder: "JpegLSDecoder" },
};

const PAGE = 65536, MOST = 1 << 30; // bytes of memory

// bounded has a program's memory grow no further than MOST.
function bounded({ exports }) {
  const memory = Object.values(exports).find((value) => value instanceof WebAssembly.Memory), { grow } = memory;
  memory.grow = (pages) => {
    if (memory.buffer.byteLength + pages * PAGE > MOST) throw new RangeError("too much memory");
    return grow.call(memory, pages);
  };
}

// load resolves to the module of a decoder. said receives what its program prints.
async function load(name, said) {
  const [{ default: start }, code] = await Promise.all([DECODERS[name].script(), get(`${name}.wasm`).then((response) => response.arrayBuffer())]);
  return new Promise((resolve, reject) => start({
    print() {}, printErr: said,
    instantiateWasm(imports, done) {
      WebAssembly.instantiate(code, imports).then(({ instance }) => { bounded(instance); done(instance); }, reject);
      return {};
    },
  }).then(resolve, reject));
}

// decode gives the samples, and whether each component stands by itself. form is what the header
// says.
function decode(module, name, bytes, form) {
  const decoder = new module[DECODERS[name].decoder]();
  decoder.getEncodedBuffer(bytes.length).set(bytes);
  decoder.decode();
  const { width, height, componentCount, bitsPerSample } = decoder.getFrameInfo();
  if (width !== form.width || height !== form.height || componentCount !== form.components || bitsPerSample !== form.bits) throw new Error("it has no such picture");
  return { samples: decoder.getDecodedBuffer().slice(), planar: name === "charls" && decoder.getInterleaveMode() === 0 };
}

onmessage = async ({ data: { name, bytes, form } }) => {
  let last = "", module;
  try {
    module = await load(name, (text) => { last = text; });
  } catch (error) { return postMessage({ missing: String(error?.message ?? error) }); }
  try {
    const decoded = decode(module, name, bytes, form);
    postMessage(decoded, [decoded.samples.buffer]);
  } catch (error) { // of C++ it is a number
    const message = typeof error === "number" ? [module.getExceptionMessage?.(error)].flat().at(-1) : error?.message;
    postMessage({ error: last || message || "it is damaged" });
  }
};
