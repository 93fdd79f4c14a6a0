// Colors of the dots, told apart with any kind of color vision: those of Okabe and Ito for categories, and from blue to
// yellow, ever lighter, for numbers; both are seen on white and on black.
const CATEGORIES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];
const SHAPES = ["circle", "square", "triangle", "diamond"];
const SEQUENCE = ["#3564b0", "#5b7299", "#7f8389", "#a59c74", "#d0bd5f", "#fee838"];
const MISSING = "#9a9a9a";
const HEX = /^#[0-9a-f]{6}$/i;
const LEGEND_ROWS = 28;

function mixed(share) {
  const place = clamp(share, 0, 1) * (SEQUENCE.length - 1);
  const first = Math.min(Math.floor(place), SEQUENCE.length - 2);
  const channel = (hex, start) => parseInt(hex.slice(start, start + 2), 16);
  const blend = [1, 3, 5].map((start) => {
    const [a, b] = [channel(SEQUENCE[first], start), channel(SEQUENCE[first + 1], start)];
    return Math.round(a + (b - a) * (place - first));
  });
  return `rgb(${blend.join(",")})`;
}

// What a column makes of the dots: a color and a shape for each object, and the legend that explains them.
function paintBy(name) {
  if (!name) return { colors: null, shapes: null, legend: null };
  const values = data.attributes[name];
  const present = values.filter((value) => value !== null);
  if (present.length && present.every((value) => typeof value === "number")) return paintByNumber(name, values, present);
  if (present.length && present.every((value) => HEX.test(value))) {
    return { colors: values.map((value) => value || MISSING), shapes: null, legend: null };
  }
  return paintByCategory(name, values);
}

function paintByNumber(name, values, present) {
  const low = present.reduce((a, b) => Math.min(a, b));
  const high = present.reduce((a, b) => Math.max(a, b));
  const share = (value) => (high > low ? (value - low) / (high - low) : 0.5);
  return {
    colors: values.map((value) => (value === null ? MISSING : mixed(share(value)))),
    shapes: null,
    legend: { name, low, high, missing: present.length < values.length },
  };
}

function paintByCategory(name, values) {
  const sizes = new Map();
  values.forEach((value) => value !== null && sizes.set(String(value), (sizes.get(String(value)) || 0) + 1));
  // The most frequent first; beyond seven colors come other shapes, beyond all shapes grey.
  const names = [...sizes.keys()].sort((a, b) => sizes.get(b) - sizes.get(a) || collator.compare(a, b));
  const rows = names.slice(0, CATEGORIES.length * SHAPES.length).map((value, place) => ({
    value,
    size: sizes.get(value),
    color: CATEGORIES[place % CATEGORIES.length],
    shape: SHAPES[Math.floor(place / CATEGORIES.length)],
  }));
  const found = new Map(rows.map((row) => [row.value, row]));
  const look = (value) => (value === null ? undefined : found.get(String(value)));
  const rest = values.filter((value) => !look(value)).length;
  if (rest) rows.push({ value: names.length > found.size ? "others" : "not known", size: rest, color: MISSING, shape: "circle" });
  return {
    colors: values.map((value) => (look(value) ? look(value).color : MISSING)),
    shapes: values.map((value) => (look(value) ? look(value).shape : "circle")),
    legend: { name, rows },
  };
}

function drawLegend(legend) {
  const root = byId("legend");
  root.replaceChildren();
  if (!legend) return;
  const title = element("h3");
  title.append(labelElement(legend.name));
  root.append(title);
  if (legend.rows) {
    const list = element("ul");
    legend.rows.slice(0, LEGEND_ROWS + 1).forEach((row) => {
      const line = element("li");
      const swatch = element("i", `swatch ${row.shape}`);
      swatch.style.backgroundColor = row.color;
      line.append(swatch, labelElement(row.value), element("small", "", formatInteger(row.size)));
      list.append(line);
    });
    root.append(list);
    return;
  }
  const ramp = element("div", "ramp");
  ramp.style.backgroundImage = `linear-gradient(to right, ${SEQUENCE.join(",")})`;
  const ends = element("div", "ends");
  ends.append(element("span", "", shortNumber(legend.low)), element("span", "", shortNumber(legend.high)));
  root.append(ramp, ends);
  if (legend.missing) root.append(element("small", "", "grey: not known"));
}
