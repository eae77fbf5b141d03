// The page's side of the worker that computes (wasm/segmenter), and window.mrprism for scripts.
import { YOU, wholeMask } from "../draw/correct.js";
import { only } from "../page/dom.js";
import { check, startWorker } from "./scripts.js";

// SegmentError says what went wrong and what the user can do next. code: image, weights, memory,
// lost, cancelled, crashed, silent, …
export class SegmentError extends Error {
  constructor({ code, message, next }) {
    super(message);
    this.code = code;
    this.next = next ?? "";
    this.date = new Date().toISOString();
  }
}

// A worker that has something to do and sends nothing for PATIENCE ms is replaced. It answers
// pings, and reports while it computes.
const PATIENCE = 4000,
  TURN = 500;
const LONGER = 4; // factor of patience for the next worker, and before a first result
const HEAD = 352; // bytes, imageio.HeadSize
const AGAIN = 2; // factor of patience for a worker that was silent and sent something again

// Node 18 has no CustomEvent.
const happened = (type, detail) => Object.assign(new Event(type), { detail });

const crashed = (detail, again, code) =>
  new SegmentError({
    code,
    message: `The program that computes stopped unexpectedly. (${detail})`,
    next: again
      ? "It has been started again; your image is still here. Try once more."
      : "Reload the page. It needs a current browser with WebAssembly.",
  });

// changed is the error for a file that did not come as published.
export const changed = (name) =>
  new SegmentError({
    code: "changed",
    message: `${name} did not come as it was published, and was not used.`,
    next: "Reload the page. If that does not help, tell who serves it.",
  });

const cancelled = () => new SegmentError({ code: "cancelled", message: "Cancelled." });

// read resolves to a file's bytes. kind is the code of the error.
const read = (blob, name, kind) =>
  blob.arrayBuffer().catch(() => {
    throw new SegmentError({
      code: kind,
      message: `${name} could not be read.`,
      next: "Folders cannot be opened. Open a file again if it was moved or deleted.",
    });
  });

// Segmenter runs the worker, starts it again when it dies, and pairs answers with questions.
// Events: "ready" (detail: adapter, gpu, reason, models, …) each time a worker is up, "adapter"
// (detail: adapter, gpu, reason, note, …) when another device takes over, "failed" (detail: the
// error) when the worker stays down.
export class Segmenter extends EventTarget {
  #worker = null;
  #info = null;
  #settle = null;
  #pending = new Map();
  #next = 1;
  #restarts = 0;
  #imageSent = 0;
  #images = 0;
  #own = new Map();
  #series = null; // { name, files, parts }: parts are the files' numbers, from 1, by Blob
  #seriesSent = false;
  #ownSent = new Set();
  #zipped = Promise.resolve();
  #silent = 0;
  #patience = PATIENCE;
  #turned = 0; // ms: silence so far, what is allowed, the last turn
  #compiled = false; // the worker has given a result
  #wishes;
  #watching;
  study = null; // the Answers of a reading study (reading.js)
  used = false; // there were pictures or weights, which would be lost with the page

  // wishes are those of a package's startWorker.
  constructor(wishes) {
    super();
    this.#wishes = wishes;
    this.#start();
    this.#watching = setInterval(() => this.#watch(), TURN);
    this.#watching.unref?.(); // Node ends where only this is left
  }

