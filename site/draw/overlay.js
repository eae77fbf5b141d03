// The photograph with what the stage shows of a result, as a PNG of the photograph's own size: map,
// outlines, and a legend in the corner in which it covers the fewest outlines.
import { drawLine, drawPicture, pathOf, pictureOf } from "./canvas2d.js";
import { bar } from "./colours.js";
import { looked } from "./look.js";
import { standing } from "./outlines.js";
import { SegmentError } from "../worker/segmenter.js";

const LINE = 1 / 900,
  TEXT = 1 / 40; // of the shorter side: a line's unit, the height of the text
const THINNEST = 0.75,
  SMALLEST = 12; // photograph pixels: a unit of lines, and the text where it fits
const FONT = 'system-ui, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';
const GLASS = "rgb(16 19 23 / .86)",
  GLASS_TEXT = "#e9ecef",
  DOUBT = "#f2b45c";

// overlayPNG resolves to the bytes of the picture of a state in which all views are there.
export async function overlayPNG(s) {
  const blob = await drawn(s)
    .convertToBlob({ type: "image/png" })
    .catch(() => {
      throw new SegmentError({
        code: "memory",
        message: "The browser cannot make a picture as large as this photograph.",
        next: "Save the outlines as SVG.",
      });
    });
  return blob.arrayBuffer();
}
// overlayPixels are the same picture's.
export function overlayPixels(s) {
  const { width, height } = s.image,
    { data } = drawn(s).getContext("2d").getImageData(0, 0, width, height);
  return { width, height, rgba: data };
}

function drawn(s) {
  const { width, height } = s.image,
    { wanted, contours, overlay } = standing(s),
    canvas = new OffscreenCanvas(width, height),
    c = canvas.getContext("2d");
  drawPicture(c, pictureOf(looked(s.image, s.look)));
  if (overlay) drawPicture(c, pictureOf(overlay), s.opacity / 100);
  for (const line of contours)
    drawLine(c, Math.max(THINNEST, LINE * Math.min(width, height)), pathOf(line), line);
  drawLegend(c, wanted, contours);
  return canvas;
}

// rowsOf are the rows of the legend, { text, colour, sign }. sign draws the key before the text in
// a box of 2 × 1 heights of the text.
function rowsOf({ why, keys, map }) {
  const line =
    ({ colours, dash, band }) =>
    (c) =>
      colours.forEach((colour, i) => {
        const piece = new Path2D(
          band ? "M0 .2h2v.6h-2z" : `M${(2 * i) / colours.length} .5h${2 / colours.length}`,
        );
        drawLine(c, 0.09, piece, { colour, width: band ? 0.75 : 2, dash: dash && 3, band });
      });
  return [
    ...(why ? [{ text: why, colour: DOUBT }] : []),
    ...keys.map((key) => ({ text: key.text, sign: line(key) })),
    ...(map ? [{ text: map.text, sign: (c) => c.drawImage(bar(map.ramp), 0, 0.15, 2, 0.7) }] : []),
  ];
}

function drawLegend(c, wanted, contours) {
  const rows = rowsOf(wanted),
    { width, height } = c.canvas;
  if (!rows.length) return;
  // In heights of the text: the box, without the margin around it.
  const at = 100; // measured at this size, since small letters are rounded
  c.font = `${at}px ${FONT}`;
  const wide =
      Math.max(...rows.map(({ text, sign }) => c.measureText(text).width / at + (sign ? 2.6 : 0))) +
      1.4,
    high = 1.5 * rows.length + 0.7,
    margin = 0.8;
  const size = Math.min(
    Math.max(SMALLEST, TEXT * Math.min(width, height)),
    width / (wide + 2 * margin),
    height / (high + 2 * margin),
  );
  const [x, y] = corner(width / size, height / size, wide, high, margin, contours, size);
  c.save();
  c.setTransform(size, 0, 0, size, x * size, y * size);
  c.fillStyle = GLASS;
  c.beginPath();
  c.roundRect(0, 0, wide, high, 0.4);
  c.fill();
  Object.assign(c, { font: `${size}px ${FONT}`, textBaseline: "middle" });
  for (const [i, { text, colour, sign }] of rows.entries()) {
    c.save();
    c.translate(0.7, 0.6 + 1.5 * i);
    sign?.(c);
    c.scale(1 / size, 1 / size);
    c.fillStyle = colour ?? GLASS_TEXT;
    c.fillText(text, sign ? 2.6 * size : 0, 0.55 * size);
    c.restore();
  }
  c.restore();
}

// corner is the place of a box in a picture, in the corner with the fewest points of contours below
// the box. Lengths are in heights of the text, of a size in pixels.
function corner(width, height, wide, high, margin, contours, size) {
  const right = width - wide - margin,
    bottom = height - high - margin;
  const covered = ([x, y]) =>
    contours.reduce((sum, { points }) => {
      for (let p = 0; p < points.length; p += 2) {
        const px = points[p] / size - x,
          py = points[p + 1] / size - y;
        if (px > -margin && py > -margin && px < wide + margin && py < high + margin) sum++;
      }
      return sum;
    }, 0);
  const places = [
    [margin, margin],
    [right, margin],
    [margin, bottom],
    [right, bottom],
  ].map((place) => ({ place, points: covered(place) }));
  return places.reduce((best, one) => (one.points < best.points ? one : best)).place;
}
