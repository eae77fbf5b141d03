// The state of the page, and next, the only function that changes it. A state has plain values, and
// knows neither the document nor the worker. view.js draws a state. page.js asks the worker for
// what a state needs, and sends what happens as events. Nobody writes to a part of a state: a
// changed part is a new object, by which view.js and page.js see what they have to do.
import { whyProcessor } from "../worker/adapter.js";
import { YOU, changes, evidenceOf, sameMask } from "../draw/correct.js";
import {
  UNASKED,
  back,
  fieldOf,
  forth,
  left,
  noHistory,
  remember,
  same,
  subject,
  trimmed,
} from "./history.js";
import { baseView, byLevels, fitted, layers, shownRecurrence, viewsOf } from "../draw/layers.js";
import { fileOf, formatOf, readersOf, stemOf } from "./exports.js";
import { logged, noLog } from "../study/log.js";
import { asTaken } from "../draw/look.js";
import { editedOf, figuresOf } from "../draw/masks.js";
import { sameWish, wishOf } from "../review/clinical.js";
import { sentence } from "../review/measurements.js";
import { comparing, pairGone, pairViewed, pairing, wantedViews } from "../review/compare.js";
import { sameWeights, shared, sharesOf, weightsOf } from "../review/shares.js";
import { turnedSquare } from "../draw/turn.js";
import { number, t } from "../words/words.js";
import { hasWork, inFile, inList, safe } from "./unsaved.js";
import { due, pressed } from "../review/waiting.js";
import * as lists from "../review/worklist.js";

const NO_TOOL = { placing: null, measuring: false, ruler: null }; // of those that exclude each other
const SMALLEST = 16; // side of the region, photograph pixels

const LARGEST_PEN = 400; // photograph pixels
const LAST = Infinity; // as a chosen recurrence: the last one of any result
const NONE = []; // no marks
const UNDECIDED = "undecided"; // subject of a message about keys for an image that nobody will see

export const initial = {
  device: null, // the device that computes: { adapter, gpu, software, reason, why }
  hadGPU: false, // a GPU computed before in this page
  visited: false, // a worker was ready before
  stopped: false, // the worker died for good
  // { name, title, bytes } of the site, also own and limits (of its card) if it does not ship; then
  // { name, title, own } of the user
  models: [],
  listed: "", // the model that the list shows
  model: "", // the model that computes; it follows listed when the arrow keys rest in the list
  choice: 0, // counts the user's choices of a model: a weights file may arrive after a later choice
  preparing: "", // the model that the worker gets ready while there is no photograph
  archive: false, // the server sends results to a DICOM archive
  kept: null, // names of the models that the browser keeps for use without a network; null: not known
  keepAll: false, // the user wants all of the site's models kept
  unkept: "", // why a model could not be kept
  openings: 0, // counts photographs asked for: the sample may arrive after a later photograph
  worklist: null, // several images, a line each, as worklist.js has them
  log: noLog, // who did what, as log.js has it
  safe: NONE, // a person's work that a file has, as unsaved.js has it
  // images: the session is saved with them; keeping: this browser keeps it, at: when last; kept:
  // other sessions that this browser keeps, { id, refused, grader, saved, images, decided }; refused
  // is why one cannot be read, or ""
  session: { images: false, keeping: false, at: "", kept: NONE },
  waiting: NONE, // acts that wait until their image is seen, as waiting.js has it
  picture: null, // the photograph on the stage, as Segmenter.picture made it
  image: null, // its pixels: { width, height, pixelsWide, pixelsHigh, rgba, … }
  // the running segmentation: { picture, roi, weights, evidence }, again: true in a second try, and
  // anew: true if the worker has forgotten it; evidence is the list of marks, { rater, class, name,
  // mask }; previews: true while a slider moves, and replaces the number of the preview before
  job: null,
  left: null, // a job that ended without a result of its photograph: it can begin again
  progress: null, // of the job: { stage, done, total }
  compared: null, // the second photograph, as compare.js has it, or null
  repeats: {}, // of the compared results, by id: segment.Repeats, or an error
  coming: null, // a new result that still lacks views: { result, views }
  result: null, // the result on the stage; result.asked is the job that made it
  views: {}, // of the result, by key
  questions: [], // views that the worker was asked for: { result, key, kind, fields }
  // what is being saved: { result, what, class, i, made, classes, identity, files, file, type, waits,
  // again }; made is the format in package masks, files are { reader, classes, drawn, file } with
  // corrections, and file is the name of the one, or of the ZIP of all
  saves: [],
  format: "", // in which the user saves, as in exports.js
  each: false, // with the consensus, each rater's files are saved
  identity: false, // a DICOM SEG keeps what its source says of patient and study
  patient: null, // what the DICOM file says of a person, for the report (identity.js)
  choices: {
    model: "",
    contour: true,
    outlines: false,
    map: "heat",
    structure: 0,
    raters: [],
    levelShown: false,
    level: 1,
    levelAll: false,
    recurrence: LAST,
    edited: [],
  }, // masks that are corrected or about to be, { rater, class, drawn }
  // of the raters' weights: their shares in percent, as shares.js has them. While one moves, from is
  // { m, values, weights }: the rater, the shares before, and the weights before the first movement.
  sliders: { values: [], moving: false, from: null },
  placing: null, // the square while it is placed by hand: { x, y, side, wanted }
  // the drawing tool while masks are corrected, { tool, size, rater, class, how }, or null;
  // how an area changes the mask: "replace", "add" or "remove"
  editing: null,
  corrections: NONE, // of the result on the stage, as correct.js makes them
  drafting: null, // the corrections before the stroke that is being drawn
  history: noHistory, // of corrections, region, weights and marks
  histories: NONE, // of the worklist's images that were left, as history.js has them
  // what to restore if the job of the last steps ends without a result, { history, corrections, to
  // }: the history before the steps and the one after, or null
  stepping: null,
  field: null, // all objects of a picture, as field/cells.js has them, or null
  measured: null, // the result with the figures of corrected masks
  measuring: false, // lengths are measured
  ruler: null, // the line that is measured, { from, to }, each [x, y] in photograph pixels
  known: null, // mm a pixel, by a length that the user knows
  eye: "", // which eye it is, "right" or "left", as the user says
  figuring: null, // the question for new figures, as clinical.js has it
  figured: null, // the answer: { figures } and the question
  look: asTaken, // of the photograph on the stage, as look.js has it
  opacity: 45, // of the map, in percent
  scale: 1, // of the photograph, CSS pixels a pixel
  dragging: false, // a file is over the page
  theme: "", // "light", "dark", or "" for the system's
  mode: "look", // the task whose controls are shown: "look", "review", "study" or "learn"
  language: "en", // of the texts, as in words.js
  // { message, next, kind, of }; kind "note" is no error, "adapter" ends with the GPU's return
  banner: null,
  status: "", // for screen readers
};

