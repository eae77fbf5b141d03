// The printed report of a result: one page of A4 or Letter, black on white. print.css has its looks.
// Nothing identifies a person unless the user wants it.
import { limits, version } from "../page/build.js";
import { drawPicture, pathOf, pictureOf, stroke } from "../draw/canvas2d.js";
import { css } from "../draw/colours.js";
import { clinicalNotes, eyeRemarks, eyeText, fellowNotes } from "./clinical.js";
import { fellow } from "./compare.js";
import { $, element, svg, table } from "../page/dom.js";
import { trustIn } from "./figures.js";
import { YOU } from "../draw/correct.js";
import { layers, measuredLines } from "../draw/layers.js";
import {
  alone,
  figureNotes,
  regionText,
  rimText,
  scaleNote,
  title,
  verdict,
  whole,
  whyDoubted,
} from "./measurements.js";
import { outlined } from "../draw/outlines.js";
import { scaleOf } from "./scale.js";
import { inWhole, sharesOf } from "./shares.js";
import { subject } from "../page/history.js";
import { summary } from "./summary.js";
import { wanted } from "../worker/scripts.js";
import { isolated, language, t } from "../words/words.js";
import { sliceText } from "./worklist.js";

const TALLEST = (250 / 25.4) * 96; // CSS pixels that fit on a page of Letter, within its margins
const WIDTH = 184,
  GAP = 4,
  HEIGHTS = [110, 96, 84, 76, 68, 60, 52, 44, 36, 28], // mm; those of the pictures, the first that fits
  ON_SEVERAL = 84; // of a report of several pages
const DOTS = 300 / 25.4; // of the pictures, a mm
// Dashes, in mm, tell structures apart without colours.
const DASHES = [[], [2, 1.2], [0.6, 0.9], [3, 0.9, 0.6, 0.9]];

const locale = () => (language === "en" ? "en-GB" : language);

// notesOf are sentences about the figures of a report.
function notesOf(s, figures, why, scale) {
  const { result, measured } = s,
    { eye, rim } = measured.measurements,
    other = fellow(s),
    meanings = new Map(
      figures.flatMap(({ ranges }) => ranges.map(([name, meaning]) => [name, meaning])),
    );
  return [
    ...figureNotes(measured, meanings, why),
    ...alone(measured),
    !result.raters.length &&
      t(
        "These weights were trained without heads: they guess no rater's mask, and know no disagreement.",
      ),
    ...(eye?.side ? [`${title(eyeText(eye))}.`, ...eyeRemarks(measured)] : []),
    ...(rim ? [rimText(measured, scale), ...clinicalNotes(measured)] : []),
    ...(other ? fellowNotes(other) : []),
    scale && scaleNote(scale),
  ].filter(Boolean);
}

// factsOf are what a report says of the result beside the figures, each [term, text].
function factsOf({ result, measured, picture, image, ...s }, when) {
  const { classes } = result,
    weights = result.asked.weights && inWhole(sharesOf(result.asked.weights));
  const of = (rater, c) =>
    rater === YOU && classes.length > 1
      ? title(c)
      : rater === YOU
        ? t("Consensus")
        : `${title(rater)}, ${t(c)}`;
  const areaBefore = (c) => measured.byModel.structures.find((one) => one.class === c).area;
  const hand = (measured.corrected ?? []).map(
    ({ rater, class: c, area }) =>
      `${of(rater, c)}: ${t("area")} ${rater === YOU ? `${whole(areaBefore(c))} → ` : ""}${whole(area)} px`,
  );
  const marks = subject({ result, picture, ...s }).evidence.map(
    ({ rater, class: c, tiles }) =>
      `${title(rater)}, ${t(c)}${tiles ? ` (${t("drawn here")})` : ""}`,
  );
  return [
    ["Model", t(result.title ?? result.model)],
    ["Weights, SHA-256", result.sha256],
    ["Program", `MrPrism ${version}`],
    [
      "Computed by",
      `${result.adapter}${result.why ? `: ${t(result.why)}` : ""}, ${result.precision}, Rec${result.recurrences}`,
    ],
    [
      "Image",
      [
        `${image.width} × ${image.height} px`,
        sliceText(image),
        picture.turn && t("turned by {degrees}°", { degrees: 90 * picture.turn }),
        t("opened on {date}", { date: when(picture.opened) }),
      ]
        .filter(Boolean)
        .join(", "),
    ],
    ["Region", regionText(result)],
    ["Corrected by hand", hand.join("; ") || t("nothing")],
    ["Given marks", marks.join("; ") || t("none")],
    ...(weights
      ? [
          [
            "Weights of the raters",
            weights.map((share, m) => `${title(result.raters[m])} ${share} %`).join(", "),
          ],
        ]
      : []),
  ];
}

