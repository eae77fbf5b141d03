// draw brings the document and the stage to a state, and sends no events. Nothing else writes to
// them, except that page.js moves the view and the focus, and empties file fields.
import { whyProcessor } from "../worker/adapter.js";
import { bar, css, rater as raterColour, you as yourColour } from "../draw/colours.js";
import { $, all, element, svg } from "./dom.js";
import { drawComparison } from "../review/compareview.js";
import { formatOf, offered } from "./exports.js";
import { asTaken, looked } from "../draw/look.js";
import { agreement, byLevels, shownRecurrence, outlinesOf, whyNoOutlines } from "../draw/layers.js";
import { regionText, remarks, showMeasurements, title } from "../review/measurements.js";
import { standing } from "../draw/outlines.js";
import { lengths, scaleOf } from "../review/scale.js";
import { speak } from "../words/speak.js";
import { isolated, number, t } from "../words/words.js";
import { inWhole } from "../review/shares.js";
import { drawSession, drawWorklist } from "../review/workview.js";
import { fieldOf, subject } from "./history.js";
import { canRecalibrate, canRedo, canUndo, stageText, steers, weighed, whoMarks } from "./state.js";
import { YOU } from "../draw/correct.js";
import { seriesIn, sliceText } from "../review/worklist.js";

// draw draws the parts of the page that depend on something that changed since the state before,
// {} at first.
// second gives the stage of the second photograph.
export function draw(s, before, stage, second) {
  if (before.language && s.language !== before.language) {
    // draws every text again
    speak(s.language);
    before = { choices: {} };
  }
  for (const [part, ...keys] of parts)
    if (keys.some((key) => s[key] !== before[key])) part(s, before, stage);
  drawComparison(s, before, second);
}

const STAYS =
  "The image stays in this page. Its results leave it only when you send them to the archive.";
const parts = [
  [drawLanguage, "language"],
  [drawTheme, "theme"],
  [drawMode, "mode"],
  [drawDevice, "device", "stopped"],
  [drawModels, "models", "listed", "visited"],
  [drawWorklist, "worklist", "job", "result", "waiting"],
  [drawSession, "session", "worklist", "result"],
  [drawPhotograph, "image"],
  [drawSeriesOffer, "image", "worklist", "job"],
  [drawResult, "result"],
  [drawLook, "look", "image"],
  [drawFigures, "measured", "known"],
  [drawChoices, "choices", "result"],
  [drawSliders, "sliders"],
  [drawMarks, "job", "result"],
  [drawLayers, "result", "views", "choices", "corrections", "field"],
  [drawRested, "sliders"],
  [drawSteps, "history", "job", "result", "listed", "drafting", "corrections", "field"],
  [drawCorrecting, "editing", "corrections", "measured", "result"],
  [drawOpacity, "opacity"],
  [drawFiles, "result", "format", "archive"],
  [drawSaves, "saves", "result", "format", "identity", "patient", "each"],
  [drawAbout, "device", "result"],
  [drawKept, "kept", "keepAll", "unkept", "models"],
  [drawComputed, "result"],
  [drawPlacing, "placing", "result", "views", "choices"],
  [drawRuler, "measuring", "ruler", "known", "measured"],
  [drawView, "scale", "result"],
  [drawProgress, "progress"],
  [drawLeft, "left"],
  [drawBanner, "banner"],
  [(s) => show(s.dragging, "drop"), "dragging"],
  [(s) => s.archive && write("stays", t(STAYS)), "archive"],
  [(s) => write("status", t(s.status)), "status"],
  [revealDoubt, "result"],
];

const write = (id, text) => {
  $(id).textContent = text;
};
// offer fills a list to choose from with names, and shows them as text has them.
const offer = (id, names, text = title) =>
  $(id).replaceChildren(...names.map((name) => new Option(text(name), name)));
// able keeps the focus of a button, which a disabled one would lose.
const able = (button, can) => {
  button.ariaDisabled = can ? null : "true";
};
const swatch = (colour) => {
  const made = element("i", { className: "swatch" });
  made.style.background = css(colour);
  return made;
};

// show shows or hides elements. If a hidden one has the focus, the stage gets it.
function show(visible, ...ids) {
  for (const element of ids.map($)) {
    if (!visible && element.contains(document.activeElement)) $("stage").focus();
    element.hidden = !visible;
  }
}

// ---- language, and what computes ----

