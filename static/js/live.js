/* Numbers that change in place, and how fresh they are.

   The server sends <data data-slot="q3-ready">…</data> and the like, over the socket when
   something changed. While the socket is silent or closed the same is asked for over
   HTTP, so that a number is never older than the page says. Rows never move: what a list
   does not show yet is offered by its Refresh button. Where more than a number is another,
   its part of the page is told that it has turned, and asks for itself. The same switch
   stops the parts that ask now and then: a report, a message on its way. */

import { gettext } from "./texts.js";
import { timeOf } from "./zone.js";

const ANNOUNCE_MS = 10_000;
const ANSWERS_MS = 4_500;

const live = document.getElementById("live");
const everyS = Number(live.dataset.every); // at most; the server sends no more often
const silentMs = 1000 * Math.max(10, everyS); // until it is asked over HTTP
const pollMs = 1000 * Math.max(5, everyS); // the same without a socket
const text = live.querySelector(".live-text");
const pause = live.querySelector(".live-switch");
const announcer = document.getElementById("announcer");
const told = new Map(); // what screen readers were told last, by what is counted
let isOpen = false;
let isPaused = false;
let isRefused = false;
let isCutOff = false; // neither the socket nor HTTP gets through
let askedAt = 0;
let confirmedAt = Date.now();
let withheld = [];
const polledAt = new Map(); // by the address that a part of the page asks
const loadedAt = Date.now();

document.body.addEventListener("htmx:wsOpen", (event) => {
  isOpen = true;
  event.detail.socketWrapper.send(shown(), null);
});
document.body.addEventListener("htmx:wsClose", (event) => {
  isOpen = false;
  isRefused = event.detail.event?.code === 4403;
});
document.body.addEventListener("htmx:wsBeforeMessage", (event) => {
  event.preventDefault(); // numbers go to every place that shows them, not to one id
  arrived(event.detail.message);
});
document.body.addEventListener("htmx:beforeRequest", (event) => {
  const trigger = event.detail.elt.getAttribute("hx-trigger");
  if (trigger?.startsWith("every") && (isPaused || document.hidden || isEarly(event))) {
    event.preventDefault();
  }
});
Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, element) =>
  !(name === "open" && element.matches("details, dialog")) && // what one opened stays open
  !(name === "value" && isTyped(element)); // and what one typed stays
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !isPaused && !isRefused) {
    ask();
  }
});
pause.hidden = false;
pause.addEventListener("click", () => {
  isPaused = !isPaused;
  pause.setAttribute("aria-pressed", String(isPaused));
  if (!isPaused) {
    withheld.splice(0).forEach(show);
    ask();
  }
  tell();
});
setInterval(beat, 1000);
setInterval(announce, ANNOUNCE_MS);
document.querySelectorAll("[data-announce]").forEach((place) => {
  told.set(place.dataset.announce, Number(place.value));
});

function isTyped(element) {
  return element.matches("input, textarea") && element.value !== element.defaultValue;
}

function beat() {
  const silence = Date.now() - Math.max(confirmedAt, askedAt);
  const patience = isOpen ? silentMs : pollMs;
  if (silence >= patience && !isPaused && !isRefused && !document.hidden) {
    ask();
  }
  tell();
}

/* Whether a part that asks now and then has asked less than the chosen time ago. */
function isEarly(event) {
  const path = event.detail.pathInfo.requestPath;
  const since = Date.now() - (polledAt.get(path) ?? loadedAt);
  if (everyS > 1 && since < 1000 * everyS - 500) {
    return true;
  }
  polledAt.set(path, Date.now());
  return false;
}

async function ask() {
  askedAt = Date.now();
  try {
    const answer = await fetch(addressOf(shown()), {
      signal: AbortSignal.timeout(ANSWERS_MS),
    });
    isRefused = answer.redirected || answer.status === 403;
    isCutOff = !answer.ok;
    if (answer.ok && !answer.redirected) {
      arrived(await answer.text());
    }
  } catch {
    isCutOff = true;
  }
}

/* The queues of which this page shows numbers: no others are told. */
function shown() {
  const slots = [...document.querySelectorAll('[data-slot^="q"]')];
  const ids = slots.map((place) => /^q(\d+)-/.exec(place.dataset.slot)?.[1]);
  return [...new Set(ids.filter(Boolean))].join(",");
}

function addressOf(ids) {
  const url = new URL(live.dataset.url, location.href);
  if (ids) {
    url.searchParams.set("shown", ids);
  }
  return url;
}

function arrived(html) {
  if (isPaused) {
    withheld.push(html);
    withheld = withheld.slice(-100);
    return;
  }
  confirmedAt = Date.now();
  isCutOff = isRefused = false;
  show(html);
  tell();
}

function show(html) {
  const parcel = document.createElement("template");
  parcel.innerHTML = html;
  for (const fresh of parcel.content.querySelectorAll("[data-slot]")) {
    for (const place of document.querySelectorAll(
      `[data-slot="${CSS.escape(fresh.dataset.slot)}"]`,
    )) {
      const isTurn = place.hasAttribute("data-turn") && place.value !== fresh.value;
      if (isTurn && document.hidden) {
        continue; // until somebody looks again
      }
      place.className = fresh.className;
      if (fresh.hasAttribute("value")) {
        place.setAttribute("value", fresh.getAttribute("value"));
      }
      if (place.innerHTML !== fresh.innerHTML) {
        place.replaceChildren(...fresh.cloneNode(true).childNodes); // takes the focus away
      }
      if (isTurn) {
        place.dispatchEvent(new CustomEvent("turned", { bubbles: true }));
      }
    }
    offer(fresh.dataset.slot, Number(fresh.getAttribute("value")));
  }
}

function offer(slot, count) {
  for (const button of document.querySelectorAll(
    `[data-fresh="${CSS.escape(slot)}"]`,
  )) {
    const difference = count - Number(button.dataset.rendered);
    button.hidden = difference === 0;
    button.querySelector("span").textContent =
      difference > 0 ? `+${difference}` : `−${-difference}`;
  }
}

function tell() {
  const age = Math.round((Date.now() - confirmedAt) / 1000);
  const at = timeOf(confirmedAt);
  if (isRefused) {
    say("lost", gettext("signed out, as of %(at)s", { at }));
  } else if (isPaused) {
    say("paused", gettext("paused, as of %(at)s", { at }));
  } else if (isCutOff) {
    say("lost", gettext("reconnecting, data as of %(at)s", { at }));
  } else {
    const old = age < 2 ? "" : gettext(", %(age)s s old", { age });
    const isSlow = !isOpen || everyS > 1;
    const pace = isOpen ? everyS : pollMs / 1000;
    say("live", (isSlow ? gettext("every %(pace)s s", { pace }) : gettext("live")) + old);
  }
}

function say(state, words) {
  live.dataset.state = state;
  text.textContent = words;
}

function announce() {
  const news = [];
  for (const place of document.querySelectorAll("[data-announce]")) {
    const what = place.dataset.announce;
    const difference = Number(place.value) - told.get(what);
    if (difference) {
      told.set(what, Number(place.value));
      const values = { by: Math.abs(difference), what, all: place.value };
      news.push(
        difference > 0
          ? gettext("%(by)s more %(what)s, %(all)s in all.", values)
          : gettext("%(by)s fewer %(what)s, %(all)s in all.", values),
      );
    }
  }
  if (news.length && !isPaused) {
    announcer.textContent = news.join(" ");
  }
}
