// The tour: four steps that say where things are. Who ends it is not offered it again.
import { $, all, button, element, remember } from "./dom.js";
import { t } from "../words/words.js";

const STEPS = [
  ["stage-area", "This is a drawn sample. A photograph of yours stays in this page too."],
  ["headline", "The figure, and how far to trust it. Underlined words explain themselves."],
  ["show", "What to draw on the photograph: outlines, and where experts would disagree."],
  ["modes", "Look, review, study and learn: each task has its own controls."],
];

// tour begins the tour; look shows the controls that it points at.
export function tour(look) {
  const text = element("p", { role: "status" }),
    on = button(t("Next"), () => go(at + 1), "primary"),
    card = element("div", { id: "tour-card", popover: "manual" }, text),
    row = element("div", { className: "row spread" }, button(t("End the tour"), end, "plain"), on);
  let at = 0;
  function end() {
    mark(null);
    card.remove();
    remember("tour", "seen");
    $("tour").hidden = true;
    $("stage").focus();
  }
  function mark(id) {
    for (const marked of all(".toured")) marked.classList.remove("toured");
    if (!id) return;
    $(id).classList.add("toured");
    $(id).scrollIntoView({ block: "nearest" });
  }
  function go(to) {
    if (to === STEPS.length) return end();
    const [id, says] = STEPS[(at = to)];
    mark(id);
    text.textContent = `${at + 1}/${STEPS.length} · ${t(says)}`;
    if (at === STEPS.length - 1) on.textContent = t("Done");
  }
  look();
  card.append(row);
  document.body.append(card);
  card.showPopover?.();
  on.focus();
  go(0);
}
