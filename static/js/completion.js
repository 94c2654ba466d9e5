/* What could stand in a field, asked of the server while one types. The browser offers
   it; whoever has no scripts gets what the page was made with. */

const PAUSE_MS = 120; // between the last key and the question

const field = document.querySelector("[data-completes]");
const said = document.querySelector("[data-said]");
let timer = 0;

field?.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE_MS);
});

async function ask() {
  const text = field.value;
  const url = new URL(field.dataset.completes, location.href);
  url.searchParams.set("text", text);
  try {
    const answer = await fetch(url);
    if (answer.ok && !answer.redirected && field.value === text) {
      offer(await answer.json());
    }
  } catch {
    said.textContent = ""; // cut off: one can type all the same
  }
}

function offer(told) {
  said.textContent = told.said;
  field.list.replaceChildren(
    ...told.options.map(({ value, says }) => {
      const option = document.createElement("option");
      option.value = value;
      option.textContent = says;
      return option;
    }),
  );
}
