// What the list keeps of finished images, so that a step shows the next one at once: results with
// their views, compressed, and for the neighbours also their pixels. Work (work.js) loads this
// module with the first list.
import { baseOfBytes } from "../draw/correct.js";
import { fitted, layers, viewsOf } from "../draw/layers.js";
import { sameWeights } from "./shares.js";
import { neighbour } from "./worklist.js";

const MOST = 64 * 2 ** 20; // bytes of compressed views; the oldest go first
const AROUND = [1, -1, 2]; // neighbours whose pixels are decoded, in this order
const TYPES = { values: Uint8Array, points: Float32Array, starts: Uint32Array, bytes: Uint8Array };

// packed resolves to views with compressed arrays. A base (correct.js) has its bytes alone.
const through = (data, stream) => new Response(new Blob([data]).stream().pipeThrough(stream));
const packed = (views) =>
  changed(views, async ({ box, plain, ...view }, name) => {
    view[name] = await through(view[name], new CompressionStream("gzip")).blob();
    return view;
  });
const unpacked = (views) =>
  changed(views, async (view, name) => {
    const bytes = await through(view[name], new DecompressionStream("gzip")).arrayBuffer(),
      array = new TYPES[name](bytes);
    return name === "bytes"
      ? baseOfBytes(array, view.width, view.height)
      : { ...view, [name]: array };
  });
// changed resolves to views after a change of each of their arrays, by its name.
async function changed(views, change) {
  const made = Object.entries(views).map(async ([key, view]) => {
    for (const name of Object.keys(TYPES)) if (view[name]) view = await change(view, name);
    return [key, view];
  });
  return Object.fromEntries(await Promise.all(made));
}
const sizeOf = (packed) =>
  Object.values(packed)
    .flatMap((view) => Object.keys(TYPES).map((name) => view[name]?.size ?? 0))
    .reduce((sum, size) => sum + size, 0);

export class Ahead {
  #kept = new Map();
  #ready = new Map();
  #size = 0; // by picture
  constructor(state, segmenter) {
    Object.assign(this, { state, segmenter });
  }

  // wanted are the questions for the views that the stage shows of a result.
  #wanted(result) {
    return viewsOf(layers(result, fitted({ ...this.state().choices, edited: [] }, result)));
  }

  // ask keeps a result that the worker has just computed in the background.
  async ask(result) {
    const views = {};
    for (const [key, { kind, fields }] of Object.entries(this.#wanted(result)))
      views[key] = await this.segmenter.show("view", result, { kind, ...fields });
    await this.#keep(result, views);
  }
  // leave keeps what was on the stage: the views that are shown of an image, with bases if a person
  // corrected it, and figures that the worker has read anew. It is ready to be shown again.
  leave(result, all, image, corrections, figures) {
    const wanted = this.#wanted(result),
      views = Object.fromEntries(
        Object.entries(all).filter(
          ([key, { bytes }]) => key in wanted || (bytes && corrections.length),
        ),
      );
    this.#ready.set(result.asked.picture, Promise.resolve({ image, views }));
    this.#keep(result, views, figures).catch(() => {});
  }
  async #keep(result, views, figures) {
    const { picture } = result.asked,
      kept = { result, figures, keys: Object.keys(views), pack: packed(views), size: 0 };
    this.#forget(picture);
    this.#kept.set(picture, kept); // at once: a step back may come before it is packed
    const size = sizeOf(await kept.pack);
    if (this.#kept.get(picture) !== kept) return;
    this.#size += kept.size = size;
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= MOST) break;
      this.#forget(oldest);
    }
  }
  #forget(picture) {
    this.#size -= this.#kept.get(picture)?.size ?? 0;
    this.#kept.delete(picture);
  }

  #of(picture) {
    const kept = this.#kept.get(picture);
    return kept &&
      kept.result.model === this.state().listed &&
      Object.keys(this.#wanted(kept.result)).every((key) => kept.keys.includes(key))
      ? kept
      : null;
  }
  // ready says whether an image can be shown at once.
  ready(picture) {
    return this.#ready.has(picture) && this.#of(picture) !== null;
  }

  // prepare decodes the neighbours of the chosen line, and drops pixels of all others.
  async prepare(list) {
    const near = AROUND.map((by) => neighbour(list, by)?.picture),
      { picture } = this.state();
    for (const one of this.#ready.keys())
      if (one !== picture && !near.includes(one)) this.#ready.delete(one);
    for (const one of near)
      if (!this.#ready.has(one) && one !== picture && this.#of(one))
        await this.#decode(one).catch(() => {});
  }
  #decode(picture) {
    if (!this.#ready.has(picture)) {
      const made = Promise.all([
        this.segmenter.decode(picture),
        this.#kept.get(picture).pack.then(unpacked),
      ]).then(([image, views]) => ({ image, views }));
      this.#ready.set(picture, made);
      made.catch(() => this.#ready.delete(picture));
    }
    return this.#ready.get(picture);
  }

  // recalled resolves to { image, result, views, figures } of a job that was answered before, or it
  // is null.
  recalled({ picture, roi, weights, evidence }) {
    const kept = this.#of(picture),
      { asked } = kept?.result ?? {};
    if (
      !kept ||
      asked.roi !== roi ||
      !sameWeights(asked.weights, weights) ||
      asked.evidence !== evidence
    )
      return null;
    const { result, figures } = kept;
    return this.#decode(picture).then((made) => ({ ...made, result, figures }));
  }
}
