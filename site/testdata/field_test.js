// Tests of field/cells.js, and of fields in the state, which TestInNode runs.
import * as cells from "../field/cells.js";
import { fieldOf, givable } from "../page/history.js";
import { canUndo } from "../page/state.js";
import { hasWork, unsaved, unsavedField } from "../page/unsaved.js";
import { after, equal, picture, shown } from "./state_test.js";

// square is an object of some pixels wide with a hole of 2.
const square = (number, x, y, wide = 10, more = {}) => ({
  object: {
    number,
    x: x + wide / 2,
    y: y + wide / 2,
    area: wide * wide,
    roundness: 0.785,
    doubt: 0.2,
    by: "model",
    cut: false,
    ...more,
  },
  lines: [
    [x, y, x + wide, y, x + wide, y + wide, x, y + wide],
    [x + 4, y + 4, x + 6, y + 4, x + 6, y + 6, x + 4, y + 6],
  ],
});
const answerOf = (undo, redo, ...squares) => ({
  class: "cell",
  undo,
  redo,
  objects: squares.map(({ object }) => object),
  points: Float32Array.from(squares.flatMap(({ lines }) => lines.flat())),
  starts: Uint32Array.from(squares.flatMap((_, i) => [8 * i, 8 * i + 4])),
  of: Uint32Array.from(squares.flatMap(({ object }) => [object.number, object.number])),
});
const three = answerOf(
  0,
  0,
  square(1, 0, 0, 10, { cut: true }),
  square(2, 20, 2),
  square(5, 2, 30, 20, { doubt: 1.5 }),
);

const found = (s, answer = three) =>
  after(
    s,
    {
      type: "field",
      picture: s.picture,
      model: s.result.model,
      answer: null,
      chosen: [],
      tool: "select",
      wish: { do: "find" },
    },
    { type: "field", wish: null, answer, chosen: [] },
  );

