/* Forms that a security key answers: their button asks it, and sends what it says. */

import { gettext } from "./texts.js";

const WORDS = {
  InvalidStateError: gettext("This key is added already."),
  NotAllowedError: gettext("The key did not answer, or nobody allowed it to."),
  SecurityError: gettext(
    "Browsers let keys answer at an https address only, or at localhost.",
  ),
};

async function answer(kind, { publicKey }) {
  if (!window.PublicKeyCredential?.parseCreationOptionsFromJSON) {
    throw new DOMException("", "SecurityError");
  }
  if (kind === "create") {
    const asked = PublicKeyCredential.parseCreationOptionsFromJSON(publicKey);
    return navigator.credentials.create({ publicKey: asked });
  }
  const asked = PublicKeyCredential.parseRequestOptionsFromJSON(publicKey);
  return navigator.credentials.get({ publicKey: asked });
}

const form = document.querySelector("form[data-key]");
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const said = form.querySelector("[data-said]");
  said.textContent = "";
  try {
    const credential = await answer(form.dataset.key, JSON.parse(form.dataset.asked));
    form.elements.credential.value = JSON.stringify(credential.toJSON());
    form.submit();
  } catch (error) {
    said.textContent = WORDS[error.name] ?? gettext("The key could not be used here.");
  }
});
