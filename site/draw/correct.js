// What a person drew on a mask, and masks with it. A correction is { rater, class, width, height,
// tiles }: tiles holds squares of TILE × TILE bytes by number, row by row, with 255 inside, 0
// outside and UNSAID where nothing was drawn. A stroke copies the tiles that it touches, and shares
// all others with the previous correction, so that a step of the history takes memory only for its
// changes. A base is the mask below a correction, { width, height, bytes, box, plain }:
// probabilities of 0 to 255, the box around those above one half, and the mask without corrections.

export const YOU = "you"; // the rater of marks that the user drew; segment.Somebody in Go
export const UNSAID = 128;
const TILE = 64,
  AREA = TILE * TILE;
const SWEEPS = 24; // they smooth a step of a pixel in ten
const SURE = 0.05; // a base this near to 0 or 1 is agreed

export const blank = (rater, c, { width, height }) => ({
  rater,
  class: c,
  width,
  height,
  tiles: new Map(),
});
export const sameMask = (a, b) => a.rater === b.rater && a.class === b.class;
const across = (width) => Math.ceil(width / TILE);

// baseOf makes a base of a map of probabilities, 0…1.
export function baseOf(values, width, height) {
  const bytes = new Uint8Array(values.length);
  let left = width,
    top = height,
    right = 0,
    bottom = 0;
  for (let y = 0, i = 0; y < height; y++)
    for (let x = 0; x < width; x++, i++) {
      const p = values[i],
        inside = p > 0.5,
        v = Math.round(255 * p);
      bytes[i] = inside ? Math.max(128, v) : Math.min(127, v);
      if (!inside) continue;
      left = Math.min(left, x);
      right = Math.max(right, x + 1);
      top = Math.min(top, y);
      bottom = y + 1;
    }
  const base = { width, height, bytes, box: { left, top, right, bottom } };
  return { ...base, plain: corrected(base, { tiles: new Map(), width, height }) };
}

// baseOfBytes makes a base of a map of bytes, 0…255.
export const baseOfBytes = (bytes, width, height) =>
  baseOf(
    Float32Array.from(bytes, (v) => v / 255),
    width,
    height,
  );

