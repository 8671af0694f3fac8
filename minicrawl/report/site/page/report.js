const tables = [...document.querySelectorAll("table")];
const number = text => Number(text.replace(/[,%–]/g, ""));
const compare = (one, other) => {
  const [a, b] = [number(one), number(other)];
  return isNaN(a) || isNaN(b) ? one.localeCompare(other) : a - b;
};
for (const table of tables) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const sign = head.ariaSort === "ascending" ? -1 : 1;
      heads.forEach(other => { other.ariaSort = null; });
      head.ariaSort = sign < 0 ? "descending" : "ascending";
      const text = row => row.cells[place].textContent.trim();
      const rows = [...table.tBodies[0].rows].map(row => [text(row), row]);
      rows.sort((one, other) => sign * compare(one[0], other[0]));
      table.tBodies[0].append(...rows.map(one => one[1]));
    };
  });
}
const search = document.createElement("input");
search.type = "search";
search.placeholder = "Search all tables";
search.ariaLabel = search.placeholder;
search.oninput = () => {
  const words = search.value.toLowerCase().split(/\s+/);
  for (const table of tables)
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
    }
};
document.querySelector("nav").after(search);
