// The printed report of a result: one page of A4 or Letter, black on white. reportOf has its
// content, reportPage makes its document, and print.css its looks. Nothing identifies a person
// unless the user wants it.
import { limits, version } from "../page/build.js";
import { picture, pathOf } from "../draw/canvas2d.js";
import { clinicalNotes, eyeRemarks, eyeText, fellowNotes } from "./clinical.js";
import { fellow } from "./compare.js";
import { $, element } from "../page/dom.js";
import { trustIn } from "./figures.js";
import { YOU } from "../draw/correct.js";
import { layers, measuredLines } from "../draw/layers.js";
import {
  alone,
  regionBy,
  remarks,
  rimText,
  title,
  verdict,
  whole,
  whyDoubted,
  withheld,
} from "./measurements.js";
import { outlined } from "../draw/outlines.js";
import { scaleOf } from "./scale.js";
import { inWhole, sharesOf } from "./shares.js";
import { subject } from "../page/history.js";
import { summary } from "./summary.js";
import { isolated, language, t } from "../words/words.js";
import { sliceText } from "./worklist.js";

const TALLEST = (250 / 25.4) * 96; // CSS pixels that fit on a page of Letter, within its margins
const WIDTH = 184,
  GAP = 4,
  HEIGHTS = [110, 96, 84, 76, 68, 60, 52, 44, 36, 28]; // mm; those of the pictures, the first that fits
const DOTS = 300 / 25.4; // of the pictures, a mm
// Dashes, in mm, tell structures apart without colours.
const DASHES = [[], [2, 1.2], [0.6, 0.9], [3, 0.9, 0.6, 0.9]];

// reportOf is the content of the report of a state. options: now, a Date; file: whether to write
// the image's name; reference: a text of the user, or "".
export function reportOf(s, { now, file, reference }) {
  const {
      result,
      measured,
      picture: { name, opened },
      image,
    } = s,
    { roi, recurrences, classes } = result,
    why = whyDoubted(result),
    { evidence } = subject(s),
    scale = scaleOf(measured.measurements, s.known);
  const when = (date) =>
    new Intl.DateTimeFormat(language === "en" ? "en-GB" : language, {
      year: "numeric",
      month: "long",
      day: "numeric",
      hour: "2-digit",
      minute: "2-digit",
      timeZoneName: "short",
    }).format(date);
  const figures = [...summary(measured, scale)],
    meanings = new Map(
      figures.flatMap(({ ranges }) => ranges.map(([name, meaning]) => [name, meaning])),
    );
  const notes = [...meanings]
    .map(([name, meaning]) => `${title(name)}: ${meaning}.`)
    .concat(withheld(measured));
  if (why && meanings.size > 1)
    notes.push(t("It need not hold where the model doubts its result."));
  notes.push(...alone(measured));
  if (measured.corrected)
    notes.push(
      t("Corrected by hand: ranges and intervals are still those of the model."),
      ...remarks(measured),
    );
  if (!result.raters.length)
    notes.push(
      t(
        "These weights were trained without heads: they guess no rater's mask, and know no disagreement.",
      ),
    );
  const eye = eyeText(measured.measurements.eye),
    other = fellow(s);
  if (eye) notes.push(`${title(eye)}.`, ...eyeRemarks(measured));
  if (measured.measurements.rim) notes.push(rimText(measured, scale), ...clinicalNotes(measured));
  if (other) notes.push(...fellowNotes(other));
  if (scale)
    notes.push(
      t(
        {
          file: "Millimetres are by the pixel size in the file.",
          hand: "Millimetres are by the length that you gave.",
        }[scale.by],
      ),
    );
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
  const marks = evidence.map(
    ({ rater, class: c, tiles }) =>
      `${title(rater)}, ${t(c)}${tiles ? ` (${t("drawn here")})` : ""}`,
  );
  const weights =
    result.asked.weights &&
    inWhole(sharesOf(result.asked.weights))
      .map((share, m) => `${title(result.raters[m])} ${share} %`)
      .join(", ");
  const facts = [
    ["Model", t(result.title ?? result.model)],
    ["Weights, SHA-256", result.sha256],
    ["Program", `MrPrism ${version}`],
    [
      "Computed by",
      `${result.adapter}${result.why ? `: ${t(result.why)}` : ""}, ${result.precision}, Rec${recurrences}`,
    ],
    [
      "Image",
      [
        `${image.width} × ${image.height} px`,
        sliceText(image),
        s.picture.turn && t("turned by {degrees}°", { degrees: 90 * s.picture.turn }),
        t("opened on {date}", { date: when(opened) }),
      ]
        .filter(Boolean)
        .join(", "),
    ],
    [
      "Region",
      roi.whole
        ? t("The whole image")
        : t("{side} × {side} px at {x}, {y}, {how}", {
            side: `${roi.side}`,
            x: `${roi.x}`,
            y: `${roi.y}`,
            how: t(regionBy(result)),
          }),
    ],
    ["Corrected by hand", hand.join("; ") || t("nothing")],
    ["Given marks", marks.join("; ") || t("none")],
    ...(weights ? [["Weights of the raters", weights]] : []),
  ];
  const card = result.shipped ? limits[result.model] : null;
  return {
    when: when(now),
    identity: [
      ...(file ? [["File", isolated(name)]] : []),
      ...(reference ? [["Reference", reference]] : []),
    ],
    trust: result.found && trustIn(measured),
    doubt: why && {
      ...why,
      hint: result.found ? t("Its outline and figures may be wrong.") : t("There are no figures."),
    },
    figures,
    notes,
    facts,
    card: card ?? [],
    cardNote: card
      ? t("From the model's card, {card}, which says more.", { card: `weights/${result.model}.md` })
      : t("These weights have no card: nobody has said here how good they are."),
  };
}

