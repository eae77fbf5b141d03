// Canvas2D draws the stage without WebGL. It has the methods of viewer.wasm (wasm/viewer/api.go).
export class Canvas2D {
  #photo = null; #overlay = null; #opacity = 0.45; #contours = []; #region = null; #view = null; #due = false;

  constructor(element) {
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("aria-hidden", "true");
    element.append(this.canvas);
    this.context = this.canvas.getContext("2d");
  }
  remove() { this.canvas.remove(); }

  image(width, height, pixelsWide, pixelsHigh, rgba) {
    this.#overlay = null; this.#contours = []; this.#region = null;
    this.#photo = width ? { x: 0, y: 0, width, height, bitmap: bitmap(pixelsWide, pixelsHigh, rgba) } : null;
    this.#ask();
  }
  overlay(x, y, width, height, pixelsWide, pixelsHigh, rgba) {
    this.#overlay = width ? { x, y, width, height, bitmap: bitmap(pixelsWide, pixelsHigh, straight(rgba)) } : null;
    this.#ask();
  }
  opacity(value) { this.#opacity = value; this.#ask(); }
  contours(list) {
    this.#contours = list.map(({ points, starts, colour, width, dash }) => {
      const path = new Path2D();
      starts.forEach((start, i) => {
        const end = i + 1 < starts.length ? starts[i + 1] : points.length / 2;
        for (let p = start; p < end; p++) path[p === start ? "moveTo" : "lineTo"](points[2 * p], points[2 * p + 1]);
        path.closePath();
      });
      return { path, colour: `rgb(${colour.join()})`, width, dash };
    });
    this.#ask();
  }
  region(x, y, side, active) { this.#region = side ? { x, y, side, active } : null; this.#ask(); }
  view(scale, x, y) { this.#view = { scale, x, y }; this.#ask(); }

  #ask() {
    if (this.#due) return;
    this.#due = true;
    requestAnimationFrame(() => { this.#due = false; this.#draw(); });
  }
  #draw() {
    if (!this.#view || !this.canvas.isConnected) return;
    const { clientWidth, clientHeight } = this.canvas.parentElement, c = this.context, density = devicePixelRatio || 1;
    const v = { ...this.#view, width: clientWidth, height: clientHeight };
    const width = Math.round(v.width * density), height = Math.round(v.height * density);
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.clearRect(0, 0, width, height);
    if (!this.#photo) return;
    const k = v.scale * density;
    c.setTransform(k, 0, 0, k, v.x * density, v.y * density);
    for (const [picture, opacity] of [[this.#photo, 1], [this.#overlay, this.#opacity]]) {
      if (!picture) continue;
      c.globalAlpha = opacity;
      c.imageSmoothingEnabled = picture !== this.#photo || k < 6;
      c.imageSmoothingQuality = "high";
      c.drawImage(picture.bitmap, picture.x, picture.y, picture.width, picture.height);
    }
    c.globalAlpha = 1;
    for (const line of this.#contours) {
      c.lineJoin = "round";
      const dash = line.dash ? [line.dash / v.scale, 0.7 * line.dash / v.scale] : [];
      this.#stroke(line.path, "rgb(0 0 0 / .6)", (line.width + 2) / v.scale, dash);
      this.#stroke(line.path, line.colour, line.width / v.scale, dash);
    }
    if (this.#region) this.#drawRegion(v);
  }
  #stroke(path, style, width, dash) {
    const c = this.context;
    c.strokeStyle = style; c.lineWidth = width; c.setLineDash(dash);
    c.stroke(path);
  }
  #drawRegion(v) {
    const c = this.context, { x, y, side, active } = this.#region, square = new Path2D();
    square.rect(x, y, side, side);
    if (active) {
      const outside = new Path2D();
      outside.rect(-v.x / v.scale, -v.y / v.scale, v.width / v.scale, v.height / v.scale);
      outside.addPath(square);
      c.fillStyle = "rgb(0 0 0 / .5)";
      c.fill(outside, "evenodd");
    }
    this.#stroke(square, "rgb(0 0 0 / .35)", 2.5 / v.scale, []);
    this.#stroke(square, `rgb(255 255 255 / ${active ? 1 : 0.6})`, 1 / v.scale, []);
    if (!active) return;
    const half = 5 / v.scale;
    c.fillStyle = "#fff";
    for (const [cx, cy] of [[x, y], [x + side, y], [x, y + side], [x + side, y + side]]) c.fillRect(cx - half, cy - half, 2 * half, 2 * half);
  }
}

function bitmap(width, height, rgba) {
  const canvas = new OffscreenCanvas(width, height);
  canvas.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(rgba.buffer, rgba.byteOffset, rgba.byteLength), width, height), 0, 0);
  return canvas;
}

// straight undoes the premultiplication of the maps' colours, which ImageData does not have.
function straight(rgba) {
  const out = new Uint8ClampedArray(rgba);
  for (let i = 0; i < out.length; i += 4) {
    const a = out[i + 3];
    if (a) for (let c = 0; c < 3; c++) out[i + c] = out[i + c] * 255 / a;
  }
  return out;
}
