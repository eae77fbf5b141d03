// What of a result is shown on the stage: contours, map, legend, and the controls that choose among them. Maps are asked for when they
// are first shown and kept while the result is.
import { title } from "./measurements.js";
import { bar, css, paint, rater as raterColour, structure as structureColour } from "./colours.js";

const $ = (id) => document.getElementById(id);
// mostDisagreement is the highest chance that two of n experts differ, when half of them mark a pixel: what the map's scale ends at.
const mostDisagreement = (n) => n < 2 ? 1 : Math.floor(n / 2) * Math.ceil(n / 2) / (n * (n - 1) / 2);
const WEIGHT_DELAY = 250; // ms after the last movement of a rater's slider

// Events: "weights" (detail: a factor 0…1 on each rater's confidence, or null where all are 1) when the raters' sliders come to rest.
export class Display extends EventTarget {
  #views = new Map(); #result = null; #turn = 0; #timer = 0; #seen = false; #again = false; #built = null;

  // renew segments again as for a result, and shows that.
  constructor(stage, segmenter, fail, renew) {
    super();
    Object.assign(this, { stage, segmenter, fail, renew });
    const refresh = () => this.refresh();
    for (const id of ["contour", "level-shown", "level-all"]) $(id).onchange = refresh;
    for (const input of document.querySelectorAll("input[name=map]")) input.onchange = refresh;
    $("opacity").oninput = () => {
      $("opacity-value").textContent = `${$("opacity").value} %`;
      stage.setOpacity($("opacity").value / 100);
    };
    $("level").oninput = () => { this.#levelText(); if ($("level-all").checked) $("level-all").checked = false; $("level-shown").checked = true; refresh(); };
    $("level-all").onchange = () => { if ($("level-all").checked) $("level-shown").checked = true; refresh(); };
    $("recurrence").oninput = () => { this.#recurrenceText(); refresh(); };
    $("raters-equal").onclick = () => { for (const s of this.#sliders()) { s.value = 100; this.#weightText(s); } this.#weigh(); };
    stage.setOpacity($("opacity").value / 100);
  }

  clear() {
    this.#result = null;
    this.#rest();
    this.#views.clear();
    this.#turn++;
    this.#again = false;
    this.#blank();
  }
  #blank() {
    this.stage.setOverlay(null);
    this.stage.setContours([]);
    this.stage.setRegion(null);
    $("legend").replaceChildren();
    $("legend").hidden = true;
  }

  // show takes over a new result. Choices stay where they still make sense: what is built for a model, while it is the model, whatever the photograph.
  show(result, weights) {
    const first = this.#built === null;
    this.#views.clear();
    this.#result = result;
    this.#seen = false;
    if (this.#built !== result.model) { this.#rest(); this.#build(result); }
    this.setWeights(weights);
    const last = result.recurrences, slider = $("recurrence");
    if (Number(slider.max) !== last || first) { slider.max = last; slider.value = last; }
    this.#recurrenceText();
    this.refresh();
  }

  // setWeights puts the raters' sliders where the weights of the result are, unless they are being moved; null: all at 1.
  setWeights(weights) {
    if (this.#timer) return;
    for (const [m, slider] of this.#sliders().entries()) { slider.value = weights ? Math.round(weights[m] * 100) : 100; this.#weightText(slider); }
  }

  get levels() { return this.#result?.labels === "agreement-levels"; }
  get structure() { return Number(document.querySelector("input[name=structure]:checked")?.value ?? 0); }
  get recurrence() { return Number($("recurrence").value); }

  // build makes the controls for a model's classes and raters.
  #build({ model, classes, raters, labels, steered }) {
    this.#built = model;
    const set = $("structure-set");
    set.replaceChildren(set.querySelector("legend"), ...classes.map((name, c) => {
      const label = document.createElement("label"), input = document.createElement("input"), span = document.createElement("span");
      Object.assign(input, { type: "radio", name: "structure", value: c, checked: c === 0 });
      input.onchange = () => this.refresh();
      span.textContent = title(name);
      label.append(input, span);
      return label;
    }));
    set.hidden = classes.length < 2;
    $("levels").hidden = labels !== "agreement-levels";
    $("raters").hidden = labels === "agreement-levels";
    $("raters-title").textContent = steered ? "Contour and weight of each rater" : "Contour of each rater";
    $("raters-equal").hidden = !steered;
    $("raters-unsteered").hidden = steered;
    $("level").max = raters.length;
    $("level").value = Math.min($("level").value, raters.length);
    this.#levelText(raters.length);
    $("rater-list").replaceChildren(...(labels === "agreement-levels" ? [] : raters).map((name, m) => {
      const item = document.createElement("li"), check = document.createElement("label"), box = document.createElement("input");
      const swatch = document.createElement("i"), text = document.createElement("span"), weight = document.createElement("input"), out = document.createElement("output");
      check.className = "check";
      Object.assign(box, { type: "checkbox", value: m, name: "rater" });
      box.onchange = () => this.refresh();
      swatch.className = "swatch";
      swatch.style.background = css(raterColour(m));
      text.textContent = title(name);
      Object.assign(weight, { type: "range", min: 0, max: 100, value: 100, name: "weight" });
      weight.setAttribute("aria-label", `Weight of ${title(name)}`);
      weight.oninput = () => { this.#weightText(weight); this.#rest(); this.#timer = setTimeout(() => this.#weigh(), WEIGHT_DELAY); };
      check.append(box, swatch, text);
      item.append(check, ...(steered ? [weight, out] : []));
      return item;
    }));
  }

  #sliders() { return [...$("rater-list").querySelectorAll("input[name=weight]")]; }
  #weightText(slider) { slider.nextElementSibling.textContent = `${slider.value} %`; }
  #rest() { clearTimeout(this.#timer); this.#timer = 0; }
  #weigh() {
    this.#rest();
    const values = this.#sliders().map((s) => s.value / 100);
    this.dispatchEvent(new CustomEvent("weights", { detail: values.every((v) => v === 1) ? null : Float32Array.from(values) }));
  }
  #recurrenceText() { $("recurrence-value").textContent = `Rec${$("recurrence").value}`; }
  #levelText(of = Number($("level").max)) {
    const j = Number($("level").value);
    $("level-text").textContent = j === of ? `all ${of} of ${of} experts` : `at least ${j} of ${of} experts`;
  }

  #view(kind, fields) {
    const key = kind + JSON.stringify(fields), result = this.#result;
    if (!this.#views.has(key)) {
      const asked = this.segmenter.view(result, kind, fields);
      asked.catch(() => this.#views.delete(key));
      this.#views.set(key, asked);
    }
    return this.#views.get(key);
  }

  // refresh fetches what the controls ask for and puts it on the stage, unless something newer has been asked for meanwhile.
  async refresh() {
    const result = this.#result, turn = ++this.#turn;
    if (!result) return;
    const s = this.structure, i = this.recurrence, keys = [], lines = [];
    const line = async (view, colour, width, dash = 0) => { const v = await view; return { points: v.points, starts: v.starts, colour, width, dash }; };
    const all = [...result.classes.keys()];
    const calibrated = (c) => this.#view("recurrence", { i, class: c });
    // Raters, levels and their disagreement are of the last recurrence; where another is shown, every key names its own.
    const [now, last] = i < result.recurrences ? [` (Rec${i})`, ` (Rec${result.recurrences})`] : ["", ""];
    if (this.levels && $("level-shown").checked) {
      const chosen = $("level-all").checked ? [...result.raters.keys()] : [Number($("level").value) - 1];
      for (const c of all) for (const m of chosen) lines.push(line(this.#view("rater", { m, class: c }), fade(structureColour(c), chosen.length > 1 ? m / (result.raters.length - 1) : 1), 1.25, $("level-all").checked ? 0 : 5));
      keys.push({ colour: [225, 228, 232], dash: !$("level-all").checked, text: ($("level-all").checked ? `at least 1 (pale) to ${result.raters.length} of ${result.raters.length} experts` : $("level-text").textContent) + last });
    }
    const shown = this.levels ? [] : [...document.querySelectorAll("input[name=rater]:checked")].map((box) => Number(box.value));
    const of = (all.length > 1 ? `, ${result.classes[s]}` : "") + last;
    for (const m of shown) lines.push(line(this.#view("rater", { m, class: s }), raterColour(m), 1.5));
    if (shown.length > 3) keys.push({ colours: shown.map(raterColour), text: `${shown.length} raters${of}` });
    else keys.push(...shown.map((m) => ({ colour: raterColour(m), text: title(result.raters[m]) + of })));
    if ($("contour").checked) for (const c of all) lines.push(line(calibrated(c), structureColour(c), 2));
    if ($("contour").checked) keys.unshift(...all.map((c) => ({ colour: structureColour(c), text: `${title(result.classes[c])}, calibrated${now}` })));
    const map = document.querySelector("input[name=map]:checked").value;
    const picture = map === "none" ? null : map === "heat" ? calibrated(s) : this.#view("disagreement", { class: s });
    try {
      const [contours, v] = await Promise.all([Promise.all(lines), picture]);
      if (turn !== this.#turn) return;
      this.stage.setRegion(result.roi.whole ? null : result.roi);
      this.stage.setContours(contours);
      this.stage.setOverlay(v && { ...v, rgba: paint(v.values, map, map === "heat" ? 1 : 1 / mostDisagreement(result.raters.length)) });
      this.#legend(keys, map, title(result.classes[s]), map === "heat" ? now : last);
      this.#seen = true;
      this.#again = false;
    } catch (error) {
      if (turn !== this.#turn) return;
      const gone = error.code === "gone";
      if (this.#seen ? gone : (gone || error.code === "crashed") && !this.#again) {
        this.#again = !this.#seen; // what is gone at once, once more, would be so again
        this.renew(result);
      } else this.fail(error);
      if (!this.#seen) this.#blank(); // what is drawn is of another result than the measurements beside it
    }
  }

  #legend(keys, map, structure, recurrence) {
    const rows = keys.map(({ colour, colours = [colour], text, dash }) => {
      const row = document.createElement("div"), label = document.createElement("span");
      row.className = "key";
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      for (const [i, c] of colours.entries()) { // one line, in as many pieces as there are colours
        const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
        path.setAttribute("d", `M${1 + 20 * i / colours.length} 5h${20 / colours.length}`);
        path.setAttribute("stroke", css(c));
        path.setAttribute("stroke-width", "2.5");
        if (dash) path.setAttribute("stroke-dasharray", "4 3");
        svg.append(path);
      }
      label.textContent = text;
      row.append(svg, label);
      return row;
    });
    if (map !== "none") {
      const row = document.createElement("div"), canvas = document.createElement("canvas"), label = document.createElement("span");
      row.className = "key";
      bar(canvas, map);
      const what = map === "heat" ? "probability, 0 – 100" : `two experts differ, 0 – ${Math.round(100 * mostDisagreement(this.#result.raters.length))}`;
      label.textContent = `${structure}: ${what} %${recurrence}`;
      row.append(canvas, label);
      rows.push(row);
    }
    $("legend").replaceChildren(...rows);
    $("legend").hidden = rows.length === 0 || this.stage.placing !== null;
  }
}

// fade mixes a colour with white: level 0 pale, level 1 full.
const fade = (rgb, level) => rgb.map((v) => Math.round(v * (0.35 + 0.65 * level) + 255 * 0.65 * (1 - level)));
