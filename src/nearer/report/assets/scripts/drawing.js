// One picture of the map. Labels stay with their dots while the map moves, and are placed anew when it rests.
const canvas = byId("canvas");
let context = canvas.getContext("2d");
const FONT = '12.5px system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif';
const REST = 140;
const HEAVY = 1000;
const look = {
  labels: true,
  ellipses: true,
  images: true,
  paint: paintBy(null),
  found: null, // objects that the search box names, or null without a search
  chosen: -1, // clicked, searched for or reached by keys
  hovered: -1,
};
const everyObject = data.objects.map((_, object) => object);
const images = loadImages();
let placed = new Map();
let resting = 0;
let frame = 0;

function loadImages() {
  const loaded = new Map();
  for (const [object, address] of Object.entries(data.thumbnails)) {
    const image = new Image();
    image.addEventListener("load", () => {
      loaded.set(Number(object), image);
      redraw();
    });
    image.src = address;
  }
  return loaded;
}

// Draw at the next frame; `moving` puts off what takes long until the map rests.
function redraw(moving = false) {
  window.clearTimeout(resting);
  resting = moving ? window.setTimeout(() => redraw(), REST) : 0;
  if (!moving) placed = null;
  if (!frame) frame = window.requestAnimationFrame(drawNow);
}

function fitCanvas(density) {
  const box = canvas.getBoundingClientRect();
  if (!box.width || !box.height) return;
  [scene.width, scene.height] = [box.width, box.height];
  const [width, height] = [Math.round(box.width * density), Math.round(box.height * density)];
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  context.setTransform(density, 0, 0, density, 0, 0);
}

function drawNow(_, density = window.devicePixelRatio || 1) {
  frame = 0;
  fitCanvas(density);
  drawMap();
}

// Draw elsewhere than on the screen: on another canvas, or as shapes and words.
function drawOn(surface, draw) {
  const onScreen = context;
  context = surface;
  try {
    draw();
  } finally {
    context = onScreen;
  }
}

function drawMap() {
  project();
  const style = window.getComputedStyle(document.documentElement);
  const ink = (name) => style.getPropertyValue(`--${name}`).trim();
  const colors = { ink: ink("ink"), paper: ink("paper"), faint: ink("faint"), accent: ink("accent"), dot: ink("second"), edge: ink("edge") };
  const radius = dotRadius();
  context.clearRect(0, 0, scene.width, scene.height);
  if (scene.shown === 3) drawAxes(colors);
  const active = activeObject();
  const all = look.ellipses && !(resting && count > HEAVY);
  const regions = all ? everyObject.filter((object) => !scene.allLarge && !scene.large[object]) : [];
  if (active >= 0 && !regions.includes(active)) regions.push(active);
  if (data.covariances) drawRegions(regions, active, colors);
  if (active >= 0) drawTies(active, colors);
  drawObjects(radius, colors);
  if (active >= 0) drawRing(active, radius, colors);
  if (placed === null) placed = look.labels || active >= 0 || look.found ? layOut(active, radius) : new Map();
  drawLabels(colors);
}

function dotRadius() {
  const room = Math.sqrt(scene.width * scene.height);
  return clamp(((0.12 * room) / Math.sqrt(count)) * Math.min(scene.zoom, 40) ** 0.4, 1.8, 8);
}

function imageSize() {
  return clamp(34 * Math.min(scene.width / 500, 1) * Math.sqrt(scene.zoom), 20, 140);
}

function activeObject() {
  return look.hovered >= 0 ? look.hovered : look.chosen;
}

function isDimmed(object) {
  const active = activeObject();
  const near = active >= 0 && (active === object || data.neighbors[active].includes(object));
  return look.found !== null && !near && !look.found.has(object);
}

function colorOf(object, colors) {
  return look.paint.colors ? look.paint.colors[object] : colors.dot;
}

// In three dimensions the far ones are smaller and paler, and are drawn first.
function nearness(object) {
  return scene.shown === 3 ? clamp(0.5 + scene.depths[object] / (2 * scene.radius), 0, 1) : 1;
}

function drawAxes(colors) {
  context.strokeStyle = context.fillStyle = colors.faint;
  context.lineWidth = 1;
  context.font = FONT;
  const [x, y, z] = scene.center;
  const length = 0.9 * scene.radius;
  [[1, 0, 0], [0, 1, 0], [0, 0, 1]].forEach((way, place) => {
    const end = placeOf(...way.map((step, axis) => [x, y, z][axis] + step * length));
    const start = placeOf(...way.map((step, axis) => [x, y, z][axis] - step * length));
    context.beginPath();
    context.moveTo(start[0], start[1]);
    context.lineTo(end[0], end[1]);
    context.stroke();
    context.fillText(`axis ${scene.axes[place] + 1}`, end[0] + 4, end[1] - 4);
  });
}