// reportPage puts the report into the document, no taller than a page.
export function reportPage(s, options) {
  const { when, identity, trust, doubt, figures, notes, facts, card, cardNote } = reportOf(
      s,
      options,
    ),
    lines = linesOf(s),
    { roi, found } = s.result,
    { width, height } = s.image;
  const overview = {
    of: { x: 0, y: 0, width, height },
    square: roi.whole ? null : roi,
    text: roi.whole ? t("The photograph") : t("The photograph, with the region"),
  };
  const region = {
    of: { ...roi, width: roi.side, height: roi.side },
    square: null,
    text: t("The region"),
  };
  const pictures = (roi.whole || !found ? [overview] : [overview, region]).map((one) => ({
    ...one,
    canvas: element("canvas", {}),
  }));
  const names = [...new Set(figures.flatMap(({ ranges }) => ranges.map(([name]) => name)))];
  const cells = (tag, texts) => texts.map((text) => element(tag, {}, text));
  const table = element(
    "table",
    {},
    element(
      "thead",
      {},
      element("tr", {}, ...cells("th", [t("Figure"), t("Value"), ...names.map(title)])),
    ),
    element(
      "tbody",
      {},
      ...figures.map(({ name, text, ranges, corrected }) =>
        element(
          "tr",
          {},
          ...cells("th", [name + (corrected ? `, ${t("corrected by hand")}` : "")]),
          ...cells("td", [
            text,
            ...names.map((name) => ranges.find(([of]) => of === name)?.[2] ?? ""),
          ]),
        ),
      ),
    ),
  );
  const terms = (list) =>
    element(
      "dl",
      {},
      ...list.flatMap(([term, text]) => [element("dt", {}, t(term)), element("dd", {}, text)]),
    );
  const bullets = element("ul", {}, ...card.map((text) => element("li", {}, t(text))));
  const page = element(
    "article",
    { id: "report" },
    element(
      "header",
      {},
      element("h1", {}, t("MrPrism: report of a segmentation")),
      element("p", {}, when),
    ),
    element(
      "p",
      { className: "research" },
      t("For research use only. Not a medical device; not for diagnosis or treatment decisions."),
    ),
    ...(identity.length ? [terms(identity)] : []),
    ...(doubt
      ? [
          element(
            "div",
            { className: "doubt" },
            element("strong", {}, doubt.title),
            ` ${[...doubt.reasons, doubt.hint].join(" ")}`,
          ),
        ]
      : []),
    ...(trust ? [verdict(trust, s.result)] : []),
    element(
      "div",
      { className: "pictures" },
      ...pictures.map(({ canvas, text }) =>
        element("figure", {}, canvas, element("figcaption", {}, text)),
      ),
    ),
    element(
      "ul",
      { className: "keys" },
      ...lines.filter(({ text }) => text).map((line) => element("li", {}, keyOf(line), line.text)),
    ),
    ...(figures.length ? [table, element("p", { className: "small" }, notes.join(" "))] : []),
    terms(facts),
    element("h2", {}, t("Limits of the model")),
    bullets,
    element("p", { className: "small" }, cardNote),
    element(
      "footer",
      {},
      ...["Name", "Date", "Signature"].map((what) => element("p", {}, t(what))),
    ),
  );
  document.body.append(page);
  for (const tall of HEIGHTS) {
    const wide = pictures.length === 1 ? WIDTH : (WIDTH - GAP) / 2;
    for (const { canvas, of } of pictures) {
      const scale = Math.min(wide / of.width, tall / of.height),
        [w, h] = [of.width * scale, of.height * scale];
      Object.assign(canvas, { width: Math.round(w * DOTS), height: Math.round(h * DOTS) });
      Object.assign(canvas.style, { width: `${w}mm`, height: `${h}mm` });
    }
    if (page.offsetHeight <= TALLEST) break;
  }
  if (page.offsetHeight > TALLEST) page.style.zoom = TALLEST / page.offsetHeight; // nothing is left out
  for (const one of pictures) paint(one, s.image, lines);
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
    k = canvas.width / of.width,
    { drawnWidth, drawnHeight, pixelsWide, pixelsHigh, rgba } = image;
  c.fillStyle = "#fff";
  c.fillRect(0, 0, canvas.width, canvas.height);
  c.setTransform(k, 0, 0, k, -of.x * k, -of.y * k);
  Object.assign(c, {
    imageSmoothingEnabled: (k * drawnWidth) / pixelsWide < 6,
    imageSmoothingQuality: "high",
  });
  c.drawImage(
    picture(0, 0, drawnWidth, drawnHeight, pixelsWide, pixelsHigh, rgba).bitmap,
    0,
    0,
    drawnWidth,
    drawnHeight,
  );
  const mm = DOTS / k,
    stroke = (path, style, width, dash) => {
      Object.assign(c, { strokeStyle: style, lineWidth: width * mm, lineJoin: "round" });
      c.setLineDash(dash.map((length) => length * mm));
      c.stroke(path);
    };
  for (const { colour, width, dash, ...line } of lines) {
    const path = pathOf(line);
    stroke(path, "#000", width + 0.35, dash);
    stroke(path, `rgb(${colour.join()})`, width, dash);
  }
  if (!square) return;
  const frame = new Path2D();
  frame.rect(square.x, square.y, square.side, square.side);
  stroke(frame, "#000", 0.5, []);
  stroke(frame, "#fff", 0.2, []);
}

// keyOf is a piece of a line for the legend.
function keyOf({ colour, width, dash }) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  made.setAttribute("viewBox", "0 0 9 2");
  for (const [stroke, wide] of [
    ["#000", width + 0.35],
    [`rgb(${colour.join()})`, width],
  ]) {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    for (const [name, value] of Object.entries({
      d: "M.4 1h8.2",
      stroke,
      "stroke-width": wide,
      "stroke-dasharray": dash.join(" ") || "none",
    }))
      path.setAttribute(name, value);
    made.append(path);
  }
  return made;
}

// printReports prints the report instead of the page, however printing is started, if state() has a
// result.
export function printReports(state) {
  const remove = () => $("report")?.remove();
  addEventListener("beforeprint", () => {
    remove();
    if (state().result && !state().worklist?.study)
      reportPage(state(), {
        now: new Date(),
        file: $("report-file").checked,
        reference: $("report-named").checked ? $("report-reference").value.trim() : "",
      });
  });
  addEventListener("afterprint", remove);
  $("report-print").onclick = () => print();
  $("report-named").onchange = () => {
    $("report-reference").hidden = !$("report-named").checked;
    if ($("report-named").checked) $("report-reference").focus();
  };
}
