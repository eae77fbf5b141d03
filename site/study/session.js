// The form of a session: what one person did with a list of images, as JSON and PNGs. A file has it
// as a ZIP, and the browser keeps the same files (sessions.js). guide/sessions.md describes it.
import { YOU, Stroke, blank, boxOf, sameMask, windowOf } from "../draw/correct.js";
import { version } from "../page/build.js";
import { extentOf } from "../review/figures.js";
import {
  DRAWN,
  ENTRIES,
  JSON_BYTES,
  LOGS,
  READINGS,
  VALUES,
  isReading,
  isResult,
  isSession,
  mostDrawn,
  number,
  text,
} from "./shapes.js";
import { UNASKED } from "../page/history.js";
import { attached, pictureIn } from "../review/worklist.js";
import { Refused, once, readPNG, within, writePNG } from "./zip.js";

const FORMAT = "MrPrism session",
  VERSION = 1;
// SECONDS are the times that an image took in a study: all, drawing, and answering questions.
const SECONDS = ["seconds", "drawing", "answering"];

const sums = new WeakMap(); // by Blob
const digest = async (bytes) =>
  [...new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))]
    .map((b) => b.toString(16).padStart(2, "0"))
    .join("");
// sumOf resolves to the SHA-256 of a file, in hexadecimal digits.
export async function sumOf(blob) {
  if (!sums.has(blob)) sums.set(blob, await digest(await blob.arrayBuffer()));
  return sums.get(blob);
}
// Claimed is the Blob of an image in a session, which should have a sum. The first read compares
// the sum. sound is true once it was right.
export class Claimed {
  #sum;
  sound = false;
  constructor(blob, sum) {
    [this.blob, this.#sum] = [blob, sum];
    sums.set(this, sum);
  }
  get size() {
    return this.blob.size;
  }
  async arrayBuffer() {
    const bytes = await this.blob.arrayBuffer();
    if (!this.sound && (await digest(bytes)) !== this.#sum)
      throw new Error(`the image ${this.#sum} is damaged`);
    this.sound = true;
    return bytes;
  }
}

// ---- the log ----

const texts = new WeakMap(); // by entry: { previous, text, sum }, text is its line
const textOf = (entry) => entry.line ?? texts.get(entry)?.text;
// logFile resolves to the file of a log, { blob, about }. about is what session.json says of it:
// how many entries nothing may change any more, and the sum of the last of these.
export async function logFile(log, i = 0) {
  const file = `log/${i + 1}.jsonl`,
    sound = log.at(-1).picture ? log.length - 1 : log.length; // the last may still count
  let previous = "",
    sha256 = "";
  const all = [];
  for (const entry of log) {
    if (texts.get(entry)?.previous !== previous) {
      const { line, picture, ...fields } = entry,
        image = picture && { image: picture.missing?.sha256 ?? (await sumOf(picture.blob)) };
      const text = line ?? JSON.stringify({ ...fields, ...image, previous });
      texts.set(entry, { previous, text, sum: await digest(new TextEncoder().encode(text)) });
    }
    previous = texts.get(entry).sum;
    if (all.push(textOf(entry)) === sound) sha256 = previous;
  }
  return {
    blob: new Blob([all.join("\n"), "\n"], { type: "application/jsonl" }),
    about: { file, entries: sound, sha256 },
  };
}
// readLog resolves to the log of lines, with the sum of its last entry and after which entry it was
// changed, or null. A line stays as it is, so that nothing of a log that was changed is lost. An
// entry has the plain values of its line.
const plain = ({ picture, line, ...entry }) =>
  Object.fromEntries(Object.entries(entry).filter(([, v]) => text(v) || number(v)));
async function readLog(lines, { entries, sha256 }) {
  const parsed = lines.map((line) => {
    try {
      return Object(JSON.parse(line));
    } catch {
      return {};
    }
  });
  const all = await Promise.all(lines.map((line) => digest(new TextEncoder().encode(line)))),
    at = parsed.findIndex(({ previous }, i) => previous !== (i ? all[i - 1] : ""));
  const changed =
    at >= 0
      ? Math.max(0, at - 1)
      : entries && all[entries - 1] !== sha256
        ? Math.min(entries - 1, lines.length)
        : null;
  return {
    entries: parsed.map((entry, i) => ({ ...plain(entry), line: lines[i] })),
    last: all.at(-1),
    changed,
  };
}
// logsOf resolves to the logs of a session.
async function logsOf({ log }, files, name, damaged) {
  const logs = [];
  let bytes = 0,
    entries = 0;
  within(name, log?.length ?? 0, LOGS, "logs");
  for (const about of log ?? []) {
    const open = files.get(about.file);
    within(name, (bytes += open?.size ?? 0), JSON_BYTES, "bytes of its logs");
    const lines = await open?.()
      .then((blob) => blob.text())
      .then(
        (all) => all.trimEnd().split("\n").filter(Boolean),
        () => null,
      );
    within(name, (entries += lines?.length ?? 0), ENTRIES, "entries of its logs");
    if (lines) logs.push(await readLog(lines, about));
    else damaged.push(about.file);
  }
  return logs;
}
// joinedLogs are logs without those that another one begins with.
export function joinedLogs(own, others) {
  const begins = (a, b) =>
    a.length <= b.length &&
    a.every((entry, i) => textOf(entry) !== undefined && textOf(entry) === textOf(b[i]));
  return others.filter(
    (one, i) =>
      !begins(one, own) &&
      !others.some(
        (other, k) => k !== i && begins(one, other) && (other.length > one.length || k < i),
      ),
  );
}

// ---- drawings ----

// turned is a window of a picture, { x, y, width, height, values }, after quarter turns clockwise
// of that picture. high and wide are the picture's sides before.
function turned(window, wide, high, quarters) {
  if (!quarters) return window;
  const { x, y, width, height, values } = window,
    now = new Uint8Array(values.length);
  for (let i = 0; i < values.length; i++)
    now[(i % width) * height + height - 1 - Math.floor(i / width)] = values[i];
  return turned(
    { x: high - y - height, y: x, width: height, height: width, values: now },
    high,
    wide,
    quarters - 1,
  );
}

const windowsOf = new WeakMap(); // by drawing: a function that gives { at, blob }, or a promise of it
// drawn resolves to a drawing (correct.js) as { at: { x, y, width, height }, blob }: the smallest
// window of tiles with all of it, in the photograph before its quarter turns.
function drawn(drawing, turn) {
  if (!windowsOf.has(drawing))
    windowsOf.set(
      drawing,
      once(async () => {
        const { width: wide, height: high } = drawing,
          box = boxOf(drawing),
          window = { ...box, values: windowOf(drawing, box) },
          { values: pixels, ...at } = turned(window, wide, high, (4 - turn) % 4);
        return { at, blob: await writePNG({ ...at, values: pixels }) };
      }),
    );
  return windowsOf.get(drawing)();
}

// undrawn is the drawing of a PNG at x, y without its tiles. Its open fills them in: nobody decodes
// what is not shown, since the drawings of a long list need more memory than there is. make returns
// the PNG. wide and high are the photograph's sides after its quarter turns.
function undrawn({ rater, class: c, name, filled, x, y, width, height }, make, turn, wide, high) {
  const at = { x, y, width, height },
    [w, h] = turn % 2 ? [high, wide] : [wide, high],
    drawing = {
      ...blank(rater, c, { width: wide, height: high }),
      ...(name && { name }),
      ...(filled && { filled: true }), // and not confirmed (series.js)
    };
  if (!(x >= 0 && y >= 0 && x + width <= w && y + height <= h))
    throw new RangeError("a drawing lies beside its photograph");
  const window = once(() => ({ at, blob: make() }));
  windowsOf.set(drawing, window);
  drawing.open = once(() =>
    fill(drawing, window(), turn).catch((error) => {
      throw new Refused(
        `A drawing of the session is damaged: ${error.message}.`,
        "Choose another copy of it.",
      );
    }),
  );
  return drawing;
}
// fill fills the tiles of a drawing.
async function fill(
  { rater, class: c, width: wide, height: high, tiles },
  { at: { x, y, width, height }, blob },
  turn,
) {
  const window = await readPNG(blob, width, height),
    [w, h] = turn % 2 ? [high, wide] : [wide, high];
  const now = turned({ ...window, x, y }, w, h, turn),
    stroke = new Stroke(blank(rater, c, { width: wide, height: high }));
  for (let i = 0; i < now.values.length; i++) {
    // 255, 0 and 128; a browser may have changed them a little
    const v = now.values[i];
    if (v < 64 || v >= 192)
      stroke.set(now.x + (i % now.width), now.y + Math.floor(i / now.width), v < 64 ? 0 : 255);
  }
  for (const [n, tile] of stroke.correction.tiles) tiles.set(n, tile);
}

// fieldIn resolves to the objects of a reading, as a line has them. Its PNG has 16 bits a pixel,
// and the size of the photograph before its quarter turns, wide and high.
async function fieldIn({ file, objects, changed, class: c }, open, wide, high) {
  const blob = (await open(file))(),
    head = new DataView(await blob.slice(0, 26).arrayBuffer());
  if (
    head.getUint32(0) !== 0x89504e47 ||
    head.getUint32(16) !== wide ||
    head.getUint32(20) !== high ||
    head.getUint16(24) !== 0x1000 // 16 bits, grey
  )
    throw new RangeError("it is no label image of its photograph");
  await sumOf(blob);
  return { class: c, changed, objects, blob };
}

// ---- writing ----

const written = new WeakMap(); // by line: { number, reading, files }

// readingOf resolves to a line as { reading, files }: its part of the JSON, and its PNGs as { name,
// blob }. Their names begin with number, or are by content if that is null.
async function readingOf(line, number) {
  if (written.get(line)?.number === number) return written.get(line);
  const { picture, review, error, corrections } = line,
    { blob, turn, missing } = picture,
    { asked: { roi, weights, evidence } = UNASKED, id, fromFile, ...result } = line.result ?? {},
    files = [];
  const file = async (folder, i, blob) => {
    const name = `${folder}/${number === null ? await sumOf(blob) : `${number}_${i + 1}`}.png`;
    files.push({ name, blob });
    return name;
  };
  const drawings = (folder, list) =>
    Promise.all(
      list.map(async (one, i) => {
        const { at, blob } = one.tiles ? await drawn(one, turn) : { blob: one.mask };
        return {
          rater: one.rater,
          class: one.class,
          ...(one.name && { name: one.name }),
          ...(one.filled && { filled: true }),
          file: await file(folder, i, blob),
          ...at,
        };
      }),
    );
  const reading = {
    image: {
      sha256: missing?.sha256 ?? (await sumOf(blob)),
      bytes: missing?.bytes ?? blob.size,
      name: picture.name,
      slice: picture.slice || line.slice || 0,
      slices: line.slices ?? 1,
      turn: 90 * turn,
    },
    review,
    reason: review === "rejected" ? (line.reason ?? "") : "",
    decided: line.decided ?? "",
    ...Object.fromEntries(SECONDS.map((of) => [of, Math.round(10 * (line[of] ?? 0)) / 10])),
    ...(line.sitting && {
      sitting: line.sitting,
      aided: picture.aided,
      answers: line.answers ?? {},
    }),
    comment: line.comment ?? "",
    ...(error && !missing
      ? { error: { code: error.code, message: error.message, next: error.next, date: error.date } }
      : {}),
    region: roi,
    weights: weights && Array.from(weights),
    mm: line.known ?? null,
    drawn: await drawings("drawn", corrections),
    marks: await drawings("marks", evidence),
    masks: await Promise.all(
      (line.masks?.files ?? []).map(async (blob, c) => ({
        class: result.classes[c],
        file: await file("masks", c, blob),
      })),
    ),
    field: line.field && {
      class: line.field.class,
      file: await file("fields", 0, line.field.blob),
      changed: line.field.changed,
      objects: line.field.objects,
    },
    result: line.result ? result : null,
  };
  written.set(line, { number, reading, files });
  return written.get(line);
}

// filesOf resolves to the files of a session, each { name, blob }: session.json, then PNGs, then,
// with images, those. Versions of an image that nobody has chosen from are readings after the last
// line's. logs are the session's log and those of others. kept: files are named by their content,
// so that those of the next save lie beside these.
export async function filesOf(list, model, images, logs = [], kept = false) {
  const readings = [],
    files = [],
    pictures = new Map(),
    versions = list.lines.flatMap(({ rivals, picture }, versionOf) =>
      (rivals ?? []).map((work) => ({ ...work, picture, versionOf })),
    );
  for (const one of [...list.lines, ...versions]) {
    const made = await readingOf(one, kept ? null : readings.length + 1),
      { blob, name } = one.picture;
    readings.push(
      "versionOf" in one ? { ...made.reading, versionOf: one.versionOf } : made.reading,
    );
    files.push(...made.files);
    if (images && blob)
      pictures.set(
        `images/${made.reading.image.sha256}${/\.[a-z0-9.]{1,8}$/i.exec(name)?.[0].toLowerCase() ?? ""}`,
        blob,
      );
  }
  if (readings.length > READINGS)
    throw new Refused(
      "The list has more images than a session may have.",
      "Open and save it in parts.",
    );
  const at = list.lines.findIndex(({ key }) => key === list.at),
    made = await Promise.all(logs.filter(({ length }) => length).map(logFile)),
    log = made.map(({ about }) => about);
  if (kept) for (const { blob, about } of made) about.file = `log/${await sumOf(blob)}.jsonl`;
  files.push(...made.map(({ blob, about: { file } }) => ({ name: file, blob })));
  const session = {
    format: FORMAT,
    version: VERSION,
    program: `page ${version}`,
    id: list.id,
    saved: new Date().toISOString(),
    grader: list.by,
    study: list.study ?? null,
    model,
    at,
    log,
    readings,
  };
  const all = [
    {
      name: "session.json",
      blob: new Blob([JSON.stringify(session)], { type: "application/json" }),
    },
    ...files,
  ];
  for (const [name, picture] of pictures)
    all.push({
      name,
      blob:
        picture.blob ??
        (picture instanceof Blob ? picture : new Blob([await picture.arrayBuffer()])),
    });
  return all;
}

// ---- reading ----

// sessionOf resolves to a session's JSON, which has the shape of one. It is refused before it takes
// memory for more than a session has. files has functions by name, as of readZIP.
export async function sessionOf(files, name) {
  const open = files.get("session.json");
  if (open) within(name, open.size, JSON_BYTES, "bytes of its list");
  const said =
    (await open?.()
      .then((blob) => blob.text())
      .catch(() => null)) ?? "";
  let values = 0,
    session = null;
  for (let i = 0; i < said.length; i++) if (said[i] === "{" || said[i] === "[") values++;
  within(name, values, VALUES, "values");
  try {
    session = JSON.parse(said);
  } catch {
    /* damaged */
  }
  if (session?.format === FORMAT && session.version > VERSION)
    throw new Refused(
      `${name} was saved by a later version of MrPrism.`,
      "Load the page anew to get the present version, then open it again.",
    );
  if (session?.format !== FORMAT || session.version !== VERSION || !isSession(session))
    throw new Refused(
      `${name} is no session, or its beginning is missing.`,
      "Choose a file that “Save session” has made, or another copy of it.",
    );
  within(name, session.readings.length, READINGS, "images");
  return session;
}

// readSession resolves to a session's JSON, with lines in place of readings, logs, and damaged:
// what could not be read. picture makes the picture of a file.
export async function readSession(files, name, picture) {
  const session = await sessionOf(files, name);
  const damaged = [],
    pictures = new Map(),
    lines = [];
  await Promise.all(
    [...files].map(async ([file, open]) => {
      const sum = /^images\/([0-9a-f]{64})/.exec(file)?.[1],
        make = sum && (await open({ later: true, unread: true }).catch(() => null));
      if (make)
        pictures.set(
          sum,
          once(() => new Claimed(make(), sum)),
        );
      else if (sum) damaged.push(file);
    }),
  );
  const all = await Promise.all(
    session.readings.map((reading) =>
      lineOf(reading, files, pictures, picture, name, session.study).catch((error) => {
        if (error instanceof Refused) throw error;
        return null;
      }),
    ),
  );
  for (const [i, one] of all.entries()) {
    const { versionOf } = session.readings[i] ?? {},
      of = versionOf < i && all[versionOf]?.line;
    if (one && of) of.rivals = [...(of.rivals ?? []), workOf(one.line)];
    else if (one) lines.push(one.line);
    const { image } = session.readings[i] ?? {};
    damaged.push(...(one?.damaged ?? [text(image?.name) ? image.name : "session.json"]));
  }
  return { ...session, lines, damaged, logs: await logsOf(session, files, name, damaged) };
}

// lineOf resolves to { line, damaged }: the line of a reading, and its files that could not be
// read. Nobody has decided about a line that lacks one.
async function lineOf(reading, files, pictures, pictureOf, from, study) {
  if (!isReading(reading)) return null;
  const { image, weights = null, drawn: strokes = [], marks = [], error, mm } = reading,
    { sha256, bytes, name, slice, slices } = image,
    quarters = image.turn / 90,
    damaged = [];
  const content = pictures.get(sha256),
    made = { ...pictureOf(null, name, slice, quarters), aided: reading.aided },
    sound =
      isResult(reading.result) && (!weights || weights.length === reading.result.raters.length),
    is = sound ? reading.result : null;
  if (reading.result && !is) damaged.push(name);
  for (const list of is ? [strokes, marks] : []) {
    within(from, list.length, mostDrawn(is), "drawings of an image");
    within(
      from,
      list.reduce((n, { width = 0, height = 0 }) => n + width * height, 0),
      DRAWN,
      "pixels that are drawn",
    );
  }
  const picture = content
    ? Object.defineProperty(made, "blob", { get: content })
    : { ...made, missing: { sha256, bytes }, refused: missing(name, study) };
  const open = async (file) => files.get(file)({ later: true });
  const drawings = async (list) => {
    const read = await Promise.all(
      (is ? list : []).map(async (one) => {
        try {
          if (!is.classes.includes(one.class) || ![YOU, ...is.raters].includes(one.rater))
            throw new RangeError("a drawing is on no mask of its image");
          const png = await open(one.file);
          return "x" in one
            ? undrawn(one, png, quarters, is.width, is.height)
            : { rater: one.rater, class: one.class, name: one.name, mask: png() };
        } catch {
          damaged.push(one.file);
        }
      }),
    );
    return read.filter(Boolean);
  };
  const corrections = await drawings(strokes),
    evidence = await drawings(marks),
    masks = await Promise.all(
      (is ? (reading.masks ?? []) : []).map(({ file }) => open(file).catch(() => null)),
    ),
    all = once(() => masks.map((make) => make())),
    [wide, high] = quarters % 2 ? [is?.height, is?.width] : [is?.width, is?.height],
    field =
      reading.field &&
      (await fieldIn(reading.field, open, wide, high).catch(() => {
        damaged.push(reading.field.file);
        return null;
      })),
    asked = {
      picture,
      roi: reading.region ?? "auto",
      weights: weights && Float32Array.from(weights),
      evidence,
    };
  const failed = is
    ? null
    : typeof error?.message === "string"
      ? { next: "", ...error }
      : (picture.refused ?? null);
  const line = {
    key: picture.key,
    picture,
    thumb: "",
    slice,
    slices,
    state: is ? "done" : failed ? "failed" : "waiting",
    error: failed,
    review: damaged.length ? "" : (reading.review ?? ""),
    reason: reading.reason ?? "",
    ...Object.fromEntries([...SECONDS, "sitting", "answers"].map((of) => [of, reading[of]])),
    decided: reading.decided ?? "",
    comment: reading.comment ?? "",
    known: mm,
    result: is && { ...is, id: 0, fromFile: true, asked },
    corrections,
    field: field ?? null,
    masks:
      masks.length && masks.every(Boolean)
        ? {
            id: 0,
            get files() {
              return all();
            },
          }
        : null,
  };
  return { line, damaged };
}

// missing is the error of a line whose image is not there.
export const missing = (name, study) => ({
  code: "missing",
  message: `${name} is not attached.`,
  next: study
    ? "Open the file of the study, which may have it, or the image. It is found by its content."
    : "Open the image, or its folder. It is found by its content, whatever it is called now.",
});

// fits resolves to whether the masks of a line from a file have the sizes and, nearly, the areas
// that the file says. It throws if one is no picture of the photograph's size.
export async function fits({
  result: { width, height, found, byModel, measurements },
  masks,
  picture: { turn },
}) {
  const [wide, high] = turn % 2 ? [height, width] : [width, height],
    { structures } = byModel ?? measurements;
  const near = (a, b) => Math.abs(a - b) <= 8 + 0.02 * b;
  for (const [c, blob] of found && masks ? masks.files.entries() : []) {
    const { values, ...size } = await readPNG(blob, wide, high),
      extent = extentOf({ ...size, mask: values.map((v) => v >> 7) }),
      said = structures[c];
    const [across, down] = turn % 2 ? [said.height, said.width] : [said.width, said.height];
    if (!near(extent.area, said.area) || !near(extent.width, across) || !near(extent.height, down))
      return false;
  }
  return true;
}

// ---- two sessions of one grader ----

export const identity = ({ picture: { missing, blob, turn }, slice, slices, sitting = 1 }) =>
  [missing?.sha256 ?? sums.get(blob), slices > 1 ? slice : 0, turn, sitting].join();
export const touched = ({ review, comment, corrections, result, rivals, field }) =>
  Boolean(
    review ||
    comment ||
    corrections.length ||
    result?.asked.evidence.length ||
    rivals?.length ||
    field?.changed,
  );
const equalTiles = (a, b) =>
  a.size === b.size && [...a].every(([n, tile]) => b.get(n)?.every((v, i) => v === tile[i]));
const sameDrawing = (a, b) =>
  sameMask(a, b) &&
  (!a.tiles || !b.tiles ? a.tiles === b.tiles && a.name === b.name : equalTiles(a.tiles, b.tiles));
const sameDrawings = (a, b) =>
  a.length === b.length && a.every((one) => b.some((other) => sameDrawing(one, other)));
const changedField = ({ field }) => (field?.changed ? sums.get(field.blob) : "");
const sameWork = (a, b) =>
  a.review === b.review &&
  changedField(a) === changedField(b) &&
  (a.reason ?? "") === (b.reason ?? "") &&
  JSON.stringify(a.answers ?? {}) === JSON.stringify(b.answers ?? {}) &&
  (a.comment ?? "") === (b.comment ?? "") &&
  sameDrawings(a.corrections, b.corrections) &&
  sameDrawings(a.result?.asked.evidence ?? [], b.result?.asked.evidence ?? []);

const drawingsOf = (works) =>
  works.flatMap(({ corrections, result }) => [...corrections, ...(result?.asked.evidence ?? [])]);

// WORK are the fields of a line that a person made, and the figures with them.
const WORK = [
  "state",
  "error",
  "review",
  "reason",
  "answers",
  ...SECONDS,
  "decided",
  "comment",
  "known",
  "result",
  "corrections",
  "field",
  "masks",
];
const workOf = (line) => Object.fromEntries(WORK.map((field) => [field, line[field]]));

// supersedes says that work on an image was decided later than other work, and has all that was
// drawn and written there. Of two fields the later one counts.
const supersedes = (a, b) =>
  a.decided > b.decided &&
  Boolean(a.review) &&
  (!b.field?.changed || Boolean(a.field)) &&
  (!b.comment || a.comment === b.comment) &&
  [
    [a.corrections, b.corrections],
    [a.result?.asked.evidence ?? [], b.result?.asked.evidence ?? []],
  ].every(([all, some]) => some.every((one) => all.some((other) => sameDrawing(one, other))));

// merged resolves to lines with those of another session: an image that is new is added, work on an
// image that nobody touched is taken over, and where both worked differently the line has the other
// work as a rival. same: it is an older or newer state of the same session, of which the later
// decision about an image counts, unless the other state has a drawing or a comment that would be
// lost. Nothing of lines is lost.
export async function merged(lines, others, same = false) {
  for (const { picture } of lines) if (!picture.missing) await sumOf(picture.blob);
  const all = [...lines],
    unmet = Map.groupBy(lines.keys(), (i) => identity(lines[i]));
  let conflicts = 0,
    taken = 0;
  for (const other of others) {
    const alike = unmet.get(identity(other)) ?? [],
      i = alike.find((at) => all[at].picture.name === other.picture.name) ?? alike[0],
      line = all[i]; // best of the same name too
    if (!line) all.push(other);
    else {
      alike.splice(alike.indexOf(i), 1);
      if (touched(line) && touched(other))
        for (const { open } of drawingsOf([
          line,
          other,
          ...(line.rivals ?? []),
          ...(other.rivals ?? []),
        ]))
          await open?.().catch(() => {}); // one that is damaged is no other's equal
      const here =
          line.picture.missing && !other.picture.missing
            ? attached({ lines: [line] }, new Map([[line.key, other.picture.blob]])).lines[0]
            : line,
        { picture } = here;
      const take = touched(other) && (!touched(line) || (same && supersedes(other, line))),
        rivals = [...(line.rivals ?? [])];
      const versions = [workOf(other), ...(other.rivals ?? [])].map((work) => ({
        ...work,
        result: pictureIn(work.result, picture),
      }));
      for (const work of take || (same && supersedes(line, other)) ? versions.slice(1) : versions)
        if (
          touched(work) &&
          ![...(take ? [other] : [line]), ...rivals].some((one) => sameWork(one, work))
        )
          rivals.push(work);
      if (take) taken++;
      if (rivals.length > (line.rivals?.length ?? 0)) conflicts++;
      all[i] = { ...here, ...(take ? versions[0] : {}), rivals };
    }
  }
  return { lines: all, added: all.length - lines.length, taken, conflicts };
}
