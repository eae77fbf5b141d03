// The worklist: several images that were opened at once, a line each. It is the part worklist of the
// state (state.js), or null where there is one image or none. Everything here is pure.
//
// A line keeps a handle of its file, figures, strokes and small files, but no pixels:
//   key, picture (as Segmenter.picture made it; with refused, an error, it is not tried at all),
//   state ("waiting", "done" or "failed"), error ({ message, next, date }), review ("", "accepted"
//   or "rejected"), result (with the figures of what was corrected), corrections, masks ({ id,
//   files }: PNGs of the model's masks of result id, a Blob a structure), field (all objects of the
//   picture, or null: { class, objects, changed, blob }, a PNG of labels), thumb (an address),
//   slice, slices, known (mm a pixel, as the person says), decided (when), comment, archived (what
//   an archive says of it, texts, or null); in a study
//   (study.js) picture.aided, sitting, answers, and seconds, drawing and answering. In a line of a
//   session (session.js) picture.missing has sum and size of an image that is not there, and rivals
//   are other versions of the work on it.
import { trustIn } from "./figures.js";
import { t } from "../words/words.js";

const NOTHING = [];
const UNSEEN = {
  state: "waiting",
  error: null,
  review: "",
  result: null,
  corrections: NOTHING,
  field: null,
  masks: null,
};
// newList is a list without lines. text and sort are what the person filters and sorts by, onward
// says that a decision shows the next image. id, by and study are the session's: by is who works on
// it. series is { name, step, gaps } if the lines are the slices of a series, in its order: step is
// mm between them or 0, and gaps are texts. measuring says that masks of a session's file are held
// against its figures: tables wait.
export const newList = {
  lines: NOTHING,
  at: 0,
  asked: 0,
  sure: 0,
  open: true,
  paused: false,
  toReview: false,
  text: "",
  sort: "",
  onward: false,
  by: "",
  id: "",
  study: null,
  series: null,
  task: null,
  saving: "",
  saved: 0,
  measuring: false,
};

// lineOf is a line that nobody has seen.
export const lineOf = (picture) => ({
  key: picture.key,
  picture,
  thumb: "",
  ...UNSEEN,
  ...(picture.refused && { state: "failed", error: picture.refused }),
});

// added is a list with further pictures, or a new list. open: the lines are shown, not only the
// bar.
export function added(list, pictures, open) {
  const lines = pictures.map(lineOf);
  if (list) return { ...list, series: null, lines: [...list.lines, ...lines] };
  return { ...newList, lines, at: lines[0].key, open };
}

export const lineAt = ({ lines, at }) => lines.find(({ key }) => key === at);
export const lineBy = (list, picture) => list.lines.find((line) => line.picture === picture);

// changed is a list with other fields in one line.
export const changed = (list, line, fields) => ({
  ...list,
  lines: list.lines.map((one) => (one.key === line.key ? { ...one, ...fields } : one)),
});

// toReview says that a person should look at a line: its figure is not trusted, it has failed or
// was corrected, and nobody has decided about it.
export const toReview = ({ review, state, result, corrections, rivals }) =>
  Boolean(rivals?.length) ||
  (!review &&
    (state === "failed" ||
      Boolean(
        result &&
        (!result.found ||
          result.doubts.length ||
          (trustIn(result)?.word ?? "trusted") !== "trusted"),
      ) ||
      corrections.length > 0));

