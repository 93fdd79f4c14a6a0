// One question on the screen: what is compared, the options, and the ways to choose by touch, mouse and keys.
import { element, fill } from "./dom.js";
import { nameOf } from "./stimuli.js";

const DEAF_AT_FIRST = 250; // milliseconds: the second half of a double tap must not answer the next question
const LOOK_BACK = 120; // milliseconds that the choice is seen before the next question comes

// Build a question from its loaded elements. `answered(chosen, seconds)` is called at once, `goOn()` a moment later.
export function makeAsking({ question, media, text, words, progress, cantTell, notify, answered, goOn }) {
  const several = question.n_chosen > 1;
  const chosen = new Set();
  let shownAt = null;
  let listens = false;

  const buttons = [];
  const options = element("div", { class: "options", role: "group", "aria-labelledby": "question" });
  question.options.forEach((item, place) => options.append(optionOf(item, place)));
  const count = element("p", { class: "count", "aria-live": "polite" });
  const next = element("button", { type: "button", class: "main", disabled: true, onclick: take }, words.next);
  const undecided = element("button", { type: "button", class: "undecided", onclick: takeNone }, words.cant_tell);
  const head = question.head && headOf(question.head);
  const title = element("h1", { id: "question", tabindex: "-1" }, text);
  const kinds = new Set([question.head, ...question.options].filter(Boolean).map((item) => item.kind));
  const page = element(
    "div",
    { class: `asking ${[...kinds].join(" ")}${question.options.length > 3 ? " many" : ""}` },
    progress,
    title,
    element("div", { class: "stage" }, head, options),
    cantTell ? undecided : null, // in the middle, as far from each side
    several ? element("div", { class: "foot" }, count, next) : null,
    element("p", { class: "keys" }, keysHint()),
  );
  const [narrow, wide] = columns(question.options.length, kinds.has("audio") || kinds.has("video"));
  page.dataset.question = question.id;
  page.style.setProperty("--narrow", narrow);
  page.style.setProperty("--wide", wide);
  page.style.setProperty("--options", question.options.length);
  mark();

  function headOf(item) {
    const caption = item.caption ? element("span", { class: "caption" }, item.caption) : null;
    const label = item.caption ? `${words.head}: ${item.caption}` : words.head;
    return element("div", { class: "head", role: "group", tabindex: "-1", "aria-label": label }, media.head, caption);
  }

  function optionOf(item, place) {
    const caption = item.caption ? element("span", { class: "caption" }, item.caption) : null;
    const pressed = several ? { "aria-pressed": "false" } : {};
    const press = { type: "button", onclick: () => choose(place), ...pressed };
    if (item.kind === "text" || item.kind === "image") {
      buttons.push(element("button", { class: "option", ...press }, media.options[place], caption));
      return buttons[place];
    }
    // A player has buttons of its own, so that the choice needs one beside it.
    const label = fill(words.choose_this, { what: nameOf(item, place, words) });
    buttons.push(element("button", { class: "choice", ...press }, label));
    return element("div", { class: "option player" }, media.options[place], caption, buttons[place]);
  }

  function keysHint() {
    return cantTell ? `${optionKeys()}; 0: ${words.cant_tell}` : optionKeys();
  }

  function optionKeys() {
    const n = Math.min(question.options.length, 9);
    if (several) return fill(words.keys_grid, { n });
    return question.options.length === 2 ? words.keys_two : fill(words.keys_some, { n });
  }

  function listen(now) {
    listens = now;
    page.toggleAttribute("data-listens", now);
  }

  function choose(place) {
    if (!listens || place >= buttons.length) return;
    if (!several) chosen.add(place);
    else if (chosen.has(place)) chosen.delete(place);
    else if (chosen.size < question.n_chosen) chosen.add(place);
    else notify(fill(words.too_many, { n: question.n_chosen }));
    mark();
    if (!several) take();
  }

  function mark() {
    buttons.forEach((button, place) => {
      button.closest(".option").classList.toggle("chosen", chosen.has(place));
      if (several) button.setAttribute("aria-pressed", String(chosen.has(place)));
    });
    const counted = fill(words.chosen, { chosen: chosen.size, n: question.n_chosen });
    count.textContent = chosen.size ? counted : fill(words.choose, { n: question.n_chosen });
    next.disabled = chosen.size !== question.n_chosen;
  }

  function take() {
    if (listens && chosen.size === question.n_chosen) finish();
  }

  function takeNone() {
    if (!listens || !cantTell) return;
    chosen.clear();
    mark();
    undecided.classList.add("chosen");
    finish();
  }

  function finish() {
    listen(false);
    answered([...chosen].sort((a, b) => a - b), (performance.now() - shownAt) / 1000);
    setTimeout(goOn, LOOK_BACK);
  }

  function moveFocus(step) {
    const place = buttons.indexOf(document.activeElement);
    const first = step > 0 ? 0 : buttons.length - 1;
    buttons[place < 0 ? first : (place + step + buttons.length) % buttons.length].focus();
  }

  // True when the key was meant for the question.
  function key(pressed) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[pressed.key];
    const inPlayer = pressed.target instanceof HTMLMediaElement; // there, arrows wind and Enter plays
    if (/^[1-9]$/.test(pressed.key)) choose(Number(pressed.key) - 1);
    else if (pressed.key === "0" && cantTell) takeNone();
    else if (inPlayer) return false;
    else if (step && !several && buttons.length === 2) choose(step < 0 ? 0 : 1);
    else if (step) moveFocus(step);
    else if (pressed.key === "Enter" && several && chosen.size === question.n_chosen) take();
    else return false;
    return true;
  }

  // The clock starts when the loaded stimuli have been painted.
  function shown() {
    (head || title).focus({ preventScroll: true });
    scrollTo(0, 0);
    requestAnimationFrame(() => requestAnimationFrame(begin));
  }

  function begin() {
    shownAt = performance.now();
    setTimeout(() => listen(true), DEAF_AT_FIRST);
  }

  return { page, key, shown };
}

// Columns of the options on a narrow and on a wide screen. Players need more room for their buttons.
function columns(n, players) {
  if (n <= 4) return [n === 3 ? 1 : 2, n];
  return [players ? 2 : 3, n <= 6 ? 3 : n <= 8 ? 4 : 5];
}