// drawLanguage names the other language in that language.
const LANGUAGES = { en: ["DE", "Deutsch", "de"], de: ["EN", "English", "en"] };
function drawLanguage({ language }) {
  const [textContent, title, lang] = LANGUAGES[language],
    ariaLabel = `${textContent}, ${title}`;
  Object.assign($("language"), { textContent, lang, ariaLabel, title });
}

function drawTheme({ theme }) {
  if (theme) document.documentElement.dataset.theme = theme;
}

function drawMode({ mode }, before) {
  $("app").dataset.mode = mode;
  for (const input of all("input[name=mode]")) input.checked = input.value === mode;
  if (before.mode) $("panel").scrollTop = 0; // not for another language
}

function drawDevice({ device, stopped, hadGPU }) {
  if (stopped) {
    write("adapter-name", t("not running"));
    $("adapter").className = "chip lost";
  } else if (device) {
    const { adapter, gpu, software, reason, why } = device;
    const short = reason ? whyProcessor(reason, hadGPU).chip : why ? "faster here" : "";
    write("adapter-name", gpu ? adapter : t("Processor") + (short ? ` (${t(short)})` : ""));
    $("adapter").className = `chip ${gpu && !software ? "gpu" : "cpu"}`;
    $("adapter").title = reason
      ? t("Computed by the processor: {reason}", { reason })
      : withWhy(t("Computed by {adapter}", { adapter: plainName(adapter) }), why);
  }
}
const plainName = (adapter) => adapter.replace(/ \[[^\]]*\]$/, "");
const withWhy = (text, why) => text + (why ? `: ${t(why)}` : "");

function drawModels({ visited, models, listed }, before) {
  if (!visited) return;
  if (models !== before.models) {
    const options = models.map(({ name, title }) => new Option(t(title || name), name));
    $("model").replaceChildren(
      ...(options.length ? options : [new Option(t("no models on this site"), "")]),
    );
  }
  $("model").disabled = false;
  $("model").value = listed;
  const { bytes } = models.find(({ name }) => name === listed) ?? {};
  const href = `weights/${listed}.md`,
    textContent = t("How good it is, and where it fails");
  const card = element("a", { href, target: "_blank", rel: "noopener", textContent });
  $("model-note").replaceChildren(...(bytes ? [card, ` (${number(bytes / 1e6, 1)} MB)`] : []));
}

// drawComputed names the device that computed the result on the stage; now another one may compute.
function drawComputed({ result }) {
  if (!result) return;
  const { adapter, why } = result,
    processor = /\[\w+, (processor|reference)\]$/.test(adapter),
    by = t("Computed by {adapter}", { adapter: plainName(adapter) });
  write("computed-by", processor ? t("Computed by the processor") : by);
  $("computed").className = `chip ${processor || /\[\w+, CPU\]$/i.test(adapter) ? "cpu" : "gpu"}`;
  $("computed").title = withWhy(by, why);
}

function drawAbout({ device, result }) {
  const rows = device?.reason ? [["Why no GPU", device.reason]] : [];
  if (result) {
    const { title, model, adapter, why, timings, recurrences } = result,
      ms = timings.total,
      time = ms < 1000 ? `${Math.round(ms)} ms` : `${number(ms / 1000, 1)} s`;
    rows.push(["Model", t(title ?? model)], ["Computed by", withWhy(adapter, why)]);
    if (ms) rows.push(["Time", time]);
    rows.push(["Recurrences", String(recurrences)], ["Image uploaded", t("never")]);
  }
  $("about-list").replaceChildren(
    ...rows.flatMap(([term, text]) => [element("dt", {}, t(term)), element("dd", {}, text)]),
  );
}

// drawKept says which models work without a network.
function drawKept({ kept, keepAll, unkept, models }) {
  const site = models.filter((model) => !model.own),
    here = site.filter(({ name }) => kept?.includes(name)),
    others = site.filter((model) => !here.includes(model));
  show(kept && site.length, "offline");
  $("keep-all").checked = keepAll;
  const n = Math.round(others.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6),
    more = t("Keep all models for use without a network ({n} MB more)", { n });
  write("keep-text", n ? more : t("Keep all models for use without a network"));
  const said = (text, list) => t(text, { models: list.map(({ title }) => t(title)).join("; ") }),
    rest = !keepAll
      ? t("Another is kept once you choose it.")
      : !unkept
        ? said("Coming: {models}.", others.slice(0, 1))
        : said(
            "Not kept: {models}. The page tries again when the network is back, or when you open it again.",
            others,
          );
  const first = here.length ? said("Kept: {models}.", here) : t("No model is kept yet.");
  write("kept", others.length ? `${first} ${rest}` : first);
}

