// Colours that people with any kind of colour vision tell apart (Okabe and Ito), without the red, which means conflict.
const FIRST = ["#0072b2", "#e69f00", "#009e73", "#f0e442", "#56b4e9", "#cc79a7", "#8c8c8c"];

export function color(index) {
  if (index < FIRST.length) return FIRST[index];
  return hex((index * 137.5) % 360, 0.45, index % 2 ? 0.42 : 0.68);
}

function hex(hue, saturation, lightness) {
  const most = saturation * Math.min(lightness, 1 - lightness);
  const part = (first) => {
    const at = (first + hue / 30) % 12;
    const share = lightness - most * Math.max(-1, Math.min(at - 3, 9 - at, 1));
    return Math.round(255 * share).toString(16).padStart(2, "0");
  };
  return `#${part(0)}${part(8)}${part(4)}`;
}

// Black or white, whichever has more contrast on the colour.
export function inkOn(fill) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(fill.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

// A colour of the style sheet, by what it means.
export const meaning = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