// next is the state after an event, with what it did in the log. An event has the name of its
// handler as type, and its time.
export const next = (s, { time = "", ...event }) => logged(s, step(s, event), event, time);

// step is the state after an event. A slider that still moves comes to rest before another step, so
// that steps keep their order.
function step(s, { type, ...event }) {
  if (s.sliders.moving && SETTLED.includes(type)) s = step(s, { type: "weigh" });
  const then = passes.reduce((now, pass) => pass(now, s, type, event), handlers[type](s, event)),
    act = due(then);
  return act ? step({ ...then, waiting: then.waiting.filter((one) => one !== act) }, act) : then;
}

// passes bring the state that a handler made to agree with itself, in this order. Each has the
// state so far, the state before the event, and the event: (s, before, type, event).
const passes = [
  targeted, // asks for the maps below corrected masks
  shown, // a result that is complete goes on the stage
  pairing, // so does that of the second photograph
  kept, // another photograph takes its own corrections and history along
  remembered, // what changed is a step of the history
  returned, // a step is taken back if its job ends without a result
  measured, // figures of corrected masks
  fielded, // a field ends with its picture and model
  lists.followed, // the list has what is on the stage, and its next task
];

const handlers = {
  ...comparing,
  paired: (s, event) => ask(comparing.paired(s, event)),
  swap: (s) => ask(comparing.swap(s)),
  // ---- the worker ----
  ready(s, { models, ...device }) {
    const all = [...models, ...s.models.filter(({ own, bytes }) => own && !bytes)];
    const kept = (name) => (all.some((model) => model.name === name) ? name : (all[0]?.name ?? ""));
    const known = {
      ...computedBy(s, device),
      models: all,
      listed: kept(s.listed),
      model: kept(s.model),
      visited: true,
    };
    // After a worker has died, the page does not warn again, and prepares no model: that may have
    // ended the worker.
    if (s.visited) return s.field?.answer ? forgotten(known) : known;
    const now = { ...known, preparing: known.model };
    if (!device.reason) return now;
    const { sentence, next } = whyProcessor(device.reason, known.hadGPU),
      message = `${sentence}, so the processor computes. It is slower, with the same result.`;
    return { ...now, banner: { message, next, kind: "adapter" } };
  },
  adapter(s, { note, next, ...device }) {
    const changed = computedBy(s, device);
    if (note) return { ...changed, banner: { message: note, next, kind: "adapter" } };
    return device.gpu && s.banner?.kind === "adapter" ? { ...changed, banner: null } : changed;
  },
  stopped: (s, { error }) => ({ ...told(s, error), stopped: true }),

  // ---- photographs ----
  opening: (s) => ({ ...mended(s, "folder"), openings: s.openings + 1 }),
  open: (s, { picture }) => begin({ ...s, banner: null, placing: null }, { picture, ...UNASKED }),

  // ---- the worklist ----
  // add makes a line of each picture. The list begins with them, or with the image that is open, if
  // along is true. With show the first line that can be tried is chosen.
  add(s, { pictures, along, show, open }) {
    const { picture } = subject(s),
      first = along && picture && !s.worklist ? [picture] : [];
    let list = lists.added(s.worklist, [...first, ...pictures], open);
    if (first.length) {
      list = lists.sliced(list, picture, picture === s.picture ? s.image : {});
      list = { ...list, at: picture.key, asked: picture.key };
    }
    const now = { ...s, worklist: list };
    return show ? wants(now, (pictures.find(({ refused }) => !refused) ?? pictures[0]).key) : now;
  },
  // serial makes the list that of a series (worklist.js).
  serial(s, { pictures, series, open }) {
    const { picture } = subject(s),
      list = s.worklist ?? lists.sliced(lists.added(null, [picture], open), picture, s.image ?? {}),
      worklist = lists.serial(list, pictures, series);
    return wants({ ...s, worklist }, worklist.at);
  },
  // fill draws corrections on lines, { key, corrections, result } each: a step of each line.
  fill(s, { fills, status }) {
    let now = { ...s, status };
    for (const { key, corrections: made, result } of fills) {
      const line = s.worklist.lines.find((one) => one.key === key),
        { picture, corrections } = line,
        { roi, weights, evidence } = line.result.asked,
        here = picture === s.picture && s.result,
        then = here ? moment(s) : { corrections, roi, weights, evidence },
        drawn = made.reduce(replaced, then.corrections),
        bytes = made.reduce((sum, one) => sum + one.bytes, 0),
        { model } = line.result,
        past = s.histories.find((one) => one.picture === picture && one.model === model),
        history = remember(here ? s.history : (past?.history ?? noHistory), then, bytes);
      if (here) now = { ...now, corrections: drawn, history };
      else
        now = {
          ...lined(now, line, { corrections: drawn, result, review: "" }),
          histories: left(now.histories, { picture, model, history }),
        };
    }
    return now;
  },
  // press requests an act (decide, step, pick, edit) by a key or a button. The act follows at once,
  // or as soon as its image is seen.
  press: (s, { act }) => pressed(s.waiting.length ? s : mended(s, UNDECIDED), act),
  // pick shows a line's image. step goes to a line, whose image is shown when nobody steps further.
  pick(s, { key, open = s.worklist.open }) {
    const now = handlers.work(s, { at: key, asked: key, open }),
      { picture, result } = lists.lineAt(now.worklist);
    if (picture.refused) return told(now, picture.refused);
    if (picture === subject(s).picture && (s.job || s.result)) return now;
    const { roi, weights, evidence } = result?.asked ?? UNASKED,
      known = result?.model === s.listed ? result.id : undefined,
      banner = s.banner?.of === UNDECIDED ? s.banner : null;
    return begin({ ...now, banner, placing: null }, { picture, roi, weights, evidence, known });
  },
  step: (s, { by, to }) =>
    to === s.worklist.at
      ? { ...s, status: by > 0 ? "This is the last image." : "This is the first image." }
      : handlers.work(s, { at: to }),
  decide(s, { what, waited, by, to, at = "" }) {
    const list = lists.decided(s.worklist, what, lists.sees(s), waited, at, s.corrections),
      { picture, review } = lists.lineAt(list ?? s.worklist),
      { name } = picture;
    if (!list) return undecided(s, name);
    const said = {
      accepted: "{name} is accepted.",
      rejected: "{name} is rejected.",
      "": "{name} is not decided.",
    };
    const now = { ...s, worklist: list, status: t(said[review], { name }) };
    return review && by ? handlers.step(now, { by, to }) : now;
  },
  // restored shows the list of a session. It is of one model.
  restored: (s, { list, model, log }) =>
    wants({ ...s, worklist: list, listed: model, model, log, field: null }, list.at),
  attached(s, { blobs }) {
    const now = { ...s, worklist: lists.attached(s.worklist, blobs) },
      { at } = now.worklist;
    return blobs.has(at) ? wants(now, at) : now;
  },
  // settled chooses one of two versions of the chosen line.
  settled(s, { take }) {
    const worklist = lists.settled(s.worklist, take),
      status = take ? "The other version is taken." : "This version is kept.",
      now = { ...s, worklist, status };
    return take ? handlers.pick(now, { key: worklist.at }) : now;
  },
  // line changes fields of a line, the chosen one unless key names another.
  line: (s, { key = s.worklist.at, ...fields }) => lined(s, { key }, fields),
  archived: (s, { picture, archived }) => lined(s, lineOf(s, picture), { archived }),
  log: (s) => s, // an entry that is no other event
  stored: (s, { list }) => safe(s, inList(list, "session")),
  // again computes failed lines once more, the chosen line first.
  again(s) {
    const now = { ...s, worklist: { ...lists.retried(s.worklist), paused: false } },
      { key, state } = lists.lineAt(now.worklist);
    return state === "waiting" ? handlers.pick(now, { key }) : now;
  },
  work: (s, values) => ({ ...s, worklist: { ...s.worklist, ...values } }), // as worklist.js has them
  thumb: (s, { picture, thumb, slice, slices }) =>
    lined(s, lineOf(s, picture), { thumb, slice, slices }),
  computed: (s, { task, result, masks }) => ({
    ...s,
    worklist: lists.done(s.worklist, task, result, masks),
  }),
  uncomputed(s, { task, error }) {
    // Without the model each line would fail for the same reason.
    if (error.code === "weights") return told(handlers.work(s, { paused: true }), error, "weights");
    return { ...s, worklist: lists.failed(s.worklist, task, error) };
  },
  written: (s, { list, what }) =>
    mended(safe(handlers.work(s, { saving: "", saved: 0 }), inList(list, what)), "worklist"),
  unwritten: (s, { error }) => told(handlers.work(s, { saving: "", saved: 0 }), error, "worklist"),
  masks: (s, { result, files }) =>
    lined(s, lineOf(s, result.asked.picture), { masks: { id: result.id, files } }),
  // leaf shows another slice of the file on the stage. A slice with work of a person keeps it in a
  // line of its own.
  leaf(s, { picture, open }) {
    const { worklist } = s,
      line = worklist && lists.sliceLine(worklist, picture, s.picture, (one) => hasWork(s, one));
    if (!worklist && !hasWork(s)) return handlers.open(s, { picture });
    if (!line) return handlers.add(s, { pictures: [picture], along: true, show: true, open });
    const there = lists.sliceOf(line) === picture.slice;
    return wants(there ? s : repictured(s, line.picture, picture), line.key);
  },

  // turn replaces the photograph by a turned one. Drawings and marks were on the old one.
  turn(s, { picture, quarters }) {
    const { answer, changed } = fieldOf(s) ?? {};
    if (s.corrections.length || subject(s).evidence.length || answer?.undo || changed)
      return noted(
        s,
        "The photograph was not turned: corrections and marks lie on it.",
        "Turn it first, or remove them.",
      );
    let { roi, weights } = s.listed === s.model ? subject(s) : UNASKED,
      [width, height] = [s.image.width, s.image.height];
    for (let i = 0; i < quarters; i++, [width, height] = [height, width])
      roi = turnedSquare(roi, height);
    const now = { ...repictured(s, s.picture, picture), banner: null, placing: null };
    return { ...begin(now, { picture, roi, weights }), status: "The photograph is turned." };
  },

  // ---- models ----
  list: (s, { name }) => ({ ...s, listed: name, choice: s.choice + 1 }),
  choosing: (s) => ({ ...s, choice: s.choice + 1 }),
  rested(s) {
    if (s.listed === s.model) return s;
    return (s.job ?? s).picture ? begin(s, {}) : { ...s, model: s.listed, preparing: s.listed };
  },
  prepared: (s) => mended(s, "preparing"),
  weights(s, { model: { name, title }, choice }) {
    const models = s.models.some((model) => model.name === name)
      ? s.models
      : [...s.models, { name, title, own: true }];
    const known = mended({ ...s, models }, "weights");
    return choice === s.choice ? handlers.rested({ ...known, listed: name }) : known;
  },

  // ---- the job ----
  progress(s, { job = s.job, progress }) {
    if (!job || (job !== s.job && job !== s.field?.wish)) return s;
    const text = stageText(progress);
    // A screen reader hears each stage once.
    return {
      ...s,
      progress,
      status: s.progress && text === stageText(s.progress) ? s.status : text,
    };
  },
  decoded(s, { job, image }) {
    if (job !== s.job) return s;
    const { picture } = job,
      turned = s.picture?.blob === picture.blob && s.picture.turn !== picture.turn;
    const line = lineOf(s, picture),
      said = line?.result?.measurements.eye;
    const kept = turned
      ? { known: s.known, eye: s.eye, look: s.look }
      : { known: line?.known ?? null, eye: said?.by === "user" ? said.side : "", look: asTaken };
    return {
      ...s,
      ...kept,
      worklist: s.worklist && lists.sliced(s.worklist, picture, image),
      picture,
      image,
      measuring: false,
      ruler: null,
      identity: false,
      patient: null,
      result: null,
      views: {},
      sliders: { ...s.sliders, moving: false, from: null },
    };
  },
  sharpened: (s, { image }) => ({ ...s, image }),
  // segmented has a result, and what the list has kept of it: views, and figures that were read
  // anew.
  segmented(s, { job, result: made, views = {}, figures }) {
    const { corrections, eye, known } = s,
      result = { ...made, asked: job };
    return job === s.job
      ? ask({
          ...s,
          coming: { result, views },
          figured: figures ? { result, corrections, eye, known, figures } : s.figured,
        })
      : s;
  },
  failed: (s, { job, error, of }) =>
    job && job !== s.job ? s : told(job ? ended(s, !REFUSED.includes(error.code)) : s, error, of),
  cancel(s) {
    const without = ended(refuseSaves(s), true),
      now = { ...without, preparing: "", status: "Cancelled.", waiting: NONE };
    return s.waiting.length
      ? noted(
          now,
          "Keys that waited for the image were dropped.",
          "Press them again once an image is shown.",
        )
      : now;
  },
  segment: (s) => (s.left ? begin(s, { ...s.left, again: false }) : s),

  // ---- views and files of a result ----
  viewed(s, { question, view }) {
    s = { ...s, questions: without(s.questions, question) };
    const { result, key } = question,
      { coming } = s;
    if (result === coming?.result)
      return { ...s, coming: { result, views: { ...coming.views, [key]: view } } };
    if (result === s.compared?.result) return pairViewed(s, key, view);
    return result === s.result ? { ...s, views: { ...s.views, [key]: view } } : s;
  },
  refused(s, { question, error }) {
    s = { ...s, questions: without(s.questions, question) };
    const { result, key } = question;
    if (result === s.coming?.result) {
      // asks again if the worker has forgotten the result or died
      if (s.job.again || ![...FORGOTTEN, "crashed"].includes(error.code))
        return told(ended(s, true), error, s.job.picture);
      return { ...s, job: { ...s.job, again: true }, coming: null };
    }
    if (result === s.compared?.result) return FORGOTTEN.includes(error.code) ? pairGone(s) : s;
    // Nobody waits for the view any more if the page shows another result or the choices changed.
    if (result !== s.result || !(key in viewsOf(layers(result, s.choices)))) return s;
    return FORGOTTEN.includes(error.code) ? renew(s, result) : told(s, error, s.picture);
  },
  // save saves a file of the chosen format. class is missing if the file has all structures.
  save(s, { what, class: c }) {
    const { result, choices, identity } = s,
      format = formatOf(s),
      [made, , , kind] = format.files[what],
      last = result.recurrences,
      shown = what === "figures" ? last : shownRecurrence(result, choices),
      classes = format.whole ? [...result.classes.keys()] : [c],
      person = lists.acceptedBy(s.worklist, s.picture),
      save = { result, what, class: c, i: shown, made, classes, identity, eye: s.eye, person },
      named = (one, ending) =>
        fileOf({ ...save, ...one }, format, stemOf(s.picture, s.image), ending);
    const files = readersOf(result, s.each && !format.once, classes).map((one) => {
      const { reader, suffix, rater } = one,
        i = reader ? last : shown,
        has = (d) => d.rater === rater && classes.includes(result.classes.indexOf(d.class)),
        drawn = i === last ? s.corrections.filter(has) : NONE,
        corrected = what === "overlay" ? showsDrawn(result, choices) : drawn.length > 0,
        file = named({ i, suffix, corrected });
      return { reader, classes: one.classes ?? classes, drawn, corrected, file };
    });
    const corrected = files.some((one) => one.corrected),
      [file, type] = files[1]
        ? [named({ corrected }, "_raters.zip"), "application/zip"]
        : [files[0].file, kind];
    return { ...s, saves: [...s.saves, { ...save, files, file, type }] };
  },
  saved: (s, { save }) =>
    mended(safe({ ...s, saves: without(s.saves, save) }, inFile(save)), "save"),
  unsaved(s, { save, error }) {
    const others = { ...s, saves: without(s.saves, save) };
    if (!FORGOTTEN.includes(error.code) || save.again) return told(others, error, "save");
    const renewed = !s.job && s.result !== save.result; // to another question
    if (!isAbout(s, save.result)) return notSaved(others, save);
    const result = renewed ? s.result : save.result,
      again = { ...save, again: true, waits: !renewed, result };
    return renew({ ...others, saves: [...others.saves, again] }, save.result);
  },

  // ---- what is shown of a result ----
  choose(s, { choices, by }) {
    const chosen = { ...s.choices, ...choices };
    if (chosen.recurrence >= s.result?.recurrences) chosen.recurrence = LAST;
    if (by === "level") chosen.levelAll = false;
    if (by === "level" || (by === "level-all" && chosen.levelAll)) chosen.levelShown = true;
    return ask({ ...s, choices: chosen });
  },
  slide(s, { m, value }) {
    const { values, from } = s.sliders,
      { weights } = from ?? subject(s),
      before = from?.m === m ? from : { m, values, weights },
      sliders = { values: shared(before.values, m, value), moving: true, from: before };
    return preview({ ...s, sliders });
  },
  equal(s) {
    const values = sharesOf(ownOf(s.result));
    return weigh({ ...s, sliders: { ...s.sliders, values, moving: true } });
  },
  weigh,

  // ---- marks ----
  // mark adds a mark, which replaces the rater's mark of the same structure, and shows the rater.
  mark(s, { mark }) {
    if (!settles(s)) return s;
    const others = subject(s).evidence.filter(
      (other) => other.rater !== mark.rater || other.class !== mark.class,
    );
    const choices = { ...s.choices, ...withRater(s, mark.rater) };
    return begin({ ...s, choices }, { evidence: [...others, mark] });
  },
  unmark: (s, { mark }) =>
    settles(s) ? begin(s, { evidence: without(subject(s).evidence, mark) }) : s,

  // ---- the region ----
  place(s) {
    // Not while another photograph is about to be shown.
    if (!s.image || (s.job && s.job.picture !== s.picture)) return s;
    const { width, height } = s.image,
      last = s.result?.roi,
      side = Math.round(Math.min(width, height) / 3);
    const square =
      last && !last.whole
        ? { x: last.x, y: last.y, side: last.side }
        : { x: Math.round((width - side) / 2), y: Math.round((height - side) / 2), side };
    return {
      ...s,
      ...NO_TOOL,
      placing: { ...square, wanted: square },
      status:
        "Placing the region. Arrow keys move it, plus and minus resize it, Enter segments, Escape cancels.",
    };
  },
  move: (s, { change }) => (s.placing ? { ...s, placing: moved(s.placing, change, s.image) } : s),
  settle(s) {
    if (!s.placing) return s;
    const { x, y, side } = s.placing,
      square = { x, y, side };
    return { ...s, placing: { ...square, wanted: square } };
  },
  leave: (s) => ({ ...s, placing: null }),
  apply(s) {
    const { x, y, side } = s.placing ?? {};
    return s.placing ? handlers.region(s, { roi: `${x},${y},${side}` }) : s;
  },
  region: (s, { roi }) => begin({ ...s, placing: null }, { roi }),

  // ---- corrections ----
  // edit begins to correct a mask, or changes the tool. The mask is then shown.
  edit(s, { waited, from, to, by, ...changes }) {
    if (s.field?.picture === s.picture) return s;
    if (!s.result?.found || !s.image)
      return noted(
        s,
        "There is nothing to correct.",
        "Open an image, or place the region by hand.",
      );
    const { classes, roi } = s.result,
      size = Math.max(4, Math.round(roi.side / 16)),
      first = { tool: "brush", size, rater: YOU, class: classes[s.choices.structure] };
    const how = { fill: "add" }[changes.tool] ?? "replace",
      editing = { ...first, ...s.editing, ...(changes.tool && { how }), ...changes };
    editing.size = Math.min(LARGEST_PEN, Math.max(1, editing.size));
    const seen = editing.rater === YOU ? { contour: true } : withRater(s, editing.rater),
      structure = classes.indexOf(editing.class),
      choices = { ...s.choices, ...seen, structure, recurrence: LAST };
    return { ...s, ...NO_TOOL, editing, choices };
  },
  unedit: (s) => handlers.undraft({ ...s, editing: null, status: "Correcting has ended." }),
  draft: (s, { correction }) => ({
    ...s,
    drafting: s.drafting ?? s.corrections,
    corrections: replaced(s.corrections, correction),
  }),
  // stroke ends a stroke. One that changes no pixel leaves no trace.
  stroke(s, { correction }) {
    const list = s.drafting ?? s.corrections,
      before = list.find((other) => sameMask(other, correction));
    if (!changes(s.views[baseView(s.result, correction).key], before, correction))
      return { ...handlers.undraft(s), status: "That changes nothing." };
    return mended(
      { ...s, drafting: null, corrections: replaced(s.corrections, correction) },
      "pen",
    );
  },
  undraft: (s) => (s.drafting ? { ...s, corrections: s.drafting, drafting: null } : s),
  uncorrect: (s) => ({ ...s, corrections: s.corrections.length ? NONE : s.corrections }),
  // recalibrate makes marks of the drawings, and settles the other masks around them.
  recalibrate(s) {
    if (!settles(s) || !s.corrections.length || s.drafting) return s;
    const margin = Math.max(4, Math.round(s.result.roi.side / 48));
    const marks = s.corrections
      .filter((c) => s.views[baseView(s.result, c).key])
      .map((c) => evidenceOf(c, s.views[baseView(s.result, c).key], margin));
    const others = subject(s).evidence.filter(
      (mark) => !marks.some((made) => sameMask(made, mark)),
    );
    return {
      ...begin(s, { evidence: [...others, ...marks] }),
      status: "Recomputing around what was corrected.",
    };
  },
  undo: (s) => (canUndo(s) ? taken(s, "undo", back, "Undone.") : s),
  redo: (s) => (canRedo(s) ? taken(s, "redo", forth, "Done again.") : s),

  // ---- all objects of a picture ----
  // field changes values of the field, or begins one. saved is what a file now has of it.
  field(s, { saved = NONE, status = s.status, ...values }) {
    const now = { ...s, status, field: { ...s.field, ...values } };
    if (!("wish" in values)) return safe(now, saved);
    return mended(
      { ...now, ...NO_TOOL, editing: null, progress: s.job ? s.progress : null },
      "pen",
    );
  },
  // change asks for a change, if none is being computed.
  change: (s, { wish }) =>
    fieldOf(s) && !s.field.wish ? { ...s, field: { ...s.field, wish } } : s,
  // copied gives a picture's line a copy of the objects that an answer lists, unless they were
  // changed or closed meanwhile.
  copied(s, { picture, answer, kept }) {
    const here = s.field?.answer === answer;
    if (!here && [s.picture, s.field?.picture].includes(picture)) return s;
    const now = here ? { ...s, field: { ...s.field, kept } } : s,
      saved = s.safe.includes(answer) ? [kept] : NONE;
    return safe(lined(now, lineOf(s, picture), { field: kept }), saved);
  },
  unfield: (s) => lined({ ...s, field: null }, lineOf(s, s.field.picture), { field: null }),

  // ---- measuring ----
  measure: (s, { on }) =>
    on && !s.image
      ? s
      : {
          ...(on && s.editing ? handlers.unedit(s) : s),
          ...NO_TOOL,
          measuring: on,
          status: on
            ? "Measuring. Arrow keys move an end of the line, space takes the other end, Escape ends it."
            : "Measuring has ended.",
        },
  rule: (s, { ruler }) => (s.measuring ? { ...s, ruler } : s),
  // scale takes the length of the ruler's line in mm; null forgets the scale.
  scale(s, { mm }) {
    const pixels = s.ruler
      ? Math.hypot(s.ruler.to[0] - s.ruler.from[0], s.ruler.to[1] - s.ruler.from[1])
      : 0;
    if (mm !== null && !(mm > 0 && pixels > 0)) return s;
    return {
      ...s,
      known: mm && mm / pixels,
      status: mm ? "Lengths are in millimetres now." : "The scale is forgotten.",
    };
  },
  // eye sets the eye, "right" or "left", or removes it ("").
  eye: (s, { eye }) => ({ ...s, eye }),
  figured: (s, { wish, figures }) =>
    wish === s.figuring ? { ...s, figuring: null, figured: { ...wish, figures } } : s,
  unfigured(s, { wish, error }) {
    if (wish !== s.figuring) return s;
    return FORGOTTEN.includes(error.code) ? renew(s, wish.result) : told(s, error, s.picture);
  },
  look: (s, { look }) => ({ ...s, look: { ...s.look, ...look } }),

  // ---- the page ----
  set: (s, values) => ({ ...s, ...values }), // opacity, scale, dragging, theme
  note: (s, { message, next, of }) => noted(s, message, next, { of }),
  dismiss: (s) => ({ ...s, banner: null }),
};