function drawRegions(objects, active, colors) {
  const size = unit();
  const shade = clamp(1.3 / Math.sqrt(count), 0.03, 0.18);
  for (const object of objects) {
    const region = regionOf(object);
    if (!inView(object, region.long * size)) continue;
    context.globalAlpha = object === active ? 0.4 : isDimmed(object) ? 0.03 : shade * (0.4 + 0.6 * nearness(object));
    context.fillStyle = colorOf(object, colors);
    context.beginPath();
    // A map of one dimension has intervals: ellipses of no height, which are given that of a thin bar.
    context.ellipse(scene.xs[object], scene.ys[object], region.long * size, Math.max(region.short * size, 2), region.angle, 0, 2 * Math.PI);
    if (isPlaced(object)) {
      context.strokeStyle = colorOf(object, colors);
      context.lineWidth = 1.2;
      context.globalAlpha = isDimmed(object) ? 0.15 : 0.8;
      context.setLineDash([4, 3]);
      context.stroke();
      context.setLineDash([]);
    } else context.fill();
  }
  context.globalAlpha = 1;
}

function drawTies(active, colors) {
  context.strokeStyle = colors.accent;
  context.lineWidth = 1.2;
  data.neighbors[active].forEach((other, rank) => {
    context.globalAlpha = 0.9 - 0.13 * rank;
    context.beginPath();
    context.moveTo(scene.xs[active], scene.ys[active]);
    context.lineTo(scene.xs[other], scene.ys[other]);
    context.stroke();
  });
  context.globalAlpha = 1;
}

function drawObjects(radius, colors) {
  const order = scene.shown === 3 ? everyObject.slice().sort((a, b) => scene.depths[a] - scene.depths[b]) : everyObject;
  context.lineWidth = 0.8;
  context.strokeStyle = colors.edge;
  for (const object of order) {
    if (!inView(object, 80)) continue;
    const near = nearness(object);
    context.globalAlpha = isDimmed(object) ? 0.15 : 0.45 + 0.55 * near;
    if (look.images && images.has(object)) {
      drawImage(object, colors);
      continue;
    }
    if (scene.large[object] && !scene.allLarge) context.globalAlpha /= 2; // known less than the others
    context.fillStyle = colorOf(object, colors);
    traceShape(look.paint.shapes ? look.paint.shapes[object] : "circle", scene.xs[object], scene.ys[object], radius * (0.7 + 0.3 * near));
    if (isPlaced(object)) drawHollow(radius, colors, object);
    else {
      context.fill();
      if (!(resting && count > HEAVY)) context.stroke();
    }
  }
  context.globalAlpha = 1;
}

// The shape that was traced last, as a ring: an object that was placed on the map after it was fitted.
function drawHollow(radius, colors, object) {
  context.save();
  context.fillStyle = colors.paper;
  context.fill();
  context.strokeStyle = colorOf(object, colors);
  context.lineWidth = clamp(radius / 2.5, 1.2, 3);
  context.stroke();
  context.restore();
}

function traceShape(shape, x, y, r) {
  context.beginPath();
  if (shape === "circle") context.arc(x, y, r, 0, 2 * Math.PI);
  else if (shape === "square") context.rect(x - 0.88 * r, y - 0.88 * r, 1.76 * r, 1.76 * r);
  else {
    const corners = shape === "triangle" ? [[0, -1.25], [1.1, 0.75], [-1.1, 0.75]] : [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]];
    corners.forEach(([dx, dy]) => context.lineTo(x + dx * r, y + dy * r));
    context.closePath();
  }
}

function drawImage(object, colors) {
  const image = images.get(object);
  const [wide, tall] = [image.naturalWidth || 1, image.naturalHeight || 1]; // an SVG may have no size of its own
  const scale = imageSize() / Math.max(wide, tall);
  const [width, height] = [wide * scale, tall * scale];
  const [x, y] = [scene.xs[object] - width / 2, scene.ys[object] - height / 2];
  context.drawImage(image, x, y, width, height);
  if (!look.paint.colors) return;
  context.save();
  context.strokeStyle = colorOf(object, colors);
  context.lineWidth = 3;
  context.strokeRect(x - 1.5, y - 1.5, width + 3, height + 3);
  context.restore();
}

function drawRing(active, radius, colors) {
  const image = look.images && images.has(active);
  context.strokeStyle = colors.accent;
  context.lineWidth = 2.5;
  context.beginPath();
  context.arc(scene.xs[active], scene.ys[active], image ? imageSize() * 0.72 : radius + 4, 0, 2 * Math.PI);
  context.stroke();
}

function layOut(active, radius) {
  context.font = FONT;
  const first = active >= 0 ? [active, ...data.neighbors[active]] : [];
  const found = look.found && look.found.size ? look.found : null;
  const reach = look.images && images.size ? imageSize() / 2 : radius + 1;
  return placeLabels(context, reach, first, (object) => (found ? found.has(object) : look.labels));
}

function drawLabels(colors) {
  context.font = FONT;
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 3;
  context.textAlign = "center";
  for (const [object, [dx, dy]] of placed) {
    if (!inView(object, 200)) continue;
    context.globalAlpha = 0.4 + 0.6 * nearness(object);
    context.strokeStyle = colors.paper;
    context.strokeText(names[object], scene.xs[object] + dx, scene.ys[object] + dy);
    context.fillStyle = object === activeObject() ? colors.accent : colors.ink;
    context.fillText(names[object], scene.xs[object] + dx, scene.ys[object] + dy);
  }
  context.globalAlpha = 1;
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
}
