// How a grader reads a study (study.js): what the segmenter then answers, a section of the panel,
// and the time that each image takes.
import { YOU } from "../draw/correct.js";
import { $, element } from "../page/dom.js";
import { pick } from "../page/exports.js";
import { SegmentError } from "../worker/segmenter.js";
import { secondFrom } from "./study.js";
import { isolated, language, t } from "../words/words.js";
import { narrow } from "../review/work.js";
import { lineAt, sees } from "../review/worklist.js";
import { writePNG } from "./zip.js";

// ---- what the segmenter answers ----

const wholeOf = ({ width, height }) => ({ x: 0, y: 0, side: Math.max(width, height), whole: true });
// bareOf is a result with nothing but its masks and their size.
const SAID =
  "id width height classes model title sha256 timings recurrences adapter why precision date".split(
    " ",
  );
const NONE = { area: 0, share: 0, height: 0, width: 0, pieces: 0 };
const BY_NOBODY = { sha256: "", timings: {}, recurrences: 0, adapter: "", why: "", precision: "" };
const bareOf = (result) => ({
  ...pick(result, SAID),
  roi: wholeOf(result),
  raters: [],
  labels: "",
  steered: false,
  takesMarks: false,
  found: true,
  doubts: [],
  doubt: null,
  formats: [],
  lacks: "",
  measurements: {
    structures: result.measurements.structures.map((one) =>
      pick(one, ["class", ...Object.keys(NONE)]),
    ),
  },
});
let made = 0;
// emptyOf is a result of an image (Segmenter.decode) with empty masks. Its number is negative.
const emptyOf = ({ width, height }, classes, { name: model, title }) =>
  bareOf({
    id: --made,
    width,
    height,
    classes,
    model,
    title,
    ...BY_NOBODY,
    date: new Date().toISOString(),
    measurements: { structures: classes.map((name) => ({ class: name, ...NONE })) },
  });

// dayOf is a day in words.
export const dayOf = (time) =>
  new Intl.DateTimeFormat(language === "en" ? "en-GB" : language, { dateStyle: "long" }).format(
    time,
  );
// isAided says whether a picture of a study is read with the model.
export const isAided = ({ start }, { aided }) => start === "model" || (start === "both" && aided);

// Answers are a segmenter's in a reading study, whose session is of model. Where masks start empty,
// or the model found nothing, no model's mask is there. In a blind study its result is bare: what is
// not there cannot leak.
export class Answers {
  constructor(segmenter, study, model) {
    Object.assign(this, { segmenter, study, model });
  }

  async #empty(picture, { image, thumb }) {
    const decoded = await this.segmenter.decode(picture);
    image?.(decoded);
    thumb?.(decoded);
    return emptyOf(decoded, this.study.structures, this.model);
  }

  // segment is Segmenter.segment. ask resolves to the model's own result.
  async segment(ask, picture, hooks = {}) {
    const { structures, blind } = this.study;
    if (!isAided(this.study, picture)) return this.#empty(picture, hooks);
    const result = await ask(),
      { classes, found } = result;
    if (classes.join() !== structures.join()) {
      throw new SegmentError({
        code: "study",
        message: `The study is of ${structures.join(", ")}, and this model is of ${classes.join(", ")}.`,
        next: "Open the weights file that the study was made with, then the study again.",
      });
    }
    return !found ? this.#empty(picture, {}) : blind ? bareOf(result) : result;
  }

  // show and save are what Segmenter.show and save resolve to for an empty result, else undefined.
  show(type, { id, width, height }) {
    if (id > 0) return;
    if (type === "map") return { values: new Float32Array(width * height) };
    return {
      x: 0,
      y: 0,
      width: 1,
      height: 1,
      pixelsWide: 1,
      pixelsHigh: 1,
      values: new Uint8Array(1),
      points: new Float32Array(0),
      starts: new Uint32Array(0),
    };
  }
  async save({ id, width, height, asked }) {
    if (id > 0) return;
    const [wide, high] = asked.picture.turn % 2 ? [height, width] : [width, height];
    const png = await writePNG({ width: wide, height: high, values: new Uint8Array(wide * high) });
    return new Uint8Array(await png.arrayBuffer());
  }
}

// ---- the section of the panel ----

// REASONS are why an image cannot be graded, by their names in a session.
const REASONS = {
  blurred: "Blurred",
  exposure: "Too dark or too bright",
  covered: "Covered or cut off",
  kind: "Not an image of this kind",
  other: "Other, as the comment says",
};
const PAUSE = 60e3,
  SOON = 5; // ms: a longer pause does not count as reading; seconds until the list has the time

