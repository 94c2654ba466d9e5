/* The clock in the bar: UTC, as every time on the pages and in the logs. */

const clock = document.querySelector("[data-clock]");

function tick() {
  const now = new Date();
  clock.dateTime = now.toISOString();
  clock.textContent = `${now.toISOString().slice(11, 19)} UTC`;
  setTimeout(tick, 1000 - now.getMilliseconds());
}

if (clock) {
  tick();
}
