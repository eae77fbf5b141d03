// Tests of pen.js, which TestInNode runs.
import { Pen } from "../draw/pen.js";
import { equal } from "./state_test.js";

export const tests = {
  "a finger that trembles closes a polygon by its first corner, and a mouse drags it"() {
    const draw = (pointerType) => {
      const sent = [],
        image = { width: 400, height: 300 },
        editing = { tool: "polygon", size: 8, rater: "you", class: "disc", how: "add" };
      const pen = new Pen(
        () => ({ editing, image, corrections: [], result: null, views: {} }),
        (event) => sent.push(event.type),
        { scale: 0.5, set() {} },
      );
      for (const [x, y] of [
        [100, 100],
        [200, 100],
        [150, 180],
        [104, 104],
      ]) {
        pen.down(x, y, { pointerType });
        pen.move(x + 6, y + 6, { pointerType });
        pen.up();
      }
      return sent.at(-1);
    };
    equal([draw("touch"), draw("mouse")], ["stroke", "set"], "the last event");
  },
};