// Stroke draws on a copy of a correction. Coordinates are photograph pixels; pixel x covers x to
// x + 1.
export class Stroke {
  #of;
  #tiles;
  #own = new Set();
  constructor(correction) {
    this.#of = correction;
    this.#tiles = new Map(correction.tiles);
  }
  // correction is the drawing so far. It shares its tiles with the stroke, which goes on. fresh are
  // the numbers of the tiles that this stroke has touched.
  get correction() {
    const own = { tiles: this.#tiles, fresh: this.#own, bytes: this.#own.size * AREA };
    return { ...this.#of, filled: false, ...own }; // what a person draws on is confirmed
  }
  get drawn() {
    return this.#own.size > 0;
  }

  set(x, y, value) {
    this.row(y, x, x + 1, value);
  }
  // row draws the pixels of row y from x up to, and without, end.
  row(y, x, end, value) {
    const { width, height } = this.#of;
    if (y < 0 || y >= height) return;
    for (x = Math.max(0, x), end = Math.min(end, width); x < end;) {
      const n = Math.floor(y / TILE) * across(width) + Math.floor(x / TILE),
        next = Math.min(end, x - (x % TILE) + TILE);
      if (!this.#own.has(n)) {
        this.#own.add(n);
        this.#tiles.set(n, this.#tiles.get(n)?.slice() ?? new Uint8Array(AREA).fill(UNSAID));
      }
      const from = (y % TILE) * TILE + (x % TILE);
      this.#tiles.get(n).fill(value, from, from + next - x);
      x = next;
    }
  }
  // line draws all pixels whose middle is on a line from one disc, [x, y, radius], to another. In
  // each row these are the ones between the discs and the band between them.
  line(from, to, value) {
    const discs = [from, to].map(([x, y, r]) => [x, y, Math.max(0.5, r)]),
      [[ax, ay, ar], [bx, by, br]] = discs;
    const length = Math.hypot(bx - ax, by - ay) || 1,
      nx = (ay - by) / length,
      ny = (bx - ax) / length;
    const band = [
      [ax + nx * ar, ay + ny * ar],
      [bx + nx * br, by + ny * br],
      [bx - nx * br, by - ny * br],
      [ax - nx * ar, ay - ny * ar],
    ];
    for (let y = Math.floor(Math.min(ay - ar, by - br)); y <= Math.max(ay + ar, by + br); y++) {
      const at = y + 0.5;
      let left = Infinity,
        right = -Infinity;
      for (const [cx, cy, r] of discs) {
        const half = Math.sqrt(r * r - (at - cy) ** 2); // NaN: the disc does not reach this row
        if (half >= 0) {
          left = Math.min(left, cx - half);
          right = Math.max(right, cx + half);
        }
      }
      for (const cut of cuts(band, at)) {
        left = Math.min(left, cut);
        right = Math.max(right, cut);
      }
      if (left <= right) this.row(y, Math.ceil(left - 0.5), Math.floor(right - 0.5) + 1, value);
    }
  }
  // polygon draws the inside of a closed line of points, by the even-odd rule.
  polygon(points, value) {
    const { height } = this.#of,
      ys = points.map(([, y]) => y);
    for (
      let y = Math.max(0, Math.floor(Math.min(...ys)));
      y < Math.min(height, Math.max(...ys));
      y++
    ) {
      const at = cuts(points, y + 0.5).sort((a, b) => a - b);
      for (let k = 0; k + 1 < at.length; k += 2)
        this.row(y, Math.ceil(at[k] - 0.5), Math.ceil(at[k + 1] - 0.5), value);
    }
  }
}

// cuts are the x at which a closed line of points crosses a height.
function cuts(points, at) {
  const all = [];
  points.forEach(([ax, ay], i) => {
    const [bx, by] = points[(i + 1) % points.length];
    if (ay <= at !== by <= at) all.push(ax + ((bx - ax) * (at - ay)) / (by - ay));
  });
  return all;
}

// eachTile calls act(tile, x, y) with the corner of each tile of a correction.
function eachTile({ width, tiles }, act) {
  for (const [n, tile] of tiles)
    act(tile, (n % across(width)) * TILE, Math.floor(n / across(width)) * TILE);
}
// windowOf has the bytes of a correction in a box that holds all its tiles, row by row.
export function windowOf(correction, { x: left, y: top, width, height }) {
  const values = new Uint8Array(width * height).fill(UNSAID);
  eachTile(correction, (tile, tx, ty) => {
    const x = Math.max(tx, left),
      end = Math.min(tx + TILE, left + width);
    for (let y = Math.max(ty, top); y < Math.min(ty + TILE, top + height); y++) {
      const at = (y - ty) * TILE - tx;
      values.set(tile.subarray(at + x, at + end), (y - top) * width + x - left);
    }
  });
  return values;
}
// drawn says whether a person drew on a pixel.
function drawn({ width, tiles }, x, y) {
  const tile = tiles.get(Math.floor(y / TILE) * across(width) + Math.floor(x / TILE));
  return tile !== undefined && tile[(y % TILE) * TILE + (x % TILE)] !== UNSAID;
}
// boxOf holds all tiles of a correction, with a margin, and another box.
export function boxOf(correction, box = {}, margin = 0) {
  const { width: wide, height: high } = correction;
  let { left = wide, top = high, right = 0, bottom = 0 } = box;
  eachTile(correction, (tile, x, y) => {
    left = Math.min(left, x - margin);
    top = Math.min(top, y - margin);
    right = Math.max(right, x + TILE + margin);
    bottom = Math.max(bottom, y + TILE + margin);
  });
  left = Math.max(0, left);
  top = Math.max(0, top);
  const width = Math.max(0, Math.min(wide, right) - left),
    height = Math.max(0, Math.min(high, bottom) - top);
  return { x: left, y: top, width, height };
}

// corrected is the mask of a base as a person corrected it, within a window that holds all of it: {
// x, y, width, height, mask, of }, a byte a pixel, 1 inside; of is the correction. near is such a
// mask for the same base and another correction: only tiles that differ are computed.
export function corrected(base, correction, near = base.plain) {
  const box = boxOf(correction, base.box),
    { x: left, y: top, width, height } = box;
  const within =
    near &&
    near.x >= left &&
    near.y >= top &&
    near.x + near.width <= left + width &&
    near.y + near.height <= top + height;
  const known = within ? near : base.plain; // no mask is smaller than the plain one
  const mask = new Uint8Array(width * height);
  const cover = (tile, x0, y0, x1, y1) => {
    // of the window
    for (let y = y0; y < y1; y++)
      for (
        let x = x0, i = (y + top) * base.width + left, k = ((y + top) % TILE) * TILE;
        x < x1;
        x++
      ) {
        const said = tile ? tile[k + ((x + left) % TILE)] : UNSAID;
        mask[y * width + x] = said === UNSAID ? base.bytes[i + x] >> 7 : said & 1;
      }
  };
  if (known?.width) {
    // around it, only tiles have pixels that are inside
    for (let y = 0; y < known.height; y++)
      mask.set(
        known.mask.subarray(y * known.width, (y + 1) * known.width),
        (y + known.y - top) * width + known.x - left,
      );
  } else cover(null, 0, 0, width, height);
  const before = known?.of.tiles ?? new Map();
  for (const n of new Set([...before.keys(), ...correction.tiles.keys()])) {
    const tile = correction.tiles.get(n),
      x = (n % across(base.width)) * TILE - left,
      y = Math.floor(n / across(base.width)) * TILE - top;
    if (tile !== before.get(n) || correction.fresh?.has(n))
      cover(
        tile,
        Math.max(0, x),
        Math.max(0, y),
        Math.min(width, x + TILE),
        Math.min(height, y + TILE),
      );
  }
  return { ...box, mask, of: correction };
}

// changes says whether two corrections differ in any pixel of the mask. Without a base yet, they
// may.
export function changes(base, before, after) {
  if (!base) return true;
  const inside = (tile, k, i) => (!tile || tile[k] === UNSAID ? base.bytes[i] >> 7 : tile[k] & 1);
  for (const [n, tile] of after.tiles) {
    const old = before?.tiles.get(n),
      left = (n % across(after.width)) * TILE,
      top = Math.floor(n / across(after.width)) * TILE;
    if (tile === old) continue;
    for (let y = top; y < Math.min(top + TILE, after.height); y++)
      for (let x = left; x < Math.min(left + TILE, after.width); x++) {
        const k = (y % TILE) * TILE + (x % TILE),
          i = y * after.width + x;
        if (inside(tile, k, i) !== inside(old, k, i)) return true;
      }
  }
  return false;
}

// at says whether a pixel of a window is inside. No pixel beyond the window is.
export const at = ({ x: left, y: top, width, height, mask }, x, y) =>
  x >= left &&
  y >= top &&
  x < left + width &&
  y < top + height &&
  mask[(y - top) * width + x - left] === 1;

// borderNear is the distance from a pixel to the nearest one on the other side of the border, at
// most reach.
export function borderNear(window, x, y, reach) {
  const here = at(window, x, y);
  let nearest = reach;
  for (let dy = -Math.ceil(reach); dy <= reach; dy++)
    for (let dx = -Math.ceil(reach); dx <= reach; dx++) {
      const d = Math.hypot(dx, dy);
      if (d < nearest && at(window, x + dx, y + dy) !== here) nearest = d;
    }
  return nearest;
}

// pieceAt is the list of pixels, each [x, y], that are connected with a pixel on its side of the
// border. It is null if they reach the end of the window, where the area is not closed.
export function pieceAt(window, x, y) {
  const { x: left, y: top, width, height, mask } = window,
    here = at(window, x, y),
    seen = new Uint8Array(mask.length);
  const list = [],
    open = [[x, y]];
  while (open.length) {
    const [px, py] = open.pop();
    const i = (py - top) * width + px - left,
      out = px < left || py < top || px >= left + width || py >= top + height;
    if (out && !here) return null;
    if (out || seen[i] || at(window, px, py) !== here) continue;
    seen[i] = 1;
    list.push([px, py]);
    open.push([px + 1, py], [px - 1, py], [px, py + 1], [px, py - 1]);
  }
  return list;
}

// outlineOf follows the border of the corrected mask of a base: { points, starts } as in
// wasm/overlay. It has a point between the middles of each two pixels that the border parts. Where
// neither was drawn, the point is where the base crosses one half; else the line is drawn taut. The
// inside is on the right hand.
export function outlineOf({ x: left, y: top, width, height, mask, of }, base) {
  const inside = (x, y) => x >= 0 && y >= 0 && x < width && y < height && mask[y * width + x] === 1;
  const steps = [
    [1, 0],
    [0, 1],
    [-1, 0],
    [0, -1],
  ]; // right, down, left, up
  const right = [
    [0, 0],
    [-1, 0],
    [-1, -1],
    [0, -1],
  ]; // the pixel on the right hand of a step from a corner
  const side = (x, y, d) =>
    inside(x + right[d][0], y + right[d][1]) &&
    !inside(x + right[(d + 3) % 4][0], y + right[(d + 3) % 4][1]);
  const pixel = (x, y, [dx, dy]) => [left + x + dx, top + y + dy],
    known = ([x, y]) => (x < 0 || x >= base.width ? NaN : base.bytes[y * base.width + x]);
  const seen = new Uint8Array(mask.length),
    points = [],
    starts = [],
    axes = [],
    free = [];
  for (let i = 0; i < mask.length; i++) {
    if (mask[i] === 0 || (i >= width && mask[i - width] === 1) || seen[i] === 1) continue; // no upper side, or a known one
    starts.push(points.length / 2);
    const x = i % width,
      y = (i - x) / width;
    let cx = x,
      cy = y,
      d = 0;
    do {
      if (d === 0) seen[cy * width + cx] = 1;
      const axis = (d + 1) % 2,
        one = pixel(cx, cy, right[d]),
        other = pixel(cx, cy, right[(d + 3) % 4]),
        at = [left + cx + steps[d][0] / 2, top + cy + steps[d][1] / 2];
      free.push(drawn(of, ...one) || drawn(of, ...other));
      if (!free.at(-1))
        at[axis] +=
          (other[axis] - one[axis]) * ((known(one) - 127.5) / (known(one) - known(other)) - 0.5) ||
          0; // NaN: beyond the photograph
      axes.push(axis);
      points.push(...at);
      cx += steps[d][0];
      cy += steps[d][1];
      d = side(cx, cy, (d + 1) % 4) ? (d + 1) % 4 : side(cx, cy, d) ? d : (d + 3) % 4;
    } while (cx !== x || cy !== y || d !== 0);
  }
  starts.forEach((start, i) => tighten(points, axes, free, start, starts[i + 1] ?? axes.length));
  return { points: Float32Array.from(points), starts: Uint32Array.from(starts) };
}

// evidenceOf makes a correction a mark for the network (internal/segment/marks.go). It has what the
// person drew and, within margin pixels of that, pixels where the base is sure. It says nothing
// about all other pixels.
export function evidenceOf(correction, base, margin) {
  const box = boxOf(correction, {}, margin);
  const said = windowOf(correction, box);
  let near = said.map((v) => (v === UNSAID ? 0 : 1));
  const grown = (from, length, lines, step, stride) => {
    // by margin to both sides
    const to = new Uint8Array(from.length);
    for (let line = 0; line < lines; line++)
      for (let back = 0; back < 2; back++)
        for (let i = 0, left = 0; i < length; i++) {
          const k = line * stride + (back ? length - 1 - i : i) * step;
          left = from[k] ? margin + 1 : left - 1;
          if (left > 0) to[k] = 1;
        }
    return to;
  };
  near = grown(near, box.width, box.height, 1, box.width);
  near = grown(near, box.height, box.width, box.width, 1);
  const mark = new Stroke(correction);
  for (let i = 0; i < near.length; i++) {
    const x = box.x + (i % box.width),
      y = box.y + Math.floor(i / box.width),
      p = base.bytes[y * base.width + x] / 255;
    if (near[i] && said[i] === UNSAID && (p <= SURE || p >= 1 - SURE))
      mark.set(x, y, p > 0.5 ? 255 : 0);
  }
  return { ...mark.correction, name: "corrected by hand" };
}

// wholeMask is a mark in the form for the worker: a byte for each pixel of the photograph.
export const wholeMask = (mark) => windowOf(mark, { x: 0, y: 0, ...mark });

// withMask is a mark in the form for Segmenter.segment. A mark that was drawn here has tiles
// instead.
export const withMask = (mark) => (mark.tiles ? { ...mark, mask: wholeMask(mark) } : mark);

// tighten draws closed lines of points taut, from point start up to, and without, end. points has x
// and y in turn. A point that is free moves along its axis, 0 for x and 1 for y, by less than half a
// pixel, so that the same pixels stay inside.
function tighten(points, axes, free, start, end) {
  const from = points.slice(2 * start, 2 * end);
  for (let sweep = 0; sweep < SWEEPS; sweep++)
    for (let i = start; i < end; i++)
      if (free[i]) {
        const axis = axes[i],
          middle =
            (points[2 * (i > start ? i - 1 : end - 1) + axis] +
              points[2 * (i + 1 < end ? i + 1 : start) + axis]) /
            2,
          at = from[2 * (i - start) + axis];
        points[2 * i + axis] = Math.min(at + 0.49, Math.max(at - 0.49, middle));
      }
}