// ---- the photograph and its result ----

function drawSeriesOffer(s) {
  const what = seriesIn(s);
  show(what, "series-offer");
  write("series-all", t(what === "files" ? "As one series" : "All slices"));
}

function drawPhotograph({ picture, image }, before, stage) {
  show(image, "tools", "opened", "region");
  show(!image, "welcome");
  $("stage").classList.toggle("empty", !image);
  if (!image) return;
  if (stage.shown.image !== image)
    stage.set(before.image?.coarse && picture === before.picture ? "look" : "image", image); // not for another language
  show(image.slices > 1, "slices");
  Object.assign($("slice"), { max: image.slices ?? 1, value: image.slice ?? 1 });
  write("slice-number", t("{slice} of {slices}", image));
  const { name, turn } = picture,
    { width, height } = image,
    turned = turn && t("turned by {degrees}°", { degrees: 90 * turn }),
    about = [isolated(name), `${width} × ${height}`, sliceText(image), turned];
  for (const line of all(".file"))
    line.title = line.textContent = about.filter(Boolean).join(" · ");
  const said = t("Photograph {name}, {width} by {height} pixels", { name, width, height });
  $("stage").ariaLabel = said;
}

function drawLook({ look, image }, before, stage) {
  if (image && (image === before.image || look !== asTaken)) stage.set("look", looked(image, look)); // a new one is as it was taken
  for (const id of ["brightness", "contrast"]) {
    $(id).value = look[id];
    write(`${id}-value`, String(look[id]));
  }
  $("red-free").checked = look.redFree;
}

function drawFigures({ measured, known }) {
  if (measured) showMeasurements(measured, scaleOf(measured.measurements, known));
}

function drawResult({ result, choices }, before) {
  show(result, "measurements", "save");
  show(result?.found, "correct");
  show(result?.found, "show", "experts"); // there is nothing to choose from
  show(result?.found && result.recurrences > 0, "advanced"); // one pass has nothing to compare
  write("region-line", result ? regionText(result) : "");
  if (!result) return;
  if (choices.model !== before.choices.model) buildControls(result);
  $("recurrence").max = result.recurrences;
}

// drawFiles offers the formats of a result, and the files of the chosen one: a row a structure, or
// one for all.
function drawFiles(s) {
  const { result } = s;
  if (!result) return;
  const format = formatOf(s),
    { whole, files } = format,
    { classes } = result;
  const { found, raters, lacks } = result;
  $("save-format").replaceChildren(
    ...offered(result).map(({ name, text }) => new Option(t(text), name)),
  );
  $("save-format").value = format.name;
  show(found, "save-as");
  const archived = s.archive && result.formats.includes("dicom-seg");
  show(found && (format.name.startsWith("dicom") || archived), "save-identified");
  show(lacks || result.formats.includes("dicom-seg"), "report-identified");
  const readers = raters.length || classes.some((_, c) => outlinesOf(result, c));
  show(found && !format.once && readers, "save-readers");
  const who = byLevels(result)
    ? "Each level of agreement too, as a ZIP"
    : raters.length
      ? "Each rater's too, as a ZIP"
      : "Inner and outer outline too, as a ZIP";
  write("save-each-text", t(who));
  show(found && lacks, "save-lacks");
  write("save-lacks", lacks ? t("There is no DICOM SEG: {why}.", { why: t(lacks) }) : "");
  const rows = !result.found ? [] : !whole ? [...classes.keys()] : [undefined];
  const buttons = () => all("#save-masks button"),
    focused = buttons().indexOf(document.activeElement);
  const row = (c) => {
    const every = whole && classes.length > 1,
      name = element("span", { className: "name" }, title(every ? "All" : classes[c ?? 0])),
      structure = t(every ? "all structures" : classes[c ?? 0]),
      button = (what) => fileButton(format, what, c, structure);
    return element("div", { className: "row" }, name, ...Object.keys(files).map(button));
  };
  $("save-masks").replaceChildren(...rows.map(row));
  buttons()[focused]?.focus();
}
function fileButton({ text }, what, c, structure) {
  const kind = title(what),
    file = `${kind} ${t(text.split(",")[0])}`,
    ariaLabel = t("{file} of {structure}", { file, structure }),
    dataset = c === undefined ? { what } : { what, class: c };
  return element("button", { type: "button", textContent: kind, ariaLabel, dataset });
}

