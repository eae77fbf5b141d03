// Tests of state.js, which TestInNode runs. Every state is frozen: next may change none.
import { Stroke, baseOf, blank } from "../draw/correct.js";
import { shownRecurrence } from "../draw/layers.js";
import { inWhole, shared, sharesOf, weightsOf } from "../review/shares.js";
import { turnedSquare } from "../draw/turn.js";
import { subject } from "../page/history.js";
import { canUndo, initial, moved, next } from "../page/state.js";
import { remarks } from "../review/measurements.js";
import { summary } from "../review/summary.js";
import { unsaved } from "../page/unsaved.js";
import { reached as keyed } from "../review/waiting.js";

const models = [
  { name: "levels", title: "Levels", bytes: 1 },
  { name: "raters", title: "Raters", bytes: 1 },
];
const ready = {
  type: "ready",
  models,
  adapter: "GPU",
  gpu: true,
  software: false,
  reason: "",
  why: "",
};
export const picture = (name) => ({ name, blob: null, key: name });
export const image = { width: 400, height: 300 };
const gone = { code: "gone", message: "gone", next: "" },
  crashed = { code: "crashed", message: "crashed", next: "" };

const frozen = (value) => {
  if (value && typeof value === "object" && !ArrayBuffer.isView(value) && !Object.isFrozen(value))
    Object.values(Object.freeze(value)).forEach(frozen);
  return value;
};
export const after = (s, ...events) =>
  events.reduce((s, event) => frozen(next(s, frozen(event))), frozen(s));
export const equal = (is, wanted, what) => {
  if (JSON.stringify(is) !== JSON.stringify(wanted))
    throw new Error(`${what}: ${JSON.stringify(is)}, not ${JSON.stringify(wanted)}`);
};

let id = 0;
// resultOf is what the worker answers to the job of a state.
export const resultOf = (s, fields) => {
  const raters = ["one", "two", "three", "four"],
    labels = s.model === "raters" ? "raters" : "agreement-levels";
  return {
    id: ++id,
    model: s.model,
    classes: ["disc", "cup"],
    raters,
    labels,
    steered: labels === "raters",
    formats: ["png", "png-mask"],
    found: true,
    doubts: [],
    doubt: null,
    recurrences: 3,
    roi: { x: 100, y: 90, side: 120, whole: false },
    timings: { total: 1000 },
    width: 400,
    height: 300,
    measurements: { structures: [] },
    ...fields,
  };
};
const segmented = (s, fields) =>
  after(s, { type: "segmented", job: s.job, result: resultOf(s, fields) });
// answered answers every question for a view. Masks that can be corrected have a disc of 40 pixels
// at 200, 150.
const base = baseOf(
  Float32Array.from({ length: 400 * 300 }, (_, i) =>
    Math.hypot((i % 400) - 200, Math.floor(i / 400) - 150) < 40 ? 0.9 : 0.1,
  ),
  400,
  300,
);
export const answered = (s) =>
  s.questions.reduce(
    (s, question) =>
      after(s, { type: "viewed", question, view: question.whole ? base : { of: question.key } }),
    s,
  );
export const done = (s, fields) => answered(segmented(s, fields));
export const opened = (s, name) => {
  const begun = after(s, { type: "open", picture: picture(name) });
  return after(begun, { type: "decoded", job: begun.job, image });
};
export const start = after(initial, ready);
export const shown = () => done(opened(start, "one.png"));
// saving has asked for masks of both classes, which the worker has forgotten.
const saving = (s) => {
  const asked = after(
    s,
    { type: "save", what: "mask", class: 0 },
    { type: "save", what: "mask", class: 1 },
  );
  return asked.saves.reduce((s, save) => after(s, { type: "unsaved", save, error: gone }), asked);
};

