// The service worker answers only with files as published, since browsers check no integrity of
// worker scripts. It keeps the page for use without a network. Each version has a cache. The first
// one is filled while it is used, and as a whole once a page asks for that; a later version is
// filled before it is used, and the cache of the version before stays. A model is kept once it is
// used, or once a page asks for it, and a decoder once it is used. A new version takes over models
// and decoders that the old one kept. It becomes active when no page of the old one is open, or
// when a page without an image asks for it and no other page is open, which may have an image.
const VERSION = "/*VERSION*/";
const FILES = /*FILES*/ {};
const MODELS = /*MODELS*/ {}; // and decoders
const WANTED = /*WANTED*/ []; // modules that no page starts with
const ALL = { ...FILES, ...MODELS };
// Caches belong to the origin, which may have other deployments.
const PREFIX = `mrprism-${new URL(registration.scope).pathname}-`;

const address = (name) => new URL(name, registration.scope).href;
const HASHED = /^v\/([0-9a-f]{24})\/(.*)$/; // addresses.js makes such addresses
const HEAVY = /\.(wasm|safetensors)$/;
// sources are the requests that may bring a file, for heavy ones first the page's own request. The
// browser's copy may be damaged, and so the others go past its cache.
const sources = (name) =>
  (HEAVY.test(name) ? [`v/${ALL[name].slice(0, 24)}/${name}`, name] : [name]).flatMap((at) =>
    ["force-cache", "reload"].map((cache) => new Request(address(at), { cache })),
  );

// right reports whether an answer has the bytes of a file of this version.
async function right(name, response) {
  const digest = await crypto.subtle.digest("SHA-256", await response.clone().arrayBuffer());
  return (
    [...new Uint8Array(digest)].map((b) => b.toString(16).padStart(2, "0")).join("") === ALL[name]
  );
}

const put = async (name, response) =>
  (await caches.open(PREFIX + VERSION)).put(address(name), response);

// kept resolves to the copy of a file, which this version's cache then has, or to undefined. A
// damaged copy does not count.
async function kept(name) {
  for (const place of new Set([PREFIX + VERSION, ...(await caches.keys())])) {
    const copy = await (await caches.open(place)).match(address(name));
    if (!copy || !(await right(name, copy))) continue;
    if (place !== PREFIX + VERSION) await put(name, copy.clone());
    return copy;
  }
}

// bring fetches a file.
async function bring(name) {
  for (const source of sources(name)) {
    const response = await fetch(source).catch(() => null);
    if (!response?.ok || !(await right(name, response))) continue;
    // Browsers open no page from a response that was redirected.
    return response.redirected
      ? new Response(response.body, { headers: response.headers })
      : response;
  }
  throw new Error(`${name} is not of this version`);
}

async function keep(name) {
  if (!(await kept(name))) await put(name, await bring(name));
}

async function fill() {
  for (const name in FILES) await keep(name);
  // Files that the old version kept are kept again, also if they have changed.
  for (const name in MODELS) if (await caches.match(address(name))) await keep(name);
}

// begin keeps the files that a first page has loaded already. The page waits for it.
const begin = () =>
  Promise.allSettled(
    Object.keys(FILES)
      .filter((name) => /\.(html|js|css|json)$/.test(name) && !WANTED.includes(name))
      .map(keep),
  );

addEventListener("install", (event) => event.waitUntil(registration.active ? fill() : begin()));

addEventListener("activate", (event) =>
  event.waitUntil(
    (async () => {
      for (const name in MODELS) await kept(name); // used since this version was filled
      const names = await caches.keys(),
        ours = names.filter((name) => name.startsWith(PREFIX) && name !== PREFIX + VERSION);
      // The first versions named no scope.
      const old = names.filter((name) => /^mrprism-[^/]*$/.test(name));
      // Names are in order of creation.
      await Promise.all([...ours.slice(0, -1), ...old].map((name) => caches.delete(name)));
      await clients.claim(); // the page of the first visit too
    })(),
  ),
);

const asked = { activate: takeOver, fill };
addEventListener("message", (event) =>
  event.waitUntil(asked[event.data]?.() ?? keepModels(event.data.keep, event.ports[0])),
);

async function takeOver() {
  // A worker that waits controls no page.
  const pages = await clients.matchAll({ type: "window", includeUncontrolled: true });
  if (pages.filter(({ url }) => url.startsWith(registration.scope)).length === 1)
    await skipWaiting();
}

const coming = new Map(); // files that are being sent to a page and will then be kept

// keepModels keeps models and answers with the names of all that are kept. error says why one is not.
async function keepModels(names, port) {
  const cache = await caches.open(PREFIX + VERSION),
    there = [];
  let error = "";
  for (const name of names.filter((name) => name in MODELS)) {
    await coming.get(name);
    await keep(name).catch(({ message }) => {
      error = message;
    });
  }
  for (const name in MODELS) if (await cache.match(address(name))) there.push(name);
  port.postMessage({ kept: there, error });
}

addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  url.hash = url.search = "";
  if (event.request.method !== "GET" || !url.href.startsWith(registration.scope)) return;
  const path = url.href.slice(registration.scope.length) || "index.html",
    [, is = "", name = path] = HASHED.exec(path) ?? [];
  // Only for files of this version.
  if (Object.hasOwn(ALL, name) && ALL[name].startsWith(is)) event.respondWith(answer(event, name));
});

async function answer(event, name) {
  const { request } = event,
    copy = request.cache !== "reload" && (await kept(name));
  if (copy) return copy;
  const response = await (name.startsWith("weights/") && name in MODELS
    ? fetch(request)
    : bring(name).catch((error) => {
        // The browser checks these files' integrity. index.html may be of a new version, which is then
        // fetched.
        if (request.integrity || name === "index.html") return fetch(request);
        throw error;
      }));
  const same = response.clone(),
    done = right(name, same)
      .then((is) => is && put(name, same))
      .catch(() => {});
  if (name in MODELS) coming.set(name, done); // used for the first time: a model's pieces pass on as they come
  event.waitUntil(done.finally(() => coming.delete(name)));
  return response;
}