export class Reading {
  #result = null;
  #tools = {};
  #answers = new Map(); // fields by question
  #asks = 0;
  #said; // the line that they are of, and its answers
  #key = 0;
  #last = 0;
  #spent = {};
  // Reading needs state() with a worklist of the study, and send(event).
  constructor(state, send, study) {
    Object.assign(this, { state, send, study });
    const bare = study.blind || study.start === "empty";
    $("app").classList.add("reading");
    if (bare)
      send({
        type: "choose",
        choices: { contour: true, outlines: false, map: "none", levelShown: false, raters: [] },
      });
    this.#build();
    for (const type of ["pointermove", "pointerdown", "keydown", "wheel"])
      addEventListener(type, (event) => this.#tick(event), { capture: true, passive: true });
    document.addEventListener("visibilitychange", () => this.#tick());
    this.changed();
  }

  #build() {
    const button = (id, className, onclick) =>
      element("button", { type: "button", id, className, onclick });
    const reason = element(
      "select",
      {
        id: "reading-reason",
        onchange: () => this.#refuse(reason.value),
        onkeydown: (event) => event.stopPropagation(),
      },
      ...["", ...Object.keys(REASONS)].map((name) => new Option("", name)),
    );
    const section = element(
      "section",
      { id: "reading" },
      element("h2", { id: "h-reading" }),
      element("p", { id: "reading-who" }),
      element("p", { id: "reading-line", className: "figure" }),
      element("progress", { id: "reading-meter" }),
      ...(this.study.questions ?? []).map((question) => this.#asked(question)),
      element(
        "div",
        { className: "row" },
        button("reading-done", "primary grow", () => this.#done()),
      ),
      element("label", { className: "field" }, element("span", { id: "reading-cannot" }), reason),
      $("work-comment").parentElement,
      element(
        "div",
        { className: "row" },
        button("reading-save", "grow", () => {
          this.#flush();
          $("session-save").click();
        }),
      ),
      element("p", { className: "quiet", id: "reading-stop" }),
    );
    section.setAttribute("aria-labelledby", "h-reading");
    document.querySelector(".sections").prepend(section, $("correct"));
    $("reading-meter").setAttribute("aria-labelledby", "reading-line");
    $("work-accepted").onclick = () => this.#done();
    $("work-rejected").onclick = () => {
      if (narrow()) this.send({ type: "work", open: false }); // the list covers the panel
      reason.focus();
    };
  }

  // asked is the field of a question about the image.
  #asked({ name, options, low, high }) {
    const one = options
      ? element("select", {}, ...["", ...options].map((text) => new Option(text, text)))
      : element("input", {
          type: low === undefined ? "text" : "number",
          min: low,
          max: high,
          step: "any",
          maxLength: 1000,
          placeholder: low === undefined ? "" : `${low}–${high}`,
          autocomplete: "off",
        });
    one.onchange = () => {
      if (!one.checkValidity()) return void one.reportValidity();
      const { answers, key, review } = lineAt(this.state().worklist);
      this.#tick();
      this.send({
        type: "line",
        key,
        ...(review && { decided: new Date().toISOString() }),
        answers: {
          ...answers,
          [name]: low === undefined || one.value === "" ? one.value : Number(one.value),
        },
      });
    };
    one.onkeydown = (event) => {
      event.stopPropagation(); // the page's keys wait
      if (event.key === "Enter" && !options) setTimeout(() => this.#done()); // once it is changed
    };
    this.#answers.set(name, one);
    return element("label", { className: "field" }, element("span", {}, name), one);
  }

  // changed follows the state: it shows how far the grader is, and begins to draw on a new image.
  changed() {
    const s = this.state(),
      line = lineAt(s.worklist),
      seen = sees(s) || line.state === "failed" ? line.key : 0;
    if (seen !== this.#key) {
      this.#tick();
      this.#flush();
      this.#key = seen;
    }
    this.#draw(s, line);
    if (s.editing) this.#tools = { tool: s.editing.tool, size: s.editing.size };
    if (!sees(s) || s.result === this.#result) return;
    this.#result = s.result;
    if (!line.review) this.send({ type: "press", act: { type: "edit", ...this.#tools } });
  }
  #draw({ worklist: { lines: whole, by } }, { key, review, reason, answers, sitting, picture }) {
    const { blind, start } = this.study,
      aided = isAided(this.study, picture),
      lines = whole.filter((one) => one.sitting === sitting),
      n = lines.filter((one) => one.review).length,
      all = lines.length,
      write = (id, text) => {
        if ($(id).textContent !== text) $(id).textContent = text;
      };
    write("h-reading", t("Reading study"));
    $("app").classList.toggle("blind", blind || !aided);
    write("h-correct", t(aided ? "Correct" : "Draw"));
    write("reading-who", `${isolated(this.study.name)} · ${isolated(by)}`);
    const parts = [t("{n} of {all} read", { n, all })];
    if (start === "both")
      parts.unshift(
        t("Sitting {n}", { n: sitting }),
        t(aided ? "with the model" : "without the model"),
      );
    write("reading-line", parts.join(" · "));
    if (this.#asks !== key || this.#said !== answers)
      for (const [name, one] of this.#answers) one.value = answers?.[name] ?? "";
    [this.#asks, this.#said] = [key, answers]; // what somebody types now stays
    Object.assign($("reading-meter"), { max: all, value: n });
    write("reading-done", t("Done, next image"));
    write("reading-cannot", t("Cannot be graded"));
    for (const option of $("reading-reason").options)
      option.text = t(REASONS[option.value] ?? "It can be graded");
    $("reading-reason").value = review === "rejected" ? reason || "other" : "";
    write("reading-save", t("Save session"));
    $("reading-save").classList.toggle("primary", n === all);
    write("reading-stop", t("To stop, save the session. Open it to go on where you were."));
    for (const [id, text, title] of [
      ["work-accepted", "Done, next image", "Done, next image (A)"],
      ["work-rejected", "Cannot be graded", "Cannot be graded (X)"],
    ])
      Object.assign($(id), { ariaLabel: t(text), title: t(title) });
  }

  // done says that the image on the stage is graded, and shows the next one that is not read.
  #done() {
    const s = this.state(),
      line = lineAt(s.worklist),
      { lines } = s.worklist;
    if (!line.review) {
      if (!sees(s))
        return (
          line.state === "failed" &&
          this.send({
            type: "note",
            message: "This image cannot be shown.",
            next: "Say why it cannot be graded, and go on.",
          })
        );
      const open = (this.study.questions ?? []).find(
        ({ name, options, low }) =>
          (options || low !== undefined) && (line.answers?.[name] ?? "") === "",
      );
      if (open) {
        this.#answers.get(open.name).focus();
        return this.send({
          type: "note",
          message: t("“{name}” is not answered.", open),
          next: "Answer it, or say why the image cannot be graded.",
        });
      }
      const none = isAided(this.study, line.picture)
        ? []
        : this.study.structures.filter(
            (name) => !s.corrections.some((one) => one.rater === YOU && one.class === name),
          );
      if (
        none.length &&
        !confirm(
          t("Nothing is drawn of: {structures}. Is there none in this image?", {
            structures: none.map((one) => t(one)).join(", "),
          }),
        )
      )
        return;
      this.#tick();
      this.#flush();
      this.send({
        type: "press",
        act: { type: "decide", what: "accepted", at: new Date().toISOString() },
      });
    }
    const at = lines.indexOf(line),
      next = [...lines.slice(at + 1), ...lines.slice(0, at)].find(({ review }) => !review);
    if (next) return this.send({ type: "press", act: { type: "pick", key: next.key } });
    const now = this.state().worklist.lines,
      from = secondFrom(now, this.study);
    this.send({
      type: "note",
      message: t("All {n} images are read.", { n: now.length }),
      next:
        from === null
          ? "Save the session, and send it back."
          : t(
              "Save the session. On {day} or later open it, and the study’s file, for the second sitting.",
              { day: dayOf(from) },
            ),
    });
  }
  // refuse says why the image cannot be graded, or with an empty reason that it can be.
  #refuse(reason) {
    this.#tick();
    this.#flush();
    this.send({
      type: "line",
      reason,
      review: reason && "rejected",
      decided: new Date().toISOString(),
    });
  }

  #line = () => this.state().worklist.lines.find(({ key }) => key === this.#key);
  // tick counts the time since the grader last moved or pressed something, unless it was a pause,
  // for what the event is about.
  #tick({ type = "", buttons = 0, target } = {}) {
    const now = performance.now(),
      passed = now - this.#last,
      about = target?.closest?.("#reading")
        ? "answering"
        : type === "pointermove" && buttons && target?.closest?.("#stage") && "drawing";
    this.#last = now;
    if (!this.#key || passed >= PAUSE || this.#line()?.review) return; // what comes after a decision is no reading
    for (const of of about ? ["seconds", about] : ["seconds"])
      this.#spent[of] = (this.#spent[of] ?? 0) + passed / 1000;
    if (this.#spent.seconds > SOON) this.#flush();
  }
  #flush() {
    const line = this.#line(),
      spent = Object.entries(this.#spent);
    this.#spent = {};
    if (line && spent.length)
      this.send({
        type: "line",
        key: line.key,
        ...Object.fromEntries(spent.map(([of, n]) => [of, (line[of] ?? 0) + n])),
      });
  }
}
