// Where things are: which axes are shown, from where, how near. Two and three dimensions are one projection,
//   place = turn * (position - center),
// whose first two rows are the screen and whose third is the depth; in two dimensions nothing is turned.
const IDENTITY = [1, 0, 0, 0, 1, 0, 0, 0, 1];
const OBLIQUE = turned(turned(IDENTITY, 1, -0.6), 0, 0.45);
const LARGE = 0.5; // of the map's width: larger regions would cover it, and are shown for one object at a time
const scene = {
  axes: [0, 1, 2],
  shown: Math.min(dimensions, 2),
  zoom: 1,
  shift: [0, 0],
  turn: IDENTITY,
  width: 600,
  height: 500,
  xs: new Float64Array(count),
  ys: new Float64Array(count),
  depths: new Float64Array(count),
};

// A map of one dimension is a line; its objects take turns on seven lanes, so that their labels find room.
const lanes = dimensions === 1 ? makeLanes() : null;

function makeLanes() {
  const order = data.embedding.map((_, object) => object).sort((a, b) => data.embedding[a][0] - data.embedding[b][0]);
  const span = data.embedding[order[count - 1]][0] - data.embedding[order[0]][0] || 1;
  const made = new Float64Array(count);
  order.forEach((object, rank) => (made[object] = (((rank * 3) % 7) - 3) * 0.06 * span));
  return made;
}

function coordinate(object, place) {
  if (place >= scene.shown) return place === 1 && lanes ? lanes[object] : 0;
  return data.embedding[object][scene.axes[place]];
}

// The matrix after a further turn about the screen's axis 0 (tilt) or 1 (spin).
function turned(matrix, axis, angle) {
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  const step = axis === 0 ? [1, 0, 0, 0, c, -s, 0, s, c] : [c, 0, s, 0, 1, 0, -s, 0, c];
  return matrix.map((_, k) => {
    const [row, column] = [Math.floor(k / 3), k % 3];
    return step[3 * row] * matrix[column] + step[3 * row + 1] * matrix[3 + column] + step[3 * row + 2] * matrix[6 + column];
  });
}

function resetView() {
  scene.zoom = 1;
  scene.shift = [0, 0];
  scene.turn = scene.shown === 3 ? OBLIQUE : IDENTITY;
}

// Center and size of what is shown, which the dots alone decide; only a change of axes changes them.
function measureScene() {
  const places = [0, 1, 2];
  const low = places.map((place) => extreme(place, Math.min));
  const high = places.map((place) => extreme(place, Math.max));
  scene.center = places.map((place) => (low[place] + high[place]) / 2);
  scene.half = places.map((place) => (high[place] - low[place]) / 2);
  const away = (object, place) => Math.abs(coordinate(object, place) - scene.center[place]);
  scene.radius = greatest((object) => Math.hypot(...places.map((place) => away(object, place)))) || 1;
  noteLargeRegions();
}

// Which regions are larger than half the map; a note says how many there are. Where most are, none is drawn: those that
// are left would make the others look as if they were known.
function noteLargeRegions() {
  const most = LARGE * Math.max(...scene.half);
  scene.large = data.objects.map((_, object) => longest(object) > most);
  const many = scene.large.filter(Boolean).length;
  scene.allLarge = many > count / 2;
  byId("large").hidden = many === 0;
  const whose = many === count ? "all objects" : many === 1 ? "1 object" : `${formatInteger(many)} of ${formatInteger(count)} objects`;
  byId("large").textContent =
    `The ellipses of ${whose} are larger than half the map: where they lie is hardly known. ` +
    "Point at an object to see its own.";
}

function extreme(place, choose) {
  let found = coordinate(0, place);
  for (let object = 1; object < count; object++) found = choose(found, coordinate(object, place));
  return found;
}

function greatest(measure) {
  let found = 0;
  for (let object = 0; object < count; object++) found = Math.max(found, measure(object));
  return found;
}

