/* Charts over time: a cursor through all of them, and a selection.

   The values come from the table below the charts. Pointing at a chart or ← and → move
   the cursor; dragging, or Shift with the same keys, selects a time. Enter, or a link,
   shows the selected time alone, or the messages of it. A press of Escape ends it. */

import { gettext } from "./texts.js";

const SVG = "http://www.w3.org/2000/svg";
const announcer = document.getElementById("announcer");
const hint = document.getElementById("chart-cursor")?.textContent;
let cursor = null; // the number of a row of the table
let anchor = null; // where the selection began
let isDragging = false;

const section = () => document.getElementById("over-time");
const rows = () => [...section().querySelectorAll("tbody tr")];
const chartOf = (event) => event.target.closest?.(".over-time .bars-wrap");

document.addEventListener("pointermove", (event) => {
  const chart = chartOf(event);
  if (anchor !== null && !isDragging) {
    return; // a selection stays while one goes to its links
  }
  if (chart) {
    cursor = rowAt(chart.querySelector("svg"), event.clientX);
    draw();
  } else if (cursor !== null && !isDragging && !isFocused()) {
    cursor = null;
    draw();
  }
});
document.addEventListener("pointerdown", (event) => {
  const chart = event.button === 0 && chartOf(event);
  if (chart) {
    isDragging = true;
    anchor = cursor = rowAt(chart.querySelector("svg"), event.clientX);
    draw();
  }
});
document.addEventListener("pointerup", () => {
  if (!isDragging) {
    return; // drawing would take a link away while it is clicked
  }
  if (anchor === cursor) {
    anchor = null; // a click
  }
  isDragging = false;
  draw();
});
document.addEventListener("pointercancel", () => {
  if (!isDragging) {
    return;
  }
  isDragging = false; // the page is scrolled
  anchor = null;
  draw();
});
document.addEventListener("keydown", (event) => {
  if (!chartOf(event) || event.altKey || event.ctrlKey || event.metaKey) {
    return;
  }
  const last = rows().length - 1;
  const at = cursor ?? last;
  const to = {
    ArrowLeft: Math.max(at - (cursor === null ? 0 : 1), 0),
    ArrowRight: Math.min(at + 1, last),
    Home: 0,
    End: last,
  }[event.key];
  if (to !== undefined) {
    anchor = event.shiftKey ? (anchor ?? at) : null;
    cursor = to;
    announcer.textContent = draw();
  } else if (event.key === "Enter" && selected()) {
    location.assign(zoomed());
  } else if (event.key === "Escape" && anchor !== null) {
    anchor = null;
    draw();
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
});
/* What is selected stays: the charts go on when the selection ends. */
document.body.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.id === "over-time" && anchor !== null) {
    event.preventDefault();
  }
});
document.body.addEventListener("htmx:afterSettle", () => cursor !== null && draw());

function isFocused() {
  return document.activeElement?.matches(".over-time .bars-wrap");
}

function rowAt(svg, clientX) {
  const box = svg.getBoundingClientRect();
  const x = ((clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
  const last = rows().length - 1;
  const share = (x - svg.dataset.left) / (svg.dataset.right - svg.dataset.left);
  return Math.round(Math.min(Math.max(share, 0), 1) * last);
}

function xOf(svg, row) {
  const { left, right } = svg.dataset;
  return Number(left) + ((right - left) * row) / Math.max(rows().length - 1, 1);
}

/* The selected time in seconds: from the begin of its first step to the end of its last. */
function selected() {
  if (anchor === null || anchor === cursor) {
    return null;
  }
  const [first, last] = [anchor, cursor].sort((a, b) => a - b);
  const ends = rows().map((row) => Number(row.dataset.at));
  return [ends[first] - Number(section().dataset.step), ends[last]];
}

const written = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19) + "Z";

function zoomed() {
  const query = new URLSearchParams(section().dataset.kept);
  const [from, to] = selected().map(written);
  query.set("from", from);
  query.set("to", to);
  return `?${query}#over-time`;
}

function messages() {
  const [from, to] = selected().map(written);
  return `${section().dataset.messages}&f=${encodeURIComponent(`at:${from}..${to}`)}`;
}

/* Draw the cursor and the selection; return the values in words. */
function draw() {
  const place = document.getElementById("chart-cursor");
  if (!place) {
    return "";
  }
  for (const svg of section().querySelectorAll("svg.bars")) {
    svg.querySelectorAll(".bars-cursor, .bars-selected").forEach((one) => one.remove());
    if (cursor === null) {
      continue;
    }
    const x = xOf(svg, cursor);
    const height = svg.viewBox.baseVal.height - 28;
    if (anchor !== null) {
      const from = xOf(svg, anchor);
      const width = Math.abs(x - from);
      add(svg, "rect", "bars-selected", { x: Math.min(x, from), y: 0, width, height });
    }
    add(svg, "line", "bars-cursor", { x1: x, x2: x, y1: 0, y2: height });
  }
  const words = cursor === null ? hint : inWords();
  place.replaceChildren(words);
  if (selected()) {
    place.append(" ", link(gettext("Show this time"), zoomed()));
    place.append(" · ", link(gettext("Messages put in this time"), messages()));
  }
  return words;
}

function inWords() {
  const row = rows()[cursor];
  const heads = section().querySelectorAll("thead th");
  const values = [...row.cells].map((cell, n) =>
    n ? `${heads[n].textContent} ${cell.textContent}` : gettext("Until %(time)s", { time: cell.textContent }),
  );
  const at = Number(row.dataset.at);
  const marks = [...section().querySelectorAll(".marks li")].filter((one) => {
    const before = at - Number(one.dataset.at);
    return before >= 0 && before < Number(section().dataset.step);
  });
  return [...values, ...marks.map((one) => one.lastElementChild.textContent)].join(
    " · ",
  );
}

function add(svg, name, kind, attributes) {
  const made = document.createElementNS(SVG, name);
  made.setAttribute("class", kind);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  svg.append(made);
}

function link(words, href) {
  const made = document.createElement("a");
  made.href = href;
  made.textContent = words;
  return made;
}
