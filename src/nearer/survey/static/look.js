// Black or white letters, whichever is read better on the study's colours: one of the two has a contrast of at least 4.5.
// Lines and grounds are the page's colour with a share of the letters': as much as a line needs to be seen, and as little as
// letters on a ground allow.
const root = document.documentElement;

function channels(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16) / 255);
}

function luminance(colour) {
  const linear = colour.map((share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

// Contrast with black is (l + 0.05) / 0.05, with white 1.05 / (l + 0.05); they are equal at l = 0.179.
function lettersOn(hex) {
  return luminance(channels(hex)) > 0.179 ? "#000000" : "#ffffff";
}

function contrast(one, other) {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

// The first of some shares of the letters' colour, mixed into the page's, that has a contrast with the other colour.
function shareWith(shares, least, ink, background, other) {
  const mixed = (share) => ink.map((value, at) => share * value + (1 - share) * background[at]);
  return shares.find((share) => contrast(mixed(share), other) >= least) ?? shares.at(-1);
}

export function setLetters() {
  const set = (name, value) => root.style.setProperty(name, value);
  const [background, accent] = ["--background", "--accent"].map((name) => getComputedStyle(root).getPropertyValue(name).trim());
  if (![background, accent].every((hex) => /^#[0-9a-f]{6}$/i.test(hex))) return;
  set("--ink", lettersOn(background));
  set("--on-accent", lettersOn(accent));
  const [ink, paper] = [channels(lettersOn(background)), channels(background)];
  set("--line-share", `${100 * shareWith([0.55, 0.7, 0.85, 1], 3, ink, paper, paper)}%`);
  set("--wash-share", `${100 * shareWith([0.06, 0.03, 0], 4.5, ink, paper, ink)}%`);
}
