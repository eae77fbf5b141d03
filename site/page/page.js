// The page. Actions of the user and answers of the worker become events. state.js computes the next
// state, view.js draws it, and the effects below send the state's questions to the worker.
import "./intact.js";
import { check } from "./addresses.js";
import { baseOf, withMask } from "../draw/correct.js";
import { fellow, toRepeat } from "../review/compare.js";
import { $, all, remember, remembered, taking } from "./dom.js";
import { download, json, stemOf } from "./exports.js";
import { clearWhenIdle } from "./idle.js";
import { paired, takePhotographs } from "./opening.js";
import { standing } from "../draw/outlines.js";
import { overlayPNG, overlayPixels } from "../draw/overlay.js";
import { Pen } from "../draw/pen.js";
import { resultFirst } from "./phone.js";
import { printReports, reportPDF, reportWishes } from "../review/report.js";
import { Ruler } from "../draw/ruler.js";
import { Square } from "../draw/square.js";
import { wanted } from "../worker/scripts.js";
import { Segmenter, SegmentError, changed, scripting } from "../worker/segmenter.js";
import { keepLanguage, learn, spoken } from "../words/speak.js";
import { language, t } from "../words/words.js";
import { Stage } from "../draw/stage.js";
import { asTaken } from "../draw/look.js";
import { fieldOf, givable, subject } from "./history.js";
import { initial, next, toKeep } from "./state.js";
import { askBeforeLeaving, leave, mayLose, unsaved, unsavedPair } from "./unsaved.js";
import { keepModels, keepOffline } from "./versions.js";
import { draw } from "./view.js";
import { watchFolder } from "./watch.js";
import { Work, narrow } from "../review/work.js";
import { seriesIn } from "../review/worklist.js";

const TEXT = "textarea, input:not([type=range], [type=checkbox], [type=radio])"; // keys write into these
const MODEL_DELAY = 300; // ms without a change in the list of models: arrow keys step through it
const PDF = ["pdf.js", "go-regular.ttf", "go-bold.ttf"]; // wanted for the report as PDF
const QUIET = 1000; // ms without a question to the worker before the page is stored
const LARGEST_FILE = 256 * 2 ** 20; // bytes; wasm/segmenter refuses larger pictures by their header

const stage = new Stage($("stage"));
const segmenter = new Segmenter();
globalThis.mrprism = scripting(segmenter);

// The second stage is made when something is compared.
let other = null;
function second() {
  if (other) return other;
  other = new Stage($("second"), { viewer: false });
  [stage.twin, other.twin] = [other, stage];
  return other;
}

const now = () => state,
  work = new Work(now, send, segmenter, told),
  [pen, ruler, square] = [Pen, Ruler, Square].map((Tool) => new Tool(now, send, stage));

// ---- state, events, effects ----

// choices are the values of the controls for a result.
const choices = () => ({
  contour: $("contour").checked,
  outlines: $("outlines").checked,
  map: picked("map")[0],
  structure: Number(picked("structure")[0] ?? 0),
  raters: picked("rater").map(Number),
  levelShown: $("level-shown").checked,
  level: Number($("level").value),
  levelAll: $("level-all").checked,
  recurrence: Number($("recurrence").value),
});
const picked = (name) => all(`input[name=${name}]:checked`).map(({ value }) => value);

// Browsers restore the controls when a page is reloaded. The recurrence is nevertheless the last
// one.
let state = {
  ...initial,
  choices: { ...initial.choices, ...choices(), recurrence: initial.choices.recurrence },
  opacity: Number($("opacity").value),
  theme: remembered("theme"),
  format: remembered("format"),
  keepAll: remembered("keep-all") === "yes",
  language,
};

