// The page: controls → segmenter → result → stage and measurements, one way. Nothing here computes or draws pixels.
import { Stage } from "./stage.js";
import { Segmenter, SegmentError, cancelled, publish, scriptURL } from "./segmenter.js";
import { Display } from "./display.js";
import { regionBy, showMeasurements, sentence } from "./measurements.js";
import { offerSaves } from "./exports.js";
import { takePhotographs } from "./opening.js";
import { whyProcessor } from "./adapter.js";
import { keepOffline } from "./versions.js";

const $ = (id) => document.getElementById(id);
const MODEL_DELAY = 300; // ms after the last change in the list of models, which arrow keys step through
const LARGEST_FILE = 256 * 2 ** 20; // bytes; wasm/segmenter refuses larger pictures by their header

const stage = new Stage($("stage"));
const segmenter = new Segmenter();
publish(segmenter);
const display = new Display(stage, segmenter, (error) => fail(error, state.picture), renew);

// What the page is about. picture: the file, image: as decoded; result: the last one, of this picture, with its roi and weights; job: the
// running segmentation, with the picture, roi and weights that it is of. result.asked has the picture, roi and weights of that result.
const state = { picture: null, image: null, roi: "auto", weights: null, result: null, job: null };

const say = (text) => { $("status").textContent = text; };

// fail shows an error and what to do next; the page stays usable. of: what it is about, if that can be made good: a picture, "weights" or "save".
function fail(error, of = null) {
  if (error?.code === "cancelled") return say("Cancelled.");
  const known = error instanceof SegmentError;
  if (!known) console.error(error);
  banner(known ? error.message : "Something in the page went wrong: " + error, known ? error.next : "Try again; if it stays, reload the page.", "", of);
}
// kind: "note" is no error, "adapter" is a note that goes when the GPU is back; errors have none.
let bannerOf = null;
function banner(message, next, kind = "", of = null) {
  bannerOf = of;
  $("banner-message").textContent = message;
  $("banner-next").textContent = next ?? "";
  $("banner").classList.toggle("note", kind !== "");
  $("banner").dataset.kind = kind;
  $("banner").hidden = false;
}
// mended takes away what went wrong with something that has gone well now; what is about something else stays to be read.
function mended(of) { if (bannerOf === of) $("banner").hidden = true; }
$("banner-close").onclick = () => { $("banner").hidden = true; $("stage").focus(); };

// ---- opening ----

takePhotographs(open, fail, (message, next) => banner(message, next, "note"));
$("close").onclick = () => location.reload(); // nothing of the photograph stays, nor in the worker, and a version that waits may take over

async function open(blob, name, keepBanner = false) {
  if (!keepBanner) $("banner").hidden = true;
  if (blob.size > LARGEST_FILE) {
    return fail(new SegmentError({ code: "image", message: `${name} is too large: ${Math.round(blob.size / 2 ** 20)} MB.`, next: "Save it as a JPEG or in a smaller size." }));
  }
  if (stage.placing) endPlacing(false); // the square is another photograph's
  await run({ picture: segmenter.picture(blob, name), roi: "auto", weights: null });
}

// ---- computing ----

const STAGES = {
  download: () => "Downloading the model",
  decode: () => "Reading the image",
  compile: () => "Preparing the network",
  search: () => "Finding the region",
  segment: (done) => `Segmenting, Rec${done}`,
  mirror: (done) => `Segmenting the mirror image, Rec${done}`,
};

// run segments with what changes (picture, roi, weights; the model as chosen) and shows the result. What does not change is as in the job that
// this one takes over from, or as in the last result. The old result stays until the new one is there, and a failure leaves everything as it was.
// It resolves to the result, to undefined where that failed, which has been told, and to null where another one took over or it was cancelled.
function run(changes) {
  state.job?.ending.abort();
  const { picture, roi, weights } = { ...(state.job ?? state), ...takeModel(), ...changes };
  const job = (state.job = { picture, roi, weights, ending: new AbortController() });
  return (job.result = compute(job));
}
async function compute(job) {
  const { picture, roi, weights } = job, stale = () => state.job !== job;
  stageNow = "";
  progress("Waiting for the program", 0, 0);
  try {
    await segmenter.ready;
    if (stale()) return null;
    const model = modelChosen;
    if (!model) throw new SegmentError({ code: "weights", message: "This site has no models.", next: "Choose a file of your own under Model, or serve a site built with weights." });
    let result, views;
    for (let again = false; !views; again = true) { // once more, where the worker forgets the result or dies before it can be shown
      result = await segmenter.segment(picture, { model, recurrences: 3, roi, raterWeights: weights }, {
        signal: job.ending.signal,
        progress: (event) => { if (!stale()) showStage(event); },
        image: picture !== state.picture ? (image) => { if (!stale()) adopt(picture, image); } : undefined,
      });
      if (stale()) return null;
      views = await display.gather(result).catch((error) => { if (again || (error.code !== "gone" && error.code !== "crashed")) throw error; });
      if (stale()) return null;
    }
    const another = state.result?.model !== result.model; // photograph or model
    Object.assign(state, { roi, weights, result: Object.assign(result, { asked: { picture, roi, weights } }) });
    show(result, views);
    if (another) revealDoubt();
    return result;
  } catch (error) {
    if (stale()) return null;
    fail(error, picture);
    keepChoices();
  } finally {
    if (!stale()) endJob();
  }
}

