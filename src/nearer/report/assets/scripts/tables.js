// Tables that are searched, sorted and paged. A column has a title, a value to sort by and a way to fill its cell.
const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
const PAGE = 25;
const PRINTED = 200;

function compareValues(a, b) {
  const missing = (value) => value === null || value === undefined;
  if (missing(a) || missing(b)) return missing(a) - missing(b);
  return typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b));
}

function makeTable(root, { name, columns, rows, searched }) {
  const state = { words: "", column: null, down: false, first: 0, size: PAGE };
  const table = element("table");
  const body = element("tbody");
  const counter = element("span", "counter");
  const headings = columns.map((column) => makeHeading(column, state, draw));
  const head = element("thead");
  head.append(element("tr"));
  head.firstChild.append(...headings);
  table.append(element("caption", "hidden", name), head, body);
  const scroller = element("div", "scroller");
  scroller.tabIndex = 0;
  scroller.setAttribute("role", "region");
  scroller.setAttribute("aria-label", name);
  scroller.append(table);
  const pager = makePager(state, counter, draw);
  if (rows.length > 8) root.append(makeSearch(name, state, draw));
  const more = element("p", "hint sideways", "More columns: swipe or scroll the table sideways.");
  more.hidden = true;
  root.append(scroller, more, pager.bar);
  new ResizeObserver(() => (more.hidden = scroller.scrollWidth <= scroller.clientWidth + 1)).observe(scroller);

  function chosenRows() {
    const wanted = state.words.trim().toLocaleLowerCase();
    const kept = wanted ? rows.filter((row) => searched(row).toLocaleLowerCase().includes(wanted)) : rows.slice();
    if (state.column) {
      const { value } = state.column;
      kept.sort((a, b) => {
        const order = compareValues(value(a), value(b));
        const known = value(a) !== null && value(b) !== null;
        return state.down && known ? -order : order; // what is missing stays last
      });
    }
    return kept;
  }

  function draw() {
    const kept = chosenRows();
    state.first = clamp(state.first, 0, Math.max(kept.length - 1, 0));
    const shown = kept.slice(state.first, state.first + state.size);
    body.replaceChildren(...shown.map((row) => makeRow(columns, row)));
    headings.forEach((heading, place) => {
      const sorted = columns[place] === state.column;
      heading.setAttribute("aria-sort", sorted ? (state.down ? "descending" : "ascending") : "none");
    });
    const last = state.first + shown.length;
    counter.textContent = kept.length ? `${formatInteger(state.first + 1)}–${formatInteger(last)} of ${formatInteger(kept.length)}` : "nothing matches";
    pager.update(kept.length, last);
  }

  let sizeOnScreen = PAGE;
  window.addEventListener("beforeprint", () => {
    sizeOnScreen = state.size;
    state.size = Math.max(state.size, PRINTED);
    draw();
  });
  window.addEventListener("afterprint", () => {
    state.size = sizeOnScreen;
    draw();
  });
  draw();
}

function makeHeading(column, state, draw) {
  const cell = element("th", column.numeric ? "numeric" : "");
  cell.scope = "col";
  if (!column.value) {
    cell.textContent = column.title;
    return cell;
  }
  const button = element("button", "sort", column.title);
  button.type = "button";
  button.addEventListener("click", () => {
    state.down = state.column === column ? !state.down : false;
    state.column = column;
    state.first = 0;
    draw();
  });
  cell.append(button);
  if (column.scale) {
    cell.classList.add("measured");
    cell.append(column.scale());
  }
  return cell;
}

function makeRow(columns, row) {
  const line = element("tr");
  columns.forEach((column, place) => {
    const cell = element(place === 0 ? "th" : "td", column.numeric ? "numeric" : "");
    if (place === 0) cell.scope = "row";
    if (column.fill) column.fill(cell, row);
    else cell.append(labelElement(shortNumber(column.value(row))));
    line.append(cell);
  });
  return line;
}

function makeSearch(name, state, draw) {
  const label = element("label", "search");
  const input = element("input");
  input.type = "search";
  input.placeholder = "filter rows";
  input.setAttribute("aria-label", `Filter: ${name}`);
  input.addEventListener("input", () => {
    state.words = input.value;
    state.first = 0;
    draw();
  });
  label.append(element("span", "", "Filter"), input);
  return label;
}

function makePager(state, counter, draw) {
  const bar = element("div", "pager");
  const add = (words, act) => {
    const button = element("button", "", words);
    button.type = "button";
    button.addEventListener("click", () => {
      act();
      draw();
    });
    return button;
  };
  const back = add("Previous", () => (state.first -= state.size));
  const on = add("Next", () => (state.first += state.size));
  const all = add("Show all", () => {
    state.size = Infinity;
    state.first = 0;
  });
  bar.append(counter, back, on, all);
  const update = (total, last) => {
    back.hidden = on.hidden = all.hidden = total <= state.size;
    back.disabled = state.first === 0;
    on.disabled = last >= total;
  };
  return { bar, update };
}

