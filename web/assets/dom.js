// Creates elements. Text always becomes text nodes; nothing in the page turns a string into
// markup.

/**
 * Creates an element: h('div', {class: 'x', onclick: f, title: t}, child, …).
 * Attributes and children that are null or false are omitted; a string becomes a text
 * node.
 */
export function h(tag, attrs, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs ?? {})) {
    if (value == null || value === false) continue;
    if (name.startsWith('on')) el.addEventListener(name.slice(2), value);
    else if (name === 'value' || name === 'checked') el[name] = value;
    else el.setAttribute(name, value === true ? '' : value);
  }
  add(el, children);
  return el;
}

function add(el, children) {
  for (const child of children) {
    if (Array.isArray(child)) add(el, child);
    else if (child != null && child !== false) el.append(child);
  }
}

const svgSpace = 'http://www.w3.org/2000/svg';

/** Like h, for SVG. */
export function svg(tag, attrs, ...children) {
  const el = document.createElementNS(svgSpace, tag);
  for (const [name, value] of Object.entries(attrs ?? {})) if (value != null) el.setAttribute(name, value);
  add(el, children);
  return el;
}

/** Replaces the content of an element. */
export function fill(el, ...children) {
  el.replaceChildren();
  add(el, children);
  return el;
}

/**
 * Draws the content of an element. A focus inside stays on its element, or moves to the
 * one at the same place, or to another one.
 */
export function keepFocus(el, draw, another) {
  const had = document.activeElement;
  const all = () => [...el.querySelectorAll('[tabindex="0"], button:not([tabindex])')];
  const at = all().indexOf(had);
  const within = had !== el && el.contains(had);
  draw();
  if (within && document.activeElement !== had) (had.isConnected ? had : (all()[at] ?? another()))?.focus({ preventScroll: true });
}

/** Sets a text if it differs, because setting it costs layout. */
export function setText(el, text) {
  if (el.firstChild?.nodeValue !== text || el.childNodes.length > 1) el.textContent = text;
}

/** Sets or removes an attribute if that changes it. */
export function setAttr(el, name, value) {
  if (value == null || value === false) {
    if (el.hasAttribute(name)) el.removeAttribute(name);
  } else if (el.getAttribute(name) !== String(value)) el.setAttribute(name, value);
}

let region;

/** Announces a text to screen readers. */
export function announce(text) {
  region ??= document.getElementById('announce');
  region.textContent = text;
}
