// Brings several people's marks of the same images together: how they agree, where they differ
// most, their fused marks, a senior's decision, and a data set of it. A dialog over the page shows
// what the program together.wasm (wasm/together) made. page.js loads this module when it is wanted.
import { css, rater as colourOf } from "./colours.js";
import { element } from "./dom.js";
import { Learner } from "./learn.js";
import { now } from "./opening.js";
import { logFile } from "./session.js";
import { mayLose } from "./unsaved.js";
import { number, t, teach } from "./words.js";
import { german } from "./words.together.de.js";
import { readPNG, readZIP, writePNG, writeZIP } from "./zip.js";

teach("de", german);

const FOLDER = "together", FUSED = ["majority", "staple", "edges"], INKS = { majority: [255, 255, 255], staple: [255, 90, 90], edges: [80, 230, 255] };
const NAMES = { majority: "Majority", staple: "STAPLE", edges: "Fused by edges (ours)" };
const AGAIN = "-again"; // ends the name of a person's second readings

const style = new CSSStyleSheet();
style.replaceSync(`
  #together { width: min(1200px, 96vw); max-width: none; height: 92vh; max-height: none; padding: 16px; overflow: auto; box-sizing: border-box; }
  #together .columns { display: grid; grid-template-columns: minmax(260px, 2fr) 3fr; gap: 16px; align-items: start; }
  #together .columns > * { min-width: 0; }
  #together table { width: 100%; border-collapse: collapse; margin: 8px 0; }
  #together th, #together td { text-align: left; padding: 3px 6px 3px 0; }
  #together canvas { width: 100%; max-height: 60vh; object-fit: contain; object-position: left; display: block; }
  #together select[size] { width: 100%; height: 11em; }
  #together .swatch { display: inline-block; width: 14px; height: 14px; margin-right: 6px; border: 1px solid; vertical-align: -2px; }
  #together .scroll { overflow-x: auto; }
  @media (max-width: 760px) { #together .columns { grid-template-columns: 1fr; } }`);
document.adoptedStyleSheets.push(style);

const learner = new Learner(), given = new Map(); // given: files by name
let page, shown = null; // the page's functions; what the dialog shows, while it is open
let files = new Map(), decisions = new Map(); // what the program wrote, by path; { from, by, at } by class/image
const lost = new Set(); // decisions that no file has yet
const log = [], logs = new Map(); // entries, as log.js has them; the files of the sessions' logs
const note = (did, fields) => log.push({ time: new Date().toISOString(), by: shown.by?.value.trim() ?? page.by, did, ...fields });

const root = () => navigator.storage.getDirectory().then((top) => top.getDirectoryHandle("learning", { create: true }));
const wipe = async () => (await root()).removeEntry(FOLDER, { recursive: true }).catch(() => {});
async function* walked(folder, path = "") {
  for await (const [name, handle] of folder.entries()) {
    if (handle.kind === "directory") yield* walked(handle, `${path}${name}/`);
    else yield [path + name, await handle.getFile()];
  }
}
const gather = async () => { files = new Map(await Array.fromAsync(walked(await (await root()).getDirectoryHandle(FOLDER)))); };

// bring opens the dialog, and takes files, each { blob, name }: sessions and images, or those of a
// data set. from has: by, who decides; download; learn(files); told(error).
export function bring(list, from) {
  page = from;
  if (!shown) build();
  if (list.length) take(list).catch((error) => say(page.told(error).message));
}

const say = (text) => { if (shown) shown.line.textContent = text; };
const button = (text, act, className = "grow") => element("button", { type: "button", className, onclick: act }, text);
const field = (text, control) => element("label", { className: "field" }, element("span", {}, text), control);

