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
  off: "The engine is not running, so that no map is made",
  starting: "The engine is starting",
  waiting: "The map is waiting for answers",
  learning: "A new map is being fitted",
  ready: "The map is up to date",
  behind: "The map does not include the latest answers yet",
  failed: "The map could not be updated; people can go on answering",
};
const SEVERITIES = { error: "Error", warning: "Warning", note: "Note", good: "Good" };

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
      trouble("");
      return await response.json();
    }
  } catch {
    trouble("No connection to the server: the numbers may be old. Trying again...");
  }
  return null;
}

async function update(path, body) {
  const found = await ask(path, body);
  if (found === null) return;
  state = found;
  write();
}

function trouble(text) {
  if (byId("trouble").textContent !== text) byId("trouble").textContent = text;
}

async function poll() {
  if (!document.hidden) await update("/researcher/api/state");
  setTimeout(poll, EVERY);
}

// --- Writing the state into the page ----------------------------------------------------------------------------------

const whole = (value) => value.toLocaleString("en-GB");
const counted = (value, one, many = `${one}s`) => `${whole(value)} ${value === 1 ? one : many}`;
const percent = (value) => `${(100 * value).toFixed(1)}%`;
const points = (value) => (100 * Math.max(value, 0)).toFixed(1);
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
  writeNumbers();
  writeQuality();
  writeOutlook();
  writeEngine();
  writeFindings();
  writePeople();
  byId("one-code").hidden = !state.one_code;
  draw();
}

function writeNumbers() {
  say("n-answers", whole(state.n_answers));
  const about = state.n_left_out ? `${whole(state.n_left_out)} of them excluded` : `about ${counted(state.n_objects, "object")}`;
  say("n-left-out", state.n_undecided ? `${about}; ${whole(state.n_undecided)} more "can't tell"` : about);
  say("n-people", whole(state.n_people));
  const conditions = state.conditions.map(({ name, n_agreed, n_done }) => `${name} ${whole(n_done)} of ${whole(n_agreed)}`);
  say("n-done", [`${whole(state.n_done)} done`, ...conditions].join("; "));
  say("n-now", whole(state.n_now));
  say("per-minute", `${whole(Math.round(10 * state.per_minute) / 10)} answers per minute`);
  say("seconds", seconds(state.median_seconds));
  byId("cost-box").hidden = !state.cost;
  say("cost", state.cost ? state.cost.so_far : "-");
  say("cost-each", state.cost ? `${state.cost.each} per person who is done` : "");
}

function writeQuality() {
  const { error, ceiling } = state;
  say("error", error ? percent(error.value) : "-");
  const measured = error ? `${percent(error.low)} to ${percent(error.high)}, from ${counted(error.n, "random question")}` : "not enough answers yet";
  say("error-interval", measured);
  say("ceiling", ceiling ? (ceiling.vague ? "too uncertain" : percent(ceiling.value)) : "-");
  const within = ceiling ? `${percent(ceiling.low)} to ${percent(ceiling.high)}, from ${counted(ceiling.n, "question")} that were repeated` : "";
  say("ceiling-interval", ceiling ? within : "needs 20 questions that several people answered");
}

// Why to stop or to go on; errors are shares of 100 here, as everywhere on this page.
function reasonFor({ recommendation, error_now: now, floor, gain_of_a_fifth: gain, min_gain: least }) {
  const left = now - floor;
  const gained = `A fifth more answers would lower the error by ${points(gain)} points`;
  if (recommendation !== "stop") return `${gained}, which is worth the effort (${points(least)} or more).`;
  if (left >= least) return `${gained}, less than ${points(least)}; no number of answers would lower it by more than ${points(left)}.`;
  return `The error is within ${points(left)} points of the noise in people's answers, which no further answers can remove; they would make the ellipses smaller, and little else.`;
}

// What the next answers would bring, and what they would cost.
function writeOutlook() {
  const { outlook, cost } = state;
  byId("outlook").hidden = !outlook;
  byId("no-outlook").hidden = Boolean(outlook);
  if (!outlook) return;
  const stop = outlook.recommendation === "stop";
  byId("outlook").dataset.advice = stop ? "stop" : "go";
  say("advice", stop ? "You can stop." : "Continue.");
  say("reason", reasonFor(outlook));
  say("more", whole(outlook.n_answers_more));
  say("more-cost", cost && cost.more ? `about ${cost.more} of pay` : "a fifth more");
  say("then", percent(outlook.error_then));
  const least = outlook.gain_low > 0 ? `${points(outlook.gain_low)} to ` : "at most ";
  say("then-now", `${percent(outlook.error_now)} expected now; lower by ${least}${points(outlook.gain_high)} points`);
  say("ellipse", outlook.ellipse_then === null ? "-" : percent(outlook.ellipse_then));
  say("ellipse-now", outlook.ellipse_now === null ? "" : `of a typical distance; ${percent(outlook.ellipse_now)} now`);
  say("outlook-warning", outlook.warning ? `${outlook.warning}.` : "");
}

