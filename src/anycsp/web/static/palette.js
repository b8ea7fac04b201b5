// Colours that people with any kind of colour vision tell apart (Okabe and Ito), without the red, which means conflict.
const FIRST = ["#0072b2", "#e69f00", "#009e73", "#f0e442", "#56b4e9", "#cc79a7", "#8c8c8c"];

export function color(index) {
  if (index < FIRST.length) return FIRST[index];
  return `hsl(${(index * 137.5) % 360} 45% ${index % 2 ? 42 : 68}%)`;
}

// Black or white, whichever is read better on the colour.
export function inkOn(fill) {
  if (!fill.startsWith("#")) return "#000";
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(fill.slice(at, at + 2), 16) / 255);
  return 0.299 * r + 0.587 * g + 0.114 * b > 0.5 ? "#000" : "#fff";
}

// A colour of the style sheet, by what it means.
export const meaning = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