function build() {
  const input = element("input", { type: "file", multiple: true, hidden: true, ariaLabel: t("Sessions and images"), tabIndex: -1 });
  input.onchange = () => {
    const list = [...input.files].map((blob) => ({ blob, name: blob.name }));
    input.value = "";
    bring(list, page);
  };
  const close = button(t("Close"), () => { if (mayLose([...lost])) box.close(); }, "");
  const line = element("p", { className: "figure", role: "status" }, t("Choose the sessions of two people or more, and the images unless they are in them."));
  const parts = { line, notes: element("ul", { className: "quiet" }), body: element("div", {}) };
  const box = element("dialog", { id: "together" }, element("div", { className: "row spread" }, element("h2", { id: "h-together" }, t("Bring together")), close),
    element("p", { className: "quiet" }, t("Nothing leaves this page. What it reads is removed from this browser when you close this.")),
    element("div", { className: "row" }, button(t("Add sessions and images…"), () => input.click(), "primary grow first")), input, line, parts.notes, parts.body);
  box.setAttribute("aria-labelledby", "h-together");
  box.onkeydown = (event) => event.stopPropagation(); // the page's keys wait
  box.oncancel = (event) => { if (!mayLose([...lost])) event.preventDefault(); };
  box.onclose = () => {
    learner.end();
    box.remove();
    shown = null;
    given.clear();
    decisions.clear();
    lost.clear();
    logs.clear();
    log.length = 0;
    wipe();
  };
  shown = { ...parts, box };
  document.body.append(box);
  box.showModal();
  box.querySelector(".first").focus();
}

// take adds files to those before, and has the program read all of them.
async function take(list) {
  const described = list.find(({ name }) => /(^|\/)dataset\.json$/.test(name)), notes = [];
  if (described) given.clear();
  const top = described ? described.name.slice(0, -"dataset.json".length) : "";
  for (const { name, blob } of list) {
    const whole = /\.(mrprism|zip)$/i.test(name) ? await readZIP(blob) : null, called = name.replace(/\.zip$/i, ".mrprism");
    if (whole && !whole.whole) notes.push(t("{name} was cut short: what could be read is here.", { name }));
    for (const [path, open] of whole?.files ?? []) if (/^log\/\d+\.jsonl$/.test(path)) logs.set(path.replace("/", `/${called.replaceAll("/", "_")}/`), await open().catch(() => new Blob()));
    if (whole) note("merged", { what: called });
    given.set(described ? `data/${name.slice(top.length)}` : `in/${called}`, whole && !whole.whole ? await repaired(whole.files) : blob);
  }
  shown.notes.replaceChildren(...notes.map((text) => element("li", {}, text)));
  shown.body.replaceChildren();
  shown.done = false;
  say(t("Reading and comparing …"));
  await learner.begin({ program: "together", anew: true, args: [`/${FOLDER}`], files: [...given].map(([name, blob]) => ({ path: `/${FOLDER}/${name}`, blob })) });
}

// repaired resolves to a ZIP of what can be read of one that was cut short.
async function repaired(parts) {
  const read = await Promise.all([...parts].map(async ([name, open]) => ({ name, blob: await open().catch(() => null) })));
  return writeZIP(read.filter(({ blob }) => blob));
}

learner.addEventListener("note", ({ detail: { text } }) => {
  if (!/^agreed$/m.test(text)) return;
  say(t("Fusing the marks …"));
  show().catch((error) => say(page.told(error).message));
});
learner.addEventListener("ended", ({ detail: { code, error } }) => {
  if (!shown) return;
  if (code) return say(t("It stopped: {message}", { message: error }));
  shown.done = true;
  show().then(() => say(t("Ready.")), (failed) => say(page.told(failed).message));
});

// ---- what the program wrote ----

const json = async (path) => JSON.parse(await files.get(path).text());
// table resolves to the rows of a CSV of names and numbers, as objects.
async function table(path) {
  const [head, ...rows] = (await files.get(path)?.text() ?? "").trim().split("\n").map((line) => line.replaceAll(/["\r]/g, "").split(","));
  return rows.map((row) => Object.fromEntries(head.map((name, i) => [name, row[i]])));
}
const three = (value) => (value == null || value === "" ? "–" : number(Number(value), 3));
const within = (one) => (one?.mean == null ? "–" : one.low == null ? three(one.mean) : `${three(one.mean)} (${three(one.low)} – ${three(one.high)})`);
const rows = (caption, head, body) => element("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: caption }, element("table", {}, element("caption", { className: "hidden-text" }, caption),
  element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))), element("tbody", {}, ...body.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell)))))));
