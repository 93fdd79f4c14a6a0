// The participant's page. The server's state says what is shown; answers go into a queue and the next question, loaded ahead,
// comes at once. No entry is made in the browser's history: Back leaves the page, and coming back finds everything as it was.
import { makeAsking } from "./asking.js";
import { byId, element, fill } from "./dom.js";
import { setLetters } from "./look.js";
import { donePage, messagePage, unseenPage, welcomePage } from "./pages.js";
import { isPassing, makeSender, newId, openQueue, request, sleep, waitAfter } from "./sending.js";
import { loadQuestion } from "./stimuli.js";

const LOOK_AGAIN = { waiting: 1, paused: 8, closed: 30 }; // seconds until the state is asked for again
const NOTICE_STAYS = 4000;

const words = JSON.parse(byId("words").textContent);
const { study, title } = document.body.dataset;
const queue = openQueue(study);
const answered = new Set(); // questions answered on this page: an older state that arrives late must not bring them back
const loading = new Map(); // question id -> {media: promise of its loaded elements, broken: objects that cannot be loaded}

let state = null;
let shown = ""; // the name of what is on the screen
let asking = null; // the question on the screen
let previous = null; // the question answered last
let breakDue = false;
let instructed = false;
let lookingBack = false; // the choice just made is seen for a moment, even when the server is faster
let connected = true;
let busy = false; // the server answers, but its database does not
let refreshing = false;
let noticeTimer = 0;

// --- What the server says ---------------------------------------------------------------------------------------------

async function refresh() {
  if (refreshing) return;
  refreshing = true;
  for (let tries = 0; ; tries += 1) {
    const { status, body } = await request("/api/state");
    if (status === 200) {
      refreshing = false;
      update(body);
      return;
    }
    if (isPassing(status)) lost(status);
    else notify(words.failed, true);
    await sleep(waitAfter(tries));
  }
}

function update(newer) {
  if (!connected) notify(busy ? "" : words.online);
  connected = true;
  busy = false;
  state = newer;
  dropForeign();
  loadAhead();
  show();
  send();
}

// An answer to a question of the same number but with other objects is of another study at this address.
function dropForeign() {
  const contents = new Map(state.next.map((question) => [question.id, contentOf(question)]));
  queue.remove((entry) => contents.has(entry.question) && contents.get(entry.question) !== entry.content);
}

function contentOf(question) {
  return [question.head, ...question.options].map((item) => (item ? item.object : "")).join(" ");
}

// No answer (status 0), or one that says that nothing can be kept just now.
function lost(status) {
  connected = false;
  busy = status > 0;
  if (busy) return notify(words.busy, true);
  const more = state !== null && state.phase === "asking" && unanswered().length > 0;
  notify(more ? words.offline : words.offline_waiting, true);
}

const send = makeSender(queue, {
  saved: update,
  stopped: refresh,
  lost,
  refused(question) {
    answered.delete(question);
    breakDue = false;
    if (shown === nameOf(question)) shown = "refused"; // it is still on the screen, and must be asked anew
    notify(words.refused);
    refresh();
  },
});

// Send until the server says yes or no.
async function insist(path, sent) {
  for (let tries = 0; ; tries += 1) {
    const { status, body } = await request(path, sent);
    if (status === 200) return update(body);
    if (status === 409) return refresh();
    if (!isPassing(status)) return notify(words.failed, true);
    lost(status);
    await sleep(waitAfter(tries));
  }
}

async function begin() {
  await insist("/api/consent", {});
  if (state.phase === "welcome") notify(words.failed, true); // the session was not kept: no cookies
}

// --- Questions --------------------------------------------------------------------------------------------------------

const nameOf = (id) => `question ${id}`;
const nameOfUnseen = (id) => `unseen ${id}`;

function unanswered() {
  return state.next.filter((question) => !queue.has(question.id) && !answered.has(question.id));
}

// Answers so far, with those that the server has not counted yet.
function nDone() {
  const pending = (question) => !question.practice && (queue.has(question.id) || answered.has(question.id));
  return state.n_done + state.next.filter(pending).length;
}

function loadAhead() {
  const waiting = unanswered();
  const wanted = new Set(waiting.map((question) => question.id));
  for (const id of loading.keys()) if (!wanted.has(id)) loading.delete(id);
  for (const question of waiting) if (!loading.has(question.id)) load(question);
}

function load(question) {
  const kept = { media: null, broken: new Set() };
  const isShown = () => shown === nameOf(question.id);
  loading.set(question.id, kept);
  kept.media = loadQuestion(question, words, {
    isWanted: () => loading.get(question.id) === kept,
    trouble: () => isShown() && notify(words.stimulus_failed),
    broken(item) {
      kept.broken.add(item.object);
      if (isShown() && asking && !lookingBack) unseen(question); // a sound or film that fails while it is played
    },
  });
}

