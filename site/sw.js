// The service worker keeps the page for use without a network. Each version has a cache, which is
// filled and checked by hash before it is used; the cache of the version before stays. A new
// version takes over when no page of the old one is open, or when a page without an image asks for
// it and no other page is open, which may have an image.
const VERSION = "/*VERSION*/";
const FILES = /*FILES*/{};
// Caches belong to the origin, which may have other deployments.
const PREFIX = `mrprism-${new URL(registration.scope).pathname}-`;

const address = (name) => new URL(name, registration.scope).href;

async function sum(response) {
  const digest = await crypto.subtle.digest("SHA-256", await response.clone().arrayBuffer());
  return [...new Uint8Array(digest)].map((b) => b.toString(16).padStart(2, "0")).join("");
}

async function fill() {
  const cache = await caches.open(PREFIX + VERSION);
  for (const [name, wanted] of Object.entries(FILES)) {
    const url = address(name), kept = await caches.match(url);
    let response = kept && (await sum(kept)) === wanted ? kept : await fetch(url, { cache: "no-cache" });
    if (!response.ok || (await sum(response)) !== wanted) throw new Error(`${name} is not of this version`);
    // Browsers open no page from a response that was redirected.
    await cache.put(url, response.redirected ? new Response(response.body, { headers: response.headers }) : response);
  }
}

addEventListener("install", (event) => event.waitUntil(fill()));

addEventListener("activate", (event) => event.waitUntil((async () => {
  const names = await caches.keys(), ours = names.filter((name) => name.startsWith(PREFIX) && name !== PREFIX + VERSION);
  // The first versions named no scope.
  const old = names.filter((name) => /^mrprism-[^/]*$/.test(name));
  // Names are in order of creation.
  await Promise.all([...ours.slice(0, -1), ...old].map((name) => caches.delete(name)));
  await clients.claim(); // the page of the first visit too
})()));

addEventListener("message", (event) => { if (event.data === "activate") event.waitUntil(takeOver()); });

async function takeOver() {
  // A worker that waits controls no page.
  const pages = await clients.matchAll({ type: "window", includeUncontrolled: true });
  if (pages.filter(({ url }) => url.startsWith(registration.scope)).length === 1) await skipWaiting();
}

addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  url.hash = url.search = "";
  if (event.request.method !== "GET" || !url.href.startsWith(registration.scope)) return;
  const name = url.href.slice(registration.scope.length) || "index.html";
  if (name in FILES) event.respondWith((async () => {
    const cache = await caches.open(PREFIX + VERSION), kept = await cache.match(address(name));
    if (kept) return kept;
    // The kept copy was damaged, and mrprismForget dropped it.
    const response = await fetch(event.request), copy = response.clone();
    event.waitUntil(sum(copy).then((is) => (is === FILES[name] ? cache.put(address(name), copy) : undefined)).catch(() => {}));
    return response;
  })());
});
