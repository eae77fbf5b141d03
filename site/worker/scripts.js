// The scripts of workers, and modules that come later. Browsers check no integrity for them: sw.js
// withholds scripts that are not as published. Without a service worker, as on plain http, the page
// itself checks those of workers first.
import { check as intact, published } from "../page/addresses.js";
import { scripts } from "../page/build.js";

// Only these addresses may become scripts: the content security policy allows no other source
// of worker URLs.
const policy = globalThis.trustedTypes?.createPolicy("mrprism", {
  createScriptURL(url) {
    if (url === "worker.js" || url === "trainer.js" || url === "sw.js") return url;
    throw new TypeError(`not a script of this page: ${url}`);
  },
});
export const scriptURL = (name) => (policy ? policy.createScriptURL(name) : name);

// wanted loads a module that the page does not start with. names are its own and those of modules
// that only it imports.
export async function wanted(...names) {
  await Promise.all(names.map(intact)); // an import has no integrity
  return import(`./${names[0]}`);
}

// startWorker resolves to the worker that computes.
export async function startWorker() {
  await guarded();
  return new Worker(scriptURL("worker.js"), { type: "module", name: location.search });
}

// guarded resolves once sw.js answers for the page, or the worker's scripts have been checked. It
// throws the errors of published.
export async function guarded() {
  if (!(await (answered ??= answers()))) await check();
}
let answered;
// A service worker that takes over from another one may be of another version than the page.
let controlled = Boolean(navigator.serviceWorker?.controller);
navigator.serviceWorker?.addEventListener("controllerchange", () => {
  if (controlled) answered = Promise.resolve(false);
  controlled = true;
});

// check throws if a script of the worker does not come as published.
export async function check() {
  for (const [name, sum] of Object.entries(scripts)) await published(name, sum);
}

// answers resolves to whether sw.js answers for the page: not if the browser has no service
// workers, nor if the page was loaded past sw.js and may be of another version.
async function answers() {
  const { serviceWorker } = navigator;
  if (!serviceWorker || serviceWorker.controller) return Boolean(serviceWorker);
  try {
    const { active, installing, waiting } = await serviceWorker.register(scriptURL("sw.js")),
      first = installing ?? waiting;
    if (active || serviceWorker.controller) return Boolean(serviceWorker.controller);
    return await new Promise((resolve) => {
      serviceWorker.addEventListener("controllerchange", () => resolve(true), { once: true });
      first.addEventListener("statechange", () => {
        if (first.state === "redundant") resolve(false);
      });
    });
  } catch {
    return false;
  }
}
