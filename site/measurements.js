// The measurements table, and why a result is doubted, in words. The worker computes both
// (internal/app/segment). measurements has the area of each structure, and the vertical ratio if
// there are a disc and a cup. low and high are the range over the mask and the raters or agreement
// levels. interval holds the experts' majority in a share of images, its coverage; weights may lack
// it. A ratio without an inner structure has value null.
import { css, structure as colour } from "./colours.js";
import { $, element } from "./dom.js";

export const title = (name) => name.charAt(0).toUpperCase() + name.slice(1).replace(/[_-]/g, " ");
const whole = (n) => Math.round(n).toLocaleString("en-US").replaceAll(",", "\u202f");
const percent = (share) => (100 * share).toFixed(share < 0.1 ? 2 : 1);
const over = (result) => (result.labels === "agreement-levels" ? `the ${result.raters.length} agreement levels` : `the ${result.raters.length} raters`);

const BY_HAND = ", corrected by hand";

const cell = (tag, text, fields) => element(tag, fields, text);
const row = (cells, className = "") => element("tr", { className }, ...cells);
// ranges are those of a figure, each [name, meaning, range in the figure's format].
function ranges(result, { low, high, interval }, format) {
  const range = (a, b) => `${format(a)} – ${format(b)}`, list = [["experts' range", `from the least to the greatest of the mask and ${over(result)}`, range(low, high)]];
  if (interval) {
    const hundredth = Math.round(100 * interval.coverage);
    list.push([`${hundredth} % interval`, `it is made to hold the experts' majority in ${hundredth} of 100 images like those that it was learned from`, range(interval.low, interval.high)]);
  }
  return list;
}

// whyDoubted is why a user should not rely on a result, { title, reasons }, or null.
export function whyDoubted({ found, doubts, classes }) {
  if (found && !doubts.length) return null;
  const missing = doubts.find(({ code }) => code === "not-found")?.text ?? `No ${classes[0]} was found in this picture.`;
  const title = found ? "The model doubts this result." : missing;
  return { title, reasons: doubts.map(({ text }) => text).filter((text) => text !== title) };
}

export function showMeasurements(result) {
  const why = whyDoubted(result);
  $("doubt").hidden = !why;
  $("doubt-title").textContent = why?.title ?? "";
  $("doubt-reasons").textContent = why?.reasons.join(" ") ?? "";
  $("doubt-hint").textContent = result.found ? "Its outline and figures may be wrong. Check that the model is for pictures of this kind." : "If you see one, place the region around it. Or choose another model.";
  $("measure-table").hidden = $("measure-note").hidden = !result.found;
  $("measure-table").classList.toggle("doubted", why !== null);
  $("measure-untold").hidden = !result.found || result.doubt !== null;
  if (result.found) fillTable(result, why !== null);
}

function fillTable(result, doubted) {
  const { structures, verticalRatio } = result.measurements, body = [], meanings = new Map();
  const add = (cells, figure, format, className) => { // a figure, and its ranges below it
    body.push(row(cells, className));
    for (const [name, meaning, range] of figure ? ranges(result, figure, format) : []) {
      meanings.set(name, meaning);
      body.push(row([cell("th", name, { scope: "row", title: `${title(name)}: ${meaning}` }), cell("td", range, { colSpan: cells.length === 2 ? 2 : 1 }), ...cells.slice(2).map(() => cell("td", ""))], "range"));
    }
  };
  if (verticalRatio) {
    const { inner, outer, value } = verticalRatio;
    add([cell("th", `${title(inner)}/${outer}, vertical${verticalRatio.corrected ? BY_HAND : ""}`, { scope: "row" }), cell("td", value === null ? `no ${inner} found` : value.toFixed(2), { colSpan: 2 })],
      value === null ? null : verticalRatio, (ratio) => ratio.toFixed(2), "headline");
  }
  for (const [c, s] of structures.entries()) {
    const swatch = element("i", { className: "swatch" });
    swatch.style.background = css(colour(c));
    add([element("th", { scope: "row" }, swatch, title(s.class) + (s.corrected ? BY_HAND : "")), cell("td", whole(s.area)), cell("td", percent(s.share))], s, whole);
  }
  for (const { rater, class: c, area } of result.corrected ?? []) {
    if (result.raters.includes(rater)) add([cell("th", `${title(rater)}, ${c}${BY_HAND}`, { scope: "row" }), cell("td", whole(area)), cell("td", percent(area / result.width / result.height))]);
  }
  $("measure-head").replaceChildren(row(["Structure", "Area, px", "% of image"].map((text) => cell("th", text, { scope: "col" }))));
  $("measure-body").replaceChildren(...body);
  const empty = structures.filter((s) => s.area === 0).map((s) => s.class), notes = [`Calibrated, Rec${result.recurrences}.`];
  for (const [name, meaning] of meanings) notes.push(`${title(name)}: ${meaning}.`);
  if (doubted && meanings.size > 1) notes.push("It need not hold where the model doubts its result.");
  if (result.corrected) notes.push("Corrected by hand: ranges and intervals are still those of the model.");
  if (empty.length) notes.push(`Nothing was found of: ${empty.join(", ")}.`);
  $("measure-note").textContent = notes.join(" ");
}

