// Proofs: the program segment itself (prover.wasm) computes the photograph on the stage again, on
// the device `processor`, and the page compares the masks; or it checks the files of a given result.
// page.js loads this module with the first result.
import { get } from "../page/addresses.js";
import { button, element, taking } from "../page/dom.js";
import { download, stemOf } from "../page/exports.js";
import { wanted } from "../worker/scripts.js";
import { SegmentError } from "../worker/segmenter.js";
import { number, t } from "../words/words.js";

const MOST = 10; // differences that are listed
const VERDICTS = { equal: "Equal", differs: "Different", unprovable: "It cannot be proved" };

let page; // what begins the module: { state, send, segmenter, told }
let now = null; // what runs: { about, the result on the stage; since; stop; learner }
let shown = null; // of the last that ran: { about, text, differences, zip, name }

const start = button("", () => start.ariaDisabled || (now ? now.stop() : work(prove))),
  choose = button("", () => choose.ariaDisabled || file.click()),
  keep = button("", () => {
    download(shown.name, "application/zip", shown.zip);
    page.send({ type: "log", did: "exported", what: "proof", picture: shown.about.asked.picture });
  }),
  what = element("p", { id: "prove-what", className: "quiet" }),
  says = element("p", { id: "prove-says", role: "status" }),
  meter = element("progress", { max: 1 }),
  list = element("ul", { className: "quiet" }),
  file = element("input", { type: "file", id: "prove-file", multiple: true, hidden: true }),
  row = (...buttons) => element("div", { className: "row" }, ...buttons),
  parts = [row(start, choose), what, says, meter, list, row(keep), file],
  group = element("div", { id: "prove", role: "group" }, ...parts);

export function begin(given) {
  page = given;
  start.setAttribute("aria-describedby", what.id);
  document.getElementById("save").append(group);
  taking(file.id, (files) => examine(files.map((blob) => ({ blob, name: blob.name }))));
}

// take checks a saved proof, if files, { blob, name } each, have one, and says whether they do.
export const take = (files) =>
  !group.hidden && files.some(({ name }) => /_proof\.zip$/i.test(name)) && examine(files);

function examine(files) {
  work((mine) => check(mine, files));
  return true;
}

// unprovable are the reasons why masks cannot be computed again from the photograph alone.
function unprovable({ corrections, result: { asked, fromFile } }) {
  const { picture, evidence, weights } = asked,
    reasons = {
      "a session’s result": fromFile || picture.missing,
      corrections: corrections.length,
      marks: evidence.length,
      "raters’ weights": weights,
      "a turned picture": picture.turn,
    };
  return Object.keys(reasons).filter((reason) => reasons[reason]);
}

const refused = (message) => new SegmentError({ code: "proof", message });
const last = (path) => path.split("/").pop();

// work does something until it ends, is stopped, or its result leaves the stage.
async function work(act) {
  now?.stop();
  const mine = (now = { about: page.state().result, since: Date.now() }),
    stopped = new Promise((_, reject) => {
      mine.stop = () => reject(refused("Stopped."));
    }),
    timer = setInterval(() => draw(page.state()), 1000);
  shown = null;
  draw(page.state());
  const made = await Promise.race([act(mine), stopped]).catch((error) => {
    const { message, next } = page.told(error);
    return { text: () => [t(message), t(next)].join(" ") };
  });
  clearInterval(timer);
  mine.learner?.end();
  clean().catch(() => {}); // the next proof removes it
  if (now !== mine) return;
  now = null;
  shown = { about: mine.about, ...made };
  draw(page.state());
}

// run runs the program, and resolves to its exit code, its error, and what it printed. files are
// what it reads beside photograph and weights, by path.
async function run(mine, model, args, files = []) {
  const { blob, name } = mine.about.asked.picture,
    photograph = `/prove/in/${last(name)}`,
    weights = `/prove/${model}.safetensors`,
    order = ["-weights", weights, "-device", "processor", ...args, photograph],
    { Learner } = await wanted("learn.js"),
    own =
      page.segmenter.own.get(model)?.blob ?? (await (await get(`weights/${last(weights)}`)).blob());
  files.push({ path: photograph, blob: blob.blob ?? blob }, { path: weights, blob: own }); // Claimed
  if (now !== mine) throw refused("Stopped.");
  const learner = (mine.learner = new Learner());
  let printed = "";
  return new Promise((resolve, reject) => {
    learner.addEventListener("note", ({ detail: { text } }) => {
      printed += text;
    });
    learner.addEventListener("ended", ({ detail }) =>
      detail.changed ? reject(detail) : resolve({ ...detail, printed }),
    );
    learner.begin({ program: "prover", args: order, files, anew: true }).catch(reject);
  });
}

// folder resolves to one of the browser's file system.
const folder = async (...path) => {
  let at = await navigator.storage.getDirectory();
  for (const name of ["learning", ...path]) at = await at.getDirectoryHandle(name);
  return at;
};
// clean removes what the program has left. It waits until no tab proves.
const clean = () =>
  navigator.locks.request("mrprism-prover", () =>
    folder().then((at) => at.removeEntry("prove", { recursive: true })),
  );

