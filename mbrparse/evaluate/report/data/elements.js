// Elements are made one by one, so that labels and words are always text.

function made(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

function html(name, attributes, ...children) {
  return made(document.createElement(name), attributes, children);
}

function svg(name, attributes, ...children) {
  return made(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function bdi(text) {
  return html("bdi", {}, text);
}

const canvas = document.createElement("canvas").getContext("2d");

// How wide a text is, in pixels.
function widthOf(text, size, weight = "400") {
  canvas.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return canvas.measureText(text).width;
}

// Whether a text is written from right to left: its first letter with a direction says so.
function isRightToLeft(text) {
  const strong = text.match(/\p{L}/u);
  return strong !== null && /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u.test(strong[0]);
}