  // close ends the worker for good.
  close() {
    clearInterval(this.#watching);
    this.#restarts = Infinity;
    this.#end(cancelled());
  }

  // busy says whether the worker has something to do.
  get busy() {
    return this.#pending.size > 0;
  }

  // watch adds up how long the worker has been silent. A turn counts at most twice its length,
  // since the machine may have slept or the page been busy. Time in which the page is hidden does
  // not count, as browsers then slow timers down.
  #watch() {
    const now = performance.now(),
      passed = Math.min(now - this.#turned, 2 * TURN);
    this.#turned = now;
    if (!this.#pending.size || globalThis.document?.hidden) return void (this.#silent = 0);
    this.#silent += passed;
    if (this.#silent <= this.#patience * (this.#compiled ? 1 : LONGER))
      return this.#worker.postMessage({ type: "ping" });
    this.#patience *= LONGER; // a machine this slow gets more time
    this.#died(`it has been silent for ${Math.round(this.#silent / 1000)} seconds`, "silent");
  }
  #heard() {
    this.#patience = Math.max(this.#patience, AGAIN * this.#silent);
    this.#silent = 0;
  }

  async #start() {
    this.#info = null;
    this.#compiled = false;
    this.#imageSent = 0;
    this.#ownSent.clear();
    this.#seriesSent = false;
    this.ready = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.ready.catch(() => {}); // callers that await it get the failure
    let worker;
    try {
      worker = await startWorker(this.#wishes);
    } catch (error) {
      return this.#end(
        error.changed ? changed(error.changed) : crashed(error.message, false, "crashed"),
      );
    }
    if (this.#restarts === Infinity) return worker.terminate();
    // A worker that died may still send: each message that waited in it fails.
    worker.onmessage = ({ data }) => {
      if (worker === this.#worker) {
        this.#heard();
        this.#receive(data);
      }
    };
    worker.onerror = (event) => {
      event.preventDefault();
      if (worker !== this.#worker) return;
      if (event.message) return this.#died(event.message);
      // A script of the worker could not be loaded, for which browsers give no message.
      check().then(
        () => this.#died("worker.js could not be loaded"),
        (error) => this.#end(changed(error.changed)),
      );
    };
    this.#worker = worker;
  }

  #died(detail, code = "crashed") {
    const again = this.#info !== null || this.#restarts++ < 1;
    this.#end(crashed(detail, again, code), again);
  }
  // end ends the worker and all its requests.
  #end(error, again = false) {
    this.#worker?.terminate();
    this.#settle.reject(error);
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
    if (again) this.#start();
    else this.dispatchEvent(happened("failed", error));
  }

  #receive(data) {
    const waiting = this.#pending.get(data.request),
      tell = () => this.dispatchEvent(happened(data.type, data));
    switch (data.type) {
      case "ready":
        this.#info = data;
        this.#restarts = 0;
        this.#settle.resolve(data);
        return tell();
      case "adapter":
        Object.assign(this.#info, data); // ready resolves to it
        return tell();
      case "archive":
        return tell();
      case "alive":
        return;
      case "crashed":
        return data.changed ? this.#end(changed(data.changed)) : this.#died(data.message);
      case "progress":
      case "image":
      case "thumb":
        return waiting?.[data.type]?.(data);
      case "error":
        waiting?.reject(new SegmentError(data));
        break;
      case "result":
        this.#compiled = true; // falls through
      default:
        waiting?.resolve(data);
    }
    this.#pending.delete(data.request);
  }

  // ask resolves to the worker's answer. unsent is called when it is known that none will come.
  async #ask(message, transfer = [], hooks = {}, unsent = () => {}) {
    const { signal } = hooks;
    let request;
    const cancel = () => {
      unsent();
      if (this.#pending.has(request)) this.#worker.postMessage({ type: "cancel", request });
    };
    try {
      await this.ready;
      if (signal?.aborted) throw cancelled();
      request = this.#next++;
      signal?.addEventListener("abort", cancel);
      return await new Promise((resolve, reject) => {
        this.#pending.set(request, { resolve, reject, ...hooks });
        this.#worker.postMessage({ ...message, request }, transfer);
      });
    } catch (error) {
      unsent();
      throw error;
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }
  // askPicture asks about a picture. The worker gets its file unless it has it.
  async #askPicture(picture, message, hooks = {}) {
    await this.ready;
    const { key, name, slice, turn } = picture,
      [wantImage, wantThumb] = [Boolean(hooks.image), Boolean(hooks.thumb)],
      part = this.#series?.parts.get(picture.blob) ?? 0;
    if (part && !this.#seriesSent) await this.openSeries(this.#series.name, this.#series.files);
    // The worker reads slices of its series itself: a volume comes into memory once.
    const blob = part || this.#imageSent === key ? null : await read(picture.blob, name, "image");
    if (hooks.signal?.aborted) throw cancelled();
    this.#imageSent = key;
    // A request that ends early may not have decoded the picture.
    const unsent = () => {
      if (this.#imageSent === key) this.#imageSent = 0;
    };
    const { coarse } = hooks,
      asked = { key, blob, name, slice, part, turn, wantImage, wantThumb, coarse, ...message };
    return this.#ask(asked, blob ? [blob] : [], hooks, unsent);
  }
  // askDrawn asks about a result with corrections of its masks.
  #askDrawn(message, result, corrections) {
    const drawn = corrections.map((correction) => ({
      class: result.classes.indexOf(correction.class),
      mask: wholeMask(correction),
    }));
    return this.#ask({ ...message, id: result.id, drawn }, [
      ...drawn.map(({ mask }) => mask.buffer),
      ...(message.shown ? [message.shown.rgba.buffer] : []),
    ]);
  }

