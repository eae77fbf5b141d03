// What the stage shows of a result: lines as points, and the map as a picture. Outlines of
// corrected masks are the corrected ones.
import { paint } from "./colours.js";
import { outlineOf, sameMask } from "./correct.js";
import { baseView, layers, viewsOf } from "./layers.js";
import { maskOf } from "./masks.js";

// standing is what a state shows of its result: { wanted (by layers.js), contours, overlay (the
// picture of the map, if any) }. It is null until all views have come.
export function standing(s) {
  const wanted = layers(s.result, s.choices),
    { lines, map, bases } = wanted;
  const needed = viewsOf({ ...wanted, bases: bases.filter(({ drawn }) => drawn) });
  if (Object.keys(needed).some((key) => !(key in s.views))) return null;
  return {
    wanted,
    contours: outlined(s, lines),
    get overlay() {
      return map && painted(s.views[map.view.key], map);
    },
  };
}

// painted is a view in the colours of a map. The last picture of a view is kept, since strokes do
// not change it.
const pictures = new WeakMap();
function painted(view, { ramp, gain }) {
  const known = pictures.get(view);
  if (known?.ramp === ramp && known.gain === gain) return known.picture;
  const picture = { ...view, rgba: paint(view.values, ramp, gain) };
  pictures.set(view, { ramp, gain, picture });
  return picture;
}

// outlined adds { points, starts } to lines of layers.js. The views of all lines must have come.
export const outlined = (s, lines) =>
  lines.map(({ view, edited, ...line }) => {
    const { points, starts } = (edited?.drawn && corrected(s, edited)) || s.views[view.key];
    return { ...line, points, starts };
  });

// corrected is the border of a corrected mask, or null if nothing is drawn on the mask.
const borders = new WeakMap();
function corrected(s, edited) {
  const correction = s.corrections.find((one) => sameMask(one, edited)),
    mask = correction && maskOf(s, correction);
  if (!mask) return null;
  if (!borders.has(mask))
    borders.set(mask, outlineOf(mask, s.views[baseView(s.result, edited).key]));
  return borders.get(mask);
}