// toKeep are the models that the user wants to keep and that are not kept yet.
export const toKeep = ({ keepAll, kept, models }) =>
  keepAll && kept ? models.filter(({ own, name }) => !own && !kept.includes(name)) : [];

// undecided reports decisions by keys about images that have no result to look at.
function undecided(s, name) {
  const names = [...new Set([...(s.banner?.of === UNDECIDED ? s.banner.names : []), name])];
  return noted(
    s,
    `Not decided, as there is no result to look at: ${names.join(", ")}.`,
    "Compute it again, or reject it.",
    { of: UNDECIDED, names },
  );
}

// ---- lines of the list ----

// wants asks for the image of a line.
const wants = (s, key) => handlers.press(s, { act: { type: "pick", key } });
// lineOf is the line of a picture, if there is one.
const lineOf = ({ worklist }, picture) => worklist && lists.lineBy(worklist, picture);
// lined changes fields of a line, if there is one.
const lined = (s, line, fields) =>
  line ? { ...s, worklist: lists.changed(s.worklist, line, fields) } : s;
const repictured = (s, from, picture) => ({
  ...s,
  worklist: s.worklist && lists.pictured(s.worklist, from, picture),
});

// ---- messages ----

const without = (list, item) => list.filter((other) => other !== item);
const computedBy = (s, { adapter, gpu, software, reason, why }) => ({
  ...s,
  device: { adapter, gpu, software, reason, why },
  hadGPU: s.hadGPU || gpu,
});