  // picture is a photograph to segment. The worker decodes it once. slice is that of a volume, from
  // 1; 0 is the middle one. turn counts quarter turns clockwise.
  picture(blob, name, slice = 0, turn = 0) {
    this.used = true;
    return { blob, name, slice, turn, key: ++this.#images, opened: Date.now() };
  }

  // knows says whether the site or the user has a model with that name.
  knows(model) {
    return this.#own.has(model) || Boolean(this.#info?.models.some(({ name }) => name === model));
  }

  // prepare downloads and compiles a model before it is needed. hooks: progress, signal.
  prepare(model, hooks) {
    return this.#ask({ type: "prepare", model }, [], hooks);
  }

  // weights makes a weights file of the user a model, after the worker has verified it. It resolves
  // to { name, title }.
  async weights(blob, name = blob.name ?? "weights") {
    this.used = true;
    const bytes = await read(blob, name, "weights"),
      model = await this.#ask({ type: "weights", blob: bytes, name }, [bytes]);
    this.#own.set(model.name, { blob, name });
    this.#ownSent.add(model.name);
    return model;
  }

  // segment resolves to the worker's result message, with the date. options: model, recurrences
  // (left out: as the model was trained), roi ("auto", "none" or "x,y,side"), raterWeights,
  // evidence (a list of { rater, class, name, mask }; mask is a Uint8Array or the Blob of a PNG).
  // hooks: progress({ stage, done, total }), image({ width, height, pixelsWide, pixelsHigh, slice,
  // slices, coarse, rgba }), coarse (image may be: decode gives all pixels), thumb (as image, but
  // small), signal (an AbortSignal, which ends this request and no other). For the list: known is the
  // id of an earlier result of the same question; passing says that nobody will look at the result.
  // If the worker falls silent, another one tries once more.
  segment(picture, options, hooks) {
    const attempt = () => this.#segment(picture, options, hooks),
      ask = () =>
        attempt().catch((error) => {
          if (error.code !== "silent") throw error;
          return attempt();
        });
    return this.study ? this.study.segment(ask, picture, hooks) : ask();
  }
  async #segment(picture, options, hooks) {
    await this.#having(options.model);
    const evidence = await Promise.all(
      (options.evidence ?? []).map(async ({ rater, class: c, name, mask }) => {
        const png = mask instanceof Blob ? await read(mask, name, "evidence") : undefined;
        return { rater, class: c, name, ...(png ? { png } : { mask }) };
      }),
    );
    const message = { type: "segment", ...options, evidence },
      result = await this.#askPicture(picture, message, hooks);
    return { ...result, date: new Date().toISOString() };
  }

  // having gives a new worker the user's model that it does not have.
  async #having(model) {
    await this.ready;
    const own = this.#own.get(model);
    if (own && !this.#ownSent.has(model)) await this.weights(own.blob, own.name);
  }

