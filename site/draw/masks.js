// The corrected masks of a result, and its figures. The argument has { result, views, corrections
// }: a state (state.js), or its second photograph (compare.js).
import { YOU, blank, corrected, sameMask } from "./correct.js";
import { readAnew, sameWish } from "../review/clinical.js";
import { measuredBy } from "../review/figures.js";
import { baseView } from "./layers.js";

// maskOf is the corrected mask of a correction, or null if the map below it has not come yet. The
// next mask of a base is computed from the last one.
const masks = new WeakMap(),
  latest = new WeakMap();
export function maskOf({ result, views }, correction) {
  const base = result && views[baseView(result, correction).key],
    known = masks.get(correction);
  if (!base || known?.base === base) return known?.base === base ? (known?.mask ?? null) : null;
  const mask = corrected(base, correction, latest.get(base));
  masks.set(correction, { base, mask });
  latest.set(base, mask);
  return mask;
}
// plainMask is an empty correction of a mask, the same object each time.
const plain = new WeakMap();
function plainMask(result, c) {
  if (!plain.has(result))
    plain.set(result, new Map(result.classes.map((name) => [name, blank(YOU, name, result)])));
  return plain.get(result).get(c);
}

// figuresOf is a result with the figures of corrected masks, the same object each time.
const figures = new WeakMap(); // by result: the last figures, and what they were computed from
export function figuresOf(s) {
  const { result, views, corrections, eye, known, figured } = s,
    last = figures.get(result),
    of = { result, views };
  if (sameWish(last, s) && last.views === views && last.figured === figured) return last.measured;
  const measured = measuredBy(
    readAnew(s),
    corrections,
    (correction) => maskOf(of, correction),
    (c) => maskOf(of, plainMask(result, c)),
  );
  figures.set(result, { result, views, corrections, eye, known, figured, measured });
  return measured;
}

// editedOf are the masks whose maps are needed, { rater, class, drawn }: masks that are or will be
// corrected, and both masks of a corrected rim.
export function editedOf(result, corrections, editing) {
  const list = corrections.map(({ rater, class: c }) => ({ rater, class: c, drawn: true }));
  const { inner, outer } = result.measurements.verticalRatio ?? {},
    now = editing ? [editing] : [];
  const rim = [...now, ...list].some(
    ({ rater, class: c }) => rater === YOU && (c === inner || c === outer),
  );
  for (const one of [
    ...now,
    ...(rim
      ? [
          { rater: YOU, class: inner },
          { rater: YOU, class: outer },
        ]
      : []),
  ]) {
    if (!list.some((other) => sameMask(one, other)))
      list.push({ rater: one.rater, class: one.class, drawn: false });
  }
  return list;
}
