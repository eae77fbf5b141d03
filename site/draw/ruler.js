// The ruler: pointer and keys while a length is measured, in place of the pen (pen.js). The stage
// calls it with photograph pixels; it sends the line, { from, to }.
const REACH = 14; // CSS pixels within which a press grips an end

export class Ruler {
  #state;
  #send;
  #stage;
  #held = "";
  #end = "to";

  // state gives the page's state; send takes an event.
  constructor(state, send, stage) {
    this.#state = state;
    this.#send = send;
    this.#stage = stage;
  }

  #rule(ruler) {
    this.#send({ type: "rule", ruler });
  }

  down(x, y) {
    const { ruler } = this.#state(),
      near = (end) => Math.hypot(x - ruler[end][0], y - ruler[end][1]) * this.#stage.scale < REACH;
    this.#held = (ruler && ["to", "from"].find(near)) || "to";
    if (ruler && near(this.#held)) return;
    this.#rule({ from: [x, y], to: [x, y] });
  }
  move(x, y) {
    if (this.#held) this.#rule({ ...this.#state().ruler, [this.#held]: [x, y] });
  }
  up() {
    this.#held = "";
  }
  cancel() {
    this.#held = "";
  }
  hover() {}
  close() {}
  leave() {
    this.#held = "";
  }

  // key handles a key of the stage, and returns whether it did. Arrow keys move one end of the
  // line; space selects the other end.
  key(event) {
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[
      event.key
    ];
    if (event.key === "Escape") this.#send({ type: "measure", on: false });
    else if (event.key === " ") this.#end = this.#end === "to" ? "from" : "to";
    else if (arrow) this.#nudge(arrow, event);
    else return false;
    return true;
  }
  keyUp() {}
  #nudge([dx, dy], { shiftKey }) {
    const {
        scale,
        size: [w, h],
      } = this.#stage,
      { image, ruler } = this.#state(),
      step = Math.max(1, Math.round(2 / scale)) * (shiftKey ? 10 : 1);
    const middle = [(w / 2 - this.#stage.x) / scale, (h / 2 - this.#stage.y) / scale],
      line = ruler ?? { from: middle, to: middle },
      end = this.#end;
    const within = (at, length) => Math.min(length, Math.max(0, at)),
      [x, y] = line[end];
    this.#rule({
      ...line,
      [end]: [within(x + dx * step, image.width), within(y + dy * step, image.height)],
    });
  }
}
