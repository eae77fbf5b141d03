// The worker that computes. It starts segmenter.wasm, which answers the page's messages itself.
// wasm/segmenter uses the functions that are set on globalThis here.
import "./wasm_exec.js";
import "./vectors.js";
import "./gpu.js";
import "./decoding.js";
import { get, served, stream } from "../page/addresses.js";

// The value of an option in the page's address (?precision=f16), or "".
globalThis.mrprismWish = (name) => new URLSearchParams(globalThis.name).get(name) ?? "";

// mrprismDownload resolves to the bytes of a file. It calls tell with the number of bytes so far,
// and ends when tell returns false, or when nothing comes for STALLED ms. With anew the bytes are
// those that were published, whatever caches keep.
const STALLED = 60e3;
globalThis.mrprismDownload = async (name, anew, tell) => {
  const ending = new AbortController(),
    stalled = () => ending.abort(new Error("nothing came for a minute"));
  let timer = setTimeout(stalled, STALLED);
  const response = await (anew ? get : stream)(name, ending.signal).catch(() => {
    throw new Error("the site does not answer, and this browser has not kept the model");
  });
  if (!response.ok) throw new Error(`${name}: the server answered ${response.status}`);
  const parts = [];
  let received = 0;
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    clearTimeout(timer);
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    parts.push(value);
    received += value.length;
    timer = setTimeout(stalled, STALLED);
    if (tell(received)) continue;
    await reader.cancel();
    throw new Error("nobody waits for it any more");
  }
};

try {
  const go = new Go(),
    offered = served(),
    program = await go.load("segmenter.wasm", get);
  const { models, archive } = await offered;
  globalThis.mrprismServed = JSON.stringify(models);
  if (archive) postMessage({ type: "archive" });
  await go.run(program);
  postMessage({ type: "crashed", message: "it ended" });
} catch (error) {
  postMessage({
    type: "crashed",
    message: String(error?.message ?? error),
    changed: error?.changed,
  });
}
