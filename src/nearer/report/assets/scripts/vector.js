// A drawing surface that writes SVG instead of pixels: as much of a canvas as the map is drawn with.
// The parser of HTML knows the name of SVG's language, so that the page need not spell an address.
const SVG = new DOMParser().parseFromString("<svg></svg>", "text/html").querySelector("svg").namespaceURI;

function vectorElement(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, typeof value === "number" ? short(value) : value);
  return made;
}

function short(value) {
  return String(Number(value.toFixed(2)));
}

// Programs for drawings know rgb(), and a share of it as a number of its own, but not rgba().
function inked(name, color) {
  const found = /^rgba\(([^,]+,[^,]+,[^,]+),([^)]+)\)$/.exec(color);
  return found ? { [name]: `rgb(${found[1]})`, [`${name}-opacity`]: found[2].trim() } : { [name]: color };
}

// How far below its middle a line of words stands: not all programs know a baseline in the middle.
function middleAboveBaseline(ruler, font) {
  ruler.save();
  ruler.font = font;
  const [ascent, fromMiddle] = ["alphabetic", "middle"].map((baseline) => {
    ruler.textBaseline = baseline;
    return ruler.measureText("x").fontBoundingBoxAscent;
  });
  ruler.restore();
  return ascent - fromMiddle;
}

class VectorContext {
  constructor(width, height, ruler, font) {
    const [size, family] = font.split("px ");
    this.root = vectorElement("svg", { width, height, viewBox: `0 0 ${short(width)} ${short(height)}`, "font-family": family, "font-size": size });
    this.ruler = ruler; // a canvas, which can measure words
    this.lower = middleAboveBaseline(ruler, font);
    this.state = { globalAlpha: 1, fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, font, textAlign: "left", textBaseline: "alphabetic", dash: [] };
    this.kept = [];
    this.parts = []; // the path that is being traced
    this.halo = null;
    for (const name of Object.keys(this.state)) {
      Object.defineProperty(this, name, { get: () => this.state[name], set: (value) => (this.state[name] = value) });
    }
  }

  save() {
    this.kept.push({ ...this.state });
  }

  restore() {
    this.state = this.kept.pop() || this.state;
  }

  clearRect() {}

  setLineDash(dash) {
    this.state.dash = dash;
  }

  measureText(words) {
    this.ruler.font = this.state.font;
    return this.ruler.measureText(words);
  }

  beginPath() {
    this.parts = [];
  }

  moveTo(x, y) {
    this.parts.push(`M${short(x)} ${short(y)}`);
  }

  lineTo(x, y) {
    this.parts.push(`${this.parts.length ? "L" : "M"}${short(x)} ${short(y)}`);
  }

  closePath() {
    this.parts.push("Z");
  }

  // Circles and ellipses of the map are always whole.
  arc(x, y, radius) {
    this.parts.push(vectorElement("circle", { cx: x, cy: y, r: radius }));
  }

  ellipse(x, y, long, thin, angle) {
    const turned = { transform: `rotate(${short((angle * 180) / Math.PI)} ${short(x)} ${short(y)})` };
    this.parts.push(vectorElement("ellipse", { cx: x, cy: y, rx: long, ry: thin, ...(angle ? turned : {}) }));
  }

  rect(x, y, width, height) {
    this.parts.push(vectorElement("rect", { x, y, width, height }));
  }

  fill() {
    this.put(inked("fill", this.state.fillStyle));
  }

  // A line around what was filled just before belongs to it: one shape, which can be moved as one.
  stroke() {
    const same = this.last && this.last.parts === this.parts && this.last.alpha === this.state.globalAlpha;
    const lines = this.lines();
    if (same) this.last.made.forEach((each) => Object.entries(lines).forEach(([name, value]) => each.setAttribute(name, value)));
    else this.put({ fill: "none", ...lines });
  }

  lines() {
    const dash = this.state.dash.length ? { "stroke-dasharray": this.state.dash.join(" ") } : {};
    return { ...inked("stroke", this.state.strokeStyle), "stroke-width": short(this.state.lineWidth), ...dash };
  }

  put(paint) {
    const steps = this.parts.filter((part) => typeof part === "string").join("");
    const made = this.parts.filter((part) => typeof part !== "string").map((part) => part.cloneNode());
    if (steps) made.push(vectorElement("path", { d: steps }));
    made.forEach((each) => this.add(each, paint));
    this.last = { parts: this.parts, made, alpha: this.state.globalAlpha };
  }

  add(made, paint) {
    const alpha = this.state.globalAlpha < 1 ? { opacity: short(this.state.globalAlpha) } : {};
    for (const [name, value] of Object.entries({ ...paint, ...alpha })) made.setAttribute(name, value);
    this.root.append(made);
  }

  strokeRect(x, y, width, height) {
    this.add(vectorElement("rect", { x, y, width, height }), { fill: "none", ...this.lines() });
  }

  drawImage(image, x, y, width, height) {
    this.add(vectorElement("image", { href: image.src, x, y, width, height }), {});
  }

  // The line around letters is written with the letters, so that a label is one piece of text.
  strokeText() {
    this.halo = { stroke: this.state.strokeStyle, "stroke-width": short(this.state.lineWidth), "stroke-linejoin": "round", "paint-order": "stroke" };
  }

  fillText(words, x, y) {
    const made = vectorElement("text", { x, y: y + (this.state.textBaseline === "middle" ? this.lower : 0) });
    const anchor = { center: "middle", right: "end" }[this.state.textAlign];
    if (anchor) made.setAttribute("text-anchor", anchor);
    made.textContent = words;
    this.add(made, { fill: this.state.fillStyle, ...(this.halo || {}) });
    this.halo = null;
  }
}
