// The image stage: what is shown and where, pointer, wheel and keys. Photograph and map are drawn
// by the Ebitengine program viewer.wasm on WebGL2, or by Pictures until that has started, where
// WebGL2 is missing, and after its context was lost. Both have the methods image, overlay, opacity
// and view. The program starts once there is a photograph. Lines draws contours and region on a
// canvas above. The stage keeps everything that it shows, and can change who draws the pictures at
// any time. Events: "changed" when viewer.wasm (detail) did not come as published. "view" when the
// photograph was moved or scaled.
import { Lines, Pictures } from "./canvas2d.js";
import { arrowOf } from "./tool.js";

// NOTHING is what a stage shows without a photograph, but for the opacity of maps.
const NOTHING = {
  image: null,
  overlay: null,
  contours: [],
  region: null,
  placing: null,
  ruler: null,
  cursor: null,
};

export class Stage extends EventTarget {
  // element: the focusable element over which the photograph is drawn. viewer: whether viewer.wasm
  // may draw here; it can draw on one stage.
  constructor(element, { viewer = true } = {}) {
    super();
    Object.assign(this, { element, viewer });
    this.shown = { ...NOTHING, opacity: 0.45 };
    this.twin = null; // the stage that moves with this one, if it shows a photograph
    this.pen = null; // a tool (tool.js), which gets presses of one pointer and keys, or null
    // Photograph pixel p is at (x + p·scale), CSS pixels from the stage's corner.
    Object.assign(this, { scale: 1, x: 0, y: 0 });
    // The part that was chosen to be seen, "whole" or "region", or nothing once the user zooms or
    // pans. The next photograph is shown in the same way, with its region once that is known.
    this.follows = "whole";
    this.pointers = new Map();
    this.pictures = new Pictures(element, "prepend");
    this.lines = new Lines(element, "append");
    new ResizeObserver(() => {
      if (!this.#plain) dispatchEvent(new Event("resize")); // Ebitengine listens to it
      if (!this.shown.image) return;
      this.follows === "whole" ? this.fit() : this.#clamp();
    }).observe(element);
    this.#listen();
  }

  // set changes one thing that is shown, in photograph pixels:
  // image: { width, height, drawnWidth, drawnHeight, pixelsWide, pixelsHigh, rgba }; everything
  // else but the opacity goes
  // overlay: { x, y, width, height, pixelsWide, pixelsHigh, rgba }, premultiplied, or null
  // opacity: of the overlay, 0…1
  // contours: [{ points, starts, colour, width, dash }], bottom first
  // region: { x, y, side } or null; placing: the square while it is placed by hand, or null
  // ruler: the line that is measured, or null; cursor: the pen, as Lines draws it, or null
  // look: the image in other colours
  set(name, value) {
    const { region } = this.shown;
    if (name === "image") Object.assign(this.shown, NOTHING);
    this.shown[name === "look" ? "image" : name] = value;
    this.element.classList.toggle("placing", this.shown.placing !== null);
    if (name === "image") {
      this.#drawAll();
      this.follows ||= "whole";
      this.#follow();
      if (this.viewer) this.started ??= painted().then(() => this.#start());
    } else this.#draw({ placing: "region", look: "image" }[name] ?? name);
    if (
      name === "region" &&
      this.follows === "region" &&
      JSON.stringify(value) !== JSON.stringify(region)
    )
      this.#follow();
  }

  #draw(what) {
    const { image: i, overlay: o, opacity, contours, region, placing, ruler, cursor } = this.shown,
      square = placing ?? region;
    const numbers = {
      image: i && [0, 0, i.drawnWidth, i.drawnHeight, i.pixelsWide, i.pixelsHigh, i.rgba],
      overlay: o && [o.x, o.y, o.width, o.height, o.pixelsWide, o.pixelsHigh, o.rgba],
      opacity: [opacity],
      contours: [contours],
      ruler: [ruler],
      cursor: [cursor],
      region: square && [square.x, square.y, square.side, placing !== null],
      view: [this.scale, this.x, this.y],
    };
    for (const canvas of [this.pictures, this.lines]) canvas[what]?.(...(numbers[what] ?? []));
    if (what === "view") this.#tell("view");
  }
  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
  #drawAll() {
    for (const what of [...Object.keys(this.shown), "view"]) this.#draw(what);
  }

  get size() {
    return [this.element.clientWidth, this.element.clientHeight];
  }
  get fitScale() {
    const { image } = this.shown,
      [w, h] = this.size;
    return image ? Math.max(1e-3, Math.min((w - 24) / image.width, (h - 24) / image.height)) : 1;
  }

