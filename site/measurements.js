// The measurements table. measurements is what the segmenter computed (mrprism/internal/segment): per structure the area, and where there
// are a disc and a cup their vertical ratio, each with the range over the mask and the raters or agreement levels. A ratio whose inner structure
// was not found has no value: null.
import { css, structure as colour } from "./colours.js";

const $ = (id) => document.getElementById(id);
export const title = (name) => name.charAt(0).toUpperCase() + name.slice(1).replace(/[_-]/g, " ");
const whole = (n) => Math.round(n).toLocaleString("en-US").replaceAll(",", "\u202f");
const percent = (share) => (100 * share).toFixed(share < 0.1 ? 2 : 1);
export const over = (result) => (result.labels === "agreement-levels" ? `the ${result.raters.length} agreement levels` : `the ${result.raters.length} raters`);

function cell(tag, text, small) {
  const element = document.createElement(tag);
  element.append(text);
  if (small) {
    const line = document.createElement("small");
    line.textContent = small;
    element.append(line);
  }
  return element;
}
function row(cells, className = "") {
  const tr = document.createElement("tr");
  tr.className = className;
  tr.append(...cells);
  return tr;
}

export function showMeasurements(result) {
  const { structures, verticalRatio } = result.measurements, body = [];
  const head = ["Structure", "Area, px", "% of image"].map((text) => { const th = cell("th", text); th.scope = "col"; return th; });
  if (verticalRatio) {
    const name = cell("th", `${title(verticalRatio.inner)}/${verticalRatio.outer}, vertical`);
    name.scope = "row";
    const { inner, value: ratio, low, high } = verticalRatio;
    const value = ratio === null ? cell("td", `no ${inner} found`) : cell("td", ratio.toFixed(2), `${low.toFixed(2)} – ${high.toFixed(2)}`);
    value.colSpan = 2;
    body.push(row([name, value], "headline"));
  }
  for (const [c, s] of structures.entries()) {
    const name = cell("th", ""), swatch = document.createElement("i");
    name.scope = "row";
    swatch.className = "swatch";
    swatch.style.background = css(colour(c));
    name.append(swatch, title(s.class));
    body.push(row([name, cell("td", whole(s.area), `${whole(s.low)} – ${whole(s.high)}`), cell("td", percent(s.share))]));
  }
  $("measure-head").replaceChildren(row(head));
  $("measure-body").replaceChildren(...body);
  const empty = structures.filter((s) => s.area === 0).map((s) => s.class);
  $("measure-note").textContent = (result.unlike ? unlike(result) + " " : "") + `Calibrated, Rec${result.recurrences}; small figures: the range over the mask and ${over(result)}.` +
    (empty.length ? ` Nothing was found of: ${empty.join(", ")}.` : "");
}

// regionBy says how a result's region came about.
export const regionBy = ({ roi, asked }) => (roi.whole ? "whole image" : asked.roi === "auto" ? "found" : "by hand");

// unlike says what a result that is unlike is.
export const unlike = (result) => `The colours of this picture are unlike those of the images that “${result.title}” has learned from.`;

// sentence is the result for a screen reader.
export function sentence({ measurements: { structures, verticalRatio } }) {
  const parts = structures.map((s) => `${title(s.class)}: ${whole(s.area)} pixels, ${percent(s.share)} percent of the image`);
  if (verticalRatio?.value === null) parts.unshift(`No ${verticalRatio.inner} found`);
  else if (verticalRatio) parts.unshift(`Vertical ${verticalRatio.inner} to ${verticalRatio.outer} ratio ${verticalRatio.value.toFixed(2)}, from ${verticalRatio.low.toFixed(2)} to ${verticalRatio.high.toFixed(2)}`);
  return parts.join(". ") + ".";
}

// table is the measurements as rows for CSV; weights are those of the raters, null where all are 1.
export function table(name, result, weights) {
  const { structures, verticalRatio } = result.measurements;
  const { x, y, side } = result.roi, before = [name, result.width, result.height, result.model, result.recurrences];
  const after = [x, y, side, regionBy(result), result.unlike, result.sha256];
  const rows = [], add = (measurement, value, low, high) => rows.push([...before, measurement, value ?? "", low ?? "", high ?? "", ...after]);
  for (const s of structures) {
    add(`${s.class}_area_px`, s.area, s.low, s.high);
    add(`${s.class}_share_of_image`, s.share);
    add(`${s.class}_height_px`, s.height);
  }
  if (verticalRatio) add(`vertical_${verticalRatio.inner}_${verticalRatio.outer}_ratio`, verticalRatio.value, verticalRatio.low, verticalRatio.high);
  for (const [m, weight] of (weights ?? []).entries()) add(`weight_of_${result.raters[m]}`, Number(weight.toFixed(2)));
  return [["image", "width_px", "height_px", "model", "recurrences", "measurement", "value", "low", "high",
    "region_x", "region_y", "region_side", "region_by", "unlike", "weights_sha256"], ...rows];
}
