"use strict";
// Without this script, everything is on the page; only the search is missing.
const form = document.querySelector(".search");
const field = form.querySelector("input");
const found = form.querySelector("output");
const rows = [...document.querySelectorAll(".c")];
let texts = null; // in small letters, made for the first search

function search() {
  texts ??= rows.map((row) => row.textContent.toLowerCase());
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  rows.forEach((row, i) => {
    const shows = words.every((word) => texts[i].includes(word));
    row.hidden = !shows;
    count += shows;
  });
  for (const session of document.querySelectorAll(".session"))
    session.hidden = words.length > 0 && !session.querySelector(".c:not([hidden])");
  found.textContent = words.length > 0 ? count + " of " + rows.length : "";
}

let timer = 0;
field.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(search, 120);
});
form.addEventListener("submit", (event) => event.preventDefault());
form.hidden = false;
