// Small helpers that both pages share. Text reaches the page through text nodes alone, never as HTML.
const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

// An element with attributes (functions are listeners: onclick) and children (strings become text nodes).
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function vector(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

// "{done} of {all}" with its braces filled in.
export function fill(words, values) {
  return words.replace(/\{(\w+)\}/g, (braces, name) => (name in values ? String(values[name]) : braces));
}

// Copy what an element says; false where the browser does not let us (then the text is selected, to be copied by hand).
export async function copyTextOf(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    // The clipboard is closed to pages without HTTPS; the old command still works there.
    getSelection().selectAllChildren(source);
    return document.execCommand("copy");
  }
}
