// All objects of a picture, such as cells: the section with their figures, their list and tools, and
// what pointer and keys do to them on the stage. page.js loads it when it is first wanted.
import * as cells from "./cells.js";
import { $, all, button, element, field as labelled, remember, remembered } from "../page/dom.js";
import { download, stemOf } from "../page/exports.js";
import { fieldOf } from "../page/history.js";
import { drawLegend } from "../page/view.js";
import { alone } from "../review/measurements.js";
import { scaleOf } from "../review/scale.js";
import { Tool, arrowOf } from "../draw/tool.js";
import { mayLose, unsavedField } from "../page/unsaved.js";
import { number, t } from "../words/words.js";

const LARGE = 12; // a picture may hold many if it is that many times as large as the region
const FAR = 4; // CSS pixels from which on a press is a drag
// FORMATS are those of package objects: name, end of the file's name, MIME type, words.
const FORMATS = [
  ["labels-png", "_labels.png", "image/png", "PNG, numbers"],
  ["labels-tiff", "_labels.tif", "image/tiff", "TIFF, numbers"],
  ["labels-nifti", "_labels.nii.gz", "application/gzip", "NIfTI, numbers"],
  ["imagej", "_rois.zip", "application/zip", "ImageJ, outlines"],
  ["geojson", "_objects.geojson", "application/geo+json", "QuPath, outlines"],
  ["csv", "_objects.csv", "text/csv", "CSV, figures"],
  ["coco", "_coco.json", "application/json", "COCO, masks"],
];
const TOOLS = {
  select: [
    "Select",
    "Click one, with Shift several. Drag a chosen one to where it belongs. Arrow keys go from one to the next, with Shift they choose more; Enter takes one up and puts it down, Delete removes.",
  ],
  add: ["Add", "Click in the middle of one. Arrow keys move the cursor, Enter adds."],
  split: ["Split", "Drag a line across one. Arrow keys move the cursor, Enter begins and ends it."],
};

export class Field extends Tool {
  #press = null; // { from, moved, shift, on, line } while the pointer is down
  #cursor = null; // [x, y], by keys
  #carried = null; // where the chosen object is carried by pointer or keys, [dx, dy], or null
  #line = []; // that splits
  #refused = new WeakSet(); // what a line has, and the worker could not take
  #offered = []; // what the offer was drawn of
  #drawn = {}; // what the document shows: { language, answer, … }

