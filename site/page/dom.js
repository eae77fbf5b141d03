// Shorthands for the document.
export const $ = (id) => document.getElementById(id);

export const all = (selector) => [...document.querySelectorAll(selector)];

// element makes an element with fields and children, which are elements or texts.
export function element(tag, fields, ...children) {
  const made = Object.assign(document.createElement(tag), fields);
  made.append(...children);
  return made;
}