function writeEngine() {
  const { state: name, message, n_analyzed: known, n_since: since, proposes } = state.engine;
  const parts = [ENGINE[name] || name];
  if (message) parts.push(message);
  if (known) parts.push(`it is based on ${counted(known, "answer")}${since ? `, and ${whole(since)} came since` : ""}`);
  else if (name === "waiting") parts.push(`it needs ${whole(2 * state.n_objects)}, and there are ${whole(since)} so far`);
  say("engine", `${parts.join("; ")}. Questions are ${proposes ? "chosen by their information" : "drawn at random"}.`);
  const more = state.map ? state.map.n_dimensions : 0;
  byId("map-note").hidden = more < 3;
  say("map-note", more < 3 ? "" : `The map has ${more} dimensions; these are the two with the most variance.`);
}

let written = ""; // the findings on the page, which are written again only when they change

function writeFindings() {
  const now = JSON.stringify(state.findings);
  const found = state.findings.filter((each) => each.severity !== "good");
  say("no-findings", state.engine.n_analyzed ? (found.length ? "" : "No problems found so far.") : "Answers are checked with the first map.");
  if (now === written) return;
  written = now;
  byId("findings").replaceChildren(...state.findings.map(finding));
}

function finding({ severity, title, text, examples }) {
  const badge = element("span", { class: `severity ${severity}` }, SEVERITIES[severity] || severity);
  if (severity === "good") return element("li", {}, badge, " ", title);
  const listed = element("ul", {}, ...examples.map((each) => element("li", {}, each)));
  const details = element("details", {}, element("summary", {}, badge, " ", title), element("p", {}, text), listed);
  return element("li", {}, details);
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
  for (const [place, person] of state.people.entries()) {
    const seen = JSON.stringify(person);
    if (!rows.has(person.id)) rows.set(person.id, { row: newRow(person.id), seen: "" });
    const kept = rows.get(person.id);
    if (body.rows[place] !== kept.row) body.insertBefore(kept.row, body.rows[place] || null);
    if (kept.seen !== seen) writeRow(kept.row, person);
    kept.seen = seen;
  }
}

function newRow(id) {
  // The roles are written out because a phone shows rows as cards, and with that browsers forget that this is a table.
  const cell = (kind, label) => element("td", { role: "cell", class: kind, "data-label": label });
  const cells = [cell("number", "Answers"), cell("number", "Median seconds"), cell("", "Flags"), cell("", "State")];
  const action = cell("", "");
  action.append(element("button", { type: "button", onclick: () => leaveOut(id) }));
  const name = element("th", { scope: "row", role: "rowheader" }, element("bdi", {}, id));
  return element("tr", { role: "row" }, name, ...cells, action);
}

function writeRow(row, person) {
  const [, answers, time, flags, progress, action] = row.cells;
  row.classList.toggle("out", person.left_out);
  answers.textContent = whole(person.n_answers) + (person.n_undecided ? ` + ${whole(person.n_undecided)} can't tell` : "");
  time.textContent = person.median_seconds === null ? "-" : person.median_seconds.toFixed(1);
  flags.classList.toggle("none", !person.flags.length);
  flags.replaceChildren(...person.flags.map((flag) => element("span", { class: "flag" }, flag)));
  const facts = [person.done ? "done" : person.here ? "answering" : "left", person.condition, person.left_out && "excluded"];
  progress.textContent = facts.filter(Boolean).join(", ");
  const button = action.firstChild;
  button.textContent = person.left_out ? "Include" : "Exclude";
  button.setAttribute("aria-label", `${button.textContent} ${person.id}`);
}

// --- What the researcher does -----------------------------------------------------------------------------------------

function leaveOut(id) {
  const person = state.people.find((other) => other.id === id);
  return update("/researcher/api/people", { id, left_out: !person.left_out });
}

for (const button of document.querySelectorAll("button[data-status]")) {
  button.addEventListener("click", () => update("/researcher/api/status", { status: button.dataset.status }));
}
byId("codes").addEventListener("submit", async (event) => {
  event.preventDefault();
  const codes = byId("code-text").value.split(/[\n,;]+/).map((code) => code.trim()).filter(Boolean).slice(0, 200);
  const found = codes.length ? await ask("/researcher/api/codes", { codes }) : { codes: [] };
  if (found === null) return;
  const line = ({ code, valid, text }) => element("li", {}, element("span", { class: `severity ${valid ? "good" : "error"}` }, valid ? "Valid" : "Not valid"), ` ${code}: ${text}.`);
  byId("code-results").replaceChildren(...found.codes.map(line));
});
byId("copy").addEventListener("click", async () => {
  say("copied", (await copyTextOf(byId("link"))) ? "Copied" : "Please copy it by hand");
  setTimeout(() => say("copied", ""), 3000);
});
addEventListener("resize", () => state && draw());
document.addEventListener("visibilitychange", () => !document.hidden && update("/researcher/api/state"));
poll();
