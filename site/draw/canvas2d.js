// What the stage draws with the browser's own canvas: always the lines over the photograph, and the
// photograph and the map if WebGL does not draw them. Coordinates are photograph pixels.
import { css } from "./colours.js";

// Sheet is a transparent canvas over the whole stage. After changes it draws itself once, in the
// next frame.
class Sheet {
  #due = false;
  #view = null;

  // element: the stage. place: "append" or "prepend", above or below the other canvases.
  constructor(element, place) {
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("aria-hidden", "true");
    element[place](this.canvas);
    this.context = this.canvas.getContext("2d");
  }
  remove() {
    this.canvas.remove();
  }

  // view puts photograph pixel p at (x + p·scale), CSS pixels from the stage's corner.
  view(scale, x, y) {
    this.#view = { scale, x, y };
    this.ask();
  }

  ask() {
    if (this.#due) return;
    this.#due = true;
    requestAnimationFrame(() => {
      this.#due = false;
      this.#draw();
    });
  }
  #draw() {
    if (!this.#view || !this.canvas.isConnected) return;
    const { clientWidth, clientHeight } = this.canvas.parentElement,
      c = this.context,
      density = devicePixelRatio || 1;
    const { scale, x, y } = this.#view,
      width = Math.round(clientWidth * density),
      height = Math.round(clientHeight * density);
    if (this.canvas.width !== width || this.canvas.height !== height)
      Object.assign(this.canvas, { width, height });
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.clearRect(0, 0, width, height);
    const k = scale * density;
    c.setTransform(k, 0, 0, k, x * density, y * density);
    this.paint(c, scale, density);
  }
}

// Pictures draws photograph and map without WebGL. It has the methods of viewer.wasm
// (wasm/viewer/main.go).
export class Pictures extends Sheet {
  #photo = null;
  #overlay = null;
  #opacity = 0.45;

  image(...of) {
    this.#photo = picture(...of);
    this.ask();
  }
  overlay(...of) {
    this.#overlay = picture(...of);
    this.ask();
  }
  opacity(value) {
    this.#opacity = value;
    this.ask();
  }