// told shows an error. of: what the error is about, if a later success takes the message away: a
// picture, "weights" or "save".
function told(s, { code, message, next }, of = null) {
  return code === "cancelled"
    ? { ...s, status: "Cancelled." }
    : { ...s, banner: { message, next, of } };
}
// noted shows a message that is no error.
const noted = (s, message, next, more) => ({
  ...s,
  banner: { message, next, kind: "note", ...more },
});
// mended removes the message about something that now works. Other messages stay.
const mended = (s, of) => (s.banner && s.banner.of === of ? { ...s, banner: null } : s);

// ---- jobs and results ----

// settles says whether marks can be given: not while another photograph or model is being loaded.
const settles = (s) =>
  Boolean(s.result?.takesMarks) && s.result.model === s.listed && subject(s).picture === s.picture;

// begin starts a job that replaces the running one. changes has the new values; all other values of
// photograph, region, weights and marks are those of the running job or the last result. A model
// that was only listed computes from now on. The result on the stage stays until the new one is
// complete, and a job that fails leaves it there.
function begin(s, changes) {
  const { picture, roi, weights, evidence } = subject(s),
    other = s.listed !== s.model;
  const job = { picture, ...(other ? UNASKED : { roi, weights, evidence }), ...changes };
  const progress = quick(s, job) ? null : { stage: "start" };
  const preparing = other ? "" : s.preparing,
    begun = { ...s, ...NO_JOB, model: s.listed, preparing, job, progress };
  return refuseSaves(begun, (save) => isAbout(begun, save.result));
}

