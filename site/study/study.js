// Reading studies. A study is a session (session.js) with a plan and nothing read yet: an organiser
// makes it of the open list, and graders read it (reading.js). The plan is the session's field
// study:
//   id, name, structures (names), start ("empty" or "model"), order ("fixed" or "shuffled"), seed,
//   repeats, blind
import { button, element, field } from "../page/dom.js";
import { sumOf } from "./session.js";
import { t } from "../words/words.js";
import { Refused } from "./zip.js";

// BY_HAND stands for a model where masks start empty.
export const BY_HAND = {
  name: "by-hand",
  title: "By hand, without a model",
  sha256: "",
  own: true,
};

// randomOf gives numbers from 0 to 1 by a seed: mulberry32 (Ettinger 2017).
const randomOf = (seed) => () => {
  seed = (seed + 0x6d2b79f5) | 0;
  let x = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
  return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
};

// planned is the order in which a grader reads n images, each a number from 0. A tenth of the
// images come again: they are of the first third, and their second reading is in the second half.
export function planned(n, { order, repeats, seed }) {
  const random = randomOf(seed),
    below = (m) => Math.floor(random() * m),
    list = [...Array(n).keys()];
  const shuffle = (items) => {
    for (let i = items.length - 1; i > 0; i--) {
      const k = below(i + 1);
      [items[i], items[k]] = [items[k], items[i]];
    }
    return items;
  };
  if (order === "shuffled") shuffle(list);
  const again =
    repeats && n > 2 ? shuffle(list.slice(0, Math.floor(n / 3))).slice(0, Math.ceil(n / 10)) : [];
  for (const one of again) list.splice(Math.ceil(list.length / 2) + below(list.length / 2), 0, one);
  return list;
}

// linesOf resolves to the lines of a study that is made of others, and the names that it leaves
// out: images that cannot be read or are there twice. In a blind study an image is called by its
// place.
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
  const lines = planned(met.size, plan).map((i, at) => {
    const { picture, slice, slices } = [...met.values()][i],
      name = plan.blind ? `#${at + 1}` : picture.name;
    return {
      key: at + 1,
      picture: { ...picture, name },
      slice,
      slices,
      review: "",
      corrections: [],
    };
  });
  return { lines, left, images: met.size };
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
  const { id, structures, start, blind } = plan;
  if (
    typeof id !== "string" ||
    !Array.isArray(structures) ||
    !areNames(structures) ||
    !["empty", "model"].includes(start) ||
    typeof blind !== "boolean"
  ) {
    throw new Refused(
      `The plan of the study in ${name} is damaged.`,
      "Ask who made the study for another copy.",
    );
  }
  const drawn = lines.flatMap(({ corrections, result }) => [
    ...(result?.classes ?? []),
    ...corrections.map((one) => one.class),
  ]);
  const other = [...drawn, ...structures].find((one) => !(open ?? plan).structures.includes(one));
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

// askPlan resolves to { plan, images }, or to null. classes are the model's structures, or null.
// images: the file has them.
export async function askPlan(classes) {
  const structures = line("structures", 400, { value: (classes ?? []).join(", ") });
  const start = choice("start", [
    ["empty", "Empty"],
    ...(classes ? [["model", "The model's outline"]] : []),
  ]);
  const list = () =>
    structures.value
      .split(",")
      .map((name) => name.trim())
      .filter(Boolean);
  structures.oninput = () =>
    structures.setCustomValidity(
      areNames(list())
        ? ""
        : t("Write different names of letters and digits, with commas between them."),
    );
  start.onchange = () => {
    structures.readOnly = start.value === "model";
    if (structures.readOnly) structures.value = classes.join(", ");
    structures.oninput();
  };
  const seed = element("input", {
    type: "number",
    name: "seed",
    min: 0,
    max: 999999,
    step: 1,
    required: true,
    value: Math.floor(Math.random() * 1e6),
  });
  const data = await ask(
    t("Reading study"),
    t("Save the study"),
    field(t("Name"), line("name", 80)),
    field(t("Structures"), structures),
    field(t("Masks start"), start),
    field(
      t("Order"),
      choice("order", [
        ["shuffled", "Shuffled by the seed"],
        ["fixed", "As in the list"],
      ]),
    ),
    field(t("Seed"), seed),
    box("blind", true, t("Blind: no file names, no figures, no doubt")),
    box("repeats", true, t("A tenth of the images comes twice")),
    box("images", true, t("With the images")),
    quiet(
      t(
        "Give the file to each grader. Without the images in it, give these too: they are found by their content.",
      ),
    ),
  );
  if (!data) return null;
  const has = (name) => data.has(name),
    said = (name) => data.get(name);
  return {
    images: has("images"),
    plan: {
      id: crypto.randomUUID(),
      name: said("name").trim(),
      structures: list(),
      start: said("start"),
      order: said("order"),
      seed: Number(said("seed")),
      repeats: has("repeats"),
      blind: has("blind"),
    },
  };
}

// askReader resolves to { by, keep }, or to null: who reads, and whether this browser keeps it.
export async function askReader({ name, structures }, n, canKeep) {
  const data = await ask(
    t("Reading study"),
    t("Begin"),
    element(
      "p",
      {},
      element("strong", {}, name),
      ` · ${t({ one: "{n} image", other: "{n} images" }, { n })} · ${structures.map((one) => t(one)).join(", ")}`,
    ),
    field(t("Your name or code"), line("by", 80, { pattern: ".*\\S.*" })),
    ...(canKeep
      ? [box("keep", false, t("Keep it in this browser as I work, with the images"))]
      : []),
    quiet(t("What you draw stays in this page until you save the session. Send that file back.")),
  );
  return data && { by: data.get("by").trim(), keep: data.has("keep") };
}