// An effect, [value, begin], runs while value(state) is truthy. begin starts it, and may return a
// function that ends it. When the value changes, the effect ends and begins again.
const effects = [
  [(s) => s.job, ending(compute)],
  [(s) => s.compared?.job, ending(computePair)],
  [toRepeat, ending(repeat)],
  [(s) => s.image?.coarse && !s.job && (!s.result || standing(s)) && s.picture, ending(sharpen)],
  [(s) => s.preparing, ending(prepare)],
  [(s) => s.figuring, readAnew],
  [(s) => !s.job && !s.unkept && toKeep(s)[0]?.name, (name) => keep([name])],
  [(s) => s.listed !== s.model && s.choice, restLater],
  [(s) => s.field?.wish, ending((wish, signal) => void cells.ask(wish, signal))],
  [(s) => s.result?.findsMany, getCells],
  [(s) => s.archive && s.result?.formats.includes("dicom-seg"), getArchive],
  [(s) => archive && s, (s) => void archive.draw(s)],
  [(s) => cells && s, (s) => void cells.draw(s)],
  [(s) => series && s, (s) => void series.draw(s)],
  [(s) => cells && givable(s), (kept) => void cells.give(kept)],
  [
    (s) => s.worklist && !s.field?.wish && !s.field?.kept && s.field?.answer,
    () => void sessions((all) => all.copyField()),
  ],
  [
    (s) => (s.placing ? square : s.editing ? pen : s.measuring ? ruler : fieldOf(s) ? cells : null),
    hold,
  ],
  [
    (s) => s.editing && `${s.editing.tool} ${s.editing.rater} ${s.editing.class}`,
    () => void pen.forget(),
  ],
  [(s) => s.editing?.tool === "handles" && !pen.handles, getHandles],
  [(s) => s.editing?.tool === "handles" && pen.handles?.shape, () => void pen.show()],
  [(s) => s.editing !== null, showTools],
  [
    (s) => s.worklist && (s.session.keeping || s.worklist.study) && s,
    () => void sessions((all) => all.changed()),
  ],
  ...work.effects,
].map(([value, begin]) => ({ value, begin, now: null, end: null }));

// ending makes an effect of work that a signal ends.
function ending(work) {
  return (value) => {
    const controller = new AbortController();
    work(value, controller.signal);
    return () => controller.abort();
  };
}
function restLater() {
  const timer = setTimeout(send, MODEL_DELAY, { type: "rested" });
  return () => clearTimeout(timer);
}
function hold(tool) {
  stage.pen = tool;
  return () => {
    stage.pen = null;
    tool.leave();
  };
}
function getHandles() {
  wanted("handles.js").then(({ Handles }) => {
    pen.handles = new Handles(now, send, stage);
    send({ type: "set" });
  }, fail);
}
// getCells gets the module of all objects of a picture.
let cells = null;
function getCells() {
  Promise.all([wanted("field.js", "cells.js"), learn(language, "field")]).then(([{ Field }]) => {
    cells ??= Object.assign(new Field(now, send, stage), { segmenter, told });
    send({ type: "set" });
  }, fail);
}
// getArchive gets the module that sends results to an archive.
let archive = null;
function getArchive() {
  Promise.all([wanted("archive.js"), learn(language, "archive")]).then(([{ Archive }]) => {
    archive ??= new Archive(now, send, segmenter, work, seenFor);
    send({ type: "set" });
  }, fail);
}
// seenFor resolves to what the archive gets of a state beside masks and figures: the report, and
// the stage, once all of it is drawn. It rejects if the stage has another result by then.
async function seenFor(s) {
  const ticked = (what) => $(`archive-${what}`).checked,
    seen = [];
  if (ticked("report")) seen.push({ made: "dicom-pdf", pdf: await reportPDF(s, reportWishes()) });
  if (!ticked("capture")) return seen;
  while (state.result === s.result && !complete(state))
    await new Promise((resolve) => setTimeout(resolve, 50));
  if (state.result !== s.result)
    throw new Error("The photograph left the stage before its picture was made. Send it again.");
  return [...seen, { made: "dicom-sc", shown: overlayPixels(state) }];
}
// allSlices gets the module of series, and makes the list that of one.
let series = null;
$("series-all").onclick = async () => {
  const { worklist, picture, image } = state;
  try {
    await learn(language, "series");
    const { Series } = await wanted("series.js", "strip.js");
    series ??= new Series(now, send, segmenter, told);
    await series.begin(seriesIn(state), !narrow());
    if (!worklist && state.worklist) work.shrink(picture, image);
  } catch (error) {
    fail(error);
  }
};
function showTools() {
  ($("reading") ?? $("correct")).scrollIntoView({ block: "start" });
  $("stage").focus();
}

