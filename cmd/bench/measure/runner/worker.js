// Runs program.wasm beside gpu.js, as the site's worker runs the segmenter. Its address names the
// device, the threads, and a name by which the program may ask for jobs.
import "./wasm_exec.js";
import "./vectors.js";
import "./gpu.js";

let sent = Promise.resolve(); // keeps the messages in order
globalThis.benchTell = (kind, text) => {
  sent = sent.then(() => fetch(`/tell/${kind}`, { method: "POST", body: text }));
};

const parameters = new URLSearchParams(location.search);
globalThis.benchDevice = parameters.get("device");
if (parameters.has("threads")) globalThis.mostThreads = Number(parameters.get("threads"));
globalThis.benchReady = (ask) =>
  import("./jobs.mjs")
    .then((peer) => peer.answerJobs("", parameters.get("name"), (job) => ask(JSON.stringify(job))))
    .catch((error) => benchTell("error", String(error)));

try {
  globalThis.benchOptions = await (await fetch("/options")).text();
  globalThis.benchWeights = new Uint8Array(await (await fetch("/weights")).arrayBuffer());
  const go = new Go();
  await go.run(await go.load("/program.wasm"));
  benchTell("error", "the program crashed");
} catch (error) {
  benchTell("error", String(error?.stack ?? error));
}