  paint(c, scale, density) {
    drawPicture(c, this.#photo, 1, scale * density < 6); // shows pixels as they are
    drawPicture(c, this.#overlay, this.#opacity);
  }
}

// Lines draws the contours and the square of the region.
export class Lines extends Sheet {
  #contours = [];
  #region = null;
  #cursor = null;
  #ruler = null;

  // contours sets all lines, bottom first: [{ points, starts, colour, width, dash, band }], as in
  // wasm/overlay; width and dash are CSS pixels, no dash is 0. A band is filled.
  contours(list) {
    this.#contours = list.map((line) => ({ ...line, path: pathOf(line) }));
    this.ask();
  }
  // region sets the square, or removes it if there are no arguments. active: the square is being
  // placed by hand.
  region(x, y, side, active) {
    this.#region = side ? { x, y, side, active } : null;
    this.ask();
  }

  // ruler sets the measured line, { from, to }, each [x, y], or null.
  ruler(line) {
    this.#ruler = line;
    this.ask();
  }
  // cursor sets the pen: at [x, y] or null, its radius, points, the number of the chosen one, and a
  // line; null: no pen.
  cursor(pen) {
    this.#cursor = pen;
    this.ask();
  }

  paint(c, scale) {
    const unit = 1 / scale,
      draw = (...of) => stroke(c, unit, ...of);
    for (const line of this.#contours) drawLine(c, unit, line.path, line);
    if (this.#ruler) this.#measure(scale, draw);
    if (this.#cursor) this.#pen(c, scale, draw);
    if (!this.#region) return;
    const { x, y, side, active } = this.#region,
      square = new Path2D();
    square.rect(x, y, side, side);
    if (active) {
      // dims everything around the square
      const outside = new Path2D(square),
        { a, e, f } = c.getTransform();
      outside.rect(-e / a, -f / a, this.canvas.width / a, this.canvas.height / a);
      c.fillStyle = "rgb(0 0 0 / .5)";
      c.fill(outside, "evenodd");
    }
    draw(square, "rgb(0 0 0 / .35)", 2.5);
    draw(square, `rgb(255 255 255 / ${active ? 1 : 0.6})`, 1);
    for (const cx of active ? [x, x + side] : [])
      for (const cy of [y, y + side]) handle(c, cx, cy, 5 * unit);
  }

  #measure(scale, draw) {
    // a line with a bar across each end
    const { from, to } = this.#ruler,
      line = new Path2D(),
      [dx, dy] = [to[0] - from[0], to[1] - from[1]],
      length = Math.hypot(dx, dy) || 1;
    const [ax, ay] = [((-dy / length) * 7) / scale, ((dx / length) * 7) / scale];
    line.moveTo(...from);
    line.lineTo(...to);
    for (const [x, y] of [from, to]) {
      line.moveTo(x - ax, y - ay);
      line.lineTo(x + ax, y + ay);
    }
    draw(line, "rgb(0 0 0 / .7)", 4);
    draw(line, "#fff", 1.75);
  }
  #pen(c, scale, draw) {
    const { at, radius, points, chosen, line } = this.#cursor,
      figure = new Path2D(),
      round = new Path2D();
    line.forEach(([x, y], i) => figure[i ? "lineTo" : "moveTo"](x, y));
    if (at) {
      const [x, y] = at,
        r = Math.max(radius, 3 / scale),
        arm = 7 / scale;
      if (radius) round.arc(x, y, r, 0, 2 * Math.PI);
      if (radius < arm)
        for (const [dx, dy] of [
          [arm, 0],
          [0, arm],
        ]) {
          round.moveTo(x - dx, y - dy);
          round.lineTo(x + dx, y + dy);
        }
    }
    for (const [style, width] of [
      ["rgb(0 0 0 / .7)", 3],
      ["#fff", 1.25],
    ])
      for (const path of [figure, round]) draw(path, style, width);
    points.forEach(([x, y], i) => handle(c, x, y, (i === chosen ? 6 : 3.5) / scale));
  }
}

// handle draws a corner by which the square is pulled.
function handle(c, x, y, half) {
  for (const [style, h] of [
    ["rgb(0 0 0 / .6)", 1.2 * half],
    ["#fff", half],
  ]) {
    c.fillStyle = style;
    c.fillRect(x - h, y - h, 2 * h, 2 * h);
  }
}

// stroke draws a path. Its width and dashes are in a unit.
export function stroke(c, unit, path, strokeStyle, width, dash = []) {
  Object.assign(c, { strokeStyle, lineWidth: width * unit, lineJoin: "round" });
  c.setLineDash(dash.map((length) => length * unit));
  c.stroke(path);
}
// drawLine draws a contour (layers.js), with a border that shows it on any photograph. A band is
// tinted between its lines.
export function drawLine(c, unit, path, { colour, width, dash, band }) {
  if (band) {
    Object.assign(c, { globalAlpha: 0.2, fillStyle: css(colour) });
    c.fill(path, "evenodd");
    c.globalAlpha = 1;
  }
  const dashes = dash ? [dash, 0.7 * dash] : [];
  stroke(c, unit, path, "rgb(0 0 0 / .6)", width + 2, dashes);
  stroke(c, unit, path, css(colour), width, dashes);
}

// drawPicture draws a picture, or nothing of null.
export function drawPicture(c, picture, globalAlpha = 1, imageSmoothingEnabled = true) {
  if (!picture) return;
  const { bitmap, x, y, width, height } = picture;
  Object.assign(c, { globalAlpha, imageSmoothingEnabled, imageSmoothingQuality: "high" });
  c.drawImage(bitmap, x, y, width, height);
  c.globalAlpha = 1;
}

// pathOf is a contour's closed lines.
export function pathOf({ points, starts }) {
  const path = new Path2D();
  starts.forEach((start, i) => {
    const end = i + 1 < starts.length ? starts[i + 1] : points.length / 2;
    for (let p = start; p < end; p++)
      path[p === start ? "moveTo" : "lineTo"](points[2 * p], points[2 * p + 1]);
    path.closePath();
  });
  return path;
}

// pictureOf is the picture of an image, or of a map over a part of one.
export const pictureOf = ({ x = 0, y = 0, ...of }) =>
  picture(
    x,
    y,
    of.drawnWidth ?? of.width,
    of.drawnHeight ?? of.height,
    of.pixelsWide,
    of.pixelsHigh,
    of.rgba,
  );
// picture is premultiplied pixels over a rectangle of the photograph; without arguments, none.
function picture(x, y, width, height, pixelsWide, pixelsHigh, rgba) {
  if (!width) return null;
  const bitmap = new OffscreenCanvas(pixelsWide, pixelsHigh),
    straight = new Uint8ClampedArray(rgba);
  for (let i = 0; i < straight.length; i += 4) {
    // as ImageData has it
    const a = straight[i + 3];
    if (a && a < 255) for (let c = i; c < i + 3; c++) straight[c] = (straight[c] * 255) / a;
  }
  bitmap.getContext("2d").putImageData(new ImageData(straight, pixelsWide, pixelsHigh), 0, 0);
  return { x, y, width, height, bitmap };
}
