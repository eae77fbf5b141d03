// drawWorklist brings the list of images in the document to a state.
import { $, button, element } from "../page/dom.js";
import { trustIn } from "./figures.js";
import { wanted } from "../worker/scripts.js";
import { summary } from "./summary.js";
import { isolated, t } from "../words/words.js";
import { reached } from "./waiting.js";
import {
  canRetry,
  counts,
  lineAt,
  neighbour,
  present,
  sees,
  shownLines,
  sliceText,
  stateOf,
  handOf,
  toReview,
} from "./worklist.js";

export function drawWorklist(s, before) {
  const list = s.worklist;
  $("worklist").hidden = !list;
  $("app").classList.toggle("listed", Boolean(list));
  if (!list) return;
  $("app").classList.toggle("unfolded", list.open);
  if (!s.worklist || !before.worklist) drawn.clear(); // the first time, or another language
  drawBar(s);
  drawProgress(s);
  drawLines(s, before);
  drawFiles(list);
  drawCourse(s);
}

// drawCourse draws the course of the ratio, if it is unfolded.
let course = null;
function drawCourse(s) {
  const { lines, study } = s.worklist,
    ratios = lines.filter(({ result }) => result?.measurements.verticalRatio);
  $("work-course").hidden = ratios.length < 3 || Boolean(study);
  if ($("work-course").hidden || !$("work-course").open) return;
  course ??= wanted("course.js");
  course.then(({ drawCourse }) => drawCourse(s));
}

// mainFigure is the figure of a result that the list shows, in the form of summary.
const mainFigure = (result) => (result?.found ? summary(result, null).next().value : undefined);

function drawBar(s) {
  const list = s.worklist,
    line = lineAt(list),
    { open } = list,
    lines = present(list.lines),
    i = lines.indexOf(line);
  $("work-open").ariaExpanded = String(open);
  $("work-body").hidden = !open;
  $("work-at").textContent = t("{at} of {all}", { at: i + 1, all: lines.length });
  $("work-name").textContent = $("work-name").title = isolated(line.picture.name);
  const can = {
    back: neighbour(list, -1) !== line,
    on: neighbour(list, 1) !== line,
    accepted: sees(s) || line.state !== "failed",
  };
  for (const [id, is] of Object.entries(can)) $(`work-${id}`).ariaDisabled = is ? null : "true";
  const {
    waiting: { length: n, 0: first },
  } = s;
  for (const what of ["accepted", "rejected"]) {
    $(`work-${what}`).ariaPressed = String(line.review === what);
    $(`work-${what}`).classList.toggle("waits", first?.what === what);
  }
  if ($("work-comment").value !== (line.comment ?? ""))
    $("work-comment").value = line.comment ?? "";
  const [rival] = line.rivals ?? [];
  $("work-rival").hidden = !rival;
  $("work-versions").textContent = rival
    ? t("This image has two versions. Here: {mine}. In the other session: {theirs}.", {
        mine: workIn(line),
        theirs: workIn(rival),
      })
    : "";
  $("work-waiting").hidden = !n;
  const key = reached(s),
    next = key !== line.key && lines.find((one) => one.key === key);
  $("work-waiting").textContent = [
    t({ one: "{n} key waits for the image.", other: "{n} keys wait for the image." }, { n }),
    next && t("The next key is for {name}.", { name: isolated(next.picture.name) }),
  ]
    .filter(Boolean)
    .join(" ");
}

// workIn says what a person did, in a line or in a rival of it.
const workIn = ({ review, corrections, comment, result }) =>
  [
    t(review || "not decided"),
    corrections.length && t("corrected"),
    result?.asked.evidence.length && t("marks"),
    comment && `“${isolated(comment)}”`,
  ]
    .filter(Boolean)
    .join(", ");

function drawProgress({ worklist: list }) {
  const { all, waiting, toReview: n } = counts(list),
    { result } = (!list.study && list.lines.find(({ result }) => result?.found)) || {};
  $("work-computed").textContent = t("{done} of {all} computed", { done: all - waiting, all });
  Object.assign($("work-meter"), { max: all, value: all - waiting });
  $("work-pause").hidden = $("work-meter").hidden = !waiting;
  const failed = list.lines.filter(canRetry).length;
  $("work-again").hidden = !failed;
  $("work-again").textContent = t("Compute again what failed ({n})", { n: failed });
  $("work-pause").textContent = t(list.paused ? "Go on" : "Pause");
  $("work-filter").checked = list.toReview;
  $("work-filter-text").textContent = t("To review ({n})", { n });
  $("work-figure").textContent = mainFigure(result)?.name ?? "";
}

// drawn are the lines in the document by key, each { node, sign }. sign is what the line was drawn of.
const drawn = new Map();
let ordered = ""; // keys of the lines as they stand

function drawLines(s, before) {
  const list = s.worklist,
    order = shownLines(list),
    shown = new Set(order),
    box = $("work-lines");
  if (!drawn.size) [ordered] = ["", box.replaceChildren()];
  for (const line of list.lines) {
    const state = stateOf(s, line),
      selected = line.key === list.at,
      sign = [line, state, selected, shown.has(line)],
      known = drawn.get(line.key);
    if (known?.sign.every((one, i) => one === sign[i])) continue;
    const node = drawLine(line, state, list.study);
    node.ariaSelected = String(selected);
    node.hidden = !shown.has(line);
    if (known) known.node.replaceWith(node);
    else box.append(node);
    drawn.set(line.key, { node, sign });
  }
  const keys = order.map(({ key }) => key).join();
  if (keys !== ordered) box.append(...order.map(({ key }) => drawn.get(key).node));
  ordered = keys;
  $("work-none").hidden = shown.size > 0;
  box.setAttribute("aria-activedescendant", `work-${list.at}`);
  const { at, open, toReview: filter, sort } = before.worklist ?? {};
  if (list.open && (at !== list.at || !open || filter !== list.toReview || sort !== list.sort))
    drawn.get(list.at).node.scrollIntoView({ block: "nearest" });
}

