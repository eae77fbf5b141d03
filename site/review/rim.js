// The rim between cup and disc by the hour of a clock face, as a small plot: the disc is a circle,
// the cup a polygon in it, and the range of the rim a band. Of a known eye it names the nasal and
// the temporal side.
import { css, structure } from "../draw/colours.js";
import { svg } from "../page/dom.js";

const HOURS = 12,
  RADIUS = 50;

export const clock = (hour) => (hour === 0 ? HOURS : hour);

// rimPlot draws the rim, in pixels, of a disc of a diameter. text describes it for people who do
// not see it. [outer, inner] are the structures' numbers, thin the hour of the narrowest rim, band
// { low, high } the range of the rim, if there is one, and eye "right", "left" or "".
export function rimPlot(rim, diameter, text, [outer, inner], { thin, band, eye }) {
  const point = (hour, r) => {
    const a = (hour * 2 * Math.PI) / HOURS;
    return `${(r * Math.sin(a)).toFixed(1)} ${(-r * Math.cos(a)).toFixed(1)}`;
  };
  const border = (rim) =>
      `M${rim.map((width, hour) => point(hour, RADIUS * Math.min(1.2, Math.max(0, 1 - (2 * width) / diameter)))).join("L")}Z`,
    cup = border(rim);
  const sector = `M0 0L${point(thin - 0.5, RADIUS)}A${RADIUS} ${RADIUS} 0 0 1 ${point(thin + 0.5, RADIUS)}Z`;
  const labels = rim.map((_, hour) => {
    const [x, y] = point(hour, RADIUS + 10).split(" ");
    const side = !eye || hour % 6 !== 3 ? "" : (eye === "right") === (hour === 3) ? " N" : " T";
    return svg(
      "text",
      { x, y: Number(y) + 3.2, class: hour === thin ? "thin" : hour % 3 ? "minor" : "" },
      `${clock(hour)}${side}`,
    );
  });
  return svg(
    "svg",
    { viewBox: "-70 -66 140 132", class: "rim", role: "img", "aria-label": text },
    svg("circle", { r: RADIUS, class: "disc", fill: css(structure(outer)) }),
    svg("path", { d: sector, class: "thin" }),
    svg("path", { d: cup, class: "cup" }),
    ...(band
      ? [
          svg("path", {
            d: border(band.low) + border(band.high),
            class: "band",
            "fill-rule": "evenodd",
            fill: css(structure(inner)),
          }),
        ]
      : []),
    svg("path", { d: cup, class: "line", stroke: css(structure(inner)) }),
    svg("circle", { r: RADIUS, class: "line", stroke: css(structure(outer)) }),
    ...labels,
  );
}
