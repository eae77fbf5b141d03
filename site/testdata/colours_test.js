// Tests of colours.js, which TestInNode runs: what has to be told apart differs for all who see
// colours otherwise, and over photographs. Vision without one kind of cone is simulated in linear sRGB.
// Source: Machado, Oliveira and Fernandes 2009, severity 1. Differences are CIEDE2000 (Sharma, Wu and
// Dalal 2005): 1 is just seen side by side.
import { RATERS, STRUCTURES, paint, you } from "../draw/colours.js";

const VISIONS = {
  all: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
const PHOTOGRAPHS = {
  "a retina": [200, 95, 40],
  "a dark retina": [120, 50, 20],
  "mid grey": [128, 128, 128],
  "dark grey": [40, 40, 40],
};
const LINES = 12,
  MAP = 12,
  THIN = 6; // least differences: of lines, and of a map opaque and at the opacity at first (45 %)

const linear = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
const seen = (rgb, vision) =>
  vision.map((row) =>
    Math.min(
      1,
      Math.max(
        0,
        row.reduce((sum, k, i) => sum + k * linear(rgb[i]), 0),
      ),
    ),
  );
// labOf is a linear colour in CIELAB under D65.
function labOf([r, g, b]) {
  const f = (t) => (t > 216 / 24389 ? Math.cbrt(t) : ((24389 / 27) * t + 16) / 116);
  const x = f((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047),
    y = f(0.2126729 * r + 0.7151522 * g + 0.072175 * b),
    z = f((0.0193339 * r + 0.119192 * g + 0.9503041 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const DEGREE = Math.PI / 180;
function difference([l1, a1, b1], [l2, a2, b2]) {
  // CIEDE2000
  const mean = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2,
    grow = 1 + 0.5 * (1 - Math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7)));
  const c1 = Math.hypot(a1 * grow, b1),
    c2 = Math.hypot(a2 * grow, b2),
    hue = (b, a) => (Math.atan2(b, a) / DEGREE + 360) % 360;
  const h1 = hue(b1, a1 * grow),
    h2 = hue(b2, a2 * grow),
    grey = c1 * c2 === 0,
    around = Math.abs(h1 - h2) > 180;
  const dl = l2 - l1,
    dc = c2 - c1,
    turn = grey ? 0 : h2 - h1 - (around ? 360 * Math.sign(h2 - h1) : 0),
    dh = 2 * Math.sqrt(c1 * c2) * Math.sin((turn / 2) * DEGREE);
  const l = (l1 + l2) / 2,
    c = (c1 + c2) / 2,
    h = grey ? h1 + h2 : (h1 + h2 + (around ? (h1 + h2 < 360 ? 360 : -360) : 0)) / 2;
  const t =
    1 -
    0.17 * Math.cos((h - 30) * DEGREE) +
    0.24 * Math.cos(2 * h * DEGREE) +
    0.32 * Math.cos((3 * h + 6) * DEGREE) -
    0.2 * Math.cos((4 * h - 63) * DEGREE);
  const sl = 1 + (0.015 * (l - 50) ** 2) / Math.sqrt(20 + (l - 50) ** 2),
    sc = 1 + 0.045 * c,
    sh = 1 + 0.015 * c * t;
  const rotation =
    -2 *
    Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7)) *
    Math.sin(60 * Math.exp(-(((h - 275) / 25) ** 2)) * DEGREE);
  return Math.sqrt(
    (dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + (((rotation * dc) / sc) * dh) / sh,
  );
}

// apart asserts that everybody sees a difference between two colours.
function apart(a, b, least, what) {
  for (const [name, vision] of Object.entries(VISIONS)) {
    const by = difference(labOf(seen(a, vision)), labOf(seen(b, vision)));
    if (by < least)
      throw new Error(`${what}: ${a} and ${b} differ by ${by.toFixed(1)} of ${least} with ${name}`);
  }
}
const eachPair = (list, act) => list.forEach((a, i) => list.slice(i + 1).forEach((b) => act(a, b)));

export const tests = {
  "differences are those of the paper"() {
    for (const [a, b, wanted] of [
      [[50, 2.6772, -79.7751], [50, 0, -82.7485], 2.0425],
      [[50, 2.5, 0], [58, 24, 15], 19.4535],
      [[60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644],
      [[50, 0, 0], [50, -1, 2], 2.3669],
      [[50, -0.001, 2.49], [50, 0.0011, -2.49], 4.7461],
      [[2.0776, 0.0795, -1.135], [0.9033, -0.0636, -0.5514], 0.9082],
    ])
      if (Math.abs(difference(a, b) - wanted) > 1e-4)
        throw new Error(`${a} and ${b}: ${difference(a, b)}, not ${wanted}`);
  },
  "outlines of structures, and the user's own, are told apart"() {
    eachPair([...STRUCTURES, you], (a, b) => apart(a, b, LINES, "structures"));
  },
  "outlines of raters are told apart, from a model's first two structures too, and from the user's own"() {
    eachPair(RATERS, (a, b) => apart(a, b, LINES, "raters"));
    for (const rater of RATERS)
      for (const other of [STRUCTURES[0], STRUCTURES[1], you])
        apart(rater, other, LINES, "a rater");
  },
  "outlines show on photographs"() {
    for (const colour of [...STRUCTURES, ...RATERS, you])
      for (const [name, below] of Object.entries(PHOTOGRAPHS))
        apart(colour, below, LINES, `on ${name}`);
  },
  "degrees of disagreement are told apart, on photographs too"() {
    const degrees = paint(Uint8Array.of(64, 128, 191, 255), "disagreement");
    for (const [opacity, least] of [
      [1, MAP],
      [0.45, THIN],
    ])
      for (const [name, below] of [
        ["a retina", PHOTOGRAPHS["a retina"]],
        ["mid grey", PHOTOGRAPHS["mid grey"]],
      ]) {
        const over = [0, 4, 8, 12].map((at) =>
          below.map(
            (v, i) => v * (1 - (opacity * degrees[at + 3]) / 255) + opacity * degrees[at + i],
          ),
        );
        over.forEach((colour, i) => {
          apart(colour, below, least, `on ${name}`);
          if (i) apart(colour, over[i - 1], least, `steps on ${name}`);
        });
      }
  },
};
