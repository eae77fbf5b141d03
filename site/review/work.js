// The page's work for the worklist: it has the worker compute the lines, makes small pictures, and
// turns controls and keys into events. worklist.js has the list itself.
import { wanted } from "../worker/scripts.js";
import { fellow } from "./compare.js";
import { withMask } from "../draw/correct.js";
import { $ } from "../page/dom.js";
import { download } from "../page/exports.js";
import { now } from "../page/opening.js";
import { UNASKED, subject } from "../page/history.js";
import { lineAt, lineBy, resting, unmasked } from "./worklist.js";

const LINE_DELAY = 250; // ms without a step: arrow keys pass lines by
const THUMB = 96; // pixels, the longer side
const PAGE = 8; // lines

// narrow says that the list would cover the result. list.css has the same limits.
export const narrow = () => matchMedia("(max-width: 860px), (max-aspect-ratio: 4/5)").matches;

// Work needs state(), send(event), the segmenter, and told(error), an error with a message for
// people.
export class Work {
  #figured = new WeakMap(); // by result
  #ahead = null; // ahead.js, once it is there
  constructor(state, send, segmenter, told) {
    Object.assign(this, { state, send, segmenter, told });
  }

  // effects are those of page.js. One without an end returns nothing.
  get effects() {
    return [
      [(s) => s.worklist?.task, (task) => this.#compute(task)],
      [
        resting,
        (key) => {
          const timer = setTimeout(
            this.send,
            this.#ahead?.ready(lineAt(this.state().worklist).picture) ? 0 : LINE_DELAY,
            { type: "pick", key },
          );
          return () => clearTimeout(timer);
        },
      ],
      [
        (s) => Boolean(s.worklist),
        () => {
          wanted("ahead.js").then(
            ({ Ahead }) => {
              this.#ahead = new Ahead(this.state, this.segmenter);
            },
            () => {},
          ); // steps are slower without
        },
      ],
      [
        (s) => s.figured,
        (figured) => {
          this.#figured.set(figured.result, figured);
        },
      ],
      [
        (s) => s.worklist && !s.job && s.result && s.views,
        (views) => {
          const { result, image } = this.state();
          this.#prepare();
          return () => this.#leave(result, image, views);
        },
      ],
      [unmasked, (result) => this.#keepMasks(result)],
      [
        (s) => !s.worklist?.measuring && s.worklist?.saving,
        (what) => {
          this.#save(what);
        },
      ],
    ];
  }

  // leave keeps what the stage has shown.
  #leave(result, image, views) {
    const s = this.state(),
      { picture } = result.asked,
      line = s.worklist && lineBy(s.worklist, picture),
      figured = this.#figured.get(result);
    if (line && subject(s).picture !== picture)
      this.#ahead?.leave(
        result,
        views,
        image,
        line.corrections,
        figured?.corrections === line.corrections ? figured.figures : undefined,
      );
  }
  #prepare() {
    this.#ahead?.prepare(this.state().worklist);
  }
  // recalled is that of Ahead, or null.
  recalled(job) {
    return this.#ahead?.recalled(job) ?? null;
  }

  // thumb is the hook of a request (Segmenter.segment) that makes a line's small picture, or undefined.
  thumb(picture) {
    const { worklist } = this.state(),
      line = worklist && lineBy(worklist, picture);
    return line && !line.thumb ? (image) => this.shrink(picture, image) : undefined;
  }
  // drawn resolves once what a person drew on a picture is decoded (undrawn, session.js).
  drawn(picture) {
    const { worklist } = this.state(),
      { corrections = [], result } = (worklist && lineBy(worklist, picture)) ?? {};
    return Promise.all(
      [...corrections, ...(result?.asked.evidence ?? [])].map(({ open }) => open?.()),
    );
  }
  async shrink(picture, { pixelsWide, pixelsHigh, rgba, slice, slices }) {
    const bitmap = await createImageBitmap(
      new ImageData(
        new Uint8ClampedArray(rgba.buffer, rgba.byteOffset, rgba.length),
        pixelsWide,
        pixelsHigh,
      ),
    );
    const k = Math.min(1, THUMB / Math.max(pixelsWide, pixelsHigh)),
      [w, h] = [pixelsWide, pixelsHigh].map((side) => Math.max(1, Math.round(k * side)));
    const canvas = new OffscreenCanvas(w, h);
    canvas.getContext("2d").drawImage(bitmap, 0, 0, w, h);
    bitmap.close();
    const thumb = URL.createObjectURL(
      await canvas.convertToBlob({ type: "image/jpeg", quality: 0.8 }),
    );
    this.send({ type: "thumb", picture, thumb, slice, slices });
  }

  #compute(task) {
    const ending = new AbortController(),
      { signal } = ending,
      { picture } = task;
    const options = {
      model: this.state().model,
      roi: UNASKED.roi,
      raterWeights: UNASKED.weights,
      passing: true,
    };
    this.segmenter
      .segment(picture, options, { signal, thumb: this.thumb(picture) })
      .then(async (made) => {
        const result = { ...made, asked: { picture, ...UNASKED } };
        await this.#ahead?.ask(result).then(
          () => this.#prepare(),
          () => {},
        );
        return {
          type: "computed",
          task,
          result,
          masks: { id: result.id, files: await this.#masks(result) },
        };
      })
      .catch((error) => ({ type: "uncomputed", task, error: this.told(error) }))
      .then((event) => {
        if (!signal.aborted) this.send(event);
      });
    return () => ending.abort();
  }

  // masks resolves to the PNGs of a result's masks, by structure.
  #masks(result) {
    const { classes, recurrences: i, found } = result,
      one = (c) =>
        this.segmenter.save({
          result,
          made: "png-mask",
          i,
          classes: [c],
          drawn: [],
          identity: false,
        });
    return Promise.all(
      (found ? classes : []).map((_, c) =>
        one(c).then((bytes) => new Blob([bytes], { type: "image/png" })),
      ),
    );
  }
  #keepMasks(result) {
    let ended = false;
    // If the worker has forgotten them, the ZIP asks again.
    this.#masks(result).then(
      (files) => {
        if (!ended) this.send({ type: "masks", result, files });
      },
      () => {},
    );
    return () => {
      ended = true;
    };
  }
  async #masksOf({ picture, result, masks }) {
    if (masks || !result.found) return masks?.files ?? [];
    return this.#masks(await this.again({ picture, result }));
  }
  // again computes a line's result once more, if the worker has forgotten it.
  async again({ picture, result: { asked, model } }) {
    await this.drawn(picture);
    const { roi, weights, evidence } = asked,
      marks = evidence.map(withMask),
      options = { model, roi, raterWeights: weights, evidence: marks, passing: true };
    return this.segmenter.segment(picture, options);
  }

  async #table(list) {
    const { records } = await wanted("workfiles.js");
    return (await this.segmenter.table(records(list), $("work-semicolons").checked)).bytes.buffer;
  }
  // saveLine saves the image on the stage as a table of one line.
  async saveLine(name) {
    const s = this.state(),
      { worklist, picture, image, measured: result, known } = s,
      line = worklist && lineBy(worklist, picture);
    try {
      download(
        name,
        "text/csv",
        await this.#table({
          ...worklist,
          lines: [
            {
              ...line,
              picture,
              slice: image.slice,
              slices: image.slices,
              result,
              known,
              fellow: fellow(s),
            },
          ],
        }),
      );
      this.send({ type: "log", did: "exported", what: "csv", picture });
    } catch (error) {
      this.send({ type: "failed", error: this.told(error), of: "save" });
    }
  }
  async #save(what) {
    const { worklist } = this.state(),
      name = `mrprism-${now()}`,
      tell = (saved) => this.send({ type: "work", saved });
    try {
      const { filesOf } = await wanted("workfiles.js"),
        table = () => this.#table(worklist);
      if (what === "csv") download(`${name}.csv`, "text/csv", await table());
      else
        download(
          `${name}.zip`,
          "application/zip",
          await this.segmenter.zip(
            filesOf(worklist, {
              masksOf: (line) => this.#masksOf(line),
              correct: async (mask, one, turn) => {
                await one.open?.();
                return this.segmenter.correct(mask, one, turn);
              },
              table,
              tell,
            }),
          ),
        );
      this.send({ type: "written", list: worklist, what });
    } catch (error) {
      this.send({ type: "unwritten", error: this.told(error) });
    }
  }

  #press(act) {
    if (this.state().worklist) this.send({ type: "press", act });
  }

  // keys are the keys of the list, each with its action.
  get keys() {
    const press = (act) => () => this.#press(act);
    return {
      n: press({ type: "step", by: 1 }),
      p: press({ type: "step", by: -1 }),
      a: () => $("work-accepted").click(),
      x: () => $("work-rejected").click(),
    };
  }

  // listen makes the controls of the list send events.
  listen() {
    $("work-files").open = !narrow();
    const send = this.send,
      { keys } = this,
      work = (values) => () => send({ type: "work", ...values(this.state().worklist) });
    $("work-on").onclick = keys.n;
    $("work-back").onclick = keys.p;
    for (const what of ["accepted", "rejected"])
      $(`work-${what}`).onclick = () =>
        this.#press({ type: "decide", what, at: new Date().toISOString() });
    $("work-open").onclick = work(({ open }) => ({ open: !open }));
    $("work-pause").onclick = work(({ paused }) => ({ paused: !paused }));
    $("work-again").onclick = () => send({ type: "again" });
    $("work-course").ontoggle = () => this.state().worklist && send({ type: "work" });
    $("work-filter").onchange = work(() => ({ toReview: $("work-filter").checked }));
    $("work-text").oninput = work(() => ({ text: $("work-text").value }));
    $("work-sort").onchange = work(() => ({ sort: $("work-sort").value }));
    $("work-onward").onchange = work(() => ({ onward: $("work-onward").checked }));
    $("work-comment").oninput = () => send({ type: "line", comment: $("work-comment").value });
    for (const id of ["work-mine", "work-theirs"])
      $(id).onclick = () => send({ type: "settled", take: id === "work-theirs" });
    $("work-by").oninput = work(() => ({ by: $("work-by").value }));
    for (const what of ["csv", "zip"])
      $(`work-${what}`).onclick = work(({ saving }) => ({ saving: saving || what }));
    $("work-lines").onclick = ({ target }) => {
      const line = target.closest("[role=option]");
      if (line)
        send({
          type: "press",
          act: {
            type: "pick",
            key: Number(line.dataset.key),
            open: this.state().worklist.open && !narrow(),
          },
        });
    };
    $("work-lines").onkeydown = (event) => this.#key(event);
  }
  #key(event) {
    const { worklist } = this.state(),
      steps = {
        ArrowDown: 1,
        ArrowUp: -1,
        PageDown: PAGE,
        PageUp: -PAGE,
        Home: -Infinity,
        End: Infinity,
      },
      by = steps[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (by) this.send({ type: "press", act: { type: "step", by } });
    else if (event.key === "Enter" || event.key === " ")
      this.send({ type: "press", act: { type: "pick", key: lineAt(worklist).key } });
    else return;
    event.preventDefault();
  }
}
