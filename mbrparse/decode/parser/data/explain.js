"use strict";
// The chart: its cells as buttons, the chosen cell, and the steps through the ways that build its labels.
const { words, cells } = JSON.parse(document.getElementById("data").textContent);
const shownIn = new Map(); // "start-end" -> the cell's button
const panel = document.getElementById("cell");
const walk = document.getElementById("walk");
const least = document.getElementById("least"); // per cent
let current = -1; // the chosen cell's place in the order of filling
let steps = []; // of the chosen cell: its ways, each with its row
let step = -1;

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function drawChart() {
  const head = element("tr", {}, element("td"));
  for (const word of words) head.append(element("th", { scope: "col" }, element("bdi", {}, word)));
  const table = document.getElementById("cells");
  table.append(head);
  words.forEach((word, start) => {
    const row = element("tr", {}, element("th", { scope: "row" }, element("bdi", {}, word)));
    words.forEach((_, last) => row.append(element("td", { id: `at-${start}-${last + 1}` })));
    table.append(row);
  });
  cells.forEach((cell, place) => {
    const covered = words.slice(cell.start, cell.end).join(" ");
    const button = element("button", { type: "button", "data-span": `${cell.start}-${cell.end}`, title: covered });
    button.addEventListener("click", () => choose(place));
    document.getElementById(`at-${cell.start}-${cell.end}`).append(button);
    shownIn.set(`${cell.start}-${cell.end}`, button);
  });
  walk.max = cells.length - 1;
}

// A cell's entries: those that are shown, the best of them always, and those that are folded.
function folded(cell) {
  const small = (entry, at) => at > 0 && 100 * Number(entry.posterior) < least.valueAsNumber;
  return [cell.entries.filter((...one) => !small(...one)), cell.entries.filter(small)];
}

function label() {
  cells.forEach((cell, place) => {
    const [shown, small] = folded(cell);
    const labels = [element("span", { class: "order" }, String(place + 1))];
    for (const entry of shown) {
      const dead = entry.posterior === "0";
      labels.push(element("span", { class: dead ? "label dead" : "label" }, dead ? entry.label : `${entry.label} ${entry.percent}`));
    }
    if (small.length) labels.push(element("span", { class: "label dead" }, `and ${small.length} more`));
    shownIn.get(`${cell.start}-${cell.end}`).replaceChildren(...labels);
  });
}

function table(headings, name) {
  const head = element("tr");
  for (const [text, kind] of headings) head.append(element("th", { scope: "col", class: kind }, text));
  return element("table", { class: name }, element("thead", {}, head), element("tbody"));
}

function part(start, end, side) {
  return element("bdi", { class: `part ${side}` }, words.slice(start, end).join(" "));
}

function wayRow(cell, way) {
  const parts = element("td");
  if (way.split !== null) parts.append(part(cell.start, way.split, "left"), " | ", part(way.split, cell.end, "right"));
  const bar = element("span", { class: "bar", "aria-hidden": "true" }, element("span"));
  bar.firstChild.style.width = `${Math.min(100, Number(way.percent))}%`;
  const share = element("td", { class: "number" }, `${way.percent}%`, bar);
  const number = (text) => element("td", { class: "number" }, text);
  return element("tr", {}, element("th", { scope: "row" }, element("bdi", {}, way.rule)), parts,
    number(way.rule_probability), number(way.value), share, number(way.best));
}

function choose(place) {
  current = place;
  const cell = cells[place];
  steps = [];
  panel.replaceChildren(
    element("h3", {}, element("bdi", {}, words.slice(cell.start, cell.end).join(" "))),
    element("p", { class: "quiet" }, `Cell ${place + 1} of ${cells.length}: words ${cell.start} to ${cell.end}.`));
  const [shown, small] = folded(cell);
  const hidden = element("details", {}, element("summary", {}, `labels below ${least.value}%: ${small.length}`));
  const valuesOf = (entries) => {
    const numbers = ["inside", "outside", "posterior", "viterbi"];
    const values = table([["label"], ...numbers.map((name) => [name === "viterbi" ? "Viterbi" : name, "number"]), ["back-pointer"]], "values");
    for (const entry of entries) {
      const row = element("tr", {}, element("th", { scope: "row" }, element("bdi", {}, entry.label)));
      for (const name of numbers) row.append(element("td", { class: "number" }, entry[name]));
      row.append(element("td", {}, element("bdi", {}, entry.back)));
      values.tBodies[0].append(row);
    }
    return values;
  };
  const back = element("button", { type: "button", id: "earlier-way" }, "← Way");
  const on = element("button", { type: "button", id: "later-way" }, "Way →");
  back.addEventListener("click", () => show(step - 1));
  on.addEventListener("click", () => show(step + 1));
  panel.append(valuesOf(shown), element("div", { class: "steps" }, back, on, element("span", { id: "which", class: "quiet" })));
  const waysOf = (entry, into) => {
    const ways = table([["rule"], ["split"], ["of the rule", "number"], ["value", "number"], ["share of inside", "number"], ["Viterbi", "number"]], "ways");
    for (const way of entry.ways) {
      const row = wayRow(cell, way);
      ways.tBodies[0].append(row);
      steps.push({ cell, way, row });
    }
    into.append(element("h4", {}, element("bdi", {}, entry.label), `: inside ${entry.inside}`), ways);
    if (entry.more) into.append(element("p", { class: "quiet" }, `and ${entry.more} smaller ones`));
  };
  for (const entry of shown) waysOf(entry, panel);
  if (small.length) {
    panel.append(hidden);
    hidden.append(valuesOf(small));
    for (const entry of small) waysOf(entry, hidden);
  }
  walk.value = place;
  walk.setAttribute("aria-valuetext", `cell ${place + 1} of ${cells.length}`);
  document.getElementById("earlier").disabled = place === 0;
  document.getElementById("later").disabled = place === cells.length - 1;
  cells.forEach((other, at) => {
    const button = shownIn.get(`${other.start}-${other.end}`);
    if (at === place) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  });
  show(-1);
}

// Show a way: its row, and the cells of its children; -1 shows none.
function show(place) {
  step = place;
  for (const button of shownIn.values()) button.classList.remove("left", "right");
  steps.forEach(({ row }, at) => row.classList.toggle("current", at === step));
  document.getElementById("earlier-way").disabled = step < 0;
  document.getElementById("later-way").disabled = step === steps.length - 1;
  document.getElementById("which").textContent = step < 0 ? `ways to build its labels: ${steps.length}`
    : `way ${step + 1} of ${steps.length}`;
  if (step < 0) return;
  const { cell, way, row } = steps[step];
  for (const details of panel.querySelectorAll("details")) if (details.contains(row)) details.open = true;
  row.scrollIntoView({ block: "nearest" });
  if (way.split === null) return;
  shownIn.get(`${cell.start}-${way.split}`).classList.add("left");
  shownIn.get(`${way.split}-${cell.end}`).classList.add("right");
}

drawChart();
label();
document.getElementById("earlier").addEventListener("click", () => choose(current - 1));
document.getElementById("later").addEventListener("click", () => choose(current + 1));
walk.addEventListener("input", () => choose(Number(walk.value)));
least.addEventListener("input", () => { label(); choose(current); });
choose(cells.length - 1);
