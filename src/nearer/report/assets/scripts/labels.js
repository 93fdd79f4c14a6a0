// Which labels are written, and where: each takes the first free place around its dot, or is left out.
// The most crowded dots choose first; those in the open find room later.
const DIRECTIONS = [[1, 0], [-1, 0], [0, -1], [0, 1], [1, -0.8], [-1, -0.8], [1, 0.8], [-1, 0.8]];
const CELL = 48;
const TALL = 7; // half the height of a label
const LONGEST = 28;
const MOST_TRIED = 3000;
const names = data.objects.map((label) => {
  const letters = Array.from(label.replace(/\s+/g, " ").trim() || "(no name)");
  return letters.length > LONGEST ? letters.slice(0, LONGEST - 1).join("") + "…" : letters.join("");
});
const widths = new Float64Array(count).fill(-1);

function widthOf(context, object) {
  if (widths[object] < 0) widths[object] = context.measureText(names[object]).width;
  return widths[object];
}

// Boxes by the cells of a grid that they touch, so that a new one meets only its neighbors.
class Taken {
  constructor() {
    this.cells = new Map();
  }

  *keys(box) {
    for (let x = Math.floor(box[0] / CELL); x <= Math.floor(box[2] / CELL); x++) {
      for (let y = Math.floor(box[1] / CELL); y <= Math.floor(box[3] / CELL); y++) yield x * 65536 + y;
    }
  }

  add(box) {
    for (const key of this.keys(box)) {
      if (!this.cells.has(key)) this.cells.set(key, []);
      this.cells.get(key).push(box);
    }
  }

  meets(box, owner) {
    for (const key of this.keys(box)) {
      for (const other of this.cells.get(key) || []) {
        if (other[4] !== owner && other[0] < box[2] && other[2] > box[0] && other[1] < box[3] && other[3] > box[1]) return true;
      }
    }
    return false;
  }
}

function inView(object, room) {
  const [x, y] = [scene.xs[object], scene.ys[object]];
  return x > -room && y > -room && x < scene.width + room && y < scene.height + room;
}

// Offsets of the labels from their dots. Those of `first` may lie on dots, and the very first is always written.
function placeLabels(context, reach, first, wanted) {
  const taken = new Taken();
  const visible = [];
  for (let object = 0; object < count; object++) {
    if (!inView(object, 20)) continue;
    const [x, y] = [scene.xs[object], scene.ys[object]];
    taken.add([x - reach, y - reach, x + reach, y + reach, object]);
    if (wanted(object)) visible.push(object);
  }
  visible.sort((a, b) => (data.distances[a][0] || 0) - (data.distances[b][0] || 0));
  const placed = new Map();
  const written = new Taken();
  for (const object of first) {
    const offset = findRoom(context, written, object, reach) || (object === first[0] ? [0, -reach - 10] : null);
    if (!offset) continue;
    placed.set(object, offset);
    taken.add(boxOf(context, object, offset));
  }
  for (const object of visible.slice(0, MOST_TRIED)) {
    const offset = placed.has(object) ? null : findRoom(context, taken, object, reach);
    if (offset) placed.set(object, offset);
  }
  return placed;
}

function boxOf(context, object, [dx, dy]) {
  const [x, y, half] = [scene.xs[object] + dx, scene.ys[object] + dy, widthOf(context, object) / 2 + 1];
  return [x - half, y - TALL, x + half, y + TALL, object];
}

function findRoom(context, taken, object, reach) {
  const half = widthOf(context, object) / 2 + 1;
  for (const [across, up] of DIRECTIONS) {
    const offset = [across * (half + reach + 3), up * (TALL + reach + 1)];
    const box = boxOf(context, object, offset);
    const inside = box[0] >= 2 && box[1] >= 2 && box[2] <= scene.width - 2 && box[3] <= scene.height - 2;
    if (!inside || taken.meets(box, object)) continue;
    taken.add(box);
    return offset;
  }
  return null;
}