const asked = new WeakSet(); // questions and saves that have been sent to the worker
const events = [];
let sending = false;

// send goes to the next state by an event. Events that are sent meanwhile wait.
function send(event) {
  events.push({ time: new Date().toISOString(), ...event });
  if (sending) return;
  sending = true;
  try {
    while (events.length) take(events.shift());
  } finally {
    sending = false;
  }
}
function take(event) {
  const before = state;
  state = next(state, event);
  draw(state, before, stage, second);
  for (const effect of effects) {
    const value = effect.value(state);
    if (value === effect.now) continue;
    effect.end?.();
    effect.now = value;
    effect.end = value ? effect.begin(value) : null;
  }
  for (const wish of [...state.questions, ...state.saves]) {
    if (asked.has(wish) || wish.waits || incomplete(wish)) continue;
    asked.add(wish);
    (wish.file ? save : view)(wish);
  }
}

// fail shows an error. of is what it is about, as told in state.js has it.
function fail(error, of) {
  send({ type: "failed", error: told(error), of });
}
// told gives every error a message and what to do next.
function told(error) {
  if (typeof error.next === "string") return error;
  if (error.changed) return changed(error.changed);
  console.error(error);
  return {
    message: `Something in the page went wrong: ${error}`,
    next: "Try again; if it stays, reload the page.",
  };
}

// ---- what is asked of the worker ----

function compute(job, signal) {
  const anew = () =>
    segment(job, signal).then((result) => {
      if (result.shipped && !state.kept?.includes(result.model)) keep([result.model]);
      send({ type: "segmented", job, result });
    });
  const shown =
    !job.again &&
    !job.anew &&
    work.recalled(job)?.then(({ image, ...kept }) => {
      send({ type: "decoded", job, image });
      send({ type: "segmented", job, ...kept });
    }, anew);
  (shown || anew()).catch((error) => {
    if (!signal.aborted) send({ type: "failed", job, error: told(error), of: job.picture });
  });
}
async function segment(job, signal) {
  const { picture } = job;
  await segmenter.ready;
  await work.drawn(picture);
  if (!state.model)
    throw new SegmentError({
      code: "weights",
      message: "This site has no models.",
      next: "Choose a file of your own under Model, or serve a site built with weights.",
    });
  const image = (image) => send({ type: "decoded", job, image });
  return segmenter.segment(picture, optionsOf({ ...job, model: state.model }), {
    signal,
    thumb: work.thumb(picture),
    progress: (progress) => send({ type: "progress", job, progress }),
    image: picture !== state.picture ? image : undefined,
    coarse: true,
  });
}
// sharpen gets all pixels of the photograph, after its outlines.
function sharpen(picture, signal) {
  segmenter.decode(picture).then(
    (image) => signal.aborted || send({ type: "sharpened", image }),
    () => {}, // it stays as it is
  );
}
const optionsOf = ({ model, roi, weights, evidence, replaces, known }) => ({
  model,
  roi,
  raterWeights: weights,
  evidence: evidence.map(withMask),
  replaces,
  known,
});

// computePair segments the photograph to compare with.
function computePair(job, signal) {
  const image = (image) => send({ type: "pairDecoded", job, image });
  segmenter.segment(job.picture, optionsOf(job), { signal, image }).then(
    (result) => send({ type: "paired", job, result }),
    (error) => signal.aborted || send({ type: "pairFailed", job, error: told(error) }),
  );
}

// repeat asks how the figures of a compared photograph repeat. Without an answer the comparison
// says so.
function repeat(result, signal) {
  segmenter.repeat(result, { signal }).then(
    (repeats) => send({ type: "repeated", result, repeats }),
    (error) => signal.aborted || send({ type: "repeated", result, repeats: told(error) }),
  );
}

// readAnew asks for figures of a rim with what the user knows and the result does not.
function readAnew(wish) {
  segmenter.clinical(wish).then(
    (figures) => send({ type: "figured", wish, figures }),
    (error) => send({ type: "unfigured", wish, error: told(error) }),
  );
}

