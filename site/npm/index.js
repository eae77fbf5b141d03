// Segments images with MrPrism's models, in browsers and in Node. index.d.ts has shapes and units.
import { SegmentError, Segmenter, scripting } from "./segmenter.js";

export { SegmentError };

const workers = new Map(); // by their options: { segmenter, scripts, users }

function workerOf(options) {
  const key = JSON.stringify(options);
  if (!workers.has(key)) {
    const segmenter = new Segmenter(options);
    workers.set(key, { segmenter, scripts: scripting(segmenter, finished), users: 0 });
    segmenter.addEventListener("failed", () => workers.delete(key)); // closed ones too
  }
  return workers.get(key);
}

// finished adds masks, outlines and files to a result for scripts.
async function finished(r, save) {
  const all = r.classes.map((_, c) => c),
    drawn = await save({ made: "geojson", classes: all }),
    { features } = JSON.parse(new TextDecoder().decode(drawn));
  const structures = r.measurements.structures.map(async ({ class: name, ...figures }, c) => {
    const { type, coordinates } = features[c].geometry ?? { coordinates: [] },
      outlines = type === "Polygon" ? [coordinates] : coordinates;
    const mask = new Uint8Array(r.width * r.height);
    (await r.probability(c)).forEach((p, i) => p > 0.5 && (mask[i] = 255));
    return { name, ...figures, mask, outlines };
  });
  return {
    ...r,
    structures: await Promise.all(structures),
    ratio: r.measurements.verticalRatio ?? null,
    file: (made, wanted) =>
      save({ made, classes: all.filter((c) => [r.classes[c], undefined].includes(wanted)) }),
  };
}

// What is wrong where the package is embedded, in place of the page's advice.
const ADDRESS =
  "Does the address answer, also this page's origin (CORS), and are all files of one version? If a bundler left them behind, open(model, { base }) says where they lie.";
const ADVICE = {
  changed: ADDRESS,
  crashed:
    "If it never started: a Content-Security-Policy must allow what the README of mrprism lists. Else try again.",
};

const blobOf = (data) =>
  data instanceof ArrayBuffer || ArrayBuffer.isView(data) ? new Blob([data]) : data;

// open resolves to a model, once it is downloaded and compiled.
export async function open(
  model = "fundus",
  { base = "", device = "", precision = "", progress, signal, ...unknown } = {},
) {
  for (const name of Object.keys(unknown)) throw new TypeError(`there is no option ${name}`);
  if (typeof model !== "string" && !(blobOf(model) instanceof Blob))
    throw new TypeError("the model is neither a name nor a Blob of weights");
  signal?.throwIfAborted();
  const worker = workerOf({ base, device, precision }),
    { segmenter, scripts } = worker;
  let closed = false;
  worker.users++;
  const close = () => {
    if (!closed && !--worker.users) segmenter.close();
    closed = true;
  };
  const opening = async () => {
    const { models } = await segmenter.ready,
      about =
        typeof model === "string"
          ? models.find(({ name }) => name === model)
          : await segmenter.weights(blobOf(model));
    if (!about)
      throw new TypeError(
        `there is no model ${model}; there are ${models.map(({ name }) => name).join(", ")}`,
      );
    await segmenter.prepare(about.name, { progress, signal });
    return about;
  };
  const advised = (error, advice = ADVICE[error.code]) =>
    Object.assign(error, advice && { next: advice });
  try {
    const aborted = new Promise((_, reject) =>
      signal?.addEventListener("abort", () => reject(signal.reason)),
    );
    // A worker that falls silent is replaced by one that gets more time.
    const again = (error) => (error.code === "silent" ? opening() : Promise.reject(error)),
      { name, title } = await Promise.race([opening().catch(again), aborted]);
    return Object.freeze({
      name,
      title,
      close,
      async segment(image, given = {}) {
        if (closed) throw new Error(`the model ${name} is closed: open it again`);
        for (const option of ["model", "turn"])
          if (option in given) throw new TypeError(`there is no option ${option}`);
        return scripts.segment(blobOf(image), { ...given, model: name }).catch((error) => {
          throw advised(error);
        });
      },
    });
  } catch (error) {
    close();
    throw error.code === "weights" && typeof model === "string"
      ? advised(error, ADDRESS)
      : advised(error);
  }
}
