/* The clock in the bar, in the zone of all times on the page; and the button that
   chooses the zone of this browser. */

import { timeOf } from "./zone.js";

const clock = document.querySelector("[data-clock]");
const name = clock?.textContent.trim().split(" ").slice(1).join(" ");

function tick() {
  const now = new Date();
  clock.dateTime = now.toISOString();
  clock.textContent = `${timeOf(now)} ${name}`;
  setTimeout(tick, 1000 - now.getMilliseconds());
}

if (clock) {
  tick();
}
for (const button of document.querySelectorAll("[data-local-zone]")) {
  const local = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const isHere = document.documentElement.dataset.zone === local;
  button.value = local;
  button.title = local;
  button.hidden = !local || local === "UTC";
  button.setAttribute("aria-pressed", String(isHere));
}
