// draw brings the document and the stage to a state, and sends no events. Nothing else writes to
// them, except that page.js moves the view and the focus, and empties file fields.
import { whyProcessor } from "./adapter.js";
import { bar, css, paint, rater as raterColour, you as yourColour } from "./colours.js";
import { $, all, element } from "./dom.js";
import { outlineOf } from "./correct.js";
import { agreement, byLevels, layers, shownRecurrence, viewsOf } from "./layers.js";
import { regionBy, showMeasurements, title } from "./measurements.js";
import { YOU, canRecalibrate, canRedo, canUndo, maskOf, stageText, subject, whoMarks } from "./state.js";

// draw draws the parts of the page that depend on something that changed since the state before,
// {} at first.
export function draw(s, before, stage) {
  for (const [part, ...keys] of parts) if (keys.some((key) => s[key] !== before[key])) part(s, before, stage);
}

const parts = [
  [drawTheme, "theme"],
  [drawDevice, "device", "stopped"],
  [drawModels, "models", "listed", "visited"],
  [drawPhotograph, "image"],
  [drawResult, "result"],
  [(s) => { if (s.measured) showMeasurements(s.measured); }, "measured"],
  [drawChoices, "choices", "result"],
  [drawSliders, "sliders"],
  [drawMarks, "job", "result"],
  [drawLayers, "result", "views", "choices", "corrections"],
  [drawCorrecting, "editing", "corrections", "history", "job", "result", "listed", "drafting", "views"],
  [drawOpacity, "opacity"],
  [drawSaves, "saves", "result"],
  [drawAbout, "device", "result"],
  [drawPlacing, "placing", "result", "views", "choices"],
  [drawView, "scale", "result"],
  [drawProgress, "progress"],
  [drawBanner, "banner"],
  [(s) => show(s.dragging, "drop"), "dragging"],
  [(s) => write("status", s.status), "status"],
  [revealDoubt, "result"],
];

const write = (id, text) => { $(id).textContent = text; };

// show shows or hides elements. The focus of one that goes passes to the stage.
function show(visible, ...ids) {
  for (const element of ids.map($)) {
    if (!visible && element.contains(document.activeElement)) $("stage").focus();
    element.hidden = !visible;
  }
}

// ---- what computes ----

function drawTheme({ theme }) {
  if (theme) document.documentElement.dataset.theme = theme;
}

function drawDevice({ device, stopped, hadGPU }) {
  if (stopped) {
    write("adapter-name", "not running");
    $("adapter").className = "chip lost";
  } else if (device) {
    const { adapter, gpu, software, reason, why } = device;
    const short = reason ? whyProcessor(reason, hadGPU).chip : why ? "faster here" : "";
    write("adapter-name", gpu ? adapter : `Processor${short ? ` (${short})` : ""}`);
    $("adapter").className = `chip ${gpu && !software ? "gpu" : "cpu"}`;
    $("adapter").title = reason ? `Computed by the processor: ${reason}`
      : `Computed by ${adapter.replace(/ \[.*\]$/, "")}${why ? `: ${why}` : ""}`;
  }
}

function drawModels({ visited, models, listed }, before) {
  if (!visited) return;
  if (models !== before.models) {
    const options = models.map(({ name, title }) => new Option(title || name, name));
    $("model").replaceChildren(...(options.length ? options : [new Option("no models on this site", "")]));
  }
  $("model").disabled = false;
  $("model").value = listed;
  const { bytes } = models.find(({ name }) => name === listed) ?? {};
  const href = `weights/${listed}.md`, textContent = "How good it is, and where it fails";
  const card = element("a", { href, target: "_blank", rel: "noopener", textContent });
  $("model-note").replaceChildren(...(bytes ? [card, ` (${(bytes / 1e6).toFixed(1)} MB)`] : []));
}

function drawAbout({ device, result }) {
  const rows = device?.reason ? [["Why no GPU", device.reason]] : [];
  if (result) {
    const { title, model, adapter, why, timings: { total }, recurrences } = result;
    rows.push(["Model", title ?? model], ["Computed by", adapter + (why ? `: ${why}` : "")]);
    if (total) rows.push(["Time", total < 1000 ? `${Math.round(total)} ms` : `${(total / 1000).toFixed(1)} s`]);
    rows.push(["Recurrences", String(recurrences)], ["Image uploaded", "never"]);
  }
  $("about-list").replaceChildren(...rows.flatMap(([term, text]) => [element("dt", {}, term), element("dd", {}, text)]));
}

