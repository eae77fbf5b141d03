// Lengths and areas on a photograph, in words.
import { number, t } from "../words/words.js";

// scaleOf is a scale, { mm, by }: mm a pixel across and down, by the "file" or by "hand". It is
// null if the size of a pixel is not known.
export const scaleOf = ({ spacing } = {}, known) =>
  known ? { mm: [known, known], by: "hand" } : spacing ? { mm: spacing, by: "file" } : null;

// rounded writes three digits, with at most three after the point.
export const rounded = (value) =>
  number(
    value,
    Math.max(0, Math.min(3, 2 - Math.floor(Math.log10(Math.max(1e-9, Math.abs(value)))))),
  );

// discDiameter is the mean of a disc's height and width in pixels; 0 without a disc.
export function discDiameter({ structures, verticalRatio }) {
  const disc = structures.find((s) => s.class === verticalRatio?.outer);
  return disc ? (disc.height + (disc.width ?? disc.height)) / 2 : 0;
}

// bare is a length without its unit.
export const bare = (length) => length.replace(/ \D*$/, "");

// lengths are the length of a line of dx, dy pixels in every known unit, the best first: mm, disc
// diameters, pixels.
export function lengths([dx, dy], measurements, scale) {
  const list = [t("{length} px", { length: number(Math.hypot(dx, dy)) })],
    disc = measurements ? discDiameter(measurements) : 0;
  if (disc)
    list.unshift(t("{length} disc diameters", { length: number(Math.hypot(dx, dy) / disc, 2) }));
  if (scale)
    list.unshift(
      t("{length} mm", { length: rounded(Math.hypot(dx * scale.mm[0], dy * scale.mm[1])) }),
    );
  return list;
}
