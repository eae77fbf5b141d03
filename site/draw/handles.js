// Handles on the outline of the mask that is corrected. A handle that is moved takes the outline
// along, up to the next handle on either side; no pixel beyond these changes. The pen calls this
// module with photograph pixels, and the page loads it when a person first wants it.
import { Stroke, blank, outlineOf, sameMask } from "./correct.js";
import { baseView } from "./layers.js";
import { maskOf } from "./masks.js";
import { Tool } from "./tool.js";
import { t } from "../words/words.js";

const LOOSE = 4; // CSS pixels that an outline may be away from the straight lines between handles
const ZOOMED = Math.log(1.5); // a change of scale after which other handles are chosen
const SAME = 2; // photograph pixels within which a handle stays on an outline that was drawn anew
const FEWEST = 3; // handles of a line
const TIGHT = 20; // CSS pixels between two handles, so that a press can aim between them
const LONG = 600; // ms that a finger rests on a handle to delete it

const apart = ([ax, ay], [bx, by]) => Math.hypot(ax - bx, ay - by);
// nearest is the number of the point that is nearest to a place and within reach of it, or -1.
function nearest(points, place, reach) {
  let best = -1;
  for (let i = 0; i < points.length; i++) {
    const away = apart(points[i], place);
    if (away < reach) {
      reach = away;
      best = i;
    }
  }
  return best;
}

// linesOf are the closed lines of an outline as of outlineOf, each a list of points [x, y].
export function linesOf({ points, starts }) {
  const all = Array.from({ length: points.length / 2 }, (_, i) => [
    points[2 * i],
    points[2 * i + 1],
  ]);
  return Array.from(starts, (start, i) => all.slice(start, starts[i + 1]));
}

// corners are the points of a closed line, by number, between which straight lines are nowhere
// further than loose from the line (Douglas and Peucker 1973).
function corners(line, loose) {
  const far = line.reduce(
    (far, point, i) => (apart(point, line[0]) > apart(line[far], line[0]) ? i : far),
    0,
  );
  const kept = [0, far],
    open = [
      [0, far],
      [far, line.length],
    ];
  while (open.length) {
    const [from, end] = open.pop(),
      a = line[from],
      b = line[end % line.length],
      [ux, uy] = [b[0] - a[0], b[1] - a[1]],
      square = ux * ux + uy * uy || 1;
    let worst = loose,
      at = -1;
    for (let i = from + 1; i < end; i++) {
      const [x, y] = line[i],
        share = Math.min(1, Math.max(0, ((x - a[0]) * ux + (y - a[1]) * uy) / square)),
        away = Math.hypot(x - a[0] - share * ux, y - a[1] - share * uy);
      if (away > worst) {
        worst = away;
        at = i;
      }
    }
    if (at < 0) continue;
    kept.push(at);
    open.push([from, at], [at, end]);
  }
  return kept.sort((a, b) => a - b);
}

// handlesOn are the handles of closed lines, { line, i, added }: each is point i of its line. They
// stay at places, each [x, y, added], that are on a line; a line with too few of them gets others.
// added says that a person put the handle there and changed nothing since.
export function handlesOn(lines, loose, places = []) {
  return lines.flatMap((line) => {
    const own = new Map();
    for (const place of places) own.set(nearest(line, place, SAME), place[2]);
    own.delete(-1);
    const all = own.size < FEWEST ? corners(line, loose) : [...own.keys()].sort((a, b) => a - b);
    return all.length < FEWEST ? [] : all.map((i) => ({ line, i, added: own.get(i) }));
  });
}
const placeOf = ({ line, i }) => line[i];
const placesOf = (handles) => handles.map((one) => [...placeOf(one), one.added]);

