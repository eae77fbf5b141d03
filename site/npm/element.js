// <mr-prism src="photo.jpg" model="fundus"> shows an image with the outlines of its structures, and
// says their figures. model, base and device are as for open. The result is the element's result,
// and the detail of its event "result"; that of "error" is the error.
import { open } from "./index.js";

const COLOURS = ["#3ddc97", "#ffb000", "#4cc9f0", "#f72585"];
const LONGEST = 60e3; // ms, for the image

const style = new CSSStyleSheet();
style.replaceSync(`
  :host { display: inline-block; max-width: 100%; font: 0.9rem system-ui, sans-serif }
  div { position: relative }
  canvas { display: block; max-width: 100% }
  svg { position: absolute; inset: 0; width: 100%; height: 100% }
  path { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke }
  p { margin: 0.3em 0; white-space: pre-line }
`);

const svg = (tag, attributes) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
};
const figure = (value, digits) => value?.toFixed(digits) ?? "none";
const trusted = ({ trust }) => (trust?.reason ? `, ${trust.word}: ${trust.reason}` : "");

export class MrPrism extends HTMLElement {
  static observedAttributes = ["src", "model", "base", "device"];
  #ending = new AbortController();
  #model = null; // { opened, of }: the model, and the attributes that it is of
  result = null;

  constructor() {
    super();
    this.attachShadow({ mode: "open" }).adoptedStyleSheets = [style];
  }
  connectedCallback() {
    this.#begin();
  }
  attributeChangedCallback() {
    this.#begin();
  }
  disconnectedCallback() {
    this.#begin();
  }

  // begin ends what goes on, and starts anew once all attributes have changed.
  #begin() {
    this.#ending.abort();
    const { signal } = (this.#ending = new AbortController());
    queueMicrotask(() => signal.aborted || this.#show(signal));
  }

  async #show(signal) {
    const src = this.getAttribute("src"),
      picture = document.createElement("div"),
      said = document.createElement("p");
    this.result = null;
    said.setAttribute("role", "status");
    this.shadowRoot.replaceChildren(picture, said);
    if (!src || !this.isConnected) return this.#close();
    const progress = ({ stage, done, total }) =>
      (said.textContent = `${stage}${total ? ` ${Math.round((100 * done) / total)} %` : ""} …`);
    const image = ({ rgba, width, height, pixelsWide, pixelsHigh }) => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [pixelsWide, pixelsHigh];
      const pixels = new ImageData(new Uint8ClampedArray(rgba.buffer), pixelsWide, pixelsHigh);
      canvas.getContext("2d").putImageData(pixels, 0, 0);
      picture.append(canvas, svg("svg", { viewBox: `0 0 ${width} ${height}` }));
    };
    try {
      progress({ stage: "load" });
      const ends = AbortSignal.any([signal, AbortSignal.timeout(LONGEST)]),
        response = await fetch(new URL(src, this.baseURI), { signal: ends });
      if (!response.ok) throw new Error(`${src}: the server answered ${response.status}`);
      const blob = await response.blob(),
        model = await this.#open(progress, signal),
        r = await model.segment(blob, { progress, image, signal });
      this.#draw(r, picture.lastChild, said);
      this.result = r;
      this.dispatchEvent(new CustomEvent("result", { detail: r }));
    } catch (error) {
      if (signal.aborted) return;
      said.textContent = `${error.message} ${error.next ?? ""}`;
      this.dispatchEvent(new CustomEvent("error", { detail: error }));
    }
  }

  async #open(progress, signal) {
    const [model, base, device] = ["model", "base", "device"].map(
      (name) => this.getAttribute(name) ?? undefined,
    );
    const of = JSON.stringify([model, base, device]);
    if (this.#model?.of !== of) this.#close();
    if (this.#model) return this.#model.opened;
    const opened = await open(model, { base, device, progress, signal });
    if (signal.aborted) opened.close();
    signal.throwIfAborted();
    this.#model = { of, opened };
    return opened;
  }
  #close() {
    this.#model?.opened.close();
    this.#model = null;
  }

  #draw({ structures, ratio, doubts }, drawing, said) {
    const texts = structures.map(({ name, area, outlines, ...structure }, i) => {
      const line = (ring) => `M${ring.join("L")}Z`,
        d = outlines.flat().map(line).join("");
      drawing.append(svg("path", { d, stroke: COLOURS[i % COLOURS.length], part: name }));
      return `${name} ${area} pixels${trusted(structure)}`;
    });
    if (ratio) {
      const { low, high } = ratio.interval ?? ratio;
      texts.push(
        `vertical ratio ${figure(ratio.value, 2)} (${figure(low, 2)} to ${figure(high, 2)})${trusted(ratio)}`,
      );
    }
    said.textContent = [...texts, ...doubts.map(({ text }) => text)].join("\n");
  }
}
customElements.define("mr-prism", MrPrism);
