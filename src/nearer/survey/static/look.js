// Black or white letters, whichever is read better on the study's colours: one of the two has a contrast of at least 4.5.
const root = document.documentElement;

function luminance(hex) {
  const linear = [1, 3, 5].map((start) => {
    const share = parseInt(hex.slice(start, start + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

// Contrast with black is (l + 0.05) / 0.05, with white 1.05 / (l + 0.05); they are equal at l = 0.179.
function lettersOn(hex) {
  return luminance(hex) > 0.179 ? "#000000" : "#ffffff";
}

export function setLetters() {
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  for (const [name, behind] of [["--ink", "--background"], ["--on-accent", "--accent"]]) {
    if (/^#[0-9a-f]{6}$/i.test(colour(behind))) root.style.setProperty(name, lettersOn(colour(behind)));
  }
}