// loopOf goes from the handle before number n to the one after it along the outline as it shall be,
// and back along the outline as it is. The handle shall be at a point, or be deleted: the outline
// is then straight.
export function loopOf(handles, n, to) {
  const { line, i } = handles[n],
    own = handles.filter((one) => one.line === line),
    k = own.indexOf(handles[n]);
  const part = (from, end) =>
    from < end ? line.slice(from, end + 1) : [...line.slice(from), ...line.slice(0, end + 1)];
  const before = part(own.at(k - 1).i, i),
    after = part(i, own[(k + 1) % own.length].i).reverse();
  return [
    ...(to ? [...bent(before, to), ...bent(after, to).reverse()] : [before[0], after[0]]),
    ...after,
    ...before.reverse(),
  ];
}
// bent moves the last point of a line to another place. The others follow less and less; the first
// stays, and so does the direction there.
function bent(line, [x, y]) {
  let length = 0;
  const along = line.map((point, i) => (length += i ? apart(point, line[i - 1]) : 0)),
    [lastX, lastY] = line.at(-1);
  return line.map(([px, py], i) => {
    const share = (1 - Math.cos((Math.PI * along[i]) / length)) / 2;
    return [px + share * (x - lastX), py + share * (y - lastY)];
  });
}

// sweep draws what lies within a loop: inside where it turns to the right, outside where it turns
// to the left, since the inside is on the right hand of an outline.
export function sweep(stroke, loop) {
  const rows = new Map();
  loop.forEach(([ax, ay], i) => {
    const [bx, by] = loop[(i + 1) % loop.length],
      last = Math.max(ay, by);
    for (let y = Math.ceil(Math.min(ay, by) - 0.5); y + 0.5 < last; y++) {
      if (!rows.has(y)) rows.set(y, []);
      rows.get(y).push([ax + ((bx - ax) * (y + 0.5 - ay)) / (by - ay), by < ay ? 1 : -1]);
    }
  });
  for (const [y, cuts] of rows) {
    cuts.sort(([a], [b]) => a - b);
    for (let i = 0, turns = 0; i + 1 < cuts.length; i++) {
      turns += cuts[i][1];
      if (turns)
        stroke.row(
          y,
          Math.ceil(cuts[i][0] - 0.5),
          Math.ceil(cuts[i + 1][0] - 0.5),
          turns > 0 ? 255 : 0,
        );
    }
  }
}

export class Handles extends Tool {
  #known = null;
  #drag = null;
  #chosen = null;
  #timer = 0;
  #kept = new WeakMap(); // places of handles by correction, or by map where nothing is drawn

