// The measurements table, and why a result is doubted, in words. The worker computes both
// (internal/segment). measurements has the area of each structure, and the vertical ratio if there
// are a disc and a cup. low and high are the range over the mask and the raters or agreement
// levels. interval contains the experts' majority in a share of images, its coverage; without it
// withheld says why. A ratio without an inner structure has value null, and weights without heads
// have low and high null.
import { clinicalNotes, clinicalRows, eyeRemarks, eyeText } from "./clinical.js";
import { css, structure as colour } from "../draw/colours.js";
import { $, element, headRow, row as rowOf, term } from "../page/dom.js";
import { trustIn } from "./figures.js";
import { clock, rimPlot } from "./rim.js";
import { bare, discDiameter, lengths, rounded } from "./scale.js";
import { number, t } from "../words/words.js";

export const title = (name) =>
  t(name.charAt(0).toUpperCase() + name.slice(1).replace(/[_-]/g, " "));
export const whole = (n) => number(Math.round(n));
export const percent = (share) => number(100 * share, share < 0.1 ? 2 : 1);
export const ratio = (value) => number(value, 2);
const over = ({ labels, raters: { length: n } }) =>
  labels === "agreement-levels" ? t("the {n} agreement levels", { n }) : t("the {n} raters", { n });

const byHand = () => `, ${t("corrected by hand")}`;

const cell = (tag, text, fields) => element(tag, fields, text);
const row = (cells, className = "") => element("tr", { className }, ...cells);
const fillHead = (id, ...texts) => $(id).replaceChildren(headRow(texts.map((text) => t(text))));
// ranges are the ranges of a figure, each [name, meaning, range in the figure's format]. A range
// says so if the corrected figure is outside it.
export function ranges(result, { low, high, interval, corrected, ...figure }, format) {
  const value = figure.value ?? figure.area,
    outside = ` (${t("the corrected value is outside")})`,
    list = [],
    known = (v) => v !== undefined && v !== null;
  const range = (a, b) =>
    `${format(a)} – ${format(b)}${corrected && (value < a || value > b) ? outside : ""}`;
  if (known(low)) list.push(expertsRange(result, range(low, high)));
  if (interval) {
    const n = Math.round(100 * interval.coverage);
    const [name, meaning] = interval.by
      ? [
          "{n} % interval by the certificate",
          "it holds what a person marks in {n} of 100 new patients of that camera",
        ]
      : [
          "{n} % interval",
          "it is made to hold the experts' majority in {n} of 100 images like those that it was learned from",
        ];
    list.push([t(name, { n }), t(meaning, { n }), range(interval.low, interval.high)]);
  }
  return list;
}

// expertsRange is a range over the mask and the raters or levels, as ranges has it.
export const expertsRange = (result, text) => [
  t("experts' range"),
  t("from the least to the greatest of the mask and {raters}", { raters: over(result) }),
  text,
];

// figureNotes say what the ranges of figures mean, if nothing beside them explains it, which are
// missing, and what a correction changes.
export const figureNotes = (result, meanings, doubted, explains = true) => [
  ...certificate(result),
  ...(explains ? [...meanings].map(([name, meaning]) => `${title(name)}: ${meaning}.`) : []),
  ...withheld(result),
  ...(doubted && meanings.size > 1
    ? [t("It need not hold where the model doubts its result.")]
    : []),
  ...(result.corrected
    ? [
        t("Corrected by hand: ranges and intervals are still those of the model."),
        ...remarks(result),
      ]
    : []),
];
// scaleNote says where millimetres are from.
export const scaleNote = (scale) =>
  t(
    {
      file: "Millimetres are by the pixel size in the file.",
      hand: "Millimetres are by the length that you gave.",
    }[scale?.by] ??
      "The file does not say how large a pixel is. Measure a known length to see millimetres.",
  );

// certificate says on which camera the ratio is certified, and whether the camera has changed.
function certificate({ measurements: { verticalRatio } }) {
  const { drift, masks, ...named } = verticalRatio?.certified ?? {};
  if (!named.camera) return [];
  const said = t(
    "The ratio is certified on {camera}, {date}, {eyes} eyes; that of the masks is {masks}.",
    { ...named, masks: ratio(masks) },
  );
  return drift ? [said, t(drift)] : [said];
}

// withheld says which figures have no interval, and why.
function withheld({ measurements: { structures, verticalRatio } }) {
  const why = Map.groupBy(
    [...structures, verticalRatio].filter((one) => one?.withheld),
    (one) => one.withheld,
  );
  const names = (all) => all.map((one) => t(one.class ?? "the ratio")).join(", ");
  return [...why].map(([reason, all]) =>
    t("No interval of {figures}: {why}", { figures: names(all), why: t(reason) }),
  );
}

