// What a person drew on a mask. A correction is { rater, class, width, height, tiles }: tiles holds
// squares of TILE × TILE bytes by number, row by row, with 255 inside, 0 outside and UNSAID where
// nothing was drawn. A stroke copies the tiles that it touches, and shares all others with the
// correction before it: steps of the history cost what they changed. A base is the mask below it,
// { width, height, bytes, box }: probabilities of 0 to 255, and the box around those above one half.
export const UNSAID = 128;
const TILE = 64, AREA = TILE * TILE;
const SURE = 0.05; // a base this near to 0 or 1 is agreed

export const blank = (rater, c, { width, height }) => ({ rater, class: c, width, height, tiles: new Map() });
export const sameMask = (a, b) => a.rater === b.rater && a.class === b.class;
const across = (width) => Math.ceil(width / TILE);

// baseOf makes a base of a map of probabilities, 0…1.
export function baseOf(values, width, height) {
  const bytes = new Uint8Array(values.length);
  let left = width, top = height, right = 0, bottom = 0;
  for (let y = 0, i = 0; y < height; y++) for (let x = 0; x < width; x++, i++) {
    const p = values[i], inside = p > 0.5, v = Math.round(255 * p);
    bytes[i] = inside ? Math.max(128, v) : Math.min(127, v);
    if (!inside) continue;
    left = Math.min(left, x);
    right = Math.max(right, x + 1);
    top = Math.min(top, y);
    bottom = y + 1;
  }
  return { width, height, bytes, box: { left, top, right, bottom } };
}

