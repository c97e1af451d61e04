// Trees: drawn, or as brackets that are folded over lines.

const RIGHT = -1, EXTRA = -2, CROSSING = -3, DEEPEST = 200;
const LABEL_SIZE = 14, TAG_SIZE = 11.5, REMARK_SIZE = 11;

// A tree of nodes {label, start, end, children, kind, remark} from a flat list; leaves have a word and a tag.
function nestedTree(nodes, width, words, tags, remarkOf) {
  const root = { label: null, start: 0, end: words.length, children: [], kind: "", remark: "" };
  const open = [root];
  let deepest = 1;
  for (let place = 0; place < nodes.length; place += width) {
    const [label, start, end] = nodes.slice(place, place + 3);
    while (open.length > 1 && !(open.at(-1).start <= start && end <= open.at(-1).end)) open.pop();
    const node = { label: index.labels[label], start, end, children: [], ...remarkOf(place / width) };
    open.at(-1).children.push(node);
    open.push(node);
    deepest = Math.max(deepest, open.length);
  }
  const waiting = [root];
  while (waiting.length) {
    const node = waiting.pop(), filled = [];
    let position = node.start;
    const leavesUpTo = (end) => {
      for (; position < end; position++) filled.push({ leaf: true, position, word: words[position], label: tags ? index.labels[tags[position]] : "", children: [] });
    };
    for (const child of node.children) {
      leavesUpTo(child.start);
      filled.push(child);
      waiting.push(child);
      position = child.end;
    }
    leavesUpTo(node.end);
    node.children = filled;
  }
  const top = root.children.length === 1 && !root.children[0].leaf ? root.children[0] : root;
  return { top, deepest };
}

// Of each node its own width, that of its words where it is folded, and how many errors are at and below it.
function measured(node) {
  const gap = 14, label = widthOf(node.label || "", node.leaf ? TAG_SIZE : LABEL_SIZE, node.kind ? "700" : "400");
  if (node.leaf) {
    node.own = gap + Math.max(label, widthOf(node.word, LABEL_SIZE));
    node.errors = 0;
    node.ends = [node.word, node.word];
    return;
  }
  node.children.forEach(measured);
  node.inside = node.children.reduce((sum, child) => sum + child.errors, 0);
  node.errors = node.inside + (node.kind ? 1 : 0);
  node.ends = [node.children[0].ends[0], node.children.at(-1).ends[1]];
  const hidden = node.inside ? `${node.inside} error${node.inside > 1 ? "s" : ""} inside` : "";
  node.remarks = { open: node.remark || "", folded: [node.remark, hidden].filter(Boolean).join("; ") };
  const above = (remark) => gap + Math.max(label, widthOf(remark, REMARK_SIZE));
  const word = node.ends[0] === node.ends[1] ? node.ends[0] : node.ends.join(" … ");
  node.stub = { leaf: true, word, label: "", children: [], own: gap + widthOf(word, LABEL_SIZE), errors: 0 };
  node.widths = { open: above(node.remarks.open), folded: above(node.remarks.folded) };
  node.least = Math.max(node.widths.folded, node.stub.own);
}

function shownBelow(node) {
  return node.folded ? [node.stub] : node.children;
}

function laidOut(tree) {
  const place = (node) => {
    if (!node.leaf) node.own = node.widths[node.folded ? "folded" : "open"];
    const below = shownBelow(node);
    below.forEach(place);
    node.below = below.reduce((sum, child) => sum + child.width, 0);
    node.width = Math.max(node.own, node.below);
    node.height = node.leaf ? 0 : 1 + Math.max(0, ...below.map((child) => child.height));
  };
  const set = (node, left) => {
    const below = shownBelow(node);
    let from = left + (node.width - node.below) / 2;
    for (const child of below) {
      set(child, from);
      from += child.width;
    }
    const ends = below.length ? [below[0].x, below.at(-1).x] : [left + node.width / 2];
    const middle = (ends[0] + ends.at(-1)) / 2;
    node.x = Math.min(Math.max(middle, left + node.own / 2), left + node.width - node.own / 2);
  };
  place(tree);
  set(tree, 0);
  return tree;
}

// Fold constituents until the tree is no wider than the room: those that hide the fewest errors first, of these the
// smallest that is enough, or the largest. Returns whether it fits with most of its errors in sight.
function fitted(top, room) {
  let hidden = 0;
  while (laidOut(top).width > room) {
    const excess = top.width - room, waiting = [...top.children];
    let best = null;
    while (waiting.length) {
      const node = waiting.pop(), saving = node.width - node.least;
      if (node.leaf || node.folded) continue;
      waiting.push(...node.children);
      if (saving <= 0) continue;
      const rank = [node.inside, saving < excess ? 1 : 0, saving < excess ? -saving : saving];
      const place = best ? rank.findIndex((value, at) => value !== best.rank[at]) : 0;
      if (!best || (place >= 0 && rank[place] < best.rank[place])) best = { node, rank };
    }
    if (!best) return false;
    best.node.folded = true;
    hidden += best.node.inside;
  }
  return 2 * hidden <= top.errors;
}

