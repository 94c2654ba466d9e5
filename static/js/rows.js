/* A button that adds an empty row to a form; without it, the form has some already. */

import { gettext } from "./texts.js";

const rows = document.querySelector("[data-rows]");
const button = document.querySelector("[data-adds-row]");

button.hidden = false;
button.addEventListener("click", () => {
  const row = rows.lastElementChild.cloneNode(true);
  row.querySelector(".error")?.remove();
  for (const input of row.querySelectorAll("input")) {
    input.value = "";
    input.removeAttribute("value");
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-describedby");
  }
  row.querySelector("select").selectedIndex = 0;
  rows.append(row);
  row.setAttribute("aria-label", gettext("Property %(number)s", { number: rows.childElementCount }));
  row.querySelector("input").focus();
});
