// The pages around the questions: welcome and consent, a message with or without a button, and the end.
import { copyTextOf, element } from "./dom.js";

function paragraphs(texts) {
  return texts.map((text) => element("p", {}, text));
}

function heading(text) {
  return element("h1", { tabindex: "-1" }, text);
}

export function messagePage(title, texts, button = null, press = null) {
  const go = button && element("button", { type: "button", class: "main", onclick: press }, button);
  return element("div", { class: "sheet" }, heading(title), ...paragraphs(texts), go);
}

// Welcome, and consent where the study asks for it. The button can always be pressed: it says what is missing.
export function welcomePage(title, state, words, begin) {
  const box = element("input", { type: "checkbox", id: "agree", "aria-describedby": "missing" });
  const missing = element("p", { id: "missing", class: "missing", role: "alert" });
  const needed = state.consent.length > 0;
  const submit = (event) => {
    event.preventDefault();
    const lacks = needed && !box.checked;
    missing.textContent = lacks ? words.agree_first : "";
    box.setAttribute("aria-invalid", String(lacks));
    if (lacks) box.focus();
    else begin();
  };
  const notice = element(
    "section",
    { class: "consent", "aria-labelledby": "notice-heading" },
    element("h2", { id: "notice-heading" }, words.data_protection),
    ...paragraphs(state.notice),
  );
  const consent = element(
    "section",
    { class: "consent", "aria-labelledby": "consent" },
    element("h2", { id: "consent" }, words.consent),
    ...paragraphs(state.consent),
    element("label", { class: "tick" }, box, element("span", {}, words.agree)),
    missing,
  );
  const go = element("button", { class: "main" }, words.begin);
  const form = element("form", { novalidate: true, onsubmit: submit }, state.notice.length ? notice : null, needed ? consent : null, go);
  return element("div", { class: "sheet" }, heading(title), ...paragraphs(state.welcome), form);
}

// A question of which something cannot be loaded.
export function unseenPage(id, words, tryAgain, leave) {
  const page = messagePage(words.unseen, [words.unseen_text], words.try_again, tryAgain);
  page.dataset.question = id;
  page.append(element("button", { type: "button", class: "second", onclick: leave }, words.leave_question));
  return page;
}

export function donePage(state, words) {
  const sent = /^https?:\/\//i.test(state.completion_url); // to another page, where taking part is acknowledged
  const page = messagePage(words.thanks, [...state.thanks, sent ? words.to_finish : words.may_leave]);
  if (state.completion_code) page.append(codeBox(state.completion_code, words));
  if (sent) page.append(element("a", { class: "main", href: state.completion_url }, words.finish));
  return page;
}

function codeBox(code, words) {
  const shown = element("output", { class: "code", "aria-labelledby": "code" }, code);
  const copied = element("span", { role: "status", class: "copied" });
  const copy = async () => {
    copied.textContent = (await copyTextOf(shown)) ? words.copied : words.copy_failed;
  };
  return element(
    "div",
    { class: "completion" },
    element("h2", { id: "code" }, words.code),
    shown,
    element("div", {}, element("button", { type: "button", onclick: copy }, words.copy), copied),
  );
}
