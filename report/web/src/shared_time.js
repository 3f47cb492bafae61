// The time that charts and the 3D view show together. They are separate scripts of one page, so they meet at its window.

const shown = 'heelstrike-time', range = 'heelstrike-times';

/** @param source who says so; listeners leave their own news alone */
export function showTime(time, source) {
  dispatchEvent(new CustomEvent(shown, { detail: { time, source } }));
}

export function onTime(listener) {
  addEventListener(shown, ({ detail }) => listener(detail.time, detail.source));
}

/** The charts show `from` to `to` [s]. */
export function tellWindow(from, to) {
  window.heelstrikeTimes = [from, to];
  dispatchEvent(new CustomEvent(range, { detail: [from, to] }));
}

export function onWindow(listener) {
  addEventListener(range, ({ detail }) => listener(...detail));
}
