// Draws the second photograph and the table of differences. It sends no events.
import { fellowNotes } from "./clinical.js";
import {
  PAIRS,
  canSwap,
  changeOf,
  differences,
  fellow,
  mirroredLines,
  mirroredPicture,
  pairLayers,
  wantedViews,
} from "./compare.js";
import { paint } from "../draw/colours.js";
import { $, element, headRow, row, term } from "../page/dom.js";
import { looked } from "../draw/look.js";
import { figuresOf } from "../draw/masks.js";
import { title, whyDoubted } from "./measurements.js";
import { outlined } from "../draw/outlines.js";
import { rounded, scaleOf } from "./scale.js";
import { number, t } from "../words/words.js";
import { sliceText } from "./worklist.js";

let drawn = null; // the image on the second stage

// drawComparison brings the second stage and its section to a state. stage() gives the second
// stage.
export function drawComparison(s, before, stage) {
  const { compared } = s,
    was = before.compared;
  if (
    s.language === before.language &&
    [
      "compared",
      "choices",
      "measured",
      "known",
      "repeats",
      "opacity",
      "look",
      "picture",
      "job",
      "drafting",
    ].every((key) => s[key] === before[key])
  )
    return;
  $("compare-open").hidden = !s.result?.found;
  for (const id of ["comparison", "second-pane", "stage-caption"]) $(id).hidden = !compared;
  if (!compared) {
    $("panes").classList.remove("swapped");
    if (drawn) stage().set("image", (drawn = null));
    return;
  }
  const [here, there] = compared.first
    ? ["Second: {name}", "First: {name}"]
    : ["First: {name}", "Second: {name}"];
  $("panes").classList.toggle("swapped", compared.first);
  const called = ({ picture: { name }, image }) => ({
    name: [name, image && sliceText(image)].filter(Boolean).join(", "),
  });
  $("stage-caption").textContent = `${t(here, called(s))} · ${t("you work on it")}`;
  $("second-caption").textContent =
    t(there, called(compared)) + (compared.mirrored ? `, ${t("mirrored")}` : "");
  $("comparison-swap").textContent = t(compared.first ? "Work on the first" : "Work on the second");
  $("comparison-swap").ariaDisabled = canSwap(s) ? null : "true";
  $("second").setAttribute(
    "aria-label",
    t("Photograph to compare with, {name}", { name: compared.picture.name }),
  );
  $("comparison-mirror").checked = compared.mirrored;
  if (compared.image) drawPair(s, before, stage());
  if (
    compared !== was ||
    s.measured !== before.measured ||
    s.known !== before.known ||
    s.repeats !== before.repeats ||
    s.language !== before.language
  )
    drawTable(s);
}

function drawPair(s, before, stage) {
  const {
      compared: { image, result, views, mirrored, picture },
      look,
      opacity,
    } = s,
    was = before.compared;
  const flip = mirrored ? (one) => mirroredPicture(one, image.width) : (one) => one;
  const other = image !== drawn || mirrored !== was?.mirrored;
  if (other || look !== before.look) stage.set(other ? "image" : "look", flip(looked(image, look)));
  drawn = image;
  stage.set("opacity", opacity / 100);
  if (!result || picture !== result.asked.picture) return;
  if (Object.keys(wantedViews(s)).some((key) => !(key in views))) return;
  const { lines, map } = pairLayers(s),
    outlines = outlined(s.compared, lines);
  const { x, y, side, whole } = result.roi;
  stage.set("region", whole ? null : { x: mirrored ? image.width - x - side : x, y, side });
  stage.set("contours", mirrored ? mirroredLines(outlines, image.width) : outlines);
  const v = map && views[map.view.key];
  stage.set("overlay", v ? flip({ ...v, rgba: paint(v.values, map.ramp, map.gain) }) : null);
}