const NO_JOB = { job: null, left: null, progress: null, coming: null };
const FORGOTTEN = ["gone", "silent"]; // codes of errors: the worker has no result any more
const REFUSED = ["image", "options", "evidence"]; // codes of errors that trying again does not mend
// ended is the state without its job. The list and the sliders show the model and the weights of
// the result on the stage again. If again is true and nothing of the job's photograph is shown, the
// job can begin again.
function ended(s, again = false) {
  const left = again && s.job && s.result?.asked.picture !== s.job.picture ? s.job : null,
    saves = s.saves.filter(({ waits }) => !waits),
    without = { ...s, ...NO_JOB, left, saves };
  if (!s.result) return without;
  const { model, asked } = s.result,
    listed = s.listed === s.model ? model : s.listed;
  return { ...without, model, listed, sliders: slidersAt(s, s.result, asked.weights) };
}

// shown puts a coming result on the stage once it has all views that the controls need, so that
// parts of different results are never shown together.
function shown(s) {
  if (!s.coming) return s;
  const { result, views } = s.coming,
    choices = fitted(s.choices, result);
  if (Object.keys(viewsOf(layers(result, choices))).some((key) => !(key in views))) return s;
  const sliders = slidersAt(s, result, result.asked.weights);
  return preview({
    ...mended(s, s.picture),
    ...NO_JOB,
    result,
    views,
    choices,
    sliders,
    saves: s.saves.map((save) => (save.waits ? { ...save, result, waits: false } : save)),
    status: sliders.moving ? s.status : s.worklist?.study ? t("Done.") : announced(result), // a study tells no figures
  });
}
function announced(result) {
  const seconds = (result.timings.total ?? 0) / 1000;
  return `${seconds ? t("Done in {n} seconds.", { n: number(seconds, 1) }) : t("Done.")} ${sentence(result)}`;
}

