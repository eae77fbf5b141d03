// Learning from people's marks in this page: a section of the panel, and the page's side of the
// worker that learns (trainer.js). page.js loads this module when it is wanted.
import { check as published, get } from "../page/addresses.js";
import { $, button, element, svg } from "../page/dom.js";
import { check, guarded, scriptURL } from "../worker/scripts.js";
import { SegmentError } from "../worker/segmenter.js";
import { number, t } from "../words/words.js";

const AGAIN = "-again"; // ends the name of a rater's second readings, from which nothing learns
const LEAST = 12; // images to learn from and to compare on
const FEW_PATIENTS = 9; // a certificate takes as many
const FEW = 40,
  FOLDS = 5; // with fewer images every one is judged, by the run of a fold that has not seen it
const TOLD = "/shipped/told.yaml"; // the file of train -with
const ROOM = 600e6; // bytes for two checkpoints and the models
const STEPS = { 128: 300, 256: 100 },
  BATCH = 4,
  RATE = 2e-4,
  PREVIEWS = 6; // of a training; steps by the side of the model's images

// Learner runs the worker. Events: "note" (detail: what the program prints), "step" (detail: a line
// of log.jsonl), "ended" (detail: { code, error }).
export class Learner extends EventTarget {
  #worker = null;
  #prepared = null; // a promise of a worker that has not begun
  #turn = 0; // an end also ends what is being opened

