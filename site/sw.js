// The service worker keeps the page for use without a network. Each version has a cache, which is
// filled with FILES and checked by hash before it is used; the cache of the version before stays. A
// model is kept once it is used, or once a page asks for it. A new version has the models that the
// one before kept. It takes over when no page of the old one is open, or when a page without an
// image asks for it and no other page is open, which may have an image.
const VERSION = "/*VERSION*/";
const FILES = /*FILES*/{};
const MODELS = /*MODELS*/{};
const ALL = { ...FILES, ...MODELS };
// Caches belong to the origin, which may have other deployments.
const PREFIX = `mrprism-${new URL(registration.scope).pathname}-`;

const address = (name) => new URL(name, registration.scope).href;
const HASHED = /^v\/([0-9a-f]{24})\/(.*)$/; // addresses.js makes such addresses
// sources are the requests that may bring a file: of heavy ones first that of the page, which the
// browser may have already.
const sources = (name) => [
  ...(/\.(wasm|safetensors)$/.test(name) ? [new Request(address(`v/${ALL[name].slice(0, 24)}/${name}`))] : []),
  new Request(address(name), { cache: "no-cache" }),
];

async function sum(response) {
  const digest = await crypto.subtle.digest("SHA-256", await response.clone().arrayBuffer());
  return [...new Uint8Array(digest)].map((b) => b.toString(16).padStart(2, "0")).join("");
}

// adopt puts a file into this version's cache if another cache has it as it is in this version. It
// reports whether it is there.
async function adopt(name) {
  const cache = await caches.open(PREFIX + VERSION), url = address(name);
  if (await cache.match(url)) return true;
  for (const other of await caches.keys()) {
    const kept = await (await caches.open(other)).match(url);
    if (!kept || (await sum(kept)) !== ALL[name]) continue;
    await cache.put(url, kept);
    return true;
  }
  return false;
}

async function keep(name) {
  if (await adopt(name)) return;
  for (const source of sources(name)) {
    const response = await fetch(source);
    if (!response.ok || (await sum(response)) !== ALL[name]) continue;
    const cache = await caches.open(PREFIX + VERSION);
    // Browsers open no page from a response that was redirected.
    return cache.put(address(name), response.redirected ? new Response(response.body, { headers: response.headers }) : response);
  }
  throw new Error(`${name} is not of this version`);
}

async function fill() {
  for (const name in FILES) await keep(name);
  // What the version before kept stays there for use without a network, also where it has changed.
  for (const name in MODELS) if (await caches.match(address(name))) await keep(name);
}

addEventListener("install", (event) => event.waitUntil(fill()));

addEventListener("activate", (event) => event.waitUntil((async () => {
  for (const name in MODELS) await adopt(name); // used since this version was filled
  const names = await caches.keys(), ours = names.filter((name) => name.startsWith(PREFIX) && name !== PREFIX + VERSION);
  // The first versions named no scope.
  const old = names.filter((name) => /^mrprism-[^/]*$/.test(name));
  // Names are in order of creation.
  await Promise.all([...ours.slice(0, -1), ...old].map((name) => caches.delete(name)));
  await clients.claim(); // the page of the first visit too
})()));

addEventListener("message", (event) => event.waitUntil(event.data === "activate" ? takeOver() : keepModels(event.data.keep, event.ports[0])));

async function takeOver() {
  // A worker that waits controls no page.
  const pages = await clients.matchAll({ type: "window", includeUncontrolled: true });
  if (pages.filter(({ url }) => url.startsWith(registration.scope)).length === 1) await skipWaiting();
}

const coming = new Map(); // files that a page is answered with and that will then be kept

// keepModels keeps models and answers with the names of all that are kept. error says why one is not.
async function keepModels(names, port) {
  const cache = await caches.open(PREFIX + VERSION), kept = [];
  let error = "";
  for (const name of names.filter((name) => name in MODELS)) {
    await coming.get(name);
    await keep(name).catch(({ message }) => { error = message; });
  }
  for (const name in MODELS) if (await cache.match(address(name))) kept.push(name);
  port.postMessage({ kept, error });
}

addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  url.hash = url.search = "";
  if (event.request.method !== "GET" || !url.href.startsWith(registration.scope)) return;
  const path = url.href.slice(registration.scope.length) || "index.html", [, is = "", name = path] = HASHED.exec(path) ?? [];
  // Another version's file is not here.
  if (Object.hasOwn(ALL, name) && ALL[name].startsWith(is)) event.respondWith((async () => {
    const cache = await caches.open(PREFIX + VERSION), kept = await cache.match(address(name));
    if (kept) return kept;
    // A model is used for the first time. Or a copy was damaged, and mrprismForget dropped it.
    const response = await fetch(event.request), copy = response.clone();
    const put = sum(copy).then((is) => (is === ALL[name] ? cache.put(address(name), copy) : undefined)).catch(() => {});
    coming.set(name, put);
    event.waitUntil(put.finally(() => coming.delete(name)));
    return response;
  })());
});
