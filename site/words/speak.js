// Which language the page speaks, and the texts of index.html in it.
import { check } from "../page/addresses.js";
import { remember, remembered } from "../page/dom.js";
import { language, speaks, t, teach, use } from "./words.js";

const ATTRIBUTES = ["aria-label", "aria-roledescription", "title", "placeholder"];

// ---- the texts of a language ----

const parts = [""]; // that this page has wanted so far; "" is what it starts with
const learnt = {}; // promises by file

// learn resolves once the texts of a language are there. From now on the page also wants those of
// part: the programs' messages, sessions or together. Without a network they stay English.
export async function learn(code, part = "") {
  if (!parts.includes(part)) parts.push(part);
  if (code === "en") return;
  await Promise.all(
    parts.map((part) => fetched(code, part ? `${code}.${part}.json` : `${code}.json`)),
  );
}
const fetched = (code, file) =>
  (learnt[file] ??= check(file)
    .then((answer) => answer.json())
    .then((texts) => teach(code, texts))
    .catch(() => {
      delete learnt[file];
    }));

// ---- which language ----

// asked is the language that the address, the user or the browser asks for.
function asked() {
  const codes = [
    new URLSearchParams(location.search).get("lang") ?? "",
    remembered("language"),
    ...navigator.languages.map((tag) => tag.split("-")[0].toLowerCase()),
  ];
  return codes.find(speaks) ?? "en";
}

// keepLanguage remembers the user's choice. An address that names a language then names this one.
export function keepLanguage(code) {
  remember("language", code);
  const address = new URL(location.href);
  if (!address.searchParams.has("lang")) return;
  address.searchParams.set("lang", code);
  history.replaceState(history.state, "", address);
}

// ---- the texts of index.html ----

const texts = []; // [node, English], and for an attribute its name
function collect(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  for (let node = root; node; node = walker.nextNode()) {
    if (node.nodeType === Node.TEXT_NODE) {
      if (node.data.trim() && !node.parentElement.closest("noscript, #changed"))
        texts.push([node, node.data]);
    } else
      for (const name of ATTRIBUTES)
        if (node.hasAttribute(name)) texts.push([node, node.getAttribute(name), name]);
  }
}

// speak brings the texts of index.html to a language. view.js draws all others anew.
export function speak(code) {
  use(code);
  document.documentElement.lang = code;
  for (const [node, english, name] of texts) {
    const [, before, text, after] = /^(\s*)(.*?)(\s*)$/s.exec(english),
      said = before + t(text) + after;
    if (name) node.setAttribute(name, said);
    else node.data = said;
  }
}

// Scripts come after the document, and this one before the page's. style.css hides the texts until
// spoken resolves.
collect(document.body);
use(asked());
export const spoken = learn(language).then(() => {
  speak(language);
  document.documentElement.dataset.spoken = "";
  learn(language, "programs");
});

// intact.js says which file is missing. This script does so for intact.js.
addEventListener("load", () => {
  if (!document.documentElement.dataset.intact) document.getElementById("changed").hidden = false;
});
