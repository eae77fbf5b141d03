// Tests of correct.js, which TestInNode runs. Each fast way is compared with a slow one.
import { Stroke, baseOf, blank, corrected, outlineOf } from "../draw/correct.js";
import { extentOf } from "../review/figures.js";

const W = 300,
  H = 210,
  UNSAID = 128;
const is = (what, ok) => {
  if (!ok) throw new Error(what);
};
const values = Float32Array.from({ length: W * H }, (_, i) =>
  Math.hypot((i % W) - 140, Math.floor(i / W) - 100) < 40 ? 0.9 : 0.1,
);
const base = baseOf(values, W, H);
// drawn is what a correction says of a pixel.
const drawn = ({ tiles }, x, y) =>
  tiles.get(Math.floor(y / 64) * Math.ceil(W / 64) + Math.floor(x / 64))?.[
    (y % 64) * 64 + (x % 64)
  ] ?? UNSAID;
const pixels = (act) => {
  for (let y = 0; y < H; y++) for (let x = 0; x < W; x++) act(x, y);
};
const disc = (stroke, x, y, r, value) => stroke.line([x, y, r], [x, y, r], value);

// matches compares a window with its base and correction, pixel by pixel.
function matches(window, correction, what) {
  let area = 0;
  const columns = new Map();
  pixels((x, y) => {
    const said = drawn(correction, x, y),
      wanted = said === UNSAID ? values[y * W + x] > 0.5 : said === 255;
    const within =
      x >= window.x && y >= window.y && x < window.x + window.width && y < window.y + window.height;
    is(
      `${what}: ${x}, ${y}`,
      wanted === (within && window.mask[(y - window.y) * window.width + x - window.x] === 1),
    );
    if (wanted) {
      area++;
      columns.set(x, (columns.get(x) ?? 0) + 1);
    }
  });
  const extent = extentOf(window);
  is(
    `${what}: area ${extent.area}, not ${area}`,
    extent.area === area && extent.height === Math.max(0, ...columns.values()),
  );
}

export const tests = {
  "a line draws the pixels within its radius"() {
    for (const [a, b, r] of [
      [[20, 30], [20, 30], 7],
      [[20.3, 30.7], [90.2, 31], 5.5],
      [[90, 150], [20, 40], 12],
      [[-20, 205], [40, 230], 30],
      [[50, 20], [50, 90], 0.2],
      [[280, 10], [320, -9], 25],
    ]) {
      const stroke = new Stroke(blank("you", "disc", base));
      stroke.line([...a, r], [...b, r], 255);
      const radius = Math.max(0.5, r),
        [dx, dy] = [b[0] - a[0], b[1] - a[1]],
        square = dx * dx + dy * dy;
      pixels((x, y) => {
        const px = x + 0.5 - a[0],
          py = y + 0.5 - a[1],
          t = square ? Math.min(1, Math.max(0, (px * dx + py * dy) / square)) : 0;
        const away = Math.hypot(px - t * dx, py - t * dy) - radius;
        if (Math.abs(away) > 1e-6)
          is(`${a} to ${b}: ${x}, ${y}`, (drawn(stroke.correction, x, y) === 255) === away < 0);
      });
    }
  },
  "a mask that goes on from another is the mask made anew"() {
    let correction = blank("you", "disc", base),
      mask = corrected(base, correction);
    matches(mask, correction, "plain");
    const earlier = [];
    for (const [path, value] of [
      [
        [
          [130, 90],
          [150, 100],
          [200, 120],
          [290, 200],
        ],
        255,
      ],
      [
        [
          [140, 100],
          [140, 60],
          [100, 10],
        ],
        0,
      ],
      [
        [
          [5, 5],
          [60, 5],
          [5, 200],
        ],
        255,
      ],
    ]) {
      const stroke = new Stroke(correction);
      for (let i = 1; i < path.length; i++) {
        stroke.line([...path[i - 1], 9], [...path[i], 9], value);
        mask = corrected(base, stroke.correction, mask);
        matches(mask, stroke.correction, `draft ${i}`);
      }
      earlier.push(correction);
      correction = stroke.correction;
    }
    for (const one of earlier.reverse())
      matches((mask = corrected(base, one, mask)), one, "undone");
    const nothing = baseOf(new Float32Array(W * H), W, H),
      stroke = new Stroke(blank("you", "disc", base));
    disc(stroke, 100, 100, 9, 255);
    is("drawn on an empty mask", extentOf(corrected(nothing, stroke.correction)).area > 200);
  },
  "an outline encloses its mask"() {
    const stroke = new Stroke(blank("you", "disc", base));
    disc(stroke, 140, 100, 10, 0);
    disc(stroke, 0, 0, 20, 255);
    disc(stroke, 299, 209, 5, 255);
    const mask = corrected(base, stroke.correction),
      { points, starts } = outlineOf(mask, base);
    is(`${starts.length} lines, not 4`, starts.length === 4); // the disc, its hole, two corners
    let twice = 0;
    for (let l = 0; l < starts.length; l++) {
      const from = starts[l],
        end = starts[l + 1] ?? points.length / 2;
      for (let i = from; i < end; i++) {
        const k = i + 1 < end ? i + 1 : from;
        twice += points[2 * i] * points[2 * k + 1] - points[2 * k] * points[2 * i + 1];
      }
    }
    const { area } = extentOf(mask),
      enclosed = twice / 2;
    is(`it encloses ${enclosed} of ${area}`, Math.abs(enclosed - area) < 0.02 * area);
  },
};