// renew segments again as for a result that is gone: the worker keeps its last four, scripts' among them, and a new worker keeps none. It resolves as
// run does, and to null where the page is about another photograph, model, region or weights by now: their mask is not what was asked for.
async function renew(result) {
  const { job, picture, roi, weights } = { ...state, ...state.job }, { asked, model } = result;
  const same = picture === asked.picture && roi === asked.roi && weights === asked.weights && model === modelChosen && model === $("model").value;
  if (!same) return null;
  if (job) return job.result;
  return state.result && state.result !== result ? state.result : run({}); // the first: somebody else has renewed it
}

// keepChoices brings the controls back to the result that stays.
function keepChoices() {
  if (!state.result) return;
  display.setWeights(state.weights);
  if (state.result.model === modelChosen) return;
  modelChosen = state.result.model;
  if (!choosing) listModel(modelChosen);
}

// showStage shows what the worker is at, and says it once to a screen reader.
let stageNow = "";
function showStage({ stage: name, done, total }) {
  const text = STAGES[name]?.(done) ?? name;
  const mega = (bytes) => (bytes / 1e6).toFixed(1);
  const figure = name === "download" && done ? (total ? `${mega(done)} of ${mega(total)} MB` : `${mega(done)} MB`) : "";
  progress(text, done, total, figure);
  if (text !== stageNow) say((stageNow = text));
}
function progress(text, done, total, figure = "") {
  $("progress").hidden = false;
  $("progress-text").textContent = text + "…";
  $("progress-figure").textContent = figure;
  const bar = $("progress-bar");
  if (total > 0) { bar.max = total; bar.value = done; } else bar.removeAttribute("value");
}
function endJob() {
  state.job = null;
  if ($("progress").contains(document.activeElement)) $("stage").focus(); // it goes
  $("progress").hidden = true;
}
$("cancel").onclick = () => {
  state.job?.ending.abort();
  preparing.abort(); // the job may wait for it
  endJob();
  fail(cancelled());
  keepChoices();
};

// adopt puts a newly decoded picture on the stage; from here on the old one's result is gone.
function adopt(picture, image) {
  Object.assign(state, { picture, image });
  if ($("welcome").contains(document.activeElement)) $("stage").focus();
  showNothing();
  stage.setImage(image);
  $("welcome").hidden = true;
  $("tools").hidden = false;
  $("stage").classList.remove("empty");
  for (const line of document.querySelectorAll(".file")) line.title = line.textContent = `${picture.name} · ${image.width} × ${image.height}`;
  $("opened").hidden = false;
  $("stage").setAttribute("aria-label", `Photograph ${picture.name}, ${image.width} by ${image.height} pixels`);
  $("region").hidden = false;
}
function showNothing() {
  Object.assign(state, { roi: "auto", weights: null, result: null });
  $("region-line").textContent = "";
  for (const id of ["measurements", "show", "experts", "recurrences", "save"]) $(id).hidden = true;
  display.clear();
  about();
}

function show(result, views) {
  for (const id of ["measurements", "region", "save"]) $(id).hidden = false;
  for (const id of ["show", "experts", "recurrences"]) $(id).hidden = !result.found; // there is nothing to choose from
  mended(state.picture);
  display.show(result, views, state.weights);
  showMeasurements(result);
  offerSaves(result, state.picture.name, state.weights, { display, segmenter, fail: (error) => fail(error, "save"), saved: () => mended("save"), renew });
  const { x, y, side, whole } = result.roi;
  $("region-line").textContent = whole ? "The whole image" : `${side} × ${side} px at ${x}, ${y}, ${regionBy(result)}`;
  about();
  const seconds = (result.timings.total ?? 0) / 1000;
  say(`Done${seconds ? ` in ${seconds.toFixed(1)} seconds` : ""}. ${sentence(result)}`);
}

