// The strip of a series: a bar for each slice and structure, as high as its area. Bars of slices
// that a person accepted are full, all others hollow; a slice that is not computed has a hollow
// bar, and a rejected one a red bar. A mark above says that a person corrected it, and a hollow
// one that it was filled in. The chosen slice is in a frame.
import { css, structure } from "../draw/colours.js";
import { svg } from "../page/dom.js";
import { handOf } from "../review/worklist.js";

const HIGH = 100, // of the drawing; a slice is 1 wide
  TOP = 14, // above the bars
  SHORT = 6;

// areasOf are the areas of a line's structures in pixels, or none.
export const areasOf = ({ result }) =>
  (result?.measurements.structures ?? []).map(({ area }) => area);

// stripOf draws a list.
export function stripOf({ lines, at }) {
  const n = lines.length,
    most = Math.max(1, ...lines.flatMap(areasOf)),
    drawing = svg("svg", {
      viewBox: `0 0 ${n} ${HIGH}`,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    }),
    wide = n > 100 ? 1 : 0.8,
    bar = (i, y, height, className, more) =>
      drawing.append(
        svg("rect", { x: i + (1 - wide) / 2, y, width: wide, height, class: className, ...more }),
      );
  for (const [i, line] of lines.entries()) {
    const { review, key } = line,
      areas = areasOf(line),
      hand = handOf(line);
    if (key === at) bar(i, 0, HIGH, "at");
    const bars = areas.map((area, c) => ({ area, c })).sort((a, b) => b.area - a.area);
    for (const { area, c } of bars) {
      const height = ((HIGH - TOP) * area) / most,
        full = review === "accepted" ? "full" : "hollow";
      if (area)
        bar(i, HIGH - height, height, full, { fill: css(structure(c)), stroke: css(structure(c)) });
    }
    if (review === "rejected") bar(i, HIGH - SHORT, SHORT, "rejected");
    else if (!areas.length) bar(i, HIGH - SHORT, SHORT, "none");
    if (hand) bar(i, 2, 7, hand === "corrected" ? "hand" : "filled");
  }
  return drawing;
}