// Stroke draws on a copy of a correction. Coordinates are photograph pixels; pixel x covers x to
// x + 1.
export class Stroke {
  #of; #tiles; #own = new Set();
  constructor(correction) { this.#of = correction; this.#tiles = new Map(correction.tiles); }
  // correction is what is drawn so far. A draft shares its tiles with the stroke that goes on.
  get correction() { return { ...this.#of, tiles: this.#tiles, bytes: this.#own.size * AREA }; }
  get drawn() { return this.#own.size > 0; }

  set(x, y, value) {
    const { width, height } = this.#of;
    if (x < 0 || y < 0 || x >= width || y >= height) return;
    const n = Math.floor(y / TILE) * across(width) + Math.floor(x / TILE);
    if (!this.#own.has(n)) {
      this.#own.add(n);
      this.#tiles.set(n, this.#tiles.get(n)?.slice() ?? new Uint8Array(AREA).fill(UNSAID));
    }
    this.#tiles.get(n)[(y % TILE) * TILE + x % TILE] = value;
  }
  disc(cx, cy, radius, value) {
    const r = Math.max(0.5, radius);
    for (let y = Math.floor(cy - r); y <= cy + r; y++) for (let x = Math.floor(cx - r); x <= cx + r; x++) {
      if ((x + 0.5 - cx) ** 2 + (y + 0.5 - cy) ** 2 <= r * r) this.set(x, y, value);
    }
  }
  line([ax, ay], [bx, by], radius, value) {
    const steps = Math.max(1, Math.ceil(Math.hypot(bx - ax, by - ay) / Math.max(0.5, radius / 3)));
    for (let i = 1; i <= steps; i++) this.disc(ax + (bx - ax) * i / steps, ay + (by - ay) * i / steps, radius, value);
  }
  // polygon draws the inside of a closed line of points, by the even-odd rule.
  polygon(points, value) {
    const { width, height } = this.#of, ys = points.map(([, y]) => y);
    for (let y = Math.max(0, Math.floor(Math.min(...ys))); y < Math.min(height, Math.max(...ys)); y++) {
      const cuts = [];
      points.forEach(([ax, ay], i) => {
        const [bx, by] = points[(i + 1) % points.length], at = y + 0.5;
        if ((ay <= at) !== (by <= at)) cuts.push(ax + (bx - ax) * (at - ay) / (by - ay));
      });
      cuts.sort((a, b) => a - b);
      for (let k = 0; k + 1 < cuts.length; k += 2) {
        for (let x = Math.max(0, Math.ceil(cuts[k] - 0.5)); x < Math.min(width, cuts[k + 1] - 0.5); x++) this.set(x, y, value);
      }
    }
  }
}

// eachTile calls act(tile, x, y) with the corner of each tile of a correction.
function eachTile({ width, tiles }, act) {
  for (const [n, tile] of tiles) act(tile, n % across(width) * TILE, Math.floor(n / across(width)) * TILE);
}
function boxOf(correction, { left, top, right, bottom }, margin = 0) {
  eachTile(correction, (tile, x, y) => {
    left = Math.min(left, x - margin); top = Math.min(top, y - margin);
    right = Math.max(right, x + TILE + margin); bottom = Math.max(bottom, y + TILE + margin);
  });
  left = Math.max(0, left); top = Math.max(0, top);
  const width = Math.max(0, Math.min(correction.width, right) - left), height = Math.max(0, Math.min(correction.height, bottom) - top);
  return { x: left, y: top, width, height };
}

// corrected is the mask of a base as a person corrected it, within the window that holds all of it:
// { x, y, width, height, mask }, a byte a pixel, 1 inside.
export function corrected(base, correction) {
  const box = boxOf(correction, base.box), { x: left, y: top, width, height } = box, mask = new Uint8Array(width * height);
  for (let y = 0; y < height; y++) for (let x = 0, i = (y + top) * base.width + left; x < width; x++) mask[y * width + x] = base.bytes[i + x] >> 7;
  eachTile(correction, (tile, tx, ty) => {
    for (let i = 0; i < AREA; i++) {
      const x = tx + i % TILE - left, y = ty + Math.floor(i / TILE) - top;
      if (tile[i] !== UNSAID && x < width && y < height) mask[y * width + x] = tile[i] & 1;
    }
  });
  return { ...box, mask };
}

// at says whether a pixel of a window is inside; beyond the window nothing is.
export const at = ({ x: left, y: top, width, height, mask }, x, y) =>
  x >= left && y >= top && x < left + width && y < top + height && mask[(y - top) * width + x - left] === 1;

// extentOf is the area of a mask, and the largest number of its pixels in any one column, as in
// internal/app/segment/measure.go.
export function extentOf({ width, mask }) {
  const columns = new Uint32Array(width);
  let area = 0, height = 0;
  for (let i = 0; i < mask.length; i++) if (mask[i]) { area++; columns[i % width]++; }
  for (const n of columns) height = Math.max(height, n);
  return { area, height };
}

// borderNear is the distance from a pixel to the nearest one on the other side of the border, at
// most reach.
export function borderNear(window, x, y, reach) {
  const here = at(window, x, y);
  let nearest = reach;
  for (let dy = -Math.ceil(reach); dy <= reach; dy++) for (let dx = -Math.ceil(reach); dx <= reach; dx++) {
    const d = Math.hypot(dx, dy);
    if (d < nearest && at(window, x + dx, y + dy) !== here) nearest = d;
  }
  return nearest;
}

// pieceAt is the list of pixels, each [x, y], that hang together with one and are on its side of
// the border. It is null if they reach the end of the window: that area is not closed.
export function pieceAt(window, x, y) {
  const { x: left, y: top, width, height, mask } = window, here = at(window, x, y), seen = new Uint8Array(mask.length);
  const list = [], open = [[x, y]];
  while (open.length) {
    const [px, py] = open.pop();
    const i = (py - top) * width + px - left, out = px < left || py < top || px >= left + width || py >= top + height;
    if (out && !here) return null;
    if (out || seen[i] || at(window, px, py) !== here) continue;
    seen[i] = 1;
    list.push([px, py]);
    open.push([px + 1, py], [px - 1, py], [px, py + 1], [px, py - 1]);
  }
  return list;
}

// outlineOf follows the border of a mask: { points, starts } as in wasm/overlay. Its points are
// the middles of the pixels' sides. The inside is on the right hand.
export function outlineOf({ x: left, y: top, width, height, mask }) {
  const inside = (x, y) => x >= 0 && y >= 0 && x < width && y < height && mask[y * width + x];
  const steps = [[1, 0], [0, 1], [-1, 0], [0, -1]]; // right, down, left, up
  const right = [[0, 0], [-1, 0], [-1, -1], [0, -1]]; // the pixel on the right hand of a step from a corner
  const side = (x, y, d) => inside(x + right[d][0], y + right[d][1]) && !inside(x + right[(d + 3) % 4][0], y + right[(d + 3) % 4][1]);
  const seen = new Uint8Array(mask.length), points = [], starts = [];
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) {
    if (!mask[y * width + x] || seen[y * width + x] || inside(x, y - 1)) continue;
    starts.push(points.length / 2);
    let cx = x, cy = y, d = 0;
    do {
      if (d === 0) seen[cy * width + cx] = 1;
      points.push(left + cx + steps[d][0] / 2, top + cy + steps[d][1] / 2);
      cx += steps[d][0];
      cy += steps[d][1];
      d = [1, 0, 3].map((turn) => (d + turn) % 4).find((turned) => side(cx, cy, turned));
    } while (cx !== x || cy !== y || d !== 0);
  }
  return { points: Float32Array.from(points), starts: Uint32Array.from(starts) };
}

// evidenceOf makes a correction a mark for the network (internal/app/segment/marks.go). It says what
// the person drew, and within margin pixels of that what the base is sure of. It says nothing about
// all other pixels.
export function evidenceOf(correction, base, margin) {
  const { width, tiles } = correction, box = boxOf(correction, { left: width, top: correction.height, right: 0, bottom: 0 }, margin);
  let near = new Uint8Array(box.width * box.height);
  const said = (x, y) => {
    const tile = tiles.get(Math.floor(y / TILE) * across(width) + Math.floor(x / TILE));
    return tile && tile[y % TILE * TILE + x % TILE] !== UNSAID;
  };
  for (let y = 0; y < box.height; y++) for (let x = 0; x < box.width; x++) near[y * box.width + x] = said(x + box.x, y + box.y) ? 1 : 0;
  const grown = (from, length, lines, step, stride) => { // by margin to both sides
    const to = new Uint8Array(from.length);
    for (let line = 0; line < lines; line++) for (let back = 0; back < 2; back++) for (let i = 0, left = 0; i < length; i++) {
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
    const x = box.x + i % box.width, y = box.y + Math.floor(i / box.width), p = base.bytes[y * base.width + x] / 255;
    if (near[i] && !said(x, y) && (p <= SURE || p >= 1 - SURE)) mark.set(x, y, p > 0.5 ? 255 : 0);
  }
  return { ...mark.correction, name: "corrected by hand" };
}

// wholeMask is a mark as the worker takes it: a byte for each pixel of the photograph.
export function wholeMask(mark) {
  const mask = new Uint8Array(mark.width * mark.height).fill(UNSAID);
  eachTile(mark, (tile, tx, ty) => {
    for (let y = ty; y < Math.min(ty + TILE, mark.height); y++) {
      mask.set(tile.subarray((y - ty) * TILE, (y - ty) * TILE + Math.min(TILE, mark.width - tx)), y * mark.width + tx);
    }
  });
  return mask;
}

// measuredBy is a result with the figures of its corrected masks. Ranges and intervals stay the
// model's. maskOf gives the corrected mask of a correction, or null where its base is not here yet.
export function measuredBy(result, corrections, maskOf, you) {
  const structures = [...result.measurements.structures], hand = [];
  for (const correction of corrections) {
    const mask = maskOf(correction), c = result.classes.indexOf(correction.class);
    if (!mask || c < 0) continue;
    const extent = extentOf(mask), { rater, class: name } = correction;
    hand.push({ rater, class: name, area: extent.area });
    if (rater === you) structures[c] = { ...structures[c], ...extent, share: extent.area / result.width / result.height, corrected: true };
  }
  if (!hand.length) return result;
  const { verticalRatio } = result.measurements, of = (name) => structures.find((s) => s.class === name);
  const inner = verticalRatio && of(verticalRatio.inner), outer = verticalRatio && of(verticalRatio.outer);
  const again = inner?.corrected || outer?.corrected;
  const value = again ? (inner.height && outer.height ? inner.height / outer.height : null) : verticalRatio?.value;
  const ratio = again ? { ...verticalRatio, value, corrected: true } : verticalRatio;
  return { ...result, corrected: hand, byModel: result.measurements, measurements: { ...result.measurements, structures, ...(ratio && { verticalRatio: ratio }) } };
}

// ---- PNG ----

const table = Uint32Array.from({ length: 256 }, (_, n) => { for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1; return n; });
function chunk(type, data) {
  const made = new Uint8Array(12 + data.length), view = new DataView(made.buffer);
  view.setUint32(0, data.length);
  made.set(new TextEncoder().encode(type), 4);
  made.set(data, 8);
  let crc = -1;
  for (const v of made.subarray(4, 8 + data.length)) crc = table[(crc ^ v) & 255] ^ (crc >>> 8);
  view.setUint32(8 + data.length, ~crc);
  return made;
}
// correctedPNG resolves to a grey PNG of a mask, or of probabilities, with what was drawn on it. Its
// text chunk says that a person changed it.
export async function correctedPNG(what, base, correction) {
  const { width, height } = base, rows = new Uint8Array((width + 1) * height), drawn = wholeMask(correction);
  for (let y = 0, i = 0; y < height; y++) for (let x = 0; x < width; x++, i++) {
    const below = what === "mask" ? (base.bytes[i] >> 7) * 255 : base.bytes[i];
    rows[y * (width + 1) + 1 + x] = drawn[i] === UNSAID ? below : drawn[i];
  }
  const packed = new Blob([rows]).stream().pipeThrough(new CompressionStream("deflate"));
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, width);
  header.setUint32(4, height);
  header.setUint8(8, 8); // bits of grey
  return new Blob([Uint8Array.of(137, 80, 78, 71, 13, 10, 26, 10), chunk("IHDR", new Uint8Array(header.buffer)),
    chunk("tEXt", new TextEncoder().encode("Comment\0corrected by hand")),
    chunk("IDAT", new Uint8Array(await new Response(packed).arrayBuffer())), chunk("IEND", new Uint8Array())]).arrayBuffer();
}
