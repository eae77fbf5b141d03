// The second photograph beside the one on the stage, such as another visit or the other eye. Its
// part of the state is `compared`, or null if nothing is compared; these functions change it. Model
// and raters' weights are those of the result on the stage, since figures of different models are
// not comparable.
import { pick } from "../page/exports.js";
import { noHistory } from "../page/history.js";
import { fitted, layers, viewsOf } from "../draw/layers.js";
import { editedOf, figuresOf } from "../draw/masks.js";
import { sameWeights } from "./shares.js";
import { number } from "../words/words.js";

const FRESH = { model: "", roi: "auto", evidence: [] },
  NONE = [];

// compared is { picture, mirrored, first, image, job, asked, result, views, corrections, known, error }:
// what is shown as in state.js; first: it was opened before the one on the stage; job { picture, model,
// weights, roi, evidence } while it is computed; asked { model, roi, evidence } as it was computed last;
// and error { message, next } where that failed.
const begun = (picture, mirrored) => ({
  picture,
  mirrored,
  first: false,
  image: null,
  job: null,
  asked: FRESH,
  result: null,
  views: {},
  corrections: NONE,
  known: null,
  eye: "",
  figured: null,
  error: null,
});
// PHOTOGRAPH are the fields that the state has of the first photograph too.
const PHOTOGRAPH = "picture image result views corrections known eye figured".split(" ");
const changed = (s, changes) => ({ ...s, compared: { ...s.compared, ...changes } });
const running = (s, job) => Boolean(s.compared) && s.compared.job === job;

export const comparing = {
  compare: (s, { picture }) =>
    s.result?.found
      ? {
          ...s,
          compared: begun(picture, s.compared?.mirrored ?? false),
          status: "Comparing with another photograph.",
        }
      : s,
  uncompare: (s) => ({ ...s, compared: null, status: "The comparison has ended." }),
  mirror: (s, { mirrored }) => (s.compared ? changed(s, { mirrored }) : s),
  pairDecoded: (s, { job, image }) => (running(s, job) ? changed(s, { image }) : s),
  paired: (s, { job, result }) =>
    running(s, job)
      ? changed(s, { job: null, asked: job, result: { ...result, asked: job }, views: {} })
      : s,
  pairFailed: (s, { job, error }) => (running(s, job) ? changed(s, { job: null, error }) : s),
  repeated: (s, { result, repeats }) => ({ ...s, repeats: { ...s.repeats, [result.id]: repeats } }),
  // swap puts the second photograph on the stage. Both keep their results, corrections and scales.
  // The history of steps ends.
  swap(s) {
    if (!canSwap(s)) return s;
    const { first } = s.compared,
      now = {
        ...pick(s.compared, PHOTOGRAPH),
        editing: null,
        history: noHistory,
        placing: null,
        measuring: false,
        ruler: null,
        identity: false,
        left: null,
        choices: { ...s.choices, edited: [] },
      },
      compared = {
        ...s.compared,
        ...pick(s, PHOTOGRAPH),
        first: !first,
        job: null,
        asked: { ...s.result.asked, model: s.result.model },
        error: null,
      };
    return {
      ...s,
      ...now,
      compared,
      status: first ? "You work on the first photograph." : "You work on the second photograph.",
    };
  },
};

// canSwap says that both photographs have a result, and nothing changes them.
export const canSwap = ({ compared, job, result, picture, drafting }) =>
  Boolean(compared?.result) &&
  !compared.job &&
  !job &&
  !drafting &&
  result?.asked.picture === picture;

// pairing begins to compute the second photograph if its result has another model or other weights
// than the first one's. It waits until the photograph on the stage is computed and sliders rest.
// Region, marks and corrections stay unless the model changes.
export function pairing(s) {
  const { compared, result } = s;
  if (compared?.job && s.job) return changed(s, { job: null });
  if (!compared || compared.job || compared.error || !result || s.job || s.sliders.moving) return s;
  const { weights } = result.asked,
    made = compared.result,
    { model } = result,
    stays = compared.asked.model === model;
  if (made && made.model === model && sameWeights(made.asked.weights, weights)) return s;
  const { roi, evidence } = stays ? compared.asked : FRESH;
  return changed(s, {
    job: { picture: compared.picture, model, weights, roi, evidence },
    corrections: stays ? compared.corrections : NONE,
  });
}

// toRepeat is a result of the two, as computed, of which nobody knows yet how its figures repeat.
export const toRepeat = (s) =>
  canSwap(s) &&
  [s.result, s.compared.result].find(
    ({ id, found, fromFile }) => found && !fromFile && !(id in s.repeats),
  );

// AGAIN is how far the vertical ratios of two photographs of one eye lie apart in 95 of 100 pairs,
// and PAIRS how many there were: HYGD, one camera (model/DECISIONS.md).
export const AGAIN = 0.14,
  PAIRS = 183;
// ONE_EYE is the same of other figures; sizes are shares of the first one's.
const ONE_EYE = {
  verticalRatio: AGAIN,
  horizontalRatio: 0.12,
  disc: { area: 0.21, height: 0.09, width: 0.1 },
  cup: { area: 0.7, height: 0.35, width: 0.28 },
};

// limitOf is how far a figure of two results lies apart in 95 of 100 pairs of views (ISO 5725-6);
// null: nobody knows. of picks a deviation from segment.Repeats, and scales are those of the
// results.
function limitOf(repeats, of, scales) {
  const all = repeats.map((one, i) => (one?.views ? of(one) * scales[i] : NaN)),
    limit = 1.96 * Math.hypot(...all);
  return Number.isNaN(limit) ? null : limit;
}

