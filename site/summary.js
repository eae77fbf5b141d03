// The measurements of a result as a list, for reports and comparisons.
import { clinicalRows } from "./clinical.js";
import { expertsRange, ranges, ratio, title, whole } from "./measurements.js";
import { rounded } from "./scale.js";
import { t } from "./words.js";

// summary lists the figures of a result: { key, name, unit, value, text, format, ranges, corrected }.
// unit is "" for ratios and counts; lengths and areas are in mm by a scale (scale.js), else in pixels.
// value is null where the inner structure of a ratio is missing. ranges are [name, meaning, text].
export function summary(result, scale) {
  const list = [];
  if (!result.found) return list;
  const add = (key, name, unit, format, { value, inner, corrected, ...figure }) => list.push({
    key, name, unit, value, format, corrected: Boolean(corrected), text: value === null ? t("no {structure} found", { structure: t(inner) }) : format(value) + (unit && ` ${unit}`),
    ranges: value !== null ? ranges(result, { ...figure, value, corrected }, format) : [],
  });
  for (const [key, figure] of Object.entries(result.measurements)) {
    if (figure?.inner) add(key, `${title(figure.inner)}/${t(figure.outer)}, ${t(key.replace("Ratio", ""))}`, "", ratio, figure);
  }
  for (const { key, name, text, more, range } of clinicalRows(result, scale)) list.push({ key, name, text: more ? `${text}: ${more}` : text, ranges: range ? [expertsRange(result, range)] : [] });
  const [mmAcross, mmDown] = scale?.mm ?? [1, 1], format = scale ? rounded : whole, unit = scale ? "mm" : "px", by = (k, value) => value && value * k;
  for (const s of result.measurements.structures) {
    const name = (what) => `${title(s.class)}, ${t(what)}`, key = (what) => `${s.class} ${what}`, { corrected } = s, k = mmAcross * mmDown;
    const interval = s.interval && { ...s.interval, low: by(k, s.interval.low), high: by(k, s.interval.high) };
    add(key("area"), name("area"), scale ? "mm²" : "px", format, { value: by(k, s.area), low: by(k, s.low), high: by(k, s.high), interval, corrected });
    for (const [what, mm] of [["height", mmDown], ["width", mmAcross]]) if (what in s) add(key(what), name(what), unit, format, { value: by(mm, s[what]), corrected });
    if ("pieces" in s) add(key("pieces"), name("pieces"), "", whole, { value: s.pieces, corrected });
  }
  return list;
}