const nameOf = (rater) => (rater.endsWith(AGAIN) ? t("{name}, second reading", { name: rater.slice(0, -AGAIN.length) }) : NAMES[rater] ? t(NAMES[rater]) : rater);
const pairOf = (a, b) => (b === a + AGAIN ? t("{name} with their second reading", { name: a }) : `${nameOf(a)}, ${nameOf(b)}`);

// show draws what is there: agreement and images, and once all is done the fused marks.
async function show() {
  await gather();
  const [report, cases, weights] = [await json("agreement/raters.json"), await table("agreement/cases.csv"), shown.done ? await table("fused/raters.csv") : []];
  const skipped = files.has("skipped.json") ? await json("skipped.json") : [], classes = report.classes.map((one) => one.class);
  for (const { File: file, Reason: reason } of skipped ?? []) {
    const text = `${file}: ${reason}`.replaceAll(`/${FOLDER}/in/`, "");
    if (![...shown.notes.children].some((one) => one.textContent === text)) shown.notes.append(element("li", {}, text));
  }
  const before = shown.view?.isConnected ? shown : {}, [structure, images] = [element("select", {}, ...classes.map((name) => new Option(t(name), name))), element("select", { size: 10, ariaLabel: t("Images, the least agreement first") })];
  const by = element("input", { type: "text", maxLength: 80, autocomplete: "off", value: before.by?.value ?? page.by }), view = element("canvas", {}), legend = element("div", {});
  view.setAttribute("role", "img");
  const choose = element("select", {});
  const [chosenClass, chosen] = [before.structure?.value, before.images?.value];
  Object.assign(shown, { report, cases, weights, structure, images, view, legend, by, choose, hidden: before.hidden ?? new Set() });
  if (classes.includes(chosenClass)) structure.value = chosenClass;
  structure.onchange = () => { list(); look(); };
  images.onchange = look;
  choose.onchange = decide;
  const save = button(t("Save as data set"), () => saved().catch((error) => say(page.told(error).message))), learn = button(t("Learn from these marks"), () => learnFrom().catch((error) => say(page.told(error).message)), "primary grow");
  shown.body.replaceChildren(...agreement(report),
    element("div", { className: "columns" }, element("div", {}, field(t("Structure"), structure), images, field(t("Truth of this image"), choose), field(t("Decided by"), by)), element("div", {}, view, legend)),
    element("div", { className: "row wrap" }, save, button(t("Report"), () => page.download(`mrprism-agreement-${now()}.html`, "text/html", files.get("agreement/raters.html"))), button(t("Figures CSV"), figures), learn));
  list(chosen);
  await look();
}

// agreement is the tables of the report: by structure, and by pairs of people.
function agreement({ classes, images, verticalRatio }) {
  const ratios = (verticalRatio?.pairs ?? []).map(({ a, b, images: n, bias, limitsOfAgreement: limits }) => [pairOf(a, b), String(n), within(bias), limits ? t("{low} to {high}", { low: three(limits[0]), high: three(limits[1]) }) : "–"]);
  const pairs = classes.flatMap((one) => (one.pairs ?? []).map((pair) => [t(one.class), pairOf(pair.a, pair.b), String(pair.images), three(pair.dice)]));
  return [
    element("h3", {}, t({ one: "Agreement in {n} image", other: "Agreement in {n} images" }, { n: images })),
    rows(t("Agreement"), [t("Structure"), t("Images"), t("Dice of pairs (95 % interval)"), t("κ in the union"), t("Krippendorff’s α"), t("ICC of areas")], [
      ...classes.map((one) => [t(one.class), String(one.images), within(one.dice), within(one.kappaUnion), three(one.krippendorffAlpha), three(one.area?.icc)]),
      ...(verticalRatio ? [[t("Vertical cup/disc ratio"), String(verticalRatio.images), "", "", "", three(verticalRatio.icc)]] : []),
    ]),
    element("details", {}, element("summary", {}, t("Pairs of people")), rows(t("Pairs of people"), [t("Structure"), t("People"), t("Images"), "Dice"], pairs),
      ...(ratios.length ? [element("p", { className: "quiet" }, t("The second person’s vertical cup/disc ratio less the first’s: the bias, and between what 95 % of differences lie (Bland and Altman 1986).")),
        rows(t("Vertical cup/disc ratio"), [t("People"), t("Images"), t("Bias (95 % interval)"), t("Limits of agreement")], ratios)] : [])),
  ];
}

