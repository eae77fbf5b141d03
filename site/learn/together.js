// Brings several people's marks of the same images together: how they agree, where they differ
// most, their fused marks, a senior's decision, and a data set of it. A dialog over the page shows
// what the program together.wasm (wasm/together) tells, and asks it for more. page.js loads this
// module when it is wanted.
import { pathOf } from "../draw/canvas2d.js";
import { css, rater as colourOf } from "../draw/colours.js";
import { baseOfBytes, outlineOf } from "../draw/correct.js";
import { button, element, field, table } from "../page/dom.js";
import { Learner, kept } from "./learn.js";
import { now } from "../page/opening.js";
import { logFile, sumOf } from "../study/session.js";
import { mayLose } from "../page/unsaved.js";
import { number, t } from "../words/words.js";
import { readZIP, writePNG, writeZIP } from "../study/zip.js";

const FOLDER = "together";
// Methods that fuse marks, by a name that no person can have.
const FUSED = new Map([
  [":majority", { name: "Majority", ink: [255, 255, 255] }],
  [":staple", { name: "STAPLE", ink: [255, 90, 90] }],
  [":edges", { name: "Fused by edges (ours)", ink: [80, 230, 255] }],
]);

const SEAM = 254; // where two objects touch (wasm/together/fields.go)
// KINDS are the data sets of objects, as the program is asked for them.
const KINDS = [
  ["crops", "an image of each object"],
  ["fields", "whole images, fused, for the finder"],
  ["save", "whole images, all people’s marks"],
];

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

const learner = new Learner(),
  given = new Map(); // given: files by name
let page,
  shown = null; // the page's functions; what the dialog shows, while it is open
const decisions = new Map(); // { from, by, at } by class/image
let asking = new Map(); // what the program was asked for: { resolve, reject } by line
const lost = new Set(); // decisions that no file has yet
const log = [],
  logs = new Map(); // entries, as log.js has them; the files of the sessions' logs
const note = (did, fields) =>
  log.push({
    time: new Date().toISOString(),
    by: shown.by?.value.trim() ?? page.by,
    did,
    ...fields,
  });

const root = () =>
  navigator.storage
    .getDirectory()
    .then((top) => top.getDirectoryHandle("learning", { create: true }));
// wipe removes the files. A worker that was just ended may have one open.
const wipe = async (again = 20) =>
  (await root()).removeEntry(FOLDER, { recursive: true }).catch(({ name }) => {
    if (name !== "NotFoundError" && again) setTimeout(wipe, 100, again - 1);
  });
async function* walked(folder, path = "") {
  for await (const [name, handle] of folder.entries()) {
    if (handle.kind === "directory") yield* walked(handle, `${path}${name}/`);
    else yield [path + name, await handle.getFile()];
  }
}
const file = (path) => kept(`/${FOLDER}/${path}`); // that the program wrote, or null
const STOPPED = new Error("stopped"); // by a person, who sees it
// asked resolves once the program has done what a line asks for (wasm/together/main.go).
function asked(line) {
  const answer = Promise.withResolvers();
  asking.set(line, answer);
  learner.type(line);
  return answer.promise;
}

// bring opens the dialog, and takes files, each { blob, name }: sessions and images, or those of a
// data set. from has: by, who decides; download; learn(files); told(error).
export function bring(list, from) {
  page = from;
  if (!shown) build();
  if (list.length) take(list).catch((error) => say(page.told(error).message));
}

const say = (text) => {
  if (shown) shown.line.textContent = text;
};
const quiet = (text) => element("p", { className: "quiet" }, text);
const mayClose = () => mayLose([...lost]);

