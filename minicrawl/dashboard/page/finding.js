// Search: finds pages by their text.

import { h, plain } from "/page/dom.js";
import { makeSearch } from "/page/search.js";

export const makeFinding = (place, app) => {
  const more = (one) => h("button", { type: "button", class: "link", "aria-label": `details of ${plain(one.url)}`, onclick: () => app.explain(one.url) }, "details");
  const search = makeSearch(place, { path: "texts/", more });
  return { topics: () => [], open: () => { search.about(); } };
};