export const tests = {
  "a point is in the object around it, and not in a hole"() {
    const at = [
      [1, 1],
      [5, 5],
      [25, 4],
      [15, 5],
      [21.9, 49.9],
      [-1, 3],
    ].map(([x, y]) => cells.under(three, x, y));
    equal(at, [1, 0, 2, 0, 5, 0], "numbers");
  },
  "a line splits the object in which most of it lies"() {
    const across = (...line) => cells.crossed(three, line);
    equal(
      [
        across([-5, 2], [40, 2.5]),
        across([8, 1], [40, 3]),
        across([15, -5], [15, 20]),
        across([3, 31]),
      ],
      [1, 2, 0, 0],
      "numbers",
    );
  },
  "objects are chosen one by one, or together, and arrow keys find the nearest"() {
    equal(
      [
        cells.picked([1, 2], 5, false),
        cells.picked([1, 2], 5, true),
        cells.picked([1, 2], 1, true),
      ],
      [[5], [1, 2, 5], [2]],
      "chosen",
    );
    equal(
      [
        cells.beside(three, 1, [1, 0]),
        cells.beside(three, 1, [0, 1]),
        cells.beside(three, 1, [-1, 0]),
        cells.beside(three, undefined, [1, 0]),
        cells.beside({ objects: [] }, undefined, [1, 0]),
      ],
      [2, 5, 1, 1, 0],
      "beside",
    );
    equal(
      [
        cells.next(three, 1, 1),
        cells.next(three, 5, 1),
        cells.next(three, 5, -1e6),
        cells.next(three, undefined, 10),
      ],
      [2, 5, 1, 1],
      "in the list",
    );
  },
  "a change leaves chosen what it made, or what is still there"() {
    const now = answerOf(1, 0, square(1, 0, 0), square(2, 20, 2), square(3, 40, 2)),
      after = (what, chosen, numbers) =>
        cells.left({ answer: three, chosen }, now, { do: what, numbers });
    equal(
      [
        after("add", [1]),
        after("split", [1], [2]),
        after("delete", [5, 1], [5, 1]),
        after("undo", [2, 5]),
      ],
      [[3], [2, 3], [1], [2]],
      "chosen",
    );
  },
  "figures have the scale of the file, and words name what is not as usual"() {
    equal(
      [
        cells.figures(three, null),
        cells.figures(three, [0.001, 0.0005]),
        cells.figures({ objects: [], class: "cell" }, null),
      ],
      [
        "3 cells · median area 100 px · 1 doubted · 1 cut by the border",
        "3 cells · median area 50.0 µm² · 1 doubted · 1 cut by the border",
        "No cell was found.",
      ],
      "figures",
    );
    equal(cells.areaText(100, [0.1, 0.2]), "2.00 mm²", "a coarse scale");
    equal(three.objects.map(cells.wordsOf), ["cut", "", "doubted"], "words");
    equal(cells.wordsOf({ by: "you", doubt: null, cut: true }), "by you, cut", "a person's");
  },
  "chosen outlines are thick, and doubted ones dashed"() {
    const kinds = cells
      .contours(three, [2])
      .map(({ width, dash, starts }) => [width, dash > 0, starts.length]);
    equal(
      kinds,
      [
        [1.75, false, 2],
        [1.75, true, 2],
        [4, false, 2],
      ],
      "lines",
    );
  },
  "a field stands in place of the result until its picture or its model is another"() {
    const s = found(shown());
    equal([fieldOf(s) !== null, canUndo(s), unsaved(s).length], [true, false, 0], "found");
    const asked = after(s, { type: "change", wish: { do: "delete", numbers: [1] } });
    equal(asked.field.wish.do, "delete", "is asked");
    equal(
      after(asked, { type: "change", wish: { do: "undo" } }).field.wish.do,
      "delete",
      "one at a time",
    );
    const cancelled = after(asked, { type: "cancel" });
    equal([cancelled.field.wish, fieldOf(cancelled) !== null], [null, true], "Cancel keeps it");
    equal(after(s, { type: "edit" }).editing, null, "nobody corrects the result meanwhile");
    const opened = after(s, { type: "open", picture: picture("other") }),
      decoded = { type: "decoded", job: opened.job, image: { width: 9, height: 9 } };
    equal(after(opened, decoded).field, null, "another picture");
    equal(after(s, { type: "unfield" }).field, null, "Close");
  },
  "what a person changed is work, until a file has it, and is not lost with another picture"() {
    const answer = answerOf(1, 0, square(1, 0, 0)),
      s = found(shown(), answer);
    equal(
      [unsaved(s), unsavedField(s), hasWork(s), canUndo(s)].map(
        (one) => one === true || one[0] === answer,
      ),
      [true, true, true, true],
      "work",
    );
    equal(after(s, { type: "undo" }).field.wish.do, "undo", "Undo is the field's");
    equal(
      after(s, { type: "turn", quarters: 1, picture: picture("turned") }).job,
      null,
      "it is not turned",
    );
    const saved = after(s, { type: "field", saved: [answer] });
    equal([unsaved(saved), unsavedField(saved)], [[], []], "saved");
    const opened = after(s, { type: "open", picture: picture("other") }),
      there = after(opened, { type: "decoded", job: opened.job, image: { width: 9, height: 9 } });
    equal([fieldOf(there), there.field.answer === answer], [null, true], "it stays");
    const anew = after(s, { type: "ready", models: [], adapter: "GPU", gpu: true, reason: "" });
    equal([anew.field, anew.banner.next], [null, "Find all again."], "a new worker has none");
  },
  "the list keeps a copy of the objects, which the worker is given when the picture is shown again"() {
    const answer = answerOf(1, 0, square(1, 0, 0)),
      alone = found(shown(), answer),
      s = after(alone, { type: "add", pictures: [picture("other")], along: true, open: false }),
      kept = { class: "cell", changed: true, objects: [], blob: {} },
      copy = { type: "copied", picture: s.picture, answer, kept },
      copied = after(s, copy);
    equal(after(s, { ...copy, answer: {} }) === s, true, "objects changed meanwhile");
    const gone = after(after(s, { type: "unfield" }), copy);
    equal(gone.worklist.lines[0].field, null, "closed meanwhile");
    const away = after(
      { ...s, picture: s.worklist.lines[1].picture, field: { ...s.field, answer: three } },
      { type: "work" },
    );
    equal(away.field?.answer === three, true, "it stays until the list has a copy");
    equal(after(away, { ...copy, answer: three }).field, null, "and no longer");
    const left = after({ ...s, picture: s.worklist.lines[1].picture, field: null }, copy);
    equal([left.field, left.worklist.lines[0].field], [null, kept], "left meanwhile");
    equal(
      [copied.worklist.lines[0].field, copied.field.kept, unsaved(copied), unsavedField(copied)],
      [kept, kept, [kept], [kept]],
      "a copy is the same work",
    );
    const saved = after(s, { type: "field", saved: [answer] });
    equal(unsaved(after(saved, copy)), [], "saved before");
    equal(
      ["session", "zip", "csv"].map((what) =>
        what === "session"
          ? unsaved(after(copied, { type: "stored", list: copied.worklist })).length
          : unsaved(after(copied, { type: "written", list: copied.worklist, what })).length,
      ),
      [0, 1, 1],
      "a session has it",
    );
    equal(givable(copied), null, "it is shown");
    const many = (s) => ({ ...s, result: { ...s.result, findsMany: true } }),
      anew = many(after(copied, { type: "ready", models: [], adapter: "GPU", reason: "" }));
    equal([anew.field, anew.banner, givable(anew) === kept], [null, null, true], "a new worker");
    const closed = many(after(copied, { type: "unfield" }));
    equal([givable(closed), unsaved(closed)], [null, []], "Close");
    equal(hasWork(many(anew), anew.worklist.lines[0]), true, "the line has work");
  },
  "progress is the field's while it is computed, and a job ends that"() {
    const s = shown(),
      wish = { do: "find" },
      begun = after(s, {
        type: "field",
        picture: s.picture,
        model: "levels",
        answer: null,
        chosen: [],
        wish,
      }),
      told = after(begun, {
        type: "progress",
        job: wish,
        progress: { stage: "find", done: 1, total: 3 },
      });
    equal(
      [told.progress.stage, told.status, fieldOf(told)],
      ["find", "Finding all", null],
      "progress",
    );
    equal(after(told, { type: "cancel" }).field, null, "there is nothing yet");
    equal(after(told, { type: "region", roi: "none" }).field, null, "a job is more urgent");
    const failed = after(told, { type: "field", wish: null });
    equal([failed.field, failed.progress], [null, null], "it failed");
  },
};
