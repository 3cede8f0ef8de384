"use strict";
// Sorts and filters the tables, and follows a client, a path or a day to its rows. Without it all rows are visible.
document.documentElement.classList.add("js");

addEventListener("DOMContentLoaded", () => {
  let pairs;
  for (const data of document.querySelectorAll(".data.long")) {
    const table = new DataTable(data);
    if (data.closest("#pairs")) {
      pairs = table;
    }
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.pairs");
    if (link) {
      pairs?.showOnly(link.textContent, link.dataset.day);
    }
  });
});

class DataTable {
  constructor(data) {
    this.table = data.querySelector("table");
    this.body = this.table.tBodies[0];
    this.rows = [...this.body.rows];
    this.heads = [...this.table.tHead.rows[0].cells];
    this.status = data.querySelector(".shown");
    this.input = data.querySelector("input");
    this.button = data.querySelector(".tools button");
    this.order = "";
    // The text of a cell that all shown rows have.
    this.only = "";
    // The first rows only, until the reader wants all.
    this.short = this.rows.length > DataTable.FIRST;
    data.querySelector(".tools").hidden = false;
    this.heads.forEach((head, column) => this.addSortButton(head, column));
    this.input.addEventListener("input", () => {
      this.only = "";
      this.show();
    });
    this.button.addEventListener("click", () => {
      this.short = !this.short;
      this.show();
    });
    this.show();
  }

  addSortButton(head, column) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => this.sort(head, column));
  }

  sort(head, column) {
    const cells = this.rows.map((row) => row.cells[column]);
    const isText = cells.every((cell) => cell.dataset.v === undefined && !cell.classList.contains("n"));
    // Most readers look for the highest number and the first word.
    const first = isText ? "ascending" : "descending";
    const second = isText ? "descending" : "ascending";
    const direction = head.getAttribute("aria-sort") === first ? second : first;
    const sign = direction === "ascending" ? 1 : -1;
    const key = isText ? (cell) => cell.textContent.toLowerCase() : DataTable.number;
    const keyed = this.rows.map((row, at) => [key(cells[at]), row]);
    keyed.sort(([a], [b]) => (a < b ? -sign : a > b ? sign : 0));
    this.rows = keyed.map(([, row]) => row);
    for (const other of this.heads) {
      other.setAttribute("aria-sort", other === head ? direction : "none");
    }
    this.order = `, sorted by ${head.textContent}, ${direction}`;
    this.show();
  }

  // What a cell is sorted by: a number in its attribute, or its text without commas.
  static number(cell) {
    const value = cell.dataset.v ?? cell.textContent.replaceAll(",", "");
    return value === "" ? -1 : Number(value);
  }

  // Shows the rows of a client or a path, or those that were first or last seen on a day.
  showOnly(name, day) {
    this.input.value = day ?? name;
    this.only = day === undefined ? name : "";
    this.show();
  }

  show() {
    const words = this.input.value.toLowerCase().split(" ").filter((word) => word);
    const matches = (row) => {
      row.words ??= [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase();
      return words.every((word) => row.words.includes(word));
    };
    const isOnly = (row) => [...row.cells].some((cell) => cell.textContent === this.only);
    const found = this.only ? this.rows.filter(isOnly) : words.length ? this.rows.filter(matches) : this.rows;
    if (this.order || words.length || this.body.rows.length !== found.length) {
      this.body.replaceChildren(...found);
    }
    this.table.classList.toggle("short", this.short);
    const isCut = found.length > DataTable.FIRST;
    const shown = this.short && isCut ? DataTable.FIRST : found.length;
    const format = (n) => n.toLocaleString("en-US");
    this.status.textContent = `${format(shown)} of ${format(this.rows.length)} rows${this.order}`;
    this.button.hidden = !isCut;
    this.button.textContent = this.short ? `Show all ${format(found.length)} rows` : `Show the first ${DataTable.FIRST} rows`;
    this.button.setAttribute("aria-expanded", String(!this.short));
  }

  // As in the style.
  static FIRST = 20;
}
