// Use without a network. sw.js keeps the page from the first visit, and models that it is asked to
// keep. A newer version takes over only while no page has anything open: sw.js looks for other pages.
import { scriptURL } from "./scripts.js";

const AGAIN = 5e3; // ms until a page asks again: another may be closing, or have work to end
const DAY = 864e5; // ms

// keepOffline has sw.js keep the whole page, unless the browser is to save data. While empty() says
// that this page has nothing open, the page asks for a version that waits, and loads itself anew
// with it. It looks for a newer version every day: a kiosk's page may stay open for weeks.
export async function keepOffline(empty) {
  const { serviceWorker, connection, storage } = navigator;
  if (!serviceWorker || connection?.saveData) return;
  // A page that was loaded past the worker has a version already.
  let controlled = Boolean(serviceWorker.controller);
  serviceWorker.addEventListener("controllerchange", () => { if (controlled && empty()) location.reload(); controlled = true; });
  try {
    const registration = await serviceWorker.register(scriptURL("sw.js"));
    storage?.persist?.().catch(() => {}); // the browser may say no
    registration.active?.postMessage("fill");
    const ask = () => {
      if (!empty() || !registration.waiting || !serviceWorker.controller) return;
      registration.waiting.postMessage("activate");
      setTimeout(ask, AGAIN);
    };
    const watch = () => registration.installing?.addEventListener("statechange", ask);
    registration.addEventListener("updatefound", watch);
    watch();
    ask();
    // Without a network the version stays.
    setInterval(() => { if (empty()) registration.update().catch(() => {}); }, DAY);
  } catch (error) { console.info("offline use is not available:", error.message); }
}

// keepModels has the browser keep models, by name. It resolves to { kept, error }: the names of all
// models that it keeps now, and why one of those asked for is not kept. It never resolves where the
// browser keeps nothing.
export function keepModels(names) {
  asked = asked.then(async () => {
    const { active } = await navigator.serviceWorker.ready, { port1, port2 } = new MessageChannel();
    const answer = new Promise((resolve) => { port1.onmessage = ({ data }) => resolve(data); });
    active.postMessage({ keep: names.map((name) => `weights/${name}.safetensors`) }, [port2]);
    const { kept, error } = await answer;
    const models = kept.filter((file) => file.startsWith("weights/"));
    return { kept: models.map((file) => file.slice("weights/".length, -".safetensors".length)), error };
  });
  return asked;
}
let asked = navigator.serviceWorker ? Promise.resolve() : new Promise(() => {}); // one after the other