const jsonOf = (files) => files.find(({ name }) => /\.json$/i.test(name))?.blob;

async function prove(mine) {
  const { image, eye, result } = page.state(),
    { classes, width, height, model, adapter, asked } = result,
    { readPNG, writeZIP } = await wanted("zip.js"),
    masks = [];
  for (const c of classes.keys()) {
    const about = { kind: "probability", class: c },
      { values } = await page.segmenter.show("map", result, about);
    masks.push(Uint8Array.from(values, (p) => p >= 0.5));
  }
  const args = ["-roi", asked.roi, "-out", "/prove/out"];
  if (image.slices > 1) args.push("-slice", String(image.slice));
  if (eye) args.push("-eye", eye);
  const { code, error } = await run(mine, model, args);
  if (code) throw refused(error);
  const files = await Array.fromAsync((await folder("prove", "out")).values(), async (file) => ({
      name: file.name,
      blob: new Blob([await (await file.getFile()).arrayBuffer()]),
    })),
    { device, files: named } = JSON.parse(await jsonOf(files).text()),
    other = new Uint8Array(width * height);
  if (/SIMD128(?! relaxed)/.test(device))
    throw refused("This browser’s processor cannot compute exactly: it lacks relaxed SIMD.");
  for (const [c, name] of classes.entries()) {
    const { blob } = files.find((one) => one.name === named.probability[name]),
      { values } = await readPNG(blob, width, height);
    values.forEach((value, i) => (other[i] |= (value > 127) ^ masks[c][i]));
  }
  const n = other.reduce((sum, one) => sum + one, 0),
    here = /\[\w+, processor\]$/.test(adapter) && "This browser’s reader of images",
    by = here || adapter.replace(/ \[[^\]]*\]$/, ""),
    text = n
      ? "{n} of {all} pixels differ: {by} rounds differently."
      : "{n} of {all} pixels differ. Anybody can compute this result again, to the bit.";
  return {
    text: () => t(text, { n, all: other.length, by: t(by) }),
    zip: await writeZIP(files),
    name: `${stemOf(asked.picture, image)}_proof.zip`,
  };
}

async function check(mine, given) {
  const { readZIP } = await wanted("zip.js"),
    files = [];
  for (const { blob, name } of given) {
    const zipped = /\.zip$/i.test(name) ? (await readZIP(blob, name)).files : [[name, () => blob]];
    for (const [path, open] of zipped) files.push({ name: path, blob: await open() });
  }
  const about = await new Response(jsonOf(files)).json().catch(() => ({})), // the program says why
    model = page.segmenter.knows(about.model) ? about.model : mine.about.model;
  const { error, printed } = await run(
    mine,
    model,
    ["-verify", "/prove/result", "-json", "-"],
    files.map(({ name, blob }) => ({ path: `/prove/result/${last(name)}`, blob })),
  );
  const lines = printed.replaceAll(/\/prove\/\w+\//g, "").match(/^\{.*/gm);
  if (!lines) throw refused(error.startsWith("-verify") ? "There is no result of segment." : error);
  const results = lines.map((line) => JSON.parse(line));
  return {
    text: () =>
      results.map(({ verdict, text }) => `${t(VERDICTS[verdict])}: ${t(text)}.`).join(" "),
    differences: results.flatMap(({ differences }) => differences ?? []),
  };
}

// draw brings the controls to a state.
export function draw(s) {
  const { result, worklist: lines } = s;
  if (now && now.about !== result) now.stop();
  group.hidden = !result || lines?.study || lines?.series;
  if (group.hidden) return;
  const reasons = unprovable(s).map((reason) => t(reason)),
    { text, differences = [], zip } = (shown?.about === result && shown) || {},
    more = t("and {n} more", { n: differences.length - MOST }),
    seconds = now && Math.round((Date.now() - now.since) / 1000),
    said = now ? t("Computing again …") : (text?.() ?? "");
  group.ariaLabel = t("Proof");
  meter.ariaLabel = t("Computing again …");
  file.ariaLabel = t("Files of a result");
  start.textContent = now ? `${t("Stop")} (${number(seconds)} s)` : t("Prove");
  choose.textContent = t("Check a result…");
  keep.textContent = t("Save the proof");
  what.textContent = reasons.length
    ? t("What cannot be proved: {reasons}.", { reasons: reasons.join(", ") })
    : t("Computes this photograph again with the program that everybody can run, and compares.");
  if (says.textContent !== said) says.textContent = said; // a screen reader says it once
  start.ariaDisabled = reasons.length && !now ? "true" : null;
  choose.ariaDisabled = now ? "true" : null;
  meter.hidden = !now;
  keep.hidden = !zip;
  const items = [...differences.slice(0, MOST), ...(differences.length > MOST ? [more] : [])];
  list.replaceChildren(...items.map((text) => element("li", {}, t(text))));
}