// About the longest half axis of an object's region in any direction: the root of a matrix's norm bounds it.
function longest(object) {
  if (!data.covariances) return 0;
  let squares = 0;
  for (let i = 0; i < scene.shown; i++) {
    for (let j = 0; j < scene.shown; j++) squares += covariance(object, scene.axes[i], scene.axes[j]) ** 2;
  }
  return data.scales[scene.shown - 1] * squares ** 0.25;
}

// The middle of the map on the screen, a little above that of the canvas, which has buttons below.
function middle() {
  return [scene.width / 2, scene.height / 2 - 14];
}

// Pixels for a unit of the map; labels need some room around the outermost dots.
function unit() {
  const [across, up] = [scene.width - Math.min(120, 0.24 * scene.width), scene.height - 100];
  const fits =
    scene.shown === 3
      ? Math.min(across, up) / (2 * scene.radius)
      : Math.min(across / (2 * scene.half[0] || 1e-9), up / (2 * scene.half[1] || 1e-9));
  return scene.zoom * Math.min(fits, Math.min(across, up) / (2 * scene.radius) * 8);
}

function placeOf(x, y, z) {
  const size = unit();
  const m = scene.turn;
  const [a, b, c] = [x - scene.center[0], y - scene.center[1], z - scene.center[2]];
  const [left, top] = middle();
  return [
    left + scene.shift[0] + size * (m[0] * a + m[1] * b + m[2] * c),
    top + scene.shift[1] - size * (m[3] * a + m[4] * b + m[5] * c),
    m[6] * a + m[7] * b + m[8] * c,
  ];
}

function project() {
  const size = unit();
  const m = scene.turn;
  const [left, top] = middle().map((value, side) => value + scene.shift[side]);
  for (let object = 0; object < count; object++) {
    const a = coordinate(object, 0) - scene.center[0];
    const b = coordinate(object, 1) - scene.center[1];
    const c = coordinate(object, 2) - scene.center[2];
    scene.xs[object] = left + size * (m[0] * a + m[1] * b + m[2] * c);
    scene.ys[object] = top - size * (m[3] * a + m[4] * b + m[5] * c);
    scene.depths[object] = m[6] * a + m[7] * b + m[8] * c;
  }
}

// Half axes in units of the map, and angle on the screen, of an object's region: the ellipse that its covariance casts.
function regionOf(object) {
  const m = scene.turn;
  let [xx, xy, yy] = [0, 0, 0];
  for (let i = 0; i < scene.shown; i++) {
    for (let j = 0; j < scene.shown; j++) {
      const value = covariance(object, scene.axes[i], scene.axes[j]);
      xx += m[i] * value * m[j];
      xy += m[i] * value * m[3 + j];
      yy += m[3 + i] * value * m[3 + j];
    }
  }
  const scale = data.scales[scene.shown - 1];
  const middle = (xx + yy) / 2;
  const gap = Math.hypot((xx - yy) / 2, xy);
  return {
    long: scale * Math.sqrt(Math.max(middle + gap, 0)),
    short: scale * Math.sqrt(Math.max(middle - gap, 0)),
    angle: -Math.atan2(2 * xy, xx - yy) / 2, // the screen's y points down
  };
}

// Zoom so that the place under (x, y) stays there.
function zoomAt(factor, x, y) {
  const zoom = clamp(scene.zoom * factor, 0.2, 400);
  const ratio = zoom / scene.zoom;
  const [left, top] = middle();
  scene.shift = [x - left - (x - left - scene.shift[0]) * ratio, y - top - (y - top - scene.shift[1]) * ratio];
  scene.zoom = zoom;
}

function nearestObject(x, y, reach) {
  let [best, least] = [-1, reach * reach];
  for (let object = 0; object < count; object++) {
    const distance = (scene.xs[object] - x) ** 2 + (scene.ys[object] - y) ** 2;
    if (distance <= least) [best, least] = [object, distance];
  }
  return best;
}
