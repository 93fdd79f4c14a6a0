// The controls of the map, and what they do.
const MANY = 200;
const actions = {
  reach: () => (look.images && images.size ? imageSize() / 2 : 14),
  hover(object) {
    if (object === look.hovered) return;
    look.hovered = object;
    canvas.classList.toggle("pointing", object >= 0);
    showPanel(object >= 0 ? object : look.chosen, actions.reveal);
    redraw();
  },
  choose(object) {
    look.chosen = object;
    look.hovered = -1;
    showPanel(object, actions.reveal);
    showProfile(object);
    byId("status").textContent = object >= 0 ? spoken(object) : "No object is chosen.";
    redraw();
  },
  reveal(object) {
    actions.choose(object);
    if (!inView(object, -40)) glide([middle()[0] - scene.xs[object], middle()[1] - scene.ys[object]]);
  },
  step(by) {
    actions.reveal(look.chosen < 0 ? (by > 0 ? 0 : count - 1) : (look.chosen + by + count) % count);
  },
  drag(dx, dy, moves) {
    if (scene.shown === 3 && !moves) scene.turn = turned(turned(scene.turn, 1, dx / 160), 0, dy / 160);
    else scene.shift = [scene.shift[0] + dx, scene.shift[1] + dy];
    redraw(true);
  },
  zoom(factor, x, y) {
    zoomAt(factor, x, y);
    showZoom();
    redraw(true);
  },
  reset() {
    resetView();
    showZoom();
    redraw();
  },
};

function showZoom() {
  byId("zoom-level").textContent = `${Number(scene.zoom.toPrecision(2))}×`;
}

// Move the map by so many pixels: at once for those who want no motion, else within a quarter of a second.
function glide([dx, dy]) {
  const [start, from] = [performance.now(), scene.shift];
  const move = (now) => {
    const share = calm.matches ? 1 : clamp((now - start) / 250, 0, 1);
    const eased = share * (2 - share);
    scene.shift = [from[0] + dx * eased, from[1] + dy * eased];
    redraw(share < 1);
    if (share < 1) window.requestAnimationFrame(move);
  };
  move(start);
}

function listenToSearch() {
  const input = byId("find");
  const search = () => {
    const found = matching(input.value);
    look.found = input.value.trim() ? new Set(found) : null;
    byId("status").textContent = look.found ? `${formatInteger(found.length)} of ${counted} ${found.length === 1 ? "matches" : "match"}.` : "";
    redraw();
    return found;
  };
  input.addEventListener("input", search);
  byId("controls").addEventListener("submit", (event) => {
    event.preventDefault();
    const found = search();
    // A whole name goes before a part of one.
    const exact = found.find((object) => data.objects[object].toLocaleLowerCase() === input.value.trim().toLocaleLowerCase());
    if (found.length) actions.reveal(exact ?? found[0]);
  });
}

function listenToSwitches() {
  const bind = (name, present, first) => {
    const box = byId(`show-${name}`);
    byId(`${name}-choice`).hidden = !present;
    box.checked = look[name] = present && first;
    box.addEventListener("change", () => {
      look[name] = box.checked;
      redraw();
    });
  };
  bind("labels", true, true);
  bind("ellipses", data.covariances !== null, count <= MANY); // more would cover the map
  bind("images", Object.keys(data.thumbnails).length > 0, true);
}

function listenToColor() {
  const select = byId("color");
  const columns = Object.keys(data.attributes);
  byId("color-choice").hidden = columns.length === 0;
  select.append(new Option("one for all", ""), ...columns.map((name) => new Option(name, name)));
  const paint = () => {
    look.paint = paintBy(select.value);
    drawLegend(look.paint.legend);
    redraw();
  };
  select.addEventListener("change", paint);
  if (columns.length) select.value = columns[0];
  paint();
}

function listenToAxes() {
  const selects = ["Across", "Up", "Depth"].map((title, place) => {
    const [label, select] = [element("label", "choice"), element("select")];
    data.embedding[0].forEach((_, axis) => {
      const option = new Option(axisName(axis), String(axis));
      option.dataset.names = String(axis);
      select.append(option);
    });
    select.value = String(scene.axes[place]);
    select.addEventListener("change", () => {
      const axis = Number(select.value);
      const clash = scene.axes.indexOf(axis);
      if (clash >= 0) scene.axes[clash] = scene.axes[place]; // two axes of the screen swap rather than coincide
      scene.axes[place] = axis;
      update();
    });
    label.append(element("span", "", title), select);
    byId("axes").append(label);
    return select;
  });
  const update = () => {
    byId("axes").hidden = dimensions < 3;
    selects.forEach((select, place) => {
      select.value = String(scene.axes[place]);
      select.parentElement.hidden = place >= scene.shown;
    });
    measureScene();
    redraw();
  };
  byId("modes").hidden = dimensions < 3;
  byId("modes").addEventListener("change", (event) => {
    scene.shown = Number(event.target.value);
    update();
    actions.reset();
  });
  update();
}

function listenToButtons() {
  byId("zoom-in").addEventListener("click", () => actions.zoom(1.5, ...middle()));
  byId("zoom-out").addEventListener("click", () => actions.zoom(1 / 1.5, ...middle()));
  byId("zoom-reset").addEventListener("click", actions.reset);
  document.querySelectorAll(".copy").forEach((button) => {
    button.addEventListener("click", async () => {
      const done = await copyText(byId(button.dataset.copies));
      button.textContent = done ? "Copied" : "Press Ctrl+C";
      window.setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  });
}

// A page opened from a disk may not use the clipboard; then its text is selected and copied the old way.
async function copyText(source) {
  try {
    await navigator.clipboard.writeText(source.textContent.trim());
    return true;
  } catch {
    const range = document.createRange();
    range.selectNodeContents(source);
    window.getSelection().removeAllRanges();
    window.getSelection().addRange(range);
    return document.execCommand("copy");
  }
}

function listenToSurroundings() {
  new ResizeObserver(() => redraw()).observe(canvas);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw());
  // On paper the map is light and sharp, whatever it is on the screen.
  window.addEventListener("beforeprint", () => {
    document.documentElement.classList.add("printing");
    placed = null;
    drawNow(0, 3);
  });
  window.addEventListener("afterprint", () => {
    document.documentElement.classList.remove("printing");
    redraw();
  });
}

canvas.setAttribute("aria-label", `Map of ${counted}`);
resetView();
measureScene();
listenToAxes();
listenToSwitches();
listenToColor();
listenToSearch();
listenToButtons();
listenToSaving();
listenToPointers(actions);
listenToWheel(actions);
listenToKeys(actions);
listenToSurroundings();
showPanel(-1, actions.reveal);
makeObjectTables((object) => {
  byId("map").scrollIntoView({ behavior: calm.matches ? "auto" : "smooth" });
  actions.reveal(object);
});
makeAnnotatorsTable();
makeDimensions();
