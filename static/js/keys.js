/* The keyboard: one table, from which the help sheet is made too.

   Single letters rest while one types, while a dialog is open, and where they were
   switched off in this browser. Everything they do has a visible control as well. No
   single letter sends anything. */

import { gettext } from "./texts.js";

const KEYS = [
  ["/", gettext("filter this list"), () => focus("[data-filter]")],
  ["j", gettext("next row"), () => step(1)],
  ["k", gettext("previous row"), () => step(-1)],
  ["↓ ↑", gettext("the same, within a list of rows"), null],
  ["o", gettext("open the row, or the first one"), open],
  ["Enter", gettext("open the row"), null], // its link has the focus, so the browser does
  ["x", gettext("select the row"), () => tick(false)],
  ["X", gettext("select the rows from the last one to here"), () => tick(true)],
  ["Shift click", gettext("the same, with the mouse"), null],
  ["r", gettext("take what is new (Refresh)"), () => click(".fresh:not([hidden])")],
  ["[", gettext("previous page"), () => click('[rel="prev"]')],
  ["]", gettext("next page"), () => click('[rel="next"]')],
  ["t", gettext("next theme"), () => click('[name="theme"][aria-pressed="true"] ~ [name="theme"]', '[name="theme"]')],
  ["y", gettext("copy the number of the row, or of this page"), () => copy(numberHere())],
  ["Y", gettext("copy the address of this page"), () => copy(location.href)],
  ["R", gettext("plan to resubmit what is here (it is not sent yet)"), () => click('.drawer [data-plan="resubmit"]', '[data-plan="resubmit"]')],
  ["P", gettext("plan it with a patch (it is not sent yet)"), () => click('[data-plan="repair"]')],
  ["U", gettext("plan to undo it (nothing is undone yet; what stopped itself ends)"), () => click('[data-plan="undo"]')],
  ["Ctrl Enter", gettext("the button of the form in which one is; on a plan, start it"), null],
  ["?", gettext("this help"), () => sheet.showModal()],
  ["Ctrl K", gettext("go to a page, queue or number by its name"), null],
  ["Esc", gettext("close what is open"), null],
];
const WITHIN_MS = 1500; // between g and the letter after it

const sheet = document.getElementById("keys");
const onOff = document.getElementById("keys-on");
const palette = document.querySelector("[data-palette] input");
const announcer = document.getElementById("announcer");
let waitsForPlaceUntil = 0;
let ticked = null; // the row that was selected last, by whatever means

for (const link of document.querySelectorAll("[data-go]")) {
  const name = link.querySelector("span").textContent.trim();
  KEYS.push([`g ${link.dataset.go}`, gettext("go to %(page)s", { page: name }), () => link.click()]);
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
document.addEventListener("change", ({ target }) => {
  ticked = target.closest("main [data-row]") ?? ticked;
});

function pressed(event) {
  if (event.key === "Escape") {
    close();
  }
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && palette) {
    event.preventDefault();
    palette.focus();
    palette.select();
    return;
  }
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
    send(event);
    return;
  }
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    walk(event);
    return;
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

/* The same as a click, so that a button that is disabled stays so. A key that is held
   down sends once; on a link or a button the browser has its own meaning of it. */
function send(event) {
  if (event.target.closest("a, button, summary")) {
    return;
  }
  const form = event.target.form;
  const own = form && [...form.elements].find((one) => one.type === "submit");
  const button = form ? own : document.querySelector("[data-main]");
  if (button && !document.querySelector("dialog[open]")) {
    event.preventDefault();
    if (!event.repeat) {
      button.click();
    }
  }
}

function rests(target) {
  return (
    !onOff.checked ||
    document.querySelector("dialog[open]") !== null ||
    target.closest("input, textarea, select, [contenteditable]") !== null
  );
}

function close() {
  document.querySelectorAll("details.menu[open]").forEach((menu) => {
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  if (location.hash === "#nav") {
    location.hash = "#main"; // where the menu of phones was opened from
  }
  if (document.activeElement?.closest("[data-palette]")) {
    palette.value = "";
    document.getElementById("ways").replaceChildren();
    palette.blur();
    document.getElementById("main").focus();
  }
}

/* Arrows go through what the palette found, and from row to row once one is in a list;
   everywhere else they scroll. */
function walk(event) {
  const by = event.key === "ArrowDown" ? 1 : -1;
  const found = document.activeElement?.closest("[data-palette]");
  const inRow = document.activeElement?.closest("main [data-row]");
  if (found) {
    const links = [palette, ...found.querySelectorAll("a")];
    const next = links[links.indexOf(document.activeElement) + by];
    event.preventDefault();
    next?.focus();
  } else if (inRow && !rests(event.target)) {
    event.preventDefault();
    step(by);
  }
}

function tick(extends_) {
  const rows = [...document.querySelectorAll("main [data-row]")];
  const here = document.activeElement?.closest("[data-row]");
  const box = here?.querySelector('input[type="checkbox"]');
  if (!box) {
    return;
  }
  const [from, to] = [rows.indexOf(ticked), rows.indexOf(here)].sort((a, b) => a - b);
  const chosen = extends_ && from >= 0 ? rows.slice(from, to + 1) : [here];
  const isOn = extends_ || !box.checked;
  for (const row of chosen) {
    row.querySelector('input[type="checkbox"]').checked = isOn;
  }
  box.dispatchEvent(new Event("change", { bubbles: true }));
}

function numberHere() {
  const row = document.activeElement?.closest("main [data-row]");
  const own = location.pathname.match(/\/(\d+)\/$/)?.[1]; // of a page about one thing
  const name = document.querySelector("h1").textContent.trim();
  return row?.querySelector("th a").textContent.trim() ?? own ?? name;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    announcer.textContent = gettext("Copied: %(text)s", { text });
  } catch {
    announcer.textContent = gettext("This browser does not let pages copy.");
  }
}

function step(by) {
  const rows = [...document.querySelectorAll("main [data-row]")];
  const here = rows.indexOf(document.activeElement?.closest("[data-row]"));
  const next = rows[here < 0 ? (by > 0 ? 0 : rows.length - 1) : here + by];
  next?.querySelector("a, button")?.focus();
}

function open() {
  if (document.activeElement === document.body) {
    step(1);
  }
  document.activeElement?.click();
}

function focus(selector) {
  document.querySelector(selector)?.focus();
}

function click(...selectors) {
  const found = selectors.map((one) => document.querySelector(one));
  found.find(Boolean)?.click();
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
