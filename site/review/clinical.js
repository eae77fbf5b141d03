// What clinicians read beside the vertical ratio, in words: which eye it is, the narrowest rim,
// ISNT and the damage stage. The worker computes them (internal/segment, Clinical). If the user
// chooses an eye, gives a scale or corrects masks, the page sends these and asks again.
import { YOU } from "../draw/correct.js";
import { bare, lengths } from "./scale.js";
import { number, t } from "../words/words.js";

const ratio = (value) => number(value, 2),
  SIDES = ["inferior", "superior", "nasal", "temporal"];
const between = (low, high, text) =>
  low === null || low === undefined ? "" : `${text(low)} – ${text(high)}`;

// wishOf is the question to the worker for a state or a second photograph, { result, corrections,
// eye, known }, or null if the result's own figures are right.
export function wishOf({ result, corrections, eye, known }) {
  const { inner, outer } = result?.measurements.verticalRatio ?? {};
  const drawn = corrections.some(
    ({ rater, class: c }) => rater === YOU && (c === inner || c === outer),
  );
  return inner && (eye || known || drawn) ? { result, corrections, eye, known } : null;
}
export const sameWish = (a, b) =>
  ["result", "corrections", "eye", "known"].every((key) => a?.[key] === b?.[key]);

// readAnew is a result with the worker's new figures. Until these have come it has none, and
// rereading is true.
export function readAnew(of) {
  const { result, figured } = of,
    wish = wishOf(of);
  if (!wish) return result;
  const { rim, rimLow, rimHigh, narrowestRim, eye, isnt, ddls, ...measurements } =
    result.measurements;
  return sameWish(figured, wish)
    ? { ...result, measurements: { ...measurements, ...figured.figures } }
    : { ...result, measurements, rereading: true };
}

const EYES = { right: "right eye", left: "left eye" };
const BY = {
  user: "as you say",
  dicom: "by the DICOM file",
  name: "by the file's name",
  picture: "by the side of the disc",
};
const SAYS = {
  user: "You say the other eye.",
  dicom: "The DICOM file says the other eye.",
  name: "The file's name says the other eye.",
  picture: "The side of the disc says the other eye.",
};

// eyeText says which eye it is and who said so. It is empty if the eye is not known.
export const eyeText = ({ side, by } = {}) => (side ? `${t(EYES[side])}, ${t(BY[by])}` : "");
// eyeRemarks are the reasons to think that it is the other eye.
export const eyeRemarks = ({ measurements: { eye } }) =>
  (eye?.against ?? []).map((by) => t(SAYS[by]));

// clinicalRows are the figures of a result, each { key, name, text, range, more }. range is over
// the mask and raters or levels; empty without heads. more says more of the figure, or is "".
// Widths are in mm by a scale (scale.js), else in disc diameters.
export function clinicalRows({ measurements }, scale) {
  const { narrowestRim: thin, isnt, ddls } = measurements,
    rows = [];
  if (!thin) return rows;
  const add = (key, name, text, range = "", more = "") =>
    rows.push({ key, name, text, range, more });
  const where = t("at {hour} o'clock", { hour: thin.hour });
  add(
    "narrowestRim",
    t("Narrowest rim/disc"),
    ratio(thin.value),
    between(thin.low, thin.high, ratio),
    thin.absent
      ? t("{where}, no rim over {degrees}°", { where, degrees: Math.round(thin.absent) })
      : where,
  );
  if (isnt) {
    const widths = SIDES.map(
      (side, i) => lengths(i < 2 ? [0, isnt[side]] : [isnt[side], 0], measurements, scale)[0],
    );
    add(
      "isnt",
      t("ISNT rule"),
      t(isnt.holds ? "holds" : "violated"),
      isnt.of ? t("{agree} of {of} agree", { agree: isnt.agree, of: isnt.of }) : "",
      `I ${bare(widths[0])} · S ${bare(widths[1])} · N ${bare(widths[2])} · T ${widths[3]}`,
    );
  } else add("isnt", t("ISNT rule"), t("which eye?"));
  if (ddls.withheld) add("ddls", t("Damage stage, DDLS"), t("withheld"));
  else
    add(
      "ddls",
      t("Damage stage, DDLS"),
      t("{stage} of 10", { stage: ddls.stage }),
      between(ddls.low, ddls.high, number),
      t("{size} disc", { size: t(ddls.size) }),
    );
  return rows;
}

// clinicalNotes say what the figures are, and why one is missing.
export function clinicalNotes({ measurements: { narrowestRim, isnt, ddls } }) {
  if (!narrowestRim) return [];
  return [
    t("Rim/disc: the rim's width by the disc's diameter on the narrowest ray."),
    isnt
      ? t(
          "ISNT: in many healthy eyes the rim is widest inferior, then superior, nasal, temporal (Jonas 1988, Harizman 2006).",
        )
      : t("ISNT needs to know which eye it is."),
    ddls?.withheld
      ? t("The damage stage is withheld: {why}", { why: t(ddls.withheld) })
      : t(
          "Damage stage: disc damage likelihood scale (Spaeth 2002), by rim/disc and the size of the disc.",
        ),
  ];
}

// fellowNotes compare the vertical ratio with that of the other eye, as compare.js has it.
export function fellowNotes({ difference, large }) {
  const notes = [
    t("The vertical ratios of the two eyes differ by {n}.", { n: ratio(Math.abs(difference)) }),
  ];
  if (large)
    notes.push(
      t(
        "A difference of 0.2 or more was found in 24 % of people with open-angle glaucoma and in 6 % of healthy ones (Ong 1999): look again, but alone it tells nothing.",
      ),
    );
  return notes;
}
