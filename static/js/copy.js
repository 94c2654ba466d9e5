/* A button that copies a text of the page; where the browser does not let it, it selects
   the text, so that a key copies it. */

for (const button of document.querySelectorAll("[data-copies]")) {
  const source = document.getElementById(button.dataset.copies);
  const status = button.parentElement.querySelector("[data-copied]");
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source.textContent);
      status.textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(source);
      status.textContent = "It is selected: press Ctrl+C or ⌘C.";
    }
  });
}
