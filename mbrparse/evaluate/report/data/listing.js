// Which sentences a view lists, in which order, and their table.

const SHOWN_AT_ONCE = 50;

function counted(criterion, system, sentence) {
  const [above, below] = index.criteria[criterion].columns[system];
  return [index.columns[above][sentence], index.columns[below][sentence]];
}

// What a sentence costs a parser by a criterion: how far it is from a perfect score.
function loss(criterion, system, sentence) {
  const [above, below] = counted(criterion, system, sentence);
  return index.criteria[criterion].lower ? above : below - above;
}

function rate(criterion, system, sentence) {
  const [above, below] = counted(criterion, system, sentence);
  const sign = index.criteria[criterion].lower ? -1 : 1;
  return below ? (sign * above) / below : NaN;
}

// The parser that is better than all others in a sentence, "equal" or, where some share the lead, "some".
function winner(criterion, sentence) {
  const rates = index.names.map((_, system) => rate(criterion, system, sentence));
  const best = Math.max(...rates.filter((one) => !Number.isNaN(one)));
  const leaders = rates.flatMap((one, system) => (one === best ? [system] : []));
  if (leaders.length === 1 && index.names.length > 1) return leaders[0];
  return leaders.length === rates.length || leaders.length === 0 ? "equal" : "some";
}

// Of each sentence that is behind a figure, what it costs, and that in words.
function costs(state) {
  const system = systemOf(state), criterion = criterionOf(state);
  const systems = system < 0 ? index.names.map((_, place) => place) : [system];
  const found = new Map();
  const add = (sentence, cost, words) => {
    const [before, said] = found.get(sentence) || [0, []];
    found.set(sentence, [before + cost, words ? [...said, words] : said]);
  };
  const of = (place) => (system < 0 ? `${index.letter(place)}: ` : "");
  if (state.confusion) {
    const [gold, guess] = state.confusion.split(" ").map((label) => index.labels.indexOf(label));
    for (const place of systems)
      for (const [one, other, numbers] of index.confused[place])
        if (one === gold && other === guess)
          for (const [sentence, [count]] of unflattened(numbers, 2)) add(sentence, count, `${of(place)}${count}×`);
  } else if (groupOf(state)) {
    const kind = groupOf(state);
    const numbers = (place) => new Map(Object.entries(index.errors[kind][place])).get(state[kind]) || [];
    for (const place of systems)
      for (const [sentence, [missed, extra]] of unflattened(numbers(place), 3))
        add(sentence, missed + extra, of(place) + [missed && `${missed} missed`, extra && `${extra} not right`].filter(Boolean).join(", "));
  } else if (systemOf(state, "versus") >= 0 && system >= 0) {
    const other = systemOf(state, "versus");
    for (let sentence = 0; sentence < index.sentences; sentence++) {
      const gained = loss(criterion, other, sentence) - loss(criterion, system, sentence);
      if (gained) add(sentence, Math.abs(gained), gained > 0 ? `${number(gained)} better` : `${number(-gained)} worse`);
    }
  } else {
    for (let sentence = 0; sentence < index.sentences; sentence++) {
      if (state.bin !== undefined && system >= 0 && index.bins && index.bins[system][sentence] !== Number(state.bin)) continue;
      const lost = systems.map((place) => loss(criterion, place, sentence)).reduce((sum, one) => sum + one, 0);
      if (lost || system < 0 || state.bin !== undefined) add(sentence, lost, system < 0 ? "" : number(lost));
    }
  }
  return found;
}

function number(value) {
  return Number.isInteger(value) ? String(value) : value.toFixed(2);
}

async function listed(state) {
  const criterion = criterionOf(state), wanted = (state.text || "").toLocaleLowerCase();
  const places = wanted ? await block("places") : null;
  const words = wanted ? (await block("texts")).map((text, sentence) => `${text}\n${places[sentence] || ""}`.toLocaleLowerCase()) : null;
  const least = state.min === undefined ? 0 : Number(state.min), most = state.max === undefined ? Infinity : Number(state.max);
  const rows = [];
  for (const [sentence, [cost, said]] of costs(state)) {
    const length = index.lengths[sentence];
    if (length < least || length > most || (words && !words[sentence].includes(wanted))) continue;
    if (state.wins) {
      const best = winner(criterion, sentence);
      if (state.wins === "unequal" ? best === "equal" : state.wins === "equal" ? best !== "equal" : best !== index.names.indexOf(state.wins)) continue;
    }
    rows.push({ sentence, cost, said, length });
  }
  const order = { order: (a, b) => a.sentence - b.sentence, length: (a, b) => b.length - a.length || a.sentence - b.sentence };
  return rows.sort(order[state.sort] || ((a, b) => b.cost - a.cost || a.sentence - b.sentence));
}

