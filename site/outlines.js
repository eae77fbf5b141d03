// The lines of a result as points. What a person corrected is outlined as corrected.
import { outlineOf, sameMask } from "./correct.js";
import { maskOf } from "./state.js";

// outlined are lines, as layers.js has them, with their { points, starts }. The views of all lines
// must be there.
export const outlined = (s, lines) => lines.map(({ view, edited, ...line }) => {
  const { points, starts } = (edited?.drawn && corrected(s, edited)) || s.views[view.key];
  return { ...line, points, starts };
});

// corrected is the border of a corrected mask, or null where nothing is drawn on it.
const borders = new WeakMap();
function corrected(s, edited) {
  const correction = s.corrections.find((one) => sameMask(one, edited)), mask = correction && maskOf(s, correction);
  if (!mask) return null;
  if (!borders.has(mask)) borders.set(mask, outlineOf(mask));
  return borders.get(mask);
}
