// Names the files of the page that did not come as published. Browsers run no script whose
// integrity fails, and page.js needs this script. If the page did not start, or lacks a style, each
// file is fetched past the caches, which may keep a damaged copy, and the page is reloaded once.
// index.html has this script at two addresses, in case a cache keeps a damaged copy of it.
const AGAIN = "mrprism-again";
let storage = { [AGAIN]: "yes" };
try {
  storage = sessionStorage;
} catch {
  /* no storage, as in a private window */
}

const { dataset } = document.documentElement;
if (!dataset.intact) addEventListener("load", look);
dataset.intact = "yes";

async function look() {
  const lacking = [...document.querySelectorAll("link[rel=stylesheet]")].some(
    ({ sheet }) => !sheet,
  );
  if (globalThis.mrprism && !lacking) return void delete storage[AGAIN];
  const files = new Map(
    [...document.querySelectorAll("[integrity]")].map(({ src, href, integrity }) => [
      src ?? href,
      integrity,
    ]),
  );
  const changed = [];
  for (const [address, integrity] of files) {
    const response = await fetch(address, { cache: "reload", integrity }).catch(() => null);
    if (!response?.ok) changed.push(new URL(address).pathname.split("/").pop());
  }
  if (changed.length) return name(changed.join(", "));
  if (storage[AGAIN]) return;
  storage[AGAIN] = "yes";
  location.reload();
}

// name shows the message of index.html, which speak.js may not translate.
function name(files) {
  const message = document.getElementById("changed");
  for (const place of message.querySelectorAll("b")) place.textContent = files;
  message.hidden = false;
}
