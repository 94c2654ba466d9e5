/* The keyboard: one table, from which the help sheet is made too.

   Single letters rest while one types, while a dialog is open, and where they were
   switched off in this browser. Everything they do has a visible control as well. */

const KEYS = [
  ["/", "filter this list", () => focus("[data-filter]")],
  ["j", "next row", () => step(1)],
  ["k", "previous row", () => step(-1)],
  ["Enter", "open the row", null], // its link has the focus, so the browser does
  ["r", "take what is new (Refresh)", () => click(".fresh:not([hidden])")],
  ["[", "previous page", () => click('[rel="prev"]')],
  ["]", "next page", () => click('[rel="next"]')],
  ["?", "this help", () => sheet.showModal()],
];
const WITHIN_MS = 1500; // between g and the letter after it

const sheet = document.getElementById("keys");
const onOff = document.getElementById("keys-on");
let waitsForPlaceUntil = 0;

for (const link of document.querySelectorAll("[data-go]")) {
  const name = link.querySelector("span").textContent.trim();
  KEYS.push([`g ${link.dataset.go}`, `go to ${name}`, () => link.click()]);
}
sheet.querySelector("tbody").append(...KEYS.map(([key, what]) => row(key, what)));
onOff.checked = localStorage.getItem("keys") !== "off";
onOff.addEventListener("change", () => {
  localStorage.setItem("keys", onOff.checked ? "on" : "off");
});
for (const button of document.querySelectorAll('[data-opens="keys"]')) {
  button.addEventListener("click", () => sheet.showModal());
}
document.addEventListener("keydown", pressed);

function pressed(event) {
  if (event.key === "Escape") {
    document.querySelectorAll("details.menu[open]").forEach((menu) => {
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  }
  if (event.ctrlKey || event.metaKey || event.altKey || rests(event.target)) {
    return;
  }
  const isPlace = event.timeStamp < waitsForPlaceUntil;
  waitsForPlaceUntil = event.key === "g" ? event.timeStamp + WITHIN_MS : 0;
  const key = isPlace ? `g ${event.key}` : event.key;
  const does = KEYS.find(([one]) => one === key)?.[2];
  if (does) {
    event.preventDefault();
    does();
  }
}

function rests(target) {
  return (
    !onOff.checked ||
    document.querySelector("dialog[open]") !== null ||
    target.closest("input, textarea, select, [contenteditable]") !== null
  );
}

function step(by) {
  const rows = [...document.querySelectorAll("[data-row]")];
  const here = rows.indexOf(document.activeElement?.closest("[data-row]"));
  const next = rows[here < 0 ? (by > 0 ? 0 : rows.length - 1) : here + by];
  next?.querySelector("a, button")?.focus();
}

function focus(selector) {
  document.querySelector(selector)?.focus();
}

function click(selector) {
  document.querySelector(selector)?.click();
}

function row(key, what) {
  const line = document.createElement("tr");
  const cell = line.insertCell();
  for (const one of key.split(" ")) {
    const cap = document.createElement("kbd");
    cap.textContent = one;
    cell.append(cap, " ");
  }
  line.insertCell().textContent = what;
  return line;
}
