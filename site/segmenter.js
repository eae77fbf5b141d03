// The page's side of the worker that computes (wasm/segmenter), and window.mrprism for scripts.

// Only these two addresses may become scripts: the content security policy admits no other source
// of worker URLs.
const policy = globalThis.trustedTypes?.createPolicy("mrprism", {
  createScriptURL(url) {
    if (url === "worker.js" || url === "sw.js") return url;
    throw new TypeError(`not a script of this page: ${url}`);
  },
});
export const scriptURL = (name) => (policy ? policy.createScriptURL(name) : name);

// SegmentError is what went wrong and what the user can do next. code: image, weights, memory,
// lost, cancelled, crashed, …
export class SegmentError extends Error {
  constructor({ code, message, next }) {
    super(message);
    this.code = code;
    this.next = next ?? "";
  }
}

const crashed = (detail, again) => new SegmentError({
  code: "crashed", message: `The program that computes stopped unexpectedly. (${detail})`,
  next: again ? "It has been started again; your image is still here. Try once more." : "Reload the page. It needs a current browser with WebAssembly.",
});

const cancelled = () => new SegmentError({ code: "cancelled", message: "Cancelled." });

// read resolves to a file's bytes. kind is the code of the error.
const read = (blob, name, kind) => blob.arrayBuffer().catch(() => {
  throw new SegmentError({ code: kind, message: `${name} could not be read.`,
    next: "Folders cannot be opened. Open a file again if it was moved or deleted." });
});

// Segmenter runs the worker, starts it again when it dies, and pairs answers with questions.
// Events: "ready" (detail: adapter, gpu, reason, models, …) each time a worker is up, "adapter"
// (detail: adapter, gpu, reason, note, …) when another device takes over, "failed" (detail: the
// error) when the worker stays down.
export class Segmenter extends EventTarget {
  #worker = null; #info = null; #settle = null; #pending = new Map(); #next = 1; #restarts = 0;
  #imageSent = 0; #images = 0; #own = new Map(); #ownSent = new Set();
  used = false; // the page or a script gave pictures or weights, which would be lost with the page

  constructor() {
    super();
    this.#start();
  }