// READ is what the list says of an image of a study, in which no figure is shown.
const READ = { done: "not graded", accepted: "graded", rejected: "cannot be graded" };
function drawLine(line, state, study) {
  const { key, picture, thumb, error, result, corrections, rivals, archived } = line,
    { name } = picture,
    figure = study ? undefined : mainFigure(result),
    facts = [];
  const fact = (className, text) => {
    if (text) facts.push(element("span", { className }, text));
  };
  fact(`state ${state}`, t((study && READ[state]) || state));
  if (figure) facts.push(element("span", { className: "hidden-text" }, figure.name));
  fact("figure", figure?.text);
  const main = !study && result && trustIn(result);
  if (!study && result && !result.found) fact("doubted", t("nothing found"));
  else if (main) fact(main.word === "trusted" ? "" : "doubted", t(main.word));
  if (!study && result?.fromFile) fact("", t("from a file"));
  fact("", sliceText(line));
  if (corrections.length) fact("", t(study ? "drawn" : handOf(line)));
  fact("", picture.missing && t("not attached"));
  fact("doubted", rivals?.length && t("two versions"));
  fact("", archived?.map((text) => t(text)).join(": "));
  fact("why", error && !picture.missing && t(error.message).replace(`${name}: `, ""));
  const small = thumb
    ? element("img", { src: thumb, alt: "", loading: "lazy", decoding: "async" })
    : element("i");
  const node = element(
    "div",
    {
      id: `work-${key}`,
      className: `line${toReview(line) ? " review" : ""}`,
      title: error ? `${t(error.message)} ${t(error.next)}` : isolated(name),
    },
    small,
    element("span", { className: "name" }, isolated(name)),
    element("span", { className: "facts" }, ...facts),
  );
  node.role = "option";
  node.dataset.key = key;
  return node;
}

// KEEPS says whether this browser keeps sessions. Kiosks keep none.
const wishes = new URLSearchParams(globalThis.location?.search);
export const KEEPS =
  !wishes.has("idle") &&
  !wishes.has("kiosk") &&
  Boolean(
    navigator.locks &&
    navigator.storage?.getDirectory &&
    globalThis.FileSystemFileHandle?.prototype.createWritable,
  );
const time = (date) => new Date(date).toLocaleString("sv").slice(0, -3); // 2026-11-27 14:03
// lacking says how many images of a list are not there, and where they may be.
export function lacking(list) {
  const n = list?.lines.filter(({ picture }) => picture.missing).length ?? 0;
  if (n && list.study)
    return t(
      {
        one: "{n} image is not attached. Open the file of the study, which may have it, or the image.",
        other:
          "{n} images are not attached. Open the file of the study, which may have them, or the images.",
      },
      { n },
    );
  return n
    ? t(
        {
          one: "{n} image is not attached. Open it, or its folder: it is found by its content.",
          other:
            "{n} images are not attached. Open them, or their folder: they are found by their content.",
        },
        { n },
      )
    : "";
}
// drawSession draws what a session is saved with, and what this browser keeps.
export function drawSession({ session: { images, keeping, at, kept }, worklist, result }, before) {
  const can = worklist || result;
  $("study-make").hidden = !worklist || Boolean(worklist.study);
  $("session-save").ariaDisabled = can ? null : "true";
  $("session-log").hidden = !can;
  $("session-consent").hidden = !KEEPS || !can;
  $("session-images").checked = images;
  $("session-keep").checked = keeping;
  const lines = [
    lacking(worklist),
    keeping && at && t("Kept in this browser at {time}.", { time: time(at) }),
  ];
  $("session-line").textContent = lines.filter(Boolean).join(" ");
  $("session-line").hidden = !lines.some(Boolean);
  if (before.session?.kept === kept) return;
  $("session-kept").replaceChildren(
    ...kept.map(({ id, refused, grader, saved, images: n, decided }) => {
      const text = refused
        ? t(refused)
        : [
            t("Kept in this browser at {time}.", { time: time(saved) }),
            isolated(grader),
            t("{decided} of {n} images decided", { decided, n }),
          ]
            .filter(Boolean)
            .join(" · ");
      const act = (name, data) => {
        const made = button(t(name), null, "");
        Object.assign(made.dataset, data);
        return made;
      };
      return element(
        "li",
        {},
        element("span", {}, text),
        element(
          "div",
          { className: "row" },
          ...(refused ? [] : [act("Go on", { go: id })]),
          act("Forget", { forget: id }),
        ),
      );
    }),
  );
}

function drawFiles({ lines, saving, saved, by }) {
  if ($("work-by").value !== by) $("work-by").value = by;
  for (const what of ["csv", "zip"]) $(`work-${what}`).ariaDisabled = saving ? "true" : null;
  $("work-saved").hidden = saving !== "zip";
  $("work-saved").textContent = t("Writing {done} of {all}…", { done: saved, all: lines.length });
}