  fit() {
    this.follows = "whole";
    this.#follow();
  }
  #follow() {
    const { region } = this.shown;
    if (this.follows === "region" && region) this.#frame(region);
    else this.follows ? this.#whole() : this.#clamp();
  }
  #whole() {
    const { image } = this.shown,
      [w, h] = this.size;
    if (image) {
      this.scale = this.fitScale;
      this.x = (w - image.width * this.scale) / 2;
      this.y = (h - image.height * this.scale) / 2;
    }
    this.#draw("view");
  }
  // frame brings a square of the photograph into view, with a margin.
  #frame({ x, y, side }) {
    const [w, h] = this.size;
    this.scale = this.#bounded(Math.min(w, h) / (side * 1.12));
    this.x = w / 2 - (x + side / 2) * this.scale;
    this.y = h / 2 - (y + side / 2) * this.scale;
    this.#draw("view");
  }
  #bounded(scale) {
    return Math.min(64, Math.max(this.fitScale / 2, scale));
  }
  get #both() {
    return this.twin?.shown.image ? [this, this.twin] : [this];
  }
  // zoom scales by a factor about a point of the stage, CSS pixels from its corner, or its centre.
  // A twin scales by the same factor, and neither more than both can.
  zoom(factor, px = this.size[0] / 2, py = this.size[1] / 2) {
    const far = this.#both.map((one) => one.#bounded(one.scale * factor) / one.scale),
      k = factor > 1 ? Math.min(...far) : Math.max(...far);
    for (const one of this.#both) one.#scaleTo(one.scale * k, px, py);
  }
  #scaleTo(scale, px = this.size[0] / 2, py = this.size[1] / 2) {
    const k = scale / this.scale;
    this.follows = "";
    this.x = px - (px - this.x) * k;
    this.y = py - (py - this.y) * k;
    this.scale = scale;
    this.#clamp();
  }
  pan(dx, dy) {
    for (const one of this.#both) {
      one.follows = "";
      one.x += dx;
      one.y += dy;
      one.#clamp();
    }
  }
  // look moves the view as a key does, or returns false.
  look(key) {
    const acts = {
      "+": () => this.zoom(1.25),
      "-": () => this.zoom(0.8),
      0: (one) => one.fit(),
      1: (one) => one.#scaleTo(one.#bounded(1)),
      r: (one) => {
        one.follows = "region";
        one.#follow();
      },
    };
    const name = { "=": "+", _: "-" }[key] ?? key.toLowerCase(),
      act = acts[name];
    if (!act) return false;
    for (const one of "+-".includes(name) ? [this] : this.#both) act(one);
    return true;
  }
  // view is the place of the photograph, which another stage of this size can take over.
  get view() {
    return { scale: this.scale, x: this.x, y: this.y, follows: this.follows };
  }
  set view(view) {
    Object.assign(this, view);
    this.#follow();
  }
  #clamp() {
    // some of the photograph always stays in view
    const { image } = this.shown,
      [w, h] = this.size,
      margin = 48;
    if (image) {
      this.x = Math.min(w - margin, Math.max(margin - image.width * this.scale, this.x));
      this.y = Math.min(h - margin, Math.max(margin - image.height * this.scale, this.y));
    }
    this.#draw("view");
  }

  #listen() {
    const e = this.element;
    const at = (event) => {
      const box = e.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    e.addEventListener("pointerdown", (event) => {
      if (!this.shown.image || (event.pointerType === "mouse" && event.button > 1)) return;
      e.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, at(event));
      if (this.pointers.size === 2 && this.inking) this.#ink("cancel");
      this.inking = this.pointers.size === 1 && event.button === 0 ? this.pen : null;
      this.inking?.down(...this.#under(...at(event)), event);
      e.classList.add("dragging");
    });
    e.addEventListener("pointermove", (event) => {
      const before = this.pointers.get(event.pointerId);
      const now = at(event);
      if (!before) return this.pen?.hover(...this.#under(...now));
      if (this.pointers.size === 2) {
        const [other] = [...this.pointers]
          .filter(([id]) => id !== event.pointerId)
          .map(([, p]) => p);
        const distance = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
        this.pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
        this.zoom(
          distance(now) / Math.max(1, distance(before)),
          (now[0] + other[0]) / 2,
          (now[1] + other[1]) / 2,
        );
      } else if (this.inking) {
        const all = event.getCoalescedEvents?.() ?? [];
        for (const one of all.length ? all : [event])
          this.inking.move(...this.#under(...at(one)), one);
      } else this.pan(now[0] - before[0], now[1] - before[1]);
      this.pointers.set(event.pointerId, now);
    });
    const up = (event) => {
      this.pointers.delete(event.pointerId);
      if (this.inking) this.#ink(event.type === "pointercancel" ? "cancel" : "up");
      if (this.pointers.size === 0) e.classList.remove("dragging");
    };
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"])
      e.addEventListener(name, up);
    e.addEventListener(
      "wheel",
      (event) => {
        if (!this.shown.image) return;
        event.preventDefault();
        const pixels = event.deltaY * [1, 18, 400][event.deltaMode];
        this.zoom(
          Math.exp(-Math.max(-300, Math.min(300, pixels)) * (event.ctrlKey ? 0.01 : 0.0016)),
          ...at(event),
        );
      },
      { passive: false },
    );
    e.addEventListener("dblclick", (event) => {
      if (this.pen) this.pen.close();
      else if (this.shown.image) this.zoom(2, ...at(event));
    });
    e.addEventListener("keydown", (event) => this.#key(event));
    e.addEventListener("keyup", (event) => this.pen?.keyUp(event));
  }
  #under(px, py) {
    return [(px - this.x) / this.scale, (py - this.y) / this.scale];
  }
  // ink ends what is drawn by a press.
  #ink(end) {
    const tool = this.inking;
    this.inking = null;
    tool[end]();
  }

  #key(event) {
    if (!this.shown.image || event.altKey || event.ctrlKey || event.metaKey) return;
    const arrow = arrowOf(event);
    if (!this.pen?.key(event)) {
      if (arrow) this.pan(-40 * arrow[0], -40 * arrow[1]);
      else if (!this.look(event.key)) return;
    }
    event.preventDefault();
  }

  // start starts viewer.wasm and hands the stage over to it, if the browser can. This blocks the
  // page's thread for a while.
  async #start() {
    if (!document.createElement("canvas").getContext("webgl2"))
      return this.#fallBack("this browser gives no WebGL2");
    try {
      const [{ get }] = await Promise.all([
        import("../page/addresses.js"),
        import("./wasm_exec.js"),
      ]);
      const go = new Go();
      const { instance } = await WebAssembly.instantiateStreaming(
        get("viewer.wasm"),
        go.importObject,
      );
      const started = new Promise((resolve) =>
        addEventListener("mrprismviewer", resolve, { once: true }),
      );
      // Ebitengine fits its canvas to the body, and should fill the stage.
      const { element } = this;
      for (const side of ["clientWidth", "clientHeight"])
        Object.defineProperty(document.body, side, {
          configurable: true,
          get: () => element[side],
        });
      const open = gateFrames();
      let canvas = null;
      go.run(instance).then(() => {
        canvas?.remove();
        this.#fallBack("the viewer stopped");
      });
      open();
      await started;
      const api = globalThis.mrprismViewer;
      canvas = document.body.querySelector(":scope > canvas");
      canvas.setAttribute("aria-hidden", "true");
      canvas.tabIndex = -1; // Ebitengine makes it focusable, and takes every key while it is
      // Ebitengine reloads the page on this event. A listener on the window, in the capture phase,
      // comes before Ebitengine's. It does not call preventDefault: the browser then restores no
      // context, which the removed canvas could lose again with only Ebitengine listening.
      addEventListener(
        "webglcontextlost",
        (event) => {
          if (event.target !== canvas) return;
          event.stopImmediatePropagation();
          api.stop();
          canvas.remove();
          this.#fallBack("the graphics processor dropped the picture");
        },
        true,
      );
      this.pictures.remove();
      element.prepend(canvas);
      this.pictures = api;
      this.#drawAll();
    } catch (error) {
      this.#fallBack(error);
    }
  }
  get #plain() {
    return this.pictures instanceof Pictures;
  }
  #fallBack(reason) {
    console.info("the photograph is drawn without WebGL:", reason);
    if (reason.changed) this.#tell("changed", reason.changed);
    if (this.#plain) return;
    this.pictures = new Pictures(this.element, "prepend");
    this.#drawAll();
  }
}

// painted resolves after the next frame is on the screen.
const painted = () =>
  new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
  });

// gateFrames lets Ebitengine draw only after mrprismWake(): an unchanging page does no work.
// Ebitengine asks for a frame after every frame. While its program starts, requestAnimationFrame is
// ours, and the program keeps it. gateFrames returns a function that restores the browser's own.
function gateFrames() {
  const original = window.requestAnimationFrame,
    real = original.bind(window);
  let due = 2,
    waiting = null;
  window.requestAnimationFrame = (callback) => {
    if (due > 0) {
      due--;
      return real(callback);
    }
    waiting = callback;
    return 0;
  };
  globalThis.mrprismWake = () => {
    due = 2; // one to update and draw, one for Ebitengine to settle
    if (waiting) {
      const callback = waiting;
      waiting = null;
      due--;
      real(callback);
    }
  };
  return () => {
    window.requestAnimationFrame = original;
  };
}