  // prepare has a worker compile a program that will begin: trainer, or together (wasm/together).
  prepare(program) {
    this.#prepared = this.#open().then((worker) => {
      worker.postMessage({ type: "load", program });
      return worker;
    });
    this.#prepared.catch(() => {}); // begin throws it
  }

  // begin starts the program with its arguments (train -h), after the files, each { path, blob },
  // are written. anew removes what was there. device is a name of -device, or "" for the best.
  async begin({ program = "trainer", args, files = [], anew = false, device = "" }) {
    const worker = await (this.#prepared ?? this.#open());
    this.#prepared = null;
    worker.postMessage({ type: "begin", program, args, files, anew, device });
  }

  // open resolves to a new worker, in place of the one before.
  async #open() {
    this.end();
    const turn = this.#turn;
    await guarded();
    await check();
    for (const name of ["trainer.js", "opfs.js"]) await published(name);
    if (turn !== this.#turn) throw new DOMException("it was ended", "AbortError");
    const worker = (this.#worker = new Worker(scriptURL("trainer.js"), { type: "module" }));
    const tell = ({ type, ...detail }) => {
      if (worker !== this.#worker) return;
      if (type === "ended") this.end();
      this.dispatchEvent(new CustomEvent(type, { detail: detail[type] ?? detail }));
    };
    worker.onmessage = ({ data }) => tell(data);
    worker.onerror = (event) => {
      event.preventDefault();
      tell({ type: "ended", code: 1, error: event.message || "the program that learns stopped" });
    };
    return worker;
  }

  get running() {
    return this.#worker !== null;
  }

  // type gives the program a line of input.
  type(line) {
    this.#worker?.postMessage({ type: "type", line });
  }

  // pause has the program end its step, save and stop.
  pause() {
    this.#worker?.postMessage({ type: "pause" });
  }

  // end ends the worker at once. The last checkpoint stays.
  end() {
    this.#turn++;
    this.#worker?.terminate();
    this.#worker = this.#prepared = null;
  }
}

// kept resolves to the File of a path that the program wrote, such as /run/model.safetensors, or to
// null.
export async function kept(path) {
  let at = await navigator.storage.getDirectory();
  const names = ["learning", ...path.split("/").filter(Boolean)],
    name = names.pop();
  try {
    for (const folder of names) at = await at.getDirectoryHandle(folder);
    return await (await at.getFileHandle(name)).getFile();
  } catch (error) {
    if (error.name === "NotFoundError") return null;
    throw error;
  }
}

// remains is what a run has left in this browser: "saved", with a checkpoint, from which it goes
// on. Of a tab that was killed while it wrote one there may be the previous one alone. "data" is a
// copy of images alone, and "" nothing.
async function remains() {
  for (const path of ["/run/checkpoint.safetensors", "/run/checkpoint.previous.safetensors"])
    if (await kept(path)) return "saved";
  return (await kept("/data").catch(({ name }) => name === "TypeMismatchError")) ? "data" : ""; // it is a folder
}

const refused = (message) => new SegmentError({ code: "data", message });

// textOf resolves to the text of a file that an editor has saved in UTF-8 or UTF-16.
async function textOf(blob) {
  const data = await blob.arrayBuffer(),
    [first, second] = new Uint8Array(data);
  const form =
    second === 0 || second === 0xfe
      ? "utf-16le"
      : first === 0 || first === 0xfe
        ? "utf-16be"
        : "utf-8";
  return new TextDecoder(form).decode(data);
}

// dataset reads what a dropped folder offers: its description, the files to learn from, and how
// many images there are.
async function dataset(files) {
  const { name, blob } = files.find(({ name }) => /(^|\/)dataset\.json$/.test(name)),
    root = name.slice(0, -"dataset.json".length);
  let about;
  try {
    about = JSON.parse(await textOf(blob));
  } catch {
    throw refused(t("dataset.json is not JSON. Write it anew, as the page about training shows."));
  }
  const inside = files
    .filter(({ name }) => name.startsWith(root))
    .map(({ name, blob }) => ({ name: name.slice(root.length), blob }));
  return described(about, inside);
}

// described is what dataset gives of a description and the files beside it.
export function described(about, inside) {
  const names = (all = []) => {
    if (Array.isArray(all) && all.every((name) => typeof name === "string")) return all;
    throw refused(
      t(
        "dataset.json has no lists of names as classes and raters. Write it anew, as the page about training shows.",
      ),
    );
  };
  const classes = names(about?.classes),
    people = names(about?.raters);
  const needed = inside.filter(({ name }) =>
    /^(dataset\.json|groups\.csv|split\.json|marks\.csv|images\/|raters\/|truth\/)/.test(name),
  );
  const isSecond = (rater) =>
    rater.endsWith(AGAIN) && people.includes(rater.slice(0, -AGAIN.length));
  const raters = people.filter(
    (rater) => !isSecond(rater) && needed.some(({ name }) => name.startsWith(`raters/${rater}/`)),
  );
  const unmarked = classes.filter(
    (c) => !needed.some(({ name }) => name.startsWith("raters/") && name.split("/")[2] === c),
  );
  if (unmarked.length)
    throw refused(
      t("Nobody marked {classes}: take that out of dataset.json, or add the marks.", {
        classes: unmarked.join(", "),
      }),
    );
  return {
    name: String(about?.name ?? "marks")
      .replace(/[^\w-]+/g, "-")
      .slice(0, 50),
    classes,
    raters,
    images: needed.filter(({ name }) => name.startsWith("images/")).length,
    files: needed,
  };
}

// metadata is what a file of weights says of itself.
async function metadata(blob) {
  const size = new DataView(await blob.slice(0, 8).arrayBuffer()).getUint32(0, true);
  return JSON.parse(await blob.slice(8, 8 + size).text()).__metadata__;
}

// order is what the program is told: learn from a data set, and start from a model that ships, or
// certify that model.
async function order(data, { model, steps }, folds, certifies) {
  const { quota = Infinity, usage = 0 } = await navigator.storage.estimate(),
    left = quota - usage;
  if (left < ROOM)
    throw refused(
      t(
        "The browser gives this site {left} MB more, and learning takes {needed} MB. Make room on the disk, or leave the private window.",
        { left: Math.round(left / 1e6), needed: ROOM / 1e6 },
      ),
    );
  const response = await get(`weights/${model}.safetensors`),
    blob = await response.blob(),
    about = await metadata(blob),
    start = `/shipped/${model}.safetensors`;
  const files = [
    { path: start, blob },
    ...data.files.map(({ name, blob }) => ({ path: `/data/${name}`, blob })),
  ];
  if (certifies)
    return {
      args: [
        "certify",
        "-data",
        "/data",
        "-weights",
        start,
        "-out",
        `/run/${data.name}-model.safetensors`,
      ],
      anew: true,
      files: [{ path: "/run/begun", blob: new Blob() }, ...files], // the folder is there
    };
  const side = Number(about.side),
    epochs = Math.max(
      1,
      Math.round(((steps || STEPS[side]) * BATCH) / ((folds ? 1 : 0.8) * data.images)),
    );
  const told = {
    data: "/data",
    out: "/run",
    name: `${data.name}-model`,
    init: model,
    judge: model,
    config: about.configuration.replace(/-(steered|anchored|evidence)/g, ""),
    batch: BATCH,
    side,
    epochs,
    rate: RATE,
    dice: 1,
    save: 30,
    previews: PREVIEWS,
  };
  if (folds) told.cross = folds;
  if (about.classes === JSON.stringify(data.classes)) told["heads-first"] = 0.25; // the model finds the structures already
  if (data.classes.includes(about.anchor)) told.anchor = about.anchor;
  if (JSON.parse(about.normalisation).standardise) told.standardise = true;
  if (about.pieces === "single") told["single-pieces"] = true;
  if (about.orientation === "any") told.orientation = "quarters";
  const lines = Object.entries(told).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
  return {
    args: ["-with", TOLD],
    anew: true,
    files: [{ path: TOLD, blob: new Blob(lines) }, ...files],
  };
}

// ---- the section of the panel ----

const learner = new Learner(),
  losses = [];
let shown = null; // { section, …, page, data, name } while there is the section

// showLearning shows what a folder's files can teach; files is null for a run that was paused. page
// has: model and title of a shipped one to start from; name, of the run that was paused; device and
// steps, where the address says them; use(file), which opens a model; bring(files), which compares
// people; download; and remember(name),
// which keeps the name of a run for the next visit.
export async function showLearning(files, page) {
  const data = files && (await dataset(files)),
    name = data ? `${data.name}-model` : page.name;
  if (!data && !(await remains())) return page.remember("");
  if (learner.running) throw refused(t("The page is learning already. Pause that first."));
  shown?.section.remove();
  const texts = {
    what: element("p", {}),
    all: element(
      "label",
      { className: "check", hidden: true },
      element("input", { type: "checkbox", checked: true }),
      t(
        "Judge it on every image, and teach it when to doubt, by {n} more runs that each leave a part out",
        { n: FOLDS },
      ),
    ),
    line: element("p", { className: "figure", role: "status" }),
    meter: element("progress", { max: 1, hidden: true, ariaLabel: t("Learn from these marks") }),
    curve: element("div", {}),
    seen: element("figure", { hidden: true }, element("img", {}), element("figcaption", {})),
  };
  const running = {
    begin: button(t("Learn"), () => start(true), "primary grow"),
    certify: button(t("Certify this camera"), () => start(true, true)),
    pause: button(t("Pause"), pause),
    go: button(t("Go on"), () => start(false), "primary grow"),
  };
  const made = {
    use: button(t("Use this model"), async () =>
      page.use(await kept(`/run/${shown.name}.safetensors`)),
    ),
    save: button(t("Save it"), save),
    forget: button(t("Forget it"), forget),
  };
  const beside = button(t("Bring together…"), () => page.bring(data.files));
  beside.hidden = !(data?.raters.length > 1);
  const section = element(
    "section",
    { id: "learning", ariaLabel: t("Learn from these marks") },
    element("h2", {}, t("Learn from these marks")),
    ...Object.values(texts),
    element("div", { className: "row" }, ...Object.values(running), beside),
    element("div", { className: "row" }, ...Object.values(made)),
  );
  shown = { ...texts, ...running, ...made, section, page, data, name };
  $("panel").querySelector("section").after(section);
  losses.length = 0;
  offer(...(data ? ["begin", "certify"] : []));
  if (data) introduce(data);
  else await ended({ code: 0 }); // a run of an earlier visit
  section.scrollIntoView({ block: "nearest" });
}

// offer shows these buttons and no others.
const offer = (...names) => {
  for (const name of ["begin", "certify", "pause", "go", "use", "save", "forget"])
    shown[name].hidden = !names.includes(name);
};
const tell = (text) => {
  shown.line.textContent = text;
};

function introduce({ images, raters, classes }) {
  const { what, begin, certify, all, page } = shown,
    said = [
      t("Images: {images}. People: {raters}. Structures: {classes}.", {
        images,
        raters: raters.join(", "),
        classes: classes.join(", "),
      }),
    ];
  begin.disabled = images < LEAST || !raters.length;
  certify.hidden = !classes.includes("disc") || !classes.includes("cup");
  certify.disabled = images < FEW_PATIENTS || !raters.length;
  if (begin.disabled)
    said.push(
      t("That is too little: it takes at least {n} images, and marks of one person or more.", {
        n: LEAST,
      }),
    );
  else {
    said.push(
      t(
        "It starts from the model {model}, and at the end compares both models on images that the new one has not seen. Nothing leaves this page.",
        { model: page.title },
      ),
    );
    all.hidden = false;
    all.firstChild.checked = images < FEW;
    if (raters.length === 1)
      said.push(t("The marks are of one person: the model cannot know how people differ."));
  }
  what.textContent = said.join(" ");
}

async function start(anew, certifies = false) {
  const { page, data, name, all } = shown,
    folds = !certifies && !all.hidden && all.firstChild.checked ? FOLDS : 0;
  all.hidden = true;
  offer(...(certifies ? [] : ["pause"]));
  shown.meter.hidden = false;
  shown.meter.removeAttribute("value");
  tell(
    certifies ? t("Certifying: it compares its ratio with the marked one …") : t("Getting ready …"),
  );
  try {
    page.remember(name);
    shown.runs =
      1 +
      (anew
        ? folds
        : Number(/^cross: (\d+)/m.exec(await (await kept("/run/run.yaml"))?.text())?.[1] ?? 0));
    await learner.begin({
      ...(anew
        ? await order(data, page, folds, certifies)
        : { args: ["-with", "/run", "-resume"] }),
      device: page.device,
    });
  } catch (error) {
    ended({ code: 1, error: error.message });
  }
}

function pause() {
  shown.pause.disabled = true;
  learner.pause();
}

learner.addEventListener("step", ({ detail: { run, step, steps, loss, seconds, preview } }) => {
  if (preview) see(preview, run, step);
  if (step <= losses.at(-1)?.step) losses.length = 0; // of the run before
  losses.push({ step, loss, seconds });
  const recent = losses.slice(-20),
    each = recent.reduce((sum, one) => sum + one.seconds, 0) / recent.length,
    { runs } = shown,
    left = (runs - run) * steps - step; // run counts from 0
  shown.meter.value = 1 - left / (runs * steps);
  const said = t("Step {step} of {steps}, about {minutes} min left", {
    step,
    steps,
    minutes: number(Math.ceil((left * each) / 60)),
  });
  if (runs > 1 && left <= 0) tell(t("Comparing the models, and learning when to doubt …"));
  else tell(runs > 1 ? t("Run {run} of {runs}: {said}", { run: run + 1, runs, said }) : said);
  shown.curve.replaceChildren(curve(steps));
});
learner.addEventListener("ended", ({ detail }) => ended(detail));

// see shows how the model sees an image after a step of a run: a fold, or 0.
async function see({ apart }, run, step) {
  const { seen } = shown,
    file = await kept(`/run/${run ? `fold${run}/` : ""}preview.svg`),
    [picture, caption] = seen.children;
  if (!file) return;
  URL.revokeObjectURL(picture.src);
  picture.src = URL.createObjectURL(new Blob([file], { type: "image/svg+xml" }));
  caption.textContent = picture.alt = t(
    apart
      ? "An image that it does not learn from, after step {step}: the outlines of people are white, the model's are coloured."
      : "An image that it learns from, after step {step}: the outlines of people are white, the model's are coloured.",
    { step },
  );
  seen.hidden = false;
}

// curve draws the loss, as a mean over its neighbours, and names the ends of both axes.
function curve(steps) {
  const smooth = losses.map(({ step }, i) => {
    const near = losses.slice(Math.max(0, i - 8), i + 1);
    return [step, near.reduce((sum, { loss }) => sum + loss, 0) / near.length];
  });
  const [step, now] = smooth.at(-1),
    said = t("Loss {loss} at step {step} of {steps}", { loss: number(now, 3), step, steps });
  const most = Math.max(...smooth.map(([, loss]) => loss)),
    points = smooth.map(([step, loss]) => [(100 * step) / steps, 29 - (28 * loss) / most]);
  const end = (text, x, y, anchor) =>
    svg("text", { x, y, "text-anchor": anchor, "font-size": 3.5, fill: "currentColor" }, text);
  const line = (d, width) =>
    svg("path", { d, fill: "none", stroke: "currentColor", "stroke-width": width });
  return svg(
    "svg",
    { viewBox: "0 0 100 34", role: "img", "aria-label": said },
    line("M.2 1V29H100", 0.2),
    end(number(most, 3), 1, 4, "start"),
    end(0, 0, 33, "start"),
    end(said, 50, 33, "middle"),
    end(steps, 100, 33, "end"),
    line(`M${points.join(" ")}`, 0.7),
  );
}

async function ended({ code, error }) {
  shown.pause.disabled = false;
  shown.meter.hidden = true;
  const is = await remains(),
    judgement = code === 0 && (await kept("/run/judgement.json")),
    model = code === 0 && (await kept(`/run/${shown.name}.safetensors`)),
    said = [];
  if (judgement) {
    const judged = JSON.parse(await judgement.text());
    said.push(verdict(judged), errors(judged));
  }
  const { certificate } = model ? await metadata(model) : {};
  if (certificate) said.push(certified(JSON.parse(certificate)));
  if (said.length) {
    offer("use", "save", "forget");
    return tell(said.join(" "));
  }
  offer(
    ...(is === "saved" ? ["go"] : shown.data ? ["begin", "certify"] : []),
    ...(is ? ["forget"] : []),
  );
  if (code === 0 && is !== "saved")
    return tell(
      t(
        "It ended before it had saved anything, and cannot go on. A copy of its images is still in this browser: forget it, or learn anew from the folder.",
      ),
    );
  tell(
    code === 0
      ? t("Paused. It goes on where it was, also after the page was loaded anew.")
      : t("It stopped: {message}", { message: t(error) }),
  );
}

// certified says what a certificate holds.
function certified({ shift, slope, coverage, reach, width, ...named }) {
  const two = (value) => number(value, 2);
  return t(
    "Certified on {camera}, {date}, {eyes} eyes of {patients} patients: the ratio is {shift} + {slope} times the model's. In {n} of 100 new patients of this camera what a person marks lies within ±{reach} of it (width {width}). It does not hold for other cameras.",
    {
      ...named,
      shift: two(shift),
      slope: two(slope),
      n: number(100 * coverage, 0),
      reach: two(reach),
      width: two(width),
    },
  );
}

// verdict says whether the model is better than the one that it started from.
function verdict({ images, folds, groups, before, after, gain, better, own }) {
  const three = (value) => number(value, 3);
  if (!after) return t("No image was kept apart: nobody knows how good this model is.");
  if (!gain)
    return t(
      "Soft Dice {after} on {n} images that were kept apart. The model that it started from knows other structures: there is nothing to compare with.",
      { after: three(after.mean), n: images.length },
    );
  const SIGNED = { minimumFractionDigits: 3, maximumFractionDigits: 3, signDisplay: "always" };
  return [
    t(
      folds
        ? "Soft Dice {before} before and {after} after, on {n} images, each by a run that had not seen it."
        : "Soft Dice {before} before and {after} after, on {n} images that were kept apart.",
      { before: three(before.mean), after: three(after.mean), n: images.length },
    ),
    own && t("Dice of each person's own outline: {change}.", { change: number(own.mean, SIGNED) }),
    t(
      groups < 5
        ? "These are too few to tell whether the new model is better."
        : better
          ? "The new model is better by {gain} (95 % interval {low} to {high})."
          : "The new model is not better than the one that it started from (gain {gain}, 95 % interval {low} to {high}).",
      { gain: three(gain.mean), low: three(gain.low), high: three(gain.high) },
    ),
  ]
    .filter(Boolean)
    .join(" ");
}

// errors says what the model knows of its own errors, and what it does not.
function errors({ errors: learned }) {
  if (!learned)
    return t(
      "It has no doubt and no intervals: these take {n} more runs that each leave a part out.",
      { n: FOLDS },
    );
  const { doubts, groups, right, enough, figures } = learned;
  if (!doubts && groups < enough)
    return t(
      "It has no doubt and no intervals: these take images of {enough} patients, and there are {n}.",
      { enough, n: groups },
    );
  if (!doubts)
    return t(
      "It has no doubt and no intervals: these take right results of {enough} patients, and it was right in {n} of {groups}.",
      { enough, n: right, groups },
    );
  const named = {
    area: (name) => t("area of {name}", { name }),
    outlines: (name) => t("outlines of {name}", { name }),
    ratio: () => t("vertical ratio"),
  };
  const list = (known) =>
    figures
      .filter((figure) => figure.known === known)
      .map(({ what, class: name, held }) => {
        const of = named[what](name),
          n = held?.reduce((sum, { groups }) => sum + groups, 0),
          good = held?.reduce((sum, { share, groups }) => sum + share * groups, 0);
        return n
          ? t("{figure} (held in {share} % of {n} patients)", {
              figure: of,
              share: number((100 * good) / n),
              n,
            })
          : of;
      })
      .join(", ");
  const has = list(true),
    lacks = list(false);
  return [
    t("It says when to doubt a result."),
    has && t("It has 90 % intervals: {figures}.", { figures: has }),
    lacks &&
      t(
        "It has none of these, of which there were too few, or which lie too far apart: {figures}.",
        { figures: lacks },
      ),
  ]
    .filter(Boolean)
    .join(" ");
}

async function save() {
  for (const [path, as] of [
    [`/run/${shown.name}.safetensors`],
    [`/run/${shown.name}.md`],
    ["/run/run.yaml", `${shown.name}.run.yaml`],
    ["/run/judgement.json", `${shown.name}.judgement.json`],
    ["/run/log.jsonl", `${shown.name}.log.jsonl`],
  ]) {
    const file = await kept(path);
    if (file) shown.page.download(as ?? file.name, file.type, await file.arrayBuffer());
  }
}

async function forget() {
  const remove = async () =>
    (await navigator.storage.getDirectory()).removeEntry("learning", { recursive: true });
  try {
    await navigator.locks.request(
      "mrprism-learning",
      { signal: AbortSignal.timeout(2000) },
      remove,
    ); // its worker before may be about to end
  } catch (error) {
    if (error.name !== "TimeoutError") throw error;
    return tell(t("Another tab of this page is learning. Pause that first."));
  }
  shown.page.remember("");
  shown.section.remove();
  shown = null;
}