// ask adds questions for views that the controls need and that have not been requested.
function ask(s) {
  const { coming, compared, questions } = s,
    more = [];
  for (const side of [s, coming, compared].filter((one) => one?.result)) {
    const { result, views } = side,
      known = ({ key }) =>
        key in views || questions.some((one) => one.result === result && one.key === key),
      wanted =
        side === compared ? wantedViews(s) : viewsOf(layers(result, fitted(s.choices, result)));
    for (const view of Object.values(wanted)) if (!known(view)) more.push({ result, ...view });
  }
  return { ...s, questions: [...questions, ...more] };
}

// isAbout says whether photograph, region, weights, marks and model are still those of a result.
const isAbout = (s, { asked, model }) =>
  sameButWeights(subject(s), asked) &&
  subject(s).weights === asked.weights &&
  [s.model, s.listed].every((name) => name === model);
const sameButWeights = (a, b) =>
  ["picture", "roi", "evidence"].every((what) => a[what] === b[what]);

// withRater are the choices by which the lines of a rater, if it is one, are shown.
function withRater({ result, choices: { raters } }, name) {
  const m = result.raters.indexOf(name);
  return { raters: m < 0 || raters.includes(m) ? raters : [...raters, m].sort() };
}

// renew segments again to replace a result that the worker has forgotten: a worker keeps its last
// four, including those of scripts, and a new worker has none. If a job runs, another result is
// shown, or the page has changed since, renew changes nothing: the user would get another mask than
// the requested one.
function renew(s, result) {
  return s.job || s.result !== result || !isAbout(s, result) ? s : begin(s, { anew: true });
}