  // field finds all objects of a picture, or changes them, and resolves to them. change has model,
  // and do, numbers and line (page.Change).
  async field(picture, change, hooks) {
    await this.#having(change.model);
    return this.#askPicture(picture, { type: "field", numbers: [], line: null, ...change }, hooks);
  }
  // saveField resolves to the bytes of a file of them, in a format of package objects.
  async saveField(picture, format, semicolons) {
    await this.#askPicture(picture, { type: "picture" }); // the worker may have dropped it
    const { key, name } = picture;
    return (await this.#ask({ type: "saveField", key, name, format, semicolons })).bytes;
  }

  // decode resolves to a picture in the form of the hook image.
  async decode(picture) {
    let decoded;
    const image = (made) => (decoded = made);
    await this.#askPicture(picture, { type: "picture" }, { image });
    return decoded;
  }

  // identity resolves to what a DICOM file says of a person (dicom.Header.Identity).
  async identity(picture) {
    return (await this.#askPicture(picture, { type: "picture", wantIdentity: true })).identity;
  }

  // openSeries orders the slices of files, each { name, blob }, and resolves to { slices, step,
  // gaps }: slices are { part, slice, position }, with the number of the file and that in the file.
  async openSeries(name, files) {
    const sent = files.map(({ name, blob }) => ({ name, blob: blob.blob ?? blob })), // Claimed
      { said } = await this.#ask({ type: "series", do: "open", name, files: sent });
    this.#series = { name, files, parts: new Map(files.map(({ blob }, i) => [blob, i + 1])) };
    this.#seriesSent = true;
    return said;
  }
  // ofSeries asks about the masks of the series (wasm/segmenter/main.go).
  ofSeries(message) {
    return this.#ask({ type: "series", ...message });
  }

  // show resolves to a map of a result in the form that type names. "map" is the whole map: {
  // values: Float32Array(width·height) }. "view" is the part that the stage needs: { x, y, width,
  // height, pixelsWide, pixelsHigh, values (8 bits), points, starts }. fields: kind (probability,
  // rater, recurrence, disagreement, others, between or mark), m, i, class.
  async show(type, result, fields) {
    return this.study?.show(type, result) ?? this.#ask({ type, id: result.id, ...fields });
  }

  // table resolves to a CSV of records, as internal/output/sheet has them: { bytes }. semicolons
  // part its cells where a spreadsheet writes 0,5 for one half.
  table(records, semicolons) {
    return this.#ask({ type: "table", records: JSON.stringify(records), semicolons });
  }

  // images resolves to the files, each { blob, name }, that may be images by their first bytes.
  async images(files) {
    const head = ({ blob }) => blob.slice(0, HEAD).arrayBuffer(),
      heads = await Promise.all(files.map((file) => head(file).catch(() => null))); // opening reports it
    const { are } = await this.#ask({ type: "recognise", heads: heads.filter(Boolean) });
    return files.filter((_, i) => !heads[i] || are.shift());
  }

  // zip resolves to the Blob of a ZIP. files yields { name, bytes } one after the other, so that
  // only one is in memory. The worker writes one ZIP at a time.
  zip(files) {
    const made = this.#zipped.then(() => this.#zip(files));
    this.#zipped = made.catch(() => {});
    return made;
  }
  async #zip(files) {
    const parts = [],
      step = async (fields, transfer) => {
        const { bytes } = await this.#ask({ type: "zip", ...fields }, transfer);
        parts.push(new Blob([bytes]));
      };
    await step({ step: "begin" });
    for await (const { name, bytes } of files)
      await step({ step: "add", name, blob: bytes }, [bytes]);
    await step({ step: "end" });
    return new Blob(parts, { type: "application/zip" });
  }

  // correct resolves to the bytes of the PNG of a mask with a correction on it, which was drawn
  // after quarter turns. Both PNGs are in the photograph's orientation before the turns.
  async correct(png, correction, turn) {
    const mask = wholeMask(correction),
      blob = await png.arrayBuffer(),
      { bytes } = await this.#ask({ type: "correct", blob, mask, turn }, [blob, mask.buffer]);
    return bytes.buffer;
  }

  // clinical resolves to the figures beside the ratio of a result, with what the user knows
  // (clinical.js).
  async clinical({ result, corrections, eye, known }) {
    const own = corrections.filter(({ rater }) => rater === YOU);
    return (await this.#askDrawn({ type: "clinical", eye, mm: known }, result, own)).figures;
  }

  // repeat resolves to how the figures of a result differ between views of its picture
  // (segment.Repeats).
  async repeat({ id, model, asked: { picture, weights } }, hooks) {
    await this.#having(model);
    const message = { type: "repeat", id, model, raterWeights: weights };
    return (await this.#askPicture(picture, message, hooks)).said.repeats;
  }

  // save resolves to the bytes of a file of a reader, the consensus unless given, as the state
  // asks for it. Of a DICOM capture shown is the picture, { width, height, rgba }. made
  // "dicom-pdf", which no list has, wraps a report, the bytes pdf: save({ result, made, pdf,
  // identity }).
  async save({ result, made, reader = 0, i, classes = [], drawn = [], identity, ...of }) {
    const own = await this.study?.save(result),
      { eye = "", person = "", shown, pdf } = of,
      said = { eye, person, shown, pdf },
      message = { type: "save", format: made, reader, i, classes, identity: !!identity, ...said };
    return own ?? (await this.#askDrawn(message, result, drawn)).bytes;
  }
}

// inScripts is an error as scripts get it. A call that its signal ended rejects with the signal's
// reason: a DOMException named "AbortError", unless abort was called with something else. Wrong
// values that only the worker can find, such as the number of raters, are wrong arguments too.
function inScripts(error, signal) {
  if (error.code === "cancelled" && signal?.aborted) return signal.reason;
  return error.code === "options" ? new TypeError(error.message) : error;
}

// Options of scripts, each with a test and a description of valid values.
const own = (wanted, is) => ({ wanted, is });
const SETTLING = {
  evidence: own("a list of { rater, class, mask }", (v) => v === null || Array.isArray(v)),
  raterWeights: own(
    "a list of numbers from 0 to 1, not all 0, or null",
    (v) =>
      v === null ||
      ((Array.isArray(v) || ArrayBuffer.isView(v)) &&
        Array.from(v).every((w) => typeof w === "number" && w >= 0 && w <= 1) &&
        Array.from(v).some((w) => w > 0)),
  ),
  progress: own("a function", (v) => typeof v === "function"),
  signal: own("an AbortSignal", (v) => v instanceof AbortSignal),
};
const SEGMENTING = {
  ...SETTLING,
  model: own(
    "the name of a model, or a Blob of weights",
    (v) => typeof v === "string" || v instanceof Blob,
  ),
  recurrences: own("a whole number", Number.isInteger),
  roi: own('"auto", "none" or "x,y,side"', (v) => typeof v === "string"),
  slice: own("a whole number from 1", (v) => Number.isInteger(v) && v >= 0),
  image: own("a function", (v) => typeof v === "function"),
  turn: own("0, 90, 180 or 270", (v) => [0, 90, 180, 270].includes(v)),
};
// checked throws a TypeError for options that are not in allowed. It omits undefined options.
function checked(options, allowed) {
  if (typeof options !== "object" || options === null)
    throw new TypeError(`the options are not an object: ${options}`);
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(allowed, name))
      throw new TypeError(
        `there is no option ${name}; there are ${Object.keys(allowed).join(", ")}`,
      );
    if (value !== undefined && !allowed[name].is(value))
      throw new TypeError(`${name} is not ${allowed[name].wanted}`);
  }
  options.signal?.throwIfAborted();
  return options;
}

// checkedEvidence copies a script's list of marks.
function checkedEvidence(evidence) {
  return evidence.map(({ rater, class: c = "", mask }, i) => {
    const name = mask instanceof File ? mask.name : `evidence[${i}].mask`;
    if (typeof rater !== "string")
      throw new TypeError(`evidence[${i}].rater is not the name of a rater, or "you"`);
    if (typeof c !== "string")
      throw new TypeError(`evidence[${i}].class is not the name of a class`);
    if (!(mask instanceof Uint8Array || mask instanceof Blob))
      throw new TypeError(`${name} is neither a Uint8Array nor the Blob of a PNG`);
    return { rater, class: c, name, mask };
  });
}

// scripting is the segmenter for scripts, as window.mrprism. It shows nothing on the page. finish
// adds to a result what save(fields) of Segmenter.save makes.
export function scripting(segmenter, finish = (made) => made) {
  const index = (list, wanted, what) => {
    const i = typeof wanted === "number" ? wanted : list.indexOf(wanted);
    if (!(i in list)) throw new RangeError(`${what} ${wanted} is not one of ${list.join(", ")}`);
    return i;
  };
  // run resolves to the result for scripts. before has the earlier options.
  async function run(picture, before, { evidence, raterWeights }, hooks) {
    const options = { ...before };
    if (evidence !== undefined) options.evidence = checkedEvidence(evidence ?? []);
    if (raterWeights !== undefined)
      options.raterWeights = raterWeights && Float32Array.from(raterWeights);
    const r = await segmenter.segment(picture, options, hooks).catch((error) => {
      throw inScripts(error, hooks.signal);
    });
    const values = async (kind, fields) =>
      (await segmenter.show("map", r, { kind, ...fields })).values;
    const c = (wanted) => index(r.classes, wanted, "class"),
      m = (wanted) => index(r.raters, wanted, "rater");
    const made = {
      ...only("width height classes raters labels roi recurrences takesMarks measurements", r),
      ...only("timings adapter why model found doubts doubt quality", r),
      probability: (cls) => values("probability", { class: c(cls) }),
      others: (cls) => values("others", { class: c(cls) }),
      rater: (rater, cls) => values("rater", { m: m(rater), class: c(cls) }),
      recurrence: (i, cls) => values("recurrence", { i, class: c(cls) }),
      disagreement: (cls) => values("disagreement", { class: c(cls) }),
      async recalibrate(given = {}) {
        const { progress, signal, ...changes } = checked(given, SETTLING);
        return run(picture, options, changes, { progress, signal });
      },
    };
    return finish(made, (fields) =>
      segmenter.save({ result: r, i: r.recurrences, drawn: [], identity: false, ...fields }),
    );
  }
  return Object.freeze({
    get ready() {
      return segmenter.ready.then(({ adapter, models }) => ({
        adapter,
        models: models.map(({ name }) => name),
      }));
    },
    // segment(blob, { model, recurrences, roi, slice, turn, raterWeights, evidence, progress,
    // image, signal }) resolves to a result. image receives the decoded picture, as in Segmenter.
    // model is a name, or a Blob of weights. slice is that of a volume, from 1; the middle one
    // unless given. turn is in degrees clockwise: maps are of the turned image. raterWeights has a
    // number from 0 to 1 for each rater. evidence is a list of { rater, class, mask }, for models
    // that take marks; mask has 255 inside, 0 outside and 128 where nothing is said, as a
    // Uint8Array of a byte a pixel or the Blob of a PNG. signal is an AbortSignal: the call
    // rejects with its reason, an AbortError. Wrong arguments are TypeErrors, other failures have
    // a code and say what to do next. The result's maps are Promises of Float32Arrays at the
    // image's size. The worker keeps those of the last four results. found is false if the picture
    // has nothing of the kind. doubts say why the model does not believe its result, as { code,
    // text }. Each structure and ratio of measurements has trust, { word, reason }: "trusted",
    // "check" or "do not use". doubt is how odd the result is: above 1 the model doubts it, null
    // means that the weights cannot tell. quality says of a photograph whether it is gradable, and
    // its faults, each { code, text }. others(class) is what the raters would mark who have not.
    // recalibrate({ evidence, raterWeights, progress, signal }) resolves to another result of the
    // same picture. What is left out stays as it was. While no other picture came between, the
    // encoder does not run again.
    async segment(blob, given = {}) {
      if (!(blob instanceof Blob)) throw new TypeError("the image is not a Blob, such as a File");
      const {
        recurrences,
        roi = "auto",
        slice = 0,
        turn = 0,
        raterWeights = null,
        evidence = [],
        progress,
        signal,
        image,
        ...wished
      } = checked(given, SEGMENTING);
      const { models } = await segmenter.ready;
      const { name: model } =
        wished.model instanceof Blob
          ? await segmenter.weights(wished.model)
          : { name: wished.model ?? models[0]?.name };
      if (!segmenter.knows(model))
        throw new TypeError(
          `there is no model ${model}; there are ${models.map(({ name }) => name).join(", ")}`,
        );
      const picture = segmenter.picture(blob, blob.name ?? "image", slice, turn / 90);
      return run(
        picture,
        { model, recurrences, roi },
        { evidence, raterWeights },
        { progress, signal, image },
      );
    },
  });
}
