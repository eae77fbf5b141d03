// Tests of handles.js, which TestState runs in a page: what a moved handle changes is compared with
// polygons, pixel by pixel.
import { Stroke, at, baseOf, blank, corrected, outlineOf } from "../draw/correct.js";
import { handlesOn, linesOf, loopOf, sweep } from "../draw/handles.js";

const W = 300,
  H = 210;
const is = (what, ok) => {
  if (!ok) throw new Error(what);
};
const inDisc = (x, y) => Math.hypot(x - 140, y - 100) < 40;
const values = Float32Array.from({ length: W * H }, (_, i) =>
  inDisc(i % W, Math.floor(i / W)) ? 0.9 : 0.1,
);
const base = baseOf(values, W, H);
const place = ({ line, i }) => line[i];
// filled is a mask of the pixels whose middles a line encloses.
const filled = (line) => {
  const mask = new Uint8Array(W * H);
  line.forEach(([ax, ay], i) => {
    const [bx, by] = line[(i + 1) % line.length];
    for (let row = 0, y = 0.5; row < H; row++, y++)
      if (ay <= y !== by <= y) {
        const end = ax + ((bx - ax) * (y - ay)) / (by - ay);
        for (let column = 0; column < W && column + 0.5 < end; column++)
          mask[row * W + column] ^= 1;
      }
  });
  return mask;
};

// shape is the mask of a disc with a hole, an islet at its right and a speck, its lines and handles.
function shape() {
  const stroke = new Stroke(blank("you", "disc", base));
  for (const [x, y, r, value] of [
    [125, 95, 12, 0],
    [205, 100, 15, 255],
    [20, 20, 1.2, 255],
  ])
    stroke.line([x, y, r], [x, y, r], value);
  const { correction } = stroke,
    mask = corrected(base, correction),
    lines = linesOf(outlineOf(mask, base));
  return { correction, mask, lines, handles: handlesOn(lines, 2) };
}
// swept is the mask after a handle went to a point, or was deleted.
function swept({ correction, handles }, n, to) {
  const stroke = new Stroke(correction);
  sweep(stroke, loopOf(handles, n, to));
  return { drawn: stroke.drawn, mask: corrected(base, stroke.correction) };
}
// each compares all pixels of a mask with what is wanted.
const each = (what, mask, wanted) => {
  for (let y = 0; y < H; y++)
    for (let x = 0; x < W; x++)
      is(`${what}: ${x}, ${y}`, at(mask, x, y) === wanted(x, y, y * W + x));
};
// gone is a line whose handle number n has gone, by loopOf alone.
function gone({ handles }, n, to) {
  const own = handles.filter(({ line }) => line === handles[n].line),
    k = own.indexOf(handles[n]),
    { line } = own[k];
  const from = own.at(k - 1).i,
    end = own[(k + 1) % own.length].i,
    loop = loopOf(handles, n, to),
    rest = from < end ? [...line.slice(end), ...line.slice(0, from)] : line.slice(end, from);
  const back =
    2 +
    ((own[k].i - from + line.length) % line.length) +
    ((end - own[k].i + line.length) % line.length); // points of the way back
  return [...rest, ...loop.slice(0, loop.length - back)];
}

export const tests = {
  "few handles follow each line, and a speck has none"() {
    const { lines, handles } = shape(),
      count = lines.map((line) => handles.filter((one) => one.line === line).length);
    is(
      `${count} handles`,
      lines.length === 4 &&
        count.filter((n) => n === 0).length === 1 &&
        count.filter((n) => n >= 6 && n <= 22).length === 3,
    );
    for (const line of lines.filter((_, i) => count[i])) {
      const own = handles.filter((one) => one.line === line).map(place);
      for (const [x, y] of line)
        is(
          `${x}, ${y} is far from the handles' lines`,
          own.some(([ax, ay], i) => {
            const [bx, by] = own[(i + 1) % own.length],
              [ux, uy] = [bx - ax, by - ay],
              share = Math.min(
                1,
                Math.max(0, ((x - ax) * ux + (y - ay) * uy) / (ux * ux + uy * uy)),
              );
            return Math.hypot(x - ax - share * ux, y - ay - share * uy) <= 2;
          }),
        );
    }
  },
  "a handle that stays where it is changes no pixel"() {
    const one = shape();
    one.handles.forEach((handle, n) => is(`handle ${n}`, !swept(one, n, place(handle)).drawn));
  },
  "a moved or deleted handle changes what lies between the old and the new line, and nothing else"() {
    const one = shape(),
      { mask, lines, handles } = one,
      inside = new Map(lines.map((line) => [line, filled(line)])),
      [outer, hole] = [
        [140, 61],
        [125, 84],
      ].map(([x, y]) =>
        lines.find((line) => line.some((point) => Math.hypot(point[0] - x, point[1] - y) < 3)),
      );
    for (const [line, what] of [
      [outer, "outer"],
      [hole, "hole"],
    ])
      for (const [n, handle] of handles.entries())
        if (handle.line === line) {
          const move = [[-9, 4], [3, -6], [5, 5], null][n % 4],
            to = move && place(handle).map((v, i) => v + move[i]),
            after = swept(one, n, to),
            now = gone(one, n, to);
          is(`${what} ${n}, ${move} draws`, after.drawn);
          const was = inside.get(line),
            inNow = filled(now),
            others = lines.filter((other) => ![line, hole, outer].includes(other));
          each(`${what} ${n}, ${move}`, after.mask, (x, y, i) => {
            if (inNow[i] === was[i]) return at(mask, x, y);
            return line === outer
              ? (inNow[i] && !inside.get(hole)[i]) || others.some((other) => inside.get(other)[i])
              : !inNow[i] && inside.get(outer)[i] === 1;
          });
        }
  },
  "an outline that is drawn over another piece joins it, and one drawn over its own far side ends there"() {
    const one = shape(),
      { mask, handles } = one,
      right = handles.reduce(
        (best, { line, i }, n) =>
          Math.hypot(line[i][0] - 180, line[i][1] - 100) <
          Math.hypot(...place(handles[best]).map((v, k) => v - [180, 100][k]))
            ? n
            : best,
        0,
      );
    const joined = swept(one, right, [212, 100]).mask,
      ended = swept(one, right, [60, 100]).mask;
    for (let y = 0; y < H; y++)
      for (let x = 0; x < W; x++)
        is(
          `${x}, ${y}`,
          (!at(mask, x, y) || at(joined, x, y)) && (at(mask, x, y) || !at(ended, x, y)),
        );
    is(
      "between the two",
      at(joined, 185, 100) && at(joined, 205, 100) && !at(ended, 150, 100) && at(ended, 140, 65),
    );
  },
  "handles stay where they were on an outline that is drawn anew"() {
    const one = shape(),
      n = one.handles.findIndex((handle) => Math.abs(place(handle)[1] - 61) < 2),
      to = [place(one.handles[n])[0], 50],
      { mask } = swept(one, n, to);
    const places = one.handles.map(place).with(n, to),
      again = handlesOn(linesOf(outlineOf(mask, base)), 2, places).map(place);
    is(`${again.length} of ${places.length}`, again.length === places.length);
    for (const [x, y] of places)
      is(
        `${x}, ${y}`,
        again.some(
          ([ax, ay]) => Math.hypot(x - ax, y - ay) < (x === to[0] && y === to[1] ? 1 : 0.1),
        ),
      );
  },
};
