// Dimensions with a meaning: cards, names that are kept in this browser, profiles of objects and what two objects share.
const MOST_BARS = 8;
const MOST_PICTURES = 6;
const MOST_LINES = 12; // rows of a profile
const MOST_LETTERS = 200;
const dimensionNames = data.weights ? keptNames() : [];

function keptNames() {
  try {
    const kept = JSON.parse(window.localStorage.getItem(data.weights.key));
    if (Array.isArray(kept) && kept.length === dimensions) return kept.map((name) => String(name).slice(0, MOST_LETTERS));
  } catch {
    // A browser may keep nothing of a page that was opened from a disk.
  }
  return data.weights.names.slice();
}

function keepNames() {
  try {
    window.localStorage.setItem(data.weights.key, JSON.stringify(dimensionNames));
    return true;
  } catch {
    return false;
  }
}

function axisName(axis) {
  return (data.weights && dimensionNames[axis]) || `${data.weights ? "dimension" : "axis"} ${axis + 1}`;
}

// The interval of a positive weight; of others, and of objects that were placed later, the page knows none.
function weightInterval(object, dimension) {
  const [weights, ends] = [data.embedding[object], (data.weights.intervals || [])[object]];
  if (!ends || !(weights[dimension] > 0)) return null;
  const before = weights.slice(0, dimension).filter((weight) => weight > 0).length;
  return ends.slice(2 * before, 2 * before + 2);
}

// The largest of some values above 0, with their places.
function largest(values, number) {
  const found = values.map((value, place) => ({ value, place })).filter(({ value }) => value > 0);
  return found.sort((a, b) => b.value - a.value).slice(0, number);
}

function weightBar(value, scale, ends) {
  const bar = element("span", "weight");
  const share = (number) => `${100 * clamp(number / scale, 0, 1)}%`;
  const fill = element("i", "fill");
  fill.style.width = share(value);
  bar.append(fill);
  if (ends) {
    const whisker = element("i", "whisker");
    whisker.style.left = share(ends[0]);
    whisker.style.width = `${100 * (clamp(ends[1] / scale, 0, 1) - clamp(ends[0] / scale, 0, 1))}%`;
    bar.append(whisker);
  }
  bar.setAttribute("aria-hidden", "true");
  return bar;
}

// A line of a card: what it is about, its bar, and its number with the interval for those who listen.
function weightLine(title, value, scale, ends) {
  const line = element("li");
  const number = element("small", "", value.toFixed(2));
  if (ends) {
    number.title = `95% interval ${ends[0].toFixed(2)} to ${ends[1].toFixed(2)}`;
    number.append(element("span", "hidden", `, ${number.title}`));
  }
  line.append(title, weightBar(value, scale, ends), number);
  return line;
}

function objectButton(object) {
  const button = element("button", "object");
  button.type = "button";
  if (data.thumbnails[object]) {
    const picture = element("img");
    [picture.src, picture.alt, picture.loading] = [data.thumbnails[object], "", "lazy"];
    button.append(picture);
  }
  button.append(labelElement(data.objects[object]));
  button.addEventListener("click", () => {
    actions.choose(object);
    byId("profile-title").scrollIntoView({ behavior: calm.matches ? "auto" : "smooth", block: "nearest" });
  });
  return button;
}

function titleOf(dimension) {
  const title = labelElement(axisName(dimension));
  title.dataset.names = String(dimension);
  return title;
}

function dimensionCard(dimension, scale) {
  const card = element("article", "card");
  const title = element("h3");
  title.append(titleOf(dimension));
  card.append(title);
  if (data.weights.reproducibility) {
    const value = data.weights.reproducibility[dimension];
    const grade = data.weights.grades[dimension];
    const words = data.weights.counts[dimension] ? `reproducibility ${grade}, ${value.toFixed(2)}` : `${grade}, ${value.toFixed(2)}`;
    card.append(element("p", "hint", words));
  }
  card.append(nameField(dimension));
  const column = data.embedding.map((weights) => weights[dimension]);
  const pictured = Object.keys(data.thumbnails).length > 0;
  const list = element("ol", pictured ? "tops pictured" : "tops");
  for (const { value, place } of largest(column, pictured ? MOST_PICTURES : MOST_BARS)) {
    list.append(weightLine(objectButton(place), value, scale, weightInterval(place, dimension)));
  }
  card.append(list);
  return card;
}

