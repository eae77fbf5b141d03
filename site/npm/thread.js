// A worker of Node, as worker.txt expects one of a browser.
import { createHash, webcrypto } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { Worker as Thread, parentPort, workerData } from "node:worker_threads";

const { files, name } = workerData,
  { fetch } = globalThis;
Object.assign(globalThis, {
  name,
  mrprismFiles: files,
  location: import.meta,
  crossOriginIsolated: true, // threads may share memory
  require: createRequire(import.meta.url), // the decoders' scripts ask for it
  __dirname: "",
  postMessage: (message, transfer) => parentPort.postMessage(message, transfer),
  // Node fetches no files.
  async fetch(address, options = {}) {
    if (!address.startsWith("file:")) return fetch(address, options);
    const bytes = await readFile(new URL(address)),
      sum = createHash("sha256").update(bytes).digest("base64");
    if ((options.integrity ?? `sha256-${sum}`) !== `sha256-${sum}`)
      throw new TypeError(`${address} has another sum`);
    return new Response(bytes, { headers: { "Content-Type": "application/wasm" } });
  },
  Worker: class {
    #thread;
    constructor(_, { name }) {
      this.#thread = new Thread(new URL(import.meta.url), { workerData: { files, name } });
      this.#thread.on("message", (data) => this.onmessage?.({ data }));
      this.#thread.on("error", ({ message }) => this.onerror?.({ message, preventDefault() {} }));
    }
    postMessage = (...all) => this.#thread.postMessage(...all);
    terminate = () => this.#thread.terminate();
  },
});
globalThis.crypto ??= webcrypto;
globalThis.navigator ??= { hardwareConcurrency: availableParallelism() };
// Messages wait until somebody listens.
Object.defineProperty(globalThis, "onmessage", {
  set: (hear) => parentPort.on("message", (data) => hear({ data })),
});
const script = await readFile(new URL(files["worker.txt"]));
await import(`data:text/javascript;base64,${script.toString("base64")}`);
