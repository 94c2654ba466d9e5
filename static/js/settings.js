// Names what Django's own forms leave unnamed for those who hear a page.

import { gettext } from "./texts.js";

const words = (one) => one?.textContent.trim().replace(/:$/, "") ?? "";
const legend = (one) => words(one.closest("fieldset")?.querySelector("legend"));
const label = (id) => words(document.querySelector(`label[for="${id}"]`));

const name = () => {
  for (const one of document.querySelectorAll(".select2-selection__rendered"))
    one.ariaLabel = label(one.id.replace(/^select2-|-container$/g, ""));
  for (const one of document.querySelectorAll(".help-tooltip[aria-label]"))
    one.role = "img";
  for (const one of document.querySelectorAll(".vDateField, .vTimeField"))
    one.ariaLabel = `${legend(one)}: ${one.matches(".vDateField") ? gettext("date") : gettext("time")}`;
};

// After whatever makes them, of which some waits for this and some for that.
addEventListener("load", name);
globalThis.django?.jQuery?.(name);