function nameField(dimension) {
  const label = element("label", "naming");
  const input = element("input");
  [input.type, input.value, input.maxLength, input.placeholder] = ["text", dimensionNames[dimension], MOST_LETTERS, "name it"];
  [input.autocomplete, input.spellcheck] = ["off", true];
  const problem = element("small", "problem");
  problem.setAttribute("role", "alert");
  label.append(element("span", "hidden", `Name of dimension ${dimension + 1}`), input, problem);
  input.addEventListener("input", () => {
    const name = input.value.replace(/\s+/g, " ").trim();
    const taken = name === "object" || data.embedding[0].some((_, other) => other !== dimension && axisName(other) === name);
    input.setAttribute("aria-invalid", String(taken));
    problem.textContent = taken ? "another column has this name" : "";
    if (taken) return;
    dimensionNames[dimension] = name;
    if (!keepNames()) problem.textContent = "this browser does not keep names; download them";
    document.querySelectorAll(`[data-names="${dimension}"]`).forEach((title) => (title.textContent = axisName(dimension)));
  });
  return label;
}

function profileLines(object, number) {
  const top = largest(data.embedding[object], number);
  const list = element("ol", "tops");
  const scale = Math.max(0, ...top.map(({ value, place }) => Math.max(value, ...(weightInterval(object, place) || []))));
  for (const { value, place } of top) list.append(weightLine(titleOf(place), value, scale, weightInterval(object, place)));
  return list;
}

function profileCard(object) {
  const card = element("article", "card");
  const title = element("h4");
  title.append(labelElement(data.objects[object]));
  const more = data.embedding[object].filter((weight) => weight > 0).length - MOST_LINES;
  card.append(title, profileLines(object, MOST_LINES));
  if (more === -MOST_LINES) card.append(element("p", "hint", "It has no weight above 0."));
  if (more > 0) card.append(element("p", "hint", `and ${more} smaller ${more === 1 ? "weight" : "weights"}`));
  return card;
}

function sharedCard(one, other) {
  const products = data.embedding[one].map((weight, dimension) => weight * data.embedding[other][dimension]);
  const total = products.reduce((sum, product) => sum + product, 0);
  const card = element("article", "card");
  card.append(element("h4", "", `Similarity ${shortNumber(Number(total.toPrecision(3)))}`));
  const list = element("ol", "tops");
  for (const { value, place } of largest(products, MOST_LINES)) {
    const line = weightLine(titleOf(place), value, total, null);
    line.lastChild.textContent = `${Math.round((100 * value) / total)}%`;
    list.append(line);
  }
  card.append(total > 0 ? list : element("p", "hint", "They have no dimension in common."));
  return card;
}

function showProfile(object) {
  if (!data.weights || object < 0) return;
  const [select, other] = [byId("profile-object"), byId("profile-other")];
  select.value = String(object);
  const cards = [profileCard(object)];
  if (other.value && other.value !== String(object)) cards.push(profileCard(Number(other.value)), sharedCard(object, Number(other.value)));
  byId("profile").replaceChildren(...cards);
}

function makeDimensions() {
  if (!data.weights) return;
  const rows = [...data.embedding, ...(data.weights.intervals || [])];
  const scale = rows.reduce((most, row) => row.reduce((a, b) => Math.max(a, b), most), 0) || 1;
  data.weights.counts.forEach((counts, dimension) => byId(counts ? "cards" : "other-cards").append(dimensionCard(dimension, scale)));
  const [select, other] = [byId("profile-object"), byId("profile-other")];
  const options = () => data.objects.map((label, object) => new Option(label, String(object)));
  select.append(...options());
  other.append(new Option("nothing", ""), ...options());
  select.addEventListener("change", () => actions.choose(Number(select.value)));
  other.addEventListener("change", () => showProfile(Number(select.value)));
  showProfile(0);
}

function namesTable() {
  const reproducibility = data.weights.reproducibility || [];
  return [["dimension", "name", "reproducibility"], ...dimensionNames.map((name, k) => [k + 1, inert(name), reproducibility[k] ?? ""])];
}
