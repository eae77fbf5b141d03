// What a person works with on the stage: the pen, the ruler, or the square of the region. The stage
// calls it with photograph pixels.
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// arrowOf is how far an arrow key moves something, [x, y], or undefined. Shift moves it further.
export const arrowOf = ({ key, shiftKey }) => ARROWS[key]?.map((by) => by * (shiftKey ? 10 : 1));

export class Tool {
  #due = null; // what the next frame does
  // state gives the page's state; send takes an event.
  constructor(state, send, stage) {
    Object.assign(this, { state, send, stage });
  }
  hover() {}
  close() {}
  cancel() {} // a second finger came
  leave() {}
  keyUp() {}

  note(message, next) {
    this.send({ type: "note", message, next, of: "pen" });
  }
  // soon does something in the next frame, once.
  soon(act) {
    if (!this.#due)
      requestAnimationFrame(() => {
        const act = this.#due;
        this.#due = null;
        act();
      });
    this.#due = act;
  }

  // middle is the place in the middle of the stage.
  get middle() {
    const { x, y, scale, size } = this.stage;
    return [(size[0] / 2 - x) / scale, (size[1] / 2 - y) / scale];
  }
  // within is a place on the photograph.
  within([x, y]) {
    const { width, height } = this.state().image;
    return [Math.min(width, Math.max(0, x)), Math.min(height, Math.max(0, y))];
  }
  // nudged is a place after an arrow key, or undefined.
  nudged([x, y], event) {
    const arrow = arrowOf(event),
      step = Math.max(1, Math.round(2 / this.stage.scale));
    return arrow && [x + step * arrow[0], y + step * arrow[1]];
  }
}
