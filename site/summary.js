// The measurements of a result as a list, for reports.
import { clinicalRows } from "./clinical.js";
import { expertsRange, ranges, ratio, title, whole } from "./measurements.js";
import { bare, rounded } from "./scale.js";
import { t } from "./words.js";

// summary lists the figures of a result, { name, text, ranges, corrected }. Lengths and areas are
// in mm by a scale (scale.js), else in pixels. ranges are [name, meaning, text].
export function summary(result, scale) {
  const list = [];
  if (!result.found) return list;
  const add = (name, text, ranges = [], corrected = false) => list.push({ name, text, ranges, corrected });
  for (const [key, figure] of Object.entries(result.measurements)) {
    if (!figure?.inner) continue;
    const { inner, outer, value, corrected } = figure, name = `${title(inner)}/${t(outer)}, ${t(key.replace("Ratio", ""))}`;
    if (value === null) add(name, t("no {structure} found", { structure: t(inner) }));
    else add(name, ratio(value), ranges(result, figure, ratio), corrected);
  }
  for (const { key, name, text, more, range } of clinicalRows(result, scale)) {
    const also = key === "isnt" ? bare(more) : more; // widths in the unit of the rim by the hour
    add(name, [text, also].filter(Boolean).join(", "), range ? [expertsRange(result, range)] : []);
  }
  const [mmAcross, mmDown] = scale?.mm ?? [1, 1], format = scale ? rounded : whole, unit = scale ? "mm" : "px", area = (pixels) => format(pixels * mmAcross * mmDown);
  for (const s of result.measurements.structures) {
    const name = (what) => `${title(s.class)}, ${t(what)}`, { height, width, pieces, corrected } = s;
    add(name("area"), `${area(s.area)} ${scale ? "mm²" : "px"}`, ranges(result, s, area), corrected);
    const parts = pieces > 1 ? `, ${t("{n} pieces", { n: pieces })}` : "";
    add(name("height × width"), `${format(height * mmDown)} × ${format(width * mmAcross)} ${unit}${parts}`, [], corrected);
  }
  return list;
}
