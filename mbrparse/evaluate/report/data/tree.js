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

function laidOut(tree) {
  const gap = 14;
  const place = (node) => {
    const label = widthOf(node.label || "", node.leaf ? TAG_SIZE : LABEL_SIZE, node.kind ? "700" : "400");
    node.own = gap + Math.max(label, node.leaf ? widthOf(node.word, LABEL_SIZE) : widthOf(node.remark || "", REMARK_SIZE));
    node.children.forEach(place);
    node.below = node.children.reduce((sum, child) => sum + child.width, 0);
    node.width = Math.max(node.own, node.below);
    node.height = node.leaf ? 0 : 1 + Math.max(0, ...node.children.map((child) => child.height));
  };
  const set = (node, left) => {
    let from = left + (node.width - node.below) / 2;
    for (const child of node.children) {
      set(child, from);
      from += child.width;
    }
    const ends = node.children.length ? [node.children[0].x, node.children.at(-1).x] : [left + node.width / 2];
    const middle = (ends[0] + ends.at(-1)) / 2;
    node.x = Math.min(Math.max(middle, left + node.own / 2), left + node.width - node.own / 2);
  };
  place(tree);
  set(tree, 0);
  return tree;
}

function drawnTree(tree, name, rightToLeft) {
  const remarks = (node) => Boolean(node.remark) || node.children.some(remarks);
  const level = remarks(tree) ? 50 : 40, top = 14;
  const bottom = top + level * tree.height, tagged = (node) => (node.leaf ? Boolean(node.label) : node.children.some(tagged));
  const rows = bottom + (tagged(tree) ? 20 : 4);
  const x = (node) => (rightToLeft ? tree.width - node.x : node.x);
  const y = (node) => top + level * (tree.height - node.height);
  const branches = [], texts = [];
  const visit = (node) => {
    if (node.leaf) {
      if (node.label) texts.push(svg("text", { class: "tag", x: x(node), y: bottom + 3 }, node.label));
      texts.push(svg("text", { x: x(node), y: rows, direction: isRightToLeft(node.word) ? "rtl" : null }, node.word));
      return;
    }
    const rest = node.label.endsWith("_Cont") && !node.kind ? "rest" : node.kind;
    texts.push(svg("text", { class: rest, x: x(node), y: y(node) + 5 }, node.label));
    if (node.remark) texts.push(svg("text", { class: "remark", x: x(node), y: y(node) + 19 }, node.remark));
    if (node.crossing) {
      const wide = widthOf(node.label, LABEL_SIZE, "700") + 8;
      texts.push(svg("rect", { x: x(node) - wide / 2, y: y(node) - 9, width: wide, height: 18 }));
    }
    const from = y(node) + (node.remark ? 24 : 9), bar = from + 5;
    if (node.folded) {
      const half = node.children[0].own / 2 - 7, middle = x(node.children[0]), foot = rows - 14;
      branches.push(`M${x(node).toFixed(1)} ${from}L${(middle - half).toFixed(1)} ${foot}H${(middle + half).toFixed(1)}Z`);
    } else if (node.children.length) {
      const ends = [x(node.children[0]), x(node.children.at(-1))];
      branches.push(`M${x(node).toFixed(1)} ${from}V${bar}M${ends[0].toFixed(1)} ${bar}H${ends[1].toFixed(1)}`);
      for (const child of node.children) {
        const to = child.leaf ? bottom + (child.label ? -8 : rows - bottom - 14) : y(child) - 11;
        branches.push(`M${x(child).toFixed(1)} ${bar}V${to}`);
      }
    }
    node.children.forEach(visit);
  };
  visit(tree);
  const width = Math.ceil(tree.width), height = Math.ceil(rows + 8);
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Tree: ${name}; its errors are in words below` },
    svg("path", { d: branches.join("") }), texts);
}

function isMarked(node) {
  return Boolean(node.kind) || node.children.some(isMarked);
}

// A tree in which constituents of some words without an error are folded to their first and last word.
function folded(node) {
  if (node.leaf) return node;
  if (isMarked(node) || node.end - node.start < 3) return { ...node, children: node.children.map(folded) };
  let first = node, last = node;
  while (!first.leaf) first = first.children[0];
  while (!last.leaf) last = last.children.at(-1);
  const word = `${first.word} … ${last.word}`;
  return { ...node, folded: true, children: [{ leaf: true, word, label: "", children: [] }] };
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

// A tree as it fits: drawn whole, or with folded constituents, or as brackets where that is too wide still. A form
// may be asked for; a tree that is too deep is a line of brackets.
function shownTree(found, name, form, room, rightToLeft) {
  if (found.deepest > DEEPEST || found.top.label === null) return html("p", { class: "brackets" }, flatBrackets(found.top));
  let tree = laidOut(found.top);
  if (!form && tree.width > room) tree = laidOut(folded(found.top));
  if (form === "brackets" || (!form && tree.width > 1.3 * room)) return foldedBrackets(found.top);
  return html("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `Tree: ${name}` }, drawnTree(tree, name, rightToLeft));
}
