// The pen: what pointer and keys draw while a mask is corrected. It sends drafts and strokes, and
// shows its cursor on the stage.
import { Stroke, at, blank, borderNear, pieceAt, sameMask } from "./correct.js";
import { maskOf } from "./masks.js";
import { Tool } from "./tool.js";
import { t } from "../words/words.js";

const STEPS = 240; // corners of an ellipse
const LEAST = { polygon: 3, ellipse: 5 }; // the points that a figure needs

export class Pen extends Tool {
  #stroke = null;
  #last = null;
  #value = 0;
  #radius = 0;
  #cursor = null;
  #held = false;
  #points = [];
  #before = [];
  #grip = -1; // of the figure, those before the press, and which one is held
  handles = null; // handles.js, once it is loaded

  #editing() {
    return this.state().editing;
  }
  get #handles() {
    return this.#editing()?.tool === "handles" ? this.handles : null;
  }
  #correction() {
    const s = this.state();
    return (
      s.corrections.find((c) => sameMask(c, s.editing)) ??
      blank(s.editing.rater, s.editing.class, s.image)
    );
  }
  #window() {
    return maskOf(this.state(), this.#correction());
  } // null: the mask has not come yet

  // down is a press; by is its event, if it has one.
  down(x, y, by) {
    this.#last = [x, y];
    this.#put(x, y);
    const { tool, size, how } = this.#editing(),
      window = this.#window();
    if (tool === "handles") {
      this.#handles?.down(x, y, by?.pointerType === "touch");
      return this.show();
    }
    if (tool in LEAST) return this.#pick(x, y, by?.pointerType === "touch" ? 22 : 9);
    if (!window && (tool === "push" || tool === "fill")) return; // the mask has not come yet
    const px = Math.floor(x),
      py = Math.floor(y);
    if (tool === "fill") return this.#fill(window, px, py, how === "remove");
    this.#value = (tool === "push" ? at(window, px, py) : tool === "brush") ? 255 : 0;
    // The push tool starts as a disc that just touches the border, and moves it from there.
    this.#radius =
      tool === "push" ? Math.max(1, borderNear(window, px, py, size / 2) - 1) : this.#wide(by);
    this.#last = [x, y, this.#radius];
    this.#stroke = new Stroke(this.#correction());
    if (tool !== "push") this.#stroke.line(this.#last, this.#last, this.#value);
    this.#draft();
  }
  // wide is half the width of a line: the size, for a pen at half of its pressure.
  #wide(by) {
    return (this.#editing().size / 2) * (by?.pointerType === "pen" ? 2 * by.pressure : 1);
  }
  move(x, y, by) {
    const still =
      this.#points === this.#before &&
      this.#distance(this.#last, [x, y]) < (by?.pointerType === "touch" ? 8 : 3);
    if (this.#grip >= 0 && !still) this.#points = this.#points.toSpliced(this.#grip, 1, [x, y]);
    if (this.#stroke && this.#editing().tool !== "push") this.#radius = this.#wide(by);
    this.#handles?.move(x, y);
    this.#put(x, y);
    if (!this.#stroke) return;
    const now = [x, y, this.#radius];
    this.#stroke.line(this.#last, now, this.#value);
    this.#last = now;
    this.#draft();
  }
  up() {
    this.#handles?.up();
    if (this.#grip >= 0) return this.#let();
    const stroke = this.#stroke;
    this.#stroke = null;
    if (stroke?.drawn) this.send({ type: "stroke", correction: stroke.correction });
  }
  // cancel removes an unfinished stroke or point, when a second finger comes or the mode ends.
  cancel() {
    this.#stroke = null;
    if (this.#grip >= 0) this.#points = this.#before;
    this.#grip = -1;
    this.#held = false;
    this.handles?.cancel();
    this.send({ type: "undraft" });
    this.show();
  }
  hover(x, y) {
    this.#put(x, y);
  }
  // forget drops the unfinished stroke and polygon; leave also removes the cursor.
  forget() {
    this.cancel();
    this.#points = [];
    this.show();
  }
  leave() {
    this.forget();
    this.#cursor = null;
    this.stage.set("cursor", null);
  }

  #distance([ax, ay], [bx, by]) {
    return Math.hypot(ax - bx, ay - by) * this.stage.scale;
  } // CSS pixels
  // pick takes hold of a point within reach, or of a new one. An ellipse has no sixth.
  #pick(x, y, reach) {
    this.#before = this.#points;
    const gaps = this.#points.map((point) => this.#distance(point, [x, y])),
      least = Math.min(...gaps);
    const near = least < reach,
      full = this.#editing().tool === "ellipse" && gaps.length === 5;
    this.#grip = near || full ? gaps.indexOf(least) : gaps.length;
    if (!near) this.#points = this.#points.toSpliced(this.#grip, 1, [x, y]);
    this.show();
  }
  // let lets go of the point. A polygon closes with its first one, pressed and not moved; an
  // ellipse with its fifth.
  #let() {
    const closes =
      this.#editing().tool === "ellipse"
        ? this.#points.length === 5
        : this.#grip === 0 && this.#points === this.#before;
    this.#grip = -1;
    if (closes) return this.close();
    this.#tell();
  }
  #tell() {
    this.send({
      type: "set",
      status: t({ one: "{n} point", other: "{n} points" }, { n: this.#points.length }),
    });
    this.show();
  }
  // back takes the last point back.
  back() {
    this.#points = this.#points.slice(0, -1);
    this.#tell();
  }

  // close draws the figure.
  close() {
    const { tool, how } = this.#editing(),
      window = this.#window();
    if (!(this.#points.length >= LEAST[tool]) || (how === "replace" && !window)) return;
    const line = tool === "ellipse" ? ellipseOf(this.#points) : this.#points;
    if (!line)
      return this.note("The five points lie on no ellipse.", "Drag one of them, or take it back.");
    const stroke = new Stroke(this.#correction());
    if (how === "replace")
      for (let y = 0; y < window.height; y++)
        stroke.row(window.y + y, window.x, window.x + window.width, 0);
    stroke.polygon(line, how === "remove" ? 0 : 255);
    this.#points = [];
    this.show();
    if (stroke.drawn) this.send({ type: "stroke", correction: stroke.correction });
  }
  #fill(window, x, y, cut) {
    const pixels = at(window, x, y) === Boolean(cut) ? pieceAt(window, x, y) : null;
    if (!pixels)
      return cut
        ? this.note(
            "There is nothing to remove at that point.",
            "Choose a point inside the outline.",
          )
        : this.note(
            "That area is not closed.",
            "Choose a hole within the outline, or close it with the brush first.",
          );
    const stroke = new Stroke(this.#correction());
    for (const [px, py] of pixels) stroke.set(px, py, cut ? 0 : 255);
    this.send({ type: "stroke", correction: stroke.correction });
  }

  // key handles a key of the stage, and returns whether it did.
  key(event) {
    const at = this.#cursor ?? this.middle,
      place = this.nudged(at, event);
    if (place) {
      this.move(...this.within(place));
      return true;
    }
    if (event.key === " ") {
      if (!event.repeat && !this.#held) {
        this.#held = true;
        this.down(...at);
      }
      return true;
    }
    const chose = this.#handles?.key(event);
    if (chose) {
      if (chose.length) this.#cursor = chose;
      this.show();
    } else if (event.key === "[" || event.key === "]") this.resize(event.key === "]" ? 1.25 : 0.8);
    else if (event.key === "Enter" && this.#points.length) this.close();
    else if (event.key === "Backspace" && this.#points.length) this.back();
    else if (event.key === "Escape" && this.#points.length) {
      this.#points = [];
      this.show();
    } else if (event.key === "Escape") this.send({ type: "unedit" });
    else if (event.key.toLowerCase() === "r") this.send({ type: "recalibrate" });
    else return false;
    return true;
  }
  keyUp(event) {
    if (event.key === " " && this.#held) {
      this.#held = false;
      this.up();
    }
  }
  resize(factor) {
    const { size } = this.#editing(),
      grown = Math.round(size * factor);
    this.send({ type: "edit", size: grown === size ? size + Math.sign(factor - 1) : grown });
    this.show();
  }

  #put(x, y) {
    this.#cursor = [x, y];
    this.show();
  }
  // show draws the cursor, and what is held by it.
  show() {
    const { tool, size } = this.#editing() ?? {},
      radius =
        tool in LEAST || tool === "fill" || tool === "handles"
          ? 0
          : this.#stroke
            ? this.#radius
            : size / 2;
    const { points, chosen } = this.#handles?.shown ?? { points: this.#points },
      all = points.length && this.#cursor && this.#grip < 0 ? [...points, this.#cursor] : points;
    const line =
      tool === "handles"
        ? []
        : tool !== "ellipse"
          ? all
          : (all.length >= 5 && ellipseOf(all.slice(0, 5))) || [];
    this.stage.set("cursor", tool ? { at: this.#cursor, radius, points, chosen, line } : null);
  }
  #draft() {
    this.soon(() => {
      if (this.#stroke?.drawn) this.send({ type: "draft", correction: this.#stroke.correction });
    });
  }
}

// ellipseOf is the ellipse through five points [x, y]: a closed line of points, of which the first
// and the last are the same place. It is null if no ellipse passes through the five, or one that is
// much larger than they are apart.
function ellipseOf(five) {
  const [mx, my] = [0, 1].map((i) => five.reduce((sum, point) => sum + point[i], 0) / 5),
    wide = Math.max(...five.map(([x, y]) => Math.hypot(x - mx, y - my)));
  const [p, q, r, s, last] = five.map(([x, y]) => [(x - mx) / wide, (y - my) / wide]);
  // A pair of lines, each through two of the points, is a conic through four of them. The two pairs
  // are added so that the fifth point is on the sum, a x² + b xy + c y² + d x + e y + f = 0.
  const line = ([ax, ay], [bx, by]) => [ay - by, bx - ax, ax * by - bx * ay];
  const pair = ([a, b, c], [d, e, f]) => [
    a * d,
    a * e + b * d,
    b * e,
    a * f + c * d,
    b * f + c * e,
    c * f,
  ];
  const at = ([a, b, c, d, e, f], [x, y]) => a * x * x + b * x * y + c * y * y + d * x + e * y + f;
  const one = pair(line(p, q), line(r, s)),
    two = pair(line(p, r), line(q, s)),
    conic = one.map((v, i) => v * at(two, last) - two[i] * at(one, last));
  const [a, b, c, d, e] = conic,
    square = 4 * a * c - b * b,
    x = (b * e - 2 * c * d) / square,
    y = (b * d - 2 * a * e) / square;
  const rest = -at(conic, [x, y]) / a; // u² + b/a uv + c/a v² = rest, from the middle
  if (!(square > 0 && rest > 0)) return null;
  const slant = b / (2 * a),
    tall = Math.sqrt(rest / (c / a - slant * slant)),
    all = Array.from({ length: STEPS }, (_, i) => {
      const v = tall * Math.sin((2 * Math.PI * i) / STEPS),
        u = Math.sqrt(rest) * Math.cos((2 * Math.PI * i) / STEPS) - slant * v;
      return [x + u, y + v];
    });
  return all.some((point) => Math.hypot(...point) > 4)
    ? null
    : all.map(([x, y]) => [mx + x * wide, my + y * wide]);
}
