// Use without a network. sw.js keeps the page from the first visit, and models that it is asked to
// keep. A newer version takes over only while no page has anything open: sw.js looks for other pages.
import { scriptURL } from "../worker/scripts.js";

const AGAIN = 5e3; // ms until a page asks again: another may be closing, or have work to end
const DAY = 864e5; // ms

// keepOffline makes sw.js keep the whole page, unless the browser should save data. While empty()
// says that this page has nothing open, it activates a waiting version and reloads itself. It looks
// for a newer version every day, since a kiosk's page may stay open for weeks.
export async function keepOffline(empty) {
  const { serviceWorker, connection, storage } = navigator;
  if (!serviceWorker || connection?.saveData) return;
  // A page that was loaded past the service worker already has some version.
  let controlled = Boolean(serviceWorker.controller);
  serviceWorker.addEventListener("controllerchange", () => {
    if (controlled && empty()) location.reload();
    controlled = true;
  });
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
    // Without a network the present version stays.
    setInterval(() => {
      if (empty()) registration.update().catch(() => {});
    }, DAY);
  } catch (error) {
    console.info("offline use is not available:", error.message);
  }
}

// keepModels stores models in the browser, by name. It resolves to { kept, error }: the names of
// all stored models, and why one of the wanted ones is not stored. It never resolves if the browser
// cannot store anything.
export function keepModels(names) {
  asked = asked.then(async () => {
    const { active } = await navigator.serviceWorker.ready,
      { port1, port2 } = new MessageChannel();
    const answer = new Promise((resolve) => {
      port1.onmessage = ({ data }) => resolve(data);
    });
    active.postMessage({ keep: names.map((name) => `weights/${name}.safetensors`) }, [port2]);
    const { kept, error } = await answer;
    const models = kept.filter((file) => file.startsWith("weights/"));
    return {
      kept: models.map((file) => file.slice("weights/".length, -".safetensors".length)),
      error,
    };
  });
  return asked;
}
let asked = navigator.serviceWorker ? Promise.resolve() : new Promise(() => {}); // one at a time
