// Tests of compare.js, which TestInNode runs: the figures of differences, and which photograph
// is worked on.
import { changeOf, differences, mirroredLines } from "../review/compare.js";
import { blank, Stroke, baseOf } from "../draw/correct.js";
import { initial, next } from "../page/state.js";
import {
  after,
  answered,
  done,
  equal,
  image,
  opened,
  picture,
  resultOf,
  shown,
  start,
} from "./state_test.js";

const figures = (disc, cup, ratio) => ({
  measurements: {
    structures: [
      { class: "disc", area: disc, height: disc / 10, width: disc / 20 },
      { class: "cup", area: cup, height: cup / 10, width: cup / 20 },
    ],
    verticalRatio: { inner: "cup", outer: "disc", value: ratio },
  },
});
const row = (rows, name, of) =>
  rows.find((one) => one.name === name && one.of.join() === of).values;

// compared has a second photograph beside the first, with a result of its own.
const compared = (fields) => {
  const begun = after(shown(), { type: "compare", picture: picture("two.png") }),
    { job } = begun.compared;
  return answered(
    after(
      begun,
      { type: "pairDecoded", job, image },
      { type: "paired", job, result: resultOf(begun, fields) },
    ),
  );
};
// whole answers questions for whole maps with one that is inside in a square, and others with a line.
const whole = (s) =>
  s.questions.reduce(
    (s, question) =>
      after(s, {
        type: "viewed",
        question,
        view: question.whole
          ? baseOf(
              Float32Array.from({ length: 400 * 300 }, (_, i) =>
                i % 400 < 100 && i < 100 * 400 ? 1 : 0,
              ),
              400,
              300,
            )
          : { of: question.key },
      }),
    s,
  );
const stroke = (s) => {
  const drawn = new Stroke(blank("you", "disc", { width: 400, height: 300 }));
  for (let y = 200; y < 210; y++) drawn.row(y, 0, 10, 255);
  return whole(next(s, { type: "stroke", correction: drawn.correction }));
};