function drawnTree(tree, name, rightToLeft, redraw) {
  const remarks = (node) => (node.leaf ? false : Boolean(node.remarks[node.folded ? "folded" : "open"]) || shownBelow(node).some(remarks));
  const level = remarks(tree) ? 50 : 40, top = 14;
  const bottom = top + level * tree.height, tagged = (node) => (node.leaf ? Boolean(node.label) : shownBelow(node).some(tagged));
  const rows = bottom + (tagged(tree) ? 20 : 4);
  const x = (node) => (rightToLeft ? tree.width - node.x : node.x);
  const y = (node) => top + level * (tree.height - node.height);
  const branches = [], texts = [];
  const wordOf = (leaf) => svg("text", { x: x(leaf), y: rows, direction: isRightToLeft(leaf.word) ? "rtl" : null }, leaf.word);
  const toggle = (node, parts) => {
    const turn = () => {
      node.folded = !node.folded;
      redraw();
      node.button.focus();
    };
    node.button = svg("g", {
      role: "button", tabindex: "0", class: "fold", "aria-expanded": String(!node.folded),
      "aria-label": `${node.label}, ${node.folded ? `folded: ${[node.stub.word, node.remarks.folded].filter(Boolean).join("; ")}` : "open"}`,
      onclick: turn, onkeydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        turn();
      },
    }, parts);
    return node.button;
  };
  const visit = (node) => {
    if (node.leaf) {
      if (node.label) texts.push(svg("text", { class: "tag", x: x(node), y: bottom + 3 }, node.label));
      texts.push(wordOf(node));
      return;
    }
    const rest = node.label.endsWith("_Cont") && !node.kind ? "rest" : node.kind, below = shownBelow(node);
    const remark = node.remarks[node.folded ? "folded" : "open"];
    const parts = [svg("text", { class: rest, x: x(node), y: y(node) + 5 }, node.label)];
    if (remark) parts.push(svg("text", { class: "remark", x: x(node), y: y(node) + 19 }, remark));
    if (node.crossing) {
      const wide = widthOf(node.label, LABEL_SIZE, "700") + 8;
      parts.push(svg("rect", { x: x(node) - wide / 2, y: y(node) - 9, width: wide, height: 18 }));
    }
    const from = y(node) + (remark ? 24 : 9), bar = from + 5;
    if (node.folded) {
      const half = node.stub.own / 2 - 7, middle = x(node.stub), foot = rows - 14;
      parts.push(svg("path", { d: `M${x(node).toFixed(1)} ${from}L${(middle - half).toFixed(1)} ${foot}H${(middle + half).toFixed(1)}Z` }), wordOf(node.stub));
    } else {
      const ends = [x(below[0]), x(below.at(-1))];
      branches.push(`M${x(node).toFixed(1)} ${from}V${bar}M${ends[0].toFixed(1)} ${bar}H${ends[1].toFixed(1)}`);
      for (const child of below) {
        const to = child.leaf ? bottom + (child.label ? -8 : rows - bottom - 14) : y(child) - 11;
        branches.push(`M${x(child).toFixed(1)} ${bar}V${to}`);
      }
    }
    texts.push(node.folded === undefined ? parts : toggle(node, parts));
    if (!node.folded) below.forEach(visit);
  };
  visit(tree);
  const width = Math.ceil(tree.width), height = Math.ceil(rows + 8);
  const foldable = (node) => node.folded !== undefined || node.children.some(foldable);
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: foldable(tree) ? "group" : "img", "aria-label": `Tree: ${name}; its errors are in words below` },
    svg("path", { d: branches.join("") }), texts);
}

function isMarked(node) {
  return Boolean(node.kind) || node.children.some(isMarked);
}

// Brackets on one line.
function flatBrackets(tree) {
  const parts = [], waiting = [tree];
  while (waiting.length) {
    const item = waiting.pop();
    if (typeof item === "string") parts.push(item);
    else if (item.leaf) parts.push(item.label ? `(${item.label} ${item.word})` : item.word);
    else {
      parts.push(`(${item.label === null ? "" : item.label}`);
      waiting.push(")");
      for (const child of [...item.children].reverse()) waiting.push(child, " ");
    }
  }
  return parts.join("");
}

function foldedBrackets(tree) {
  const item = (node) => {
    if (node.leaf) return html("li", { dir: "auto" }, node.label ? html("span", { class: "leaf-tag" }, `${node.label} `) : null, node.word);
    const label = html("b", { class: node.kind || null }, bdi(node.label));
    const remark = node.remark ? html("span", { class: `remark-text ${node.kind}-word` }, ` ${node.remark}`) : null;
    const flat = flatBrackets(node);
    if (!node.children.some(isMarked) && flat.length < 72)
      return html("li", { dir: "auto" }, label, remark, " ", node.children.map((child) => [flatBrackets(child), " "]));
    return html("li", {}, label, remark, html("ul", {}, node.children.map(item)));
  };
  return html("ul", { class: "brackets" }, item(tree));
}

// A tree as it fits: drawn whole, or with constituents that are folded and open by a click, or as brackets where that
// would hide most of its errors. A form may be asked for; a tree that is too deep is a line of brackets.
function shownTree(found, name, form, room, rightToLeft) {
  const top = found.top;
  if (found.deepest > DEEPEST || top.label === null) return html("p", { class: "brackets" }, flatBrackets(top));
  measured(top);
  if (form === "brackets" || (!form && !fitted(top, room))) return foldedBrackets(top);
  const frame = html("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `Tree: ${name}` });
  const draw = () => frame.replaceChildren(drawnTree(laidOut(top), name, rightToLeft, draw));
  draw();
  return frame;
}
