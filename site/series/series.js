// All slices of a volume, or of a folder of DICOM files, as a list: the strip that shows where the
// structures lie, corrections that are filled in between corrected slices, volumes, and one mask of
// all slices. page.js loads this module with the first series. The worker orders the slices and
// keeps their masks (internal/page/series.go).
import { Stroke, UNSAID, YOU, blank, sameMask, wholeMask, withMask } from "../draw/correct.js";
import { $, button, element, field, table } from "../page/dom.js";
import { FORMATS, download, fileOf, offered, stem } from "../page/exports.js";
import { measuredBy } from "../review/figures.js";
import { title } from "../review/measurements.js";
import { byHand, handOf, lineAt, shownLines } from "../review/worklist.js";
import { isolated, number, t } from "../words/words.js";
import { areasOf, stripOf } from "./strip.js";

const QUIET = 600; // ms without a change before volumes are measured
const FEW = 2; // slices without masks in memory that are computed again unasked
const STEP = 60; // pixels of a wheel for one slice
const KINDS = { mask: "masks", probability: "probabilities" };

export class Series {
  #drawn = {};
  #timer = 0;
  #turned = 0; // pixels of the wheel
  #sent = new Map(); // by slice and class: { correction, id } as the worker has it
  #work = Promise.resolve(); // one thing after the other is asked about the masks
  #said = null; // the worker's volumes
  constructor(state, send, segmenter, told) {
    Object.assign(this, { state, send, segmenter, told });
  }
  get #list() {
    return this.state().worklist;
  }
  #fail(error) {
    this.send({ type: "failed", error: this.told(error), of: "series" });
  }

  // begin makes the list that of the slices of the file on the stage ("file"), or brings the DICOM
  // files of the list into order ("files").
  async begin(what, open) {
    const { picture } = this.state(),
      { blob, name, turn } = picture,
      all = what === "file" ? [picture] : this.#list.lines.map((line) => line.picture),
      of = what === "file" ? name : name.replace(/\/?[^/]*$/, "") || t("series"),
      files = all.map(({ name, blob }) => ({ name, blob }));
    try {
      const { slices, step, gaps } = await this.segmenter.openSeries(of, files);
      if (this.state().picture !== picture) return;
      const pictures = slices.map(({ part, slice }) =>
        what === "file" ? this.segmenter.picture(blob, name, slice, turn) : all[part],
      );
      this.#sent.clear();
      this.send({ type: "serial", pictures, series: { name: of, step, gaps }, open });
      $("strip")?.focus();
    } catch (error) {
      this.#fail(error);
    }
  }

  // ---- masks and volumes ----

  // sync gives the worker what the list has: masks that it lacks, if these are not more than most,
  // and what a person drew. It resolves to the volumes.
  async #sync(most) {
    const { lines } = this.#list,
      ask = (message) => this.segmenter.ofSeries(message),
      measure = () =>
        ask({ do: "measure" }).then(
          ({ said }) => said,
          (error) => (error.code === "gone" ? { added: [] } : Promise.reject(error)),
        );
    let { added } = await measure();
    const lacking = lines.filter(({ result }, i) => result && !added[i]);
    for (const line of lacking.length <= most ? lacking : []) {
      const { model, asked } = line.result,
        { roi, weights, evidence } = asked;
      for (const { open } of evidence) await open?.();
      await this.segmenter.segment(line.picture, {
        model,
        roi,
        raterWeights: weights,
        evidence: evidence.map(withMask),
        passing: true,
      });
      for (const c of line.result.classes.keys()) this.#sent.delete(`${line.key} ${c}`);
    }
    if (lacking.length) ({ added } = await measure());
    for (const [index, { key, result, corrections }] of lines.entries())
      for (const [c, name] of (added[index] ? (result?.classes ?? []) : []).entries()) {
        const drawn = corrections.find((one) => one.rater === YOU && one.class === name),
          of = `${key} ${c}`,
          known = this.#sent.get(of);
        if (known?.drawn === drawn && (!drawn || known.id === result.id)) continue;
        await drawn?.open?.();
        await ask({ do: "draw", index, class: c, mask: drawn ? wholeMask(drawn) : null });
        this.#sent.set(of, { drawn, id: result.id });
      }
    return measure();
  }
  #after(work) {
    const made = this.#work.then(work);
    this.#work = made.catch(() => {});
    return made;
  }
  #measure() {
    const list = this.#list;
    if (!list?.series || this.state().job) return;
    this.#after(() => this.#sync(FEW)).then(
      ({ volumes = null }) => {
        this.#said = volumes;
        if (this.#list?.series) this.#figures(this.#list);
      },
      () => {}, // the worker is another one; saving says why
    );
  }

  // fill draws corrections between lines in which a person corrected the same structure.
  async #fill() {
    const { lines } = this.#list,
      { classes = [] } = lines.find(({ result }) => result)?.result ?? {},
      made = new Map();
    try {
      await this.#after(() => this.#sync(Infinity));
      for (const [c, name] of classes.entries()) {
        const drew = (line) =>
            line.corrections.some(
              (one) => sameMask(one, { rater: YOU, class: name }) && byHand(line, one),
            ),
          keys = [...lines.keys()].filter((i) => drew(lines[i]));
        for (const [k, from] of keys.entries()) {
          const to = keys[k + 1];
          if (!(to - from > 1)) continue;
          const { masks } = await this.segmenter.ofSeries({ do: "fill", class: c, from, to });
          for (const [i, mask] of masks.entries()) {
            const line = lines[from + 1 + i];
            if (mask && line.result)
              made.set(line, [...(made.get(line) ?? []), strokeOf(line.result, name, mask)]);
          }
        }
      }
    } catch (error) {
      return this.#fail(error);
    }
    if (!made.size)
      return this.send({
        type: "note",
        message: "There is nothing to fill in.",
        next: "Correct a structure by hand in two slices that have computed ones between them.",
        of: "series",
      });
    const fills = [...made].map(([line, all]) => ({
      key: line.key,
      corrections: all.map(({ correction }) => correction),
      result: measured(line.result, all),
    }));
    const status = t(
      { one: "{n} slice is filled in.", other: "{n} slices are filled in." },
      { n: fills.length },
    );
    this.send({ type: "fill", fills, status });
  }

  // save saves a mask of all slices in the form that is chosen: a file, or a ZIP with one for each
  // structure.
  async #save() {
    const { lines, series } = this.#list,
      { result } = lines.find((line) => line.result) ?? {},
      n = lines.filter((line) => !line.result).length,
      ask = t(
        "{n} of {all} slices are not computed, and stay empty in the file. Save it all the same?",
        { n, all: lines.length },
      );
    if (!result || (n && !confirm(ask))) return;
    const [name, what] = $("series-format").value.split(" "),
      format = FORMATS.find((one) => one.name === name),
      [made, , , type] = format.files[what],
      file = (classes) => {
        const names = classes.map((c) => result.classes[c]),
          corrected = lines.some(({ corrections }) =>
            corrections.some((one) => one.rater === YOU && names.includes(one.class)),
          );
        return fileOf(
          { result, what, class: classes[0], i: result.recurrences, corrected },
          format,
          stem(series.name),
        );
      },
      bytes = async (classes) =>
        (await this.segmenter.ofSeries({ do: "save", format: made, classes })).bytes,
      each = format.whole
        ? [[...result.classes.keys()]]
        : [...result.classes.keys()].map((c) => [c]);
    this.send({ type: "set", status: t("Writing the file…") });
    try {
      await this.#after(() => this.#sync(Infinity));
      if (each.length === 1) download(file(each[0]), type, await bytes(each[0]));
      else {
        const files = async function* () {
          for (const classes of each)
            yield { name: file(classes), bytes: (await bytes(classes)).buffer };
        };
        download(
          `${stem(series.name)}_series.zip`,
          "application/zip",
          await this.segmenter.zip(files()),
        );
      }
      this.send({ type: "log", did: "exported", what: made, picture: lines[0].picture });
      this.send({ type: "set", status: t("It is saved.") });
    } catch (error) {
      this.#fail(error);
    }
  }

  // ---- the strip and the section ----

  // draw brings both to a state.
  draw(s) {
    const list = s.worklist?.series && !s.worklist.study ? s.worklist : null,
      { language } = s,
      before = this.#drawn;
    if (!list) {
      $("strip")?.remove();
      $("series")?.remove();
      this.#drawn = {};
      this.#said = null;
      return;
    }
    const { lines, at } = list,
      anew = !before.lines || language !== before.language;
    if (anew) this.#build();
    this.#drawn = { lines, at, language, job: s.job };
    if (anew || lines !== before.lines || at !== before.at) this.#strip(list);
    if (anew || lines !== before.lines) this.#figures(list);
    if (lines === before.lines && s.job === before.job) return;
    clearTimeout(this.#timer);
    if (!s.job && lines.every(({ state }) => state !== "waiting"))
      this.#timer = setTimeout(() => this.#measure(), QUIET);
  }
  #build() {
    $("strip")?.remove();
    $("series")?.remove();
    const strip = element("div", {
      id: "strip",
      role: "slider",
      tabIndex: 0,
      ariaLabel: t("Slices"),
      title: t(
        "Area of each structure by slice. Click, turn the wheel or press arrow keys to go to a slice.",
      ),
      ariaOrientation: "horizontal",
      ariaValueMin: "1",
      onkeydown: (event) => this.#key(event),
      onpointerdown: (event) => this.#point(event),
      onpointermove: (event) => event.buttons && this.#point(event),
    });
    strip.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    $("bars").before(strip);
    const format = element("select", { id: "series-format" }),
      of = (id, text, act) => Object.assign(button(t(text), act), { id });
    $("measurements").before(
      element(
        "section",
        { id: "series" },
        element("h2", { id: "h-series" }, t("Series")),
        element("p", { id: "series-line", className: "figure" }),
        element("div", { id: "series-volumes" }),
        element("p", { id: "series-gaps", className: "quiet" }),
        element(
          "div",
          { className: "row" },
          of("series-fill", "Fill in between corrections", () => this.#fill()),
        ),
        field(t("Format"), format),
        element(
          "div",
          { className: "row" },
          of("series-save", "Save all slices", () => this.#save()),
        ),
      ),
    );
    $("series").setAttribute("aria-labelledby", "h-series");
    $("series-fill").title = t(
      "Draws the slices between two that were corrected by hand. Accept them, or take them back with Undo.",
    );
  }
  #strip(list) {
    const { lines } = list,
      line = lineAt(list),
      i = lines.indexOf(line),
      { classes = [] } = line.result ?? {},
      strip = $("strip");
    strip.replaceChildren(stripOf(list));
    const facts = [
      t("{slice} of {slices}", { slice: i + 1, slices: lines.length }),
      ...areasOf(line).map((area, c) => `${t(classes[c])} ${number(area)} px`),
      t(line.review || line.state),
      t(handOf(line)),
    ];
    Object.assign(strip, {
      ariaValueMax: String(lines.length),
      ariaValueNow: String(i + 1),
      ariaValueText: facts.filter(Boolean).join(", "),
    });
  }
  #figures({ lines, series: { step, gaps } }) {
    const of = (what) => lines.filter((line) => handOf(line) === what).length,
      result = lines.find((line) => line.result)?.result,
      [corrected, filled] = [of("corrected"), of("filled in")],
      doubted = lines.filter(
        ({ result, review }) =>
          result && review !== "accepted" && (!result.found || result.doubts.length),
      ).length,
      facts = [
        t("{n} slices", { n: lines.length }),
        step && t("{mm} mm apart", { mm: number(step, { maximumFractionDigits: 3 }) }),
        t("{n} computed", { n: lines.filter((line) => line.result).length }),
        corrected && t("{n} corrected", { n: corrected }),
        filled && t("{n} filled in", { n: filled }),
        doubted && t("{n} doubted", { n: doubted }),
      ];
    $("series-line").textContent = facts.filter(Boolean).join(" · ");
    const { structures = [], withheld } = this.#said ?? {},
      ml = (value) => number(value, { maximumSignificantDigits: 3 }),
      known = structures.filter((one) => one.ml !== null),
      rows = known.map((one) => [
        title(one.class),
        ml(one.ml),
        one.low === null || one.low === one.high ? "–" : `${ml(one.low)}–${ml(one.high)}`,
      ]);
    $("series-volumes").replaceChildren(
      ...(rows.length
        ? [
            table(
              ["Structure", "Volume, ml", "Experts"].map((text) => t(text)),
              rows,
              1,
            ),
          ]
        : []),
    );
    $("series-gaps").textContent = [withheld && t(withheld), ...gaps.map((gap) => isolated(t(gap)))]
      .filter(Boolean)
      .join(" ");
    const can = result
      ? offered(result).filter(({ name }) => name === "nifti" || name === "dicom-seg")
      : [];
    const values = can.flatMap(({ name, text, files }) =>
        Object.keys(files).map((what) => [`${name} ${what}`, `${t(text)}, ${t(KINDS[what])}`]),
      ),
      format = $("series-format");
    if (format.options.length !== values.length)
      format.replaceChildren(...values.map(([value, text]) => new Option(text, value)));
    for (const id of ["series-fill", "series-save"]) $(id).ariaDisabled = result ? null : "true";
  }

  // ---- going to a slice ----

  // step goes by some slices, as N and P do.
  #step(by) {
    if (by) this.send({ type: "press", act: { type: "step", by } });
  }
  #key(event) {
    const { key, ctrlKey, metaKey, altKey } = event,
      n = this.#list.lines.length,
      steps = {
        ArrowRight: 1,
        ArrowUp: 1,
        ArrowLeft: -1,
        ArrowDown: -1,
        PageUp: 10,
        PageDown: -10,
      },
      by = { ...steps, Home: -n, End: n }[key];
    if (!by || ctrlKey || metaKey || altKey) return;
    event.preventDefault();
    this.#step(by);
  }
  #point({ clientX, button }) {
    if (button > 0) return;
    const { left, width } = $("strip").firstChild.getBoundingClientRect(),
      list = this.#list,
      { lines } = list,
      i = Math.floor((lines.length * (clientX - left)) / width),
      to = lines[Math.max(0, Math.min(lines.length - 1, i))],
      shown = shownLines(list);
    if (shown.includes(to)) this.#step(shown.indexOf(to) - shown.indexOf(lineAt(list)));
  }
  #wheel(event) {
    event.preventDefault();
    const { deltaX, deltaY, deltaMode } = event,
      delta = Math.abs(deltaX) > Math.abs(deltaY) ? deltaX : deltaY;
    this.#turned += delta * (deltaMode ? STEP : 1);
    const by = Math.trunc(this.#turned / STEP);
    this.#turned -= by * STEP;
    this.#step(by);
  }
}

// strokeOf makes a correction of a mask that was filled in: { correction, window }.
function strokeOf({ width, height }, name, mask) {
  const stroke = new Stroke(blank(YOU, name, { width, height }));
  for (let y = 0; y < height; y++) {
    const row = mask.subarray(y * width, (y + 1) * width);
    for (let x = 0, end; x < width; x = end) {
      for (end = x + 1; row[end] === row[x];) end++;
      if (row[x] !== UNSAID) stroke.row(y, x, end, row[x]);
    }
  }
  const window = { x: 0, y: 0, width, height, mask: mask.map((v) => (v === 255 ? 1 : 0)) };
  return { correction: { ...stroke.correction, filled: true }, window };
}
// measured is a line's result with the figures of what was filled in.
function measured(result, all) {
  const made = measuredBy(
      result,
      all.map(({ correction }) => correction),
      (correction) => all.find((one) => one.correction === correction)?.window ?? null,
      () => null,
    ),
    others = (result.corrected ?? []).filter(
      (one) => !made.corrected.some((own) => sameMask(one, own)),
    );
  return {
    ...made,
    byModel: result.byModel ?? made.byModel,
    corrected: [...others, ...made.corrected],
  };
}