export const tests = {
  "figures are in pixels, or in mm where both photographs have a scale"() {
    const first = figures(2000, 500, 0.5),
      second = figures(2200, 600, 0.55),
      mm = { mm: [0.1, 0.2], by: "file" },
      half = { mm: [0.05, 0.1], by: "hand" };
    for (const scales of [
      [null, null],
      [mm, null],
      [null, mm],
    ]) {
      const rows = differences(first, second, scales);
      equal(
        [
          row(rows, "vertical", "cup,disc"),
          row(rows, "area", "disc"),
          row(rows, "height", "cup"),
          row(rows, "width", "cup"),
        ],
        [
          [0.5, 0.55],
          [2000, 2200],
          [50, 60],
          [25, 30],
        ],
        "pixels",
      );
      equal(
        rows.map(({ unit }) => unit),
        ["ratio", "area", "length", "length", "area", "length", "length"],
        "units",
      );
    }
    const rows = differences(first, second, [mm, half]);
    equal(
      [row(rows, "area", "disc"), row(rows, "height", "disc"), row(rows, "width", "disc")]
        .flat()
        .map((v) => Math.round(1e6 * v) / 1e6),
      [40, 11, 40, 22, 10, 5.5],
      "mm",
    );
    equal(row(rows, "vertical", "cup,disc"), [0.5, 0.55], "ratios have no scale");
  },
  "a figure that one photograph lacks is null"() {
    const rows = differences(
      figures(2000, 500, 0.5),
      { measurements: { structures: [{ class: "disc", area: 100, height: 10 }] } },
      [null, null],
    );
    equal(
      [
        row(rows, "vertical", "cup,disc"),
        row(rows, "area", "cup"),
        row(rows, "height", "cup"),
        row(rows, "width", "disc"),
      ],
      [
        [0.5, null],
        [500, null],
        [50, null],
        [100, null],
      ],
      "rows",
    );
    equal(
      differences({ measurements: { structures: [] } }, figures(1, 1, 1), [null, null]),
      [],
      "without structures",
    );
  },
  "views say how far figures differ by chance"() {
    const sd = { area: 30, height: 3, width: 4 },
      repeats = { views: 8, verticalRatio: 0.03, horizontalRatio: 0.03, structures: [sd, sd] },
      four = { ...repeats, verticalRatio: 0.04 },
      limits = (...args) => differences(...args).map(({ limit }) => limit && limit.toFixed(3)),
      two = [figures(2000, 500, 0.5), figures(2200, 500, 0.58)],
      mm = { mm: [0.1, 0.2] };
    equal(limits(...two, [null, null], [repeats, four]).slice(0, 3), ["0.098", "83.156", "8.316"]);
    equal(limits(...two, [mm, mm], [repeats, repeats]).slice(1, 3), ["1.663", "1.663"], "mm");
    const again = (...args) => differences(...args).map(({ again }) => again?.toFixed(3));
    equal(
      again(...two, [null, null]),
      ["0.140", "420.000", "18.000", "10.000", "350.000", "17.500", "7.000"],
      "photographs of one eye",
    );
    equal(again(...two, [mm, mm])[1], "8.400", "in mm²");
    equal(
      limits(...two, [null, null], [repeats, { message: "too few" }])[0],
      null,
      "one is missing",
    );
    equal(limits(...two, [null, null])[0], null, "nobody has asked");
    const said = (b, limit, more = {}) =>
      changeOf([figures(1, 1, 0.5), { ...figures(1, 1, b), ...more }], limit)?.[0] ?? null;
    equal(said(0.55, 0.06).startsWith("This is within"), true, "within");
    equal(said(0.6, 0.06).endsWith("need not be a change."), true, "between");
    equal(said(0.7, 0.06).startsWith("This is beyond"), true, "beyond");
    equal(said(0.7, null), null, "not known yet");
    equal(said(0.7, 0.06, { width: 9 }).includes("differ in size"), true, "another camera");
    equal(said(null, 0.06), null, "no ratio");
    const bad = figures(1, 1, 0.7);
    bad.measurements.verticalRatio.trust = { word: "do not use", reason: "" };
    equal(changeOf([figures(1, 1, 0.5), bad], 0.06)[0].includes("not to be used"), true);
    const eyes = ["right", "left"].map((side, i) => {
      const one = figures(1, 1, 0.5 + 0.1 * i);
      one.measurements.eye = { side };
      return one;
    });
    equal(changeOf(eyes, 0.06), null, "two eyes have a note of their own");
  },
  "a mirrored line lies on the other side"() {
    const [line] = mirroredLines(
      [{ points: Float32Array.of(10, 20, 30, 40), starts: Uint32Array.of(0) }],
      100,
    );
    equal(Array.from(line.points), [90, 20, 70, 40], "points");
  },
  "the second photograph becomes the one that is worked on, and each keeps its result"() {
    const s = compared(),
      [first, second] = [s.result, s.compared.result],
      on = after(s, { type: "swap" });
    equal(
      [on.picture.name, on.compared.picture.name, on.compared.first],
      ["two.png", "one.png", true],
      "pictures",
    );
    equal(
      [
        on.result === second,
        on.compared.result === first,
        on.job,
        on.compared.job,
        on.measured === second,
      ],
      [true, true, null, null, true],
      "results",
    );
    const back = after(on, { type: "swap" });
    equal(
      [
        back.result === first,
        back.compared.result === second,
        back.compared.first,
        back.picture.name,
      ],
      [true, true, false, "one.png"],
      "back",
    );
    equal(
      after(on, { type: "uncompare" }).picture.name,
      "two.png",
      "the one that is worked on stays",
    );
  },
  "corrections and a scale by hand stay with their photograph"() {
    let s = stroke({ ...whole(compared()), known: 0.5 });
    equal(
      [s.corrections.length, s.measured.measurements.structures.length, s.history.past.length],
      [1, 1, 1],
      "drawn on the first",
    );
    const corrected = s.measured;
    s = whole(next(s, { type: "swap" }));
    equal(
      [
        s.corrections.length,
        s.compared.corrections.length,
        s.known,
        s.compared.known,
        s.history.past.length,
      ],
      [0, 1, null, 0.5, 0],
      "on the second",
    );
    s = stroke(s);
    equal([s.corrections.length, s.measured.corrected.length], [1, 1], "drawn on the second too");
    s = whole(next(s, { type: "swap" }));
    equal(
      [s.corrections.length, s.compared.corrections.length, s.known, s.measured === corrected],
      [1, 1, 0.5, true],
      "on the first again",
    );
  },
  "weights compute both anew and a swapped photograph keeps its region"() {
    const s = after(compared(), { type: "region", roi: "1,2,100" }),
      placed = done(s);
    equal([placed.result.asked.roi, placed.compared.job], ["1,2,100", null], "by hand");
    const on = after(placed, { type: "swap" });
    equal([on.compared.asked.roi, on.result.asked.roi], ["1,2,100", "auto"], "swapped");
    const gone = after(on, {
      type: "refused",
      question: { result: on.compared.result, key: "x" },
      error: { code: "gone" },
    });
    equal(
      [gone.compared.result, gone.compared.job.roi],
      [null, "1,2,100"],
      "computed again as it was",
    );
    const other = after(on, { type: "list", name: "raters" }, { type: "rested" }),
      renewed = done(other, { model: "raters" });
    equal(
      [renewed.compared.job.roi, renewed.compared.job.model],
      ["auto", "raters"],
      "another model looks anew",
    );
  },
  "nothing is swapped while something is computed"() {
    const begun = after(shown(), { type: "compare", picture: picture("two.png") });
    equal(after(begun, { type: "swap" }).picture.name, "one.png", "the second has no result");
    const busy = after(compared(), { type: "region", roi: "none" });
    equal(after(busy, { type: "swap" }).picture.name, "one.png", "the first is being computed");
    equal(after(initial, { type: "swap" }), initial, "there is nothing");
    equal(after(start, { type: "swap" }).compared, null, "no photograph");
    equal(opened(start, "one.png").compared, null, "no comparison");
  },
};
