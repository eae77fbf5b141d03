// The square of the region while it is placed by hand. It sends what shall change of it.
import { sideWithin } from "../page/state.js";
import { Tool } from "./tool.js";

const REACH = 14; // CSS pixels within which a press grips a corner

export class Square extends Tool {
  #grip = null;

  #move(change) {
    this.send({ type: "move", change });
  }
  #side(side) {
    return sideWithin(side, this.state().image);
  }

  // down grips a corner, the square or a new square.
  down(x, y) {
    const p = this.state().placing,
      sides = [0, p.side],
      corner = sides
        .flatMap((dx) => sides.map((dy) => [dx, dy]))
        .find(([dx, dy]) => Math.hypot(x - p.x - dx, y - p.y - dy) < REACH / this.stage.scale);
    if (corner) this.#grip = { anchor: [p.x + p.side - corner[0], p.y + p.side - corner[1]] };
    else if (x > p.x && x < p.x + p.side && y > p.y && y < p.y + p.side)
      this.#grip = { offset: [x - p.x, y - p.y] };
    else this.#grip = { anchor: [x, y] };
  }
  move(x, y) {
    const { offset, anchor } = this.#grip;
    if (offset) return this.#move({ x: x - offset[0], y: y - offset[1] });
    const [ax, ay] = anchor,
      side = this.#side(Math.max(Math.abs(x - ax), Math.abs(y - ay)));
    this.#move({ side, x: x < ax ? ax - side : ax, y: y < ay ? ay - side : ay });
  }
  up() {}

  // key handles a key of the stage, and returns whether it did.
  key(event) {
    const { key } = event,
      p = this.state().placing,
      place = this.nudged([p.x, p.y], event);
    if (place) this.#move({ x: place[0], y: place[1] });
    else if ("+=-_".includes(key)) {
      const by = ("+=".includes(key) ? 1 : -1) * Math.max(2, Math.round(p.side / 64) * 2),
        side = this.#side(p.side + by),
        half = (side - p.side) / 2;
      this.#move({ side, x: p.x - half, y: p.y - half });
    } else if (key === "Enter") this.send({ type: "apply" });
    else if (key === "Escape") this.send({ type: "leave" });
    else return false;
    return true;
  }
}
