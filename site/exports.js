// Saving: masks and probability maps as PNG at the photograph's own size, pixels only; measurements as JSON and CSV.
import { SegmentError } from "./segmenter.js";
import { regionBy, table, title } from "./measurements.js";

const $ = (id) => document.getElementById(id);
export const stem = (name) => name.replace(/\.[^.]*$/, "").replace(/[^\p{L}\p{M}\p{N}._-]+/gu, "_") || "image";

function download(name, type, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// csv quotes what needs it, and defuses what a spreadsheet would run as a formula.
export const csv = (rows) => rows.map((row) => row.map((value) => {
  let text = String(value);
  if (typeof value === "string" && /^[=+\-@\t]/.test(text)) text = "'" + text;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}).join(",")).join("\r\n") + "\r\n";

// offerSaves fills the section Save for a result; weights are those of the raters that it was
// computed with, null where all are 1. Masks and probabilities are saved of the recurrence that is
// shown, where something was found; measurements are of the last. renew segments again as for a
// result and resolves to the new one; to null where the page went on to something else, and to
// undefined where it failed and has told so.
export function offerSaves(result, name, weights, { display, segmenter, fail, saved, renew }) {
  const base = stem(name);
  const save = (what, c) => async (event) => {
    const button = event.currentTarget, i = display.recurrence;
    if (button.ariaDisabled) return; // disabled in earnest it would lose the focus
    const file = `${base}_${result.classes[c]}${what === "mask" ? "_mask" : ""}${i < result.recurrences ? `_rec${i}` : ""}.png`;
    button.ariaDisabled = "true";
    try {
      const png = (of) => segmenter.png(of, what, "recurrence", { i, class: c });
      const answer = await png(result).catch(async (error) => {
        if (error.code !== "gone") throw error;
        const again = await renew(result);
        if (again === null) {
          throw new SegmentError({ code: "gone", message: `${file} was not saved: its result is no longer in memory.`,
            next: `Open ${name} and segment it again as it was, then save.` });
        }
        return again && png(again);
      });
      if (!answer) return; // why has been told
      download(file, "image/png", answer.bytes);
      saved();
    } catch (error) { fail(error); } finally { button.ariaDisabled = null; }
  };
  const focused = [...$("save-masks").querySelectorAll("button")].indexOf(document.activeElement);
  $("save-masks").replaceChildren(...(result.found ? result.classes : []).map((cls, c) => {
    const row = document.createElement("div"), label = document.createElement("span");
    row.className = "row";
    label.className = "name";
    label.textContent = title(cls);
    const buttons = [["mask", "Mask PNG"], ["probability", "Probability PNG"]].map(([what, text]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.setAttribute("aria-label", `${text} of ${cls}`);
      button.onclick = save(what, c);
      return button;
    });
    row.append(label, ...buttons);
    return row;
  }));
  $("save-masks").querySelectorAll("button")[focused]?.focus();
  const { width, height, model, classes, raters, labels, roi, recurrences, measurements, timings, adapter, why, precision, found, doubts, doubt } = result;
  const record = {
    image: name, width, height, model, weights: { title: result.title, sha256: result.sha256, shipped: result.shipped }, classes, raters, labels, region: { ...roi, by: regionBy(result) },
    recurrences, measurements, device: adapter, device_why: why || undefined, precision, found, doubts, doubt, times_ms: timings,
  };
  if (weights) record.rater_weights = Array.from(weights, (w) => Number(w.toFixed(2)));
  $("save-json").onclick = () => download(`${base}.json`, "application/json", JSON.stringify(record, null, 2) + "\n");
  $("save-csv").onclick = () => download(`${base}.csv`, "text/csv", "\ufeff" + csv(table(name, result, weights)));
}