// Nothing is asked about what cannot be seen or heard: it is tried again, or another question comes in its place.
function unseen(question) {
  const tryAgain = () => {
    load(question);
    show(true);
  };
  const { broken } = loading.get(question.id);
  const leave = () => insist("/api/unseen", { question: question.id, objects: [...broken] });
  notify("");
  open(nameOfUnseen(question.id), () => unseenPage(question.id, words, tryAgain, leave));
}

function answer(question, chosen, seconds) {
  const rounded = Math.round(1000 * seconds) / 1000;
  queue.add({ id: newId(), question: question.id, chosen, seconds: rounded, content: contentOf(question) });
  answered.add(question.id);
  previous = question;
  const done = nDone();
  breakDue = !question.practice && state.breaks.includes(done);
  lookingBack = true;
  if (!connected) lost(busy ? 503 : 0);
  send();
}

// --- What is on the screen --------------------------------------------------------------------------------------------

function show(again = false) {
  if (lookingBack) return;
  const { phase } = state;
  if (phase === "welcome") return open(phase, () => welcomePage(title, state, words, begin));
  if (phase === "done") return open(phase, () => donePage(state, words));
  if (phase === "paused") return open(phase, () => messagePage(words.paused, [words.paused_text]));
  if (phase === "closed") return open(phase, () => messagePage(words.closed, [words.closed_text]));
  if (!instructed && state.instructions.length && !nDone() && !previous) {
    return open("instructions", () => messagePage(words.instructions, state.instructions, words.continue, goOn));
  }
  const [question] = unanswered();
  if (!question) return open("waiting", () => element("h1", { class: "loading", tabindex: "-1" }, words.loading));
  if (previous && previous.practice && !question.practice) {
    return open("practice over", () => messagePage(words.practice_over, [words.practice_over_text], words.continue, goOn));
  }
  if (breakDue) {
    const text = fill(words.break_text, { done: nDone(), all: state.n_all });
    return open("break", () => messagePage(words.break, [text], words.continue, goOn));
  }
  if (again || shown !== nameOfUnseen(question.id)) ask(question);
}

function goOn() {
  instructed = true;
  previous = null;
  breakDue = false;
  show();
}

function open(name, build) {
  if (shown === name) return;
  const first = shown === "";
  shown = name;
  asking = null;
  const page = build();
  byId("page").replaceChildren(page);
  const heading = page.querySelector("h1") || page;
  // A new page is read out from its heading; the first one is read by itself.
  if (!first) heading.focus({ preventScroll: true });
  scrollTo(0, 0);
  if (name in LOOK_AGAIN) lookAgain(name);
}

async function lookAgain(name) {
  for (let tries = 0; ; tries += 1) {
    await sleep(LOOK_AGAIN[name] * (1 + Math.random() / 2) + (name === "waiting" ? waitAfter(tries) - 0.5 : 0));
    if (shown !== name) return;
    // While answers are on their way, their reply brings the state.
    if (!queue.entries().length) await refresh();
  }
}

async function ask(question) {
  const name = nameOf(question.id);
  if (shown === name) return;
  const late = setTimeout(() => {
    if (shown === name) byId("page").replaceChildren(element("h1", { class: "loading" }, words.loading));
  }, 200);
  shown = name;
  asking = null;
  loadAhead();
  const kept = loading.get(question.id);
  const media = await kept.media;
  clearTimeout(late);
  if (shown !== name) return;
  if (kept.broken.size) return unseen(question);
  asking = makeAsking({
    question,
    media,
    text: state.question,
    words,
    progress: progressBar(question),
    cantTell: state.cant_tell,
    notify,
    answered: (chosen, seconds) => answer(question, chosen, seconds),
    goOn() {
      lookingBack = false;
      show();
    },
  });
  byId("page").replaceChildren(asking.page);
  asking.shown();
}

function progressBar(question) {
  const done = Math.min(nDone(), state.n_all);
  const bar = element("progress", { max: state.n_all, value: done, "aria-label": words.progress_label });
  const text = element("span", {}, fill(words.progress, { done, all: state.n_all }));
  const practice = question.practice ? element("strong", { class: "practice" }, words.practice) : null;
  return element("div", { class: "progress" }, practice, bar, text);
}

// A line of status, read out by screen readers; it goes by itself unless it stays true.
function notify(text, stays = false) {
  const notice = byId("notice");
  clearTimeout(noticeTimer);
  if (notice.textContent !== text) notice.textContent = text;
  if (!stays) noticeTimer = setTimeout(() => (notice.textContent = ""), NOTICE_STAYS);
}

document.addEventListener("keydown", (pressed) => {
  if (!asking || pressed.repeat || pressed.ctrlKey || pressed.altKey || pressed.metaKey) return;
  if (asking.key(pressed)) pressed.preventDefault();
});
// A page that Back or Forward brings out of the browser's cache may be old.
addEventListener("pageshow", (event) => event.persisted && refresh());
setLetters();
refresh();
