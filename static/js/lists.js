/* Lists that change while one reads them.

   Now and then the page asks for itself. What a row says changes in its place; rows never
   come, go or move by themselves: one that is gone is struck through, and the button
   Refresh says how many there are to come. It rests while nobody looks, while live numbers
   are paused, and while something is selected or open. Who follows a list has it renewed
   by itself, and its first row in view. */

import { gettext } from "./texts.js";

const GONE = gettext("This is no longer in the list.");

const live = document.getElementById("live");
const list = document.querySelector("[data-list]");
const follows = document.querySelector("[data-follows]");
const everyMs = Math.max(5_000, 1000 * (live?.dataset.every ?? 1));
const FOLLOWS_MS = 2_000;
let newest = null; // the list as it is by now

if (list) {
  setInterval(look, everyMs);
  list.addEventListener("click", (event) => {
    if (event.target.closest("[data-takes]")) {
      take();
    }
  });
}

if (list && follows) {
  follows.closest("label").hidden = false;
  setInterval(() => follows.checked && look(), FOLLOWS_MS);
}

async function look() {
  if (rests()) {
    return;
  }
  try {
    const answer = await fetch(location.href, {
      signal: AbortSignal.timeout(4_500),
    });
    if (answer.ok && !answer.redirected && !rests()) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      newest = page.getElementById(list.id);
      mend();
    }
  } catch {
    // The bar says that the server is not reached, and the list since when it stands.
  }
}

function rests() {
  return (
    document.hidden ||
    live?.dataset.state === "paused" ||
    document.querySelector("dialog[open], details.menu[open]") !== null ||
    list.querySelector("input:checked") !== null ||
    list.contains(getSelection().isCollapsed ? null : getSelection().anchorNode)
  );
}

function rowsOf(place) {
  return new Map([...place.querySelectorAll("[data-row][id]")].map((row) => [row.id, row]));
}

function mend() {
  if (!newest) {
    return;
  }
  const shown = rowsOf(list);
  const now = rowsOf(newest);
  for (const [id, row] of shown) {
    if (now.has(id)) {
      Idiomorph.morph(row, now.get(id).cloneNode(true));
    } else {
      leave(row);
    }
  }
  for (const part of list.querySelectorAll("[data-part]")) {
    const other = newest.querySelector(`#${CSS.escape(part.id)}`);
    if (other) {
      Idiomorph.morph(part, other.cloneNode(true));
    }
  }
  const more = [...now.keys()].filter((id) => !shown.has(id)).length;
  const fewer = [...shown.keys()].filter((id) => !now.has(id)).length;
  const button = list.querySelector("[data-takes]");
  button.hidden = !more && !fewer;
  button.querySelector("span").textContent = more ? `+${more}` : `−${fewer}`;
  if (follows?.checked && !button.hidden) {
    take();
  }
}

function leave(row) {
  row.classList.add("stale");
  row.title = GONE;
  row.setAttribute("aria-description", GONE);
  for (const control of row.querySelectorAll("button, input")) {
    control.disabled = true;
  }
}

/* Take the list as it is by now: what one sees first stays where it is, and the focus on
   its row. */
function take() {
  const row = document.activeElement?.closest("[data-row]")?.id;
  const now = rowsOf(newest);
  const anchor = [...rowsOf(list).values()].find(
    (one) => now.has(one.id) && one.getBoundingClientRect().bottom > 0,
  );
  const before = anchor?.getBoundingClientRect().top;
  Idiomorph.morph(list, newest.cloneNode(true));
  if (anchor?.isConnected && !follows?.checked) {
    scrollBy(0, anchor.getBoundingClientRect().top - before);
  }
  if (!document.activeElement || document.activeElement === document.body) {
    const link = row && document.getElementById(row)?.querySelector("a");
    (link || document.getElementById("main")).focus({ preventScroll: true });
  }
}
