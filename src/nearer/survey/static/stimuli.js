// Stimuli are loaded as the very elements that are shown later, so that a question that is loaded ahead needs no connection.
import { element, fill } from "./dom.js";
import { sleep, waitAfter } from "./sending.js";

// Phones do not load sound or film before a touch: then the question is shown without waiting for it any longer.
const LONGEST_MEDIA_WAIT = 4000;

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

async function loadMedia(item, name) {
  const media = element(item.kind, { controls: true, preload: "auto", playsinline: true, "aria-label": name });
  const late = new Promise((resolve) => setTimeout(resolve, LONGEST_MEDIA_WAIT));
  const loaded = Promise.race([event(media, "loadeddata"), failure(media), late]);
  media.src = item.url;
  media.load();
  media.addEventListener("play", () => quietOthers(media));
  await loaded;
  return item.kind === "video" ? element("span", { class: "picture" }, media) : media;
}

function quietOthers(playing) {
  for (const media of document.querySelectorAll("audio, video")) if (media !== playing) media.pause();
}

async function loadItem(item, name, isWanted, onTrouble) {
  const load = item.kind === "image" ? loadPicture : loadMedia;
  for (let tries = 0; item.kind !== "text"; tries += 1) {
    try {
      return await load(item, name);
    } catch {
      if (!isWanted()) return null;
      onTrouble();
      await sleep(waitAfter(tries));
    }
  }
  return null; // a text is its caption
}

// What an item is called by those who listen.
export function nameOf(item, place, words) {
  return item.caption || (place < 0 ? words.head : fill(words.option, { n: place + 1 }));
}

// The elements of one question: {head, options}, once all of them are loaded.
export async function loadQuestion(question, words, isWanted, onTrouble) {
  const load = (item, place) => loadItem(item, nameOf(item, place, words), isWanted, onTrouble);
  const [head, ...options] = await Promise.all([question.head ? load(question.head, -1) : null, ...question.options.map(load)]);
  return { head, options };
}