// revealDoubt scrolls the panel to the reasons for doubt, if they are below it and the result is of
// another photograph or model.
function revealDoubt({ result }, before) {
  if (!result || before.result === undefined || result.model === before.result?.model) return; // undefined: another language
  const panel = $("panel"),
    below = $("doubt").getBoundingClientRect().bottom - panel.getBoundingClientRect().bottom;
  if (below > 0) panel.scrollTop += below + 12;
}

// ---- what is shown of a result ----

// buildControls makes the controls for a model's classes and raters.
function buildControls(result) {
  const { classes, raters, takesMarks, panels = [] } = result,
    listed = panels.length || !byLevels(result) ? weighed(result) : [],
    steered = steers(result),
    levels = byLevels(result),
    set = $("structure-set");
  const choice = (name, c) => {
    const input = element("input", { type: "radio", name: "structure", value: c });
    return element("label", {}, input, element("span", {}, title(name)));
  };
  set.replaceChildren(set.querySelector("legend"), ...classes.map(choice));
  show(classes.length > 1, "structure-set");
  show(levels, "levels");
  show(listed.length, "raters");
  show(!raters.length, "raters-none");
  document.querySelector("input[name=map][value=disagreement]").parentElement.hidden =
    raters.length < 2;
  show(levels && !takesMarks, "recurrence-levels");
  show(!levels && !takesMarks, "recurrence-raters");
  show(!takesMarks, "recurrence-later");
  show(takesMarks, "recurrence-marks");
  show(takesMarks, "marks");
  show(classes.length > 1, "mark-structure");
  offer("mark-class", classes);
  offer("mark-rater", whoMarks(result));
  show(steered, "raters-equal", "raters-shares", "recurrence-sliders");
  show(!result.steered, "raters-unsteered");
  write("raters-equal", t(panels.length ? "The model’s weights" : "Equal weights"));
  const drawn = panels.length ? "As the experts of" : steered ? "Contours and weights" : "Contours";
  write("raters-title", t(drawn));
  $("level").max = raters.length;
  const row = (name, m) => {
    const rater = title(name),
      box = element("input", { type: "checkbox", name: "rater", value: m }),
      contour = levels ? [] : [box, swatch(raterColour(m))],
      named = [...contour, element("span", {}, rater)],
      ariaLabel = t("Weight of {rater}", { rater }),
      slides = {
        type: "range",
        name: "weight",
        min: 0,
        max: 100,
        ariaLabel,
        dataset: { rater: m },
      },
      weight = steered ? [element("input", slides), element("output")] : [];
    return element("li", {}, element("label", { className: "check" }, ...named), ...weight);
  };
  $("rater-list").replaceChildren(...listed.map(row));
}

function drawChoices({ choices, result }) {
  const { contour, outlines, map, structure, raters, levelShown, level, levelAll } = choices;
  const recurrence = result ? shownRecurrence(result, choices) : 0,
    checks = { contour, outlines, "level-shown": levelShown, "level-all": levelAll };
  for (const [id, checked] of Object.entries(checks)) $(id).checked = checked;
  $("level").value = level;
  $("recurrence").value = recurrence;
  for (const input of all("input[name=map]")) input.checked = input.value === map;
  for (const [c, input] of all("input[name=structure]").entries()) input.checked = c === structure;
  for (const [m, input] of all("input[name=rater]").entries()) input.checked = raters.includes(m);
  const none = result?.found && outlines && !outlinesOf(result, structure);
  show(none, "outlines-why");
  write("outlines-why", none ? whyNoOutlines(result, structure) : "");
  write("level-text", agreement(level, Number($("level").max)));
  write("recurrence-value", `Rec${recurrence}`);
}

function drawSliders({ sliders: { values } }) {
  const shares = inWhole(values);
  for (const [m, slider] of all("input[name=weight]").entries()) {
    slider.value = shares[m];
    slider.nextElementSibling.textContent = `${shares[m]} %`;
  }
}