// prepare gets a model ready while nothing else is to be done. An image that is opened meanwhile
// waits for its weights and shows how far they are. A failure is shown if the user chose the model;
// otherwise the next job fails again, and shows it.
function prepare(model, signal) {
  if (navigator.connection?.saveData) return;
  const progress = (progress) => send({ type: "progress", progress });
  segmenter.prepare(model, { signal, progress }).then(
    () => {
      send({ type: "prepared" });
      keep([model]);
    },
    (error) => {
      if (state.choice && error.code === "weights") fail(error, "preparing");
      keep([]);
    },
  );
}

// keep stores models in the browser for use without a network, and learns which are stored.
function keep(names) {
  keepModels(names).then(({ kept, error }) => send({ type: "set", kept, unkept: error }));
}
addEventListener("online", () => send({ type: "set", unkept: "" }));
$("keep-all").onchange = () => {
  const keepAll = $("keep-all").checked;
  send({ type: "set", keepAll, unkept: "" });
  remember("keep-all", keepAll ? "yes" : "");
  for (const name of keepAll ? PDF : []) check(name).catch(() => {}); // sw.js keeps what is used
};

function view(question) {
  const { result, kind, fields, whole } = question;
  segmenter
    .show(whole ? "map" : "view", result, { kind, ...fields })
    .then((view) => (whole ? baseOf(view.values, result.width, result.height) : view))
    .then(
      (view) => send({ type: "viewed", question, view }),
      (error) => send({ type: "refused", question, error: told(error) }),
    );
}

async function save(save) {
  try {
    download(save.file, save.type, await contentOf(save));
    send({ type: "saved", save });
  } catch (error) {
    send({ type: "unsaved", save, error: told(error) });
  }
}
// contentOf resolves to the content of a file: of one reader, or a ZIP of all readers.
async function contentOf(save) {
  const { result, what, made, files } = save;
  if (what === "overlay" && result !== state.result) throw new SegmentError({ code: "gone" });
  if (what === "overlay" && !made) return overlayPNG(state);
  const shown = what === "overlay" ? overlayPixels(state) : undefined;
  return files.length > 1
    ? segmenter.zip(eachOf(save))
    : segmenter.save({ ...save, ...files[0], shown });
}
async function* eachOf(save) {
  // If a person has drawn, drawn masks and the model's are in separate folders.
  const drawn = save.files.some(({ corrected }) => corrected),
    folder = ({ corrected }) => (!drawn ? "" : corrected ? "drawn/" : "guessed/");
  for (const one of save.files)
    yield {
      name: folder(one) + one.file,
      bytes: (await segmenter.save({ ...save, ...one })).buffer,
    };
}
// incomplete says that an overlay has to wait for views of its result.
const incomplete = ({ what, result }) =>
  what === "overlay" && result === state.result && !complete(state);
const complete = (s) => !s.image.coarse && standing(s);

for (const type of ["ready", "adapter"])
  segmenter.addEventListener(type, ({ detail }) => send({ ...detail, type }));
segmenter.addEventListener("archive", () => send({ type: "set", archive: true }));
stage.addEventListener("changed", ({ detail }) => fail(changed(detail)));
segmenter.addEventListener("failed", ({ detail }) => send({ type: "stopped", error: detail }));

// sends is an action that sends an event, and then gives an element the focus.
const sends = (event, focus) => () => {
  send(event);
  $(focus).focus();
};
const enabled =
  (act) =>
  ({ currentTarget }) => {
    if (!currentTarget.ariaDisabled) act();
  };

// ---- photographs and weights ----

