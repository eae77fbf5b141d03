// Reading studies. A study is a session (session.js) with a plan and its images: an organiser makes
// it of the open list, and graders read it (reading.js). The plan is the session's field study:
//   id, name, structures (names), blind, seed
//   start: "empty", "model", or "both": each image once with the model's outline and once without,
//     in two sittings with days between them
//   order: "fixed" or "shuffled", for each reader in another way; repeats: how many come twice
//   readers: their codes, if each reads only a part: `each` images, of which all read `anchors`
//   questions: [{ name, options (texts), or low and high, or neither for a text }]
// In studies made before 30 November 2026, which have no readers, readings stand as they are read.
import { button, element, field } from "../page/dom.js";
import { lineOf } from "../review/worklist.js";
import { identity, sumOf } from "./session.js";
import { isPlan } from "./shapes.js";
import { t } from "../words/words.js";
import { Refused } from "./zip.js";

// BY_HAND stands for a model where masks start empty.
export const BY_HAND = {
  name: "by-hand",
  title: "By hand, without a model",
  sha256: "",
  own: true,
};

// ---- what a reader reads ----

// randomOf gives numbers from 0 to 1 by a seed: mulberry32 (Ettinger 2017). seedOf is that of a
// text: FNV-1a.
const randomOf = (seed) => () => {
  seed = (seed + 0x6d2b79f5) | 0;
  let x = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
  return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
};
const seedOf = (text) =>
  [...text].reduce((h, c) => Math.imul(h ^ c.codePointAt(0), 0x01000193), 0x811c9dc5 | 0);
function shuffled(items, random) {
  const list = [...items];
  for (let i = list.length - 1; i > 0; i--) {
    const k = Math.floor(random() * (i + 1));
    [list[i], list[k]] = [list[k], list[i]];
  }
  return list;
}
const counted = (n) => [...Array(n).keys()];

// planned is an order of images. Those that come again are of its first third, and their second
// reading is in the second half.
function planned(images, { order, repeats }, random) {
  const list = order === "fixed" ? [...images] : shuffled(images, random);
  const again = shuffled(list.slice(0, Math.floor(list.length / 3)), random).slice(0, repeats);
  for (const one of again)
    list.splice(Math.ceil(list.length / 2) + Math.floor(random() * (list.length / 2)), 0, one);
  return list;
}

// assigned are the images, numbers from 0 to n, that a reader of a plan reads, each { image, aided }
// in the order of the first sitting. The images that not all read go round the readers. With two
// sittings each image is read with the model first by every other reader.
export function assigned(n, { readers, each, anchors, start, seed, ...plan }, reader) {
  const mixed = shuffled(counted(n), randomOf(seed)),
    own = seed ^ seedOf(reader),
    at = readers.includes(reader) ? readers.indexOf(reader) : own >>> 31,
    rest = mixed.slice(anchors),
    from = Math.round((at * rest.length) / (readers.length || 1)),
    mine = counted(Math.max(0, each - anchors)).map((i) => rest[(from + i) % rest.length]);
  const all = each < n ? [...mixed.slice(0, anchors), ...mine].sort((a, b) => a - b) : counted(n);
  return planned(all, plan, randomOf(own)).map((image) => ({
    image,
    aided: start === "both" ? (mixed.indexOf(image) + at) % 2 === 0 : start === "model",
  }));
}

// readAnew are lines of other lines, each { line, aided }, that nobody has read. In a blind study an
// image is called by its place. keyed is as Segmenter.picture.
const readAnew = (list, plan, sitting, before, keyed) =>
  list.map(({ line: { picture, slice, slices }, aided }, i) => {
    const { key } = keyed(null, ""),
      name = plan.blind ? `#${before + i + 1}` : picture.name;
    return { ...lineOf({ ...picture, key, name, aided }), slice, slices, sitting };
  });
// firstOf are the lines of a study's file as a reader reads them.
export const firstOf = (lines, plan, reader, keyed) =>
  readAnew(
    assigned(lines.length, plan, reader).map(({ image, aided }) => ({ line: lines[image], aided })),
    plan,
    1,
    0,
    keyed,
  );

const DAY = 864e5;
// secondFrom is when the second sitting of lines may begin, in ms: null if there is none, if it has
// begun, or if the first one is not read.
export function secondFrom(lines, { start, days }) {
  const first = start === "both" && lines.every((one) => one.review && one.sitting === 1);
  return first
    ? Math.max(...lines.map(({ decided }) => Date.parse(decided) || 0)) + days * DAY
    : null;
}
// secondOf are the lines of the second sitting: each image once, the other way.
export function secondOf(lines, plan, reader, keyed) {
  const images = [...new Map(lines.map((line) => [identity(line), line])).values()],
    random = randomOf(plan.seed ^ ~seedOf(reader)),
    list = planned(images, { ...plan, repeats: 0 }, random);
  return readAnew(
    list.map((line) => ({ line, aided: !line.picture.aided })),
    plan,
    2,
    lines.length,
    keyed,
  );
}