function drawTable(s) {
  const { compared, measured, known } = s,
    { result, job, error, first } = compared,
    ready = Boolean(result?.found && measured?.found);
  $("comparison-line").textContent = error
    ? `${t(error.message)} ${t(error.next ?? "")}`
    : !result || job
      ? t("The second photograph is being segmented…")
      : (whyDoubted(result)?.title ?? "");
  $("comparison-line").hidden = !$("comparison-line").textContent;
  $("comparison-table").hidden = $("comparison-note").hidden = !ready;
  if (!ready) return;
  const both = [
    [measured, known, s.repeats[measured.id]],
    [figuresOf(compared), compared.known, s.repeats[result.id]],
  ];
  if (first) both.reverse(); // the second minus the first, whichever is on the stage
  const results = both.map(([one]) => one),
    scales = both.map(([one, known]) => scaleOf(one.measurements, known)),
    repeats = both.map(([, , repeats]) => repeats),
    all = differences(...results, scales, repeats),
    mm = scales.every(Boolean),
    oneEye = t(
      "Two photographs of one eye differ by no more in 95 of 100 of {n} pairs (HYGD, one camera).",
      { n: PAIRS },
    );
  $("comparison-head").replaceChildren(
    headRow(["Figure", "First", "Second", "Difference"].map((text) => t(text))),
  );
  $("comparison-body").replaceChildren(
    ...all.map(({ name, of, unit, values, limit, again }) => {
      const [a, b] = values,
        text = formatOf(unit, mm),
        there = a !== null && b !== null;
      const share =
        there && unit === "area" && a > 0
          ? [
              element(
                "small",
                {},
                signed((100 * (b - a)) / a, (v) => `${number(v)} %`),
              ),
            ]
          : [];
      return row(
        [
          nameOf(name, of, unit, mm),
          ...values.map((v) => (v === null ? "–" : text(v))),
          [
            there ? signed(b - a, text) : "–",
            ...share,
            ...(limit === null
              ? []
              : [element("small", {}, t("views ±{limit}", { limit: text(limit) }))]),
            ...(again === null || limit === null || !there
              ? []
              : [
                  element("small", {}, term(t("one eye ±{limit}", { limit: text(again) }), oneEye)),
                ]),
          ],
        ],
        1,
      );
    }),
  );
  const other = fellow(s);
  if (results.some(({ measurements: { eye } }) => eye?.side))
    $("comparison-body").prepend(
      row(
        [
          t("Eye"),
          ...results.map(({ measurements: { eye } }) => (eye?.side ? t(eye.side) : "–")),
          "",
        ],
        1,
      ),
    );
  const change = changeOf(results, all[0].limit),
    failed = repeats.find((one) => one?.message);
  const notes = [
    ...(change ? [t(...change)] : []),
    ...(failed ? [t(failed.message)] : []),
    ...(other ? fellowNotes(other) : []),
    t("The difference is the second less the first."),
  ];
  if (!mm)
    notes.push(
      t(
        "Areas and lengths are in pixels: they compare only where both photographs have one scale.",
      ),
    );
  if (results[0].corrected) notes.push(t("The first is corrected by hand."));
  if (results[1].corrected) notes.push(t("The second is corrected by hand."));
  $("comparison-note").textContent = notes.join(" ");
}

function nameOf(name, of, unit, mm) {
  if (unit === "ratio") return `${title(of[0])}/${t(of[1])}, ${t(name)}`;
  return `${title(of[0])}, ${t(name)}, ${unit === "area" ? (mm ? "mm²" : "px") : mm ? "mm" : "px"}`;
}
const formatOf = (unit, mm) =>
  unit === "ratio" ? (v) => number(v, 2) : mm ? rounded : (v) => number(v);
// signed writes a difference with its sign, a true minus among them.
function signed(v, text) {
  const size = text(Math.abs(v)),
    none = !/[1-9]/.test(size);
  return none ? size : (v > 0 ? "+" : "−") + size;
}
