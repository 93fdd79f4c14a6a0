// The legend as a part of a figure that is saved, in a strip at its right; on the page it stands beside the map.
const KEY = { width: 190, left: 16, top: 28, step: 21, letters: 22 };

function keyWidth() {
  return look.paint.legend ? KEY.width : 0;
}

function drawKey() {
  const { legend } = look.paint;
  if (!legend) return;
  const x = scene.width + KEY.left;
  context.globalAlpha = 1;
  context.fillStyle = "#ffffff"; // the map ends where the strip begins
  context.beginPath();
  context.rect(scene.width, 0, KEY.width, scene.height);
  context.fill();
  context.font = FONT;
  context.textAlign = "left";
  context.textBaseline = "middle";
  writeKey(legend.name, x, KEY.top);
  if (legend.rows) drawKeyRows(legend.rows, x);
  else drawKeyRamp(legend, x);
  context.textBaseline = "alphabetic";
}

function writeKey(words, x, y) {
  const letters = Array.from(String(words).replace(/\s+/g, " ").trim());
  context.fillStyle = "#2b2b2b";
  context.fillText(letters.length > KEY.letters ? `${letters.slice(0, KEY.letters - 1).join("")}…` : letters.join(""), x, y);
}

function drawKeyRows(rows, x) {
  const most = Math.floor((scene.height - KEY.top) / KEY.step) - 1;
  rows.slice(0, Math.min(LEGEND_ROWS + 1, most)).forEach((row, place) => {
    const y = KEY.top + (place + 1.2) * KEY.step;
    context.fillStyle = row.color;
    context.strokeStyle = "rgba(0, 0, 0, 0.3)";
    context.lineWidth = 0.8;
    traceShape(row.shape, x + 6, y, 6);
    context.fill();
    context.stroke();
    writeKey(row.value, x + 20, y);
  });
}

function drawKeyRamp(legend, x) {
  const [steps, wide, y] = [30, 130, KEY.top + 0.8 * KEY.step];
  for (let step = 0; step < steps; step++) {
    context.fillStyle = mixed(step / (steps - 1));
    context.beginPath();
    context.rect(x + (wide * step) / steps, y, wide / steps + 0.3, 12); // a little wider, so that no gap is seen
    context.fill();
  }
  writeKey(shortNumber(legend.low), x, y + 24);
  context.textAlign = "right";
  writeKey(shortNumber(legend.high), x + wide, y + 24);
  context.textAlign = "left";
  if (legend.missing) writeKey("grey: not known", x, y + 24 + KEY.step);
}
