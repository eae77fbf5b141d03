// Offline use, and when a newer version takes over: only while nothing is open, in any page. sw.js keeps the files and looks for other pages.
import { scriptURL } from "./segmenter.js";

const AGAIN = 5e3; // ms until a page asks again: another may be closing, or have work to end

// keepOffline registers sw.js. empty: () whether this page has nothing open; it then asks for a version that waits, and is loaded anew with it.
export async function keepOffline(empty) {
  const { serviceWorker } = navigator;
  if (!serviceWorker) return;
  try {
    const registration = await serviceWorker.register(scriptURL("sw.js"));
    if (!registration.waiting || !serviceWorker.controller) return;
    serviceWorker.addEventListener("controllerchange", () => { if (empty()) location.reload(); }, { once: true });
    const ask = () => {
      if (!empty() || !registration.waiting) return;
      registration.waiting.postMessage("activate");
      setTimeout(ask, AGAIN);
    };
    ask();
  } catch (error) { console.info("offline use is not available:", error.message); }
}
