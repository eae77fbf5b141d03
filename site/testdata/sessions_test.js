// Tests of what is read of other people's session files, which TestInNode runs.
import { Stroke, blank } from "../draw/correct.js";
import { filesOf, merged, readSession, sumOf } from "../study/session.js";
import { equal } from "./state_test.js";
import { t, teach, use } from "../words/words.js";
import { readZIP, writePNG, writeZIP } from "../study/zip.js";

const SUM = "ab".repeat(32);
const result = {
  width: 64,
  height: 48,
  classes: ["disc", "cup"],
  raters: ["one"],
  model: "levels",
  found: true,
  doubts: [],
  doubt: null,
  roi: { x: 0, y: 0, side: 48 },
  measurements: {
    structures: [{ class: "disc", area: 1, share: 0, height: 1, width: 1, pieces: 1 }],
  },
};
const mark = {
  rater: "you",
  class: "disc",
  file: "drawn/1_1.png",
  x: 0,
  y: 0,
  width: 64,
  height: 48,
};
// reading and session are as the page writes them. The first pages wrote neither log nor study,
// reason nor seconds.
const reading = (fields) => ({
  image: { sha256: SUM, bytes: 3, name: "a.png", slice: 0, slices: 1, turn: 0 },
  review: "accepted",
  decided: "2026-11-27T10:00:00.000Z",
  comment: "",
  region: "auto",
  weights: null,
  mm: null,
  drawn: [],
  marks: [],
  masks: [],
  result,
  ...fields,
});
const session = (fields) => ({
  format: "MrPrism session",
  version: 1,
  program: "page",
  id: "one",
  saved: "2026-11-27T10:00:00.000Z",
  grader: "EM",
  model: { name: "levels", title: "Levels", sha256: "" },
  at: 0,
  readings: [reading()],
  ...fields,
});

const crcs = new Map();
async function crcOf(blob) {
  // as another ZIP has it
  if (!crcs.has(blob))
    crcs.set(
      blob,
      new DataView(await (await writeZIP([{ name: "x", blob }])).arrayBuffer()).getUint32(14, true),
    );
  return crcs.get(blob);
}
// zipOf resolves to a ZIP of files, each { name, blob }. claims: the list says that a file unpacks
// to so many bytes. times: a file is so often in the list.
async function zipOf(files, cut = false) {
  const parts = [],
    list = [];
  let at = 0;
  for (const { name, blob, claims, times = 1 } of files) {
    const packed =
      claims === undefined
        ? blob
        : new Blob([
            await new Response(
              blob.stream().pipeThrough(new CompressionStream("deflate-raw")),
            ).arrayBuffer(),
          ]);
    const called = new TextEncoder().encode(name),
      head = (signature, size) => {
        const view = new DataView(new ArrayBuffer(size));
        view.setUint32(0, signature, true);
        return view;
      };
    const local = head(0x04034b50, 30),
      crc = await crcOf(blob),
      sizes = (view, at) => {
        view.setUint32(at, crc, true);
        view.setUint32(at + 4, packed.size, true);
        view.setUint32(at + 8, claims ?? blob.size, true);
      };
    local.setUint16(8, claims === undefined ? 0 : 8, true);
    sizes(local, 14);
    local.setUint16(26, called.length, true);
    const entry = head(0x02014b50, 46);
    entry.setUint16(10, claims === undefined ? 0 : 8, true);
    sizes(entry, 16);
    entry.setUint16(28, called.length, true);
    entry.setUint32(42, at, true);
    parts.push(local, called, packed);
    for (let i = 0; i < times; i++) list.push(entry, called);
    at += 30 + called.length + packed.size;
  }
  const names = new Blob(list),
    end = new DataView(new ArrayBuffer(22));
  end.setUint32(0, 0x06054b50, true);
  end.setUint32(12, names.size, true);
  end.setUint32(16, at, true);
  return new Blob(cut ? parts : [...parts, names, end]);
}
const json = (value) => ({
  name: "session.json",
  blob: new Blob([typeof value === "string" ? value : JSON.stringify(value)]),
});
let keys = 0;
const pictureOf = (blob, name, slice = 0, turn = 0) => ({ blob, name, slice, turn, key: ++keys });
const read = async (zip) =>
  readSession((await readZIP(zip, "x.mrprism")).files, "x.mrprism", pictureOf);
const said = (reading) =>
  JSON.stringify(session({ readings: [] })).replace('"readings":[]', `"readings":[${reading}]`);

const png = await writePNG({ width: 64, height: 48, values: new Uint8Array(64 * 48).fill(255) }),
  drawing = { name: "drawn/1_1.png", blob: png };
