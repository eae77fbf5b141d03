// The scripts of workers. They take no integrity: sw.js withholds those that are not as they were
// published. Where there is no service worker, as on plain http, the page itself looks at them
// before.
import { published } from "./addresses.js";
import { scripts } from "./build.js";

// Only these two addresses may become scripts: the content security policy admits no other source
// of worker URLs.
const policy = globalThis.trustedTypes?.createPolicy("mrprism", {
  createScriptURL(url) {
    if (url === "worker.js" || url === "sw.js") return url;
    throw new TypeError(`not a script of this page: ${url}`);
  },
});
export const scriptURL = (name) => (policy ? policy.createScriptURL(name) : name);

// guarded resolves once sw.js answers for the page, or the scripts of the worker have been looked
// at. It throws what published does.
export async function guarded() { if (!await (answered ??= answers())) await check(); }
let answered;

// check throws where a script of the worker does not come as it was published.
export async function check() { for (const [name, sum] of Object.entries(scripts)) await published(name, sum); }

// answers resolves to whether sw.js answers for the page. Browsers without it have none; a page
// that was loaded past it may be of another version.
async function answers() {
  const { serviceWorker } = navigator;
  if (!serviceWorker || serviceWorker.controller) return Boolean(serviceWorker);
  try {
    const { active, installing, waiting } = await serviceWorker.register(scriptURL("sw.js")), first = installing ?? waiting;
    if (active || serviceWorker.controller) return Boolean(serviceWorker.controller);
    return await new Promise((resolve) => {
      serviceWorker.addEventListener("controllerchange", () => resolve(true), { once: true });
      first.addEventListener("statechange", () => { if (first.state === "redundant") resolve(false); });
    });
  } catch { return false; }
}
