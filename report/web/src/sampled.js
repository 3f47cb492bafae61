// Interpolation of sampled data.

/** Index of the last of `times` at or before t; 0 before the first one. */
export function indexBefore(times, t) {
  let low = 0, high = times.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= t) low = middle; else high = middle - 1;
  }
  return low;
}

/** Linear interpolation at time t of values sampled at `times`. */
export function valueAt(times, values, t) {
  const i = indexBefore(times, t), j = Math.min(i + 1, times.length - 1);
  return j === i || t <= times[i] ? values[i] : values[i] + ((values[j] - values[i]) * (t - times[i])) / (times[j] - times[i]);
}
