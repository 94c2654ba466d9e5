// The button of a plan says with how many it starts, whatever is typed.

const words = document.querySelector("[data-canary]");
const field = words && document.getElementById(words.dataset.canary);

field?.addEventListener("input", () => {
  const first = Math.trunc(field.valueAsNumber);
  words.textContent = first > 0 ? ` – start with ${first}` : "";
});
