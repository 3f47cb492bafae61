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

/** Columns of one run at common times: those of all columns, linear between their samples. Long runs have fewer rows in a
 *  page than in the run, and each column keeps the rows of its own extrema.
 *  @param columns  [{time, value}]. @returns {times, values: [one array for each column]} */
export function commonRows(columns) {
  const [{ time }] = columns;
  const same = columns.every((c) => c.time === time || (c.time.length === time.length && c.time.every((t, i) => t === time[i])));
  if (same) return { times: time, values: columns.map(({ value }) => value) };
  const times = Float64Array.from([...new Set(columns.flatMap((c) => [...c.time]))]).sort();
  return { times, values: columns.map((c) => times.map((t) => valueAt(c.time, c.value, t))) };
}