// ORDERS give a line its place by what a person sorts by, the smallest first.
const { compare } = new Intl.Collator("en", { numeric: true });
const WORDS = ["do not use", "check", "trusted"];
const ORDERS = {
  doubt: ({ result }) => -(result?.doubt ?? -1),
  ratio: ({ result }) => -(result?.measurements.verticalRatio?.value ?? -1),
  trust: ({ result }) =>
    result
      ? 1 + WORDS.indexOf(result.found ? trustIn(result)?.word : WORDS[0]) || WORDS.length + 1
      : WORDS.length + 2,
};
// present are the lines that people work on now: of a study, those of the last sitting.
export const present = (lines) => lines.filter(({ sitting }) => sitting === lines.at(-1).sitting);
// shownLines are the lines that the list shows, in order. The chosen line stays until another one
// is chosen.
export function shownLines({ lines, toReview: only, text, sort, at }) {
  const has = (words) => (words ?? "").toLowerCase().includes(text.toLowerCase());
  const shown = present(lines).filter(
    (line) =>
      line.key === at ||
      ((!only || toReview(line)) && (!text || has(line.picture.name) || has(line.comment))),
  );
  if (!sort) return shown;
  const place = ORDERS[sort];
  return shown.sort((a, b) =>
    place ? place(a) - place(b) : compare(a.picture.name, b.picture.name),
  );
}

// neighbour is the line `by` lines further on, or the last one in that direction.
export function neighbour(list, by) {
  const lines = shownLines(list),
    i = lines.findIndex(({ key }) => key === list.at);
  return lines[Math.max(0, Math.min(lines.length - 1, i + by))];
}

// counts has the numbers of lines by their state.
export const counts = ({ lines }) => ({
  all: lines.length,
  waiting: lines.filter(({ state }) => state === "waiting").length,
  toReview: lines.filter(toReview).length,
});

// decided is the list with a decision about the chosen line, or null if the person does not see a
// result: a failed line can only be rejected. Repeating a decision takes it back, unless it waited
// for the image: a person who saw no effect yet may have pressed twice. drawn are the corrections
// on the stage, which the decision is about, also where nobody has measured them yet.
export function decided(list, what, seen, waited, at, drawn) {
  const line = lineAt(list),
    { key, review, corrections } = line;
  if (!seen && (line.state !== "failed" || what === "accepted")) return null;
  const stays = waited || list.sure === key;
  return {
    ...changed(list, line, {
      review: review === what && !stays ? "" : what,
      decided: at,
      ...(seen && drawn.length + corrections.length && { corrections: drawn }),
    }),
    sure: waited ? key : 0,
  };
}

// sees says whether a person sees the result of the chosen line.
export const sees = ({ worklist, job, result }) =>
  !job && result?.asked.picture === lineAt(worklist).picture;

// done and failed are the list after a task, { key, picture }.
export function done(list, { key, picture }, result, masks) {
  const line = list.lines.find((one) => one.key === key && one.picture === picture);
  return line
    ? changed(withoutOthers(list, result), line, {
        state: "done",
        error: null,
        result,
        masks,
        ...reviewOf(line, result),
      })
    : list;
}
export function failed(list, { key, picture }, error) {
  const line = list.lines.find((one) => one.key === key && one.picture === picture);
  return line && !line.result ? changed(list, line, { state: "failed", error }) : list;
}

// canRetry says that a failed line may succeed, because its file is not the reason. retried makes
// all such lines wait.
export const canRetry = ({ state, error }) =>
  state === "failed" && !["image", "missing"].includes(error.code);
export const retried = (list) => ({
  ...list,
  lines: list.lines.map((line) =>
    canRetry(line) ? { ...line, state: "waiting", error: null } : line,
  ),
});

// reviewOf takes a decision back if other weights of the model gave the result.
const reviewOf = (line, { sha256 }) =>
  line.result && line.result.sha256 !== sha256 ? { review: "" } : {};

// withoutOthers makes lines wait whose results are of another model. A list has one model, and
// corrections end with the model.
function withoutOthers(list, { model }) {
  if (!list.lines.some(({ result }) => result && result.model !== model)) return list;
  return {
    ...list,
    lines: list.lines.map((line) =>
      line.result && line.result.model !== model ? { ...line, ...UNSEEN } : line,
    ),
  };
}

// pictured replaces a line's picture by another one: turned, or another slice of the same file.
export function pictured(list, from, picture) {
  const line = lineBy(list, from);
  return line
    ? changed(list, line, { ...UNSEEN, picture, thumb: "", slice: undefined, slices: undefined })
    : list;
}

