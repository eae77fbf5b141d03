// The files that the page saves: their names, measurements as JSON and as CSV. Masks and
// probability maps are PNGs at the photograph's size, which the worker writes.
import { regionBy, table } from "./measurements.js";

export const stem = (name) => name.replace(/\.[^.]*$/, "").replace(/[^\p{L}\p{M}\p{N}._-]+/gu, "_") || "image";

// stemOf begins the names of what is saved of a picture. It tells the slice of a volume.
export const stemOf = ({ name }, { slice, slices }) => stem(name) + (slices > 1 ? `_slice${slice}` : "");

// fileOf names a PNG of class c. what: "mask" or "probability"; i: the recurrence, which the name
// tells where it is not the last.
// correction: what a person drew on it, if anything.
export function fileOf({ result, what, class: c, i, correction }, stem) {
  return `${stem}_${result.classes[c]}${what === "mask" ? "_mask" : ""}${i < result.recurrences ? `_rec${i}` : ""}${correction ? "_corrected" : ""}.png`;
}

// json has the measurements of a result in pixels. known is mm a pixel, if the user gave a scale.
export function json(result, image, { slice, slices }, known) {
  const { width, height, model, title, sha256, shipped, classes, raters, labels, roi, recurrences, measurements,
    adapter, why, precision, found, doubts, doubt, timings, asked } = result;
  const record = {
    image, slice: slices > 1 ? slice : undefined, width, height, model, weights: { title, sha256, shipped }, classes, raters, labels, region: { ...roi, by: regionBy(result) },
    recurrences, measurements, device: adapter, device_why: why || undefined, precision, found, doubts, doubt, times_ms: timings,
  };
  if (asked.picture.turn) record.turned = 90 * asked.picture.turn; // degrees clockwise; saved masks are not
  if (known) record.spacing_by_hand = [known, known];
  if (result.corrected) {
    record.corrected_by_hand = result.corrected;
    record.measurements_of_model = result.byModel;
  }
  if (asked.weights) record.rater_weights = Array.from(asked.weights, (w) => Number(w.toFixed(2)));
  if (asked.evidence.length) record.evidence = asked.evidence.map(({ rater, class: c, name, tiles }) => ({ rater, class: c, ...(tiles ? { corrected_by_hand: true } : { file: name }) }));
  return JSON.stringify(record, null, 2) + "\n";
}

// csv starts with a byte order mark, by which spreadsheets know UTF-8. It quotes what needs it, and
// defuses what a spreadsheet would run as a formula.
export const csv = (result, image) => "\ufeff" + table(image, result).map((row) => row.map((value) => {
  let text = String(value);
  if (typeof value === "string" && /^[=+\-@\t]/.test(text)) text = "'" + text;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}).join(",")).join("\r\n") + "\r\n";

export function download(name, type, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
