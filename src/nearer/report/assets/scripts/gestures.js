// Mouse, fingers and keys on the map. The page scrolls over a map that is not in use: wheel and one finger belong to
// the map once it has the focus, which a click or a tap gives it.
function listenToPointers(actions) {
  const fingers = new Map();
  let travelled = 0;
  const placeIn = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (fingers.size === 0) travelled = 0;
    fingers.set(event.pointerId, placeIn(event));
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = placeIn(event);
    const before = fingers.get(event.pointerId);
    if (!before) {
      if (event.pointerType === "mouse") actions.hover(nearestObject(...now, actions.reach()));
      return;
    }
    const other = [...fingers.entries()].find(([id]) => id !== event.pointerId);
    const step = [now[0] - before[0], now[1] - before[1]];
    travelled += Math.hypot(...step);
    if (other) pinch(before, now, other[1]);
    else if (travelled > 3) actions.drag(...step, event.shiftKey);
    fingers.set(event.pointerId, now);
  });
  const release = (event) => {
    const known = fingers.delete(event.pointerId);
    if (known && event.type === "pointerup" && fingers.size === 0 && travelled <= 3) {
      actions.choose(nearestObject(...placeIn(event), actions.reach()));
    }
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => actions.hover(-1));

  function pinch(before, now, still) {
    const gap = (place) => Math.max(Math.hypot(place[0] - still[0], place[1] - still[1]), 1);
    scene.shift[0] += (now[0] - before[0]) / 2;
    scene.shift[1] += (now[1] - before[1]) / 2;
    actions.zoom(gap(now) / gap(before), (now[0] + still[0]) / 2, (now[1] + still[1]) / 2);
  }
}

function listenToWheel(actions) {
  let hiding = 0;
  canvas.addEventListener(
    "wheel",
    (event) => {
      const inUse = document.activeElement === canvas || event.ctrlKey || event.metaKey;
      if (!inUse) {
        const hint = byId("hint");
        hint.textContent = "Click the map to zoom with the wheel";
        hint.hidden = false;
        window.clearTimeout(hiding);
        hiding = window.setTimeout(() => (hint.hidden = true), 1200);
        return;
      }
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 * event.deltaY : event.deltaY;
      const box = canvas.getBoundingClientRect();
      const speed = event.ctrlKey ? 0.01 : 0.0016; // a pinch on a touch pad comes in small steps
      actions.zoom(Math.exp(-speed * clamp(lines, -240, 240)), event.clientX - box.left, event.clientY - box.top);
    },
    { passive: false },
  );
}

function listenToKeys(actions) {
  const step = 48;
  const keys = {
    "+": () => actions.zoom(1.25, ...middle()),
    "=": () => actions.zoom(1.25, ...middle()),
    "-": () => actions.zoom(0.8, ...middle()),
    0: () => actions.reset(),
    ArrowLeft: (shift) => actions.drag(step, 0, shift),
    ArrowRight: (shift) => actions.drag(-step, 0, shift),
    ArrowUp: (shift) => actions.drag(0, step, shift),
    ArrowDown: (shift) => actions.drag(0, -step, shift),
    n: () => actions.step(1),
    p: () => actions.step(-1),
    Escape: () => actions.choose(-1),
  };
  canvas.addEventListener("keydown", (event) => {
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act(event.shiftKey);
  });
}
