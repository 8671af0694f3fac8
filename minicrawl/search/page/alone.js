// The search as a page of its own, with its query in the address bar.
import { plain, count } from "/page/dom.js";
import { makeSearch } from "/page/search.js";

const $ = (id) => document.getElementById(id);
const search = makeSearch($("search"), {
  path: "",
  note: (text) => history.replaceState(null, "", text ? `?${new URLSearchParams({ q: text })}` : "/"),
});
addEventListener("hashchange", () => location.reload()); // the printed address was opened here
search.focus();
// Before the first answer, which may take long: what the user types meanwhile stays.
search.find(new URLSearchParams(location.search).get("q") || "");
const about = await search.about();
if (about) $("store").textContent = plain(`${count(about.pages)} pages of ${about.store}`);