// open shows an image. Several images become the worklist. So does a further image if there is a
// list, if an open image with drawings would be lost, or, with along, if any image is open. show:
// the first image is shown. A weights file becomes a model.
function open(files, { along = false, show = true, folder = false } = {}) {
  if ($("together")?.open) return void bringTogether(files);
  const saved = files.filter(({ name }) => /\.(mrprism|zip)$/i.test(name));
  if (state.worklist?.study && !saved.length)
    return void sessions((all) => all.attach(paired(files))); // nothing else belongs to a study
  if (folder) return void openFolder(files);
  const weights = files.filter(
    ({ name }) => !state.worklist?.study && /\.safetensors$/i.test(name),
  );
  if (weights.length && mayLose(unsaved(state))) for (const { blob } of weights) openWeights(blob);
  files = paired(files.filter((file) => !weights.includes(file) && !saved.includes(file)));
  if (saved.length)
    return void sessions((all) => all.open(saved)).then(() => open(files, { along, show }));
  if (!files.length) return;
  if (state.worklist?.lines.some(({ picture }) => picture.missing))
    return void sessions((all) => all.attach(files));
  send({ type: "opening" });
  const pictures = files.map(({ blob, name }) => ({
      ...segmenter.picture(blob, name),
      refused: tooLarge(blob, name),
    })),
    [picture] = pictures,
    { worklist, image } = state;
  along ||= unsaved(state).length > 0;
  const beside = worklist || (along && subject(state).picture);
  if (!beside && pictures.length === 1)
    return picture.refused ? fail(picture.refused) : send({ type: "open", picture });
  send({ type: "add", pictures, along, show, open: !narrow() });
  if (!worklist && beside && image) work.shrink(state.picture, image);
}
// openFolder skips files that are no images, and says so once. A data set is there to learn from.
async function openFolder(files) {
  if (files.some(({ name }) => /(^|\/)dataset\.json$/.test(name))) return learnFrom(files);
  const images = await segmenter.images(files).catch(() => files),
    n = files.length - images.length;
  open(images);
  if (!files.length)
    send({ type: "note", message: "There is no file in this folder that can be read." });
  if (n)
    send({
      type: "note",
      message: t(
        {
          one: "{n} file is no image that MrPrism reads, and was passed over.",
          other: "{n} files are no images that MrPrism reads, and were passed over.",
        },
        { n },
      ),
    });
}
function tooLarge({ size }, name) {
  if (size <= LARGEST_FILE) return null;
  return new SegmentError({
    code: "image",
    message: `${name} is too large: ${Math.round(size / 2 ** 20)} MB, of at most ${LARGEST_FILE / 2 ** 20} MB.`,
    next: "Save it as a JPEG or in a smaller size.",
  });
}
// sessions does something with the module of sessions, which is loaded when it is first wanted.
let loaded;
function sessions(act) {
  loaded ??= Promise.all([
    wanted("sessions.js", "session.js", "keeping.js", "shapes.js", "zip.js"),
    learn(language, "sessions"),
  ]).then(([{ Sessions }]) => new Sessions(() => state, send, segmenter, told));
  return loaded.then(act, (error) => {
    loaded = null;
    fail(error);
  });
}
taking("session-file", (files) =>
  sessions((all) => all.open(files.map((blob) => ({ blob, name: blob.name })))),
);
$("study-make").onclick = () => sessions((all) => all.makeStudy());
$("session-save").onclick = enabled(() => sessions((all) => all.save()));
$("session-log").ontoggle = () => {
  if ($("session-log").open) sessions((all) => all.showLog());
};
$("session-images").onchange = () =>
  send({ type: "set", session: { ...state.session, images: $("session-images").checked } });
$("session-keep").onchange = ({ target: { checked } }) => sessions((all) => all.keep(checked)); // the page may draw it meanwhile
$("session-kept").onclick = ({ target }) => {
  const { go, forget } = target.dataset;
  if (go) sessions((all) => all.goOn(go));
  else if (forget && confirm(t("This removes the session from this browser. Go on?")))
    sessions((all) => all.forget(forget));
};
// learnFrom shows what a data set can teach, or, without one, a run that was paused.
async function learnFrom(files = null) {
  const wish = (name) => new URLSearchParams(location.search).get(name) ?? "";
  try {
    if (state.mode !== "all") task("learn");
    const { showLearning } = await wanted("learn.js"),
      { name: model, title } =
        state.models.find(({ name, own }) => name === state.model && !own) ?? state.models[0];
    await showLearning(files, {
      model,
      title: t(title),
      name: remembered("learning"),
      device: wish("device"),
      steps: Number(wish("steps")),
      use: openWeights,
      bring: bringTogether,
      download,
      remember: (name) => remember("learning", name),
    });
  } catch (error) {
    fail(error);
  }
}
// bringTogether opens the panel that compares several people's marks, and gives it files.
async function bringTogether(files = []) {
  try {
    await Promise.all([learn(language, "sessions"), learn(language, "together")]);
    const { bring } = await wanted("together.js", "learn.js", "session.js", "shapes.js", "zip.js");
    if (!["all", "study"].includes(state.mode)) task("learn");
    bring(files, { by: state.worklist?.by ?? "", download, learn: learnFrom, told });
  } catch (error) {
    fail(error);
  }
}
$("together-open").onclick = $("teach-together").onclick = () => bringTogether();