// regionBy says how a result's region came about.
export const regionBy = ({ roi, asked }) => (roi.whole ? "whole image" : asked.roi === "auto" ? "found" : "by hand");

// sentence is the result for a screen reader.
export function sentence(result) {
  const { structures, verticalRatio } = result.measurements, why = whyDoubted(result), parts = why ? [why.title, ...why.reasons] : [];
  if (!result.found) return [...parts, "Place the region by hand, or choose another model."].join(" ");
  const between = (figure, format) => ranges(result, figure, format).map(([name, , range]) => `, ${name.replace("%", "percent")} ${range.replace("–", "to")}`).join("");
  if (verticalRatio?.value === null) parts.push(`No ${verticalRatio.inner} found.`);
  else if (verticalRatio) parts.push(`Vertical ${verticalRatio.inner} to ${verticalRatio.outer} ratio ${verticalRatio.value.toFixed(2)}${between(verticalRatio, (ratio) => ratio.toFixed(2))}.`);
  for (const s of structures) parts.push(`${title(s.class)}: ${whole(s.area)} pixels, ${percent(s.share)} percent of the image.`);
  return parts.join(" ");
}

// table is the measurements as rows for CSV.
export function table(name, result) {
  const { structures, verticalRatio } = result.measurements;
  const { x, y, side } = result.roi, before = [name, result.width, result.height, result.model, result.recurrences];
  const after = [x, y, side, regionBy(result), result.found, result.doubts.map(({ code }) => code).join(";"), result.doubt ?? "", result.sha256];
  const rows = [], add = (measurement, value, { low, high, interval, corrected } = {}) =>
    rows.push([...before, measurement, value ?? "", low ?? "", high ?? "", interval?.low ?? "", interval?.high ?? "", interval?.coverage ?? "", ...after, corrected ? "yes" : ""]);
  for (const s of structures) {
    add(`${s.class}_area_px`, s.area, s);
    add(`${s.class}_share_of_image`, s.share, { corrected: s.corrected });
    add(`${s.class}_height_px`, s.height, { corrected: s.corrected });
  }
  if (verticalRatio) add(`vertical_${verticalRatio.inner}_${verticalRatio.outer}_ratio`, verticalRatio.value, verticalRatio);
  for (const { rater, class: c, area } of result.corrected ?? []) if (result.raters.includes(rater)) add(`${c}_area_px_of_${rater}`, area, { corrected: true });
  for (const [m, weight] of (result.asked.weights ?? []).entries()) add(`weight_of_${result.raters[m]}`, Number(weight.toFixed(2)));
  return [["image", "width_px", "height_px", "model", "recurrences", "measurement", "value", "low", "high", "interval_low", "interval_high", "coverage",
    "region_x", "region_y", "region_side", "region_by", "found", "doubts", "doubt", "weights_sha256", "corrected_by_hand"], ...rows];
}
