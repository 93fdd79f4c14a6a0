// Small drawings in SVG, made of attributes and text nodes only. They are as wide as their box, so that letters keep their size.
import { vector } from "./dom.js";

const LETTER = 6.6; // pixels that a letter of a label takes, on average
const LINE = 15;

function drawing(box, height, label) {
  const width = Math.max(box.clientWidth, 200);
  const svg = vector("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
  box.replaceChildren(svg);
  return { svg, width };
}

function word(x, y, text, kind = "", anchor = "start") {
  return vector("text", { x, y, class: kind, "text-anchor": anchor }, text);
}

function clock(seconds, withDay) {
  const style = withDay ? { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" } : { timeStyle: "short" };
  return new Intl.DateTimeFormat("en-GB", style).format(new Date(1000 * seconds));
}

// A count that grows: [[unix seconds, count], ...].
export function drawGrowth(box, rows, what) {
  const last = rows.length ? rows[rows.length - 1] : [0, 0];
  const { svg, width } = drawing(box, 150, `${what}: ${last[1]} now`);
  const [left, right, top, bottom] = [8, width - 8, 22, 126];
  svg.append(vector("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "axis" }));
  if (!rows.length) {
    svg.append(word(width / 2, 80, "nothing yet", "soft", "middle"));
    return;
  }
  const first = rows[0][0];
  const span = Math.max(last[0] - first, 1);
  const most = Math.max(1, ...rows.map((row) => row[1]));
  const place = ([time, count]) => [left + ((right - left) * (time - first)) / span, bottom - ((bottom - top) * count) / most];
  const places = rows.map(place);
  const round = (pair) => pair.map((value) => value.toFixed(1)).join(" ");
  const [endX, endY] = place(last);
  svg.append(
    vector("path", { d: `M${places.map(round).join("L")}`, class: "growth" }),
    vector("circle", { cx: endX, cy: endY, r: 4, class: "dot" }),
    word(left, 144, clock(first, span > 72000), "soft"),
    word(right, 144, clock(last[0], span > 72000), "soft", "end"),
    word(endX, endY - 9, String(last[1]), "strong", rows.length > 1 ? "end" : "start"),
  );
}

// Values with their intervals on one axis from 0: [{name, value, low, high}, ...].
export function drawIntervals(box, rows) {
  if (!rows.length) {
    box.replaceChildren();
    return;
  }
  const percent = (value) => `${Math.round(100 * value)}%`;
  const label = rows.map((row) => `${row.name} ${percent(row.value)}, ${percent(row.low)} to ${percent(row.high)}`).join("; ");
  const { svg, width } = drawing(box, 30 + 38 * rows.length, label);
  const most = Math.min(1, Math.max(0.1, Math.ceil(12 * Math.max(...rows.map((row) => row.high))) / 10));
  const x = (value) => 8 + ((width - 36) * Math.min(value, most)) / most;
  rows.forEach((row, place) => {
    const y = 32 + 38 * place;
    svg.append(
      word(8, y - 12, row.name, "soft"),
      vector("line", { x1: x(0), x2: x(most), y1: y, y2: y, class: "rail" }),
      vector("line", { x1: x(row.low), x2: x(row.high), y1: y, y2: y, class: "interval" }),
      vector("circle", { cx: x(row.value), cy: y, r: 6, class: "dot" }),
    );
  });
  const bottom = 24 + 38 * rows.length;
  svg.append(word(x(0), bottom, "0%", "soft"), word(x(most), bottom, percent(most), "soft", "middle"));
}

// The map: an ellipse, a dot and a label for each object, at one scale for both axes.
export function drawMap(box, map) {
  const n = map.objects.length;
  const frame = frameOf(map);
  const flat = ((box.clientWidth - 60) * frame.height) / frame.width + 40; // no higher than what is drawn
  const height = Math.max(200, Math.min(560, box.clientWidth, flat));
  const { svg, width } = drawing(box, height, `Map of ${n} objects with the ellipses of their uncertainty`);
  const scale = Math.min((width - 60) / frame.width, (height - 40) / frame.height);
  const x = (value) => width / 2 + scale * (value - frame.x);
  const y = (value) => height / 2 - scale * (value - frame.y); // up is up
  for (const [cx, cy, a, b, degrees] of map.ellipses) {
    const turn = `rotate(${-degrees} ${x(cx)} ${y(cy)})`;
    svg.append(vector("ellipse", { cx: x(cx), cy: y(cy), rx: scale * a, ry: scale * b, transform: turn, class: "ellipse" }));
  }
  const dots = map.points.map(([px, py]) => [x(px), y(py)]);
  const half = map.pictures ? Math.max(7, Math.min(14, width / 45)) : 4;
  dots.forEach((dot, place) => svg.append(mark(dot, half, map.pictures && map.pictures[place], map.objects[place])));
  svg.append(...labels(map.objects, dots, half, width, height));
}

// An object: its picture where there is one, or else a dot.
function mark([cx, cy], half, picture, name) {
  const title = vector("title", {}, name);
  if (!picture) return vector("circle", { cx, cy, r: half, class: "dot" }, title);
  return vector("image", { href: picture, x: cx - half, y: cy - half, width: 2 * half, height: 2 * half }, title);
}

// Middle and size of everything that is drawn; an ellipse counts up to a limit, or one unsure object would shrink all others.
function frameOf(map) {
  const extent = (axis) => {
    const values = map.points.map((point) => point[axis]);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const reaches = map.ellipses.map((ellipse) => [ellipse[axis], Math.min(ellipse[2], (high - low) / 8)]);
    const [least, most] = [Math.min(low, ...reaches.map(([c, r]) => c - r)), Math.max(high, ...reaches.map(([c, r]) => c + r))];
    return [(least + most) / 2, most - least || 1];
  };
  const [[x, width], [y, height]] = [extent(0), extent(1)];
  return { x, y, width, height };
}

// Labels beside their dots; one that would cover another is left out (the dot still says its name when pointed at).
function labels(names, dots, half, width, height) {
  const taken = dots.map(([cx, cy]) => [cx - half, cy - half, cx + half, cy + half]);
  const isFree = ([a, b, c, d]) =>
    a >= 0 && b >= 0 && c <= width && d <= height && taken.every(([e, f, g, h]) => c <= e || g <= a || d <= f || h <= b);
  const placed = [];
  names.forEach((name, place) => {
    const short = name.length > 24 ? `${name.slice(0, 23)}...` : name;
    const [cx, cy] = dots[place];
    const long = LETTER * short.length;
    const tries = [
      [cx + half + 3, cy + 4, "start", cx + half + 3],
      [cx - half - 3, cy + 4, "end", cx - half - 3 - long],
      [cx, cy - half - 4, "middle", cx - long / 2],
      [cx, cy + half + 13, "middle", cx - long / 2],
    ];
    for (const [lx, ly, anchor, left] of tries) {
      const area = [left, ly - LINE + 3, left + long, ly + 3];
      if (!isFree(area)) continue;
      taken.push(area);
      placed.push(word(lx, ly, short, "label", anchor));
      break;
    }
  });
  return placed;
}