  #start() {
    this.#info = null;
    this.#imageSent = 0;
    this.#ownSent.clear();
    this.ready = new Promise((resolve, reject) => { this.#settle = { resolve, reject }; });
    this.ready.catch(() => {}); // callers that await it hear of a failure
    const worker = new Worker(scriptURL("worker.js"), { type: "module", name: location.search });
    // A worker that died may go on to send: each message that waited in it fails.
    worker.onmessage = ({ data }) => { if (worker === this.#worker) this.#receive(data); };
    worker.onerror = (event) => {
      event.preventDefault();
      if (worker === this.#worker) this.#died(event.message || "worker.js could not be loaded");
    };
    this.#worker = worker;
  }

  #died(detail) {
    this.#worker.terminate();
    const again = this.#info !== null || this.#restarts++ < 1, error = crashed(detail, again);
    this.#settle.reject(error);
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
    if (again) this.#start();
    else this.dispatchEvent(new CustomEvent("failed", { detail: error }));
  }

  #receive(data) {
    const waiting = this.#pending.get(data.request), tell = () => this.dispatchEvent(new CustomEvent(data.type, { detail: data }));
    switch (data.type) {
      case "ready":
        this.#info = data;
        this.#restarts = 0;
        this.#settle.resolve(data);
        return tell();
      case "adapter":
        Object.assign(this.#info, data); // ready resolves to it
        return tell();
      case "crashed": return this.#died(data.message);
      case "progress": case "image": return waiting?.[data.type]?.(data);
      case "error": waiting?.reject(new SegmentError(data)); break;
      default: waiting?.resolve(data);
    }
    this.#pending.delete(data.request);
  }

  async #ask(message, transfer = [], hooks = {}) {
    await this.ready;
    if (hooks.signal?.aborted) throw cancelled();
    const request = this.#next++;
    const cancel = () => { if (this.#pending.has(request)) this.#worker.postMessage({ type: "cancel", request }); };
    hooks.signal?.addEventListener("abort", cancel);
    return new Promise((resolve, reject) => {
      this.#pending.set(request, { resolve, reject, ...hooks });
      this.#worker.postMessage({ ...message, request }, transfer);
    }).finally(() => hooks.signal?.removeEventListener("abort", cancel));
  }

  // picture is a photograph to segment. The worker decodes it once.
  picture(blob, name) {
    this.used = true;
    return { blob, name, key: ++this.#images };
  }

  // prepare downloads and compiles a model before it is asked for. hooks: progress, signal.
  prepare(model, hooks) { return this.#ask({ type: "prepare", model }, [], hooks); }

  // weights makes a weights file of the user a model, after the worker has verified it. It resolves
  // to { name, title }.
  async weights(blob, name = blob.name ?? "weights") {
    this.used = true;
    const bytes = await read(blob, name, "weights"), model = await this.#ask({ type: "weights", blob: bytes, name }, [bytes]);
    this.#own.set(model.name, { blob, name });
    this.#ownSent.add(model.name);
    return model;
  }

  // segment resolves to the worker's result message. options: model, recurrences, roi ("auto",
  // "none" or "x,y,side"), raterWeights. hooks: progress({ stage, done, total }), image({ width,
  // height, pixelsWide, pixelsHigh, rgba }), signal (an AbortSignal, which ends this request and no
  // other).
  async segment(picture, options, hooks = {}) {
    await this.ready;
    const own = this.#own.get(options.model); // a new worker does not have it
    if (own && !this.#ownSent.has(options.model)) await this.weights(own.blob, own.name);
    const bytes = this.#imageSent === picture.key ? null : await read(picture.blob, picture.name, "image");
    if (hooks.signal?.aborted) throw cancelled();
    this.#imageSent = picture.key;
    // A request that ends early may leave the picture undecoded.
    const unsent = () => { if (this.#imageSent === picture.key) this.#imageSent = 0; };
    hooks.signal?.addEventListener("abort", unsent);
    const message = { type: "segment", key: picture.key, blob: bytes, name: picture.name, wantImage: Boolean(hooks.image), ...options };
    try {
      return await this.#ask(message, bytes ? [bytes] : [], hooks);
    } catch (error) {
      unsent();
      throw error;
    } finally {
      hooks.signal?.removeEventListener("abort", unsent);
    }
  }

  // show resolves to a map of a result in the form that type names. "map" is the whole map:
  // { values: Float32Array(width·height) }. "view" is what the stage needs of it: { x, y, width,
  // height, pixelsWide, pixelsHigh, values (8 bits), points, starts }. "png" is a PNG at the
  // photograph's size: { bytes }. fields: kind (probability, rater, recurrence or disagreement), m,
  // i, class, and for a PNG what (mask or probability).
  show(type, result, fields) { return this.#ask({ type, id: result.id, ...fields }); }
}

// publish makes window.mrprism, by which scripts use the segmenter. It shows nothing on the page.
export function publish(segmenter) {
  const index = (list, wanted, what) => {
    const i = typeof wanted === "number" ? wanted : list.indexOf(wanted);
    if (!(i in list)) throw new RangeError(`${what} ${wanted} is not one of ${list.join(", ")}`);
    return i;
  };
  globalThis.mrprism = Object.freeze({
    get ready() { return segmenter.ready.then(({ adapter, models }) => ({ adapter, models: models.map(({ name }) => name) })); },
    // segment(blob, { model, recurrences, roi, raterWeights, progress, signal }) resolves to a
    // result. model is a name, or a Blob of weights. raterWeights has a number from 0 to 1 for each
    // rater. signal is an AbortSignal. The result's maps are Promises of Float32Arrays at the
    // image's size; the worker keeps those of the last four results. found is false if the picture
    // has nothing of the kind. doubts say why the model does not believe its result, as
    // { code, text }. doubt is how odd the result is: above 1 the model doubts it, null means that
    // the weights cannot tell.
    async segment(blob, { model, recurrences = 3, roi = "auto", raterWeights = null, progress, signal } = {}) {
      const { models } = await segmenter.ready;
      if (!Number.isInteger(recurrences)) throw new TypeError(`recurrences ${recurrences} is not a whole number`);
      if (model instanceof Blob) ({ name: model } = await segmenter.weights(model));
      const picture = segmenter.picture(blob, blob.name ?? "image");
      const r = await segmenter.segment(picture, { model: model ?? models[0]?.name, recurrences, roi, raterWeights: raterWeights && Float32Array.from(raterWeights) }, { progress, signal });
      const values = async (kind, fields) => (await segmenter.show("map", r, { kind, ...fields })).values;
      const c = (wanted) => index(r.classes, wanted, "class"), m = (wanted) => index(r.raters, wanted, "rater");
      return {
        width: r.width, height: r.height, classes: r.classes, raters: r.raters, labels: r.labels, roi: r.roi, recurrences: r.recurrences,
        measurements: r.measurements, timings: r.timings, adapter: r.adapter, why: r.why, model: r.model, found: r.found, doubts: r.doubts, doubt: r.doubt,
        probability: (cls) => values("probability", { class: c(cls) }),
        rater: (rater, cls) => values("rater", { m: m(rater), class: c(cls) }),
        recurrence: (i, cls) => values("recurrence", { i, class: c(cls) }),
        disagreement: (cls) => values("disagreement", { class: c(cls) }),
      };
    },
  });
}
