// One sentence: its scores, the gold tree and the parses with their errors, the chart.

const FRAME = 32; // pixels around a tree, left and right together

function quoted(record, start, end) {
  const words = record.words.slice(start, end);
  return words.length > 9 ? [...words.slice(0, 4), "…", ...words.slice(-4)].join(" ") : words.join(" ");
}

// Parses with one and the same tree are shown once.
function distinctTrees(record) {
  const found = new Map();
  record.parses.forEach((parse, place) => {
    const key = parse && parse.nodes ? JSON.stringify([parse.nodes, parse.tags || null]) : null;
    if (!found.has(key)) found.set(key, { parse: key === null ? null : parse, places: [] });
    found.get(key).places.push(place);
  });
  return [...found.values()];
}

// Of a constituent of a parse, what is to be said of it.
function remarkOfParse(what) {
  if (what === RIGHT) return { kind: "", remark: "" };
  if (what === CROSSING) return { kind: "wrong", remark: "crosses gold", crossing: true };
  if (what === EXTRA) return { kind: "wrong", remark: "not in gold" };
  return { kind: "wrong", remark: `gold: ${index.labels[what]}` };
}

// And of one of the gold's, which parsers miss it, or have which label in its place.
function remarkOfGold(record, place) {
  const by = new Map();
  record.parses.forEach((parse, system) => {
    if (!parse || !parse.gold || parse.gold[place] === RIGHT) return;
    const said = parse.gold[place] === EXTRA ? "missed by" : `${index.labels[parse.gold[place]]} in`;
    by.set(said, [...(by.get(said) || []), index.letter(system)]);
  });
  const alone = index.names.length === 1;
  const remarks = [...by].map(([said, who]) =>
    !alone ? `${said} ${who.join(", ")}` : said === "missed by" ? "missed" : `parse: ${said.slice(0, -3)}`);
  return remarks.length ? { kind: "missed", remark: remarks.join("; ") } : { kind: "", remark: "" };
}

function errorsInWords(record, parse, places) {
  const said = [];
  const label = (number) => bdi(index.labels[number]);
  const over = (start, end) => [" over ", html("q", { dir: "auto" }, quoted(record, start, end)), ` (${start}–${end})`];
  const others = (number, start, end) => {
    const also = record.parses.flatMap((other, system) => {
      if (places.includes(system) || !other || !other.nodes) return [];
      for (let at = 0; at < other.nodes.length; at += 4)
        if (other.nodes[at] === number && other.nodes[at + 1] === start && other.nodes[at + 2] === end) return [index.letter(system)];
      return [];
    });
    return also.length ? `; ${also.join(", ")} too` : "";
  };
  for (let at = 0; at < parse.nodes.length; at += 4) {
    const [number, start, end, what] = parse.nodes.slice(at, at + 4);
    if (what === RIGHT) continue;
    const g = parse.g && parse.g[at / 4] !== null ? `; posterior ${(parse.g[at / 4] / PARTS).toFixed(2)}` : "";
    const why = what === CROSSING ? "crosses a constituent of the gold" : what === EXTRA ? "not in the gold" : ["the gold has ", label(what)];
    said.push(html("li", {}, html("span", { class: "wrong-word" }, label(number)), over(start, end), ": ", why, g, others(number, start, end)));
  }
  parse.gold.forEach((what, place) => {
    if (what !== EXTRA) return;
    const [number, start, end] = record.gold.slice(3 * place, 3 * place + 3);
    said.push(html("li", {}, html("span", { class: "missed-word" }, label(number)), over(start, end), ": missed"));
  });
  return said;
}

// A row for each parser; columns are headings and what stands below them for a parser.
function parserTable(name, columns) {
  const letter = (system) => (index.letters[system] ? html("span", { class: "letter" }, ` ${index.letters[system]}`) : null);
  return html("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": name },
    html("table", { class: "results" },
      html("thead", {}, html("tr", {}, html("th", { scope: "col" }, name), columns.map(([heading]) => html("th", { scope: "col", class: "number" }, heading)))),
      html("tbody", {}, index.names.map((parser, system) => html("tr", {},
        html("th", { scope: "row" }, bdi(parser), letter(system)),
        columns.map(([, of]) => html("td", { class: "number" }, of(system))))))));
}

function scores(sentence) {
  const shown = index.criteria.map((criterion, place) => [criterion, place]).filter(([criterion]) => !criterion.context);
  return parserTable("found", shown.map(([criterion, place]) => [criterion.heading, (system) => counted(place, system, sentence).map(number).join(" of ")]));
}

