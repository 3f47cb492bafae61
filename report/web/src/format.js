// Formatting of numbers, units and elements of a page.
import units from './units.json';

/** Digits of values; instants have six, to tell the contacts of an impact apart. */
export const shownDigits = 4;

/** Significant digits without trailing zeros; exponents where they are shorter. */
export function number(value, digits = 6) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e6) return String(Number(value.toPrecision(digits)));
  const [mantissa, exponent] = value.toExponential(digits - 1).split('e');
  return `${Number(mantissa)}e${Number(exponent)}`;
}

/** Number of decimals that represents `step` exactly. */
function decimalsOf(step) {
  let decimals = 0;
  while (decimals < 12 && Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6) ++decimals;
  return decimals;
}

/** Labels of the ticks of one axis: all with the same number of decimals, or all with an exponent. */
export function tickLabels(ticks) {
  const largest = Math.max(...ticks.map((tick) => Math.abs(tick ?? 0)));
  const distinct = ticks.filter((tick) => tick !== null);
  const step = distinct.length > 1 ? Math.abs(distinct[1] - distinct[0]) : largest;
  if (largest >= 1e5 || (largest > 0 && largest < 1e-2)) {
    const power = Math.floor(Math.log10(largest));
    const decimals = decimalsOf(step / 10 ** power);
    return ticks.map((tick) => (tick === null ? '' : tick === 0 ? '0' : `${(tick / 10 ** power).toFixed(decimals)}e${power}`));
  }
  const decimals = decimalsOf(step);
  return ticks.map((tick) => (tick === null ? '' : tick.toFixed(decimals)));
}

/** An element with attributes and children; texts are never parsed as markup. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children);
  return made;
}

export function withUnit(text, unit) {
  return unit && unit !== '-' ? `${text} [${unit}]` : text;
}

/** Display factor and unit for values up to `high`, all in SI. Pressures and areas have one unit in the whole page: that
 *  of their largest value, `window.heelstrikeHighs`. */
export function readable(high, unit) {
  const size = Math.abs(globalThis.heelstrikeHighs?.[unit] ?? high);
  const [name, factor] = (size > 0 && units[unit]?.find(([, , from]) => size >= from)) || [unit ?? '', 1];
  return [factor, name];
}

/** Largest magnitude of arrays; NaN and null do not count. */
export function largest(...arrays) {
  let most = 0;
  for (const values of arrays) for (const v of values) if (Math.abs(v) > most) most = Math.abs(v);
  return most;
}
