// What the stage draws over the photograph for a result and the user's choices: contours, a map
// and the legend that names them. Nothing here asks for a view or draws one.
import {
  rater as raterColour,
  structure as structureColour,
  you as yourColour,
} from "./colours.js";
import { YOU } from "./correct.js";
import { title, whyDoubted } from "../review/measurements.js";
import { t } from "../words/words.js";

// Dashes of a doubted result's lines and of one agreement level, CSS pixels.
const DOUBTED = 9,
  LEVEL = 6;

export const byLevels = ({ labels, raters }) => labels === "agreement-levels" && raters.length > 0;
// agreement is level j of n experts in words.
export const agreement = (j, n) =>
  j === n ? t("all {n} of {n} experts", { n }) : t("at least {j} of {n} experts", { j, n });
// fade mixes a colour with white: level 0 is pale, level 1 is the full colour.
const fade = (rgb, level) =>
  rgb.map((v) => Math.round(v * (0.35 + 0.65 * level) + 255 * 0.65 * (1 - level)));
// mostDisagreement is the highest chance that two of n experts differ, reached where half of them
// mark a pixel. The scale of the map ends there.
const mostDisagreement = (n) =>
  n < 2 ? 1 : (Math.floor(n / 2) * Math.ceil(n / 2)) / ((n * (n - 1)) / 2);

// fitted adapts the choices to a result, since another model has other structures and raters.
export function fitted(choices, { model, raters }) {
  const n = raters.length,
    map = n < 2 && choices.map === "disagreement" ? "heat" : choices.map;
  return choices.model === model
    ? choices
    : {
        ...choices,
        model,
        structure: 0,
        raters: [],
        edited: [],
        level: Math.max(1, Math.min(choices.level, n)),
        map,
      };
}

// shownRecurrence is the recurrence of a result that is shown.
export const shownRecurrence = ({ recurrences }, { recurrence }) =>
  Math.min(recurrence, recurrences);

const view = (kind, fields) => ({ key: kind + JSON.stringify(fields), kind, fields });

// baseView is the whole map, of the last recurrence, below a correction of a mask { rater, class }.
export function baseView({ classes, raters, recurrences }, { rater, class: name }) {
  const c = classes.indexOf(name),
    m = raters.indexOf(rater);
  const { key, ...of } =
    m < 0 ? view("recurrence", { i: recurrences, class: c }) : view("rater", { m, class: c });
  return { ...of, key: "whole " + key, whole: true };
}

// outlinesOf are the inner and the outer outline of structure s, as segment.Outlines has them, or
// null; why is why there are none.
export const outlinesOf = ({ measurements }, s) =>
  (measurements.structures[s]?.outlines?.withheld === undefined &&
    measurements.structures[s]?.outlines) ||
  null;
export const whyNoOutlines = ({ measurements }, s) => {
  const { class: name, area, outlines } = measurements.structures[s];
  if (!area) return t("Nothing was found of: {structures}.", { structures: t(name) });
  return t(outlines?.withheld ?? "These weights have learned no inner and no outer outline.");
};

