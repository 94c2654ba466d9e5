/* How long until a moment, counted down every second, in words as the server's. */

const OVER = "no longer";

function tick() {
  for (const place of document.querySelectorAll("[data-countdown]")) {
    const left = Math.floor((Date.parse(place.dateTime) - Date.now()) / 1000);
    place.textContent = left > 0 ? words(left) : OVER;
  }
  setTimeout(tick, 1000 - (Date.now() % 1000));
}

function words(seconds) {
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  if (days) {
    return `${days} d ${two(hours % 24)} h`;
  }
  if (hours) {
    return `${hours} h ${two(minutes % 60)} m`;
  }
  return minutes ? `${minutes} m ${two(seconds % 60)} s` : `${seconds} s`;
}

function two(number) {
  return String(number).padStart(2, "0");
}

tick();
