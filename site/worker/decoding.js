// Decodes pictures that Go cannot read, for wasm/segmenter, each in a worker of its own. name is
// the name of a decoder: openjpeg, openjph or charls.
import { check, has } from "../page/addresses.js";

const LONGEST = 30e3; // ms

// mrprismDecodes says whether this page was built with a decoder.
globalThis.mrprismDecodes = (name) => has(`${name}.wasm`);

// mrprismDecode resolves to { samples, planar }, to { error } if the picture cannot be decoded, or
// to { missing }, the reason why the decoder could not be loaded.
globalThis.mrprismDecode = async (name, bytes, form) => {
  try {
    // A worker's scripts take no integrity. That of a package has them all, and was checked.
    if (!globalThis.mrprismFiles)
      for (const script of ["codec.js", `${name}.js`]) await check(script);
  } catch (error) {
    return { missing: error.message };
  }
  return new Promise((resolve) => {
    const worker = new Worker(globalThis.mrprismScript("codec.js"), {
      type: "module",
      name: "codec.js",
    });
    const end = (outcome) => {
      clearTimeout(timer);
      worker.terminate();
      resolve(outcome);
    };
    const timer = setTimeout(end, LONGEST, {
      error: `it was not decoded within ${LONGEST / 1000} seconds`,
    });
    worker.onmessage = ({ data }) => end(data);
    worker.onerror = (event) => {
      event.preventDefault();
      end({ missing: event.message || "codec.js could not be loaded" });
    };
    worker.postMessage({ name, bytes, form }, [bytes.buffer]);
  });
};