// sliced is a list that knows which one of how many in its file a picture is.
export function sliced(list, picture, { slice, slices }) {
  const line = lineBy(list, picture);
  return line && (line.slice !== slice || line.slices !== slices)
    ? changed(list, line, { slice, slices })
    : list;
}
// sliceOf is the slice of a line, and sliceLine the line of a slice of a file. Else it is a line of
// the file without work of a person, at best that of the picture before, or undefined.
export const sliceOf = ({ picture, slice }) => picture.slice || slice;
export function sliceLine({ lines }, { blob, slice, turn }, before, worked) {
  const same = lines.filter(({ picture }) => picture.blob === blob && picture.turn === turn),
    free = same.filter((line) => !worked(line));
  return (
    same.find((line) => sliceOf(line) === slice) ??
    free.find(({ picture }) => picture === before) ??
    free[0]
  );
}

// acceptedBy is who accepted an image, or "".
export const acceptedBy = (list, picture) =>
  list && lineBy(list, picture)?.review === "accepted" ? list.by || "Unnamed^Person" : "";

// byHand says whether a person drew a correction of a line, or has accepted what was filled in
// between such lines (series.js), and handOf what to say of the line's corrections.
export const byHand = ({ review }, { filled }) => !filled || review === "accepted";
export const handOf = (line) =>
  line.corrections.some((one) => byHand(line, one))
    ? "corrected"
    : line.corrections.length
      ? "filled in"
      : "";

// seriesIn says what could become a series: "file", the slices of the file on the stage, "files",
// the list's DICOM files of one frame each, or "".
export function seriesIn({ worklist, image, picture, job }) {
  const lines = worklist?.lines ?? [],
    of = lines.map(({ result }) => result).filter(Boolean);
  if (!image || worklist?.series || worklist?.study || (job && job.picture !== picture)) return "";
  if (lines.some((line) => line.picture.missing)) return "";
  if (image.slices > 1)
    return lines.every((line) => line.picture.blob === picture.blob) ? "file" : "";
  const dicom = ({ formats, lacks }) => Boolean(lacks) || formats?.includes("dicom-seg");
  return lines.length > 1 && of.length && of.every(dicom) ? "files" : "";
}
// serial is the list of a series, with a line for each picture. Pictures of lines keep them.
export function serial(list, pictures, series) {
  const lines = pictures.map((picture) => {
    const { blob, slice } = picture,
      is = (one) => one.picture.blob === blob && (!slice || sliceOf(one) === slice),
      known = list.lines.find(is),
      slices = slice ? pictures.length : undefined;
    return known ?? { ...lineOf(picture), slice: slice || undefined, slices };
  });
  const { key } = lines.find((line) => line.key === list.at) ?? lines[0];
  return { ...list, lines, series, at: key, sort: "", text: "", toReview: false };
}

// sliceText says which picture of how many in its file an image is, or is "".
export const sliceText = ({ slice, slices }) =>
  slices > 1 ? `${t("Slice")} ${t("{slice} of {slices}", { slice, slices })}` : "";

// followed updates the list after an event, by what changed on the stage, and schedules the next
// task.
export function followed(s, before, type, { job, error }) {
  if (!s.worklist) return s;
  let list = s.worklist;
  if (type === "failed" && job && job === before.job && error.code !== "cancelled") {
    const line = lineBy(list, job.picture);
    if (line) list = failed(list, line, error);
  }
  if (type === "cancel" && before.job) list = { ...list, paused: true };
  list = onStage(list, s);
  const now = list === s.worklist ? s : { ...s, worklist: list };
  return said(before, scheduled(now));
}

