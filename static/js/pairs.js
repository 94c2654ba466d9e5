/* A field that narrows a list of names and values to those that contain its text. */

document.addEventListener("input", (event) => {
  const id = event.target.dataset.narrows;
  if (id) {
    narrow(document.getElementById(id), event.target.value.toLowerCase());
  }
});
document.body.addEventListener("htmx:afterSettle", narrowAll);
narrowAll();

/* Without this script there is nothing to type into; and a page that was renewed has all
   its rows again. */
function narrowAll() {
  for (const field of document.querySelectorAll("[data-narrows]")) {
    field.hidden = false;
    narrow(document.getElementById(field.dataset.narrows), field.value.toLowerCase());
  }
}

function narrow(list, wanted) {
  for (const name of list.querySelectorAll("dt")) {
    const value = name.nextElementSibling;
    const has = `${name.textContent} ${value.textContent}`.toLowerCase().includes(wanted);
    name.hidden = value.hidden = !has;
  }
}
