// The chart of a sentence's posteriors: a row for each first word, a column for each last one.

function cellsBySpan(cells) {
  const found = new Map();
  for (let place = 0; place < cells.length; place += 4) {
    const [label, start, end, parts] = cells.slice(place, place + 4);
    const key = `${start} ${end}`;
    if (!found.has(key)) found.set(key, []);
    found.get(key).push([index.labels[label], parts / PARTS]);
  }
  return found;
}

function spansOf(nodes, width) {
  const found = new Map();
  for (let place = 0; place < nodes.length; place += width) {
    const [label, start, end] = nodes.slice(place, place + 3);
    const key = `${start} ${end}`;
    found.set(key, [...(found.get(key) || []), index.labels[label]]);
  }
  return found;
}

function heatMap(record, trees) {
  const words = record.words, n = words.length;
  const found = cellsBySpan(record.cells), gold = spansOf(record.gold, 3);
  const parses = trees.map(({ name, nodes }) => ({ name, spans: spansOf(nodes, 4) }));
  const side = Math.max(9, Math.min(34, Math.floor(720 / n)));
  const shortened = (word) => (word.length > 14 ? `${word.slice(0, 13)}…` : word);
  const left = Math.max(...words.map((word, place) => widthOf(shortened(word), 11) - place * side)) + 8;
  const above = 16 + Math.max(...words.map((word) => widthOf(shortened(word), 11))) * 0.75;
  const width = left + n * side + above * 0.8, height = above + n * side + 2;
  const at = (start, end) => ({ x: left + (end - 1) * side, y: above + start * side, width: side, height: side });
  const inset = ({ x, y }, by) => ({ x: x + by, y: y + by, width: side - 2 * by, height: side - 2 * by });
  const readout = html("div", { class: "readout", role: "status" });
  const cursor = svg("rect", { class: "cursor", visibility: "hidden" });
  const outlines = svg("g");
  const parts = [];
  words.forEach((word, place) => {
    const x = left + (place + 0.5) * side, y = above + (place + 0.5) * side;
    parts.push(svg("text", { transform: `translate(${x} ${above - 5}) rotate(-45)` }, shortened(word)));
    parts.push(svg("text", { x: left + place * side - 4, y: y + 4, "text-anchor": "end" }, shortened(word)));
  });
  for (let start = 0; start < n; start++)
    for (let end = start + 2; end <= n; end++) {
      const labels = found.get(`${start} ${end}`) || [], best = labels.length ? labels[0][1] : 0;
      parts.push(svg("rect", { ...inset(at(start, end), 0.5), class: "back" }));
      if (best) parts.push(svg("rect", { ...inset(at(start, end), 0.5), class: "heat", "fill-opacity": (0.08 + 0.6 * best).toFixed(3) }));
      if (best && side > 26 && widthOf(labels[0][0], 11) < side - 2) {
        const { x, y } = at(start, end);
        parts.push(svg("text", { class: "in-cell", x: x + side / 2, y: y + side / 2 + 4 }, labels[0][0]));
      }
    }
  let chosen = parses.length ? 0 : -1;
  const outline = () => {
    const rects = [];
    const add = (spans, kind, by) => {
      for (const key of spans.keys()) {
        const [start, end] = key.split(" ").map(Number);
        if (end - start > 1) rects.push(svg("rect", { ...inset(at(start, end), by), class: kind }));
      }
    };
    add(gold, "gold", 1);
    if (chosen >= 0) add(parses[chosen].spans, "parse", 4);
    outlines.replaceChildren(...rects);
  };
  const say = (start, end) => {
    const key = `${start} ${end}`, labels = found.get(key) || [];
    for (const [name, value] of Object.entries({ ...at(start, end), visibility: "visible" })) cursor.setAttribute(name, value);
    const holders = [["gold", gold.get(key)], ...parses.map(({ name, spans }) => [name, spans.get(key)])].filter(([, has]) => has);
    readout.replaceChildren(
      html("p", { dir: "auto" }, html("strong", {}, words.slice(start, end).join(" ")), ` (${start}–${end})`),
      labels.length
        ? html("table", {}, html("tbody", {}, labels.map(([label, g]) => html("tr", {}, html("th", { scope: "row" }, bdi(label)), html("td", { class: "number" }, g.toFixed(2))))))
        : html("p", { class: "note" }, `No label with a posterior of ${THRESHOLD} or more.`),
      html("p", { class: "note" }, holders.length ? holders.map(([name, has]) => `${name}: ${has.join(", ")}`).join("; ") : "In none of the trees."));
  };
  let start = 0, end = n;
  const move = (event) => {
    const [down, along] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] || [0, 0];
    if (!down && !along) return;
    event.preventDefault();
    if (start + down >= 0 && end + along <= n && end + along - start - down > 1) [start, end] = [start + down, end + along];
    say(start, end);
  };
  const point = (event) => {
    const box = drawing.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top - above) / side), column = Math.floor((event.clientX - box.left - left) / side);
    if (row < 0 || column >= n || column - row < 1) return;
    [start, end] = [row, column + 1];
    say(start, end);
  };
  const drawing = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, parts, outlines, cursor);
  const cells = html("div", { class: "cells", tabindex: "0", role: "application", "aria-label": "Chart of posteriors: arrow keys move from span to span, which is then read out", onkeydown: move, onfocus: () => say(start, end), onmousemove: point, onclick: point }, drawing);
  const choice = html("select", { onchange: (event) => { chosen = Number(event.target.value); outline(); } },
    parses.map(({ name }, place) => html("option", { value: String(place) }, name)));
  outline();
  readout.append(html("p", { class: "note" }, "Point at a cell, or move over the chart with the arrow keys."));
  return html("section", { "aria-labelledby": "chart-heading" },
    html("h3", { id: "chart-heading" }, "Posteriors"),
    html("p", {}, `Rows are first words, columns last ones; the stronger the colour of a cell, the more probable the likeliest label over its span. Posteriors below ${THRESHOLD} are left out.`),
    html("p", { class: "tools" }, html("span", {}, html("span", { class: "key gold" }), "in the gold tree"),
      parses.length ? html("label", {}, html("span", { class: "key parse" }), "in the parse of ", choice) : null),
    html("div", { class: "chart" }, cells, readout));
}
