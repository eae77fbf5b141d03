// A person's work: decisions, drawings and marks. state.safe lists the parts that a file has. The
// page asks before it drops others.
import { subject } from "./history.js";
import { t } from "../words/words.js";

// Decisions and comments are texts, so that equal ones are equal; drawings and marks are the
// objects themselves.
const COMMENT = " says: ";
const ofLine = ({ key, review, comment, corrections, result, field }) => [
  ...(field?.changed ? [field] : []),
  ...(review ? [`${key} ${review}`] : []),
  ...(comment ? [key + COMMENT + comment] : []),
  ...corrections,
  ...(result?.asked.evidence ?? []),
];
const ofField = ({ field }) =>
  field?.answer?.undo || (field?.answer && field.changed) ? [field.kept ?? field.answer] : [];
const ofPair = ({ compared }) =>
  compared ? [...compared.corrections, ...compared.asked.evidence] : [];

// doneBy is all work of a person, each part once, and unsaved the part that would be lost.
const doneBy = (s) => [
  ...new Set([
    ...(s.worklist?.lines ?? []).flatMap(ofLine),
    ...s.corrections,
    ...subject(s).evidence,
    ...ofPair(s),
    ...ofField(s),
    ...s.waiting,
  ]),
];
export const unsaved = (s) => doneBy(s).filter((one) => !s.safe.includes(one));
// hasWork says whether a person did something with a line, or with the image that is open.
export function hasWork(s, line) {
  const list = line && { lines: [line] },
    stage =
      !line || line.picture === s.picture ? s : { ...s, corrections: [], job: null, result: null };
  return (
    doneBy({
      ...stage,
      worklist: list,
      compared: null,
      field: s.field?.picture === (line ?? s).picture ? s.field : null,
      waiting: s.waiting.filter(({ from }) => !line || from === line.key),
    }).length > 0
  );
}
// unsavedPair is the unsaved work on the second photograph, and unsavedField that on all objects.
export const unsavedPair = (s) => ofPair(s).filter((one) => !s.safe.includes(one));
export const unsavedField = (s) => ofField(s).filter((one) => !s.safe.includes(one));

// inList is the work that a file of the list has: a session has all, a ZIP neither comments nor
// fields, and a table only decisions. inFile is the work in one image's file.
export const inList = ({ lines }, what) =>
  lines
    .flatMap(ofLine)
    .filter(
      (one) =>
        what === "session" ||
        (typeof one === "string" ? !one.includes(COMMENT) : what === "zip" && !one.objects),
    );
export const inFile = ({ files, made, result }) =>
  made ? [...files.flatMap(({ drawn }) => drawn), ...result.asked.evidence] : [];
// safe adds work that a file now has. It forgets work that the person has removed since.
export function safe(s, things) {
  const all = doneBy(s);
  return { ...s, safe: [...s.safe, ...things].filter((one) => all.includes(one)) };
}

let leaving = false;
// leave loads the page anew, or another address, without a question.
export function leave(go = () => location.reload()) {
  leaving = true;
  go();
}
// askBeforeLeaving makes the browser ask before the page is closed or reloaded.
export function askBeforeLeaving(state) {
  addEventListener("beforeunload", (event) => {
    if (!leaving && unsaved(state()).length) event.preventDefault();
  });
}
// mayLose asks whether to go on if work would be lost.
export function mayLose({ length: n }) {
  return (
    !n ||
    confirm(
      t(
        {
          one: "A decision, drawing or mark is not saved and would be lost. Go on?",
          other: "{n} decisions, drawings and marks are not saved and would be lost. Go on?",
        },
        { n },
      ),
    )
  );
}
