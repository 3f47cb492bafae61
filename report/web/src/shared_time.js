// The common time of charts and 3D view. They are separate scripts of one page and communicate by events of its window.

const shown = 'heelstrike-time', range = 'heelstrike-times';

/** @param source  sender; listeners ignore their own events */
export function showTime(time, source) {
  dispatchEvent(new CustomEvent(shown, { detail: { time, source } }));
}

export function onTime(listener) {
  addEventListener(shown, ({ detail }) => listener(detail.time, detail.source));
}

/** The charts show `from` to `to` [s]. */
export function notifyWindow(from, to) {
  window.heelstrikeTimes = [from, to];
  dispatchEvent(new CustomEvent(range, { detail: [from, to] }));
}

export function onWindow(listener) {
  addEventListener(range, ({ detail }) => listener(...detail));
}