const many = (n, one) => Array.from({ length: n }, () => one);
const packed = (value, claims) => ({ ...json(value), claims });

// What is refused, and why.
const REFUSED = {
  "20,000 marks on an image": [
    () => [json(session({ readings: [reading({ marks: many(20000, mark) })] })), drawing],
    "20000 drawings of an image, of at most 4",
  ],
  "drawings of more pixels than any image has": [
    () => [
      json(
        session({
          readings: [
            reading({
              result: {
                ...result,
                width: 9000,
                height: 7000,
                raters: many(60, "r").map((r, i) => r + i),
              },
              drawn: many(60, { ...mark, width: 9000, height: 7000 }),
            }),
          ],
        }),
      ),
      drawing,
    ],
    "pixels that are drawn",
  ],
  "a bomb, by its list": [
    () => [packed(session(), 4e9)],
    "4000000000 bytes unpacked, of at most 536870912",
  ],
  "many small bombs": [
    () =>
      Array.from({ length: 9 }, (_, i) => ({
        name: `${i}.png`,
        blob: new Blob(["x"]),
        claims: 1e8,
      })),
    "900000000 bytes unpacked",
  ],
  "a list that is too long, as it is": [
    () => [{ name: "session.json", blob: new Blob([new Uint8Array(2 ** 27 + 1)]) }],
    "134217729 bytes of its list",
  ],
  "a list that is too long to read": [
    () => [packed(session(), 2 ** 28)],
    "268435456 bytes of its list",
  ],
  "files that overlap": [
    () => [json(session()), { ...drawing, times: 1000 }],
    "bytes of its files",
  ],
  "more files than a list has": [
    () => [{ name: "", blob: new Blob([]), times: 100002 }],
    "100001 files",
  ],
  "a name without end": [
    () => [json(session()), { name: "x".repeat(60000), blob: new Blob([]) }],
    "60000 bytes of a name",
  ],
  "a hundred thousand images": [() => [json(session({ readings: many(1e5, 0) }))], "100000 images"],
  "lists in lists": [() => [json(`${"[".repeat(2.1e6)}${"]".repeat(2.1e6)}`)], "2100000 values"],
  "a log of a million entries": [
    () => [
      json(session({ log: [{ file: "log/1.jsonl" }] })),
      { name: "log/1.jsonl", blob: new Blob(["{}\n".repeat(1e6)]) },
    ],
    "1000000 entries",
  ],
  "one log, a thousand times": [
    () => [json(session({ log: many(1000, { file: "log/1.jsonl" }) }))],
    "1000 logs",
  ],
  "a later version": [
    () => [json(session({ version: 2, readings: { later: true } }))],
    "was saved by a later version",
  ],
  "a version in words": [() => [json(session({ version: "new" }))], "is no session"],
  "no version": [() => [json(session({ version: undefined }))], "is no session"],
  "readings with a length": [() => [json(session({ readings: { length: 1e9 } }))], "is no session"],
  "a grader without end": [() => [json(session({ grader: "x".repeat(2000) }))], "is no session"],
  "a grader that is none": [() => [json(session({ grader: { toString: 1 } }))], "is no session"],
  "a model that is none": [() => [json(session({ model: { name: ["levels"] } }))], "is no session"],
  "a study without bottom": [
    () => [
      json(
        `${JSON.stringify(session()).slice(0, -1)},"study":${'{"a":'.repeat(1e5)}1${"}".repeat(1e5)}}`,
      ),
    ],
    "is no session",
  ],
  null: [() => [json("null")], "is no session"],
  nothing: [() => [json("")], "is no session"],
  "a text": [() => [json("{")], "is no session"],
  "more than the list says": [
    () => [packed(session({ program: "x".repeat(1000) }), 100)],
    "is no session",
  ],
  "less than the list says": [() => [packed(session(), 1e5)], "is no session"],
};
// Readings that are not believed: their image is named, and nobody has decided about it.
const endless = { length: 1e9 };
const READINGS = {
  "weights with a length": reading({ weights: endless }),
  "drawings with a length": reading({ drawn: endless }),
  "marks that are none": reading({ marks: [null] }),
  "masks with a length": reading({ masks: endless }),
  "a region in words": reading({ region: "constructor" }),
  "a decision that is none": reading({ review: "constructor" }),
  "a comment that is none": reading({ comment: {} }),
  "seconds in words": reading({ seconds: "9" }),
  "a scale in words": reading({ mm: "1" }),
  "an error that is none": reading({ error: { message: {} } }),
  "no image": { ...reading(), image: null },
  "a sum that is none": reading({ image: { ...reading().image, sha256: "__proto__" } }),
  "a turn by 45°": reading({ image: { ...reading().image, turn: 45 } }),
  "a slice that is none": reading({ image: { ...reading().image, slice: endless } }),
  "a name without end": reading({ image: { ...reading().image, name: "x".repeat(1e5) } }),
  null: null,
  "a number": 7,
};
const RESULTS = {
  "classes with a length": { classes: endless },
  "classes that are none": { classes: [1] },
  "the same class twice": { classes: ["disc", "disc"] },
  "raters with a length": { raters: endless },
  "more raters than people": { raters: many(1e5, "r") },
  "a width of 10⁹": { width: 1e9 },
  "a width below 0": { width: -1 },
  "pixels without end": { width: 60000, height: 60000 },
  "no region": { roi: null },
  "a doubt in words": { doubt: "1" },
  "doubts that are none": { doubts: [null] },
  "structures with a length": { measurements: { structures: endless } },
  "a structure of no class": {
    measurements: { structures: [{ ...result.measurements.structures[0], class: "constructor" }] },
  },
  "an area in words": {
    measurements: { structures: [{ ...result.measurements.structures[0], area: "<b>" }] },
  },
  "a ratio that is none": { measurements: { structures: [], verticalRatio: 7 } },
  "an interval of nothing": {
    measurements: {
      structures: [],
      verticalRatio: { inner: "cup", outer: "disc", value: 1, interval: {} },
    },
  },
  "a word of trust": {
    measurements: {
      structures: [],
      verticalRatio: { inner: "cup", outer: "disc", value: 1, trust: { word: "toString" } },
    },
  },
  "an eye of its own": { measurements: { structures: [], eye: { side: "constructor" } } },
  "a rim of two hours": { measurements: { structures: [], rim: [1, 2] } },
  "timings in words": { timings: { total: "1" } },
  "formats with a length": { formats: endless },
  "corrected by nobody": { corrected: [null] },
};