// A person's error with its interval, as a bar from 0 to 1 and in figures; the bar shows where chance is.
function fillInterval(cell, person) {
  const share = (value) => `${100 * clamp(value, 0, 1)}%`;
  const bar = element("span", "interval");
  if (person.low !== null && person.high !== null) {
    const whisker = element("i", "whisker");
    whisker.style.left = share(person.low);
    whisker.style.width = share(clamp(person.high, 0, 1) - clamp(person.low, 0, 1));
    bar.append(whisker);
  }
  const mark = element("i", "mark");
  mark.style.left = share(person.error);
  const chance = element("i", "chance");
  chance.style.left = share(data.chance || 0.5);
  bar.append(chance, mark);
  bar.setAttribute("aria-hidden", "true");
  cell.className = "measured";
  cell.append(element("span", "figure", person.error.toFixed(3)), bar);
  if (person.low !== null && person.high !== null) cell.append(element("small", "", `${person.low.toFixed(3)} to ${person.high.toFixed(3)}`));
}

// The axis of the bars, above them.
function makeScale() {
  const scale = element("span", "interval scale");
  for (const [value, words] of [[0, "0"], [data.chance || 0.5, "guessing"], [1, "1"]]) {
    const mark = element("i", "", words);
    mark.style.left = `${100 * value}%`;
    scale.append(mark);
  }
  scale.setAttribute("aria-hidden", "true");
  return scale;
}

function makeAnnotatorsTable() {
  const root = byId("annotators-table");
  if (!root) return;
  const columns = [
    { title: "Annotator", value: (person) => person.name },
    { title: "Answers", value: (person) => person.n_answers, numeric: true },
    {
      title: "Error",
      value: (person) => person.error,
      scale: makeScale,
      fill: (cell, person) => (person.error === null ? cell.append("–") : fillInterval(cell, person)),
    },
  ];
  if (data.annotators.some((person) => typeof person.median_seconds === "number")) {
    columns.push({ title: "Seconds, median", value: (person) => person.median_seconds, numeric: true });
  }
  // Beside the names, so that a narrow screen shows who is flagged.
  if (data.annotators.some((person) => (person.flags || []).length)) {
    columns.splice(1, 0, {
      title: "Flags",
      value: (person) => (person.flags || []).join(", ") || null,
      fill: (cell, person) => (person.flags || []).forEach((flag) => cell.append(element("span", "flag", flag), " ")),
    });
  }
  const searched = (person) => [person.name, ...(person.flags || [])].join(" ");
  makeTable(root, { name: "Annotators", columns, rows: data.annotators, searched });
}

function makeObjectTables(choose) {
  const objects = data.objects.map((_, object) => object);
  const nameColumn = {
    title: "Object",
    value: (object) => data.objects[object],
    fill: (cell, object) => {
      const button = element("button", "object");
      button.type = "button";
      button.title = "Show on the map";
      button.append(labelElement(data.objects[object]));
      button.addEventListener("click", () => choose(object));
      cell.append(button);
    },
  };
  const places = data.neighbors[0].map((_, place) => ({
    title: `${["1st", "2nd", "3rd", "4th", "5th"][place]} ${data.weights ? "most similar" : "nearest"}`,
    value: (object) => data.objects[data.neighbors[object][place]],
  }));
  const distance = { title: data.weights ? "Similarity" : "Distance", value: (object) => data.distances[object][0], numeric: true };
  const neighbors = byId("neighbors-table"); // a page of a map alone has none
  if (neighbors) makeTable(neighbors, {
    name: data.weights ? "Most similar objects of each object" : "Nearest neighbors of each object",
    columns: [nameColumn, ...places.slice(0, 1), ...(places.length ? [distance] : []), ...places.slice(1)],
    rows: objects,
    searched: (object) => data.objects[object],
  });
  const axes = data.embedding[0].map((_, axis) => ({
    title: data.weights ? axisName(axis) : `Axis ${axis + 1}`,
    value: (object) => data.embedding[object][axis],
    numeric: true,
  }));
  const columns = Object.entries(data.attributes).map(([title, values]) => ({
    title,
    value: (object) => values[object],
    numeric: values.some((value) => typeof value === "number"),
  }));
  const uncertainty = data.covariances ? [{ title: "Uncertainty", value: spread, numeric: true }] : [];
  const details = byId("positions");
  // Opened by few: built when it is.
  details.addEventListener(
    "toggle",
    () =>
      makeTable(byId("positions-table"), {
        name: "Positions of the objects",
        columns: [nameColumn, ...axes, ...uncertainty, ...columns],
        rows: objects,
        searched: (object) => data.objects[object],
      }),
    { once: true },
  );
}