// refuseSaves gives up the files that wait for a result, except those for which keep says true.
function refuseSaves(s, keep = () => false) {
  const refused = s.saves.filter((save) => save.waits && !keep(save));
  return refused.reduce((s, save) => notSaved({ ...s, saves: without(s.saves, save) }, save), s);
}
function notSaved(s, { file, result }) {
  const message = `${file} was not saved: its result is no longer in memory.`,
    next = `Open ${result.asked.picture.name} and segment it again as it was, then save.`;
  return told(s, { message, next }, "save");
}
// showsDrawn says whether the stage shows a mask on which a person drew.
const showsDrawn = (result, choices) =>
  layers(result, choices).lines.some(({ edited }) => edited?.drawn);

// ---- raters' weights ----

// weighed are those whose weights the mask follows: panels, or the raters of a model without.
export const weighed = ({ raters, panels = [] }) => (panels.length ? panels : raters);
// ownOf are the weights that a model gives them.
const ownOf = (result) => (result.own?.length ? result.own : weighed(result).map(() => 1));
// steers says whether the mask follows weights, and there is something to share.
export const steers = (result) => result.steered && weighed(result).length > 1;
// slidersAt sets the sliders to the weights of a result. While the user moves them they stay,
// unless the result is another model's.
function slidersAt({ sliders, choices }, result, weights) {
  if (sliders.moving && choices.model === result.model) return sliders;
  return resting(steers(result) ? sharesOf(weights ?? ownOf(result)) : []);
}
const resting = (values) => ({ values, moving: false, from: null });
function weigh(s) {
  const { values, moving } = s.sliders,
    rested = { ...s, sliders: resting(values) };
  if (!moving || s.result?.model !== s.listed) return rested;
  const weights = weightsOf(values, ownOf(s.result)),
    now = subject(s).weights;
  if (!follows(s.result) || !sameWeights(weights, now)) return begin(rested, { weights });
  return s.job ? rested : { ...rested, status: announced(s.result) }; // a preview has shown it
}

// follows says whether the worker needs only a moment for a change of weights alone: in models that
// take marks, weights act in the consensus and in no pass (model/DECISIONS.md).
const follows = ({ steered, takesMarks }) => steered && takesMarks;
// quick says whether a job changes only weights, in such a model. The page then shows no progress
// unless the worker has to do more.
function quick(s, job) {
  const { result } = s;
  return (
    Boolean(result) &&
    follows(result) &&
    result.model === s.listed &&
    !sameWeights(job.weights, result.asked.weights) &&
    sameButWeights(job, result.asked)
  );
}
// preview begins to compute for the sliders while they move, one result after the other.
function preview(s) {
  if (!s.sliders.moving || s.job || !s.result) return s;
  const weights = weightsOf(s.sliders.values, ownOf(s.result));
  if (!quick(s, { ...subject(s), weights })) return s;
  const replaces = s.result.asked.previews ? s.result.id : undefined;
  return begin(s, { weights, previews: true, replaces });
}

// ---- corrections and the history ----

const replaced = (list, correction) => [
  ...list.filter((other) => !sameMask(other, correction)),
  correction,
];
// moment is the part of a state that the history remembers. While sliders move, it has the weights
// before.
function moment(s) {
  const { moving, from } = s.sliders,
    { roi, evidence } = subject(s),
    { weights } = (moving && from) || subject(s);
  return { corrections: s.drafting ?? s.corrections, roi, weights, evidence };
}
function forgotten(s) {
  if (s.field.kept) return { ...s, field: null }; // it is given back
  const message = "The program that computes was started again, and what it had found is gone.";
  return noted({ ...s, field: null }, message, "Find all again.");
}
// fielded ends a field whose picture or model is no longer shown, unless a person has changed it or
// the list has no copy yet. A job or Cancel ends what is being computed.
function fielded(s, before, type) {
  const { field, picture, result, job } = s;
  if (!field) return s;
  const ends = field.wish && (job || type === "cancel"),
    now = ends ? { ...field, wish: null } : field,
    here = field.picture === picture && (!result || result.model === field.model),
    uncopied = !field.kept && lineOf(s, field.picture),
    away = field.picture !== picture && (field.answer?.undo || uncopied),
    kept = (here || away) && (now.answer || now.wish) ? now : null;
  return kept === field ? s : { ...s, field: kept };
}
const steady = (s) =>
  Boolean(s.result) &&
  s.result.model === s.listed &&
  subject(s).picture === s.picture &&
  !s.drafting;
