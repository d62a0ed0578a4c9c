"use strict";
// Sorts a table by the column whose heading is pressed; numbers by their value.
function order(row, place) {
  const cell = row.cells[place], key = cell.dataset.sort;
  return key === undefined ? cell.textContent.trim() : Number(key);
}
function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") {
    return (Number.isNaN(a) - Number.isNaN(b)) || a - b || 0;
  }
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement, table = head.closest("table");
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const body = table.tBodies[0], place = head.cellIndex;
    const rows = [...body.rows].sort((a, b) => {
      const way = compare(order(a, place), order(b, place));
      return up ? way : -way;
    });
    body.append(...rows);
  });
}
// Light, dark, or what the system says.
const theme = document.querySelector(".theme");
theme.addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
  document.documentElement.dataset.theme = dark ? "light" : "dark";
});
