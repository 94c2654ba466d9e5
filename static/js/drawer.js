/* A message beside its list: the row's link opens its page in a drawer where there is
   room, and the list stays as it is. The URL says which (m), so that it can be sent to
   somebody; Back closes it. With Ctrl, or on a small screen, links are links. */

import { gettext } from "./texts.js";

const ROOM = matchMedia("(min-width: 75rem)");
const LEFT_OUT = ".breadcrumb, .alarm, .toasts, #main > .visually-hidden";
const MESSAGES = `${document.documentElement.dataset.root}messages/`;
const LIVE = ["hx-get", "hx-trigger", "hx-select", "hx-target", "hx-swap"];

const drawer = document.createElement("aside");
drawer.className = "drawer";
drawer.tabIndex = -1;
drawer.hidden = true;
document.body.append(drawer);
let shown = null; // the id of the copy that is shown
let asked = null; // the last request; an earlier one that is late is not shown

document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-peeks] [data-row] th a");
  if (!link || !ROOM.matches || event.ctrlKey || event.metaKey || event.shiftKey) {
    return;
  }
  event.preventDefault();
  const url = new URL(location);
  url.searchParams.set("m", link.pathname.match(/(\d+)\/$/)[1]); // its text is of all copies
  history.pushState(null, "", url);
  follow();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && shown && !document.querySelector("dialog[open]")) {
    leave();
  }
});
addEventListener("popstate", follow);
follow();

/* Show what the URL says, or nothing. */
async function follow() {
  const wanted = new URLSearchParams(location.search).get("m");
  if (!ROOM.matches || !/^\d{1,19}$/.test(wanted ?? "")) {
    close();
    return;
  }
  asked = wanted;
  const url = `${MESSAGES}${wanted}/`;
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(10_000) });
    // A copy's id leads to the number of its message; all else leads to sign in.
    if (!new URL(answer.url).pathname.startsWith(MESSAGES)) {
      location.assign(url);
    } else if (asked === wanted) {
      open(wanted, url, await answer.text());
    }
  } catch {
    if (asked === wanted) {
      open(wanted, url, "");
    }
  }
}

function open(wanted, url, html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const main = page.getElementById("main");
  main?.querySelectorAll(LEFT_OUT).forEach((one) => one.remove());
  for (const one of main?.querySelectorAll("[hx-trigger]") ?? []) {
    LIVE.forEach((name) => one.removeAttribute(name));
  }
  const heading = main?.querySelector("h1");
  const name = heading?.textContent.trim() ?? gettext("Message %(number)s", { number: wanted });
  heading?.replaceWith(title(name)); // a page has one h1
  const parts = main ? main.childNodes : [sentence()];
  drawer.setAttribute("aria-label", name);
  drawer.replaceChildren(bar(url), ...parts);
  drawer.hidden = false;
  shown = wanted;
  htmx.process(drawer);
  drawer.scrollTop = 0;
  drawer.querySelector("a").focus();
}

function title(name) {
  const words = document.createElement("h2");
  words.className = "drawer-title";
  words.textContent = name;
  return words;
}

function bar(url) {
  const whole = document.createElement("a");
  whole.className = "button";
  whole.href = url;
  whole.textContent = gettext("Open its page");
  const end = document.createElement("button");
  end.className = "button";
  end.type = "button";
  end.textContent = gettext("Close (Esc)");
  end.addEventListener("click", leave);
  const row = document.createElement("div");
  row.className = "drawer-bar";
  row.append(whole, end);
  return row;
}

function sentence() {
  const words = document.createElement("p");
  words.textContent = gettext(
    "It could not be fetched. Open its page, or close this and try again.",
  );
  return words;
}

function leave() {
  const url = new URL(location);
  url.searchParams.delete("m");
  history.pushState(null, "", url);
  close();
}

function close() {
  asked = null;
  if (!shown) {
    return;
  }
  drawer.hidden = true;
  drawer.replaceChildren();
  const links = [...document.querySelectorAll("[data-peeks] [data-row] th a")];
  links.find((link) => link.pathname === `${MESSAGES}${shown}/`)?.focus();
  shown = null;
}