// list fills the list of images: the least agreement about the structure first.
function list(chosen) {
  const { cases, structure, images } = shown, dice = new Map(cases.filter((one) => one.structure === structure.value).map((one) => [one.image, one.mean_dice]));
  const stems = [...files.keys()].filter((name) => name.startsWith("data/images/")).map((name) => name.slice("data/images/".length).replace(/\.[^.]*$/, "")), of = (name) => (dice.get(name) ? Number(dice.get(name)) : 2);
  const before = chosen ?? images.value;
  images.replaceChildren(...stems.sort((a, b) => of(a) - of(b) || a.localeCompare(b)).map((name) => {
    const decided = decisions.get(`${structure.value}/${name}`);
    return new Option(`${name} · ${dice.get(name) ? `Dice ${three(dice.get(name))}` : t("not comparable")}${decided ? ` · ${t("truth: {who}", { who: nameOf(decided.from) })}` : ""}`, name);
  }));
  images.value = stems.includes(before) ? before : stems[0];
}

// edges is the line between pixels in and out of a mask.
function edges({ width, height, values }) {
  const path = new Path2D(), inside = (x, y) => x >= 0 && y >= 0 && x < width && y < height && values[y * width + x] > 127, line = (a, b, c, d) => { path.moveTo(a, b); path.lineTo(c, d); };
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (!inside(x, y)) continue;
      if (!inside(x - 1, y)) line(x, y, x, y + 1);
      if (!inside(x + 1, y)) line(x + 1, y, x + 1, y + 1);
      if (!inside(x, y - 1)) line(x, y, x + 1, y);
      if (!inside(x, y + 1)) line(x, y + 1, x + 1, y + 1);
    }
  }
  return path;
}

const imageOf = (name) => [...files].find(([path]) => path.startsWith(`data/images/${name}.`))?.[1];
const maskOf = (from, name, c) => files.get(FUSED.includes(from) ? `fused/${from}/${c}/${name}.png` : `data/raters/${from}/${c}/${name}.png`);