// changeOf says what a difference of the vertical ratio means, [text, values], by what views of
// each photograph and pairs of photographs differ by. It says nothing where no figure is to be
// used, or where perhaps another camera or eye is the cause.
export function changeOf([first, second], limit) {
  const both = [first, second].map(({ measurements }) => measurements),
    [a, b] = both.map(({ verticalRatio }) => verticalRatio?.value ?? null),
    [side, other] = both.map(({ eye }) => eye?.side),
    values = { limit: number(limit ?? 0, 2), again: number(AGAIN, 2), n: PAIRS };
  if (a === null || b === null) return null;
  if (both.some(({ verticalRatio: { trust } }) => trust?.word === "do not use"))
    return ["Nothing is said of change: one of the ratios is not to be used.", {}];
  if (first.width !== second.width || first.height !== second.height)
    return ["Nothing is said of change: the photographs differ in size, so perhaps in camera.", {}];
  if (limit === null) return null;
  const apart = Math.abs(a - b);
  if (apart <= limit)
    return [
      "This is within the {limit} by which turned, shifted and dimmed views of these photographs differ.",
      values,
    ];
  if (side && other && side !== other) return null; // fellow says more
  return [
    apart <= AGAIN
      ? "Views of these photographs differ by {limit}, but two photographs of one eye by up to {again} (95 of 100 of {n} pairs): this need not be a change."
      : "This is beyond the {again} by which two photographs of one eye differ (95 of 100 of {n} pairs).",
    values,
  ];
}

// wantedViews are the views of the second photograph that the controls ask for, by key.
export const wantedViews = (s) => viewsOf(pairLayers(s));
export function pairLayers({ compared: { result, corrections }, choices }) {
  return layers(result, {
    ...fitted(choices, result),
    edited: editedOf(result, corrections, null),
  });
}

// pairViewed handles a view of the second photograph, and pairGone a result that the worker has
// forgotten.
export const pairViewed = (s, key, view) =>
  changed(s, { views: { ...s.compared.views, [key]: view } });
export const pairGone = (s) => changed(s, { result: null, views: {} });

// ---- the figures ----

// differences are the rows of the table, each { name, of, unit, values: [first, second] }. name
// and of are a figure and its structure, unit is "ratio", "area" or "length", and values are in
// pixels, or in mm by the scales, [first, second], if both have one. limit is how far views of the
// two differ (limitOf), by repeats, [first, second], and again how far photographs of one eye do. A
// value may be null.
export function differences(first, second, scales, repeats = [null, null]) {
  const both = [first, second],
    mm = scales.every(Boolean),
    [side, other] = both.map(({ measurements: { eye } }) => eye?.side),
    oneEye =
      first.measurements.verticalRatio?.inner === "cup" && (!side || !other || side === other),
    known = oneEye ? ONE_EYE : {},
    ratios = [
      ["verticalRatio", "vertical"],
      ["horizontalRatio", "horizontal"],
    ].filter(([key]) => first.measurements[key]?.inner);
  const unitOf = (i, what) => {
    const [across, down] = mm ? scales[i].mm : [1, 1];
    return { area: across * down, height: down, width: across }[what];
  };
  const sized = (result, i, c, what) => {
    const size = result.measurements.structures.find((s) => s.class === c)?.[what];
    return size === undefined ? null : size * unitOf(i, what);
  };
  return [
    ...ratios.map(([key, name]) => ({
      name,
      of: [first.measurements[key].inner, first.measurements[key].outer],
      unit: "ratio",
      values: both.map(({ measurements }) => measurements[key]?.value ?? null),
      limit: limitOf(repeats, (of) => of[key], [1, 1]),
      again: known[key] ?? null,
    })),
    ...first.measurements.structures.flatMap(({ class: c }, at) =>
      ["area", "height", "width"].map((name) => ({
        name,
        of: [c],
        unit: name === "area" ? "area" : "length",
        values: both.map((result, i) => sized(result, i, c, name)),
        limit: limitOf(
          repeats,
          ({ structures }) => structures[at][name],
          both.map((_, i) => unitOf(i, name)),
        ),
        again: known[c] ? known[c][name] * sized(first, 0, c, name) : null,
      })),
    ),
  ];
}

// fellow compares the vertical ratios of both eyes, { name, eye, difference, large }. difference is
// the ratio of the result on the stage, with the figures measured, minus the other ratio. It is
// null unless one is a right and the other a left eye.
const LARGE = 0.2; // of difference in the vertical ratio (Ong et al. 1999)
export function fellow({ measured, compared }) {
  if (!compared?.result?.found || !measured?.found) return null;
  const both = [measured, figuresOf(compared)].map(({ measurements }) => measurements),
    [here, there] = both.map(({ verticalRatio }) => verticalRatio?.value ?? null),
    [side, eye] = both.map(({ eye }) => eye?.side);
  if (here === null || there === null || !side || !eye || side === eye) return null;
  const difference = here - there,
    large = Math.round(100 * Math.abs(difference)) >= 100 * LARGE;
  return { name: compared.picture.name, eye, difference, large };
}

// ---- the mirror ----

// These mirror a picture over a part of a photograph, whose width is given, and lines.
export function mirroredPicture(picture, width) {
  const { x = 0, pixelsWide: w, pixelsHigh: h, rgba } = picture,
    from = new Uint32Array(rgba.buffer, rgba.byteOffset, w * h),
    to = new Uint32Array(w * h);
  for (let y = 0; y < h; y++) for (let i = 0; i < w; i++) to[y * w + i] = from[y * w + w - 1 - i];
  return {
    ...picture,
    rgba: new Uint8Array(to.buffer),
    x: width - x - (picture.drawnWidth ?? picture.width),
  };
}
export const mirroredLines = (lines, width) =>
  lines.map((line) => ({ ...line, points: line.points.map((v, i) => (i % 2 ? v : width - v)) }));