function build() {
  const input = element("input", {
    type: "file",
    multiple: true,
    hidden: true,
    ariaLabel: t("Sessions and images"),
    tabIndex: -1,
  });
  input.onchange = () => {
    const list = [...input.files].map((blob) => ({ blob, name: blob.name }));
    input.value = "";
    bring(list, page);
  };
  const line = element(
    "p",
    { className: "figure", role: "status" },
    t(
      "Choose the sessions of two people or more, and the images, or the file of the study that has them, unless they are in them.",
    ),
  );
  const stop = button(t("Stop"), () => learner.type("stop"), "");
  const parts = {
    line,
    stop,
    notes: element("ul", { className: "quiet" }),
    body: element("div", {}),
  };
  stop.hidden = true;
  const box = element(
    "dialog",
    { id: "together" },
    element(
      "div",
      { className: "row spread" },
      element("h2", { id: "h-together" }, t("Bring together")),
      button(t("Close"), () => mayClose() && box.close(), ""),
    ),
    quiet(
      t(
        "Nothing leaves this page. What it reads is removed from this browser when you close this.",
      ),
    ),
    element(
      "div",
      { className: "row" },
      button(t("Add sessions and images…"), () => input.click(), "primary grow first"),
    ),
    input,
    element("div", { className: "row spread" }, line, stop),
    parts.notes,
    parts.body,
  );
  box.setAttribute("aria-labelledby", "h-together");
  box.onkeydown = (event) => event.stopPropagation(); // the page's keys wait
  box.oncancel = (event) => {
    if (!mayClose()) event.preventDefault();
  };
  box.onclose = () => {
    learner.end();
    box.remove();
    shown = null;
    for (const one of [given, decisions, lost, logs, asking]) one.clear();
    log.length = 0;
    wipe();
  };
  shown = { ...parts, box };
  learner.prepare("together"); // while somebody chooses files
  document.body.append(box);
  box.showModal();
  box.querySelector(".first").focus();
}

// take adds files to those before, and has the program read all of them.
async function take(list) {
  const described = list.find(({ name }) => /(^|\/)dataset\.json$/.test(name)),
    notes = [];
  if (described) given.clear();
  const top = described ? described.name.slice(0, -"dataset.json".length) : "";
  for (const { name, blob } of list) {
    const is = /\.(mrprism|zip)$/i.test(name),
      whole =
        is &&
        (await readZIP(blob, name).catch((error) => {
          notes.push(t(page.told(error).message));
        }));
    if (is && !whole) continue;
    const content = whole && !whole.whole ? await repaired(whole.files) : blob;
    const path = described
        ? `data/${name.slice(top.length)}`
        : await free(`in/${name.replace(/\.zip$/i, ".mrprism")}`, content),
      called = path.slice("in/".length);
    if (whole && !whole.whole)
      notes.push(t("{name} was cut short: what could be read is here.", { name }));
    for (const [entry, open] of whole?.files ?? [])
      if (/^log\/\d+\.jsonl$/.test(entry))
        logs.set(
          entry.replace("/", `/${called.replaceAll("/", "_")}/`),
          await open().catch(() => new Blob()),
        );
    if (whole) note("merged", { what: called });
    given.set(path, content);
  }
  shown.notes.replaceChildren(...notes.map((text) => element("li", {}, text)));
  shown.body.replaceChildren();
  Object.assign(shown, { list: null, seen: null, cases: [], objects: [] });
  Object.assign(shown, { fused: false, chosen: false });
  asking = new Map();
  say(t("Reading the sessions …"));
  const sums = { __proto__: null }; // of images: the browser takes a tenth of the program's time
  for (const [name, blob] of given)
    if (/^in\/.*(?<!\.mrprism)$/i.test(name)) sums[name.slice("in/".length)] = await sumOf(blob);
  const files = [...given, ["sums.json", new Blob([JSON.stringify(sums)])]];
  await learner.begin({
    program: "together",
    anew: true,
    args: [`/${FOLDER}`],
    files: files.map(([name, blob]) => ({ path: `/${FOLDER}/${name}`, blob })),
  });
}

// free resolves to a path that no file of another content has: several people may send files of one
// name.
async function free(path, blob, n = 1) {
  const one = n > 1 ? path.replace(/(\.[^./]*)?$/, `-${n}$1`) : path;
  return given.has(one) && (await sumOf(given.get(one))) !== (await sumOf(blob))
    ? free(path, blob, n + 1)
    : one;
}