// drawMarks lists the marks around which the result settles, or will settle.
function drawMarks(s) {
  const { result } = s;
  if (!result?.takesMarks) return;
  const { classes, raters } = result,
    removed = $("mark-list").contains(document.activeElement);
  const row = (mark, i) => {
    const m = raters.indexOf(mark.rater),
      file = t(mark.name),
      rater = title(mark.rater) + (classes.length > 1 ? `, ${t(mark.class)}` : ""),
      about = { className: "name", title: isolated(mark.name) },
      remove = element("button", {
        type: "button",
        className: "plain",
        textContent: t("Remove"),
        ariaLabel: t("Remove the mark of {rater}, {file}", { rater, file }),
        dataset: { mark: i },
      });
    return element(
      "li",
      {},
      swatch(m < 0 ? yourColour : raterColour(m)),
      element("span", about, rater, element("small", {}, isolated(file))),
      remove,
    );
  };
  $("mark-list").replaceChildren(...subject(s).evidence.map(row));
  if (removed) $("mark-open").focus();
}

function drawOpacity({ opacity }, before, stage) {
  $("opacity").value = opacity;
  write("opacity-value", `${opacity} %`);
  stage.set("opacity", opacity / 100);
}

// drawLayers draws what the controls ask for, once all of it has come. Until then the stage and the
// legend stay as they are.
function drawLayers(s, before, stage) {
  const { result } = s;
  if (fieldOf(s)) return; // field.js draws it
  if (!result) return $("legend").replaceChildren();
  const now = standing(s);
  if (!now) return;
  stage.set("region", result.roi.whole ? null : result.roi);
  stage.set("contours", now.contours);
  if (!lags(s) && now.overlay !== stage.shown.overlay) stage.set("overlay", now.overlay);
  drawLegend(now.wanted);
}
// lags says whether the map waits until a slider rests: if the processor also draws, the map is
// slower than the outlines and figures that follow the slider.
const lags = ({ sliders, device }) => sliders.moving && (!device?.gpu || device.software);
function drawRested(s, before, stage) {
  if (before.sliders?.moving && !s.sliders.moving) drawLayers(s, before, stage);
}

// drawSteps says which steps are possible.
function drawSteps(s) {
  for (const step of ["", "correct-"]) {
    able($(`${step}undo`), canUndo(s));
    able($(`${step}redo`), canRedo(s));
  }
  able($("recalibrate"), canRecalibrate(s));
}

// drawCorrecting draws the controls for corrections.
function drawCorrecting(s, before) {
  const { editing, result, corrections } = s;
  $("stage").classList.toggle("editing", editing !== null);
  show(editing, "correct-tools");
  show(!editing, "correct-start");
  show(corrections.length, "correct-clear", "correct-line");
  const mask = ({ rater, class: c }) => (rater === YOU ? t(c) : `${title(rater)}, ${t(c)}`),
    masks = corrections.map(mask).join("; "),
    line = [t("Corrected by hand: {masks}.", { masks }), ...remarks(s.measured ?? {})];
  write("correct-line", masks && line.join(" "));
  if (!editing || !result) return;
  if (!before.editing || result !== before.result) {
    const you = (name) => (name === YOU ? t("You (the consensus)") : title(name));
    offer("correct-class", result.classes);
    offer("correct-rater", whoMarks(result), you);
    show(result.classes.length > 1, "correct-structure");
    show(whoMarks(result).length > 1, "correct-who");
  }
  const { class: c, rater, tool, size, how } = editing,
    values = { class: c, rater, how, size: Math.round((100 * Math.log(size)) / Math.log(400)) };
  for (const [key, value] of Object.entries(values)) $(`correct-${key}`).value = value;
  for (const input of all("input[name=tool]")) input.checked = input.value === tool;
  const figure = tool === "polygon" || tool === "ellipse",
    handles = tool === "handles",
    area = figure || tool === "fill";
  $("correct-size").ariaValueText = t({ one: "{n} pixel", other: "{n} pixels" }, { n: size });
  write("correct-size-value", `${size} px`);
  show(!area && !handles, "correct-sized");
  show(area, "correct-area");
  show(figure || handles, "correct-points");
  show(figure, "correct-back");
  show(handles, "correct-drop");
  show(tool === "polygon", "correct-close");
  show(tool !== "fill", "correct-replace");
  const move = t("Two fingers, the wheel or the middle button move the view.");
  write("correct-help", `${t(HELP[tool])} ${move}`);
  show(result.takesMarks, "recalibrate", "correct-evidence");
}
const HELP = {
  brush: "Draw what belongs to the structure. Arrow keys move the cursor, space draws.",
  eraser: "Draw over what does not belong to it. Arrow keys move the cursor, space erases.",
  push: "Press beside the outline and drag it: from inside it grows, from outside it shrinks.",
  polygon:
    "Click its corners, or drag them. Enter, a double click or its first corner closes it; Backspace takes a corner back, Escape all.",
  ellipse:
    "Click five points of its border, or drag them. Backspace takes a point back, Escape all.",
  handles:
    "Drag a handle: the outline follows up to the next ones. A click on the outline adds one; Delete, or a long touch, takes it away. Comma and full stop go from one to the next.",
  fill: "Click into a closed hole to fill it.",
};