  // shape is what the handles are on: { of, correction, handles, … }, the same object until the mask
  // or the handles change. It is null before the mask has come.
  get shape() {
    const s = this.state(),
      { editing, result } = s,
      base = editing && result && s.views[baseView(result, editing).key];
    if (this.#drag) return this.#drag.shape;
    if (!base) return null;
    const drawn = s.corrections.find((one) => sameMask(one, editing)),
      of = drawn ?? base,
      places = this.#kept.get(of),
      { scale } = this.stage,
      known = this.#known;
    if (
      known?.of === of &&
      known.places === places &&
      (places || Math.abs(Math.log(known.scale / scale)) < ZOOMED)
    )
      return known;
    const correction = drawn ?? blank(editing.rater, editing.class, s.image),
      lines = linesOf(outlineOf(maskOf(s, correction), base));
    return (this.#known = {
      of,
      correction,
      places,
      scale,
      handles: handlesOn(lines, Math.max(1, LOOSE / scale), places),
    });
  }
  // shown are the points at which handles are drawn, and the number of the chosen one, or -1.
  get shown() {
    const { handles, n, to } = this.#drag ?? this.shape ?? { handles: [] },
      points = handles.map(placeOf);
    if (to) points[n] = to;
    return { points, chosen: n ?? (this.#chosen ? nearest(points, this.#chosen, SAME) : -1) };
  }

  // down takes hold of a handle, or of a new one on the outline.
  down(x, y, touch) {
    const { shape } = this,
      reach = (touch ? 22 : 9) / this.stage.scale;
    if (!shape) return;
    if (!shape.handles.length)
      return this.note(
        "There is no outline to take hold of.",
        "Draw the structure with the brush first.",
      );
    const held = this.#hold(shape.handles, [x, y], reach);
    if (!held) return void (this.#chosen = null);
    this.#drag = {
      shape,
      ...held,
      added: held.handles.length > shape.handles.length,
      from: [x, y],
      still: (touch ? 8 : 3) / this.stage.scale,
      to: null,
    };
    if (touch && !this.#drag.added)
      this.#timer = setTimeout(() => {
        this.up();
        this.remove();
      }, LONG);
  }
  // hold is { handles, n }: handle n is the one that a press takes hold of. It is a new one where
  // no other is within reach, and in the middle third between two. It is null beside the outline.
  #hold(handles, place, reach) {
    const lines = [...new Set(handles.map(({ line }) => line))],
      all = lines.flatMap((line) => line.map((_, i) => ({ line, i, added: true })));
    const near = nearest(handles.map(placeOf), place, reach),
      one = all[nearest(all.map(placeOf), place, reach)];
    if (!one) return null; // every handle is on the outline
    const more = [...handles, one].sort(
      (a, b) => lines.indexOf(a.line) - lines.indexOf(b.line) || a.i - b.i,
    );
    const own = more.filter(({ line }) => line === one.line),
      k = own.indexOf(one),
      gaps = [own.at(k - 1), own[(k + 1) % own.length]].map((other) =>
        apart(placeOf(other), placeOf(one)),
      );
    const between =
      Math.min(...gaps) > Math.max(TIGHT / 2 / this.stage.scale, Math.max(...gaps) / 2);
    return near < 0 || between ? { handles: more, n: more.indexOf(one) } : { handles, n: near };
  }
  move(x, y) {
    const drag = this.#drag;
    if (!drag || (!drag.to && apart(drag.from, [x, y]) < drag.still)) return;
    clearTimeout(this.#timer);
    const [hx, hy] = placeOf(drag.handles[drag.n]);
    drag.to = this.within([hx + x - drag.from[0], hy + y - drag.from[1]]);
    this.soon(() => {
      if (this.#drag?.to)
        this.send({ type: "draft", correction: this.#made(this.#drag).correction });
    });
  }
  up() {
    clearTimeout(this.#timer);
    const drag = this.#drag,
      { shape, handles, n, added, to } = drag ?? {};
    this.#drag = null;
    if (!drag) return;
    this.#chosen = to ?? placeOf(handles[n]);
    if (to) this.#change(shape, placesOf(handles).with(n, to), this.#made(drag));
    else {
      if (added) this.#kept.set(shape.of, placesOf(handles));
      this.#tell(handles, n);
    }
  }
  cancel() {
    clearTimeout(this.#timer);
    this.#drag = null;
  }

  #made({ shape, handles, n, to }) {
    const stroke = new Stroke(shape.correction);
    sweep(stroke, loopOf(handles, n, to));
    return stroke;
  }
  // change ends a change of the mask. Undone, it has the handles of before.
  #change(shape, places, { correction }) {
    this.#kept.set(shape.of, placesOf(shape.handles));
    this.#kept.set(
      correction,
      places.map(([x, y]) => [x, y]),
    );
    this.send({ type: "stroke", correction });
  }
  #tell(handles, n) {
    this.send({ type: "set", status: t("Handle {n} of {all}", { n: n + 1, all: handles.length }) });
  }

  // remove deletes the chosen handle. One that was just added leaves the outline as it is.
  remove() {
    const {
        shape,
        shown: { chosen: n },
      } = this,
      handles = shape?.handles,
      stroke = shape && new Stroke(shape.correction);
    if (!handles?.[n]) return this.send({ type: "set", status: "Press a handle first." });
    if (!handles[n].added) sweep(stroke, loopOf(handles, n));
    const places = placesOf(handles.toSpliced(n, 1));
    this.#chosen = null;
    if (stroke.drawn) this.#change(shape, places, stroke);
    else this.#kept.set(shape.of, places);
    this.send({ type: "set", status: "The handle is deleted." });
  }

  // key handles a key, and returns whether it did, or the place of a handle that it chose.
  key({ key }) {
    if (key === "Delete" || key === "Backspace") this.remove();
    else if (key !== "," && key !== ".") return false;
    else if (this.shape?.handles.length && !this.#drag) {
      const {
          shown: { chosen },
          shape: { handles },
        } = this,
        n =
          key === "." ? (chosen + 1) % handles.length : (Math.max(0, chosen) || handles.length) - 1;
      this.#chosen = placeOf(handles[n]);
      this.#tell(handles, n);
      return this.#chosen;
    }
    return true;
  }
}
