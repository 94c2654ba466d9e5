/* A search that is not over goes on by itself, slice by slice, until the page is full or
   all is searched. It gives way to other work: between two slices it rests as long as one
   took. Stop ends it after the slice under way, and Go on continues there; the URL stays as
   it is. Screen readers are told of the first match, now and then, and at the end. */

import { gettext } from "./texts.js";

const LONGEST_MS = 15_000; // that a slice may take; a statement is stopped after ten
const ANNOUNCE_MS = 10_000;
const FAILED = gettext("The search stopped: the server does not answer it.");

const bar = document.querySelector("[data-search]");
const button = bar.querySelector("[data-stop]");
const says = bar.querySelector("[data-says]");
const matches = document.querySelector("[data-matches]");
const table = matches.querySelector("table");
const announcer = document.getElementById("announcer");
let next = bar.dataset.search; // the query of the next slice; empty: the search is over
let isStopped = false;
let isUnderWay = false;
let announcedAt = Date.now();

bar.querySelector("[data-goes-on]").hidden = true;
button.hidden = false;
button.addEventListener("click", () => {
  turn(!isStopped);
  tell(isStopped ? gettext("Search stopped.") : gettext("Search goes on."));
});
turn(false);

/* Stop, or go on. */
function turn(stops, why = gettext("Stopped.")) {
  isStopped = stops;
  button.textContent = stops ? gettext("Go on") : gettext("Stop");
  says.textContent = stops ? why : gettext("Searching the older ones…");
  bar.classList.toggle("is-stopped", stops);
  if (!stops && !isUnderWay) {
    run();
  }
}

async function run() {
  isUnderWay = true;
  while (next && !isStopped) {
    const beganMs = performance.now();
    try {
      take(await slice());
    } catch {
      turn(true, FAILED);
      tell(FAILED);
    }
    const tookMs = performance.now() - beganMs;
    await new Promise((resolve) => setTimeout(resolve, next ? tookMs : 0));
  }
  isUnderWay = false;
}

/* The next slice as a document. */
async function slice() {
  const answer = await fetch(next, { signal: AbortSignal.timeout(LONGEST_MS) });
  if (!answer.ok || answer.redirected) {
    throw new Error(answer.statusText);
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return page.querySelector("[data-search]");
}

function take(found) {
  next = found.dataset.search;
  for (const part of found.querySelectorAll("[data-fills]")) {
    const place = document.getElementById(part.id);
    if (place) {
      Idiomorph.morph(place, part.cloneNode(true));
    }
  }
  const rows = [...found.querySelectorAll("[data-row]")];
  const isFirst = rows.length > 0 && matches.hidden;
  table.tBodies[0].append(...rows);
  matches.hidden = matches.hidden && !rows.length;
  table.dispatchEvent(new Event("appended"));
  if (!next) {
    end(found.querySelector(".empty"));
  } else if (isFirst || Date.now() - announcedAt > ANNOUNCE_MS) {
    tell(document.getElementById("share").querySelector("label").textContent);
  }
}

/* Full, or all is searched. Who has the focus on Stop gets it on the list. */
function end(nothing) {
  const hadFocus = bar.contains(document.activeElement);
  bar.replaceWith(...(nothing ? [nothing] : []));
  if (hadFocus) {
    document.getElementById("main").focus({ preventScroll: true });
  }
  const found = document.getElementById("as-of").textContent;
  tell(gettext("Search ended. %(found)s", { found }));
}

function tell(words) {
  announcedAt = Date.now();
  announcer.textContent = words;
}
