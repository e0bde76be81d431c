// Elements made from data. Text goes in as text, never as markup, whatever a name contains.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export function card(title, attributes, ...children) {
  const id = `card-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  const { class: extra = "", ...rest } = attributes ?? {};
  return h("section", { class: `card ${extra}`, "aria-labelledby": id, ...rest }, h("h2", { id }, title), ...children);
}

export function set(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Run at most once in so many milliseconds; the last call always runs.
export function throttle(run, pause) {
  let timer = null, again = false;
  return () => {
    if (timer !== null) { again = true; return; }
    run();
    timer = setTimeout(function due() {
      timer = null;
      if (again) { again = false; run(); timer = setTimeout(due, pause); }
    }, pause);
  };
}
