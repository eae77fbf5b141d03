// The second photograph beside the first, such as another visit or the other eye. Its part of the
// state is compared, or null where nothing is compared; these functions change it. The model and the
// raters' weights are those of the first photograph's result: figures of two models tell nothing.
import { fitted, layers, viewsOf } from "./layers.js";
import { sameWeights } from "./shares.js";

// compared is { picture, mirrored, image, job, result, views, error }: what is shown as in state.js,
// job { picture, model, weights } while it is computed, and error { message, next } where that failed.
const begun = (picture, mirrored) => ({ picture, mirrored, image: null, job: null, result: null, views: {}, error: null });
const changed = (s, changes) => ({ ...s, compared: { ...s.compared, ...changes } });
const running = (s, job) => Boolean(s.compared) && s.compared.job === job;

export const comparing = {
  compare: (s, { picture }) => (s.result?.found ? { ...s, compared: begun(picture, s.compared?.mirrored ?? false), status: "Comparing with another photograph." } : s),
  uncompare: (s) => ({ ...s, compared: null, status: "The comparison has ended." }),
  mirror: (s, { mirrored }) => (s.compared ? changed(s, { mirrored }) : s),
  pairDecoded: (s, { job, image }) => (running(s, job) ? changed(s, { image }) : s),
  paired: (s, { job, result }) => (running(s, job) ? changed(s, { job: null, result: { ...result, asked: { ...job, evidence: [], roi: "auto" } }, views: {} }) : s),
  pairFailed: (s, { job, error }) => (running(s, job) ? changed(s, { job: null, error }) : s),
};

// pairing begins to compute the second photograph where its result is not of the first one's model
// and weights. The first photograph comes first, and a slider has come to rest.
export function pairing(s) {
  const { compared, result } = s;
  if (compared?.job && s.job) return changed(s, { job: null });
  if (!compared || compared.job || compared.error || !result || s.job || s.sliders.moving) return s;
  const { weights } = result.asked, made = compared.result;
  if (made && made.model === result.model && sameWeights(made.asked.weights, weights)) return s;
  return changed(s, { job: { picture: compared.picture, model: result.model, weights } });
}

// wantedViews are the views of the second photograph that the controls ask for, by key.
export const wantedViews = (s) => viewsOf(pairLayers(s));
export function pairLayers({ compared: { result }, choices }) {
  return layers(result, { ...fitted(choices, result), edited: [] });
}

// pairViewed takes a view of the second photograph; pairGone a result that the worker has forgotten.
export const pairViewed = (s, key, view) => changed(s, { views: { ...s.compared.views, [key]: view } });
export const pairGone = (s) => changed(s, { result: null, views: {} });

// ---- the figures ----

// differences are the rows of the table, each { name, of, unit, values: [first, second] }. name and
// of are a figure and its structure, unit is "ratio", "area" or "length", and values are in pixels,
// or in mm by the scales, [first, second], if both have one. A value may be null.
export function differences(first, second, scales) {
  const mm = scales.every(Boolean), of = (result, name) => result.measurements.structures.find((s) => s.class === name);
  const area = (v, i) => (v === undefined ? null : mm ? v * scales[i].mm[0] * scales[i].mm[1] : v);
  const length = (v, i, axis) => (v === undefined ? null : mm ? v * scales[i].mm[axis] : v);
  const both = [first, second], rows = [];
  for (const [key, name] of [["verticalRatio", "vertical"], ["horizontalRatio", "horizontal"]]) {
    const { inner, outer } = first.measurements[key] ?? {};
    if (inner) rows.push({ name, of: [inner, outer], unit: "ratio", values: both.map((r) => r.measurements[key]?.value ?? null) });
  }
  for (const { class: c } of first.measurements.structures) {
    rows.push({ name: "area", of: [c], unit: "area", values: both.map((r, i) => area(of(r, c)?.area, i)) });
    rows.push({ name: "height", of: [c], unit: "length", values: both.map((r, i) => length(of(r, c)?.height, i, 1)) });
    rows.push({ name: "width", of: [c], unit: "length", values: both.map((r, i) => length(of(r, c)?.width, i, 0)) });
  }
  return rows;
}

// ---- the mirror ----

// mirrored flips pixels that lie over a part of a photograph of a width, left to right; and lines.
export function mirroredPicture(picture, width) {
  const { x = 0, pixelsWide: w, pixelsHigh: h, rgba } = picture, from = new Uint32Array(rgba.buffer, rgba.byteOffset, w * h), to = new Uint32Array(w * h);
  for (let y = 0; y < h; y++) for (let i = 0; i < w; i++) to[y * w + i] = from[y * w + w - 1 - i];
  return { ...picture, rgba: new Uint8Array(to.buffer), x: width - x - (picture.drawnWidth ?? picture.width) };
}
export const mirroredLines = (lines, width) => lines.map((line) => ({ ...line, points: line.points.map((v, i) => (i % 2 ? v : width - v)) }));