// What was expected of the trees beside what was found; null where nothing is known of it.
function expectations(record) {
  const expected = record.parses.map((parse) => (parse && parse.expected) || {});
  const percent = (above, below) => (above === undefined || !below ? "-" : ((100 * above) / below).toFixed(2));
  const right = (parse) => (parse && parse.gold ? parse.gold.filter((what) => what === RIGHT).length : 0);
  const digits = (value) => (value === undefined ? "-" : value.toPrecision(3));
  const columns = [
    ["labelled", "recall expected, %", (system) => percent(expected[system].labelled, expected[system].constituents)],
    ["labelled", "recall found, %", (system) => percent(right(record.parses[system]), record.gold.length / 3)],
    ["score", "expected score", (system) => digits(expected[system].score)],
    ["posterior", "posterior of the tree", (system) => digits(expected[system].posterior)],
    ["log_prob", "log probability", (system) => (expected[system].log_prob === undefined ? "-" : expected[system].log_prob.toFixed(2))],
    ["reason", "fell back", (system) => expected[system].reason || "no"],
  ].filter(([key]) => expected.some((one) => one[key] !== undefined));
  return columns.length ? parserTable("expected", columns.map(([, ...column]) => column)) : null;
}

function treePanel(heading, tree, words) {
  return html("section", { class: "tree" }, html("h3", {}, heading), tree, words);
}

function parsePanel(record, group, state, room, rightToLeft) {
  const names = group.places.map((place) => `${index.names[place]}${index.letters[place] ? ` (${index.letters[place]})` : ""}`).join(", ");
  const heading = group.places.length > 1 ? `${names}: one tree` : names;
  if (!group.parse) return treePanel(heading, html("p", { class: "note" }, "No parse."), null);
  const { nodes } = group.parse;
  const found = nestedTree(nodes, 4, record.words, group.parse.tags || record.tags, (place) => remarkOfParse(nodes[4 * place + 3]));
  const errors = errorsInWords(record, group.parse, group.places);
  const words = errors.length
    ? html("details", { open: errors.length < 6 }, html("summary", {}, `${errors.length} error${errors.length > 1 ? "s" : ""} in words`), html("ul", { class: "errors" }, errors))
    : html("p", { class: "note" }, "All constituents are right.");
  return treePanel(heading, shownTree(found, names, state.form, room, rightToLeft), words);
}

function neighbours(state, rows, sentence) {
  const place = rows.findIndex((row) => row.sentence === sentence);
  const link = (row, text, rel) => (row ? html("a", { href: addressOf({ ...state, sentence: row.sentence + 1 }), rel }, text) : null);
  return html("p", { class: "steps" },
    html("a", { href: addressOf({ ...state, view: "sentences", sentence: undefined, form: undefined }) }, "Back to the list"),
    link(rows[place - 1], "← Previous", "prev"), link(place < 0 ? undefined : rows[place + 1], "Next →", "next"),
    html("span", { class: "quiet" }, place < 0 ? "" : `${place + 1} of ${rows.length.toLocaleString("en")} listed`));
}

async function showSentence(state) {
  const view = document.getElementById("sentence"), sentence = Number(state.sentence) - 1;
  if (!(sentence >= 0 && sentence < index.sentences)) {
    view.replaceChildren(html("h2", { id: "sentence-heading", tabindex: "-1" }, "There is no such sentence"),
      html("p", {}, html("a", { href: "#view=sentences" }, `All ${index.sentences} sentences`)));
    return;
  }
  const record = await recordOf(sentence), rows = await listed(state), place = (await block("places"))[sentence];
  const text = record.words.join(" "), rightToLeft = isRightToLeft(text);
  const room = document.getElementById("main").clientWidth - FRAME;
  const groups = distinctTrees(record);
  const gold = nestedTree(record.gold, 3, record.words, record.tags, (place) => remarkOfGold(record, place));
  const form = (value, name) => html("a", { class: "choice", href: addressOf({ ...state, form: value }), "aria-current": state.form === value ? "true" : null }, name);
  const trees = groups.flatMap(({ parse, places }) => (parse ? places.map((place) => ({ name: index.names[place], nodes: parse.nodes })) : []));
  view.replaceChildren(html("div", {},
    html("h2", { id: "sentence-heading", tabindex: "-1" }, `Sentence ${sentence + 1}`),
    neighbours(state, rows, sentence),
    place ? html("p", { class: "quiet place" }, bdi(place)) : null,
    html("p", { class: "text", dir: "auto" }, text),
    scores(sentence),
    expectations(record),
    index.exact ? null : html("p", { class: "note" }, "Scores are counted by the evaluation's own rules, which leave some constituents out; the trees and their marks below are whole."),
    html("p", { class: "tools" }, "Trees ", form(undefined, "as they fit"), form("tree", "drawn whole"), form("brackets", "as brackets")),
    html("p", { class: "note" }, "Errors are underlined and named; a dashed frame marks a constituent that crosses one of the gold. Where a tree is too wide, constituents are folded, those without errors first; a click opens them."),
    treePanel("Gold", shownTree(gold, "gold", state.form, room, rightToLeft), null),
    groups.map((group) => parsePanel(record, group, state, room, rightToLeft)),
    record.cells && record.words.length > 1 ? heatMap(record, trees) : null));
}