// A task shows its controls.
const task = (mode) => send({ type: "set", mode });
for (const input of all("input[name=mode]")) input.onchange = () => task(input.value);
$("onward").onclick = () => task("review");
const wished = new URLSearchParams(location.search).get("mode");
if (wished) task(wished);

$("tour").hidden = remembered("tour") === "seen";
$("tour").onclick = () => {
  openSample();
  wanted("tour.js").then(({ tour }) => tour(() => task("look")), fail);
};
async function openSample() {
  send({ type: "opening" });
  const { openings } = state,
    blob = await fetch("sample.jpg")
      .then((response) => (response.ok ? response.blob() : null))
      .catch(() => null);
  if (openings !== state.openings) return;
  if (blob) return open([{ blob, name: "sample.jpg" }]);
  fail({
    message: "The sample could not be loaded.",
    next: "Is the program `serve` still running? Reload the page.",
  });
}
takePhotographs(open, send);
// An image that comes into the watched folder is shown if no other is open.
watchFolder(
  (file) => open([file], { along: true, show: !state.worklist && !subject(state).picture }),
  fail,
);
$("slice").oninput = () => {
  const { value: slice, max: slices } = $("slice");
  $("slice-number").textContent = t("{slice} of {slices}", { slice, slices });
};
$("slice").onchange = () => {
  const { worklist, image, picture } = state,
    { blob, name, turn } = picture,
    other = segmenter.picture(blob, name, $("slice").valueAsNumber, turn);
  send({ type: "opening" });
  send({ type: "leaf", picture: other, open: !narrow() });
  if (!worklist && state.worklist) work.shrink(picture, image);
};
function turn(quarters) {
  const { picture, image, job } = state;
  if (!image || (job && job.picture !== picture)) return;
  const { blob, name, slice, turn } = picture,
    turned = segmenter.picture(blob, name, slice, (turn + quarters) % 4);
  send({ type: "opening" });
  send({ type: "turn", quarters, picture: turned });
}
$("turn").onclick = () => turn(1);
for (const button of all("[data-action=sample]")) button.onclick = openSample;
// Reloading removes photographs and lists from page and worker, and lets a waiting version take
// over.
$("close").onclick = $("work-close").onclick = () => {
  if (mayLose(unsaved(state))) leave();
};
askBeforeLeaving(() => state);

taking("compare-file", ([file]) => {
  if (file && mayLose(unsavedPair(state)))
    send({ type: "compare", picture: segmenter.picture(file, file.name) });
});
$("comparison-mirror").onchange = () =>
  send({ type: "mirror", mirrored: $("comparison-mirror").checked });
// The stages exchange their views, so that each photograph keeps its place and size.
$("comparison-swap").onclick = enabled(() => {
  const [here, there] = [stage.view, second().view],
    { compared } = state;
  send({ type: "swap" });
  if (state.compared !== compared && !compared.mirrored)
    [stage.view, second().view] = [there, here];
});
$("comparison-end").onclick = () => {
  if (mayLose(unsavedPair(state))) {
    send({ type: "uncompare" });
    $("compare-open").focus();
  }
};

$("model").onchange = () => {
  if (mayLose(unsaved(state))) send({ type: "list", name: $("model").value });
  else $("model").value = state.listed;
};
$("own").onclick = () => {
  if (mayLose(unsaved(state))) $("weights").click();
};
taking("weights", ([file]) => file && openWeights(file));
function openWeights(file) {
  send({ type: "choosing" });
  const { choice } = state;
  return segmenter.weights(file).then(
    (model) => send({ type: "weights", model, choice }),
    (error) => fail(error, "weights"),
  );
}

// ---- what is shown, region, files ----

