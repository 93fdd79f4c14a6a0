// What can be taken from the page as a file: the map as it is shown, its table, and the distances between all objects.
const MOST_PAIRED = 2000; // a table of more objects against each other is too large for a page to make
const SHARP = 3;
const FORMULA = /^'*[=+\-@\t\r]/; // what a spreadsheet would take for one
const files = {
  svg: { name: "map.svg", make: async () => new Blob([vectorMap()], { type: "image/svg+xml" }) },
  png: { name: "map.png", make: pixelMap },
  table: { name: data.weights ? "dimensions.csv" : "embedding.csv", make: async () => asCsv(positions()) },
  names: { name: "dimension-names.csv", make: async () => asCsv(namesTable()) },
  matrix: { name: "distances.csv", make: async () => asCsv(distanceMatrix()) },
};

// Figures are for paper, whatever the screen is: dark on white.
function onPaper(draw) {
  document.documentElement.classList.add("printing");
  try {
    return draw();
  } finally {
    document.documentElement.classList.remove("printing");
    redraw();
  }
}

function vectorMap() {
  const { root } = onPaper(() => {
    const surface = new VectorContext(scene.width + keyWidth(), scene.height, context, FONT);
    placed = null;
    drawOn(surface, () => {
      drawMap();
      drawKey();
    });
    return surface;
  });
  root.setAttribute("role", "img");
  root.setAttribute("aria-label", `Map of ${counted}`);
  return new XMLSerializer().serializeToString(root);
}

function pixelMap() {
  const copy = element("canvas");
  onPaper(() => {
    placed = null;
    drawNow(0, SHARP);
    [copy.width, copy.height] = [canvas.width + SHARP * keyWidth(), canvas.height];
    const paper = copy.getContext("2d");
    paper.fillStyle = "#ffffff";
    paper.fillRect(0, 0, copy.width, copy.height);
    paper.drawImage(canvas, 0, 0);
    paper.setTransform(SHARP, 0, 0, SHARP, 0, 0);
    drawOn(paper, drawKey);
  });
  return new Promise((resolve) => copy.toBlob(resolve, "image/png"));
}

// The same columns as in the file of that name that `nearer fit` writes, in six digits.
function positions() {
  const axes = Array.from({ length: dimensions }, (_, axis) => axis);
  const deviations = data.covariances ? axes : [];
  const head = ["object", ...axes.map((axis) => (data.weights ? inert(axisName(axis)) : `x${axis + 1}`)), ...deviations.map((axis) => `sd${axis + 1}`)];
  const row = (label, object) => [
    inert(label),
    ...data.embedding[object],
    ...deviations.map((axis) => Number(Math.sqrt(covariance(object, axis, axis)).toPrecision(6))),
  ];
  return [head, ...data.objects.map(row)];
}

function distanceMatrix() {
  const between = (a, b) => {
    let squares = 0;
    for (let axis = 0; axis < dimensions; axis++) squares += (data.embedding[a][axis] - data.embedding[b][axis]) ** 2;
    return Number(Math.sqrt(squares).toPrecision(6));
  };
  return [
    ["object", ...data.objects.map(inert)],
    ...data.objects.map((label, object) => [inert(label), ...data.objects.map((_, other) => between(object, other))]),
  ];
}

function inert(label) {
  return FORMULA.test(label) ? `'${label}` : label;
}

function asCsv(rows) {
  const cell = (value) => (typeof value === "string" && /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : String(value));
  return new Blob(rows.map((row) => `${row.map(cell).join(",")}\r\n`), { type: "text/csv;charset=utf-8" });
}

async function saveFile(kind) {
  const link = element("a");
  link.href = URL.createObjectURL(await files[kind].make());
  link.download = files[kind].name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  byId("status").textContent = `${files[kind].name} is saved.`;
}

function listenToSaving() {
  byId("saves").hidden = false;
  document.querySelectorAll("[data-saves]").forEach((button) => {
    button.hidden = button.dataset.saves === "matrix" && (count > MOST_PAIRED || data.weights !== null);
    button.addEventListener("click", async () => {
      const words = button.textContent;
      button.textContent = "making it …"; // a table of two thousand objects takes seconds
      await new Promise((resolve) => window.setTimeout(resolve, 30));
      await saveFile(button.dataset.saves).finally(() => (button.textContent = words));
    });
  });
}
