// The rim between cup and disc by the hour of a clock face, as a small plot: the disc is a circle, the
// cup a polygon in it. Laterality is not known: there is no nasal or temporal side.
import { css, structure } from "./colours.js";

const HOURS = 12, RADIUS = 50;

const svg = (tag, attributes, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};
export const clock = (hour) => (hour === 0 ? HOURS : hour);

// narrowest is the hour of the narrowest rim.
export const narrowest = (rim) => rim.indexOf(Math.min(...rim));

// rimPlot draws the rim, in pixels, of a disc of a diameter. text describes it for people who do not
// see it. [outer, inner] are the structures' numbers.
export function rimPlot(rim, diameter, text, [outer, inner]) {
  const point = (hour, r) => { const a = hour * 2 * Math.PI / HOURS; return `${(r * Math.sin(a)).toFixed(1)} ${(-r * Math.cos(a)).toFixed(1)}`; };
  const cup = rim.map((width, hour) => point(hour, RADIUS * Math.min(1.2, Math.max(0, 1 - 2 * width / diameter)))), thin = narrowest(rim);
  const sector = `M0 0L${point(thin - 0.5, RADIUS)}A${RADIUS} ${RADIUS} 0 0 1 ${point(thin + 0.5, RADIUS)}Z`;
  const labels = rim.map((_, hour) => {
    const [x, y] = point(hour, RADIUS + 10).split(" ");
    return svg("text", { x, y: Number(y) + 3.2, class: hour === thin ? "thin" : hour % 3 ? "minor" : "" }, String(clock(hour)));
  });
  return svg("svg", { viewBox: "-66 -66 132 132", class: "rim", role: "img", "aria-label": text },
    svg("circle", { r: RADIUS, class: "disc", fill: css(structure(outer)) }), svg("path", { d: sector, class: "thin" }),
    svg("path", { d: `M${cup.join("L")}Z`, class: "cup" }), svg("path", { d: `M${cup.join("L")}Z`, class: "line", stroke: css(structure(inner)) }),
    svg("circle", { r: RADIUS, class: "line", stroke: css(structure(outer)) }), ...labels);
}
