// The files that are saved of the worklist: one table of all lines, and a ZIP of masks,
// measurements and the table. The worker writes both.
import { YOU } from "../draw/correct.js";
import { version } from "../page/build.js";
import { json, pick, stemOf } from "../page/exports.js";
import { regionBy } from "./measurements.js";
import { scaleOf } from "./scale.js";

// records are the lines in the form of internal/output/sheet. by is the person who works on it.
// fellow is the comparison with the other eye (compare.js), if a line has one.
export function records({ lines, by, id }) {
  const { classes = [], raters = [] } = lines.find(({ result }) => result)?.result ?? {};
  return lines.map((line) => {
    const { picture, slice, slices, review, decided, comment, known, result, error, fellow } = line;
    return {
      image: picture.name,
      slice: 0,
      ...(slices > 1 ? { slice, slices } : {}),
      program: `page ${version}`,
      date: (result?.date ?? error?.date ?? "").replace(/\.\d+/, ""),
      options: result ? optionsOf(result, picture) : "",
      review,
      decided_by: review ? by : "",
      decided: review ? (decided ?? "") : "",
      comment: comment ?? "",
      session: id ?? "",
      error: result ? "" : (error?.message ?? "not computed"),
      classes,
      raters,
      result: result && resultOf(result, by, known, fellow),
    };
  });
}

// optionsOf are the options of a result, in the words of the program segment.
function optionsOf(
  { asked: { roi, evidence }, precision, measurements: { eye } },
  { slice, turn },
) {
  return [
    `roi=${roi}`,
    `precision=${precision}`,
    `slice=${slice}`,
    ...(eye?.by === "user" ? [`eye=${eye.side}`] : []),
    ...(turn ? [`turn=${90 * turn}`] : []),
    ...evidence.map(({ rater, class: c, name }) => `evidence=${rater}/${c}=${name}`),
  ].join(" ");
}

const AS_IT_IS = "width height model sha256 recurrences precision found doubt doubts quality".split(
  " ",
);
function resultOf(result, by, known, fellow) {
  const { measurements, corrected, asked } = result;
  return {
    ...pick(result, AS_IT_IS),
    region: pick(result.roi, ["x", "y", "side"]),
    region_by: regionBy(result),
    device: result.adapter,
    measurements: { ...measurements, spacing: scaleOf(measurements, known)?.mm },
    rater_weights:
      asked.weights && Array.from(asked.weights, (weight) => Number(weight.toFixed(2))),
    corrected: corrected ?? null,
    by_model: result.byModel,
    corrected_by: corrected ? by : "",
    less_fellow_eye: fellow?.difference ?? null,
    from_file: Boolean(result.fromFile),
  };
}

// filesOf gives the files of the ZIP one after the other, each { name, bytes }. masksOf resolves to
// a line's masks, correct to the bytes of one with a correction (Segmenter.correct), table to those
// of the table. It calls tell with the number of finished lines.
export async function* filesOf(list, { masksOf, correct, table, tell }) {
  const encoded = (text) => new TextEncoder().encode(text).buffer,
    stems = stemsOf(list.lines);
  yield { name: "table.csv", bytes: await table() };
  for (const [i, line] of list.lines.entries()) {
    const { result, picture, slice, slices, corrections } = line,
      stem = stems[i];
    tell(i);
    if (!result) continue;
    yield {
      name: `measurements/${stem}${result.corrected ? "_corrected" : ""}.json`,
      bytes: encoded(json(result, picture.name, { slice, slices })),
    };
    for (const [c, file] of (await masksOf(line)).entries()) {
      const correction = corrections.find(
        (one) => one.rater === YOU && one.class === result.classes[c],
      );
      const bytes = correction
        ? await correct(file, correction, picture.turn)
        : await file.arrayBuffer();
      yield {
        name: `masks/${correction ? "drawn" : "guessed"}/${stem}_${result.classes[c]}_mask${correction ? "_corrected" : ""}.png`,
        bytes,
      };
    }
  }
}

// stemsOf begin the names of the lines' files. Files of equal names in different formats get a
// number.
function stemsOf(lines) {
  const taken = new Set();
  return lines.map(({ picture, slice, slices }) => {
    const stem = stemOf(picture, { slice, slices });
    let name = stem;
    for (let n = 2; taken.has(name.toLowerCase()); n++) name = `${stem}_${n}`;
    taken.add(name.toLowerCase());
    return name;
  });
}
