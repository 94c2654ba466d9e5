// The button of a plan says with how many it starts, whatever is typed. Who has asked
// what a patch would change reads that, and says why next: the focus is there.

import { gettext } from "./texts.js";

const words = document.querySelector("[data-canary]");
const field = words && document.getElementById(words.dataset.canary);

field?.addEventListener("input", () => {
  const first = Math.trunc(field.valueAsNumber);
  words.textContent = first > 0 ? ` – ${gettext("start with %(first)s", { first })}` : "";
});

if (location.hash === "#repair") {
  addEventListener("load", () => {
    requestAnimationFrame(() => {
      document.querySelector("[data-next]")?.focus({ preventScroll: true });
    });
  });
}