// linesOf resolves to the lines of a study that is made of others, and the names that it leaves
// out: images that cannot be read or are there twice.
export async function linesOf(list, plan) {
  const met = new Map(),
    left = [];
  for (const line of list) {
    const { picture, slice, slices, error } = line,
      sum = picture.missing?.sha256 ?? (await sumOf(picture.blob)),
      same = `${sum} ${slices > 1 ? slice : 0}`;
    if (error?.code === "image" || met.has(same)) left.push(picture.name);
    else met.set(same, line);
  }
  const lines = [...met.values()].map(({ picture, slice, slices }, i) => ({
    ...lineOf({ ...picture, name: plan.blind ? `#${i + 1}` : picture.name }),
    slice,
    slices,
  }));
  return { lines, left };
}

// ---- the plan of a file ----

const isName = (name) => /^[\p{L}\p{N}][\p{L}\p{M}\p{N} _-]{0,39}$/u.test(name);
const areNames = (list) =>
  list.length > 0 && list.every(isName) && new Set(list).size === list.length;

// check throws if a session's plan cannot be followed, if its drawings are of other structures, or
// if it does not belong to what is open: the plan open, null for images without a study, undefined
// for nothing.
export function check({ study: plan, lines }, name, open) {
  if (open !== undefined && (open?.id ?? "") !== (plan?.id ?? "")) {
    throw new Refused(
      open
        ? `${name} is not of the study that is open.`
        : `${name} is a reading study, and other images are open.`,
      "Save the session that is open and close the list first.",
    );
  }
  if (!isPlan(plan) || !areNames(plan.structures)) {
    throw new Refused(
      `The plan of the study in ${name} is damaged.`,
      "Ask who made the study for another copy.",
    );
  }
  const drawn = lines.flatMap(({ corrections, result }) => [
    ...(result?.classes ?? []),
    ...corrections.map((one) => one.class),
  ]);
  const other = [...drawn, ...plan.structures].find(
    (one) => !(open ?? plan).structures.includes(one),
  );
  if (other)
    throw new Refused(
      `${name} has ${other}, which is no structure of the study: ${(open ?? plan).structures.join(", ")}.`,
      "Ask who made the study for the right file.",
    );
}

// ---- what people are asked ----

// ask shows a form over the page, and resolves to its values, or to null if the person leaves it.
function ask(title, go, ...parts) {
  const form = element(
    "form",
    { method: "dialog" },
    element("h2", { id: "h-ask" }, title),
    ...parts,
    element(
      "div",
      { className: "row" },
      element("button", { className: "primary grow", value: "go" }, go),
      button(t("Cancel"), () => box.close()),
    ),
  );
  const box = element("dialog", { id: "ask" }, form);
  box.setAttribute("aria-labelledby", "h-ask");
  box.onkeydown = (event) => event.stopPropagation(); // the page's keys wait
  document.body.append(box);
  box.showModal();
  return new Promise((resolve) => {
    box.onclose = () => {
      box.remove();
      resolve(box.returnValue === "go" ? new FormData(form) : null);
    };
  });
}
const choice = (name, options) =>
  element("select", { name }, ...options.map(([value, text]) => new Option(t(text), value)));
const box = (name, checked, text) =>
  element(
    "label",
    { className: "check" },
    element("input", { type: "checkbox", name, checked }),
    element("span", {}, text),
  );
const quiet = (text) => element("p", { className: "quiet" }, text);
// line is a field for a line of text, which may not be empty.
const line = (name, maxLength, fields) =>
  element("input", {
    type: "text",
    name,
    required: true,
    maxLength,
    autocomplete: "off",
    ...fields,
  });

// questionsOf are the questions of a study from lines such as "Glaucoma: 1 no | 2 perhaps | 3 yes",
// "Sure: 0 to 100", and for a text a name alone. It is null if a line is none of these.
const OURS =
  /^(reader|case|group|modality|arm|order|repeat|decision|reason|trust|ratio|seconds.*|area.*)$/i;
export function questionsOf(lines) {
  const all = lines.split("\n").filter((line) => line.trim());
  const made = all.map((line) => {
    const [name, answers] = line.split(/:(.*)/s).map((part) => part.trim()),
      [, low, high] = /^(-?[\d.]+) (?:to|bis) (-?[\d.]+)$/.exec(answers ?? "") ?? [],
      options = (answers ?? "").split("|").map((option) => option.trim());
    if (answers === undefined) return { name };
    if (high !== undefined)
      return Number(low) < Number(high) && { name, low: Number(low), high: Number(high) };
    return options.length > 1 && options.every(Boolean) && { name, options };
  });
  const names = made.map((one) => one.name);
  const sound =
    made.every(Boolean) &&
    (!names.length || areNames(names)) &&
    !names.some((name) => OURS.test(name));
  return sound ? made : null;
}

const count = (name, value, fields) =>
  element("input", {
    type: "number",
    name,
    min: 0,
    max: 20000,
    step: 1,
    required: true,
    value,
    ...fields,
  });
// listed are the parts of a text with commas between them.
const listed = (all) =>
  all
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean);