function stepsOf(s) {
  const { past, future } = s.history,
    field = fieldOf(s);
  if (field) return field.wish ? {} : field.answer;
  return steady(s) ? { undo: past.length, redo: future.length } : {};
}
const taken = (s, what, step, status) =>
  fieldOf(s)
    ? handlers.change(s, { wish: { do: what, done: status } })
    : stepped(s, step(s.history, moment(s)), status);
export const canUndo = (s) => stepsOf(s).undo > 0;
export const canRedo = (s) => stepsOf(s).redo > 0;
export const canRecalibrate = (s) => settles(s) && s.corrections.length > 0;

function stepped(s, { history, moment: { corrections, ...asked } }, status) {
  const now = { ...s, corrections, history },
    { bytes, ...changes } = asked;
  const again = Object.keys(changes).some((key) => changes[key] !== subject(s)[key]);
  if (!again) return { ...now, status };
  const values = s.sliders.values.length ? sharesOf(changes.weights ?? ownOf(s.result)) : [];
  return { ...begin(now, changes), sliders: resting(values), status };
}

// remembered adds a step to the history. Changes by a worker or a failure are no steps.
const UNWEIGHED = ["stroke", "uncorrect", "recalibrate", "mark", "unmark", "region", "apply"],
  STEPS = [...UNWEIGHED, "weigh", "equal"],
  SETTLED = [...UNWEIGHED, "undo", "redo"];
function remembered(s, before, type) {
  if (s.history !== before.history) return s;
  const then = moment(before),
    now = moment(s);
  if (same(then, now)) return s;
  if (!STEPS.includes(type) || !steady(s)) return { ...s, history: trimmed(s.history, now) };
  const bytes = type === "stroke" ? s.corrections.at(-1).bytes : 0;
  return { ...s, history: remember(s.history, then, bytes) };
}

// returned removes the steps whose job has ended without a result. Steps of corrections need no
// job, and stay.
function returned(s, before, type) {
  const { stepping, history } = s;
  if (stepping && !s.job) {
    const { to, ...from } = stepping,
      back = s.result === before.result && history !== noHistory && before.history === to;
    return { ...s, stepping: null, ...(back && from) };
  }
  const asks = s.job !== before.job || type === "undo" || type === "redo";
  if (!s.job || history === before.history || !asks) return s;
  const from = stepping?.to === before.history ? stepping : before;
  return { ...s, stepping: { history: from.history, corrections: from.corrections, to: history } };
}

// kept drops corrections and history if another photograph or model is shown. A line of the
// worklist gets its own back, and a photograph of a comparison its corrections.
function kept(s, before, type) {
  if (type === "swap") return s;
  const other =
    s.picture !== before.picture ||
    (s.result && before.result && s.result.model !== before.result.model);
  if (!other) return s;
  const { picture, history } = before,
    line = s.picture !== picture && lineOf(s, s.picture),
    model = before.result?.model;
  const histories = s.worklist ? left(s.histories, { picture, model, history }) : s.histories,
    known = histories.find((one) => one.picture === s.picture && one.model === s.model);
  return {
    ...s,
    corrections: line?.corrections ?? NONE,
    drafting: null,
    editing: null,
    history: (line && known?.history) || noHistory,
    histories,
    choices: { ...s.choices, edited: [] },
  };
}

// targeted requests the maps below masks that are, or will be, corrected.
function targeted(s) {
  if (!s.result) return s;
  const list = editedOf(s.result, s.corrections, s.editing),
    { edited } = s.choices;
  const is = (one, i) => sameMask(one, edited[i]) && one.drawn === edited[i].drawn;
  if (list.length === edited.length && list.every(is)) return s;
  return ask({ ...s, choices: { ...s.choices, edited: list } });
}

// measured updates the figures after each stroke has ended, since for a large mask they take long.
function measured(s) {
  if (!s.result) return s.measured ? { ...s, measured: null } : s;
  const made = s.drafting ? s.measured : figuresOf(s);
  return asking(made === s.measured ? s : { ...s, measured: made });
}
// asking requests figures that the worker has not computed and has not been asked for.
function asking(s) {
  const wish = s.drafting ? s.figuring : wishOf(s),
    figuring = wish && !sameWish(s.figured, wish) ? wish : null;
  return s.figuring === figuring || (figuring && sameWish(s.figuring, figuring))
    ? s
    : { ...s, figuring };
}

// whoMarks are the raters whose masks can be corrected.
export const whoMarks = (result) => [YOU, ...(byLevels(result) ? [] : result.raters)];

// ---- the square ----

// moved is the square after a change of x, y or side. It stays within limits: at least a quarter of
// its side is on the photograph. wanted is the square without limits, to which the change is made,
// so that the first digits of a number being typed do not change the other numbers.
export function moved({ wanted }, change, { width, height }) {
  const asked = { ...wanted, ...change },
    side = sideWithin(asked.side, { width, height });
  const within = (at, length) =>
    Math.round(Math.min(length - side / 4, Math.max(-0.75 * side, at)));
  return { x: within(asked.x, width), y: within(asked.y, height), side, wanted: asked };
}
export const sideWithin = (side, { width, height }) =>
  Math.round(Math.min(2 * Math.max(width, height), Math.max(SMALLEST, side)));

// ---- words ----

const STAGES = {
  start: "Waiting for the program",
  download: "Downloading the model",
  decode: "Reading the image",
  compile: "Preparing the network",
  search: "Finding the region",
  segment: "Segmenting, Rec",
  mirror: "Segmenting the mirror image, Rec",
  find: "Finding all",
  outline: "Drawing outlines",
};
export function stageText({ stage, done }) {
  const text = STAGES[stage] ?? stage;
  return text.endsWith("Rec") ? text + done : text;
}
