// The geometry of the drawing tools, in photograph pixels. A point is [x, y], a line a list of
// points; closed lines end where they begin.

const STEPS = 240; // corners of an ellipse

// ellipseOf is the ellipse through five points, as a closed line. It is null if their conic is no
// ellipse, or one much larger than they are apart.
export function ellipseOf(five) {
  const [mx, my] = [0, 1].map((i) => five.reduce((sum, point) => sum + point[i], 0) / 5), wide = Math.max(...five.map(([x, y]) => Math.hypot(x - mx, y - my)));
  const [p, q, r, s, last] = five.map(([x, y]) => [(x - mx) / wide, (y - my) / wide]);
  // A pair of lines, each through two of the points, is a conic through four of them. The two pairs
  // are added so that the fifth point is on the sum, a x² + b xy + c y² + d x + e y + f = 0.
  const line = ([ax, ay], [bx, by]) => [ay - by, bx - ax, ax * by - bx * ay];
  const pair = ([a, b, c], [d, e, f]) => [a * d, a * e + b * d, b * e, a * f + c * d, b * f + c * e, c * f];
  const at = ([a, b, c, d, e, f], [x, y]) => a * x * x + b * x * y + c * y * y + d * x + e * y + f;
  const one = pair(line(p, q), line(r, s)), two = pair(line(p, r), line(q, s)), conic = one.map((v, i) => v * at(two, last) - two[i] * at(one, last));
  const [a, b, c, d, e] = conic, square = 4 * a * c - b * b, x = (b * e - 2 * c * d) / square, y = (b * d - 2 * a * e) / square;
  const rest = -at(conic, [x, y]) / a; // u² + b/a uv + c/a v² = rest, from the middle
  if (!(square > 0 && rest > 0)) return null;
  const slant = b / (2 * a), tall = Math.sqrt(rest / (c / a - slant * slant)), all = Array.from({ length: STEPS }, (_, i) => {
    const v = tall * Math.sin(2 * Math.PI * i / STEPS), u = Math.sqrt(rest) * Math.cos(2 * Math.PI * i / STEPS) - slant * v;
    return [x + u, y + v];
  });
  return all.some((point) => Math.hypot(...point) > 4) ? null : all.map(([x, y]) => [mx + x * wide, my + y * wide]);
}
