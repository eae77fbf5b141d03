// The worker of bench -browser runs bench.wasm beside gpu.js, as the site's worker runs the
// segmenter. Its address names the device, and with ?peer= its name among the peers.
import "./wasm_exec.js";
import "./vectors.js";
import "./gpu.js";
import { answerJobs } from "./jobs.mjs";

let sent = Promise.resolve(); // keeps the messages in order
globalThis.benchTell = (kind, text) => {
  sent = sent.then(() => fetch(`/tell/${kind}`, { method: "POST", body: text }));
};

const parameters = new URLSearchParams(location.search);
globalThis.benchDevice = parameters.get("device");
if (parameters.has("threads")) globalThis.mostThreads = Number(parameters.get("threads"));
globalThis.benchIsPeer = parameters.has("peer");
globalThis.benchReady = (ask) =>
  answerJobs("", parameters.get("peer"), (job) => ask(JSON.stringify(job))).catch((error) =>
    benchTell("error", String(error)),
  );

try {
  globalThis.benchOptions = await (await fetch("/options")).text();
  globalThis.benchWeights = new Uint8Array(await (await fetch("/weights")).arrayBuffer());
  const go = new Go();
  await go.run(await go.load("/bench.wasm"));
  benchTell("error", "the program crashed");
} catch (error) {
  benchTell("error", String(error?.stack ?? error));
}