// remarks are warnings for a person who corrected masks.
export const remarks = ({ beyond }) =>
  beyond?.pixels
    ? [
        t("The {inner} as corrected reaches beyond the {outer}, by {n} pixels.", {
          inner: t(beyond.inner),
          outer: t(beyond.outer),
          n: whole(beyond.pixels),
        }),
      ]
    : [];

// alone says where a model that marks one object leaves out others that seem to be in the picture.
export const alone = ({ measurements: { structures } }) =>
  structures
    .filter(({ others, corrected }) => others && !corrected)
    .map(({ class: c, others: n }) =>
      t(
        {
          one: "The model marks one {structure}, and {n} more seems to be in the picture.",
          other: "The model marks one {structure}, and {n} more seem to be in the picture.",
        },
        { structure: t(c), n },
      ),
    );

// whyDoubted says why a user should not rely on a result, { title, reasons }, or is null.
export function whyDoubted({ found, doubts, classes }) {
  if (found && !doubts.length) return null;
  const missing =
    doubts.find(({ code }) => code === "not-found")?.text ??
    `No ${classes[0]} was found in this picture.`;
  const title = found ? "The model doubts this result." : missing;
  return {
    title: t(title),
    reasons: doubts
      .map(({ text }) => text)
      .filter((text) => text !== title)
      .map((text) => t(text)),
  };
}

// verdict is a word in the document with its reason, if that is not among the doubts about the
// result.
export const verdict = ({ word, reason }, { doubts }, tag = "p") =>
  element(
    tag,
    { className: `verdict ${word.split(" ").at(-1)}` },
    element("strong", {}, tag === "p" ? title(word) : t(word)),
    ...(reason && !doubts.some(({ text }) => text === reason) ? [` ${t(reason)}`] : []),
  );

// qualityOf says whether a photograph can be graded, beside doubt. The verdict has said its reason.
function qualityOf({ quality }, { reason }) {
  if (!quality) return [];
  const faults = quality.faults.map(({ text }) => text).filter((text) => text !== reason);
  const text = quality.gradable
    ? t("The photograph can be graded.")
    : [t("The photograph is hard to grade."), ...faults.map((text) => t(text))].join(" ");
  return [element("p", { className: quality.gradable ? "quiet" : "remark" }, text)];
}

// trustOf says how far to trust the main figure, how near doubt is to its threshold, and which
// structures have another verdict. It is empty if a person drew all of it.
function trustOf(result) {
  const main = trustIn(result);
  if (!main) return [];
  const others = result.measurements.structures.filter(
    ({ area, trust }) => area && trust && trust.word !== main.word,
  );
  const bar =
    result.doubt === null
      ? []
      : [
          element(
            "label",
            { className: "doubt-bar" },
            element("span", {}, t("Doubt")),
            element("meter", {
              max: 1,
              low: 0.999,
              high: 0.999,
              optimum: 0,
              value: Math.min(1, result.doubt),
              title: t("The bar ends where the model doubts its result."),
            }),
          ),
        ];
  const other = ({ class: name, trust }) =>
    element("p", { className: "quiet" }, `${title(name)}: `, verdict(trust, result, "span"));
  return [verdict(main, result), ...bar, ...qualityOf(result, main), ...others.map(other)];
}

// showMeasurements shows the figures of a result, in mm by a scale (scale.js) or without.
export function showMeasurements(result, scale) {
  const why = whyDoubted(result);
  $("doubt").hidden = !why;
  $("doubt-title").textContent = why?.title ?? "";
  $("doubt-reasons").textContent = why?.reasons.join(" ") ?? "";
  $("doubt-hint").textContent = result.found
    ? t("Its outline and figures may be wrong. Check that the model is for pictures of this kind.")
    : t("If you see one, place the region around it. Or choose another model.");
  for (const id of ["headline", "measure-table", "measure-note"]) $(id).hidden = !result.found;
  for (const id of ["headline", "measure-table"]) $(id).classList.toggle("doubted", why !== null);
  $("measure-more").hidden = !result.found;
  if (!result.found) return;
  fillTable(result, why !== null, scale);
  fillMore(result, scale);
}

