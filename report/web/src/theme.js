// Light and dark themes, and curve colours: the palette of Okabe and Ito (2008), safe for colour-blind readers; lighter
// hues on a dark page.

const curves = {
  light: ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#b07800', '#3a9fd8', '#000000'],
  dark: ['#56b4e9', '#ff8f4a', '#2fd3a5', '#e79cc6', '#f0c04a', '#a8d8f8', '#ffffff'],
};
const dashes = [undefined, [8, 4], [2, 3], [10, 3, 2, 3]];
const listeners = new Set();
let printing = false;

export function current() {
  if (printing) return 'light';
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

export function curveColour(index) {
  const palette = curves[current()];
  return palette[index % palette.length];
}

/** Curves beyond the palette differ by their dashes. */
export function dash(component, index = 0) {
  return dashes[(component + Math.floor(index / curves.light.length)) % dashes.length];
}

/** Value of a custom property of the style sheet, e.g. "--grid". */
export function cssColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** @returns a function that unsubscribes */
export function onChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function changed() {
  for (const listener of listeners) listener();
}

/** Adds the button to `place` and updates the theme on changes of system, button and print mode. */
export function install(place) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'theme no-print';
  const label = () => { button.textContent = current() === 'dark' ? 'Light page' : 'Dark page'; };
  button.addEventListener('click', () => {
    document.documentElement.dataset.theme = current() === 'dark' ? 'light' : 'dark';
    label();
    changed();
  });
  label();
  place.append(button);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { label(); changed(); });
  const print = (state) => {
    printing = state;
    document.documentElement.classList.toggle('printing', state);
    changed();
  };
  window.addEventListener('beforeprint', () => print(true));
  window.addEventListener('afterprint', () => print(false));
}