export const tests = {
  "the first worker prepares the first model, a later one nothing"() {
    equal(
      [start.model, start.listed, start.preparing, start.banner],
      ["levels", "levels", "levels", null],
      "state",
    );
    const own = after(
      start,
      { type: "choosing" },
      { type: "weights", model: { name: "own-1", title: "Own" }, choice: 1 },
    );
    const again = after(
      own,
      { type: "cancel" },
      { ...ready, reason: "no GPU adapter", gpu: false },
    );
    equal(
      [again.model, again.models.length, again.preparing, again.banner],
      ["own-1", 3, "", null],
      "state",
    );
  },
  "without a GPU the page says why the processor computes"() {
    const s = after(initial, {
      ...ready,
      gpu: false,
      reason: "no GPU adapter: this browser has no WebGPU",
    });
    equal(
      [s.banner.kind, s.banner.message.startsWith("This browser gives no WebGPU, so")],
      ["adapter", true],
      "banner",
    );
    equal(
      after(s, { type: "adapter", adapter: "GPU", gpu: true, reason: "" }).banner,
      null,
      "banner",
    );
  },
  "a result waits until all its views are there"() {
    const s = segmented(opened(start, "one.png"));
    equal([s.result, s.questions.length], [null, 2], "before");
    const some = after(s, { type: "viewed", question: s.questions[0], view: {} });
    const more = after(some, { type: "choose", choices: { recurrence: 1 }, by: "recurrence" });
    equal([some.result, more.questions.length], [null, 3], "between");
    const shown = answered(more);
    equal(
      [shown.job, shown.coming, shown.questions.length, shown.status.slice(0, 5)],
      [null, null, 0, "Done "],
      "after",
    );
    equal(shown.result.model, "levels", "result");
  },
  "what the list has kept is shown at once, and computed anew where a view is missing"() {
    const first = shown(),
      begun = opened(first, "two.png"),
      kept = after(begun, {
        type: "segmented",
        job: begun.job,
        result: resultOf(begun),
        views: first.views,
      });
    equal(
      [kept.job, kept.questions.length, kept.result.asked.picture.name],
      [null, 0, "two.png"],
      "at once",
    );
    const editing = after(kept, { type: "edit" }),
      [question] = editing.questions;
    equal([question.whole, editing.job], [true, null], "the map below a correction");
    equal(
      after(editing, { type: "refused", question, error: gone }).job.anew,
      true,
      "the worker has forgotten it",
    );
  },
  "a photograph takes over from one that is computed"() {
    const one = after(start, { type: "open", picture: picture("one.png") }),
      two = after(one, { type: "open", picture: picture("two.png") });
    const late = after(
      two,
      { type: "decoded", job: one.job, image },
      { type: "segmented", job: one.job, result: resultOf(one) },
      { type: "failed", job: one.job, error: crashed },
    );
    if (late !== two) throw new Error("the first one's events change the page");
    equal(done(opened(two, "two.png")).result.asked.picture.name, "two.png", "photograph");
  },
  "weights that arrive after a later choice are listed and not used"() {
    const s = after(start, { type: "choosing" }),
      own = { type: "weights", model: { name: "own-1", title: "Own" }, choice: s.choice };
    const late = after(s, { type: "list", name: "raters" }, own);
    equal(
      [late.listed, late.model, late.models.at(-1).name],
      ["raters", "levels", "own-1"],
      "late",
    );
    equal(after(s, own).model, "own-1", "in time");
  },
  "a job that fails leaves the result, and the controls of it"() {
    const s = after(shown(), { type: "list", name: "raters" }, { type: "rested" });
    equal([s.model, s.job.roi], ["raters", "auto"], "job");
    const failed = after(s, {
      type: "failed",
      job: s.job,
      error: { code: "weights", message: "no" },
      of: s.picture,
    });
    equal(
      [failed.model, failed.listed, failed.banner.message, failed.result.model],
      ["levels", "levels", "no", "levels"],
      "state",
    );
    const stepped = after(s, { type: "list", name: "levels" }, { type: "cancel" });
    equal(
      [stepped.model, stepped.listed, stepped.status, stepped.job],
      ["levels", "levels", "Cancelled.", null],
      "state",
    );
  },
  "a job keeps the region and weights that it takes over, unless the model is another"() {
    const s = after(shown(), { type: "region", roi: "none" }),
      square = after(s, { type: "place" }, { type: "apply" });
    equal(square.job.roi, "100,90,120", "region");
    equal(
      after(square, { type: "list", name: "raters" }, { type: "region", roi: "none" }).job,
      { picture: picture("one.png"), roi: "none", weights: null, evidence: [] },
      "job",
    );
    equal(
      after(square, { type: "list", name: "raters" }, { type: "rested" }).job.roi,
      "auto",
      "region",
    );
  },
  "a forgotten result is segmented again as it was, once"() {
    const s = after(done(after(shown(), { type: "region", roi: "none" })), {
      type: "choose",
      choices: { recurrence: 0 },
      by: "recurrence",
    });
    const renewing = after(s, { type: "refused", question: s.questions[0], error: gone });
    equal(
      [renewing.job.roi, renewing.job.picture.name, renewing.result.id],
      ["none", "one.png", s.result.id],
      "job",
    );
    const { job } = renewing,
      again = after(renewing, { type: "refused", question: renewing.questions[0], error: gone });
    if (again.job !== job) throw new Error("two jobs");
    const other = after(
      s,
      { type: "list", name: "raters" },
      { type: "refused", question: s.questions[0], error: gone },
    );
    equal(other.job, null, "job while another model is listed");
  },
  "a result that cannot be shown is asked for once more"() {
    const first = segmented(opened(start, "one.png")),
      lost = (s) => after(s, { type: "refused", question: s.questions.at(-1), error: crashed });
    const second = lost(first);
    equal([second.job.again, second.coming, second.banner], [true, null, null], "first time");
    const failed = lost(segmented(second));
    equal(
      [failed.job, failed.result, failed.banner.message],
      [null, null, "crashed"],
      "second time",
    );
  },
  "files of a forgotten result wait for the one job that renews it"() {
    const s = saving(shown());
    equal(
      s.saves.map(({ waits }) => waits),
      [true, true],
      "saves",
    );
    const renewed = done(s),
      [save] = renewed.saves;
    equal(
      renewed.saves.map(({ waits, result }) => [waits, result.id]),
      [
        [false, id],
        [false, id],
      ],
      "saves",
    );
    equal(
      after(renewed, { type: "unsaved", save, error: gone }).banner.message,
      "gone",
      "a second time",
    );
    equal(after(renewed, { type: "saved", save }).saves.length, 1, "saves");
  },
  "no file is saved of what the page is not about any more"() {
    const refused = "one_disc_mask.png was not saved: its result is no longer in memory.";
    const asked = after(shown(), { type: "save", what: "mask", class: 0 }),
      unsaved = { type: "unsaved", save: asked.saves[0], error: gone };
    const changes = [
      [{ type: "open", picture: picture("two.png") }],
      [{ type: "region", roi: "none" }],
      [{ type: "list", name: "raters" }],
    ];
    for (const change of changes)
      equal(after(asked, ...change, unsaved).banner?.message, refused, change[0].type);
    for (const change of [
      ...changes.slice(0, 2),
      [{ type: "list", name: "raters" }, { type: "rested" }],
      [{ type: "cancel" }],
    ]) {
      const s = after(asked, unsaved, ...change);
      equal([s.banner?.message, s.saves.length], [refused, 0], change[0].type);
    }
    const waiting = after(asked, unsaved),
      failed = after(waiting, { type: "failed", job: waiting.job, error: crashed });
    equal([failed.banner.message, failed.saves.length], ["crashed", 0], "a job that failed");
    const renewed = done(after(asked, { type: "region", roi: "auto" }));
    equal(after(renewed, unsaved).saves[0].result.id, renewed.result.id, "renewed already");
  },
  "a message ends with what it was about"() {
    const s = after(shown(), { type: "failed", error: { message: "no" }, of: "save" });
    equal(done(after(s, { type: "region", roi: "none" })).banner.message, "no", "another job");
    equal(
      after(s, { type: "saved", save: { made: "", what: "overlay", result: s.result } }).banner,
      null,
      "a file",
    );
    equal(done(opened(s, "two.png")).banner, null, "another photograph");
  },
  "choices stay with the model"() {
    const s = answered(
      after(shown(), {
        type: "choose",
        choices: { structure: 1, level: 3, levelAll: true },
        by: "level",
      }),
    );
    equal([s.choices.levelShown, s.choices.levelAll], [true, false], "one level");
    const two = done(opened(s, "two.png"));
    equal([two.choices.structure, two.choices.level], [1, 3], "another photograph");
    const raters = done(after(two, { type: "list", name: "raters" }, { type: "rested" }));
    equal(
      [raters.choices.structure, raters.sliders.values, raters.sliders.moving],
      [0, [25, 25, 25, 25], false],
      "another model",
    );
  },
  "a slider that moves stays where it is and is obeyed at rest"() {
    const s = done(after(shown(), { type: "list", name: "raters" }, { type: "rested" })),
      moved = after(s, { type: "slide", m: 1, value: 20 });
    const first = after(moved, { type: "weigh" }),
      on = done(after(first, { type: "slide", m: 1, value: 30 }));
    equal(
      [
        Array.from(first.job.weights, (w) => Math.round(100 * w)),
        on.sliders.values.map(Math.round),
        on.sliders.moving,
      ],
      [[100, 75, 100, 100], [23, 30, 23, 23], true],
      "shares",
    );
    equal(
      [after(on, { type: "cancel" }).sliders.moving, after(on, { type: "equal" }).job.weights],
      [true, null],
      "sliders",
    );
    equal(opened(on, "two.png").sliders.moving, false, "another photograph");
  },
  "one movement of a slider previews, and is one step"() {
    const fields = { takesMarks: true, recurrences: 0 },
      s = done(after(shown(), { type: "list", name: "raters" }, { type: "rested" }), fields);
    const first = after(s, { type: "slide", m: 0, value: 40 }),
      second = after(first, { type: "slide", m: 0, value: 70 });
    equal(
      [first.job.previews, first.progress, second.job === first.job],
      [true, null, true],
      "one preview at a time, without progress",
    );
    const goesOn = done(second, fields),
      shownToo = done(goesOn, fields);
    equal(
      [goesOn.job !== null, goesOn.job.replaces, shownToo.job],
      [true, goesOn.result.id, null],
      "the next one is for where the slider is",
    );
    const rest = after(shownToo, { type: "weigh" });
    equal(
      [rest.job, rest.history.past.length, rest.history.past[0].weights],
      [null, 1, null],
      "one step, and nothing to compute",
    );
  },
  "shares add to 100, also where one rater had all of it"() {
    const all = shared([25, 25, 25, 25], 2, 100),
      back = shared(all, 2, 40);
    equal(
      [all, back],
      [
        [0, 0, 100, 0],
        [20, 20, 40, 20],
      ],
      "shares",
    );
    equal(
      [
        weightsOf([25, 25, 25, 25], [1, 1, 1, 1]),
        weightsOf([40, 20, 20, 20], [0.4, 0.2, 0.2, 0.2]),
        Array.from(weightsOf([25, 25, 25, 25], [0.4, 0.2, 0.2, 0.2])),
        Array.from(weightsOf([10, 40, 40, 10], [1, 1, 1, 1])),
      ],
      [null, null, [1, 1, 1, 1], [0.25, 1, 1, 0.25]],
      "weights",
    );
    equal(
      [sharesOf([0.25, 1, 1, 0.25]), inWhole([100 / 3, 100 / 3, 100 / 3])],
      [
        [10, 40, 40, 10],
        [34, 33, 33],
      ],
      "back",
    );
  },
  "a region turns with its photograph"() {
    equal(
      [turnedSquare("10,20,30", 100), turnedSquare("auto", 100)],
      ["50,10,30", "auto"],
      "a region",
    );
  },
  "marks belong to photograph and model, and a new one replaces that of its rater"() {
    const mark = (rater, name) => ({ rater, class: "disc", name, mask: null }),
      names = (s) => subject(s).evidence.map(({ name }) => name);
    const give = (s, rater, name) => after(s, { type: "mark", mark: mark(rater, name) }),
      fields = { takesMarks: true, recurrences: 0 };
    equal(give(shown(), "one", "a").job, null, "a model that takes none");
    const s = done(after(shown(), { type: "list", name: "raters" }, { type: "rested" }), fields);
    const both = give(give(s, "two", "a"), "you", "b"),
      again = give(both, "two", "c");
    equal(
      [names(both), names(again), again.choices.raters],
      [["a", "b"], ["b", "c"], [1]],
      "marks",
    );
    equal(
      names(after(again, { type: "unmark", mark: subject(again).evidence[0] })),
      ["c"],
      "less one",
    );
    equal(
      names(
        after(again, {
          type: "failed",
          job: again.job,
          error: { code: "evidence", message: "no" },
        }),
      ),
      [],
      "a mark that is refused",
    );
    const settled = done(again, { ...fields, recurrences: 2 });
    equal(
      [names(settled), shownRecurrence(settled.result, settled.choices)],
      [["b", "c"], 2],
      "the last pass is shown",
    );
    equal(
      [
        names(after(settled, { type: "region", roi: "none" })),
        names(after(settled, { type: "slide", m: 0, value: 9 }, { type: "weigh" })),
      ],
      [
        ["b", "c"],
        ["b", "c"],
      ],
      "region, weights",
    );
    equal(names(opened(settled, "two.png")), [], "another photograph");
    const other = after(settled, { type: "list", name: "levels" });
    equal(
      [give(other, "you", "d").job, names(after(other, { type: "rested" }))],
      [null, []],
      "another model",
    );
  },
  "a pass that was chosen stays, and so does the last"() {
    const choose = (s, recurrence) =>
      answered(after(s, { type: "choose", choices: { recurrence }, by: "recurrence" }));
    const passes = (s, recurrences) => {
      const next = done(opened(s, "two.png"), { recurrences });
      return shownRecurrence(next.result, next.choices);
    };
    const one = done(opened(start, "one.png"), { recurrences: 0 });
    equal(
      [
        passes(one, 2),
        passes(choose(one, 0), 2),
        passes(choose(shown(), 1), 2),
        passes(choose(shown(), 3), 2),
      ],
      [2, 2, 1, 2],
      "shown",
    );
  },
  "a job that ends without a result takes its steps back"() {
    const region = (s, roi) => done(after(s, { type: "region", roi })),
      rois = ({ history: { past, future } }) => [
        past.map(({ roi }) => roi),
        future.map(({ roi }) => roi),
      ];
    const s = region(region(shown(), "none"), "1,2,30"),
      steps = [["auto", "none"], []];
    equal([rois(s), subject(s).roi], [steps, "1,2,30"], "two steps");
    const undone = after(s, { type: "undo" });
    equal([rois(undone), subject(undone).roi], [[["auto"], ["1,2,30"]], "none"], "undone");
    for (const [what, ...events] of [
      ["cancelled", { type: "cancel" }],
      ["failed", { type: "failed", job: undone.job, error: crashed }],
    ]) {
      const back = after(undone, ...events);
      equal(
        [rois(back), subject(back).roi, rois(after(back, { type: "undo" }))],
        [steps, "1,2,30", rois(undone)],
        what,
      );
    }
    const twice = after(undone, { type: "undo" }, { type: "cancel" });
    equal([rois(twice), subject(twice).roi], [steps, "1,2,30"], "twice");
    const once = done(undone),
      redone = after(once, { type: "redo" }, { type: "cancel" });
    equal(
      [rois(once), rois(redone)],
      [
        [["auto"], ["1,2,30"]],
        [["auto"], ["1,2,30"]],
      ],
      "done, and redo cancelled",
    );
    const other = after(once, { type: "region", roi: "5,5,50" }, { type: "cancel" });
    equal(rois(other), rois(once), "what could be redone still can");
    const drawn = after(
      undone,
      {
        type: "stroke",
        correction: {
          rater: "you",
          class: "disc",
          width: 400,
          height: 300,
          tiles: new Map(),
          bytes: 1,
        },
      },
      { type: "cancel" },
    );
    equal(
      [drawn.corrections.length, drawn.stepping, after(drawn, { type: "undo" }).corrections.length],
      [1, null, 0],
      "a stroke meanwhile stays",
    );
  },
  "what was cancelled can begin again"() {
    const s = after(start, { type: "open", picture: picture("one.png") }),
      left = after(s, { type: "cancel" });
    equal(
      [left.job, left.left.picture.name, left.picture],
      [null, "one.png", null],
      "before it is read",
    );
    equal(
      [after(left, { type: "segment" }).job.picture.name, after(left, { type: "segment" }).left],
      ["one.png", null],
      "again",
    );
    const read = after(
      opened(start, "one.png"),
      { type: "region", roi: "none" },
      { type: "cancel" },
      { type: "segment" },
    );
    equal(read.job.roi, "none", "with its region");
    const failing = (code) =>
      after(s, { type: "failed", job: s.job, error: { code, message: "" } }).left?.picture.name;
    equal([failing("crashed"), failing("image")], ["one.png", undefined], "failures");
    equal(
      after(shown(), { type: "region", roi: "none" }, { type: "cancel" }).left,
      null,
      "its photograph has a result",
    );
    equal(
      after(left, { type: "open", picture: picture("two.png") }).left,
      null,
      "another photograph",
    );
  },
  "the square is moved as it was wanted"() {
    const at = { x: -100, y: -90, side: 350 },
      small = moved({ wanted: at }, { side: 3 }, image);
    equal([small.x, small.y, small.side], [-12, -12, 16], "small");
    const large = moved(small, { side: 9999 }, image),
      again = moved(large, { side: 350 }, image);
    equal(
      [large.side, again.x, again.y, again.side],
      [800, -100, -90, 350],
      "large, and as before",
    );
    const s = after(
      shown(),
      { type: "place" },
      { type: "move", change: { side: 3 } },
      { type: "settle" },
      { type: "move", change: { x: 50 } },
    );
    equal([s.placing.x, s.placing.side], [50, 16], "settled");
    const early = after(s, { type: "open", picture: picture("two.png") }, { type: "place" });
    equal(early.placing, null, "while another photograph is opened");
  },
  "no key is lost: what is pressed before an image is seen waits for it, in order"() {
    const names = Array.from({ length: 60 }, (_, i) => `${i}.png`),
      press = (s, ...acts) => acts.reduce((s, act) => after(s, { type: "press", act }), s);
    const on = { type: "step", by: 1 },
      accept = { type: "decide", what: "accepted" },
      reject = { type: "decide", what: "rejected" };
    let s = after(start, { type: "add", pictures: names.map(picture), show: true, open: true }),
      pressed = 0,
      seen = 0;
    const reviews = () => s.worklist.lines.map(({ review }) => review[0] ?? "-").join("");
    for (let turn = 0; seen < 60; turn++) {
      // keys come in bursts, images one by one; image 7 fails
      for (let burst = (turn * 7) % 5; burst && pressed < 60; burst--)
        s = press(
          s,
          ...(pressed % 9 === 4 ? [reject, accept, accept] : [accept]),
          ...(pressed++ < 59 ? [on] : []),
        );
      if (!s.job) continue;
      equal(s.job.picture.name, names[seen], "one image after the other");
      s =
        seen++ === 7
          ? after(s, {
              type: "failed",
              job: s.job,
              error: { code: "crashed", message: "no", next: "" },
            })
          : done(after(s, { type: "decoded", job: s.job, image }));
    }
    equal(
      [reviews(), s.waiting.length, s.banner.message],
      [
        "a".repeat(7) + "-" + "a".repeat(52),
        0,
        "Not decided, as there is no result to look at: 7.png.",
      ],
      "all but the one that failed",
    );
    const again = press(s, accept);
    equal(
      [again.worklist.lines[59].review, press(again, accept).worklist.lines[59].review],
      ["accepted", ""],
      "a second press before its effect was seen takes nothing back",
    );
    const back = press(s, { type: "step", by: -1 }, { type: "edit" }),
      shown = done(after(back, { type: "decoded", job: back.job, image }));
    equal(
      [back.editing, back.worklist.at, shown.editing.tool],
      [null, "58.png", "brush"],
      "a correction waits too",
    );
    const dropped = after(press(back, accept, on), { type: "cancel" });
    equal(
      [dropped.waiting, dropped.banner.message],
      [[], "Keys that waited for the image were dropped."],
      "Cancel says so",
    );
  },
  "what a person did on a slice stays with the slice"() {
    const blob = { size: 1 },
      slice = (n) => ({ name: "volume.nii", blob, slice: n, turn: 0, key: `slice ${n} ${++id}` });
    const see = (s, n) =>
      done(after(s, { type: "decoded", job: s.job, image: { ...image, slice: n, slices: 12 } }));
    const leaf = (s, n) => see(after(s, { type: "leaf", picture: slice(n), open: true }), n);
    const draw = (s) => {
      const editing = answered(after(s, { type: "edit" })),
        stroke = new Stroke(blank("you", "disc", image));
      stroke.polygon(
        [
          [300, 20],
          [309, 20],
          [300, 29],
        ],
        255,
      );
      return answered(after(editing, { type: "stroke", correction: stroke.correction }));
    };
    const lines = ({ worklist }) =>
        worklist?.lines.map(
          (line) => `${line.slice} of ${line.slices}, ${line.corrections.length} ${line.review}`,
        ),
      opens = after(start, { type: "open", picture: slice(0) });
    const plain = leaf(see(opens, 6), 9),
      drawn = draw(plain),
      other = leaf(drawn, 3),
      back = leaf(other, 9);
    equal(
      [lines(plain), plain.picture.slice, unsaved(other).length, lines(other)],
      [undefined, 9, 1, ["9 of 12, 1 ", "3 of 12, 0 "]],
      "a drawing makes a list",
    );
    equal(
      [
        back.corrections.length,
        back.worklist.at === back.worklist.lines[0].key,
        lines(leaf(back, 4)),
      ],
      [1, true, ["9 of 12, 1 ", "4 of 12, 0 "]],
      "it is there again, and a slice without work makes room",
    );
    const decided = leaf(
      after(leaf(back, 3), { type: "press", act: { type: "decide", what: "accepted" } }),
      5,
    );
    equal(lines(decided), ["9 of 12, 1 ", "3 of 12, 0 accepted", "5 of 12, 0 "], "decisions too");
    const early = after(
      opens,
      { type: "decoded", job: opens.job, image: { ...image, slice: 6, slices: 12 } },
      { type: "press", act: { type: "edit" } },
      { type: "leaf", picture: slice(7), open: true },
    );
    equal(
      [early.worklist.lines.length, early.waiting.length, early.job.picture.slice],
      [2, 2, 0],
      "a key waits for the slice that was in view",
    );
  },
  "fast decisions: each key is for the image that keys had reached, computed or not"() {
    const names = Array.from({ length: 12 }, (_, i) => `${i}.png`),
      keys = "AXAAXXAXAAXA",
      what = { A: "accepted", X: "rejected" };
    const press = (s, key) => after(s, { type: "press", act: { type: "decide", what: what[key] } });
    const reviews = (s) =>
      s.worklist.lines
        .map(({ review }) => ({ accepted: "A", rejected: "X" })[review] ?? ".")
        .join("");
    const see = (s, fails) => {
      if (!s.job)
        return s.worklist.at !== s.worklist.asked
          ? after(s, { type: "pick", key: s.worklist.at })
          : s; // nobody steps further
      return s.job.picture.name === fails
        ? after(s, { type: "failed", job: s.job, error: crashed })
        : done(after(s, { type: "decoded", job: s.job, image }));
    };
    const background = (s, fails, doubt) => {
      const { task } = s.worklist;
      if (!task) return s;
      if (task.picture.name === fails)
        return after(s, { type: "uncomputed", task, error: crashed });
      return after(s, {
        type: "computed",
        task,
        result: {
          ...resultOf(s, { doubt }),
          asked: { picture: task.picture, roi: "auto", weights: null, evidence: [] },
        },
        masks: null,
      });
    };
    // every: images that are seen between two keys; behind: lines that are computed in the background.
    for (const [every, behind, fails, sort] of [
      [0, 0],
      [1, 0],
      [3, 0],
      [0, 1],
      [1, 1],
      [0, 20],
      [2, 20],
      [0, 0, "4.png"],
      [1, 0, "4.png"],
      [0, 2, "4.png"],
      [0, 0, "2.png"],
      [0, 2, "2.png"],
      [0, 1, "", "doubt"],
      [1, 1, "", "doubt"],
    ]) {
      const about = `${every} seen, ${behind} behind, fails ${fails}, sort ${sort}`;
      let s = after(
        start,
        { type: "add", pictures: names.map(picture), show: true, open: true },
        { type: "work", onward: true },
      );
      if (sort) s = after(s, { type: "work", sort });
      for (let i = 0; i < behind; i++) s = background(see(s, fails), fails, i % 3);
      const reached = [];
      for (const key of keys) {
        reached.push(keyed(s));
        s = press(s, key);
        for (let i = 0; i < every; i++) s = see(s, fails);
        if (behind) s = background(s, fails, reached.length % 5);
      }
      for (let i = 0; i < 40; i++) s = see(s, fails);
      const wanted = sort ? Array(12).fill(".") : [...keys];
      if (sort) for (const [i, key] of reached.entries()) wanted[names.indexOf(key)] = keys[i]; // several keys for one: the last
      if (fails === "2.png") wanted[2] = "."; // an image that failed can only be rejected
      equal([reviews(s), s.waiting.length], [wanted.join(""), 0], about);
    }
    const s = after(
      start,
      { type: "add", pictures: names.map(picture), show: true, open: true },
      { type: "work", onward: true },
    );
    const wrong = [..."AAAA"].reduce(press, s),
      seen = Array(12)
        .fill(0)
        .reduce((s) => see(s, "1.png"), wrong);
    equal(
      [reviews(seen), seen.banner.message],
      ["A.AA........", "Not decided, as there is no result to look at: 1.png."],
      "what failed is named, and its key is no other image's",
    );
    const many = [..."AXA"].reduce(press, after(s, { type: "work", onward: false }));
    equal(
      [reviews(see(many)), many.waiting.length],
      ["A...........", 3],
      "several decisions about one image: the last counts",
    );
  },
  "a stroke that changes nothing is none, and the others are undone after another image too"() {
    const listed = after(start, {
      type: "add",
      pictures: [picture("one.png"), picture("two.png")],
      show: true,
      open: true,
    });
    const see = (s) => done(after(s, { type: "decoded", job: s.job, image }));
    const draw = (s, x, y) => {
      const stroke = new Stroke(s.corrections[0] ?? blank("you", "disc", image));
      stroke.polygon(
        [
          [x, y],
          [x + 9, y],
          [x, y + 9],
        ],
        255,
      );
      return after(
        s,
        { type: "draft", correction: stroke.correction },
        { type: "stroke", correction: stroke.correction },
      );
    };
    const s = answered(after(see(listed), { type: "edit" })),
      inside = draw(s, 200, 150),
      drawn = draw(inside, 300, 20),
      twice = draw(drawn, 300, 20);
    equal(
      [inside.corrections, canUndo(inside), drawn.history.past.length, twice.history.past.length],
      [[], false, 1, 1],
      "steps",
    );
    const by = (s, by) =>
      answered(
        see(
          after(
            s,
            { type: "press", act: { type: "step", by } },
            { type: "pick", key: s.worklist.lines[by > 0 ? 1 : 0].key },
          ),
        ),
      );
    const back = by(by(drawn, 1), -1),
      undone = after(back, { type: "undo" });
    equal(
      [
        by(drawn, 1).corrections.length,
        back.corrections.length,
        canUndo(back),
        undone.corrections,
        canUndo(undone),
      ],
      [0, 1, true, [], false],
      "back",
    );
    equal(
      [unsaved(drawn).length, unsaved(by(drawn, 1)).length, unsaved(undone).length],
      [1, 1, 0],
      "what would be lost",
    );
    const did = (s) =>
      s.log.entries.map(({ did, structure = "", n = 1 }) => `${did} ${structure} ${n}`).join();
    equal(
      did(after(draw(drawn, 50, 50), { type: "undo" }, { type: "undo" }, { type: "redo" })),
      "opened  1,drew disc 2,undid disc 2,redid disc 1",
      "undoing adds to the log",
    );
    const mm = (s, mm) =>
      after(
        s,
        { type: "measure", on: true },
        { type: "rule", ruler: { from: [0, 0], to: [30, 40] } },
        { type: "scale", mm },
      );
    const scaled = mm(drawn, 1),
      entries = (s) =>
        s.log.entries
          .slice(drawn.log.entries.length)
          .map(({ did, reading, mm = 0, n = 1 }) => [did, reading, mm, n].join(" "));
    equal(
      [
        entries(scaled),
        entries(mm(scaled, 1)),
        entries(mm(scaled, 2)),
        entries(mm(scaled, null)),
        entries(mm(drawn, 0)),
      ],
      [
        ["set the scale 0 0.02 1"],
        ["set the scale 0 0.02 1"],
        ["set the scale 0 0.04 2"],
        ["set the scale 0 0.02 1", "forgot the scale 0 0 1"],
        [],
      ],
      "the log has the ruler's scale",
    );
    const save = { ...after(drawn, { type: "save", what: "mask", class: 0 }).saves[0] },
      saved = after(drawn, { type: "saved", save });
    equal(
      [unsaved(saved).length, unsaved(draw(saved, 50, 50)).length],
      [0, 1],
      "a file has it, and not the next stroke",
    );
  },
  "decisions are unsaved until a table or ZIP has them, drawings until a ZIP has them"() {
    const listed = after(start, {
        type: "add",
        pictures: [picture("one.png")],
        show: true,
        open: true,
      }),
      mark = { rater: "you", class: "disc", name: "m.png", mask: null };
    const seen = done(after(listed, { type: "decoded", job: listed.job, image })),
      s = after(seen, { type: "press", act: { type: "decide", what: "accepted" } });
    const written = (s, what) =>
      unsaved(after(s, { type: "written", list: s.worklist, what })).length;
    equal(
      [unsaved(seen).length, unsaved(s).length, written(s, "csv"), written(s, "zip")],
      [0, 1, 0, 0],
      "decisions",
    );
    equal(
      unsaved(
        after(
          s,
          { type: "written", list: s.worklist, what: "zip" },
          { type: "press", act: { type: "decide", what: "rejected" } },
        ),
      ).length,
      1,
      "another decision",
    );
    const takes = { takesMarks: true, recurrences: 0 },
      plain = done(after(listed, { type: "decoded", job: listed.job, image }), takes);
    const marked = after(done(after(plain, { type: "mark", mark }), takes), {
      type: "press",
      act: { type: "decide", what: "accepted" },
    });
    equal(
      [unsaved(marked).length, written(marked, "csv"), written(marked, "zip")],
      [2, 1, 0],
      "marks",
    );
  },
  "what failed is computed again and decided"() {
    const listed = after(start, {
      type: "add",
      pictures: [
        picture("one.png"),
        picture("two.png"),
        { ...picture("three.png"), refused: { code: "image", message: "no", next: "" } },
      ],
      show: true,
      open: true,
    });
    const failed = after(listed, {
      type: "failed",
      job: listed.job,
      error: { code: "silent", message: "it was silent", next: "" },
    });
    const states = (s) => s.worklist.lines.map(({ state }) => state).join(" "),
      again = after(failed, { type: "again" });
    equal(
      [states(failed), states(again), again.job.picture.name],
      ["failed waiting failed", "waiting waiting failed", "one.png"],
      "again",
    );
    const s = after(done(after(again, { type: "decoded", job: again.job, image })), {
      type: "press",
      act: { type: "decide", what: "accepted" },
    });
    equal(s.worklist.lines[0].review, "accepted", "decided");
  },
  "the worker reads the rim anew for what the user knows, and again where it forgot the result"() {
    const rim = { rim: [1], narrowestRim: { value: 0.1 }, eye: { side: "" } },
      verticalRatio = { inner: "cup", outer: "disc", value: 0.5 };
    const s = done(opened(start, "one.png"), {
      measurements: { structures: [], verticalRatio, ...rim },
    });
    equal([s.figuring, s.measured.measurements.rim], [null, [1]], "nothing is known yet");
    const asked = after(s, { type: "eye", eye: "right" }),
      wish = asked.figuring;
    equal(
      [
        wish.eye,
        asked.measured.rereading,
        asked.measured.measurements.rim,
        asked.measured.measurements.verticalRatio.value,
      ],
      ["right", true, undefined, 0.5],
      "asked",
    );
    const read = after(asked, {
      type: "figured",
      wish,
      figures: { rim: [2], eye: { side: "right", by: "user" } },
    });
    equal(
      [
        read.figuring,
        read.measured.measurements.rim,
        read.measured.rereading,
        read.measured.measurements.narrowestRim,
      ],
      [null, [2], undefined, undefined],
      "read",
    );
    equal(after(read, { type: "eye", eye: "" }).measured.measurements.rim, [1], "taken back");
    const other = after(read, { type: "eye", eye: "left" });
    equal(
      after(other, { type: "figured", wish, figures: { rim: [3] } }).measured.measurements.rim,
      undefined,
      "an answer that is too late",
    );
    const forgotten = after(asked, { type: "unfigured", wish, error: gone });
    equal([forgotten.job.picture.name, forgotten.banner], ["one.png", null], "segmented again");
    equal(
      done(forgotten, { measurements: { structures: [], verticalRatio, ...rim } }).figuring.eye,
      "right",
      "asked again",
    );
    equal(
      after(asked, { type: "unfigured", wish, error: crashed }).banner.message,
      "crashed",
      "another error is told",
    );
  },
  "a corrected value outside its range is remarked on, and a cup outside the disc"() {
    const structure = (name) => ({
      class: name,
      area: 5024,
      low: 4900,
      high: 5100,
      share: 0.04,
      height: 80,
      width: 80,
      pieces: 1,
    });
    const measurements = {
      structures: [structure("disc"), structure("cup")],
      verticalRatio: { inner: "cup", outer: "disc", value: 1, low: 0.9, high: 1.1 },
    };
    const editing = answered(
      after(done(opened(start, "one.png"), { measurements }), { type: "edit", class: "cup" }),
    );
    const ranged = ({ measured }) =>
      [...summary(measured, null)]
        .filter(({ corrected, ranges }) => corrected && ranges.length)
        .map(({ ranges: [[, , range]] }) => range.includes("outside"));
    const drawn = (x, y, size) => {
      const stroke = new Stroke(blank("you", "cup", image));
      stroke.polygon(
        [
          [x, y],
          [x + size, y],
          [x + size, y + size],
          [x, y + size],
        ],
        255,
      );
      return answered(after(editing, { type: "stroke", correction: stroke.correction }));
    };
    const few = drawn(240, 150, 2),
      many = drawn(300, 100, 60);
    equal(
      [ranged(few), ranged(many), remarks(few.measured).length],
      [[false, false], [false, true], 1],
      "ranges",
    );
    equal(
      remarks(many.measured),
      ["The cup as corrected reaches beyond the disc, by 3\u202f600 pixels."],
      "beyond",
    );
  },
};
