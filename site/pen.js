// The pen: what pointer and keys draw while a mask is corrected. The stage calls it with photograph
// pixels; it sends drafts and strokes, and shows its cursor on the stage.
import { Stroke, at, blank, borderNear, pieceAt, sameMask } from "./correct.js";
import { baseView } from "./layers.js";
import { maskOf } from "./masks.js";

export class Pen {
  #state; #send; #stage; #stroke = null; #last = null; #value = 0; #radius = 0; #cursor = null; #points = []; #due = false; #held = false;

  // state gives the page's state; send takes an event.
  constructor(state, send, stage) { this.#state = state; this.#send = send; this.#stage = stage; }

  #editing() { return this.#state().editing; }
  #correction() {
    const s = this.#state();
    return s.corrections.find((c) => sameMask(c, s.editing)) ?? blank(s.editing.rater, s.editing.class, s.image);
  }
  #base() { const s = this.#state(); return s.views[baseView(s.result, s.editing).key]; }

  down(x, y) {
    this.#put(x, y);
    const { tool, size, cut } = this.#editing(), base = this.#base();
    if (!base && (tool === "push" || tool === "fill")) return; // the mask has not come yet
    if (tool === "polygon") { this.#points = [...this.#points, [x, y]]; return this.#show(); }
    const correction = this.#correction(), window = base && maskOf(this.#state(), correction), px = Math.floor(x), py = Math.floor(y);
    if (tool === "fill") return this.#fill(window, px, py, cut);
    this.#value = (tool === "push" ? at(window, px, py) : tool === "brush") ? 255 : 0;
    // The push tool starts as a disc that just touches the border, and moves it from there.
    this.#radius = tool === "push" ? Math.max(1, borderNear(window, px, py, size / 2) - 1) : size / 2;
    this.#stroke = new Stroke(this.#correction());
    this.#last = [x, y];
    if (tool !== "push") this.#stroke.disc(x, y, this.#radius, this.#value);
    this.#draft();
  }
  move(x, y) {
    this.#put(x, y);
    if (!this.#stroke) return;
    this.#stroke.line(this.#last, [x, y], this.#radius, this.#value);
    this.#last = [x, y];
    this.#draft();
  }
  up() {
    const stroke = this.#stroke;
    this.#stroke = null;
    if (stroke?.drawn) this.#send({ type: "stroke", correction: stroke.correction });
  }
  // cancel removes an unfinished stroke, when a second finger comes or the mode ends.
  cancel() {
    this.#stroke = null;
    this.#held = false;
    this.#send({ type: "undraft" });
  }
  hover(x, y) { this.#put(x, y); }
  // forget drops the unfinished stroke and polygon; leave also removes the cursor.
  forget() { this.cancel(); this.#points = []; this.#show(); }
  leave() { this.forget(); this.#cursor = null; this.#stage.set("cursor", null); }

  // close draws the polygon.
  close() {
    const points = this.#points.filter(([x, y], i, all) => !i || Math.hypot(x - all[i - 1][0], y - all[i - 1][1]) > 0.5);
    this.#points = [];
    if (points.length > 2) {
      const stroke = new Stroke(this.#correction());
      stroke.polygon(points, this.#editing().cut ? 0 : 255);
      if (stroke.drawn) this.#send({ type: "stroke", correction: stroke.correction });
    }
    this.#show();
  }
  #fill(window, x, y, cut) {
    const pixels = at(window, x, y) === Boolean(cut) ? pieceAt(window, x, y) : null;
    if (!pixels) {
      const message = cut ? "There is nothing to remove at that point." : "That area is not closed.";
      return this.#send({ type: "note", message, next: cut ? "Choose a point inside the outline." : "Choose a hole within the outline, or close it with the brush first." });
    }
    const stroke = new Stroke(this.#correction());
    for (const [px, py] of pixels) stroke.set(px, py, cut ? 0 : 255);
    this.#send({ type: "stroke", correction: stroke.correction });
  }

  // key handles a key of the stage, and returns whether it did.
  key(event) {
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }, arrow = arrows[event.key];
    const { scale } = this.#stage, [w, h] = this.#stage.size, { image } = this.#state();
    const [x, y] = this.#cursor ?? [(w / 2 - this.#stage.x) / scale, (h / 2 - this.#stage.y) / scale];
    if (arrow) {
      const step = Math.max(1, Math.round(2 / scale)) * (event.shiftKey ? 10 : 1);
      this.move(Math.min(image.width, Math.max(0, x + arrow[0] * step)), Math.min(image.height, Math.max(0, y + arrow[1] * step)));
      return true;
    }
    if (event.key === " ") {
      if (!event.repeat && !this.#held) { this.#held = true; this.down(x, y); }
      return true;
    }
    if (event.key === "[" || event.key === "]") this.resize(event.key === "]" ? 1.25 : 0.8);
    else if (event.key === "Enter" && this.#points.length) this.close();
    else if (event.key === "Escape" && this.#points.length) { this.#points = []; this.#show(); }
    else if (event.key === "Escape") this.#send({ type: "unedit" });
    else if (event.key.toLowerCase() === "r") this.#send({ type: "recalibrate" });
    else return false;
    return true;
  }
  keyUp(event) { if (event.key === " " && this.#held) { this.#held = false; this.up(); } }
  resize(factor) {
    const { size } = this.#editing(), grown = Math.round(size * factor);
    this.#send({ type: "edit", size: grown === size ? size + Math.sign(factor - 1) : grown });
    this.#show();
  }

  #put(x, y) { this.#cursor = [x, y]; this.#show(); }
  #show() {
    const { tool, size } = this.#editing() ?? {}, radius = tool === "polygon" || tool === "fill" ? 0 : this.#stroke ? this.#radius : size / 2;
    this.#stage.set("cursor", tool ? { at: this.#cursor, radius, points: this.#points } : null);
  }
  #draft() { // at most once a frame
    if (this.#due) return;
    this.#due = true;
    requestAnimationFrame(() => {
      this.#due = false;
      if (this.#stroke?.drawn) this.#send({ type: "draft", correction: this.#stroke.correction });
    });
  }
}
