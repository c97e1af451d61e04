// Blocks of data: compressed in the page, or in files of their own beside it; each is unpacked once.

const blocks = new Map();
const awaited = new Map();

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

// What the file of a block calls.
function received(name, text) {
  awaited.get(name)(text);
}

function fromFile(name) {
  return new Promise((resolve, reject) => {
    awaited.set(name, resolve);
    const failed = () => reject(new Error(`data/${name}.js is not there: keep the page's folder together`));
    document.head.append(html("script", { src: `data/${name}.js`, onerror: failed }));
  });
}

function block(name) {
  if (!blocks.has(name)) {
    const inside = document.getElementById(`block-${name}`);
    const text = inside ? Promise.resolve(inside.textContent) : fromFile(name);
    blocks.set(name, text.then(unpacked));
  }
  return blocks.get(name);
}

let index = null;

async function loadIndex() {
  if (index === null) {
    const found = await block("index");
    found.letter = (place) => found.letters[place] || found.names[place];
    index = found;
  }
  return index;
}

// Columns of labels, differences of starts, widths and others as one flat list: label, start, end, others.
function flattened([labels, starts, widths, ...others]) {
  let start = 0;
  return labels.flatMap((label, place) => {
    start += starts[place];
    return [label, start, start + widths[place], ...others.map((column) => column[place])];
  });
}

async function recordOf(sentence) {
  const chunk = await block(`chunk-${Math.floor(sentence / index.chunk)}`), texts = await block("texts");
  const record = chunk[sentence % index.chunk];
  const parses = record.parses.map((parse) => (parse && parse.nodes ? { ...parse, nodes: flattened(parse.nodes) } : parse));
  return {
    ...record, parses, gold: flattened(record.gold), cells: record.cells && flattened(record.cells),
    words: record.words || texts[sentence].split(" ").filter(Boolean),
  };
}

// Rows that were written one after the other, with differences between their sentences.
function unflattened(numbers, width) {
  const rows = new Map();
  let sentence = 0;
  for (let place = 0; place < numbers.length; place += width) {
    sentence += numbers[place];
    rows.set(sentence, numbers.slice(place + 1, place + width));
  }
  return rows;
}
