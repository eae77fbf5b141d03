// The ruler measures a length, in place of the pen (pen.js). It sends the line, { from, to }.
import { Tool } from "./tool.js";

const REACH = 14; // CSS pixels within which a press grips an end

export class Ruler extends Tool {
  #held = "";
  #end = "to";

  #rule(ruler) {
    this.send({ type: "rule", ruler });
  }

  down(x, y) {
    const { ruler } = this.state(),
      near = (end) => Math.hypot(x - ruler[end][0], y - ruler[end][1]) * this.stage.scale < REACH;
    this.#held = (ruler && ["to", "from"].find(near)) || "to";
    if (ruler && near(this.#held)) return;
    this.#rule({ from: [x, y], to: [x, y] });
  }
  move(x, y) {
    this.#rule({ ...this.state().ruler, [this.#held]: [x, y] });
  }
  up() {}

  // key handles a key of the stage, and returns whether it did. Arrow keys move one end of the
  // line; space selects the other end.
  key(event) {
    const { ruler } = this.state(),
      line = ruler ?? { from: this.middle, to: this.middle },
      place = this.nudged(line[this.#end], event);
    if (event.key === "Escape") this.send({ type: "measure", on: false });
    else if (event.key === " ") this.#end = this.#end === "to" ? "from" : "to";
    else if (place) this.#rule({ ...line, [this.#end]: this.within(place) });
    else return false;
    return true;
  }
}
