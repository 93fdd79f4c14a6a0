// Answers wait in the browser's storage until the server has listed them as saved. Each has an id of its own, so sending it
// again is harmless; they leave one at a time and in order, so that a refusal names its answer.
const SHORTEST_WAIT = 0.5;
const LONGEST_WAIT = 15;
const TIMEOUT = 15;

// Seconds to wait after so many failed tries: growing, and spread so that a thousand pages do not come back at once.
export function waitAfter(tries) {
  const wait = SHORTEST_WAIT * 2 ** Math.min(tries, 6) * (1 + Math.random() / 2);
  return Math.min(wait, LONGEST_WAIT);
}

// Sleep; less when the browser is online again or the page comes back into view.
export function sleep(seconds) {
  return new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      removeEventListener("online", wake);
      document.removeEventListener("visibilitychange", wake);
      resolve();
    };
    const timer = setTimeout(wake, 1000 * seconds);
    addEventListener("online", wake);
    document.addEventListener("visibilitychange", wake);
  });
}

// {status, body} of the server's answer; status 0 when there was none.
export async function request(path, body) {
  const control = new AbortController();
  const timer = setTimeout(() => control.abort(), 1000 * TIMEOUT);
  const post = {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Nearer": "1" },
    body: JSON.stringify(body),
    keepalive: true, // an answer given just before the page is left still goes out
  };
  try {
    const response = await fetch(path, { cache: "no-store", signal: control.signal, ...(body ? post : {}) });
    return { status: response.status, body: response.ok ? await response.json() : null };
  } catch {
    return { status: 0, body: null };
  } finally {
    clearTimeout(timer);
  }
}

// No answer, too fast, or the server's own trouble: worth trying again.
export function isPassing(status) {
  return status === 0 || status === 408 || status === 429 || status >= 500;
}

// crypto.randomUUID exists on HTTPS and localhost only; a study in a laboratory's network may have neither.
export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

// The waiting answers of one study, in the order in which they were given. Always read afresh: another tab may share them.
// Each has a key of its own, so that two tabs never write over what the other has just kept.
export function openQueue(study) {
  const start = `nearer answer ${study} `;
  const memory = new Map(); // where the browser has no storage, they wait here
  const stored = () => {
    try {
      return Object.keys(localStorage).filter((key) => key.startsWith(start)).map((key) => read(key)).filter(Boolean);
    } catch {
      return [];
    }
  };
  const read = (key) => {
    try {
      return JSON.parse(localStorage.getItem(key));
    } catch {
      return null;
    }
  };
  const entries = () => [...stored(), ...memory.values()].sort((one, other) => one.at - other.at);
  const has = (question) => entries().some((entry) => entry.question === question);
  const add = (entry) => {
    if (has(entry.question)) return;
    const timed = { ...entry, at: Date.now() };
    try {
      localStorage.setItem(start + entry.id, JSON.stringify(timed));
    } catch {
      memory.set(entry.id, timed);
    }
  };
  const remove = (gone) => {
    for (const { id } of entries().filter(gone)) {
      if (!memory.delete(id)) localStorage.removeItem(start + id);
    }
  };
  return { entries, has, add, remove };
}

// Sends what waits; `send` may be called at any time. What came of it goes to `on`: saved(state), refused(entry),
// stopped() when the study takes no answers, lost(status) when they cannot be kept now.
export function makeSender(queue, on) {
  let sending = false;

  async function sendFirst() {
    const [{ question, chosen, seconds, id }] = queue.entries();
    const { status, body } = await request("/api/answers", { answers: [{ question, chosen, seconds, id }] });
    if (status === 200) {
      const saved = new Set(body.saved);
      queue.remove((entry) => saved.has(entry.question));
      on.saved(body);
      return saved.has(question);
    }
    if (isPassing(status)) on.lost(status);
    else if (status === 409) on.stopped();
    else {
      queue.remove((entry) => entry.id === id);
      on.refused(question);
      return true;
    }
    return false;
  }

  async function send() {
    if (sending) return;
    sending = true;
    try {
      for (let tries = 0; queue.entries().length; ) {
        if (await sendFirst()) tries = 0;
        else await sleep(waitAfter(tries++));
      }
    } finally {
      sending = false;
    }
  }

  return send;
}