let turn = 0; // a later look ends an earlier one
// look shows the chosen image with everybody's outlines.
async function look() {
  const { report: { raters }, weights, structure: { value: c }, images: { value: name }, view, legend, choose, hidden } = shown, mine = ++turn;
  const there = [...raters, ...FUSED].map((from, i) => ({ from, ink: css(INKS[from] ?? colourOf(i)), blob: maskOf(from, name, c) })).filter(({ blob }) => blob);
  choose.replaceChildren(new Option(t("not decided"), ""), ...there.map(({ from }) => new Option(nameOf(from), from)));
  choose.value = decisions.get(`${c}/${name}`)?.from ?? "";
  const picture = await createImageBitmap(imageOf(name)).catch(() => null);
  const masks = await Promise.all(there.map(({ blob }) => readPNG(blob)));
  if (mine !== turn) return;
  const paths = masks.map(edges), { width, height } = masks[0] ?? picture ?? { width: 1, height: 1 };
  const paint = () => {
    Object.assign(view, { width, height, ariaLabel: t("{name}: outlines of {who}", { name, who: there.filter(({ from }) => !hidden.has(from)).map(({ from }) => nameOf(from)).join(", ") }) });
    const context = view.getContext("2d");
    if (picture) context.drawImage(picture, 0, 0, width, height);
    context.lineWidth = Math.max(1, width / 300);
    for (const [i, { from, ink }] of there.entries()) {
      if (hidden.has(from)) continue;
      context.strokeStyle = ink;
      context.stroke(paths[i]);
    }
  };
  const figure = (method, rater, what) => weights.find((row) => row.method === method && row.image === name && row.structure === c && row.rater === rater)?.[what];
  const weightOf = (from) => {
    const weight = figure("edges", from, "weight");
    return weight === undefined || weight === "" ? "" : Number(weight) ? t("{n} %", { n: number(100 * weight, { maximumFractionDigits: 0 }) }) : t("thrown out");
  };
  legend.replaceChildren(rows(t("Legend"), [t("Outline"), t("Weight (ours)"), t("Sensitivity by STAPLE"), t("Specificity")], there.map(({ from, ink }) => {
    const tick = element("input", { type: "checkbox", checked: !hidden.has(from), onchange: () => { hidden[tick.checked ? "delete" : "add"](from); paint(); } }), swatch = element("span", { className: "swatch" });
    swatch.style.background = ink;
    return [element("label", { className: "check" }, tick, swatch, nameOf(from)), weightOf(from), FUSED.includes(from) || !weights.length ? "" : three(figure("staple", from, "sensitivity")), FUSED.includes(from) || !weights.length ? "" : three(figure("staple", from, "specificity"))];
  })));
  paint();
}

// decide takes the chosen mark as the truth.
function decide() {
  const { structure, images, choose, by } = shown, key = `${structure.value}/${images.value}`;
  lost.add(key);
  if (choose.value) decisions.set(key, { from: choose.value, by: by.value.trim(), at: new Date().toISOString() });
  else { decisions.delete(key); lost.delete(key); }
  note("adjudicated", { structure: structure.value, what: choose.value, picture: { blob: imageOf(images.value) } });
  list();
}

// ---- out ----

// dataset resolves to the files of the data set, each { name, blob }, with the truths that were
// decided, truth.csv, which says where each comes from, and the logs.
async function dataset(what) {
  const all = new Map([...files].filter(([name]) => name.startsWith("data/")).map(([name, blob]) => [name.slice("data/".length), blob])), lines = [];
  for (const [key, { from, by, at }] of decisions) {
    const [c, name] = key.split("/"), blob = maskOf(from, name, c);
    if (!blob) continue;
    const { values, ...size } = await readPNG(blob);
    all.set(`truth/${c}/${name}.png`, await writePNG({ ...size, values: values.map((v) => (v > 127 ? 255 : 0)) }));
    lines.push([name, c, from, `"${by.replaceAll('"', '""')}"`, at].join(","));
  }
  if (lines.length) all.set("truth.csv", new Blob([["name,class,from,by,decided", ...lines.sort(), ""].join("\n")]));
  note("exported", { what });
  all.set("log/together.jsonl", (await logFile(log)).blob);
  return [...all, ...logs].map(([name, blob]) => ({ name, blob }));
}
async function saved() {
  page.download(`mrprism-data-${now()}.zip`, "application/zip", await writeZIP(await dataset("data set")));
  lost.clear();
}
async function learnFrom() {
  const list = await Promise.all((await dataset("learning")).map(async ({ name, blob }) => ({ name, blob: new Blob([await blob.arrayBuffer()]) }))); // the files go with the dialog
  shown.box.close();
  page.learn(list);
}
function figures() {
  for (const [path, name] of [["agreement/cases.csv", "images"], ["agreement/pairs.csv", "pairs"], ["agreement/limits.csv", "limits"], ["agreement/raters.csv", "people"], ["fused/raters.csv", "weights"]]) {
    if (files.has(path)) page.download(`mrprism-${name}-${now()}.csv`, "text/csv", files.get(path));
  }
}