// ---- the photograph and its result ----

function drawPhotograph({ picture, image }, before, stage) {
  show(image, "tools", "opened", "region");
  show(!image, "welcome");
  $("stage").classList.toggle("empty", !image);
  if (!image) return;
  stage.set("image", image);
  show(image.slices > 1, "slices");
  Object.assign($("slice"), { max: image.slices ?? 1, value: image.slice ?? 1 });
  $("slice-number").textContent = `${image.slice} of ${image.slices}`;
  for (const line of all(".file")) line.title = line.textContent = `${picture.name} · ${image.width} × ${image.height}`;
  $("stage").setAttribute("aria-label", `Photograph ${picture.name}, ${image.width} by ${image.height} pixels`);
}

function drawResult({ result, choices }, before) {
  show(result, "measurements", "save");
  show(result?.found, "correct");
  show(result?.found, "show", "experts", "recurrences"); // there is nothing to choose from
  write("region-line", "");
  if (!result) return;
  if (choices.model !== before.choices.model) buildControls(result);
  drawPasses(result);
  const { x, y, side, whole } = result.roi;
  write("region-line", whole ? "The whole image" : `${side} × ${side} px at ${x}, ${y}, ${regionBy(result)}`);
  const buttons = () => all("#save-masks button"), focused = buttons().indexOf(document.activeElement);
  $("save-masks").replaceChildren(...(result.found ? result.classes : []).map((name, c) => {
    const button = (what, text) => {
      const made = element("button", { type: "button", textContent: text, ariaLabel: `${text} of ${name}` });
      Object.assign(made.dataset, { what, class: c });
      return made;
    };
    return element("div", { className: "row" }, element("span", { className: "name" }, title(name)),
      button("mask", "Mask PNG"), button("probability", "Probability PNG"));
  }));
  buttons()[focused]?.focus();
}

// revealDoubt scrolls the panel down to why the result of another photograph or model is doubted,
// where that is below it.
function revealDoubt({ result }, before) {
  if (!result || result.model === before.result?.model) return;
  const panel = $("panel"), below = $("doubt").getBoundingClientRect().bottom - panel.getBoundingClientRect().bottom;
  if (below > 0) panel.scrollTop += below + 12;
}

// ---- what is shown of a result ----

// buildControls makes the controls for a model's classes and raters.
function buildControls(result) {
  const { classes, raters, steered, takesMarks } = result, levels = byLevels(result), set = $("structure-set");
  set.replaceChildren(set.querySelector("legend"), ...classes.map((name, c) =>
    element("label", {}, element("input", { type: "radio", name: "structure", value: c }), element("span", {}, title(name)))));
  show(classes.length > 1, "structure-set");
  show(levels, "levels");
  show(!levels, "raters");
  show(levels && !takesMarks, "recurrence-levels");
  show(!levels && !takesMarks, "recurrence-raters");
  show(!takesMarks, "recurrence-later");
  show(takesMarks, "marks");
  show(classes.length > 1, "mark-structure");
  $("mark-class").replaceChildren(...classes.map((name) => new Option(title(name), name)));
  $("mark-rater").replaceChildren(...[YOU, ...(levels ? [] : raters)].map((name) => new Option(title(name), name)));
  show(steered, "raters-equal", "recurrence-sliders");
  show(!steered, "raters-unsteered");
  write("raters-title", steered ? "Contours and weights" : "Contours");
  $("level").max = raters.length;
  $("rater-list").replaceChildren(...(levels ? [] : raters).map((name, m) => {
    const swatch = element("i", { className: "swatch" });
    swatch.style.background = css(raterColour(m));
    const box = element("input", { type: "checkbox", name: "rater", value: m });
    const weight = element("input", { type: "range", name: "weight", min: 0, max: 100, ariaLabel: `Weight of ${title(name)}` });
    weight.dataset.rater = m;
    return element("li", {}, element("label", { className: "check" }, box, swatch, element("span", {}, title(name))),
      ...(steered ? [weight, element("output")] : []));
  }));
}

// drawPasses makes the control for the passes of a result.
function drawPasses({ takesMarks, recurrences }) {
  show(recurrences > 0, "recurrence-shown");
  $("recurrence").max = recurrences;
  show(takesMarks && recurrences === 0, "recurrence-settled");
  show(takesMarks && recurrences > 0, "recurrence-marks");
}