// What is listed, in words.
function description(state, count) {
  const system = systemOf(state), criterion = index.criteria[criterionOf(state)];
  const whose = system < 0 ? "" : ` of ${index.names[system]}`;
  let what = system < 0 ? "" : `, by what they cost in ${criterion.heading}${whose}`;
  if (state.confusion) what = `, in which ${state.confusion.split(" ").join(" is taken for ")}${system < 0 ? "" : ` by ${index.names[system]}`}`;
  else if (groupOf(state)) what = `, with errors${whose} ${GROUPS[groupOf(state)](state[groupOf(state)])}`;
  else if (state.versus && system >= 0) what = `, in which ${index.names[system]} differs from ${state.versus} in ${criterion.heading}`;
  else if (state.bin !== undefined) what = `, whose expected precision lies between ${10 * state.bin} and ${10 * state.bin + 10} per cent${whose}`;
  return `${count.toLocaleString("en")} sentence${count === 1 ? "" : "s"}${what}.`;
}

function listHead(state) {
  const system = systemOf(state), criterion = criterionOf(state);
  const heading = index.criteria[criterion].heading;
  return html("thead", {}, html("tr", {},
    html("th", { scope: "col" }, "no."), html("th", { scope: "col", class: "words" }, "sentence"),
    html("th", { scope: "col", class: "number" }, "words"), html("th", { scope: "col", class: "number" }, "cost"),
    index.names.map((name, place) => html("th", { scope: "col", class: place === system ? "number chosen" : "number" }, bdi(name), html("br"), heading))));
}

function listRow(state, row, texts) {
  const criterion = criterionOf(state), system = systemOf(state), best = winner(criterion, row.sentence);
  const address = addressOf({ ...state, view: "sentence", sentence: row.sentence + 1 });
  return html("tr", {},
    html("td", { class: "number" }, String(row.sentence + 1)),
    html("td", { class: "words", dir: "auto" }, html("a", { href: address }, texts[row.sentence] || "(no words)")),
    html("td", { class: "number" }, String(row.length)),
    html("td", { class: "number" }, row.said.join("; ") || number(row.cost)),
    index.names.map((_, place) => {
      const [above, below] = counted(criterion, place, row.sentence);
      const wins = best === place ? html("span", { class: "unseen" }, " (best)") : null;
      const classes = `number${place === system ? " chosen" : ""}${best === place ? " wins" : ""}`;
      return html("td", { class: classes }, `${number(above)} of ${number(below)}`, wins);
    }));
}

// The list as CSV: of each sentence what it costs here, and every parser's counts by every criterion, above and below.
function asCsv(rows, texts, places) {
  const sides = index.names.flatMap((name, system) => index.criteria.map((criterion, place) => [`${name} ${criterion.name}`, place, system]));
  const head = ["sentence", "place", "length", "cost", ...sides.flatMap(([heading]) => [heading, `${heading} of`]), "words"];
  const lines = rows.map(({ sentence, length, cost }) => [sentence + 1, places[sentence] || "", length, cost,
    ...sides.flatMap(([, place, system]) => counted(place, system, sentence)), texts[sentence]]);
  const cell = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  return [head, ...lines].map((line) => `${line.map(cell).join(",")}\n`).join("");
}

async function saveList() {
  const text = asCsv(shownRows, await block("texts"), await block("places"));
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  html("a", { href: address, download: "sentences.csv" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

let shownRows = [], shownCount = 0;

async function showList(state) {
  const texts = await block("texts");
  shownRows = await listed(state);
  shownCount = 0;
  document.getElementById("listed").textContent = description(state, shownRows.length);
  const table = document.getElementById("list");
  table.replaceChildren(listHead(state), html("tbody"));
  const more = document.getElementById("more-sentences");
  const append = () => {
    const next = shownRows.slice(shownCount, shownCount + SHOWN_AT_ONCE);
    table.tBodies[0].append(...next.map((row) => listRow(state, row, texts)));
    shownCount += next.length;
    more.hidden = shownCount >= shownRows.length;
    more.textContent = `Show more (${(shownRows.length - shownCount).toLocaleString("en")} left)`;
  };
  more.onclick = append;
  append();
}

function fillFilters() {
  const form = document.getElementById("filters").elements;
  const option = (value, text = value) => html("option", { value }, text);
  const labels = [...new Set(index.errors.label.flatMap((labels) => Object.keys(labels)))].sort();
  form.label.replaceChildren(option("", "any"), ...labels.map((label) => option(label)));
  form.system.replaceChildren(option("", "all"), ...index.names.map((name) => option(name)));
  form.criterion.replaceChildren(...index.criteria.map((one) => option(one.name, one.heading)));
  form.wins.replaceChildren(option("", "any parser"), ...(index.names.length > 1 ? [...index.names.map((name) => option(name)), option("unequal", "not all alike"), option("equal", "all alike")] : []));
}

function setFilters(state) {
  const form = document.getElementById("filters").elements;
  for (const name of ["text", "label", "min", "max", "system", "wins", "sort"])
    if (form[name] !== document.activeElement || form[name].tagName === "SELECT") form[name].value = state[name] || "";
  form.criterion.value = index.criteria[criterionOf(state)].name;
}

// The state that the filters say; what a figure's link says besides goes when another parser or label is asked for.
function filtered(state, changed) {
  const form = document.getElementById("filters").elements;
  const next = { ...state, view: "sentences" };
  for (const name of ["text", "label", "min", "max", "system", "criterion", "wins", "sort"]) next[name] = form[name].value || undefined;
  if (changed === "label") next.confusion = next.versus = next.bin = next.width = next.depth = next.attachment = undefined;
  if (changed === "system") next.versus = next.bin = undefined;
  return next;
}
