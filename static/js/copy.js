/* A button that copies a text of the page, or a list of names and values; where the browser
   does not let it, it selects the text, so that a key copies it. */

import { gettext } from "./texts.js";

reveal();
document.body.addEventListener("htmx:afterSettle", reveal);
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies]");
  if (!button) {
    return;
  }
  const source = document.getElementById(button.dataset.copies);
  const status = button.parentElement.querySelector("[data-copied]");
  try {
    await navigator.clipboard.writeText(words(source));
    status.textContent = gettext("Copied.");
  } catch {
    getSelection().selectAllChildren(source);
    status.textContent = gettext("It is selected: press Ctrl+C or ⌘C.");
  }
});

function reveal() {
  for (const button of document.querySelectorAll("[data-copies]")) {
    button.hidden = false;
  }
}

/* Of a list: a line for each name and value, without the links beside them. */
function words(source) {
  const line = (name) => `${name.textContent.trim()}: ${value(name.nextElementSibling)}`;
  const names = [...source.querySelectorAll("dt")];
  return names.length ? names.map(line).join("\n") : source.textContent;
}

function value(cell) {
  const kept = [...cell.childNodes].filter((one) => !one.matches?.(".beside"));
  return kept.map((one) => one.textContent).join("").trim();
}