// drawLegend shows the reasons for doubt, and names the lines and the map.
export function drawLegend({ why, keys, map }) {
  const row = (sign, text) => element("div", { className: "key" }, sign, element("span", {}, text));
  const rows = keys.map(({ colours, text, dash, band }) => {
    const pieces = colours.map((colour, i) =>
      svg("path", {
        // of one line, one a colour
        d: band ? "M1 1.5h20v7h-20z" : `M${1 + (20 * i) / colours.length} 5h${20 / colours.length}`,
        stroke: css(colour),
        "stroke-width": band ? 1 : 2.5,
        ...(band ? { fill: css(colour), "fill-opacity": 0.2 } : {}),
        "stroke-dasharray": dash ? `${0.8 * dash} ${0.6 * dash}` : "none",
      }),
    );
    return row(svg("svg", {}, ...pieces), text);
  });
  if (map) rows.push(row(bar(map.ramp), map.text));
  if (why) rows.unshift(element("strong", {}, why));
  $("legend").replaceChildren(...rows);
}

function drawSaves(s) {
  $("save-identity").checked = s.identity;
  $("report-identity").checked = s.patient !== null;
  $("save-each").checked = s.each;
  if (!s.result) return;
  const { files } = formatOf(s);
  for (const button of all("#save-masks button")) {
    const { what, class: c } = button.dataset,
      same = (save) => save.result === s.result && save.made === files[what][0],
      about = (save) => c === undefined || save.class === Number(c);
    able(button, !s.saves.some((save) => same(save) && about(save)));
  }
}

// ---- the stage ----

function drawPlacing({ placing }, before, stage) {
  if (placing !== before.placing) {
    stage.set("placing", placing);
    show(placing, "placing", "region-fields");
    for (const key of placing ? ["x", "y", "side"] : []) {
      const field = $(`region-${key}`);
      // A number being typed stays until the square has it.
      if (document.activeElement !== field || placing.wanted[key] === placing[key])
        field.value = placing[key];
    }
  }
  show($("legend").hasChildNodes() && !placing, "legend");
}

function drawRuler({ measuring, ruler, known, measured, image }, before, stage) {
  show(measuring, "ruler");
  $("measure").ariaPressed = String(measuring);
  $("stage").classList.toggle("measuring", measuring);
  if (image) stage.set("ruler", ruler);
  const line = ruler && [ruler.to[0] - ruler.from[0], ruler.to[1] - ruler.from[1]];
  show(line && Math.hypot(...line) > 0, "ruler-scale");
  show(known, "ruler-forget");
  const { measurements } = measured ?? {},
    length = line && lengths(line, measurements, scaleOf(measurements, known)).join(" · ");
  write("ruler-length", length ?? t("Drag a line across what you want to measure."));
}

function drawView({ scale, result }) {
  write("zoom", `${number(scale * 100, scale < 0.1 ? 1 : 0)} %`);
  $("zoom-region").disabled = !result || result.roi.whole;
}

// ---- messages ----

function drawLeft({ left }) {
  show(left, "left");
  if (left) write("left-text", t("{name} is not segmented.", { name: left.picture.name }));
}

function drawProgress({ progress }) {
  show(progress, "progress");
  if (!progress) return;
  const { stage, done, total } = progress,
    [now, all] = [done, total].map((bytes) => number((bytes ?? 0) / 1e6, 1)),
    figure = total ? t("{done} of {total} MB", { done: now, total: all }) : `${now} MB`;
  write("progress-text", t(stageText(progress)) + "…");
  const counted = stage === "outline" ? t("{at} of {all}", { at: done, all: total }) : "";
  write("progress-figure", stage === "download" && done ? figure : counted);
  if (total > 0) Object.assign($("progress-bar"), { max: total, value: done });
  else $("progress-bar").removeAttribute("value");
}

function drawBanner({ banner }) {
  show(banner, "banner");
  if (!banner) return;
  write("banner-message", t(banner.message));
  write("banner-next", t(banner.next ?? ""));
  $("banner").classList.toggle("note", Boolean(banner.kind));
}