// reportPage puts the report of a state into the document, and returns it. now is a Date; file
// says whether to write the image's name; reference and visit are texts of the user, or "". The
// report is no taller than tallest, CSS pixels; in a font of pdf.js it may be, and then has
// several pages.
function reportPage(s, { now, file, reference, visit }, { tallest, font } = { tallest: TALLEST }) {
  const { result, measured, image } = s,
    { roi, found } = result,
    { width, height } = image,
    why = whyDoubted(result),
    scale = scaleOf(measured.measurements, s.known),
    figures = [...summary(measured, scale)],
    trust = found && trustIn(measured),
    card = limits[result.model] ?? s.models.find(({ name }) => name === result.model)?.limits,
    lines = linesOf(s);
  const { format: when } = new Intl.DateTimeFormat(locale(), {
    year: "numeric",
    month: "long",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "short",
  });
  const overview = {
    of: { x: 0, y: 0, width, height },
    square: roi.whole ? null : roi,
    text: roi.whole ? t("The photograph") : t("The photograph, with the region"),
  };
  const region = { of: { ...roi, width: roi.side, height: roi.side }, text: t("The region") };
  const pictures = (roi.whole || !found ? [overview] : [overview, region]).map((one) => ({
    ...one,
    canvas: element("canvas", {}),
  }));
  const names = [...new Set(figures.flatMap(({ ranges }) => ranges.map(([name]) => name)))];
  const p = (className, ...text) => element("p", { className }, ...text),
    list = (className, items) =>
      element("ul", { className }, ...items.map((item) => element("li", {}, ...item)));
  const terms = (all) =>
    element(
      "dl",
      {},
      ...all.flatMap(([term, text]) => [element("dt", {}, t(term)), element("dd", {}, text)]),
    );
  const identity = [
    ...(file ? [["File", isolated(s.picture.name)]] : []),
    ...(reference ? [["Reference", reference]] : []),
    ...(visit ? [["Visit", visit]] : []),
    ...patientOf(s),
  ];
  const doubt = why && [
    element("strong", {}, why.title),
    ` ${[...why.reasons, t(found ? "Its outline and figures may be wrong." : "There are no figures.")].join(" ")}`,
  ];
  const figured = table(
    [t("Figure"), t("Value"), ...names.map(title)],
    figures.map(({ name, text, ranges, corrected }) => [
      name + (corrected ? `, ${t("corrected by hand")}` : ""),
      text,
      ...names.map((name) => ranges.find(([of]) => of === name)?.[2] ?? ""),
    ]),
    1,
  );
  const page = element(
    "article",
    { id: "report" },
    element(
      "header",
      {},
      element("h1", {}, t("MrPrism: report of a segmentation")),
      p("", when(now)),
    ),
    p(
      "research",
      t("For research use only. Not a medical device; not for diagnosis or treatment decisions."),
    ),
    ...(identity.length ? [terms(identity)] : []),
    ...(doubt ? [element("div", { className: "doubt" }, ...doubt)] : []),
    ...(trust ? [verdict(trust, result)] : []),
    element(
      "div",
      { className: "pictures" },
      ...pictures.map(({ canvas, text }) =>
        element("figure", {}, canvas, element("figcaption", {}, text)),
      ),
    ),
    list(
      "keys",
      lines.filter(({ text }) => text).map((line) => [keyOf(line), line.text]),
    ),
    ...(figures.length ? [figured, p("small", notesOf(s, figures, why, scale).join(" "))] : []),
    terms(factsOf(s, when)),
    element("h2", {}, t("Limits of the model")),
    list(
      "",
      (card ?? []).map((text) => [t(text)]),
    ),
    p(
      "small",
      card
        ? t("From the model's card, {card}, which says more.", {
            card: `weights/${result.model}.md`,
          })
        : t("These weights have no card: nobody has said here how good they are."),
    ),
    element("footer", {}, ...["Name", "Date", "Signature"].map((what) => p("", t(what)))),
  );
  Object.assign(page.style, { fontFamily: font ?? "", minHeight: `${tallest - 4}px` });
  document.body.append(page);
  const fits = (tall) => {
    const wide = pictures.length === 1 ? WIDTH : (WIDTH - GAP) / 2;
    for (const { canvas, of } of pictures) {
      const scale = Math.min(wide / of.width, tall / of.height),
        [w, h] = [of.width * scale, of.height * scale];
      Object.assign(canvas, { width: Math.round(w * DOTS), height: Math.round(h * DOTS) });
      Object.assign(canvas.style, { width: `${w}mm`, height: `${h}mm` });
    }
    return page.offsetHeight <= tallest;
  };
  if (!HEIGHTS.some(fits)) {
    if (font) fits(ON_SEVERAL);
    else page.style.zoom = tallest / page.offsetHeight; // nothing is left out
  }
  for (const one of pictures) paint(one, image, lines);
  return page;
}

