// Tests of lists that are one series, which TestInNode runs.
import { Stroke, YOU, blank } from "../draw/correct.js";
import { canUndo } from "../page/state.js";
import { UNASKED } from "../page/history.js";
import { stripOf } from "../series/strip.js";
import { handOf, lineAt, seriesIn } from "../review/worklist.js";
import { after, answered, done, equal, image, resultOf, start } from "./state_test.js";

const file = { is: "the file" };
let keys = 0;
const slice = (number, blob = file) => ({
  name: "a.nii",
  blob,
  slice: number,
  turn: 0,
  key: ++keys,
});
const drawing = (x, more) => {
  const stroke = new Stroke(blank(YOU, "disc", image));
  stroke.line([x, 20, 5], [x + 20, 20, 5], 255);
  return { ...stroke.correction, ...more };
};
// open is a volume of five slices, of which the third, as the middle one, is open.
const open = () => {
  const begun = after(start, { type: "open", picture: slice(0) }),
    decoded = { ...image, slice: 3, slices: 5 };
  return done(after(begun, { type: "decoded", job: begun.job, image: decoded }));
};
const series = { name: "a.nii", step: 2, gaps: [] };
// serial makes its list, and computes all of it.
const serial = (s = open()) => {
  s = after(s, {
    type: "serial",
    series,
    open: true,
    pictures: [1, 2, 3, 4, 5].map((n) => slice(n)),
  });
  for (let task = s.worklist.task; task; task = s.worklist.task) {
    const result = { ...resultOf(s), asked: { picture: task.picture, ...UNASKED } };
    s = after(s, { type: "computed", task, result, masks: null });
  }
  return s;
};
const hands = ({ worklist }) => worklist.lines.map((line) => handOf(line));
const seen = (s, key) => {
  s = after(s, { type: "pick", key });
  const { picture, slice } = lineAt(s.worklist);
  return done(
    after(s, {
      type: "decoded",
      job: s.job,
      image: { ...image, slice, slices: 5, of: picture.key },
    }),
  );
};
const fillsOf = (s, ...at) =>
  at.map((i) => {
    const { key, result } = s.worklist.lines[i];
    return { key, corrections: [drawing(10 * i, { filled: true })], result };
  });

export const tests = {
  "the open slice keeps its line, and the list is in the series' order"() {
    const s = serial(answered(after(open(), { type: "stroke", correction: drawing(0) })));
    equal(
      s.worklist.lines.map(({ slice, slices, state }) => [slice, slices, state]),
      [1, 2, 3, 4, 5].map((n) => [n, 5, "done"]),
      "lines",
    );
    equal([lineAt(s.worklist).slice, s.picture.slice, s.job], [3, 0, null], "the stage");
    equal(hands(s), ["", "", "corrected", "", ""], "what was drawn before");
    const more = after(s, { type: "add", pictures: [slice(0, {})], show: false, open: true });
    equal([more.worklist.lines.length, more.worklist.series], [6, null], "another image");
  },
  "what can become a series"() {
    const s = open(),
      dicom = { formats: ["png", "dicom-seg"], lacks: "" },
      lines = (...results) =>
        results.map((result) => ({
          picture: { blob: {} },
          slices: 1,
          result: result && { formats: [], ...result },
        })),
      list = (lines, more) => ({ ...s, image: { slices: 1 }, worklist: { lines, ...more } });
    for (const [what, wanted, of] of [
      ["a volume", "file", s],
      ["one picture", "", { ...s, image: { slices: 1 } }],
      ["while another one is opened", "", { ...s, job: { picture: slice(1) } }],
      ["slices of a volume", "file", { ...s, worklist: { lines: [{ picture: s.picture }] } }],
      [
        "a volume beside others",
        "",
        { ...s, worklist: { lines: [{ picture: s.picture }, { picture: slice(1, {}) }] } },
      ],
      ["DICOM files", "files", list(lines(dicom, null, { lacks: "no UID" }))],
      ["a PNG beside them", "", list(lines(dicom, {}))],
      ["nothing is known yet", "", list(lines(null, null))],
      ["one file", "", list(lines(dicom))],
      ["a study", "", list(lines(dicom, dicom), { study: {} })],
      ["a series already", "", list(lines(dicom, dicom), { series })],
      [
        "files that are not attached",
        "",
        list([{ picture: { missing: {} }, result: dicom }, ...lines(dicom)]),
      ],
    ])
      equal(seriesIn(of), wanted, what);
  },
  "what is filled in can be undone in each slice, and is confirmed by a decision or a stroke"() {
    let s = serial();
    const key = (i) => s.worklist.lines[i].key;
    s = answered(after(s, { type: "fill", fills: fillsOf(s, 1, 2, 3), status: "" }));
    equal(hands(s), ["", "filled in", "filled in", "filled in", ""], "on the stage and beside");
    equal([s.corrections.length, canUndo(s)], [1, true], "the stage");
    s = answered(after(s, { type: "undo" }));
    equal(hands(s), ["", "filled in", "", "filled in", ""], "undone on the stage");
    s = answered(seen(s, key(1)));
    equal([s.corrections.length, canUndo(s)], [1, true], "a slice beside");
    s = answered(after(s, { type: "undo" }));
    equal(hands(s), ["", "", "", "filled in", ""], "undone there");
    s = answered(
      after(s, { type: "redo" }, { type: "press", act: { type: "decide", what: "accepted" } }),
    );
    equal(hands(s), ["", "corrected", "", "filled in", ""], "accepted");
    s = answered(seen(s, key(3)));
    const [filled] = s.corrections,
      stroke = new Stroke(filled);
    stroke.line([200, 150, 9], [210, 150, 9], 0);
    s = answered(after(s, { type: "stroke", correction: stroke.correction }));
    equal(hands(s), ["", "corrected", "", "corrected", ""], "drawn on");
    const two = fillsOf(s, 2)[0],
      cup = { ...drawing(0, { filled: true }), class: "cup" };
    s = after(s, {
      type: "fill",
      status: "",
      fills: [{ ...two, corrections: [...two.corrections, cup] }],
    });
    equal(s.worklist.lines[2].corrections.length, 2, "both structures");
  },
  "the strip has a bar for each slice"() {
    globalThis.document ??= {
      createElementNS: (_, tag) => {
        const made = { tag, is: {}, parts: [] };
        made.setAttribute = (name, value) => (made.is[name] = value);
        made.append = (...parts) => made.parts.push(...parts);
        return made;
      },
    };
    const area = (...all) => ({ measurements: { structures: all.map((area) => ({ area })) } }),
      line = (key, fields) => ({ key, review: "", result: null, corrections: [], ...fields }),
      filled = [{ filled: true }];
    const { parts, is } = stripOf({
      at: 2,
      lines: [
        line(1),
        line(2, { result: area(50, 0), review: "accepted", corrections: [{}] }),
        line(3, { result: area(25, 100), corrections: filled }),
        line(4, { result: area(10, 5), review: "rejected" }),
      ],
    });
    const bars = parts.map(({ is }) => [is.class, Math.floor(is.x), Math.round(is.height)]);
    equal(is.viewBox, "0 0 4 100", "drawing");
    equal(
      bars,
      [
        ["none", 0, 6],
        ["at", 1, 100],
        ["full", 1, 43],
        ["hand", 1, 7],
        ["hollow", 2, 86],
        ["hollow", 2, 22],
        ["filled", 2, 7],
        ["hollow", 3, 9],
        ["hollow", 3, 4],
        ["rejected", 3, 6],
      ],
      "bars",
    );
  },
};