// onStage copies the figures on the stage to the line, with all strokes that are measured.
function onStage(list, { result, measured, corrections, drafting, known }) {
  const { picture } = result?.asked ?? {};
  if (
    !measured ||
    drafting ||
    !lineBy(list, picture) ||
    (measured.corrected?.length ?? 0) !== corrections.length
  )
    return list;
  const now = withoutOthers(list, result),
    line = lineBy(now, picture),
    { masks } = line;
  const drawn =
    line.corrections !== corrections && line.corrections.length + corrections.length > 0;
  if (line.result === measured && !drawn && (line.known ?? null) === known) return list;
  // Another drawing needs another look.
  const drawing = drawn ? { corrections, review: "", archived: null } : {};
  return changed(now, line, {
    state: "done",
    error: null,
    result: measured,
    known,
    masks: masks?.id === result.id ? masks : null,
    ...reviewOf(line, result),
    ...drawing,
  });
}

// scheduled chooses the task, the line that is computed in the background. Work that a person waits
// for comes first: a task then ends, and begins again later.
function scheduled(s) {
  const list = s.worklist,
    { task } = list;
  const may =
    !list.paused &&
    !list.saving &&
    !s.stopped &&
    !s.job &&
    !s.questions.length &&
    !s.saves.length &&
    !s.field?.wish &&
    Boolean(s.model) &&
    s.model === s.listed;
  const goesOn =
    task &&
    list.lines.some(
      ({ key, picture, state }) =>
        key === task.key && picture === task.picture && state === "waiting",
    );
  if (may && goesOn) return s;
  const next = may && list.lines.find(({ state }) => state === "waiting");
  if (!next && !task) return s;
  return {
    ...s,
    worklist: { ...list, task: next ? { key: next.key, picture: next.picture } : null },
  };
}

// said tells a screen reader once that all lines are computed.
function said(before, s) {
  const waited = before.worklist?.lines.some(({ state }) => state === "waiting"),
    { all, waiting, toReview: n } = counts(s.worklist);
  if (!waited || waiting) return s;
  const text = `${t("All {n} images are computed.", { n: all })} ${t("{n} to review.", { n })}`;
  return { ...s, status: s.status === before.status ? text : `${s.status} ${text}` };
}

// pictureIn is a result of a picture that another one stands for now, or null.
export const pictureIn = (result, picture) =>
  result && { ...result, asked: { ...result.asked, picture } };

// attached gives lines the files, by key, that they lack.
export function attached(list, blobs) {
  return {
    ...list,
    lines: list.lines.map((line) => {
      const {
          key,
          picture: { missing, refused, ...picture },
          result,
          error,
        } = line,
        blob = blobs.get(key);
      if (!blob) return line;
      const now = { ...picture, blob },
        again = error?.code === "missing" ? { state: "waiting", error: null } : {};
      return { ...line, ...again, picture: now, result: pictureIn(result, now) };
    }),
  };
}

// settled is the list with one version of the chosen line: its own, or with take its first rival's.
// The picture is a new one, so that the stage shows the version.
export function settled(list, take) {
  const line = lineAt(list),
    [{ result, ...work }, ...rivals] = line.rivals,
    picture = { ...line.picture };
  return changed(
    list,
    line,
    take ? { ...work, picture, result: pictureIn(result, picture), rivals } : { rivals },
  );
}

// unmasked is the result on the stage if its line lacks its masks, which the ZIP needs.
export function unmasked({ worklist, result, job }) {
  const line = worklist && result && !job && lineBy(worklist, result.asked.picture);
  return line && result.found && line.masks?.id !== result.id ? result : null;
}

// resting is the key of the line that keys have reached and that is not shown yet.
export const resting = ({ worklist }) =>
  worklist && worklist.at !== worklist.asked ? worklist.at : 0;

// stateOf is what a line shows: its state, or the person's decision.
export function stateOf({ worklist, job }, line) {
  const { state, review, picture, result } = line;
  if (review) return review;
  return (worklist.task?.picture === picture || (job?.picture === picture && !result)) &&
    state === "waiting"
    ? "computing"
    : state;
}
