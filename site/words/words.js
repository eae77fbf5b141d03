// The page's texts in the language of the display. A text stands in English where it is used, and
// that English is its key: de.json has the German, and speak.js fetches it. {name} in a text is the
// place of a value. Messages of the worker and the state are English with the values filled in;
// they are recognised by their pattern.
const TEXTS = { __proto__: null, en: {}, de: {} };

export let language = "en";
export const speaks = (code) => code in TEXTS;
// use changes the language, and teach adds texts to one.
export const use = (code) => {
  language = code;
};
export function teach(code, texts) {
  Object.assign(TEXTS[code], texts);
  delete made[code];
}

// t is a text in the language of the display. values has the values of its places; numbers are
// written as in that language. A text with a plural is { one, other }, with the number as n in
// values. A text without translation stays English.
export function t(text, values = {}) {
  text = upright(text);
  const english = text.other ?? text,
    texts = TEXTS[language],
    entry = Object.hasOwn(texts, english) ? texts[english] : language === "en" ? text : null;
  if (entry === null) return known(filled(chosen(text, values), values));
  return filled(chosen(entry, values), values);
}
// upright is a message, which may contain a file's name, without characters that change the order
// of writing.
const upright = (text) =>
  typeof text === "string" ? text.replace(/[\u202a-\u202e\u2066\u2067]/g, "\ufffd") : text;
const chosen = (entry, { n }) =>
  typeof entry === "string"
    ? entry
    : (entry[new Intl.PluralRules(language).select(n)] ?? entry.other);
const filled = (text, values) =>
  text.replace(/\{(\w+)\}/g, (place, name) =>
    Object.hasOwn(values, name) ? written(values[name]) : place,
  );
const written = (value) =>
  typeof value === "number" ? number(value, { maximumFractionDigits: 20 }) : isolated(value);

// isolated is a name from outside, such as a file's, whose order of writing must not affect its
// surroundings, as right-to-left letters and characters for the order would.
export const isolated = (name) =>
  /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]/.test(name)
    ? `\u2068${name.replace(/[\u2066-\u2069]/g, "\ufffd")}\u2069`
    : name;

const formats = {}; // by language and options: to make one takes far longer than to use it
// number is a number in the language of the display. digits are those after the point, or options
// of Intl.NumberFormat. A thin space parts thousands in every language.
export function number(value, digits = 0) {
  const options =
    typeof digits === "number"
      ? { minimumFractionDigits: digits, maximumFractionDigits: digits }
      : digits;
  return (formats[language + JSON.stringify(options)] ??= new Intl.NumberFormat(language, options))
    .formatToParts(value)
    .map(({ type, value }) => (type === "group" ? "\u202f" : value))
    .join("");
}

// known translates a text whose values are filled in, and also translates the values.
function known(english) {
  for (const { key, names, pattern } of patterns()) {
    const match = pattern.exec(english);
    if (match)
      return t(key, Object.fromEntries(names.map((name, i) => [name, valueOf(match[i + 1])])));
  }
  return english;
}
function valueOf(text) {
  if (/^\d+(\.\d+)?$/.test(text)) return number(Number(text), text.split(".")[1]?.length ?? 0);
  const said = t(text),
    parts = text.split("; ");
  return said === text && parts.length > 1 ? parts.map(valueOf).join("; ") : said;
}

// patterns are the texts with places, the longest first. Short ones would be found in others.
const LEAST = 11; // characters beside the places
const made = {};
function patterns() {
  const plain = (key) => key.replace(/\{\w+\}/g, "");
  return (made[language] ??= Object.keys(TEXTS[language])
    .filter((key) => plain(key) !== key && plain(key).length >= LEAST)
    .sort((a, b) => plain(b).length - plain(a).length)
    .map((key) => {
      const names = [...key.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const source = key
        .split(/\{\w+\}/)
        .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
        .join("(.+?)");
      return { key, names, pattern: new RegExp(`^${source}$`, "s") };
    }));
}