// repaired resolves to a ZIP of what can be read of one that was cut short.
async function repaired(parts) {
  const read = await Promise.all(
    [...parts].map(async ([name, open]) => ({ name, blob: await open().catch(() => null) })),
  );
  return writeZIP(read.filter(({ blob }) => blob));
}

learner.addEventListener("note", ({ detail: { text } }) => {
  if (!shown) return;
  try {
    for (const line of text.split("\n").filter((line) => line.startsWith("{"))) {
      const event = JSON.parse(line);
      for (const [field, value] of Object.entries(event)) heard[field]?.(value, event);
    }
  } catch (error) {
    say(page.told(error).message);
  }
});
learner.addEventListener("ended", ({ detail: { code, error } }) => {
  if (!shown) return;
  shown.stop.hidden = true;
  if (code) say(t("It stopped: {message}", { message: t(error) }));
});

const DOING = { compare: "Comparing", fuse: "Fusing all images", save: "Writing the data set" };
// heard has what is done about an event of the program (wasm/together/events.go), by its field.
const heard = {
  list(list) {
    shown.list = list;
    tell(list.skipped);
    show();
    say(t("Comparing …"));
    shown.stop.hidden = false;
  },
  skipped: tell,
  objects(all) {
    shown.objects = all;
    shown.kind.parentElement.hidden = false;
  },
  agreement: (report) =>
    shown.tables.replaceChildren(...agreement(report), ...objectTables(shown.objects)),
  cases(cases) {
    shown.cases = cases;
  },
  progress({ doing, done, of, left }) {
    shown.stop.hidden = false;
    say(
      t("{doing}: {n} of {of}, about {left} s left", {
        doing: t(DOING[doing]),
        n: done,
        of,
        left: number(Math.ceil(left)),
      }),
    );
  },
  shown: (image) => answer(`show ${image.name}`, "resolve", image),
  done(done, { stopped }) {
    shown.stop.hidden = true;
    shown.fused ||= done === "fuse" && !stopped;
    shown.fuse.hidden = shown.fused;
    if (done === "compare") {
      for (const one of shown.after) one.disabled = false;
      sort();
      if (!shown.chosen) {
        // the first in the alphabet was
        shown.images.selectedIndex = 0;
        look();
      }
    }
    say(t(stopped ? "Stopped." : "Ready."));
    answer(done, stopped ? "reject" : "resolve", stopped ? STOPPED : undefined);
  },
  failed: (message, { doing }) => answer(doing, "reject", new Error(message)),
};
// answer settles what was asked for.
function answer(line, how, value) {
  asking.get(line)?.[how](value);
  asking.delete(line);
}

// ---- what the program tells ----

// tell names what was not taken.
function tell(skipped) {
  const before = new Set([...shown.notes.children].map((one) => one.textContent));
  for (const { File: name, Reason: reason } of skipped ?? []) {
    const text = `${name}: ${reason}`.replaceAll(`/${FOLDER}/in/`, "");
    if (!before.has(text)) shown.notes.append(element("li", {}, text));
    before.add(text);
  }
}
const three = (value) => (value == null || value === "" ? "–" : number(Number(value), 3));
const within = (one) =>
  one?.mean == null
    ? "–"
    : one.low == null || one.n < 8 // as report.Plain has it
      ? `${three(one.mean)}${one.n ? ` [n = ${one.n}]` : ""}`
      : `${three(one.mean)} (${three(one.low)} – ${three(one.high)})`;
