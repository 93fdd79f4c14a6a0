// What the page was given, and small helpers. Labels reach the page through textContent alone.
const data = JSON.parse(document.getElementById("data").textContent);
const count = data.objects.length;
const counted = count === 1 ? "1 object" : `${formatInteger(count)} objects`;
const dimensions = data.embedding[0].length;
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

function byId(id) {
  return document.getElementById(id);
}

function element(tag, kind, content) {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (content !== undefined) made.textContent = content;
  return made;
}

// bdi keeps a label that is written from right to left from turning its surroundings round.
function labelElement(content) {
  return element("bdi", "", content);
}

function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

// A whole number with its thousands separated, as in the text of the page.
function formatInteger(value) {
  return value.toLocaleString("en-US");
}

function shortNumber(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return formatInteger(value);
  return String(Number(value.toPrecision(3)));
}

// Element (row, column) of an object's covariance, which is stored as its upper triangle.
function covariance(object, row, column) {
  const [a, b] = row <= column ? [row, column] : [column, row];
  return data.covariances[object][a * dimensions - (a * (a - 1)) / 2 + b - a];
}

// How far, in the root of the mean square, an object moves when the map is learned again from other answers.
function spread(object) {
  let trace = 0;
  for (let axis = 0; axis < dimensions; axis++) trace += covariance(object, axis, axis);
  return Math.sqrt(trace);
}

// Whether an object was put on the map after it was fitted; such objects come last.
function isPlaced(object) {
  return object >= data.fitted;
}

function matching(words) {
  const wanted = words.trim().toLocaleLowerCase();
  const found = [];
  if (wanted) data.objects.forEach((label, object) => label.toLocaleLowerCase().includes(wanted) && found.push(object));
  return found;
}