// Listening on the panel includes controls that are built later.
const choose = ({ target }) => {
  const { id, name, value } = target,
    key = id.replace("region-", "");
  if (name === "weight")
    send({ type: "slide", m: Number(target.dataset.rater), value: Number(value) });
  else if (id === "opacity") send({ type: "set", opacity: Number(value) });
  else if (key !== id) {
    if (Number.isFinite(target.valueAsNumber))
      send({ type: "move", change: { [key]: target.valueAsNumber } });
  } else if (target.closest("#show, #experts, #recurrences") && !target.closest("#look"))
    send({ type: "choose", choices: choices(), by: id });
};
$("panel").addEventListener("input", choose, true);
for (const key of ["x", "y", "side"]) {
  const field = $(`region-${key}`);
  field.onchange = () => send({ type: "settle" });
  field.onkeydown = (event) => {
    if (event.key === "Enter") send({ type: "apply" });
    if (event.key === "Escape") send({ type: "leave" });
  };
}
$("raters-equal").onclick = () => send({ type: "equal" });

// A rater's slider rests once its button, finger or key is let go. A key that is held changes it
// again and again. What has neither, such as a screen reader, only changes it.
let held = false;
const rest = () => {
  held = false;
  if (state.sliders.moving) send({ type: "weigh" });
};
$("rater-list").onkeydown = () => {
  held = true;
};
$("rater-list").onchange = () => {
  if (!held) rest();
};
for (const end of ["pointerup", "pointercancel", "keyup", "blur"])
  addEventListener(end, rest, true);

taking("mark-file", ([mask]) => {
  const [rater, c] = [$("mark-rater").value, $("mark-class").value];
  if (mask) send({ type: "mark", mark: { rater, class: c, name: mask.name, mask } });
});
$("mark-list").onclick = ({ target }) => {
  const mark = subject(state).evidence[target.dataset.mark];
  if (mark) send({ type: "unmark", mark });
};

$("place").onclick = $("doubt-place").onclick = () => {
  send({ type: "place" });
  if (state.placing) $("stage").focus();
};
$("place-apply").onclick = () => send({ type: "apply" });
$("place-cancel").onclick = () => send({ type: "leave" });
$("region-auto").onclick = () => send({ type: "region", roi: "auto" });
$("region-none").onclick = () => send({ type: "region", roi: "none" });
stage.addEventListener("view", () => send({ type: "set", scale: stage.scale }));

// ---- corrections ----

$("correct-start").onclick = () => send({ type: "edit" });
$("correct-end").onclick = sends({ type: "unedit" }, "correct-start");
$("correct-clear").onclick = sends({ type: "uncorrect" }, "stage");
$("correct-close").onclick = () => pen.close();
$("correct-back").onclick = () => pen.back();
$("correct-drop").onclick = () => {
  pen.handles?.remove();
  pen.show();
};
$("recalibrate").onclick = enabled(() => send({ type: "recalibrate" }));
for (const step of ["undo", "redo"])
  $(step).onclick = $(`correct-${step}`).onclick = enabled(() => send({ type: step }));
$("correct-tools").oninput = ({ target: { id, name, value } }) => {
  const changes = {
    "correct-class": { class: value },
    "correct-rater": { rater: value },
    "correct-size": { size: Math.round(400 ** (value / 100)) },
    "correct-how": { how: value },
  };
  const change = name === "tool" ? { tool: value } : changes[id];
  if (change) send({ type: "edit", ...change });
};
addEventListener("keydown", (event) => {
  const { key, ctrlKey, metaKey, altKey, shiftKey, target } = event,
    letter = key.toLowerCase();
  if (
    !(ctrlKey || metaKey) ||
    altKey ||
    (letter !== "z" && letter !== "y") ||
    target.matches("input[type=number]")
  )
    return;
  event.preventDefault();
  send({ type: letter === "y" || shiftKey ? "redo" : "undo" });
});

$("save-masks").onclick = ({ target }) => {
  const { what, class: c } = target.dataset;
  if (what && !target.ariaDisabled) send({ type: "save", what, class: c && Number(c) });
};
$("save-format").onchange = () => {
  const format = $("save-format").value;
  send({ type: "set", format });
  remember("format", format);
};
$("save-each").onchange = () => send({ type: "set", each: $("save-each").checked });
$("save-identity").onchange = () => send({ type: "set", identity: $("save-identity").checked });
const fileOfText = (ending) =>
  `${stemOf(state.picture, state.image)}${state.measured.corrected ? "_corrected" : ""}.${ending}`;
