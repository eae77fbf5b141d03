// The objects of a picture, such as cells. state.field is { picture, model, answer (the worker's, or
// null before the first), wish (the change that it is asked for, or null), tool ("select", "add" or
// "split"), chosen (numbers of objects, in the order in which they were chosen), kept (the line's
// copy of the answer, once it has one), changed (the person changed it in a session before) }.
// Everything here is pure.
import { structure } from "../draw/colours.js";
import { number, t } from "../words/words.js";
import { title } from "../review/measurements.js";
import { rounded } from "../review/scale.js";

const DASH = 7; // CSS pixels, of what the model doubts
const DOUBT = [255, 176, 64];

export const doubted = ({ doubt }) => doubt !== null && doubt > 1;

// shapesOf are the outlines of an answer's objects by number: { box: [left, top, right, bottom],
// lines: [Float32Array of x, y, …] }.
const known = new WeakMap();
export function shapesOf(answer) {
  if (known.has(answer)) return known.get(answer);
  const { points, starts, of } = answer,
    shapes = new Map();
  for (const [i, n] of of.entries()) {
    const line = points.subarray(2 * starts[i], 2 * (starts[i + 1] ?? points.length / 2)),
      shape = shapes.get(n) ?? { box: [Infinity, Infinity, -Infinity, -Infinity], lines: [] };
    shape.lines.push(line);
    shapes.set(n, shape);
    for (const [p, v] of line.entries()) {
      shape.box[p % 2] = Math.min(shape.box[p % 2], v);
      shape.box[2 + (p % 2)] = Math.max(shape.box[2 + (p % 2)], v);
    }
  }
  known.set(answer, shapes);
  return shapes;
}

// under is the number of the object at a point, or 0.
export function under(answer, x, y) {
  for (const [n, { box, lines }] of shapesOf(answer)) {
    if (x < box[0] || y < box[1] || x > box[2] || y > box[3]) continue;
    if (lines.reduce((inside, line) => inside !== encloses(line, x, y), false)) return n;
  }
  return 0;
}
function encloses(line, x, y) {
  let inside = false;
  for (let p = 0, q = line.length - 2; p < line.length; q = p, p += 2) {
    const [ax, ay, bx, by] = [line[p], line[p + 1], line[q], line[q + 1]];
    if (ay > y !== by > y && x < ax + ((bx - ax) * (y - ay)) / (by - ay)) inside = !inside;
  }
  return inside;
}

// crossed is the object in which most of a line [[x, y], …] lies, or 0.
export function crossed(answer, line) {
  const steps = new Map();
  for (let i = 1; i < line.length; i++) {
    const [[ax, ay], [bx, by]] = [line[i - 1], line[i]],
      n = Math.ceil(Math.hypot(bx - ax, by - ay));
    for (let k = 0; k <= n; k++) {
      const at = under(answer, ax + ((bx - ax) * k) / (n || 1), ay + ((by - ay) * k) / (n || 1));
      if (at) steps.set(at, (steps.get(at) ?? 0) + 1);
    }
  }
  return [...steps].reduce((best, one) => (one[1] > best[1] ? one : best), [0, 0])[0];
}

// picked are the chosen numbers after one more, in place of the others unless more.
export const picked = (chosen, n, more) =>
  !more ? [n] : chosen.includes(n) ? chosen.filter((one) => one !== n) : [...chosen, n];

// beside is the number of the nearest object from one in a direction, [dx, dy], or the first one.
export function beside({ objects }, from, [dx, dy]) {
  const here = objects.find((one) => one.number === from);
  if (!here) return objects[0]?.number ?? 0;
  let [best, least] = [from, Infinity];
  for (const { number: n, x, y } of objects) {
    const along = (x - here.x) * dx + (y - here.y) * dy,
      across = Math.abs((x - here.x) * dy - (y - here.y) * dx),
      far = along + 2 * across;
    if (along > 0 && across <= along && far < least) [best, least] = [n, far];
  }
  return best;
}
// next is the number of the object that many places further in the list.
export function next({ objects }, from, by) {
  const at = objects.findIndex((one) => one.number === from),
    last = objects.length - 1;
  return objects[Math.max(0, Math.min(last, at < 0 ? 0 : at + by))]?.number ?? 0;
}

// left are the chosen numbers after a change: what it made, or what is still there.
export function left({ answer: before, chosen }, { objects }, { do: what, numbers }) {
  const there = new Set(objects.map((one) => one.number)),
    was = new Set(before?.objects.map((one) => one.number)),
    made = [...there].filter((n) => !was.has(n));
  if (what === "add") return made;
  if (what === "split") return [...numbers, ...made];
  return chosen.filter((n) => there.has(n));
}

// contours are the lines of all objects for the stage: those that are chosen thick, those that are
// doubted in another colour and dashed.
export function contours(answer, chosen) {
  const kind = (colour, width, dash) => ({ colour, width, dash, points: [], starts: [] }),
    two = (width) => [kind(structure(0), width, 0), kind(DOUBT, width, DASH)],
    kinds = [...two(1.75), ...two(4)],
    shapes = shapesOf(answer);
  for (const one of answer.objects) {
    const { points, starts } = kinds[2 * chosen.includes(one.number) + doubted(one)];
    for (const line of shapes.get(one.number)?.lines ?? []) {
      starts.push(points.length / 2);
      for (const v of line) points.push(v);
    }
  }
  return kinds.filter(({ starts }) => starts.length);
}

export const keys = (of) => [
  { colours: [structure(0)], dash: 0, text: title(of) },
  { colours: [DOUBT], dash: DASH, text: t("doubted") },
];

const CELLS = { one: "{n} cell", other: "{n} cells" },
  OBJECTS = { one: "{n} object", other: "{n} objects" };

// areaText is an area of pixels. mm are those a pixel, across and down, or null.
export function areaText(pixels, mm) {
  if (!mm) return t("{area} px", { area: number(pixels) });
  const area = pixels * mm[0] * mm[1];
  return Math.min(...mm) < 0.01
    ? t("{area} µm²", { area: rounded(1e6 * area) })
    : t("{area} mm²", { area: rounded(area) });
}

// figures are those of all objects, as one line.
export function figures({ objects, class: of }, mm) {
  const cell = of === "cell";
  if (!objects.length) return t(cell ? "No cell was found." : "No object was found.");
  const areas = objects.map(({ area }) => area).sort((a, b) => a - b),
    median = (areas[(areas.length - 1) >> 1] + areas[areas.length >> 1]) / 2,
    count = (is) => objects.filter(is).length;
  return [
    t(cell ? CELLS : OBJECTS, { n: objects.length }),
    t("median area {area}", { area: areaText(median, mm) }),
    t("{n} doubted", { n: count(doubted) }),
    t("{n} cut by the border", { n: count(({ cut }) => cut) }),
  ].join(" · ");
}

// wordsOf says of an object what is not as usual.
export const wordsOf = (one) =>
  [doubted(one) && t("doubted"), one.by === "you" && t("by you"), one.cut && t("cut")]
    .filter(Boolean)
    .join(", ");
export function about(one, mm) {
  const [area, roundness, words] = [areaText(one.area, mm), number(one.roundness, 2), wordsOf(one)],
    values = { n: one.number, area, roundness };
  return t("Number {n}, area {area}, roundness {roundness}", values) + (words && `, ${words}`);
}
