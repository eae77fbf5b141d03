// The log of a session: who did what, when, and with which model. It is the part log of the state,
// { entries, others, changed }: others are the logs of sessions that have joined this one, and
// changed says after which entry a file's log was changed, or is null. Nothing here rewrites an
// entry. session.js writes each as a line with the sum of the line before (guide/log.md).
import { lineAt } from "../review/worklist.js";

const NONE = [],
  NOTHING = {};
export const noLog = { entries: NONE, others: NONE, changed: null };

const DREW = {
  stroke: "drew",
  uncorrect: "removed drawings",
  undo: "undid",
  redo: "redid",
  mark: "marked",
  unmark: "unmarked",
  recalibrate: "recomputed around drawings",
};
const ASKED = ["roi", "weights", "evidence"];

// linesOf are the lines of the list, or one of the image that is open.
const linesOf = ({ worklist, result }) =>
  worklist?.lines ??
  (result ? [{ key: result.asked.picture.key, picture: result.asked.picture, result }] : NONE);
const numberOf = ({ worklist }, picture) =>
  worklist ? worklist.lines.findIndex((line) => line.picture === picture) : 0;
const computed = (old, now) =>
  now?.sha256 &&
  (old?.sha256 !== now.sha256 || ASKED.some((what) => old.asked[what] !== now.asked[what]));

// ofLines are entries of what changed in the lines.
function ofLines(before, s) {
  const [old, now] = [linesOf(before), linesOf(s)];
  if (old === now) return NONE;
  const was = new Map(old.map((line) => [line.key, line]));
  return now.flatMap((line, reading) => {
    const { picture, result, review = "", reason = "", comment = "", answers = NOTHING } = line,
      then = was.get(line.key) ?? {},
      made = [];
    if (line === then) return made;
    const add = (did, fields) => made.push({ did, picture, reading, ...fields });
    if (computed(then.result, result))
      add("computed", { model: result.model, sha256: result.sha256, region: result.asked.roi });
    if ((then.review ?? "") !== review || (review && (then.reason ?? "") !== reason))
      add(review || "not decided", reason && review ? { reason } : {});
    if ((then.answers ?? NOTHING) !== answers)
      add("answered", { what: JSON.stringify(answers).slice(0, 1000) });
    if ((then.comment ?? "") !== comment) add("commented", { comment });
    return made;
  });
}

// ofStage are entries of what changed on the stage: an image that is new, its scale, and drawings.
function ofStage(before, s, type) {
  const { picture, corrections, known } = s,
    other = picture !== before.picture,
    drew = DREW[type] && s.history !== before.history,
    scaled = type === "scale" && known !== before.known,
    made = [];
  const reading = (other || drew || scaled) && picture ? numberOf(s, picture) : -1;
  if (reading < 0) return made;
  const opened = (one) =>
    one.did === "opened" && one.reading === reading && one.picture?.blob === picture.blob;
  if (other && !s.log.entries.some(opened)) made.push({ did: "opened", picture, reading });
  if (scaled)
    made.push({
      did: known ? "set the scale" : "forgot the scale",
      picture,
      reading,
      ...(known ? { mm: known } : {}),
    });
  if (!drew) return made;
  const changed = [
    ...corrections.filter((one) => !before.corrections.includes(one)),
    ...before.corrections.filter((one) => !corrections.includes(one)),
  ];
  const masks = new Map(
    changed.map(({ rater, class: structure }) => [`${rater}/${structure}`, { rater, structure }]),
  );
  for (const mask of masks.size ? masks.values() : [{}])
    made.push({ did: DREW[type], picture, reading, ...mask });
  return made;
}

function entriesOf(before, s, type, event) {
  if (type === "log") return [event];
  if (type === "restored") return [event.entry];
  if (type === "settled")
    return [
      {
        did: event.take ? "took the other version" : "kept this version",
        picture: lineAt(s.worklist).picture,
        reading: numberOf(s, lineAt(s.worklist).picture),
      },
    ];
  if (type === "written") return [{ did: "exported", what: event.what }];
  if (type === "saved")
    return [
      {
        did: "exported",
        what: event.save.made || event.save.what,
        picture: event.save.result.asked.picture,
      },
    ];
  return [...ofStage(before, s, type), ...ofLines(before, s)];
}

// appended is a list of entries with another one. What one person does to one thing several times
// in a row is one entry, with n and the time of the last.
const SAME = ["did", "by", "picture", "structure", "rater", "model", "what"];
function appended(entries, one) {
  const last = entries.at(-1);
  if (!last?.picture || SAME.some((field) => last[field] !== one[field])) return [...entries, one];
  return [
    ...entries.slice(0, -1),
    { ...last, ...one, time: last.time, until: one.time, n: (last.n ?? 1) + 1 },
  ];
}

// logged is a state with entries of what an event did. Another image without a list begins anew.
export function logged(before, s, { type, ...event }, time) {
  const anew = !s.worklist && s.picture?.blob !== before.picture?.blob,
    log = anew ? noLog : s.log;
  const made = entriesOf(before, anew ? { ...s, log } : s, type, event);
  if (!made.length) return s;
  return {
    ...s,
    log: {
      ...log,
      entries: made.reduce(
        (list, one) => appended(list, { time, by: s.worklist?.by ?? "", ...one }),
        log.entries,
      ),
    },
  };
}
