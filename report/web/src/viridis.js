// Viridis (Smith and van der Walt 2015), sampled; perceptually uniform and safe for colour-blind readers.
const viridis = [[68, 1, 84], [72, 36, 117], [65, 68, 135], [53, 95, 141], [42, 120, 142], [33, 145, 140], [34, 168, 132],
  [68, 191, 112], [122, 209, 81], [189, 223, 38], [253, 231, 37]];

/** Colour of unloaded areas: distinct from the lowest colour of the scale and from holes. */
export const unloaded = [190, 196, 202];

/** Red, green, blue in 0..255 of a fraction of the range. */
export function viridisColour(fraction) {
  const x = Math.min(1, Math.max(0, fraction)) * (viridis.length - 1);
  const k = Math.min(viridis.length - 2, Math.floor(x));
  return viridis[k].map((low, c) => low + (viridis[k + 1][c] - low) * (x - k));
}

/** The same for pressure, where zero has the colour of unloaded areas. */
export function pressureColour(fraction) {
  return fraction > 0 ? viridisColour(fraction) : unloaded;
}