  get #field() {
    return fieldOf(this.state());
  }

  // ---- the worker ----

  find() {
    const { picture, result, field, job } = this.state();
    if (!result || job || field?.wish) return;
    const keeps = field?.kept && field.picture !== picture; // in the list
    if (keeps || mayLose(unsavedField(this.state()))) this.#begin({ do: "find" });
  }
  #begin(wish, changed = false) {
    const { picture, result } = this.state(),
      fresh = { answer: null, kept: null, changed, tool: "select", chosen: [], wish };
    this.send({ type: "field", picture, model: result.model, ...fresh });
  }
  // give has the worker take the objects that the picture's line has.
  give(kept) {
    if (!this.#refused.has(kept)) this.#begin({ do: "give", kept }, kept.changed);
  }
  // change asks for a change, and has what to say once it is done. There is one at a time.
  #change(what, done, fields) {
    if (this.#field.wish)
      return this.note("One change at a time.", "The one before is still being computed.");
    this.send({ type: "change", wish: { do: what, done, ...fields } });
  }
  async ask(wish, signal) {
    const { picture, model } = this.state().field,
      { done = "", kept = null, ...change } = wish,
      progress = (progress) => this.send({ type: "progress", job: wish, progress }),
      hooks = { signal, ...(wish.do === "find" && { progress }) };
    try {
      if (kept) {
        const { class: c, objects, blob } = kept,
          labels = await blob.arrayBuffer();
        Object.assign(change, { class: c, labels, objects: JSON.stringify(objects) });
      }
      const answer = await this.segmenter.field(picture, { model, ...change }, hooks);
      if (signal.aborted) return;
      const chosen = cells.left(this.state().field, answer, wish),
        status = `${t(done)} ${cells.figures(answer, this.#mm)}`.trim();
      this.send({ type: "field", wish: null, answer, kept, chosen, status });
      if (wish.do !== "find") return;
      this.stage.fit();
      $("field").scrollIntoView({ block: "start" });
      $("stage").focus();
    } catch (error) {
      if (signal.aborted) return;
      if (kept) this.#refused.add(kept); // the session has it still
      this.send({ type: error.code === "labels" ? "unfield" : "field", wish: null });
      this.send({ type: "failed", error: this.told(error), of: "pen" });
    }
  }
  async #save() {
    const { picture, image, field } = this.state(),
      [format, ending, type] = FORMATS.find(([name]) => name === $("field-format").value),
      file = stemOf(picture, image) + ending;
    try {
      const semicolons = $("field").querySelector(".semicolons").checked;
      download(file, type, await this.segmenter.saveField(picture, format, semicolons));
      const now = this.state().field,
        whole = format !== "csv" && now?.answer === field.answer, // figures do not keep outlines
        saved = whole ? [now.kept ?? now.answer] : [];
      this.send({ type: "field", saved, status: t("{file} is saved.", { file }) });
    } catch (error) {
      this.send({ type: "failed", error: this.told(error), of: "pen" });
    }
  }
  #close() {
    if (!mayLose(unsavedField(this.state()))) return;
    this.send({ type: "unfield" });
    $("field-find").focus();
  }

  // ---- the section ----

  get #mm() {
    const { result, known } = this.state();
    return scaleOf(result?.measurements, known)?.mm ?? null;
  }
  // offer offers to find all objects of a picture, above all if there seem to be several.
  #offer(s) {
    const { result, image, field, job, language } = s,
      sign = [result, field, job, language],
      many = Boolean(result?.findsMany);
    if (sign.every((one, i) => one === this.#offered[i])) return;
    this.#offered = sign;
    $("field").hidden = !many;
    $("field-offer").hidden = Boolean(fieldOf(s));
    $("app").classList.toggle("fielded", Boolean(fieldOf(s)));
    if (!many) return;
    const cell = result.classes[0] === "cell",
      { whole, side } = result.roi,
      large = !whole && image.width * image.height > LARGE * side * side,
      more = large || alone(result).length > 0,
      one = "Each one in the picture, with its outline and figures.",
      several = "The picture seems to hold more than the one that is marked.",
      find = $("field-find");
    $("h-field").textContent = t(cell ? "Cells" : "Objects");
    $("field-hint").textContent = t(more ? several : one);
    find.textContent = t(cell ? "Find all cells" : "Find all objects");
    find.classList.toggle("primary", more);
    find.ariaDisabled = field?.wish || job ? "true" : null;
    find.onclick = () => this.find();
  }
  // draw brings section and stage to a state.
  draw(s) {
    this.#offer(s);
    const field = fieldOf(s),
      before = this.#drawn;
    if (!field) {
      if (before.answer) $("field-found")?.remove();
      this.#drawn = {};
      $("stage").classList.remove("pointing");
      return;
    }
    const { answer, chosen, tool, wish } = field,
      { language, known } = s,
      anew = language !== before.language || !before.answer;
    if (anew) this.#build();
    if (anew) drawLegend({ keys: cells.keys(answer.class) });
    const other = anew || answer !== before.answer || known !== before.known;
    if (other) this.#fill(answer);
    if (other || chosen !== before.chosen) this.#mark(answer, chosen);
    if (anew || tool !== before.tool) {
      for (const input of all("input[name=field-tool]")) input.checked = input.value === tool;
      $("stage").classList.toggle("pointing", tool !== "select");
    }
    this.#drawn = { language, answer, known, chosen, tool };
    $("field-help").textContent = t(wish ? "Computing…" : TOOLS[tool][1]);
    const { objects, undo, redo } = answer,
      { length: n } = chosen,
      can = { merge: n > 1, delete: n, undo, redo, save: objects.length };
    for (const [id, is] of Object.entries(can))
      $(`field-${id}`).ariaDisabled = is && !wish ? null : "true";
    this.#show();
  }
  #build() {
    const acts = {
      Merge: () => this.#change("merge", "Merged.", { numbers: this.#field.chosen }),
      Delete: () => this.#delete(),
      Undo: () => this.send({ type: "undo" }),
      Redo: () => this.send({ type: "redo" }),
      Save: () => this.#save(),
      Close: () => this.#close(),
    };
    const act = (text) => {
      const made = button(t(text), () => made.ariaDisabled || acts[text]());
      made.id = `field-${text.toLowerCase()}`;
      return made;
    };
    const row = (...texts) => element("div", { className: "row" }, ...texts.map(act)),
      tools = Object.entries(TOOLS).map(([value, [text]]) => {
        const onchange = () => this.send({ type: "field", tool: value }),
          input = element("input", { type: "radio", name: "field-tool", value, onchange });
        return element("label", {}, input, element("span", {}, t(text)));
      });
    const legend = element("legend", { className: "hidden-text" }, t("Tool")),
      formats = FORMATS.map(([name, , , text]) => new Option(t(text), name)),
      format = element("select", { id: "field-format" }, ...formats),
      semicolons = $("save").querySelector(".check:has(.semicolons)").cloneNode(true);
    format.value = remembered("field-format") || "labels-png";
    format.onchange = () => {
      remember("field-format", format.value);
      semicolons.hidden = format.value !== "csv";
    };
    format.onchange();
    const list = element("div", {
      id: "field-list",
      role: "listbox",
      tabIndex: 0,
      ariaMultiSelectable: "true",
      ariaLabel: $("h-field").textContent,
      onclick: ({ target, shiftKey, ctrlKey, metaKey }) => {
        const n = Number(target.closest("[data-number]")?.dataset.number);
        if (n) this.#tell(n, cells.picked(this.#field.chosen, n, shiftKey || ctrlKey || metaKey));
      },
      onkeydown: (event) => this.#listKey(event) && event.preventDefault(),
    });
    const head = ["Number", "Area", "Roundness"].map((text) => element("span", {}, t(text)));
    $("field-found")?.remove();
    $("field").append(
      element(
        "div",
        { id: "field-found" },
        element("p", { id: "field-line", className: "figure" }),
        element("fieldset", { className: "segments", id: "field-tool" }, legend, ...tools),
        element("p", { id: "field-help", className: "quiet" }),
        row("Merge", "Delete"),
        row("Undo", "Redo"),
        element("div", { id: "field-head", className: "cell", ariaHidden: "true" }, ...head),
        list,
        labelled(t("Format"), format),
        semicolons,
        row("Save", "Close"),
      ),
    );
  }
  // fill lists the objects. list.css lays out only those that are in view.
  #fill(answer) {
    const mm = this.#mm;
    $("field-line").textContent = cells.figures(answer, mm).replace(/(?<!·) (?!·)/g, "\u00a0");
    $("field-list").hidden = $("field-head").hidden = !answer.objects.length;
    $("field-list").replaceChildren(
      ...answer.objects.map((one) => {
        const { number: n, area, roundness } = one,
          name = (text) => element("span", { className: "hidden-text" }, `${t(text)} `),
          part = (text, value) => element("span", {}, ...(text ? [name(text)] : []), value),
          fields = { className: "cell", role: "option", dataset: { number: n } };
        return element(
          "div",
          { id: `cell-${n}`, ...fields },
          part("Number", String(n)),
          part("Area", cells.areaText(area, mm)),
          part("Roundness", number(roundness, 2)),
          part("", cells.wordsOf(one)),
        );
      }),
    );
    for (const what of ["overlay", "region"]) this.stage.set(what, null);
  }
  // mark shows which objects are chosen, in the list and on the stage.
  #mark(answer, chosen) {
    const list = $("field-list"),
      last = $(`cell-${chosen.at(-1)}`);
    for (const one of list.children)
      one.ariaSelected = String(chosen.includes(Number(one.dataset.number)));
    list.setAttribute("aria-activedescendant", last?.id ?? "");
    const far = last?.offsetTop - list.scrollTop;
    if (far < 0 || far + last?.offsetHeight > list.clientHeight)
      list.scrollTop = last.offsetTop - list.clientHeight / 2;
    this.stage.set("contours", cells.contours(answer, chosen));
  }
  #listKey(event) {
    const { key, shiftKey } = event,
      { answer, chosen } = this.#field,
      by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e6, End: 1e6 }[key];
    if (by) this.#walk(cells.next(answer, chosen.at(-1), by), shiftKey);
    else if (key === "Delete" || key === "Backspace") this.#delete();
    else if (key === "Escape") this.send({ type: "field", chosen: [] });
    else return false;
    return true;
  }

  // ---- choosing and changing ----

  // walk goes to an object, and brings it into view. With more it joins those that are chosen.
  #walk(n, more) {
    const { chosen } = this.#field;
    if (n) this.#tell(n, more ? [...chosen.filter((one) => one !== n), n] : [n]);
  }
  #tell(n, chosen) {
    const one = this.#field.answer.objects.find((one) => one.number === n),
      { x, y, scale, size } = this.stage,
      [px, py] = [x + one.x * scale, y + one.y * scale];
    if (px < 0 || py < 0 || px > size[0] || py > size[1])
      this.stage.pan(size[0] / 2 - px, size[1] / 2 - py);
    const status = [cells.about(one, this.#mm)];
    if (chosen.length !== 1) status.push(t("{n} chosen", { n: chosen.length }));
    this.send({ type: "field", chosen, status: status.join(". ") });
  }
  #delete() {
    const { chosen: numbers } = this.#field;
    if (numbers.length) this.#change("delete", "Deleted.", { numbers });
  }
  // put lets go of the carried object: the model draws it anew there.
  #put() {
    const { chosen: numbers } = this.#field,
      { x, y } = this.#one,
      [dx, dy] = this.#carried;
    this.#carried = null;
    if (Math.hypot(dx, dy) * this.stage.scale >= FAR)
      this.#change("move", "Moved.", { numbers, line: Float32Array.of(x + dx, y + dy) });
    this.#show();
  }
  #split() {
    const line = this.#line,
      n = cells.crossed(this.#field.answer, line);
    this.#line = [];
    this.#show();
    if (!n) return this.note("The line crosses none.", "Draw it from one side to the other.");
    this.#change("split", "Split in two.", { numbers: [n], line: Float32Array.from(line.flat()) });
  }
  // one is the only chosen object, if there is one.
  get #one() {
    const { answer, chosen } = this.#field;
    return chosen.length === 1 && answer.objects.find(({ number: n }) => n === chosen[0]);
  }

  // ---- the stage ----

  down(x, y, { shiftKey, pointerType }) {
    const { answer, tool } = this.#field,
      on = cells.under(answer, x, y);
    this.#cursor = null;
    this.#press = { from: [x, y], moved: false, more: shiftKey || pointerType === "touch", on };
    if (tool === "split") this.#line = [[x, y]];
  }
  move(x, y) {
    const { from, on } = this.#press,
      { tool } = this.#field,
      [dx, dy] = [x - from[0], y - from[1]];
    this.#press.moved ||= Math.hypot(dx, dy) * this.stage.scale >= FAR;
    if (!this.#press.moved) return;
    if (tool === "split") this.#line.push([x, y]);
    else if (tool === "select" && on && this.#one?.number === on) this.#carried = [dx, dy];
    else return this.stage.pan(dx * this.stage.scale, dy * this.stage.scale);
    this.#show();
  }
  up() {
    const { from, moved, more, on } = this.#press,
      { tool, chosen } = this.#field;
    this.#press = null;
    if (!moved) this.#line = [];
    if (this.#carried) this.#put();
    else if (moved && tool === "split") this.#split();
    else if (moved) return;
    else if (tool === "add") this.#change("add", "Added.", { line: Float32Array.from(from) });
    else if (on) this.#tell(on, cells.picked(chosen, on, more));
    else if (chosen.length) this.send({ type: "field", chosen: [] });
  }
  cancel() {
    this.#press = this.#carried = null;
    this.#line = [];
    this.#show();
  }
  leave() {
    this.#cursor = null;
    this.cancel();
  }

  // key handles a key of the stage, and returns whether it did.
  key(event) {
    const { key, shiftKey } = event,
      { answer, chosen, tool } = this.#field,
      arrow = arrowOf({ key }),
      one = this.#one,
      at = this.#cursor ?? this.middle;
    if (arrow && this.#carried) this.#carried = this.nudged(this.#carried, event);
    else if (arrow && tool === "select")
      this.#walk(cells.beside(answer, chosen.at(-1), arrow), shiftKey);
    else if (arrow) {
      this.#cursor = this.within(this.nudged(at, event));
      if (this.#line.length) this.#line = [this.#line[0], this.#cursor];
    } else if (key === "Enter" || key === " ") {
      if (this.#carried) this.#put();
      else if (tool === "select") this.#carried = one ? [0, 0] : null;
      else if (tool === "add") this.#change("add", "Added.", { line: Float32Array.from(at) });
      else if (this.#line.length) this.#split();
      else this.#line = [(this.#cursor = at)];
    } else if (key === "Delete" || key === "Backspace") this.#delete();
    else if (key === "Escape" && (this.#carried || this.#line.length)) this.cancel();
    else if (key === "Escape" && chosen.length) this.send({ type: "field", chosen: [] });
    else return false;
    this.#show();
    return true;
  }

  // show draws what is held: a carried outline, a line that splits, or the cursor.
  #show() {
    const field = this.#field;
    if (!field) return this.stage.set("cursor", null);
    let line = this.#line;
    if (this.#carried && this.#one) {
      const [dx, dy] = this.#carried,
        [outline] = cells.shapesOf(field.answer).get(this.#one.number).lines;
      line = [];
      for (let p = 0; p < outline.length; p += 2) line.push([outline[p] + dx, outline[p + 1] + dy]);
      line.push(line[0]);
    }
    const at = field.tool === "select" ? null : this.#cursor;
    this.stage.set("cursor", at || line.length ? { at, radius: 0, points: [], line } : null);
  }
}