// linesOf are the outlines of the measured masks and, below them, the raters' or levels' lines on
// the stage: { points, starts, colour, width, dash, text }, width and dash in mm. The lines of
// several raters share one text.
function linesOf(s) {
  const { result, choices, measured } = s;
  if (!result.found) return [];
  const { lines, keys } = layers(result, {
      ...choices,
      contour: false,
      map: "none",
      recurrence: Infinity,
    }),
    all = lines.every(({ view }) => view.key in s.views);
  const text = (i) =>
    keys.length === lines.length ? keys[i].text : i ? "" : keys.map((key) => key.text).join("; ");
  return [
    ...(all
      ? outlined(s, lines).map((line, i) => ({ ...line, width: 0.2, dash: [], text: text(i) }))
      : []), // may be missing yet
    ...outlined(s, measuredLines(result)).map((line, c) => {
      const { class: name, corrected } = measured.measurements.structures[c];
      return {
        ...line,
        width: 0.45,
        dash: DASHES[c % DASHES.length],
        text: `${title(name)}, ${t("consensus")}${corrected ? `, ${t("corrected by hand")}` : ""}`,
      };
    }),
  ];
}

// paint draws a part of the photograph and the lines on it. A black border shows a line on any
// ground, in grey too.
function paint({ canvas, of, square }, image, lines) {
  const c = canvas.getContext("2d"),
    k = canvas.width / of.width;
  c.fillStyle = "#fff";
  c.fillRect(0, 0, canvas.width, canvas.height);
  c.setTransform(k, 0, 0, k, -of.x * k, -of.y * k);
  drawPicture(c, pictureOf(image), 1, (k * image.drawnWidth) / image.pixelsWide < 6);
  const draw = (...line) => stroke(c, DOTS / k, ...line);
  for (const line of lines) for (const edge of edgesOf(line)) draw(pathOf(line), ...edge);
  if (!square) return;
  const frame = new Path2D();
  frame.rect(square.x, square.y, square.side, square.side);
  draw(frame, "#000", 0.5);
  draw(frame, "#fff", 0.2);
}
// edgesOf are the border of a line and the line itself, each [colour, width, dash].
const edgesOf = ({ colour, width, dash }) => [
  ["#000", width + 0.35, dash],
  [css(colour), width, dash],
];

// keyOf is a piece of a line for the legend.
const keyOf = (line) =>
  svg(
    "svg",
    { viewBox: "0 0 9 2" },
    ...edgesOf(line).map(([stroke, width, dash]) =>
      svg("path", {
        d: "M.4 1h8.2",
        stroke,
        "stroke-width": width,
        "stroke-dasharray": dash.join(" ") || "none",
      }),
    ),
  );

// patientOf is what the DICOM file says of a person, if the user wants it, as terms.
function patientOf({ patient }) {
  if (!patient) return [];
  const { format } = new Intl.DateTimeFormat(locale(), { dateStyle: "long", timeZone: "UTC" });
  const dated = (digits) => {
    const date = new Date(digits.replace(/^(....)(..)(..)$/, "$1-$2-$3"));
    return isNaN(date) ? digits : format(date);
  };
  return [
    ["Patient", isolated(patient.name) || t("not known")],
    ["Patient ID", isolated(patient.id)],
    ["Born", dated(patient.born)],
    ["Taken", dated(patient.taken)],
  ].filter(([, text]) => text);
}

// reportPDF resolves to the bytes of the report of a state as a PDF. wishes are as in reportPage.
export const reportPDF = async (s, wishes) =>
  (await wanted("pdf.js")).pdfOf((paper) => reportPage(s, wishes, paper));

// reportWishes are what the person asks of a report, as reportPage takes them.
export const reportWishes = () => ({
  now: new Date(),
  file: $("report-file").checked,
  reference: given("reference"),
  visit: given("visit"),
});
const given = (what) => ($(`report-has-${what}`).checked ? $(`report-${what}`).value.trim() : "");

// printReports prints the report instead of the page, however printing is started, if state() has a
// result, and makes a PDF of it. save(bytes, s) saves that of a state s; identity(picture) resolves
// to what a DICOM file says of a person.
export function printReports(state, { send, fail, save, identity }) {
  const remove = () => $("report")?.remove();
  addEventListener("beforeprint", () => {
    remove();
    if (state().result && !state().worklist?.study) reportPage(state(), reportWishes());
  });
  addEventListener("afterprint", remove);
  $("report-print").onclick = () => print();
  $("report-pdf").onclick = async ({ target }) => {
    if (target.ariaDisabled) return;
    target.ariaDisabled = "true";
    const s = state();
    await reportPDF(s, reportWishes()).then((bytes) => save(bytes, s), fail);
    target.ariaDisabled = null;
  };
  for (const what of ["reference", "visit"])
    $(`report-has-${what}`).onchange = ({ target: { checked } }) => {
      $(`report-${what}`).hidden = !checked;
      if (checked) $(`report-${what}`).focus();
    };
  $("report-identity").onchange = async ({ target }) => {
    const { picture } = state(),
      asked = target.checked && identity(picture).catch(fail);
    target.checked = false; // until it is known
    const patient = (await asked) || null;
    if (state().picture === picture) send({ type: "set", patient });
  };
}