// revealDoubt scrolls the panel down to why the result is doubted, where that is below it.
function revealDoubt() {
  const panel = $("panel"), below = $("doubt").getBoundingClientRect().bottom - panel.getBoundingClientRect().bottom;
  if (below > 0) panel.scrollTop += below + 12;
}

function about() {
  const list = $("about-list"), rows = [], { result } = state, { info } = segmenter;
  if (info?.reason) rows.push(["Why no GPU", info.reason]);
  if (result) {
    rows.push(["Model", result.title ?? result.model], ["Computed by", result.adapter + (result.why ? `: ${result.why}` : "")]);
    const total = result.timings.total;
    if (total) rows.push(["Time", total < 1000 ? `${Math.round(total)} ms` : `${(total / 1000).toFixed(1)} s`]);
    rows.push(["Recurrences", String(result.recurrences)], ["Image uploaded", "never"]);
  }
  list.replaceChildren(...rows.flatMap(([term, text]) => {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = term;
    dd.textContent = text;
    return [dt, dd];
  }));
}

// ---- what computes, which models ----

let hadGPU = false;
// reason: of a GPU that is missing or failed; why: where there was a choice, as on a machine whose
// only adapter the processor plays.
function adapter({ adapter: name, gpu, software, reason, why, note, next }) {
  hadGPU ||= gpu;
  const short = reason ? whyProcessor(reason, hadGPU).chip : why ? "faster here" : "";
  $("adapter-name").textContent = gpu ? name : `Processor${short ? ` (${short})` : ""}`;
  $("adapter").className = `chip ${gpu && !software ? "gpu" : "cpu"}`;
  $("adapter").title = reason ? `Computed by the processor: ${reason}` : `Computed by ${name.replace(/ \[.*\]$/, "")}${why ? `: ${why}` : ""}`;
  about();
  if (note) banner(note, next, "adapter");
  else if (gpu && $("banner").dataset.kind === "adapter") $("banner").hidden = true; // it is back
}
let modelChosen = "";
let visited = false; // a worker was ready before: the warning was given, and what stopped it is not begun again unasked
segmenter.addEventListener("ready", ({ detail }) => {
  adapter(detail);
  const why = whyProcessor(detail.reason, hadGPU);
  if (detail.reason && !visited) banner(`${why.sentence}, so the processor computes. It is slower, with the same result.`, why.next, "adapter");
  const select = $("model"), chosen = select.value;
  const own = [...select.options].filter((option) => option.value.startsWith("own-"));
  select.replaceChildren(...detail.models.map(({ name, title }) => new Option(title || name, name)), ...own);
  if (select.options.length === 0) select.add(new Option("no models on this site", ""));
  listModel([...select.options].some((option) => option.value === chosen) ? chosen : select.options[0].value);
  select.disabled = false;
  modelChosen = select.value;
  if (!visited) prepare();
  visited = true;
});
segmenter.addEventListener("adapter", ({ detail }) => adapter(detail));
segmenter.addEventListener("failed", ({ detail }) => {
  $("adapter-name").textContent = "not running";
  $("adapter").className = "chip lost";
  banner(detail.message, detail.next);
});
// listModel shows a model as the one chosen in the list, and what is to know of it.
function listModel(name) {
  $("model").value = name;
  const model = segmenter.info?.models.find(({ name }) => name === $("model").value);
  const card = Object.assign(document.createElement("a"), { href: `weights/${name}.md`, target: "_blank", rel: "noopener", textContent: "How good it is, and where it fails" });
  $("model-note").replaceChildren(...(model?.bytes ? [card, ` (${(model.bytes / 1e6).toFixed(1)} MB)`] : []));
}
// prepare gets the chosen model ready while nothing else is to be done; an image that is opened meanwhile waits for its weights and shows how far
// they are. What fails here is told when it is needed.
let preparing = new AbortController();
function prepare() {
  preparing = new AbortController();
  if (modelChosen && !navigator.connection?.saveData) {
    segmenter.prepare(modelChosen, { signal: preparing.signal, progress: (event) => { if (state.job) showStage(event); } }).catch(() => {});
  }
}
// takeModel makes the model chosen in the list the one that computes, and is what changes with it; null where it is the same one.
let choosing = 0;
let choice = 0; // raised by whatever is chosen: weights that arrive later are not used in its place
function takeModel() {
  clearTimeout(choosing);
  choosing = 0;
  if ($("model").value === modelChosen) return null;
  modelChosen = $("model").value;
  preparing.abort(); // another model's
  return { roi: "auto", weights: null };
}
function useModel() {
  const changes = takeModel();
  if (!changes) return;
  (state.job ?? state).picture ? run(changes) : prepare();
}
$("model").onchange = () => {
  choice++;
  listModel($("model").value);
  clearTimeout(choosing);
  choosing = setTimeout(useModel, MODEL_DELAY);
};
$("own").onclick = () => $("weights").click();
$("weights").onchange = async () => {
  const [file] = $("weights").files;
  $("weights").value = "";
  if (!file) return;
  const turn = ++choice;
  try {
    const { name, title } = await segmenter.weights(file);
    if (![...$("model").options].some((option) => option.value === name)) $("model").add(new Option(title, name));
    mended("weights");
    if (turn !== choice) return;
    listModel(name);
    useModel();
  } catch (error) { fail(error, "weights"); }
};
display.addEventListener("weights", ({ detail }) => { if (state.result?.model === $("model").value) run({ weights: detail }); });

