// Offline use, and when a newer version takes over: only while nothing is open, in any page. sw.js keeps the files and looks for other pages.
import { scriptURL } from "./segmenter.js";

const AGAIN = 5e3; // ms until a page asks again: another may be closing, or have work to end
const DAY = 864e5; // ms

// keepOffline registers sw.js, unless data is to be saved. empty: () whether this page has nothing open; it then asks for a version that waits, and is
// loaded anew with it; a kiosk's page may stay open for weeks, and looks for one every day.
export async function keepOffline(empty) {
  const { serviceWorker, connection, storage } = navigator;
  if (!serviceWorker || connection?.saveData) return;
  let controlled = Boolean(serviceWorker.controller); // not on the first visit, whose version the page has
  serviceWorker.addEventListener("controllerchange", () => { if (controlled && empty()) location.reload(); controlled = true; });
  try {
    const registration = await serviceWorker.register(scriptURL("sw.js"));
    storage?.persist?.().catch(() => {}); // the browser may say no
    const ask = () => {
      if (!empty() || !registration.waiting || !serviceWorker.controller) return;
      registration.waiting.postMessage("activate");
      setTimeout(ask, AGAIN);
    };
    const watch = () => registration.installing?.addEventListener("statechange", ask);
    registration.addEventListener("updatefound", watch);
    watch();
    ask();
    setInterval(() => { if (empty()) registration.update().catch(() => {}); }, DAY); // without a network it stays as it is
  } catch (error) { console.info("offline use is not available:", error.message); }
}
