// The worker in which everything is computed: it starts the program segmenter.wasm, which answers the page's messages itself.
import "./wasm_exec.js";
import "./vectors.js";
import "./gpu.js";

// What the page's address asks for (?precision=f16, ?measure=off), and what is remembered from visit to visit, by key. For wasm/segmenter.
globalThis.mrprismWishes = new URLSearchParams(globalThis.name);
globalThis.mrprismMemory = { get: (key) => inMemory("readonly", (store) => store.get(key)), put: (key, value) => inMemory("readwrite", (store) => store.put(value, key)) };

const settled = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error); });
async function inMemory(mode, act) {
  const opening = indexedDB.open("mrprism", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore("memory");
  const database = await settled(opening);
  try { return await settled(act(database.transaction("memory", mode).objectStore("memory"))); } finally { database.close(); }
}

// Download address whole, telling the bytes received as they come, until tell returns false. For wasm/segmenter.
globalThis.mrprismDownload = async (address, tell) => {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: the server answered ${response.status}`);
  const parts = [];
  let received = 0;
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    received += value.length;
    if (!tell(received)) {
      await reader.cancel();
      throw new Error("nobody waits for it any more");
    }
  }
  const all = new Uint8Array(received);
  let at = 0;
  for (const part of parts) { all.set(part, at); at += part.length; }
  return all;
};

// Forget the copies of address that the page keeps for use without a network; whether there were any. For wasm/segmenter.
globalThis.mrprismForget = async (address) => {
  let forgotten = false;
  for (const name of await globalThis.caches?.keys() ?? []) if (await (await caches.open(name)).delete(new URL(address, location.href).href)) forgotten = true;
  return forgotten;
};

try {
  const go = new Go();
  await go.run(await go.load("segmenter.wasm"));
  postMessage({ type: "crashed", message: "it ended" });
} catch (error) {
  postMessage({ type: "crashed", message: String(error?.message ?? error) });
}
