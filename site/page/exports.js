// The files that the page saves: their formats and names, and measurements as JSON. The
// worker makes the files of masks, at the photograph's size (internal/output/masks). overlay.js
// makes a picture of the stage.
import { YOU } from "../draw/correct.js";
import { outlinesOf } from "../draw/layers.js";
import { regionBy } from "../review/measurements.js";
import { only } from "./dom.js";

// FORMATS are the choices of a user. files has, by what a button saves, the format's name in
// package masks, the end of the file's name before and after the page's addition, and the MIME
// type. whole: one file has all structures. once: raters have none.
const format = (name, text, files, whole = true) => ({ name, text, files, whole });
const once = (...of) => ({ ...format(...of), once: true });
const pixels = (name, text, ...end) =>
  format(
    name,
    text,
    { mask: [`${name}-mask`, "_mask", ...end], probability: [name, "", ...end] },
    false,
  );
export const FORMATS = [
  pixels("png", "PNG", ".png", "image/png"),
  pixels("tiff", "TIFF", ".tif", "image/tiff"),
  pixels("nifti", "NIfTI", ".nii.gz", "application/gzip"),
  format("dicom-seg", "DICOM SEG", {
    mask: ["dicom-seg", "_seg", ".dcm", "application/dicom"],
    probability: ["dicom-seg-fractional", "_seg_fractional", ".dcm", "application/dicom"],
  }),
  once("dicom-sr", "DICOM SR", { figures: ["dicom-sr", "_sr", ".dcm", "application/dicom"] }),
  once("dicom-sc", "DICOM SC", { overlay: ["dicom-sc", "_sc", ".dcm", "application/dicom"] }),
  format("svg", "SVG, outlines", { outlines: ["svg", "", ".svg", "image/svg+xml"] }),
  format("geojson", "JSON, outlines", {
    outlines: ["geojson", "", ".geojson", "application/geo+json"],
  }),
  once("overlay", "PNG, overlay", { overlay: ["", "_overlay", ".png", "image/png"] }),
];

// offered are the formats in which a result can be saved: those of DICOM need a DICOM source.
export const offered = ({ formats }) =>
  FORMATS.filter(({ files }) =>
    Object.values(files).every(([made]) => !made || formats.includes(made)),
  );
// formatOf is the format that the user chose, or the first one if the result cannot be saved so.
export const formatOf = ({ format, result }) =>
  offered(result).find(({ name }) => name === format) ?? FORMATS[0];

// stem begins the names of files that are saved for an image, like imageio.OutputStem: it lacks the
// extension, and characters that a system refuses in names, and has at most 140 bytes. CON is a
// device on Windows.
export const stem = (name) =>
  name
    .replace(/(?<=[^/])\.(nii\.gz|nii|hdr|img|png|jpe?g|tiff?|bmp|webp|dcm|dicom)$/i, "")
    .replace(/[^\p{L}\p{M}\p{N}._-]+/gu, "_")
    .replace(/.+/s, (whole) =>
      whole.slice(0, new TextEncoder().encodeInto(whole, new Uint8Array(140)).read),
    )
    .replace(/\.+$/, "")
    .replace(/^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?=\.|$)/i, "$1_") || "image";

// stemOf begins the names of files that are saved for a picture. It includes which one of several
// it is in its file.
export const stemOf = ({ name }, { slice, slices }) =>
  stem(name) + (slices > 1 ? `_slice${slice}of${slices}` : "");

// fileOf names a file of class c, or of all. what is one of its format's files; suffix tells the
// author. i is the recurrence, which the name has unless it is the last. corrected: a person drew
// on the mask.
export function fileOf(
  { result, what, class: c, i, corrected, suffix = "" },
  { whole, files },
  stem,
  ending = files[what][2],
) {
  const [, kind] = files[what];
  return `${stem}${whole ? "" : `_${result.classes[c]}`}${suffix}${kind}${i < result.recurrences ? `_rec${i}` : ""}${corrected ? "_corrected" : ""}${ending}`;
}

// suffixesOf are those of the raters in files' names: Go's masks.Suffixes.
function suffixesOf({ raters, classes }) {
  const taken = new Set(["_others", "_inner", "_outer", "_mask", "_float", "_corrected"]),
    bytes = 74 - Math.max(...classes.map((name) => name.length));
  for (const a of classes)
    for (const b of classes) if (b.startsWith(a)) taken.add(b.slice(a.length).toLowerCase());
  return raters.map((rater) => {
    const name = `_${rater.replaceAll("_", "-")}`.slice(0, bytes);
    let one = name;
    for (let n = 2; taken.has(one.toLowerCase()); n++) one = `${name}-${n}`;
    taken.add(one.toLowerCase());
    return one;
  });
}

// readersOf are those of whom a file is saved, { reader, suffix, rater }: the consensus and, with
// each, all others that the program segment has (masks.Readers, whose index reader is). Outlines
// are of those of the classes that have them.
export function readersOf(result, each, classes) {
  const { raters, asked } = result;
  const consensus = { reader: 0, suffix: "", rater: YOU };
  if (!each) return [consensus];
  const others = asked.evidence.length ? [{ reader: raters.length + 1, suffix: "_others" }] : [];
  const outlined = classes.filter((c) => outlinesOf(result, c)),
    first = 1 + raters.length + others.length,
    suffixes = suffixesOf(result);
  const outlines = outlined.length
    ? ["_inner", "_outer"].map((suffix, i) => ({ reader: first + i, suffix, classes: outlined }))
    : [];
  return [
    consensus,
    ...raters.map((rater, m) => ({ reader: m + 1, suffix: suffixes[m], rater })),
    ...others,
    ...outlines,
  ];
}

// json has the measurements of a result in pixels. known is mm a pixel, if the user gave a scale,
// and fellow the comparison with the other eye (compare.js), or null.
export function json(result, image, { slice, slices }, known, fellow) {
  const { asked } = result;
  const record = {
    image,
    ...(slices > 1 ? { slice, slices } : {}),
    ...only("width height model", result),
    weights: only("title sha256 shipped", result),
    ...only("classes raters", result),
    no_raters: result.noRaters || undefined,
    labels: result.labels,
    region: { ...result.roi, by: regionBy(result) },
    ...only("recurrences measurements", result),
    device: result.adapter,
    device_why: result.why || undefined,
    ...only("precision found doubts doubt quality", result),
    times_ms: result.timings,
  };
  if (result.fromFile) record.from_file = true; // of a session, and not computed here
  if (asked.picture.turn) record.turned = 90 * asked.picture.turn; // degrees; saved masks are not
  if (known) record.spacing_by_hand = [known, known];
  if (fellow)
    record.fellow_eye = {
      image: fellow.name,
      eye: fellow.eye,
      vertical_ratio_difference: fellow.difference,
      remarked: fellow.large,
    };
  if (result.corrected) {
    record.corrected_by_hand = result.corrected;
    record.measurements_of_model = result.byModel;
    if (result.beyond?.pixels) record.beyond = result.beyond; // a corrected cup outside of the disc
  }
  if (asked.weights) record.rater_weights = Array.from(asked.weights, (w) => Number(w.toFixed(2)));
  if (asked.evidence.length)
    record.evidence = asked.evidence.map(({ rater, class: c, name, tiles }) => ({
      rater,
      class: c,
      ...(tiles ? { corrected_by_hand: true } : { file: name }),
    }));
  return JSON.stringify(record, null, 2) + "\n";
}

// pick is an object with some fields of another one.
export const pick = (of, names) => Object.fromEntries(names.map((name) => [name, of[name]]));

export function download(name, type, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