function fillTable(result, doubted, scale) {
  const { structures } = result.measurements,
    body = [],
    meanings = new Map();
  const area = (pixels) => (scale ? rounded(pixels * scale.mm[0] * scale.mm[1]) : whole(pixels));
  const add = (cells, figure, format) => {
    // a figure, and its ranges below it
    body.push(row(cells));
    for (const [name, meaning, range] of ranges(result, figure, format)) {
      meanings.set(name, meaning);
      body.push(
        row(
          [
            element("th", { scope: "row" }, term(name, `${title(name)}: ${meaning}.`)),
            cell("td", range),
            ...cells.slice(2).map(() => cell("td", "")),
          ],
          "range",
        ),
      );
    }
  };
  for (const [c, s] of structures.entries()) {
    const swatch = element("i", { className: "swatch" });
    swatch.style.background = css(colour(c));
    add(
      [
        element("th", { scope: "row" }, swatch, title(s.class) + (s.corrected ? byHand() : "")),
        cell("td", area(s.area)),
        cell("td", percent(s.share)),
      ],
      s,
      area,
    );
  }
  for (const { rater, class: c, area: drawn } of result.corrected ?? []) {
    if (result.raters.includes(rater))
      body.push(
        rowOf(
          [
            `${title(rater)}, ${t(c)}${byHand()}`,
            area(drawn),
            percent(drawn / result.width / result.height),
          ],
          1,
        ),
      );
  }
  fillHeadline(result, area, scale, meanings);
  fillHead("measure-head", "Structure", scale ? "Area, mm²" : "Area, px", "% of image");
  $("measure-body").replaceChildren(...body);
  const empty = structures.filter((s) => s.area === 0).map((s) => t(s.class)),
    notes = [t("Consensus, Rec{n}.", { n: result.recurrences })];
  notes.push(...figureNotes(result, meanings, doubted, false));
  const eye = eyeText(result.measurements.eye);
  if (eye) notes.push(`${title(eye)}.`);
  const against = [...alone(result), ...eyeRemarks(result)];
  $("measure-remark").hidden = !against.length;
  $("measure-remark").textContent = [eye && `${title(eye)}.`, ...against].join(" ");
  if (empty.length)
    notes.push(t("Nothing was found of: {structures}.", { structures: empty.join(", ") }));
  $("measure-note").textContent = notes.join(" ");
}

// fillHeadline shows the main figure, large, with its ranges and how far to trust it: the ratio, or
// the area of the first structure.
function fillHeadline(result, area, scale, meanings) {
  const {
      structures: [first],
      verticalRatio,
    } = result.measurements,
    { inner, outer, value } = verticalRatio ?? {},
    figure = verticalRatio ?? first,
    format = verticalRatio ? ratio : area,
    name = verticalRatio ? `${title(inner)}/${t(outer)}, ${t("vertical")}` : title(first.class),
    none = value === null,
    unit = scale ? "mm²" : "px",
    text = none
      ? t("no {structure} found", { structure: t(inner) })
      : verticalRatio
        ? ratio(value)
        : `${area(first.area)} ${unit}`,
    list = none ? [] : ranges(result, figure, format);
  for (const [name, meaning] of list) meanings.set(name, meaning);
  $("headline").replaceChildren(
    element(
      "div",
      { className: "headline" },
      element("span", {}, name + (figure.corrected ? byHand() : "")),
      element("span", { className: none ? "none" : "" }, text),
    ),
    element("div", { id: "trust" }, ...trustOf(result)),
    ...list.map(([name, meaning, range]) =>
      element("p", { className: "range" }, term(name, `${title(name)}: ${meaning}.`), ` ${range}`),
    ),
  );
}

// fillMore fills the part that can be unfolded: the horizontal ratio, heights, widths and pieces,
// and the rim.
function fillMore(result, scale) {
  $("measure-more").classList.toggle("stale", Boolean(result.rereading)); // until the worker has read the rim anew
  if (result.rereading) return;
  const { structures, horizontalRatio, rim, rimLow, rimHigh, eye } = result.measurements,
    body = [];
  if (horizontalRatio && horizontalRatio.value !== null) {
    const { inner, outer, value, corrected } = horizontalRatio,
      wide = { scope: "row", colSpan: 2 };
    const name = t("{inner}/{outer}, horizontal", { inner: title(inner), outer: t(outer) });
    body.push(
      row([
        cell("th", name + (corrected ? byHand() : ""), wide),
        cell("td", ratio(value), { colSpan: 2 }),
      ]),
    );
    for (const [name, , range] of ranges(result, horizontalRatio, ratio))
      body.push(row([cell("th", name, wide), cell("td", range, { colSpan: 2 })], "range"));
  }
  const size = (dx, dy) =>
    scale ? rounded(Math.hypot(dx * scale.mm[0], dy * scale.mm[1])) : whole(Math.hypot(dx, dy));
  for (const s of structures)
    body.push(rowOf([title(s.class), size(0, s.height), size(s.width, 0), whole(s.pieces)], 1));
  const sides = scale ? ["Height, mm", "Width, mm"] : ["Height, px", "Width, px"];
  fillHead("more-head", "Structure", ...sides, "Pieces");
  $("more-body").replaceChildren(...body);
  $("more-note").textContent = scaleNote(scale);
  fillClinical(result, scale);
  $("rim").hidden = !rim;
  if (!rim) return;
  const { inner, outer } = result.measurements.verticalRatio,
    thin = result.measurements.narrowestRim.hour % rim.length;
  const width = rimWidth(result, scale),
    band = rimLow && { low: rimLow, high: rimHigh };
  $("rim-plot").replaceChildren(
    rimPlot(
      rim,
      discDiameter(result.measurements),
      rimText(result, scale),
      [outer, inner].map((name) => result.classes.indexOf(name)),
      { thin, band, eye: eye?.side },
    ),
  );
  const notes = [
    t(
      "Rim between {inner} and {outer}, hourly means. Narrowest ray at {hour} o'clock, mean there: {width}.",
      { inner: t(inner), outer: t(outer), hour: clock(thin), width: width(rim, thin) },
    ),
  ];
  if (band)
    notes.push(t("The band is the range over the mask and {raters}.", { raters: over(result) }));
  $("rim-note").textContent = notes.join(" ");
}

