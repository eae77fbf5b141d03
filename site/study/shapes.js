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
  RATERS = 64,
  OBJECTS = 65535; // of a field (instances.Most)
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
// each has fields of one shape.
const each = (is, ...names) => Object.fromEntries(names.map((name) => [name, is]));

const low = maybe(number),
  trust = maybe(fields({ word: one("trusted", "check", "do not use"), reason: maybe(text) }));
const figure = {
  low,
  high: low,
  trust,
  interval: maybe(fields({ low: number, high: number, coverage: number, by: maybe(text) })),
};
const structure = fields({
  class: name,
  ...each(number, "area", "share", "height", "width", "pieces"),
  ...figure,
  outlines: maybe(fields({ margin: number, coverage: number, withheld: maybe(text) })),
});
const certified = maybe(
  fields({ ...each(text, "camera", "date"), ...each(number, "eyes", "masks"), drift: maybe(text) }),
);
const ratio = maybe(fields({ ...each(name, "inner", "outer"), value: low, ...figure, certified })),
  hours = maybe(list(number, 12, 12));
const BY = one("user", "dicom", "name", "picture");
const measurements = fields({
  structures: list(structure, STRUCTURES),
  ...each(ratio, "verticalRatio", "horizontalRatio"),
  spacing: maybe(list((v) => number(v) && v > 0, 2, 2)),
  ...each(hours, "rim", "rimLow", "rimHigh"),
  narrowestRim: maybe(
    fields({ ...each(number, "value", "hour"), ...each(low, "low", "high", "absent") }),
  ),
  eye: maybe(
    fields({ side: one("", "right", "left"), by: maybe(BY), against: maybe(list(BY, 4)) }),
  ),
  isnt: maybe(
    fields({
      ...each(number, "inferior", "superior", "nasal", "temporal", "agree", "of"),
      holds: flag,
    }),
  ),
  ddls: maybe(
    fields({ ...each(low, "stage", "low", "high"), ...each(maybe(text), "size", "withheld") }),
  ),
});
const reason = fields({ code: maybe(text), text }),
  graded = fields({ gradable: flag, faults: list(reason, 100) });
const result = fields({
  ...each(side, "width", "height"),
  classes: list(name, STRUCTURES),
  raters: list(name, RATERS),
  panels: maybe(list(name, RATERS)),
  own: maybe(list((v) => number(v) && v >= 0, RATERS)),
  model: text,
  ...each(
    maybe(text),
    "title",
    "sha256",
    "labels",
    "adapter",
    "why",
    "precision",
    "date",
    "lacks",
    "noRaters",
  ),
  found: maybe(flag),
  recurrences: maybe(whole),
  formats: maybe(list(text, 100)),
  timings: maybe(fields({ total: low })),
  doubt: low,
  doubts: list(reason, 100),
  quality: maybe(graded),
  roi: fields({ ...each(number, "x", "y"), side: (v) => number(v) && v > 0, whole: maybe(flag) }),
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
  ...each(name, "rater", "class"),
  file: text,
  name: maybe(text),
  ...each(maybe(whole), "x", "y"),
  ...each(maybe(side), "width", "height"),
});
const object = fields({
  number: (v) => whole(v) && v > 0 && v <= OBJECTS,
  by: one("model", "you"),
  disagreement: number,
  doubt: low,
});
const reading = fields({
  image: fields({
    sha256: sum,
    name: text,
    ...each(maybe(whole), "bytes", "slice", "slices"),
    turn: one(0, 90, 180, 270),
  }),
  review: maybe(one("", "accepted", "rejected")),
  ...each(maybe(text), "reason", "decided"),
  comment: maybe(essay),
  ...each(low, "seconds", "drawing", "answering", "mm", "sitting"),
  aided: maybe(flag),
  answers: maybe(fields({})),
  region,
  versionOf: maybe(whole),
  weights: maybe(list((v) => number(v) && v >= 0 && v <= 1, RATERS)),
  error: maybe(fields({ message: text, next: maybe(text), code: maybe(text), date: maybe(text) })),
  ...each(maybe(list(stroke, Infinity)), "drawn", "marks"),
  masks: maybe(list(fields({ class: name, file: text }), STRUCTURES)),
  field: maybe(fields({ class: name, file: text, changed: flag, objects: list(object, OBJECTS) })),
});
export const isReading = (v) => reading(v) && shallow(v);
// mostDrawn is how many drawings an image may have: one on each mask.
export const mostDrawn = ({ classes, raters }) => classes.length * (raters.length + 1);

const question = fields({ name, options: maybe(list(name, 100, 2)), ...each(low, "low", "high") });
const drawn = fields({
  ...each(whole, "repeats", "each", "anchors", "seed"),
  days: number,
  order: one("fixed", "shuffled"),
  readers: list(name, 1000),
  questions: list(question, 100),
});
// isPlan says whether a reading study (study.js) can be followed.
export const isPlan = (v) =>
  fields({
    id: text,
    structures: list(name, STRUCTURES),
    start: one("empty", "model", "both"),
    blind: flag,
  })(v) &&
  (v.readers === undefined || drawn(v));

// isSession looks at all but the readings.
export const isSession = fields({
  ...each(maybe(text), "id", "saved", "grader", "program"),
  at: maybe(number),
  study: maybe((v) => fields({ name: maybe(text) })(v) && shallow(v)),
  readings: Array.isArray,
  model: maybe(fields(each(maybe(text), "name", "title", "sha256"))),
  log: maybe(list(fields({ file: text, entries: maybe(whole), sha256: maybe(text) }), Infinity)),
});