function drawChoices({ choices, result }) {
  const { contour, map, structure, raters, levelShown, level, levelAll } = choices;
  const recurrence = result ? shownRecurrence(result, choices) : 0;
  for (const [id, checked] of [["contour", contour], ["level-shown", levelShown], ["level-all", levelAll]]) $(id).checked = checked;
  for (const [id, value] of [["level", level], ["recurrence", recurrence]]) $(id).value = value;
  for (const input of all("input[name=map]")) input.checked = input.value === map;
  for (const [c, input] of all("input[name=structure]").entries()) input.checked = c === structure;
  for (const [m, input] of all("input[name=rater]").entries()) input.checked = raters.includes(m);
  write("level-text", agreement(level, Number($("level").max)));
  write("recurrence-value", `Rec${recurrence}`);
}

function drawSliders({ sliders: { values } }) {
  for (const [m, slider] of all("input[name=weight]").entries()) {
    slider.value = values[m];
    slider.nextElementSibling.textContent = `${values[m]} %`;
  }
}

// drawMarks lists the marks that the result settles around, or will.
function drawMarks(s) {
  const { result } = s;
  if (!result?.takesMarks) return;
  const { classes, raters } = result, removed = $("mark-list").contains(document.activeElement);
  $("mark-list").replaceChildren(...subject(s).evidence.map((mark, i) => {
    const m = raters.indexOf(mark.rater), swatch = element("i", { className: "swatch" });
    swatch.style.background = css(m < 0 ? yourColour : raterColour(m));
    const whose = title(mark.rater) + (classes.length > 1 ? `, ${mark.class}` : "");
    const remove = element("button", { type: "button", className: "plain", textContent: "Remove", ariaLabel: `Remove the mark of ${whose}, ${mark.name}` });
    remove.dataset.mark = i;
    return element("li", {}, swatch, element("span", { className: "name", title: mark.name }, whose, element("small", {}, mark.name)), remove);
  }));
  if (removed) $("mark-open").focus();
}

function drawOpacity({ opacity }, before, stage) {
  $("opacity").value = opacity;
  write("opacity-value", `${opacity} %`);
  stage.set("opacity", opacity / 100);
}

// drawLayers draws what the controls ask for, once all of it is there. Until then the stage and the
// legend keep what they show.
function drawLayers(s, before, stage) {
  const { result, views, choices } = s;
  if (!result) return $("legend").replaceChildren();
  const wanted = layers(result, choices), { lines, map } = wanted;
  if (Object.keys(viewsOf(wanted)).some((key) => !(key in views))) return;
  stage.set("region", result.roi.whole ? null : result.roi);
  stage.set("contours", lines.map(({ view, colour, width, dash, edited }) => {
    const { points, starts } = (edited?.drawn && outline(s, edited)) || views[view.key];
    return { points, starts, colour, width, dash };
  }));
  const v = map && views[map.view.key];
  stage.set("overlay", v && { ...v, rgba: paint(v.values, map.ramp, map.gain) });
  drawLegend(wanted);
}

// outline is the border of a corrected mask, or null where nothing is drawn on it.
const outlines = new WeakMap();
function outline(s, { rater, class: name }) {
  const correction = s.corrections.find((one) => one.rater === rater && one.class === name), mask = correction && maskOf(s, correction);
  if (!mask) return null;
  if (!outlines.has(mask)) outlines.set(mask, outlineOf(mask));
  return outlines.get(mask);
}

