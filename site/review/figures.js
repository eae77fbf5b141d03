// Figures of masks that a person has corrected, computed as in internal/segment/measure.go. The
// worker computes the rim anew (clinical.js). A mask is a window of the photograph, { x, y, width,
// height, mask }: a byte a pixel, 1 inside.
import { YOU, at } from "../draw/correct.js";

// extentOf is the area of a mask in pixels, the largest number of pixels in a column and in a row,
// and the number of its parts.
export function extentOf(window) {
  const { width, height, mask } = window,
    columns = new Uint32Array(width),
    rows = new Uint32Array(height);
  let area = 0;
  for (let y = 0, i = 0; y < height; y++)
    for (let x = 0; x < width; x++, i++)
      if (mask[i]) {
        area++;
        columns[x]++;
        rows[y]++;
      }
  const most = (counts) => counts.reduce((a, b) => Math.max(a, b), 0);
  return { area, height: most(columns), width: most(rows), pieces: piecesOf(window) };
}

// piecesOf counts the parts of a mask that do not touch, not even at a corner. A part is joined from
// runs of pixels in a row, each [start, end, part].
function piecesOf({ width, height, mask }) {
  const parts = []; // by part: the part that it joined, or itself
  const root = (part) => {
    while (parts[part] !== part) part = parts[part];
    return part;
  };
  let above = [],
    pieces = 0;
  for (let y = 0; y < height; y++) {
    const row = mask.subarray(y * width, (y + 1) * width),
      runs = [];
    for (let start = row.indexOf(1), end; start >= 0; start = row.indexOf(1, end)) {
      end = row.indexOf(0, start);
      if (end < 0) end = width;
      const run = [start, end, parts.length];
      parts.push(run[2]);
      pieces++;
      for (const [from, to, part] of above) {
        if (from > end || to < start || root(part) === root(run[2])) continue;
        parts[root(run[2])] = root(part);
        pieces--;
      }
      runs.push(run);
    }
    above = runs;
  }
  return pieces;
}

// trustIn is the verdict on the main figure of a result, { word, reason }: on the vertical ratio,
// or on the structure that is trusted least. It is null if a person drew all of it.
export function trustIn({ measurements: { verticalRatio, structures } }) {
  const worst = ["do not use", "check", "trusted"],
    of = verticalRatio ? [verticalRatio] : structures;
  const words = of.map(({ trust }) => trust).filter(Boolean);
  return words.sort((a, b) => worst.indexOf(a.word) - worst.indexOf(b.word))[0] ?? null;
}

// beyondOf counts the pixels of a mask that lie outside another.
function beyondOf({ x, y, width, mask }, outer) {
  return mask.reduce(
    (sum, v, i) => sum + (v && !at(outer, x + (i % width), y + Math.floor(i / width)) ? 1 : 0),
    0,
  );
}

// measuredBy is a result with the figures of its corrected masks, and beyond, how far a cup lies
// outside its disc. Ranges and intervals stay the model's. maskOf returns the corrected mask of a
// correction, and plain the mask of a class that nobody has corrected. Both return null while the
// base has not come.
export function measuredBy(result, corrections, maskOf, plain) {
  const structures = [...result.measurements.structures],
    hand = [],
    masks = new Map();
  for (const correction of corrections) {
    const mask = maskOf(correction),
      c = result.classes.indexOf(correction.class);
    if (!mask || c < 0) continue;
    const extent = extentOf(mask),
      { rater, class: name } = correction;
    hand.push({ rater, class: name, area: extent.area });
    if (rater !== YOU) continue;
    masks.set(name, mask);
    structures[c] = {
      ...structures[c],
      ...extent,
      share: extent.area / result.width / result.height,
      corrected: true,
      trust: undefined,
    };
  }
  if (!hand.length) return result;
  let beyond;
  const measurements = { ...result.measurements, structures },
    of = (name) => structures.find((s) => s.class === name);
  for (const [key, size] of [
    ["verticalRatio", "height"],
    ["horizontalRatio", "width"],
  ]) {
    const ratio = measurements[key],
      inner = ratio && of(ratio.inner),
      outer = ratio && of(ratio.outer);
    if (!inner?.corrected && !outer?.corrected) continue;
    const value = inner.area && outer.area ? inner[size] / outer[size] : null;
    measurements[key] = {
      ...ratio,
      value,
      corrected: true,
      trust: undefined,
      certified: undefined,
    };
    const disc = masks.get(ratio.outer) ?? plain(ratio.outer),
      cup = masks.get(ratio.inner) ?? plain(ratio.inner);
    if (disc && cup)
      beyond = { inner: ratio.inner, outer: ratio.outer, pixels: beyondOf(cup, disc) };
  }
  return { ...result, corrected: hand, byModel: result.measurements, measurements, beyond };
}