const drawn = (value) => {
  const stroke = new Stroke(blank("you", "disc", result));
  stroke.polygon(
    [
      [4, 4],
      [20, 4],
      [20, 20],
    ],
    value,
  );
  return stroke.correction;
};
// labels is a PNG of labels as its head says: its size, bits and colours. field are objects in it.
const labels = (width, height, form = 0x1000) => {
  const head = new DataView(new ArrayBuffer(26));
  head.setUint32(0, 0x89504e47);
  head.setUint32(16, width);
  head.setUint32(20, height);
  head.setUint16(24, form);
  return new Blob([head, "…"]);
};
const field = {
  class: "cell",
  file: "fields/1_1.png",
  changed: true,
  objects: [{ number: 3, by: "you", disagreement: 9, doubt: null }],
};
const line = (fields) => ({
  key: ++keys,
  picture: { name: "a.png", missing: { sha256: SUM, bytes: 3 }, turn: 0 },
  slice: 0,
  slices: 1,
  review: "",
  corrections: [],
  ...fields,
});

export const tests = {
  async "a session that is too large or none is refused before anything is made of it"() {
    const { createImageBitmap } = globalThis;
    globalThis.createImageBitmap = () => {
      throw new Error("a picture was decoded");
    };
    try {
      for (const [what, [make, why]] of Object.entries(REFUSED))
        for (const cut of [false, true]) {
          if (cut && /overlap|more files/.test(what)) continue; // by the list alone
          const { message, next } = await zipOf(make(), cut)
            .then(read)
            .then(
              () => ({ message: "it was read" }),
              (error) => error,
            );
          equal(
            [message.startsWith("x.mrprism ") && message.includes(why), Boolean(next)],
            [true, true],
            `${what}${cut ? ", cut short" : ""}: ${message}`,
          );
        }
    } finally {
      globalThis.createImageBitmap = createImageBitmap;
    }
  },
  async "a reading or a result of another shape is named, and its decision not believed"() {
    for (const [what, one] of Object.entries(READINGS)) {
      const { lines, damaged } = await read(
        await zipOf([json(session({ readings: [reading(), one] }))]),
      );
      equal(
        [lines.length, lines[0].review, damaged.length, damaged[0].length < 1001],
        [1, "accepted", 1, true],
        what,
      );
    }
    for (const [what, fields] of Object.entries(RESULTS)) {
      const {
        lines: [{ review, result: of, picture }],
        damaged,
      } = await read(
        await zipOf([json(session({ readings: [reading({ result: { ...result, ...fields } })] }))]),
      );
      equal([review, of, damaged, picture.name], ["", null, ["a.png"], "a.png"], what);
    }
    const deep = reading({ result: { ...result, more: "<>" } });
    equal(
      (
        await read(
          await zipOf([
            json(
              said(
                JSON.stringify(deep).replace('"<>"', `${'{"a":'.repeat(1e5)}1${"}".repeat(1e5)}`),
              ),
            ),
          ]),
        )
      ).damaged,
      ["a.png"],
      "a result without bottom, which nobody could write again",
    );
  },
  async "a drawing that was filled in stays so"() {
    const filled = { ...mark, filled: true },
      readings = [reading({ drawn: [filled] }), reading({ drawn: [mark] })],
      { lines } = await read(await zipOf([json(session({ readings })), drawing]));
    equal(
      lines.map(({ corrections: [one] }) => Boolean(one.filled)),
      [true, false],
      "filled in",
    );
  },
  async "a drawing on no mask, beside its image or of another size is not drawn"() {
    for (const [what, fields] of Object.entries({
      "no class": { class: "constructor" },
      "no rater": { rater: "__proto__" },
      beside: { x: 1 },
      "no file": { file: "__proto__" },
      "no size": { width: undefined },
    })) {
      const {
        lines: [{ review, corrections }],
        damaged,
      } = await read(
        await zipOf([
          json(session({ readings: [reading({ drawn: [{ ...mark, ...fields }] })] })),
          drawing,
        ]),
      );
      equal([review, corrections.length, damaged], ["", 0, [fields.file ?? "drawn/1_1.png"]], what);
    }
    const huge = await writePNG({ width: 1, height: 1, values: new Uint8Array(1) }).then((blob) =>
        blob.arrayBuffer(),
      ),
      head = new DataView(huge);
    head.setUint32(16, 60000);
    head.setUint32(20, 60000);
    const {
      lines: [
        {
          corrections: [one],
        },
      ],
    } = await read(
      await zipOf([
        json(session({ readings: [reading({ drawn: [mark] })] })),
        { name: "drawn/1_1.png", blob: new Blob([huge]) },
      ]),
    );
    equal(
      await one.open().catch(({ message, next }) => [message, next]),
      [
        "A drawing of the session is damaged: it has another size than the session says.",
        "Choose another copy of it.",
      ],
      "a picture of 3.6 gigapixels",
    );
  },
  async "the objects of an image come back as they were saved, and damaged ones are named"() {
    const turned = { image: { ...reading().image, turn: 90 }, field };
    for (const [what, fields, blob, is] of [
      ["as saved", { field }, labels(64, 48), true],
      ["of a turned image", turned, labels(48, 64), true],
      ["of another size", { field }, labels(48, 64), false],
      ["8 bits", { field }, labels(64, 48, 0x800), false],
      ["cut short", { field }, labels(64, 48).slice(0, 20), false],
      ["not there", { field: { ...field, file: "__proto__" } }, labels(64, 48), false],
      ["without a result", { field, result: null }, labels(64, 48), false],
    ]) {
      const files = [json(session({ readings: [reading(fields)] })), { name: field.file, blob }],
        {
          lines: [one],
          damaged,
        } = await read(await zipOf(files));
      const { file, ...same } = field;
      equal(
        [one.field && { ...one.field, blob: null }, damaged, one.review],
        is ? [{ ...same, blob: null }, [], "accepted"] : [null, [fields.field.file], ""],
        what,
      );
      if (!is) continue;
      const written = await filesOf({ lines: [one], at: 1 }, {}, false);
      equal(
        [JSON.parse(await written[0].blob.text()).readings[0].field, written[1].name],
        [field, file],
        `${what}, written again`,
      );
    }
    for (const [what, more] of Object.entries({
      "objects with a length": { objects: endless },
      "an object that is none": { objects: [null] },
      "more than 16 bits": { objects: [{ ...field.objects[0], number: 65536 }] },
      "by somebody": { objects: [{ ...field.objects[0], by: "constructor" }] },
      "no class": { class: undefined },
    })) {
      const { lines, damaged } = await read(
        await zipOf([
          json(session({ readings: [reading(), reading({ field: { ...field, ...more } })] })),
        ]),
      );
      equal([lines.length, damaged], [1, ["a.png"]], what);
    }
  },
  async "of two sessions of one person the objects of the later decision count"() {
    const of = (blob, changed = true) => ({ class: "cell", changed, objects: [], blob }),
      [one, other] = [of(new Blob(["1"])), of(new Blob(["2"]))],
      early = { review: "accepted", decided: "2026-11-27T10:00:00Z" },
      late = { review: "accepted", decided: "2026-11-27T11:00:00Z" };
    for (const { blob } of [one, other]) await sumOf(blob);
    for (const [what, here, there, kept, rivals] of [
      ["later there", { ...early, field: one }, { ...late, field: other }, other, 0],
      ["later here", { ...late, field: one }, { ...early, field: other }, one, 0],
      ["only there", {}, { field: other }, other, 0],
      ["both undecided", { field: one }, { field: other }, one, 1],
      ["the same", { field: one }, { field: { ...one } }, one, 0],
      ["not in the later one", { ...early, field: one }, late, one, 1],
      ["found anew by the model", { ...early, field: of(one.blob, false) }, late, null, 0],
    ]) {
      const {
        lines: [is],
      } = await merged([line(here)], [line(there)], true);
      equal([is.field ?? null, is.rivals?.length ?? 0], [kept, rivals], what);
    }
  },
  async "marks are decoded when their image is looked at"() {
    const {
      lines: [
        {
          result: {
            asked: {
              evidence: [one],
            },
          },
        },
      ],
      damaged,
    } = await read(
      await zipOf([json(session({ readings: [reading({ marks: [mark] })] })), drawing]),
    );
    equal([damaged, one.tiles.size], [[], 0], "before");
    await one.open();
    equal(one.tiles.size, 1, "after");
  },
  async "every older form of a session opens"() {
    const log = `${JSON.stringify({ did: "accepted", reading: 0, previous: "" })}\n`;
    for (const [what, fields, files = []] of [
      ["without a log", {}],
      ["with none", { log: null }],
      ["with a study", { study: null, readings: [reading({ reason: "", seconds: 1.5 })] }],
      [
        "with a log",
        { study: null, log: [{ file: "log/1.jsonl", entries: 1, sha256: "" }] },
        [{ name: "log/1.jsonl", blob: new Blob([log]) }],
      ],
    ]) {
      const {
        lines: [{ review, corrections }],
        damaged,
        logs,
      } = await read(
        await zipOf([
          json(
            session({
              ...fields,
              readings: [{ ...reading({ drawn: [mark] }), ...fields.readings?.[0], drawn: [mark] }],
            }),
          ),
          drawing,
          ...files,
        ]),
      );
      equal(
        [review, corrections.length, damaged, logs.map(({ entries }) => entries.length)],
        ["accepted", 1, [], files.length ? [1] : []],
        what,
      );
    }
  },
  async "an entry of a log has plain values, and its line as it is"() {
    const text = '{"did":{"other":1},"by":["x"],"reading":3,"__proto__":{"by":"y"},"previous":""}';
    const {
      logs: [
        {
          entries: [entry],
        },
      ],
    } = await read(
      await zipOf([json(session({ log: [{ file: "l" }] })), { name: "l", blob: new Blob([text]) }]),
    );
    equal(
      [entry.did, entry.by, entry.reading, entry.line],
      [undefined, undefined, 3, text],
      "entry",
    );
  },
  async "of two states of one session the later decision counts, and nothing that only one has is lost"() {
    const early = "2026-11-27T10:00:00Z",
      late = "2026-11-27T11:00:00Z",
      a = { review: "accepted", decided: early },
      r = { review: "rejected", decided: late },
      d = drawn(255);
    for (const [what, here, there, review, rivals] of [
      ["later there", a, r, "rejected", 0],
      ["later here", r, a, "rejected", 0],
      ["only there", {}, a, "accepted", 0],
      ["only here", a, {}, "accepted", 0],
      ["taken back later", a, { review: "", decided: late, comment: "?" }, "accepted", 1],
      ["a drawing there", r, { ...a, corrections: [d] }, "rejected", 1],
      ["a drawing in both", { ...r, corrections: [d] }, { ...a, corrections: [d] }, "rejected", 0],
      ["a comment here", { ...a, comment: "!" }, r, "accepted", 1],
    ])
      for (const same of [true, false]) {
        const {
          lines: [one],
        } = await merged([line(here)], [line(there)], same);
        equal(
          [one.review, one.rivals.length],
          same
            ? [review, rivals]
            : [here.review || there.review, here.review && there.review !== undefined ? 1 : 0],
          `${what}, ${same ? "the same session" : "another session"}`,
        );
      }
  },
  async "a name of a session that is one of an object's own is a name"() {
    teach("de", { "{name} is open.": "{name} ist offen." });
    for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
      for (const language of ["de", "en"]) {
        use(language);
        equal(
          [
            t(name),
            t("{name} is open.", { name }),
            t(`${name} is open.`).includes(name),
            t(`{${name}} is open.`),
          ],
          [
            name,
            language === "de" ? `${name} ist offen.` : `${name} is open.`,
            true,
            `{${name}} is open.`,
          ],
          `${name}, ${language}`,
        );
      }
    }
  },
};
