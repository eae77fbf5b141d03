// The course of the vertical ratio over the lines of the list, such as the visits of a person.
import { AGAIN, PAIRS } from "./compare.js";
import { $, element, svg } from "../page/dom.js";
import { shownLines } from "./worklist.js";
import { isolated, number, t } from "../words/words.js";

// courseOf are the ratios of lines, { name, eye, value, low, high, size }, in their order, and how
// many are left out since they are not to be used.
export function courseOf(lines) {
  const all = lines
    .filter(
      ({ result }) => result?.found && (result.measurements.verticalRatio?.value ?? null) !== null,
    )
    .map(({ picture, result: { measurements, width, height } }) => ({
      name: picture.name,
      eye: measurements.eye?.side ?? "",
      ...measurements.verticalRatio,
      size: `${width} × ${height}`,
    }));
  const points = all.filter(({ trust }) => trust?.word !== "do not use");
  return { points, left: all.length - points.length };
}

const WIDTH = 250,
  TALL = 120,
  LEFT = 24; // of the plot's units, about CSS pixels
const MARKS = { right: "●", left: "○", "": "◆" };

// drawCourse draws the plot of the lines that the list shows.
export function drawCourse({ worklist }) {
  const { points, left } = courseOf(shownLines(worklist));
  const x = (i) => LEFT + 8 + ((WIDTH - LEFT - 16) * i) / (points.length - 1),
    y = (ratio) => TALL - 6 - (TALL - 12) * ratio;
  const eyes = [...new Set(points.map(({ eye }) => eye))];
  const line = (className, x1, y1, x2, y2) => svg("line", { class: className, x1, y1, x2, y2 });
  const parts = [0, 0.5, 1].flatMap((tick) => [
    line("tick", LEFT, y(tick), WIDTH, y(tick)),
    svg("text", { x: LEFT - 4, y: y(tick) + 4 }, number(tick, 1)),
  ]);
  for (const eye of eyes) {
    const own = [...points.entries()].filter(([, one]) => one.eye === eye),
      [[, first]] = own;
    parts.push(
      svg("rect", {
        class: "again",
        x: LEFT,
        width: WIDTH - LEFT,
        y: y(Math.min(1, first.value + AGAIN)),
        height: y(Math.max(0, first.value - AGAIN)) - y(Math.min(1, first.value + AGAIN)),
      }),
      svg("polyline", { points: own.map(([i, { value }]) => `${x(i)},${y(value)}`).join(" ") }),
      ...own.flatMap(([i, { name, value, low, high }]) => [
        ...(low === null ? [] : [line("raters", x(i), y(low), x(i), y(high))]),
        svg(
          "circle",
          { class: eye || "unknown", cx: x(i), cy: y(value), r: 3.5 },
          svg("title", {}, `${isolated(name)}: ${number(value, 2)}`),
        ),
      ]),
    );
  }
  const said = points.map(({ name, value }) => `${isolated(name)}: ${number(value, 2)}`).join("; ");
  const notes = [
    ...eyes.map((eye) => `${MARKS[eye]} ${eye ? t(`${eye} eye`) : t("which eye?")};`),
    t(
      "The band is {again} around the first: two photographs of one eye differ by so much (95 of 100 of {n} pairs).",
      { again: `±${number(AGAIN, 2)}`, n: PAIRS },
    ),
    ...(new Set(points.map(({ size }) => size)).size > 1
      ? [t("The photographs differ in size, so perhaps in camera.")]
      : []),
    ...(left
      ? [
          t(
            {
              one: "{n} ratio is not to be used, and left out.",
              other: "{n} ratios are not to be used, and left out.",
            },
            { n: left },
          ),
        ]
      : []),
  ];
  $("work-course").lastElementChild.replaceChildren(
    svg("svg", { viewBox: `0 0 ${WIDTH} ${TALL}`, role: "img", "aria-label": said }, ...parts),
    element("p", { className: "quiet" }, notes.join(" ")),
  );
}
