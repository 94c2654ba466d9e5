/* How long until a moment, counted down every second, in words as the server's. */

import { gettext } from "./texts.js";

const OVER = gettext("no longer");
const UNITS = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
];

function tick() {
  for (const place of document.querySelectorAll("[data-countdown]")) {
    const left = Math.floor((Date.parse(place.dateTime) - Date.now()) / 1000);
    place.textContent = left > 0 ? words(left) : OVER;
  }
  setTimeout(tick, 1000 - (Date.now() % 1000));
}

/* The two largest units. */
function words(seconds) {
  const largest = UNITS.findIndex(([, size]) => seconds >= size);
  const parts = [];
  let rest = seconds;
  for (const [unit, size] of UNITS.slice(largest, largest + 2)) {
    const count = Math.floor(rest / size);
    rest %= size;
    if (count) {
      parts.push(`${count} ${unit}`);
    }
  }
  return parts.join(" ");
}

tick();