// rimWidth gives a width of the rim at an hour in the best unit that is known.
const rimWidth =
  ({ measurements }, scale) =>
  (rim, hour) => {
    const a = (hour * Math.PI) / 6;
    return lengths([rim[hour] * Math.sin(a), rim[hour] * Math.cos(a)], measurements, scale)[0];
  };
// rimText is the rim by the hour, with its ranges, in a sentence. The first hour has the unit.
export function rimText(result, scale) {
  const { rim, rimLow, rimHigh } = result.measurements,
    width = rimWidth(result, scale);
  const range = (hour) =>
    rimLow ? ` (${bare(width(rimLow, hour))} – ${bare(width(rimHigh, hour))})` : "";
  const of = (hour) =>
    hour
      ? `${hour}: ${bare(width(rim, hour))}`
      : t("{hour} o'clock {width}", { hour: clock(hour), width: width(rim, hour) });
  return `${t("Rim by the hour:")} ${rim.map((_, hour) => of(hour) + range(hour)).join(", ")}.`;
}

// fillClinical fills the figures beside the ratio, and the choice of the eye.
function fillClinical(result, scale) {
  const rows = clinicalRows(result, scale),
    { eye } = result.measurements;
  $("clinical").hidden = !eye;
  fillHead("clinical-head", "Figure", "Value", "Range");
  $("clinical-body").replaceChildren(
    ...rows.flatMap(({ name, text, more, range }) => [
      rowOf([name, text, range], 1),
      ...(more ? [row([cell("th", more, { colSpan: 3 })], "range")] : []),
    ]),
  );
  $("clinical-table").hidden = !rows.length;
  $("clinical-note").textContent = [
    ...clinicalNotes(result),
    ...(rows.length
      ? [t("Range: over the mask and {raters}; it is no 90 % interval.", { raters: over(result) })]
      : []),
  ].join(" ");
  if (!eye) return;
  const [found] = $("eye").options;
  found.textContent =
    eye.by === "user" ? t("As the file says") : title(eyeText(eye) || t("not known"));
  $("eye").value = eye.by === "user" ? eye.side : "";
}

// regionBy says how a result's region was chosen.
export const regionBy = ({ roi, asked }) =>
  roi.whole ? "whole image" : asked.roi === "auto" ? "found" : "by hand";
export const regionText = (result) => {
  const { x, y, side, whole } = result.roi;
  return whole
    ? t("The whole image")
    : t("{side} × {side} px at {x}, {y}, {how}", {
        side: `${side}`,
        x: `${x}`,
        y: `${y}`,
        how: t(regionBy(result)),
      });
};

// sentence is the result for a screen reader.
export function sentence(result) {
  const { structures, verticalRatio } = result.measurements,
    why = whyDoubted(result),
    parts = why ? [why.title, ...why.reasons] : [];
  if (!result.found)
    return [...parts, t("Place the region by hand, or choose another model.")].join(" ");
  const between = (figure, format) =>
    ranges(result, figure, format)
      .map(
        ([name, , range]) => `, ${name.replace("%", t("percent"))} ${range.replace("–", t("to"))}`,
      )
      .join("");
  if (verticalRatio?.value === null)
    parts.push(t("No {structure} found.", { structure: t(verticalRatio.inner) }));
  else if (verticalRatio) {
    const { inner, outer, value } = verticalRatio,
      ranges = between(verticalRatio, ratio);
    parts.push(
      t("Vertical {inner} to {outer} ratio {value}{ranges}.", {
        inner: t(inner),
        outer: t(outer),
        value: ratio(value),
        ranges,
      }),
    );
  }
  const main = trustIn(result);
  if (main) parts.push(`${title(main.word)}.${main.reason && !why ? ` ${t(main.reason)}` : ""}`);
  for (const s of structures)
    parts.push(
      t("{structure}: {area} pixels, {share} percent of the image.", {
        structure: title(s.class),
        area: whole(s.area),
        share: percent(s.share),
      }),
    );
  return parts.join(" ");
}