// askPlan resolves to { plan, images }, or to null. classes are the model's structures, or null, and
// n is the number of images. images: the file has them.
export async function askPlan(classes, n) {
  const structures = line("structures", 400, { value: (classes ?? []).join(", ") }),
    readers = line("readers", 4000, { required: false }),
    each = count("each", n, { min: 1, max: n }),
    anchors = count("anchors", 0, { max: n }),
    questions = element("textarea", {
      name: "questions",
      rows: 4,
      maxLength: 4000,
      placeholder: t(
        "Gradable: 1 yes | 2 no, not sharp | 3 no, light | 4 no, field\nGlaucoma: 1 no | 2 yes\nSure: 0 to 100\nRemark",
      ),
    }),
    told = quiet("");
  const start = choice("start", [
    ["empty", "Empty"],
    ...(classes
      ? [
          ["model", "The model's outline"],
          ["both", "Once each way, in two sittings"],
        ]
      : []),
  ]);
  const days = field(t("Days between them"), count("days", 28)),
    parts = [field(t("Images for each reader"), each), field(t("Of these read by all"), anchors)];
  const valid = (input, is, message) => input.setCustomValidity(is ? "" : t(message));
  const follow = () => {
    const codes = listed(readers.value),
      rest = n - Number(anchors.value),
      mine = Number(each.value) - Number(anchors.value);
    days.hidden = start.value !== "both";
    structures.readOnly = start.value !== "empty";
    if (structures.readOnly) structures.value = classes.join(", ");
    for (const part of parts) part.hidden = !codes.length;
    valid(
      structures,
      areNames(listed(structures.value)),
      "Write different names of letters and digits, with commas between them.",
    );
    valid(
      readers,
      !codes.length || areNames(codes),
      "Write different names of letters and digits, with commas between them.",
    );
    valid(anchors, !codes.length || mine >= 0, "No more than each reads.");
    valid(
      questions,
      questionsOf(questions.value),
      "Write a line for each question, with a name of its own, as the example does.",
    );
    const by = codes.length && rest > 0 ? (codes.length * Math.max(0, mine)) / rest : 1;
    told.textContent =
      by < 1
        ? t(
            { one: "{n} image is read by nobody.", other: "{n} images are read by nobody." },
            { n: Math.ceil(rest * (1 - by)) },
          )
        : t("The other images are read by {n} each.", {
            n: [...new Set([Math.floor(by), Math.ceil(by)])].join("–"),
          });
    told.hidden = !codes.length || !rest;
  };
  for (const input of [structures, readers, each, anchors, questions]) input.oninput = follow;
  start.onchange = follow;
  follow();
  const data = await ask(
    t("Reading study"),
    t("Save the study"),
    field(t("Name"), line("name", 80)),
    field(t("Structures"), structures),
    field(t("Masks start"), start),
    days,
    field(
      t("Order"),
      choice("order", [
        ["shuffled", "Shuffled, for each reader anew"],
        ["fixed", "As in the list"],
      ]),
    ),
    field(
      t("Images that come twice"),
      count("repeats", Math.ceil(n / 10), { max: Math.floor(n / 3) }),
    ),
    field(t("Questions"), questions),
    field(t("Readers’ codes, if each reads a part"), readers),
    ...parts,
    told,
    box("blind", true, t("Blind: no file names, no figures, no doubt")),
    box("images", true, t("With the images")),
    quiet(
      t(
        "Give the file to each grader. Without the images in it, give these too: they are found by their content.",
      ),
    ),
  );
  if (!data) return null;
  const has = (name) => data.has(name),
    said = (name) => data.get(name),
    codes = listed(said("readers"));
  return {
    images: has("images"),
    plan: {
      id: crypto.randomUUID(),
      name: said("name").trim(),
      structures: listed(said("structures")),
      start: said("start"),
      days: Number(said("days")),
      order: said("order"),
      seed: Math.floor(Math.random() * 1e6),
      repeats: Number(said("repeats")),
      readers: codes,
      each: codes.length ? Number(said("each")) : n,
      anchors: codes.length ? Number(said("anchors")) : n,
      questions: questionsOf(said("questions")),
      blind: has("blind"),
    },
  };
}

// askReader resolves to { by, keep }, or to null: who reads, and whether this browser keeps it.
export async function askReader({ name, structures, readers, each, repeats }, n, canKeep) {
  const images = readers ? Math.min(each, n) + repeats : n;
  const data = await ask(
    t("Reading study"),
    t("Begin"),
    element(
      "p",
      {},
      element("strong", {}, name),
      ` · ${t({ one: "{n} image", other: "{n} images" }, { n: images })} · ${structures.map((one) => t(one)).join(", ")}`,
    ),
    field(
      t("Your name or code"),
      readers?.length
        ? element(
            "select",
            { name: "by", required: true },
            ...["", ...readers].map((code) => new Option(code, code)),
          )
        : line("by", 80, { pattern: ".*\\S.*" }),
    ),
    ...(canKeep
      ? [box("keep", false, t("Keep it in this browser as I work, with the images"))]
      : []),
    quiet(t("What you draw stays in this page until you save the session. Send that file back.")),
  );
  return data && { by: data.get("by").trim(), keep: data.has("keep") };
}
