// Shorthands for the document.
export const $ = (id) => document.getElementById(id);

export const all = (selector) => [...document.querySelectorAll(selector)];

// element makes an element with fields, of which dataset may be one, and children, which are
// elements or texts.
export function element(tag, { dataset, ...fields } = {}, ...children) {
  const made = Object.assign(document.createElement(tag), fields);
  Object.assign(made.dataset, dataset);
  made.append(...children);
  return made;
}

// svg makes a part of a drawing, with attributes.
export function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export const button = (text, onclick, className = "grow") =>
  element("button", { type: "button", className, onclick }, text);

// term is a text that explains itself where it is pressed.
export const term = (text, meaning) =>
  element(
    "button",
    {
      type: "button",
      className: "term",
      popoverTargetElement: $("meaning"),
      onclick: () => {
        $("meaning").textContent = meaning;
      },
    },
    text,
  );

// field is a control with a label before it.
export const field = (text, control) =>
  element("label", { className: "field" }, element("span", {}, text), control);

// row is a row of a table. A cell is a text, an element or a list of these. The first ones name it,
// or its columns.
export const row = (cells, heads = 0, scope = "row") =>
  element(
    "tr",
    {},
    ...cells.map((cell, i) =>
      element(i < heads ? "th" : "td", i < heads ? { scope } : {}, ...[cell].flat()),
    ),
  );
export const headRow = (texts) => row(texts, texts.length, "col");

// table is one of texts or elements. Its head names the columns.
export const table = (head, body, heads = 0) =>
  element(
    "table",
    {},
    element("thead", {}, headRow(head)),
    element("tbody", {}, ...body.map((cells) => row(cells, heads))),
  );

// taking calls take with the files that a person chooses in a field. Buttons whose data-action is
// its id open it.
export function taking(id, take) {
  const field = $(id);
  field.onchange = () => {
    const files = [...field.files];
    field.value = "";
    take(files);
  };
  for (const button of all(`[data-action=${id}]`)) button.onclick = () => field.click();
}

// remember keeps a value in the browser until the next visit, and remembered is that value, or "".
// Where the browser keeps nothing, a value lasts as long as the page.
let kept = {};
try {
  kept = localStorage;
} catch {
  /* storage is blocked */
}
export const remember = (key, value) => {
  kept[`mrprism-${key}`] = value;
};
export const remembered = (key) => kept[`mrprism-${key}`] ?? "";

// only has some fields of an object, by their names.
export const only = (names, all) =>
  Object.fromEntries(names.split(" ").map((name) => [name, all[name]]));
