/* Lists with checkboxes: one for the whole page, and how many are ticked. */

for (const head of document.querySelectorAll("[data-ticks]")) {
  const form = document.getElementById(head.dataset.ticks);
  const boxes = () =>
    [...form.elements].filter((one) => one.type === "checkbox" && one !== all);
  const all = document.createElement("input");
  all.type = "checkbox";
  all.ariaLabel = "Select all on this page";
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
  };
  head.replaceChildren(all);
  head.closest("table").addEventListener("change", count);
  count();
}