// drawCorrecting draws the controls for corrections.
function drawCorrecting(s, before) {
  const { editing, result, corrections } = s;
  for (const [id, can] of [["undo", canUndo(s)], ["redo", canRedo(s)], ["correct-undo", canUndo(s)], ["correct-redo", canRedo(s)]]) $(id).ariaDisabled = can ? null : "true";
  $("stage").classList.toggle("editing", editing !== null);
  show(editing, "correct-tools");
  show(!editing, "correct-start");
  show(corrections.length, "correct-clear");
  write("correct-line", corrections.length ? `Corrected by hand: ${corrections.map(({ rater, class: c }) => (rater === YOU ? c : `${title(rater)}, ${c}`)).join("; ")}.` : "");
  show(corrections.length, "correct-line");
  if (!editing || !result) return;
  if (!before.editing || result !== before.result) {
    $("correct-class").replaceChildren(...result.classes.map((name) => new Option(title(name), name)));
    $("correct-rater").replaceChildren(...whoMarks(result).map((name) => new Option(name === YOU ? "You (the calibrated mask)" : title(name), name)));
    show(result.classes.length > 1, "correct-structure");
    show(whoMarks(result).length > 1, "correct-who");
  }
  $("correct-class").value = editing.class;
  $("correct-rater").value = editing.rater;
  for (const input of all("input[name=tool]")) input.checked = input.value === editing.tool;
  const area = editing.tool === "polygon" || editing.tool === "fill";
  $("correct-size").value = Math.round(100 * Math.log(editing.size) / Math.log(400));
  $("correct-size").setAttribute("aria-valuetext", `${editing.size} pixels`);
  write("correct-size-value", `${editing.size} px`);
  show(!area, "correct-sized");
  show(area, "correct-area");
  show(editing.tool === "polygon", "correct-close");
  $("correct-cut").checked = editing.cut;
  write("correct-help", HELP[editing.tool] + " Two fingers, the wheel or the middle button move the view.");
  show(result.takesMarks, "recalibrate", "correct-evidence");
  $("recalibrate").ariaDisabled = canRecalibrate(s) ? null : "true";
}
const HELP = {
  brush: "Draw what belongs to the structure. Arrow keys move the cursor, space draws.",
  eraser: "Draw over what does not belong to it. Arrow keys move the cursor, space erases.",
  push: "Press beside the outline and drag it: from inside it grows, from outside it shrinks.",
  polygon: "Click its corners; Enter or a double click closes it, Escape forgets it.",
  fill: "Click into a closed hole to fill it.",
};

// drawLegend says why a doubted result is doubted, and names the lines and the map.
function drawLegend({ why, keys, map }) {
  const row = (sign, text) => element("div", { className: "key" }, sign, element("span", {}, text));
  const svg = (tag, attributes, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const rows = keys.map(({ colours, text, dash }) => {
    const pieces = colours.map((colour, i) => svg("path", { // of one line, one a colour
      d: `M${1 + 20 * i / colours.length} 5h${20 / colours.length}`, stroke: css(colour), "stroke-width": 2.5,
      "stroke-dasharray": dash ? `${0.8 * dash} ${0.6 * dash}` : "none",
    }));
    return row(svg("svg", {}, ...pieces), text);
  });
  if (map) rows.push(row(bar(map.ramp), map.text));
  if (why) rows.unshift(element("strong", {}, why));
  $("legend").replaceChildren(...rows);
}

function drawSaves({ saves, result }) {
  for (const button of all("#save-masks button")) {
    const { what, class: c } = button.dataset;
    const pending = saves.some((save) => save.result === result && save.what === what && save.class === Number(c));
    button.ariaDisabled = pending ? "true" : null; // disabled in earnest it would lose the focus
  }
}

// ---- the stage ----

function drawPlacing({ placing }, before, stage) {
  if (placing !== before.placing) {
    stage.set("placing", placing);
    show(placing, "placing", "region-fields");
    for (const key of placing ? ["x", "y", "side"] : []) {
      const field = $(`region-${key}`);
      // A number that is being typed stays until it is a square's.
      if (document.activeElement !== field || placing.wanted[key] === placing[key]) field.value = placing[key];
    }
  }
  show($("legend").hasChildNodes() && !placing, "legend");
}

function drawView({ scale, result }) {
  write("zoom", `${scale < 0.1 ? (scale * 100).toFixed(1) : Math.round(scale * 100)} %`);
  $("zoom-region").disabled = !result || result.roi.whole;
}

// ---- messages ----

function drawProgress({ progress }) {
  show(progress, "progress");
  if (!progress) return;
  const { stage, done, total } = progress, mega = (bytes) => (bytes / 1e6).toFixed(1), bar = $("progress-bar");
  write("progress-text", stageText(progress) + "…");
  write("progress-figure", stage === "download" && done ? `${mega(done)}${total ? ` of ${mega(total)}` : ""} MB` : "");
  if (total > 0) Object.assign(bar, { max: total, value: done });
  else bar.removeAttribute("value");
}

function drawBanner({ banner }) {
  show(banner, "banner");
  if (!banner) return;
  write("banner-message", banner.message);
  write("banner-next", banner.next ?? "");
  $("banner").classList.toggle("note", Boolean(banner.kind));
}
