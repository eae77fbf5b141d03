// Draws the second photograph and the table of differences. It sends no events.
import { differences, mirroredLines, mirroredPicture, pairLayers, wantedViews } from "./compare.js";
import { paint } from "./colours.js";
import { $, element } from "./dom.js";
import { looked } from "./look.js";
import { title, whyDoubted } from "./measurements.js";
import { rounded, scaleOf } from "./scale.js";
import { number, t } from "./words.js";

let drawn = null; // the image on the second stage

// drawComparison brings the second stage and its section to a state. stage() gives the second stage.
export function drawComparison(s, before, stage) {
  const { compared } = s, was = before.compared;
  if (s.language === before.language && ["compared", "choices", "measured", "known", "opacity", "look", "picture"].every((key) => s[key] === before[key])) return;
  $("compare-open").hidden = !s.result?.found;
  for (const id of ["comparison", "second-pane", "first-caption"]) $(id).hidden = !compared;
  if (!compared) {
    if (drawn) stage().set("image", drawn = null);
    return;
  }
  $("first-caption").textContent = t("First: {name}", { name: s.picture.name });
  $("second-caption").textContent = t("Second: {name}", { name: compared.picture.name }) + (compared.mirrored ? `, ${t("mirrored")}` : "");
  $("second").setAttribute("aria-label", t("Photograph to compare with, {name}", { name: compared.picture.name }));
  $("comparison-mirror").checked = compared.mirrored;
  if (compared.image) drawPair(s, before, stage());
  if (compared !== was || s.measured !== before.measured || s.known !== before.known || s.language !== before.language) drawTable(s);
}

function drawPair(s, before, stage) {
  const { compared: { image, result, views, mirrored, picture }, look, opacity } = s, was = before.compared;
  const flip = mirrored ? (one) => mirroredPicture(one, image.width) : (one) => one;
  const other = image !== drawn || mirrored !== was?.mirrored;
  if (other || look !== before.look) stage.set(other ? "image" : "look", flip(looked(image, look)));
  drawn = image;
  stage.set("opacity", opacity / 100);
  if (!result || picture !== result.asked.picture) return;
  if (Object.keys(wantedViews(s)).some((key) => !(key in views))) return;
  const { lines, map } = pairLayers(s), outlines = lines.filter(({ view }) => view.kind !== "mark").map(({ view, ...line }) => {
    const { points, starts } = views[view.key];
    return { ...line, points, starts };
  });
  const { x, y, side, whole } = result.roi;
  stage.set("region", whole ? null : { x: mirrored ? image.width - x - side : x, y, side });
  stage.set("contours", mirrored ? mirroredLines(outlines, image.width) : outlines);
  const v = map && views[map.view.key];
  stage.set("overlay", v ? flip({ ...v, rgba: paint(v.values, map.ramp, map.gain) }) : null);
}

function drawTable(s) {
  const { compared: { result, job, error }, measured, known } = s, ready = Boolean(result?.found && measured);
  $("comparison-line").textContent = error ? `${t(error.message)} ${t(error.next ?? "")}` : !result || job ? t("The second photograph is being segmented…") : whyDoubted(result)?.title ?? "";
  $("comparison-line").hidden = !$("comparison-line").textContent;
  $("comparison-table").hidden = $("comparison-note").hidden = !ready;
  if (!ready) return;
  const scales = [scaleOf(measured.measurements, known), scaleOf(result.measurements)], mm = scales.every(Boolean);
  const cell = (tag, text, fields = {}) => element(tag, fields, text), row = (...cells) => element("tr", {}, ...cells);
  const heads = ["Figure", "First", "Second", "Difference"].map((text) => cell("th", t(text), { scope: "col" }));
  $("comparison-head").replaceChildren(row(...heads));
  $("comparison-body").replaceChildren(...differences(measured, result, scales).map(({ name, of, unit, values }) => {
    const [a, b] = values, text = formatOf(unit, mm), both = a !== null && b !== null;
    const share = both && unit === "area" && a > 0 ? [element("small", {}, signed(100 * (b - a) / a, (v) => `${number(v)} %`))] : [];
    return row(cell("th", nameOf(name, of, unit, mm), { scope: "row" }), ...values.map((v) => cell("td", v === null ? "–" : text(v))),
      element("td", {}, both ? signed(b - a, text) : "–", ...share));
  }));
  const notes = [t("The difference is the second less the first.")];
  if (!mm) notes.push(t("Areas and lengths are in pixels: they compare only where both photographs have one scale."));
  if (measured.corrected) notes.push(t("The first is corrected by hand."));
  $("comparison-note").textContent = notes.join(" ");
}

function nameOf(name, of, unit, mm) {
  if (unit === "ratio") return `${title(of[0])}/${t(of[1])}, ${t(name)}`;
  return `${title(of[0])}, ${t(name)}, ${unit === "area" ? (mm ? "mm²" : "px") : mm ? "mm" : "px"}`;
}
const formatOf = (unit, mm) => (unit === "ratio" ? (v) => number(v, 2) : mm ? rounded : (v) => number(v));
// signed writes a difference with its sign, a true minus among them.
function signed(v, text) {
  const size = text(Math.abs(v)), none = !/[1-9]/.test(size);
  return none ? size : (v > 0 ? "+" : "−") + size;
}
