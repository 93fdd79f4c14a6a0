// The researcher's live page: asks for the state every two seconds and writes it into the page. Nothing that people or files
// are called is ever read as HTML. Rows keep their elements, so that a button keeps the focus while numbers change.
import { drawGrowth, drawIntervals, drawMap } from "./charts.js";
import { byId, copyTextOf, element } from "./dom.js";

const EVERY = 2000;
const STATUS = {
  open: "Open: people can take part.",
  paused: "Paused: people wait until you open it again.",
  closed: "Closed: nobody can answer.",
};
const ENGINE = {
  off: "Off: questions are drawn at random",
  waiting: "Waiting for answers",
  learning: "Learning",
  ready: "Up to date",
  failed: "Failed: questions are drawn at random until it is back",
};

let state = null;
let drawn = ""; // what the drawings show, and how wide; they are drawn again only when it changes
const rows = new Map(); // person -> {row, seen}

// --- Talking to the server --------------------------------------------------------------------------------------------

async function ask(path, body) {
  const post = { method: "POST", headers: { "Content-Type": "application/json", "X-Nearer": "1" }, body: JSON.stringify(body) };
  try {
    const response = await fetch(path, { cache: "no-store", ...(body ? post : {}) });
    if (response.status === 401 || response.status === 403) {
      trouble("This page is locked. Please open it again with your secret link.");
    } else if (!response.ok) {
      trouble(`The server answered with an error (${response.status}). Trying again...`);
    } else {
      state = await response.json();
      trouble("");
      write();
    }
  } catch {
    trouble("No connection to the server: the numbers may be old. Trying again...");
  }
}

function trouble(text) {
  if (byId("trouble").textContent !== text) byId("trouble").textContent = text;
}

async function poll() {
  if (!document.hidden) await ask("/researcher/api/state");
  setTimeout(poll, EVERY);
}

// --- Writing the state into the page ----------------------------------------------------------------------------------

const whole = (value) => value.toLocaleString("en-GB");
const percent = (value) => `${(100 * value).toFixed(1)}%`;
const seconds = (value) => (value === null ? "-" : `${value.toFixed(1)} s`);

// Only what has changed is touched: a live region must not speak every two seconds.
function say(id, text) {
  if (byId(id).textContent !== text) byId(id).textContent = text;
}

function write() {
  say("title", state.title || "Study");
  say("status", STATUS[state.status] || state.status);
  document.body.dataset.status = state.status;
  for (const button of document.querySelectorAll("[data-status]:is(button)")) {
    button.setAttribute("aria-pressed", String(button.dataset.status === state.status));
  }
  say("link", state.link);
  say("n-answers", whole(state.n_answers));
  say("n-people", whole(state.n_people));
  say("n-objects", whole(state.n_objects));
  say("seconds", seconds(state.median_seconds));
  writeQuality();
  writeEngine();
  writePeople();
  draw();
}

function writeQuality() {
  const { error, ceiling, outlook } = state;
  say("error", error ? percent(error.value) : "-");
  const answers = error ? `${percent(error.low)} to ${percent(error.high)}, ${whole(error.n)} answers` : "not enough answers yet";
  say("error-interval", answers);
  say("ceiling", ceiling ? percent(ceiling.value) : "-");
  const again = "needs questions that were asked more than once";
  say("ceiling-interval", ceiling ? `${percent(ceiling.low)} to ${percent(ceiling.high)}` : again);
  say("outlook", outlook || "What further answers would bring is not known yet.");
}

function writeEngine() {
  const { state: name, message, n_known: known } = state.engine;
  const parts = [`Engine: ${ENGINE[name] || name}`, `it knows ${whole(known)} of ${whole(state.n_answers)} answers`, message];
  say("engine", `${parts.filter(Boolean).join("; ").replace(/\.$/, "")}.`);
}

function draw() {
  const { over_time: times, map, error, ceiling } = state;
  const now = JSON.stringify([times, map, error, ceiling, document.documentElement.clientWidth]);
  if (now === drawn) return;
  drawn = now;
  drawGrowth(byId("chart-answers"), times.map(([time, answers]) => [time, answers]), "Answers");
  drawGrowth(byId("chart-people"), times.map(([time, , people]) => [time, people]), "People");
  const known = [["Error on the random questions", error], ["Noise ceiling", ceiling]].filter(([, value]) => value);
  drawIntervals(byId("chart-error"), known.map(([name, value]) => ({ name, ...value })));
  if (map && map.objects.length) drawMap(byId("map"), map);
  else byId("map").replaceChildren(element("p", { class: "soft" }, "The map appears after the first answers."));
}

function writePeople() {
  const body = byId("people").tBodies[0];
  byId("people").hidden = !state.people.length;
  byId("no-people").hidden = state.people.length > 0;
  const present = new Set(state.people.map((person) => person.id));
  for (const [id, { row }] of rows) {
    if (present.has(id)) continue;
    row.remove();
    rows.delete(id);
  }
  for (const person of state.people) {
    const seen = JSON.stringify(person);
    if (!rows.has(person.id)) rows.set(person.id, { row: body.appendChild(newRow(person.id)), seen: "" });
    const kept = rows.get(person.id);
    if (kept.seen !== seen) writeRow(kept.row, person);
    kept.seen = seen;
  }
}

function newRow(id) {
  // The roles are written out because a phone shows rows as cards, and with that browsers forget that this is a table.
  const cell = (kind, label) => element("td", { role: "cell", class: kind, "data-label": label });
  const cells = [cell("number", "Answers"), cell("number", "Median seconds"), cell("", "Odd"), cell("", "State")];
  const action = cell("", "");
  action.append(element("button", { type: "button", onclick: () => leaveOut(id) }));
  const name = element("th", { scope: "row", role: "rowheader" }, element("bdi", {}, id));
  return element("tr", { role: "row" }, name, ...cells, action);
}

function writeRow(row, person) {
  const [, answers, time, flags, progress, action] = row.cells;
  row.classList.toggle("out", person.left_out);
  answers.textContent = whole(person.n_answers);
  time.textContent = person.median_seconds === null ? "-" : person.median_seconds.toFixed(1);
  flags.classList.toggle("none", !person.flags.length);
  flags.replaceChildren(...person.flags.map((flag) => element("span", { class: "flag" }, flag)));
  progress.textContent = (person.done ? "done" : "answering") + (person.left_out ? ", left out" : "");
  const button = action.firstChild;
  button.textContent = person.left_out ? "Take back" : "Leave out";
  button.setAttribute("aria-label", `${button.textContent} ${person.id}`);
}

// --- What the researcher does -----------------------------------------------------------------------------------------

function leaveOut(id) {
  const person = state.people.find((other) => other.id === id);
  return ask("/researcher/api/people", { id, left_out: !person.left_out });
}

for (const button of document.querySelectorAll("button[data-status]")) {
  button.addEventListener("click", () => ask("/researcher/api/status", { status: button.dataset.status }));
}
byId("copy").addEventListener("click", async () => {
  say("copied", (await copyTextOf(byId("link"))) ? "Copied" : "Please copy it by hand");
  setTimeout(() => say("copied", ""), 3000);
});
addEventListener("resize", () => state && draw());
document.addEventListener("visibilitychange", () => !document.hidden && ask("/researcher/api/state"));
poll();
