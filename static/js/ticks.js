/* Lists with checkboxes: one for the whole page, and how many are ticked. Shift and a
   click give all from the last one to here the state of the one that is clicked. What acts on
   all that match is hidden while some are: one of the two is meant. */

import { gettext } from "./texts.js";

for (const head of document.querySelectorAll("[data-ticks]")) {
  const form = document.getElementById(head.dataset.ticks);
  const boxes = () =>
    [...form.elements].filter((one) => one.type === "checkbox" && one !== all);
  let last = null; // the box that was changed last
  const all = document.createElement("input");
  all.type = "checkbox";
  all.ariaLabel = gettext("Select all on this page");
  all.addEventListener("change", () => {
    boxes().forEach((box) => {
      box.checked = all.checked;
    });
    count();
  });
  const count = () => {
    const every = boxes();
    const ticked = every.filter((box) => box.checked).length;
    all.checked = ticked > 0 && ticked === every.length;
    all.indeterminate = ticked > 0 && ticked < every.length;
    for (const place of form.querySelectorAll("[data-ticked]")) {
      place.textContent = ticked ? ` (${ticked})` : "";
    }
    for (const button of form.querySelectorAll("[data-all]")) {
      button.hidden = ticked > 0;
    }
  };
  head.replaceChildren(all);
  const table = head.closest("table, section");
  table.addEventListener("click", ({ target, shiftKey }) => {
    const every = boxes();
    const ends = [every.indexOf(last), every.indexOf(target)].sort((a, b) => a - b);
    if (shiftKey && ends[0] >= 0) {
      for (const box of every.slice(ends[0], ends[1] + 1).filter((one) => !one.disabled)) {
        box.checked = target.checked;
      }
      getSelection().removeAllRanges(); // of the text between
    }
  });
  table.addEventListener("change", ({ target }) => {
    last = target;
    count();
  });
  table.addEventListener("appended", count); // rows that a search has found since
  count();
}
