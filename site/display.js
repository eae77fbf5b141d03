// What of a result is shown on the stage: contours, map, legend, and the controls that choose among them. Maps are asked for before the
// result is shown, others when they are first chosen, and kept while the result is.
import { title, whyDoubted } from "./measurements.js";
import { bar, css, paint, rater as raterColour, structure as structureColour } from "./colours.js";

const $ = (id) => document.getElementById(id);
// mostDisagreement is the highest chance that two of n experts differ, when half of them mark a pixel: what the map's scale ends at.
const mostDisagreement = (n) => n < 2 ? 1 : Math.floor(n / 2) * Math.ceil(n / 2) / (n * (n - 1) / 2);
const WEIGHT_DELAY = 250; // ms after the last movement of a rater's slider
const DOUBTED = 9, LEVEL = 6; // CSS pixels, dashes of the lines of a doubted result and of one agreement level

// Events: "weights" (detail: a factor 0…1 on each rater's confidence, or null where all are 1) when the raters' sliders come to rest.
export class Display extends EventTarget {
  #views = new Map(); #result = null; #turn = 0; #timer = 0; #built = null;

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
    $("recurrence").value = $("recurrence").max; // browsers bring back what it was before the page was loaded anew
    $("recurrence").oninput = () => { this.#recurrenceText(); refresh(); };
    $("raters-equal").onclick = () => { for (const s of this.#sliders()) { s.value = 100; this.#weightText(s); } this.#weigh(); };
    stage.setOpacity($("opacity").value / 100);
  }

  clear() {
    this.#result = null;
    this.#rest();
    this.#views.clear();
    this.#turn++;
    this.stage.setOverlay(null);
    this.stage.setContours([]);
    this.stage.setRegion(null);
    $("legend").replaceChildren();
    $("legend").hidden = true;
  }

  // gather asks for what the controls want of a result, and for what they want by the time it is here, until all of it is. With it show draws
  // before anything else is seen: nothing of one result stands beside another's.
  async gather(result) {
    const views = new Map();
    for (let had = -1; views.size > had;) {
      had = views.size;
      const { lines, picture } = this.#wanted(result, views);
      await Promise.all([...lines, picture]);
    }
    return views;
  }

  // show takes over a new result with its gathered views. Choices stay where they still make sense: what is built for a model, while it is the
  // model, whatever the photograph.
  show(result, views, weights) {
    this.#views = views;
    this.#result = result;
    if (this.#built !== result.model) { this.#rest(); this.#build(result); }
    this.setWeights(weights);
    this.refresh();
  }

  // setWeights puts the raters' sliders where the weights of the result are, unless they are being moved; null: all at 1.
  setWeights(weights) {
    if (this.#timer) return;
    for (const [m, slider] of this.#sliders().entries()) { slider.value = weights ? Math.round(weights[m] * 100) : 100; this.#weightText(slider); }
  }

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
    $("recurrence-raters").hidden = labels === "agreement-levels";
    $("recurrence-sliders").hidden = !steered;
    $("recurrence-levels").hidden = labels !== "agreement-levels";
    $("level").max = raters.length;
    $("level").value = Math.min($("level").value, raters.length);
    this.#levelText();
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
  #levelText() { $("level-text").textContent = agreement(Number($("level").value), Number($("level").max)); }

  // wanted is what the controls ask for of a result: lines and the map's picture, as promises that views keeps, and what the legend says. Controls that
  // are built for another model count as they will be once they are built for this one.
  #wanted(result, views) {
    const why = whyDoubted(result)?.title;
    if (!result.found) return { lines: [], picture: null, map: "none", legend: [why, [], "none"] };
    const dash = why ? DOUBTED : 0;
    const view = (kind, fields) => {
      const key = kind + JSON.stringify(fields);
      if (!views.has(key)) {
        const asked = this.segmenter.view(result, kind, fields);
        asked.catch(() => views.delete(key));
        views.set(key, asked);
      }
      return views.get(key);
    };
    const chosen = (name) => (this.#built === result.model ? [...document.querySelectorAll(`input[name=${name}]:checked`)].map((box) => Number(box.value)) : []);
    const [s = 0] = chosen("structure"), i = this.recurrence, keys = [], lines = [], levels = result.labels === "agreement-levels";
    const line = async (view, colour, width, dash) => { const v = await view; return { points: v.points, starts: v.starts, colour, width, dash }; };
    const all = [...result.classes.keys()];
    const calibrated = (c) => view("recurrence", { i, class: c });
    // Raters, levels and their disagreement are of the last recurrence; where another is shown, every key names its own.
    const [now, last] = i < result.recurrences ? [` (Rec${i})`, ` (Rec${result.recurrences})`] : ["", ""];
    if (levels && $("level-shown").checked) {
      const n = result.raters.length, j = Math.min(Number($("level").value), n), every = $("level-all").checked;
      for (const c of all) for (const m of every ? result.raters.keys() : [j - 1]) lines.push(line(view("rater", { m, class: c }), fade(structureColour(c), every ? m / (n - 1) : 1), 1.25, every ? dash : LEVEL));
      keys.push({ colour: [225, 228, 232], dash: every ? dash : LEVEL, text: (every ? `at least 1 (pale) to ${n} of ${n} experts` : agreement(j, n)) + last });
    }
    const shown = levels ? [] : chosen("rater");
    const of = (all.length > 1 ? `, ${result.classes[s]}` : "") + last;
    for (const m of shown) lines.push(line(view("rater", { m, class: s }), raterColour(m), 1.5, dash));
    if (shown.length > 3) keys.push({ colours: shown.map(raterColour), dash, text: `${shown.length} raters${of}` });
    else keys.push(...shown.map((m) => ({ colour: raterColour(m), dash, text: title(result.raters[m]) + of })));
    if ($("contour").checked) for (const c of all) lines.push(line(calibrated(c), structureColour(c), 2, dash));
    if ($("contour").checked) keys.unshift(...all.map((c) => ({ colour: structureColour(c), dash, text: `${title(result.classes[c])}, calibrated${now}` })));
    const map = document.querySelector("input[name=map]:checked").value;
    const picture = map === "none" ? null : map === "heat" ? calibrated(s) : view("disagreement", { class: s });
    return { lines, picture, map, legend: [why, keys, map, title(result.classes[s]), map === "heat" ? now : last] };
  }

  // refresh puts what the controls ask for on the stage, unless something newer has been asked for meanwhile.
  async refresh() {
    const result = this.#result, turn = ++this.#turn;
    if (!result) return;
    const { lines, picture, map, legend } = this.#wanted(result, this.#views);
    try {
      const [contours, v] = await Promise.all([Promise.all(lines), picture]);
      if (turn !== this.#turn) return;
      this.stage.setRegion(result.roi.whole ? null : result.roi);
      this.stage.setContours(contours);
      this.stage.setOverlay(v && { ...v, rgba: paint(v.values, map, map === "heat" ? 1 : 1 / mostDisagreement(result.raters.length)) });
      this.#legend(...legend);
    } catch (error) {
      if (turn !== this.#turn) return;
      if (error.code === "gone") this.renew(result);
      else this.fail(error);
    }
  }

  // legend says why the result is doubted, where it is, and names the lines and the map.
  #legend(why, keys, map, structure, recurrence) {
    const rows = keys.map(({ colour, colours = [colour], text, dash }) => {
      const row = document.createElement("div"), label = document.createElement("span");
      row.className = "key";
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      for (const [i, c] of colours.entries()) { // one line, in as many pieces as there are colours
        const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
        path.setAttribute("d", `M${1 + 20 * i / colours.length} 5h${20 / colours.length}`);
        path.setAttribute("stroke", css(c));
        path.setAttribute("stroke-width", "2.5");
        if (dash) path.setAttribute("stroke-dasharray", `${0.8 * dash} ${0.6 * dash}`);
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
    if (why) rows.unshift(Object.assign(document.createElement("strong"), { textContent: why }));
    $("legend").replaceChildren(...rows);
    $("legend").hidden = rows.length === 0 || this.stage.placing !== null;
  }
}

// fade mixes a colour with white: level 0 pale, level 1 full.
const fade = (rgb, level) => rgb.map((v) => Math.round(v * (0.35 + 0.65 * level) + 255 * 0.65 * (1 - level)));

// agreement is level j of n experts in words.
const agreement = (j, n) => (j === n ? `all ${n} of ${n} experts` : `at least ${j} of ${n} experts`);
