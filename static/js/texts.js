/* What scripts show, in the language of the page: by its English text, as the server has
   written it there; English where it wrote nothing. */

const kept = document.getElementById("texts");
const texts = kept ? JSON.parse(kept.textContent) : {};

/* A text with values in place of their names, as %(name)s. */
export function gettext(text, values = {}) {
  return (texts[text] ?? text).replace(/%\((\w+)\)s/g, (_, name) => values[name]);
}