// ---- region ----

function beginPlacing() {
  const { image } = state, last = state.result?.roi;
  if (!image || (state.job && state.job.picture !== state.picture)) return; // another photograph is about to be shown
  const side = Math.round(Math.min(image.width, image.height) / 3);
  stage.place(last && !last.whole ? { x: last.x, y: last.y, side: last.side }
    : { x: Math.round((image.width - side) / 2), y: Math.round((image.height - side) / 2), side });
  $("placing").hidden = $("region-fields").hidden = false;
  $("legend").hidden = true;
  $("stage").focus();
  say("Placing the region. Arrow keys move it, plus and minus resize it, Enter segments, Escape cancels.");
}
function endPlacing(keep) {
  const square = stage.endPlacing();
  if ($("placing").contains(document.activeElement) || $("region-fields").contains(document.activeElement)) $("stage").focus(); // they go
  $("placing").hidden = $("region-fields").hidden = true;
  display.refresh();
  if (keep && square) run({ roi: `${square.x},${square.y},${square.side}` });
}
$("place").onclick = $("doubt-place").onclick = beginPlacing;
$("place-apply").onclick = () => endPlacing(true);
$("place-cancel").onclick = () => endPlacing(false);
stage.addEventListener("apply", () => endPlacing(true));
stage.addEventListener("cancel", () => endPlacing(false));
stage.addEventListener("region", ({ detail }) => {
  for (const key of ["x", "y", "side"]) if (document.activeElement !== $(`region-${key}`)) $(`region-${key}`).value = detail[key];
});
for (const key of ["x", "y", "side"]) {
  $(`region-${key}`).oninput = () => { const value = $(`region-${key}`).valueAsNumber; if (stage.placing && Number.isFinite(value)) stage.movePlacing({ [key]: value }); };
  $(`region-${key}`).onchange = () => { if (stage.placing) { stage.settlePlacing(); $(`region-${key}`).value = stage.placing[key]; } };
  $(`region-${key}`).onkeydown = (event) => { if (event.key === "Enter") endPlacing(true); if (event.key === "Escape") endPlacing(false); };
}
$("region-auto").onclick = () => { if (stage.placing) endPlacing(false); run({ roi: "auto" }); };
$("region-none").onclick = () => { if (stage.placing) endPlacing(false); run({ roi: "none" }); };

// ---- view ----

$("zoom-in").onclick = () => stage.zoom(1.25);
$("zoom-out").onclick = () => stage.zoom(0.8);
$("zoom-fit").onclick = () => stage.fit();
$("zoom-one").onclick = () => stage.zoom(1 / stage.scale);
$("zoom-region").onclick = () => { if (stage.shown.region) stage.frame(stage.shown.region); };
stage.addEventListener("view", () => {
  $("zoom").textContent = `${stage.scale < 0.1 ? (stage.scale * 100).toFixed(1) : Math.round(stage.scale * 100)} %`;
  $("zoom-region").disabled = !stage.shown.region;
});
$("stage").classList.add("empty");

$("theme").onclick = () => {
  const dark = getComputedStyle(document.documentElement).getPropertyValue("--panel").trim() !== "#ffffff";
  const theme = dark ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("mrprism-theme", theme); } catch { /* a private window: the choice lasts as long as the page */ }
};
try { const theme = localStorage.getItem("mrprism-theme"); if (theme) document.documentElement.dataset.theme = theme; } catch { /* as above */ }

// ---- start ----

stage.start();
addEventListener("load", () => keepOffline(() => !segmenter.used));
