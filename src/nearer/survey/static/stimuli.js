// Stimuli are loaded as the very elements that are shown later, so that a question that is loaded ahead needs no connection.
import { element, fill } from "./dom.js";
import { sleep, waitAfter } from "./sending.js";

// Phones do not load sound or film before a touch: then the question is shown without waiting for it any longer.
const LONGEST_MEDIA_WAIT = 4000;
const MOST_TRIES = 4; // while the server answers; without a connection it is tried for as long as that takes

function event(target, name) {
  return new Promise((resolve) => target.addEventListener(name, resolve, { once: true }));
}

function failure(target) {
  return event(target, "error").then(() => Promise.reject(new Error("not loaded")));
}

async function loadPicture(item, name) {
  // With a caption below, the picture would only say it twice to those who listen.
  const picture = element("img", { alt: item.caption ? "" : name, draggable: "false" });
  const loaded = Promise.race([event(picture, "load"), failure(picture)]);
  picture.src = item.url;
  await loaded;
  await picture.decode().catch(() => {}); // not every SVG can be decoded ahead; it is loaded all the same
  return element("span", { class: "picture" }, picture);
}

async function loadMedia(item, name, failedLater) {
  const media = element(item.kind, { controls: true, preload: "auto", playsinline: true, "aria-label": name });
  const late = new Promise((resolve) => setTimeout(resolve, LONGEST_MEDIA_WAIT));
  const loaded = Promise.race([event(media, "loadeddata"), failure(media), late]);
  media.src = item.url;
  media.load();
  media.addEventListener("play", () => quietOthers(media));
  await loaded;
  media.addEventListener("error", failedLater);
  return item.kind === "video" ? element("span", { class: "picture" }, media) : media;
}

function quietOthers(playing) {
  for (const media of document.querySelectorAll("audio, video")) if (media !== playing) media.pause();
}

// Whether the server answers at all, be it to say that there is no such file.
async function isReached(url) {
  try {
    await fetch(url, { method: "HEAD", cache: "no-store" });
    return true;
  } catch {
    return false;
  }
}

// The element of an item, null for a text, which is its caption. `broken(item)` is called for one that cannot be loaded.
async function loadItem(item, name, { isWanted, trouble, broken }) {
  const load = item.kind === "image" ? loadPicture : loadMedia;
  let tries = 0;
  for (let waits = 0; item.kind !== "text"; waits += 1) {
    try {
      return await load(item, name, () => broken(item));
    } catch {
      if (await isReached(item.url)) tries += 1;
      if (!isWanted()) return null;
      if (tries >= MOST_TRIES) {
        broken(item);
        return null;
      }
      trouble();
      await sleep(waitAfter(waits));
    }
  }
  return null;
}

// What an item is called by those who listen.
export function nameOf(item, place, words) {
  return item.caption || (place < 0 ? words.head : fill(words.option, { n: place + 1 }));
}

// The elements of one question: {head, options}, once all of them are loaded. `on` has isWanted(), trouble() while it is tried
// again, and broken(item).
export async function loadQuestion(question, words, on) {
  const load = (item, place) => loadItem(item, nameOf(item, place, words), on);
  const [head, ...options] = await Promise.all([question.head ? load(question.head, -1) : null, ...question.options.map(load)]);
  return { head, options };
}
