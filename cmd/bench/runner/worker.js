// The worker of bench -browser: it runs bench.wasm beside gpu.js, as the site's worker runs the segmenter.
import "./wasm_exec.js";
import "./gpu.js";

let sent = Promise.resolve(); // in order
globalThis.benchTell = (kind, text) => { sent = sent.then(() => fetch(`/tell/${kind}`, { method: "POST", body: text })); };

try {
  globalThis.benchOptions = await (await fetch("/options")).text();
  globalThis.benchWeights = new Uint8Array(await (await fetch("/weights")).arrayBuffer());
  const go = new Go();
  const { instance } = await WebAssembly.instantiateStreaming(fetch("/bench.wasm"), go.importObject);
  await go.run(instance);
  benchTell("error", "the program crashed");
} catch (error) {
  benchTell("error", String(error?.stack ?? error));
}
