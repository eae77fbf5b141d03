// The measurements of a result as a list, for reports.
import { clinicalRows } from "./clinical.js";
import { expertsRange, ranges, ratio, title, whole } from "./measurements.js";
import { bare, rounded } from "./scale.js";
import { t } from "../words/words.js";

// summary gives the figures of a result one after the other, { name, text, ranges, corrected }.
// Lengths and areas are in mm by a scale (scale.js), else in pixels. ranges are [name, meaning,
// text]. A list of images shows the first figure of each, and no ranges.
export function* summary(result, scale) {
  if (!result.found) return;
  const figure = (name, text, of = () => [], corrected = false) => ({
    name,
    text,
    corrected,
    get ranges() {
      return of();
    },
  });
  for (const [key, ratios] of Object.entries(result.measurements)) {
    if (!ratios?.inner) continue;
    const { inner, outer, value, corrected } = ratios,
      name = `${title(inner)}/${t(outer)}, ${t(key.replace("Ratio", ""))}`;
    if (value === null) yield figure(name, t("no {structure} found", { structure: t(inner) }));
    else yield figure(name, ratio(value), () => ranges(result, ratios, ratio), corrected);
  }
  for (const { key, name, text, more, range } of clinicalRows(result, scale)) {
    const also = key === "isnt" ? bare(more) : more; // widths in the unit of the rim by the hour
    yield figure(name, [text, also].filter(Boolean).join(", "), () =>
      range ? [expertsRange(result, range)] : [],
    );
  }
  const [mmAcross, mmDown] = scale?.mm ?? [1, 1],
    format = scale ? rounded : whole,
    unit = scale ? "mm" : "px",
    area = (pixels) => format(pixels * mmAcross * mmDown);
  for (const s of result.measurements.structures) {
    const name = (what) => `${title(s.class)}, ${t(what)}`,
      { height, width, pieces, corrected } = s;
    yield figure(
      name("area"),
      `${area(s.area)} ${scale ? "mm²" : "px"}`,
      () => ranges(result, s, area),
      corrected,
    );
    const parts = pieces > 1 ? `, ${t("{n} pieces", { n: pieces })}` : "";
    yield figure(
      name("height × width"),
      `${format(height * mmDown)} × ${format(width * mmAcross)} ${unit}${parts}`,
      undefined,
      corrected,
    );
  }
}
