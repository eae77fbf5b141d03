// What the files of a session may say. They are other people's: whatever the page does with them
// later relies on these shapes. A shape is a function that says whether a value is of it.
export const READINGS = 2e4,
  LOGS = 100,
  ENTRIES = 1e5; // of a session, and entries of all its logs, at most
export const JSON_BYTES = 128 * 2 ** 20,
  VALUES = 2e6; // of session.json: bytes, and objects and lists
const PIXELS = 64e6,
  SIDE = 65535; // of a photograph (imageio.MaxPixels, MaxSide)
const STRUCTURES = 64,
  RATERS = 64;
export const DRAWN = 512 * 2 ** 20; // pixels of all drawings of an image

const isObject = (v) => typeof v === "object" && v !== null && !Array.isArray(v);
export const text = (v) => typeof v === "string" && v.length <= 1000;
const essay = (v) => typeof v === "string" && v.length <= 1e5;
const name = (v) => typeof v === "string" && v.length > 0 && v.length <= 200;
const flag = (v) => typeof v === "boolean";
export const number = Number.isFinite;
const whole = (v) => Number.isSafeInteger(v) && v >= 0;
const side = (v) => whole(v) && v > 0 && v <= SIDE;
const sum = (v) => typeof v === "string" && /^[0-9a-f]{64}$/.test(v);
const region = (v) =>
  v === undefined || (text(v) && /^(auto|none|-?[\d.e+-]+(,-?[\d.e+-]+){2})$/.test(v));
const one =
  (...all) =>
  (v) =>
    all.includes(v);
const maybe = (is) => (v) => v === undefined || v === null || is(v);
const list =
  (is, most, least = 0) =>
  (v) =>
    Array.isArray(v) && v.length <= most && v.length >= least && v.every(is);
// shallow says that a value, with fields that nobody knows, can be written again.
const shallow = (v, depth = 12) =>
  typeof v !== "object" ||
  v === null ||
  (depth > 0 && Object.values(v).every((of) => shallow(of, depth - 1)));
const fields = (of) => (v) => isObject(v) && Object.entries(of).every(([key, is]) => is(v[key]));

const low = maybe(number),
  trust = maybe(fields({ word: one("trusted", "check", "do not use"), reason: maybe(text) }));
const figure = {
  low,
  high: low,
  trust,
  interval: maybe(fields({ low: number, high: number, coverage: number })),
};
const structure = fields({
  class: name,
  area: number,
  share: number,
  height: number,
  width: number,
  pieces: number,
  ...figure,
  outlines: maybe(fields({ margin: number, coverage: number, withheld: maybe(text) })),
});
const ratio = maybe(fields({ inner: name, outer: name, value: low, ...figure })),
  hours = maybe(list(number, 12, 12));
const BY = one("user", "dicom", "name", "picture");
const measurements = fields({
  structures: list(structure, STRUCTURES),
  verticalRatio: ratio,
  horizontalRatio: ratio,
  spacing: maybe(list((v) => number(v) && v > 0, 2, 2)),
  rim: hours,
  rimLow: hours,
  rimHigh: hours,
  narrowestRim: maybe(fields({ value: number, low, high: low, hour: number, absent: low })),
  eye: maybe(
    fields({ side: one("", "right", "left"), by: maybe(BY), against: maybe(list(BY, 4)) }),
  ),
  isnt: maybe(
    fields({
      inferior: number,
      superior: number,
      nasal: number,
      temporal: number,
      holds: flag,
      agree: number,
      of: number,
    }),
  ),
  ddls: maybe(fields({ stage: low, low, high: low, size: maybe(text), withheld: maybe(text) })),
});
const result = fields({
  width: side,
  height: side,
  classes: list(name, STRUCTURES),
  raters: list(name, RATERS),
  model: text,
  title: maybe(text),
  sha256: maybe(text),
  labels: maybe(text),
  found: maybe(flag),
  recurrences: maybe(whole),
  adapter: maybe(text),
  why: maybe(text),
  precision: maybe(text),
  date: maybe(text),
  lacks: maybe(text),
  noRaters: maybe(text),
  formats: maybe(list(text, 100)),
  timings: maybe(fields({ total: low })),
  doubt: low,
  doubts: list(fields({ code: maybe(text), text }), 100),
  roi: fields({ x: number, y: number, side: (v) => number(v) && v > 0, whole: maybe(flag) }),
  measurements,
  byModel: maybe(measurements),
  corrected: maybe(list(fields({ rater: name, class: name, area: number }), STRUCTURES * RATERS)),
  beyond: maybe(fields({ inner: name, outer: name, pixels: number })),
});
// isResult says whether a result is one that the page can show. A file can have pixels without one.
export const isResult = (v) =>
  result(v) &&
  v.width * v.height <= PIXELS &&
  new Set(v.classes).size === v.classes.length &&
  v.measurements.structures.every((of) => v.classes.includes(of.class));

const stroke = fields({
  rater: name,
  class: name,
  file: text,
  name: maybe(text),
  x: maybe(whole),
  y: maybe(whole),
  width: maybe(side),
  height: maybe(side),
});
const reading = fields({
  image: fields({
    sha256: sum,
    bytes: maybe(whole),
    name: text,
    slice: maybe(whole),
    slices: maybe(whole),
    turn: one(0, 90, 180, 270),
  }),
  review: maybe(one("", "accepted", "rejected")),
  reason: maybe(text),
  decided: maybe(text),
  comment: maybe(essay),
  seconds: low,
  mm: low,
  region,
  versionOf: maybe(whole),
  weights: maybe(list((v) => number(v) && v >= 0 && v <= 1, RATERS)),
  error: maybe(fields({ message: text, next: maybe(text), code: maybe(text), date: maybe(text) })),
  drawn: maybe(list(stroke, Infinity)),
  marks: maybe(list(stroke, Infinity)),
  masks: maybe(list(fields({ class: name, file: text }), STRUCTURES)),
});
export const isReading = (v) => reading(v) && shallow(v);
// mostDrawn is how many drawings an image may have: one on each mask.
export const mostDrawn = ({ classes, raters }) => classes.length * (raters.length + 1);

// isSession looks at all but the readings.
export const isSession = fields({
  id: maybe(text),
  saved: maybe(text),
  grader: maybe(text),
  program: maybe(text),
  at: maybe(number),
  study: maybe((v) => fields({ name: maybe(text) })(v) && shallow(v)),
  readings: Array.isArray,
  model: maybe(fields({ name: maybe(text), title: maybe(text), sha256: maybe(text) })),
  log: maybe(list(fields({ file: text, entries: maybe(whole), sha256: maybe(text) }), Infinity)),
});