function rows(caption, head, body) {
  const made = table(
      head.map((text) => t(text)),
      body,
    ),
    ariaLabel = t(caption);
  made.prepend(element("caption", { className: "hidden-text" }, ariaLabel));
  return element("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel }, made);
}
const nameOf = (from) => (FUSED.has(from) ? t(FUSED.get(from).name) : from);

// show draws the list of images, with room for what comes later.
function show() {
  const { classes } = shown.list,
    trying = (act) => () =>
      act().catch((error) => {
        if (error !== STOPPED) say(page.told(error).message);
      });
  const structure = element(
      "select",
      {
        onchange: () => {
          sort();
          look();
        },
      },
      ...classes.map((name) => new Option(t(name), name)),
    ),
    images = element("select", {
      size: 10,
      onchange: () => {
        shown.chosen = true;
        look();
      },
      ariaLabel: t("Images, the least agreement first"),
    });
  const by = element("input", {
      type: "text",
      maxLength: 80,
      autocomplete: "off",
      value: shown.by?.value ?? page.by,
    }),
    view = element("canvas", {}),
    legend = element("div", {}),
    tables = element("div", {}),
    choose = element("select", { onchange: decide }),
    kind = element("select", {}, ...KINDS.map(([value, text]) => new Option(t(text), value))),
    kinds = field(t("The data set has"), kind);
  kinds.hidden = true; // until there are objects
  view.setAttribute("role", "img");
  const fuse = button(
    t("Fuse by edges too (reads every image)"),
    trying(async () => {
      await asked("fuse");
      await look(true);
    }),
  );
  const after = [
    button(t("Save as data set"), trying(saved)),
    button(t("Report"), trying(reported)),
    button(t("Figures CSV"), trying(figures)),
    fuse,
    button(t("Learn from these marks"), trying(learnFrom), "primary grow"),
  ];
  for (const one of after) one.disabled = true;
  Object.assign(shown, {
    structure,
    images,
    view,
    legend,
    by,
    choose,
    kind,
    tables,
    after,
    fuse,
    hidden: new Set(),
  });
  const { returned = [] } = shown.list;
  shown.body.replaceChildren(
    ...(returned.length
      ? [
          element("h3", {}, t("Sessions")),
          rows(
            "Sessions",
            ["Person", "Read", "Cannot be graded", "Saved"],
            returned.map(({ reader, read, of, refused, saved }) => [
              reader,
              t("{n} of {all}", { n: read, all: of }),
              refused,
              saved.slice(0, 10),
            ]),
          ),
        ]
      : []),
    tables,
    element(
      "div",
      { className: "columns" },
      element(
        "div",
        {},
        field(t("Structure"), structure),
        images,
        field(t("Truth of this image"), choose),
        field(t("Decided by"), by),
      ),
      element("div", {}, view, legend),
    ),
    kinds,
    element("div", { className: "row wrap" }, ...after),
  );
  sort();
  look();
}

// agreement is the tables of the report: by structure, by pairs of people, and of second readings.
function agreement({ classes, images, verticalRatio, again = [] }) {
  const ratio = t("Vertical cup/disc ratio");
  const beside = ({ bias, limitsOfAgreement: limits }) => [
    within(bias),
    limits ? t("{low} to {high}", { low: three(limits[0]), high: three(limits[1]) }) : "–",
  ];
  const structures = classes.map((one) => [
    t(one.class),
    one.images,
    within(one.dice),
    within(one.kappaUnion),
    three(one.krippendorffAlpha),
    three(one.area?.icc),
  ]);
  if (verticalRatio)
    structures.push([ratio, verticalRatio.images, "", "", "", three(verticalRatio.icc)]);
  const pairs = classes.flatMap((one) =>
    (one.pairs ?? []).map(({ a, b, images, dice }) => [
      t(one.class),
      `${a}, ${b}`,
      images,
      three(dice),
    ]),
  );
  const ratios = (verticalRatio?.pairs ?? []).map((pair) => [
    `${pair.a}, ${pair.b}`,
    pair.images,
    ...beside(pair),
  ]);
  const seconds = again.map((one) => [
    one.rater,
    one.figure === "vertical_ratio" ? ratio : t(one.figure),
    one.images,
    within(one.dice),
    three(one.icc),
    ...beside(one),
  ]);
  const BIAS = ["Bias (95 % interval)", "Limits of agreement"];
  const made = [
    element(
      "h3",
      {},
      t({ one: "Agreement in {n} image", other: "Agreement in {n} images" }, { n: images }),
    ),
    rows(
      "Agreement",
      [
        "Structure",
        "Images",
        "Dice of pairs (95 % interval)",
        "κ in the union",
        "Krippendorff’s α",
        "ICC of areas",
      ],
      structures,
    ),
    element(
      "details",
      {},
      element("summary", {}, t("Pairs of people")),
      rows("Pairs of people", ["Structure", "People", "Images", "Dice"], pairs),
    ),
  ];
  if (ratios.length)
    made[2].append(
      quiet(
        t(
          "The second person’s vertical cup/disc ratio less the first’s: the bias, and between what 95 % of differences lie (Bland and Altman 1986).",
        ),
      ),
      rows("Vertical cup/disc ratio", ["People", "Images", ...BIAS], ratios),
    );
  if (seconds.length)
    made.push(
      element("h3", {}, t("Second readings")),
      quiet(t("Beside the same person’s first ones, which alone count elsewhere.")),
      rows(
        "Second readings",
        ["Person", "Structure", "Images", "Dice (95 % interval)", "ICC", ...BIAS],
        seconds,
      ),
    );
  return made;
}

// objectTables are the tables of what several people found: in all images, and in each.
function objectTables(all) {
  const counts = ({ objects, all: by, some, one }) => [objects, by, some, one],
    found = ["Objects", "Found by all", "Found by some", "Found by one"],
    scores = ["PQ", "F1 at 0.5", "F1 at 0.75", "Dice of matched objects"],
    pairs = (one, ...first) =>
      one.pairs.map((pair) => {
        const { a, b, pq, f1, f1At75, dice } = pair;
        return [...first, `${a}, ${b}`, ...[pq, f1, f1At75, dice].map(three)];
      });
  return all
    .filter(({ image }) => !image)
    .flatMap((whole) => {
      const each = all.filter((one) => one.image && one.class === whole.class);
      return [
        element("h3", {}, `${t("Objects")}: ${t(whole.class)}`),
        rows("Objects", found, [counts(whole)]),
        rows("Pairs of people", ["People", ...scores], pairs(whole)),
        element(
          "details",
          {},
          element("summary", {}, t("Objects of each image")),
          rows(
            "Objects of each image",
            ["Image", ...found],
            each.map((one) => [one.image, ...counts(one)]),
          ),
          rows(
            "Pairs of people in each image",
            ["Image", "People", ...scores],
            each.flatMap((one) => pairs(one, one.image)),
          ),
        ),
      ];
    });
}

// sort fills the list of images: the least agreement about the structure first, once it is known.
function sort() {
  const {
      cases,
      structure,
      images,
      list: { images: all },
    } = shown,
    dice = new Map(
      cases.filter((one) => one.structure === structure.value).map((one) => [one.image, one.dice]),
    );
  const of = ({ name }) => dice.get(name) ?? 2,
    before = images.value;
  images.replaceChildren(
    ...all
      .toSorted((a, b) => of(a) - of(b) || a.name.localeCompare(b.name))
      .map(({ name, reviews = {} }) => {
        const decided = decisions.get(`${structure.value}/${name}`),
          said = [name];
        if (cases.length)
          said.push(dice.get(name) != null ? `Dice ${three(dice.get(name))}` : t("not comparable"));
        if (decided) said.push(t("truth: {who}", { who: nameOf(decided.from) }));
        for (const [review, text] of [
          ["accepted", "accepted"],
          ["rejected", "rejected"],
          ["", "undecided"],
        ]) {
          const who = Object.keys(reviews)
            .filter((rater) => reviews[rater] === review)
            .sort();
          if (who.length) said.push(`${t(text)}: ${who.map(nameOf).join(", ")}`);
        }
        return new Option(said.join(" · "), name);
      }),
  );
  images.value = all.some(({ name }) => name === before)
    ? before
    : (images.options[0]?.value ?? "");
}

// edges is the line between pixels in and out of a mask. It leaves out seams between objects.
function edges({ width, height, values }) {
  const apart = values.map((v) => (v === SEAM ? 0 : v)),
    base = baseOfBytes(apart, width, height);
  return pathOf(outlineOf(base.plain, base));
}

// imageOf resolves to an image, and has the pixels of all masks: { name, width, height, marks,
// figures, values(class, from) }. anew: the program may have more masks of it now.
async function imageOf(name, anew = false) {
  if (shown.seen?.name === name && !anew) return shown.seen;
  const image = await asked(`show ${name}`),
    size = image.width * image.height;
  Object.setPrototypeOf(image.marks, null); // by class, whatever people call it
  const bytes = async (path) => new Uint8Array(await (await file(`shown/${path}`)).arrayBuffer());
  const picture = await createImageBitmap(
    new ImageData(
      new Uint8ClampedArray((await bytes("picture")).buffer),
      image.width,
      image.height,
    ),
  );
  const pixels = new Map();
  for (const c of shown.list.classes) pixels.set(c, await bytes(c));
  const values = (c, from) => {
    const i = image.marks[c].indexOf(from);
    return i < 0 ? null : pixels.get(c).subarray(i * size, (i + 1) * size);
  };
  shown.seen = { ...image, picture, values };
  return shown.seen;
}

let turn = 0; // a later look ends an earlier one
let looking = Promise.resolve(); // one image at a time: the next one's files take the place of these
// look shows the chosen image with everybody's outlines.
function look(anew = false) {
  const mine = ++turn;
  return (looking = looking
    .then(() => (mine === turn && shown ? draw(anew) : null))
    .catch((error) => {
      if (shown) say(page.told(error).message);
    }));
}
async function draw(anew) {
  const {
      list: { raters },
      structure: { value: c },
      images: { value: name },
      view,
      legend,
      choose,
      hidden,
    } = shown,
    { picture, width, height, marks, figures, values } = await imageOf(name, anew);
  const there = [...raters, ...FUSED.keys()]
    .filter((from) => marks[c].includes(from))
    .map((from) => ({
      from,
      ink: css(FUSED.get(from)?.ink ?? colourOf(raters.indexOf(from))),
      path: edges({ width, height, values: values(c, from) }),
    }));
  choose.replaceChildren(
    new Option(t("not decided"), ""),
    ...there.map(({ from }) => new Option(nameOf(from), from)),
  );
  choose.value = decisions.get(`${c}/${name}`)?.from ?? "";
  const paint = () => {
    Object.assign(view, {
      width,
      height,
      ariaLabel: t("{name}: outlines of {who}", {
        name,
        who: there
          .filter(({ from }) => !hidden.has(from))
          .map(({ from }) => nameOf(from))
          .join(", "),
      }),
    });
    const context = view.getContext("2d");
    context.drawImage(picture, 0, 0);
    context.lineWidth = Math.max(1, width / 300);
    for (const { from, ink, path } of there) {
      if (hidden.has(from)) continue;
      context.strokeStyle = ink;
      context.stroke(path);
    }
  };
  const figure = (method, rater, what) =>
    figures.find((row) => row.method === method && row.class === c && row.rater === rater)?.[what];
  const weightOf = (from) => {
    const weight = figure("edges", from, "weight");
    return weight == null
      ? ""
      : weight
        ? t("{n} %", { n: number(100 * weight, { maximumFractionDigits: 0 }) })
        : t("thrown out");
  };
  legend.replaceChildren(
    rows(
      "Legend",
      ["Outline", "Weight (ours)", "Sensitivity by STAPLE", "Specificity"],
      there.map(({ from, ink }) => {
        const tick = element("input", {
            type: "checkbox",
            checked: !hidden.has(from),
            onchange: () => {
              hidden[tick.checked ? "delete" : "add"](from);
              paint();
            },
          }),
          swatch = element("span", { className: "swatch" });
        swatch.style.background = ink;
        return [
          element("label", { className: "check" }, tick, swatch, nameOf(from)),
          weightOf(from),
          FUSED.has(from) ? "" : three(figure("staple", from, "sensitivity")),
          FUSED.has(from) ? "" : three(figure("staple", from, "specificity")),
        ];
      }),
    ),
  );
  paint();
}

// decide takes the chosen mark as the truth.
function decide() {
  const {
      structure,
      images,
      choose,
      by,
      list: { images: all },
    } = shown,
    key = `${structure.value}/${images.value}`,
    { name, sha256 } = all.find((one) => one.name === images.value);
  lost.add(key);
  if (choose.value)
    decisions.set(key, { from: choose.value, by: by.value.trim(), at: new Date().toISOString() });
  else {
    decisions.delete(key);
    lost.delete(key);
  }
  const blob = [...given].find(([path]) => path.startsWith(`data/images/${name}.`))?.[1]; // of a data set
  note("adjudicated", {
    structure: structure.value,
    what: choose.value.replace(":", ""),
    picture: blob ? { blob } : { missing: { sha256 } },
  });
  sort();
}

// ---- out ----

// cell is a text in a CSV that a spreadsheet does not run, as internal/output/sheet has it.
const cell = (text) => `"${text.replace(/^[=+\-@\t\r\n＝＋－＠]/, "'$&").replaceAll('"', '""')}"`;

const kindOf = () => (shown.objects.length ? shown.kind.value : "save");
// dataset resolves to the files of the data set, each { name, blob }, with the truths that were
// decided, truth.csv, which says where each comes from, and the logs.
async function dataset(what) {
  const lines = [],
    truths = [];
  const kind = kindOf();
  if (!shown.fused && [...decisions.values()].some(({ from }) => from === ":edges"))
    await asked("fuse"); // sessions came after the decision
  for (const [key, { from, by, at }] of kind === "save" ? decisions : []) {
    const [c, name] = key.split("/"),
      { values, width, height } = await imageOf(name, shown.fused),
      mask = values(c, from);
    if (!mask) continue;
    truths.push([
      `truth/${c}/${name}.png`,
      await writePNG({ width, height, values: mask.map((v) => v && 255) }),
    ]);
    lines.push([name, c, from.replace(":", ""), by, at].map(cell).join(","));
  }
  const here = [...given.keys()].some((name) => name.startsWith("data/"));
  if (!here) await asked(kind);
  const whole = here
    ? given
    : await Array.fromAsync(walked(await (await root()).getDirectoryHandle(FOLDER)));
  const all = new Map(
    [...whole]
      .filter(([name]) => name.startsWith("data/"))
      .map(([name, blob]) => [name.slice("data/".length), blob]),
  );
  for (const [name, blob] of truths) all.set(name, blob);
  if (lines.length)
    all.set(
      "truth.csv",
      new Blob([["\ufeffname,class,from,by,decided", ...lines.sort(), ""].join("\r\n")]),
    );
  note("exported", { what });
  all.set("log/together.jsonl", (await logFile(log)).blob);
  return [...all, ...logs].map(([name, blob]) => ({ name, blob }));
}
async function saved() {
  page.download(
    `mrprism-data-${now()}.zip`,
    "application/zip",
    await writeZIP(await dataset("data set")),
  );
  if (kindOf() === "save") lost.clear(); // others have no truths
}
async function learnFrom() {
  const list = await Promise.all(
    (await dataset("learning")).map(async ({ name, blob }) => ({
      name,
      blob: new Blob([await blob.arrayBuffer()]),
    })),
  ); // the files go with the dialog
  shown.box.close();
  page.learn(list);
}
async function reported() {
  await asked("report");
  page.download(
    `mrprism-agreement-${now()}.html`,
    "text/html",
    await file("agreement/raters.html"),
  );
}
async function figures() {
  for (const [path, name] of [
    ["agreement/cases.csv", "images"],
    ["agreement/pairs.csv", "pairs"],
    ["agreement/limits.csv", "limits"],
    ["agreement/again.csv", "second-readings"],
    ["agreement/raters.csv", "people"],
    ["agreement/objects.csv", "objects"],
    ["agreement/object-pairs.csv", "object-pairs"],
    ["fused/raters.csv", "weights"],
  ]) {
    const table = await file(path);
    if (table) page.download(`mrprism-${name}-${now()}.csv`, "text/csv", table);
  }
}