// layers gives { why, lines, map, keys, bases }. why is the title of a doubt, if any. lines are
// contours from the bottom to the top, each { view, colour, width, dash, edited, band }. A person
// may have corrected the mask edited. A band is filled. map is { view, ramp, gain, text } or null.
// keys are what the legend says of the lines, each { colours, dash, text }. bases are the views
// that corrections, reports and comparisons need; the lines need those in which something is drawn.
export function layers(result, choices) {
  const why = whyDoubted(result)?.title,
    {
      classes,
      raters,
      recurrences,
      asked: { evidence },
    } = result;
  if (!result.found) return { why, lines: [], map: null, keys: [], bases: [] };
  const { structure: s } = choices,
    i = shownRecurrence(result, choices),
    all = [...classes.keys()],
    n = raters.length;
  // Raters, levels and their disagreement are of the last recurrence. If another one is shown, each
  // text names its recurrence.
  const [now, last] = i < recurrences ? [` (Rec${i})`, ` (Rec${recurrences})`] : ["", ""];
  const solid = why ? DOUBTED : 0,
    lines = [],
    keys = [];
  const { edited } = choices,
    mask = (rater, c) => edited.find((one) => one.rater === rater && one.class === classes[c]);
  const byHand = (...masks) =>
    masks.some((one) => one?.drawn) ? `, ${t("corrected by hand")}` : "";
  const line = (view, colour, width, dash, edited) =>
    lines.push({ view, colour, width, dash, edited });
  const key = (colours, dash, text) => ({ colours, dash, text });
  const consensus = (c) => view("recurrence", { i, class: c });

  const outlines = choices.outlines && outlinesOf(result, s);
  if (outlines) {
    lines.push({
      view: view("between", { class: s }),
      colour: structureColour(s),
      width: 0.75,
      dash: 0,
      band: true,
    });
    keys.push({
      ...key(
        [structureColour(s)],
        0,
        t(
          "{structure}: in {n} of 100 images like those that it was learned from 95 % of a further expert's outline lies in the band",
          { structure: title(classes[s]), n: Math.round(100 * outlines.coverage) },
        ) + last,
      ),
      band: true,
    });
  }
  if (byLevels(result) && choices.levelShown) {
    const j = Math.min(choices.level, n),
      every = choices.levelAll,
      dash = every ? solid : LEVEL;
    for (const c of all)
      for (const m of every ? raters.keys() : [j - 1]) {
        line(
          view("rater", { m, class: c }),
          fade(structureColour(c), every ? m / (n - 1) : 1),
          1.25,
          dash,
        );
      }
    const text = every ? t("at least 1 (pale) to {n} of {n} experts", { n }) : agreement(j, n);
    keys.push(key([[225, 228, 232]], dash, text + last));
  }
  const shown = byLevels(result) ? [] : choices.raters,
    of = (classes.length > 1 ? `, ${t(classes[s])}` : "") + last;
  for (const m of shown)
    line(view("rater", { m, class: s }), raterColour(m), 1.5, solid, mask(raters[m], s));
  const marked = (m) =>
    evidence.some((mark) => mark.rater === raters[m] && mark.class === classes[s]);
  if (shown.length > 3)
    keys.push(key(shown.map(raterColour), solid, t("{n} raters", { n: shown.length }) + of));
  else
    keys.push(
      ...shown.map((m) => {
        const said = marked(m) ? `, ${t("as marked")}` : "";
        return key(
          [raterColour(m)],
          solid,
          title(raters[m]) + said + byHand(mask(raters[m], s)) + of,
        );
      }),
    );
  for (const [i, mark] of evidence.entries()) {
    // A rater's own line shows the mark, and a mark drawn here is on the mask itself.
    if (raters.includes(mark.rater) || mark.class !== classes[s] || mark.tiles) continue;
    line(view("mark", { i, class: s }), yourColour, 1.5, 0);
    const which = classes.length > 1 ? `, ${t(classes[s])}` : "";
    keys.push(key([yourColour], 0, `${t("You")}, ${t("as marked")}${which}`));
  }
  if (choices.contour) {
    const hand = (c) => (i === recurrences ? mask(YOU, c) : undefined);
    for (const c of all) line(consensus(c), structureColour(c), 2, solid, hand(c));
    keys.unshift(
      ...all.map((c) =>
        key(
          [structureColour(c)],
          solid,
          `${title(classes[c])}${n ? `, ${t("consensus")}` : ""}${now}${byHand(hand(c))}`,
        ),
      ),
    );
  }

  const most = mostDisagreement(n),
    maps = {
      heat: () => ({
        view: consensus(s),
        gain: 1,
        text: t("probability, {low} – {high} %", { low: 0, high: 100 }) + now,
      }),
      disagreement: () => ({
        view: view("disagreement", { class: s }),
        gain: 1 / most,
        text:
          t("two experts differ, {low} – {high} %", { low: 0, high: Math.round(100 * most) }) +
          last,
      }),
    };
  const map = maps[choices.map]?.() ?? null;
  const bases = [
    ...measuredLines(result).map(({ view }) => view),
    ...edited.map((one) => ({ ...baseView(result, one), drawn: one.drawn })),
  ];
  return {
    why,
    lines,
    keys,
    bases,
    map: map && { ...map, ramp: choices.map, text: `${title(classes[s])}: ${map.text}` },
  };
}

// measuredLines are the outlines of the measured structures. Reports and comparisons show them,
// whatever the stage shows.
export const measuredLines = ({ classes, recurrences }) =>
  classes.map((name, c) => ({
    view: view("recurrence", { i: recurrences, class: c }),
    colour: structureColour(c),
    edited: { rater: YOU, class: name, drawn: true },
  }));

// viewsOf are the views that layers need, by key.
export function viewsOf({ lines, map, bases }) {
  return Object.fromEntries(
    [...[...lines, ...(map ? [map] : [])].map(({ view }) => view), ...bases].map((view) => [
      view.key,
      view,
    ]),
  );
}