$("save-json").onclick = () => {
  download(
    fileOfText("json"),
    "application/json",
    json(state.measured, state.picture.name, state.image, state.known, fellow(state)),
  );
  send({ type: "log", did: "exported", what: "json", picture: state.picture });
};
$("save-csv").onclick = () => work.saveLine(fileOfText("csv"));
for (const box of all(".semicolons"))
  box.onchange = () => {
    for (const other of all(".semicolons")) other.checked = box.checked;
  };

printReports(now, {
  send,
  fail,
  save(bytes, { picture, image }) {
    download(`${stemOf(picture, image)}_report.pdf`, "application/pdf", bytes);
    send({ type: "log", did: "exported", what: "pdf", picture });
  },
  async identity(picture) {
    const { identityOf } = await wanted("identity.js");
    return identityOf(await segmenter.identity(picture));
  },
});
work.listen();

$("cancel").onclick = () => send({ type: "cancel" });
$("segment").onclick = sends({ type: "segment" }, "cancel");
$("banner-close").onclick = sends({ type: "dismiss" }, "stage");

// ---- measuring ----

$("eye").onchange = () => send({ type: "eye", eye: $("eye").value });

const measure = (on) => sends({ type: "measure", on }, "stage")();
$("measure").onclick = () => measure(!state.measuring);
$("ruler-end").onclick = () => measure(false);
$("ruler-use").onclick = () => send({ type: "scale", mm: $("ruler-known").valueAsNumber });
$("ruler-known").onkeydown = ({ key }) => {
  if (key === "Enter") $("ruler-use").click();
};
$("ruler-forget").onclick = () => send({ type: "scale", mm: null });

// ---- the view ----

const look = () => {
  const [brightness, contrast] = ["brightness", "contrast"].map((id) => $(id).valueAsNumber);
  send({ type: "look", look: { brightness, contrast, redFree: $("red-free").checked } });
};
$("look").addEventListener("input", look, true);
$("look-reset").onclick = () => send({ type: "look", look: asTaken });
const ZOOMS = { in: "+", out: "-", fit: "0", one: "1", region: "r" };
for (const [name, key] of Object.entries(ZOOMS)) $(`zoom-${name}`).onclick = () => stage.look(key);

$("theme").onclick = () => {
  const dark =
      getComputedStyle(document.documentElement).getPropertyValue("--panel").trim() !== "#ffffff",
    theme = dark ? "light" : "dark";
  send({ type: "set", theme });
  remember("theme", theme);
};

$("language").onclick = async () => {
  const { lang } = $("language");
  await learn(lang);
  send({ type: "set", language: lang });
  keepLanguage(lang);
};

// ---- keys ----

// keys act wherever the focus is, except in a field for text. N and P repeat while they are held.
const keys = {
  ...work.keys,
  r: () => (state.editing ? send({ type: "recalibrate" }) : stage.look("r")),
  f: () => stage.look("0"),
  c: () => send(state.editing ? { type: "unedit" } : { type: "press", act: { type: "edit" } }),
  m: () => measure(!state.measuring),
  t: ({ shiftKey }) => turn(shiftKey ? 3 : 1),
};
addEventListener("keydown", (event) => {
  const { ctrlKey, metaKey, altKey, target, defaultPrevented, repeat } = event,
    key = event.key.toLowerCase(),
    act = keys[key];
  if (
    !act ||
    defaultPrevented ||
    ctrlKey ||
    metaKey ||
    altKey ||
    (repeat && !"np".includes(key)) ||
    target.matches(TEXT)
  )
    return;
  event.preventDefault();
  act(event);
});

// ---- start ----

await spoken;
draw(state, {}, stage, second);
resultFirst();
if (remembered("sessions"))
  segmenter.ready.catch(() => {}).then(() => sessions((all) => all.offer()));
clearWhenIdle();
// Files for use without a network are downloaded when nothing else is to be done, so that neither
// the start nor the first result waits for them.
const whenIdle = () =>
  segmenter.busy ? setTimeout(whenIdle, QUIET) : keepOffline(() => !segmenter.used);
segmenter.ready.catch(() => {}).then(() => setTimeout(whenIdle, QUIET));
if (remembered("learning")) segmenter.ready.then(() => learnFrom());
