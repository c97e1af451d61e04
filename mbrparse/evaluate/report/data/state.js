// What is looked at stands in the address, so that a view can be sent, and the browser's buttons work.

const KEYS = ["view", "sentence", "system", "versus", "criterion", "label", "width", "depth", "attachment", "confusion", "bin", "text", "min", "max", "wins", "sort", "form"];

function readState() {
  const given = new URLSearchParams(location.hash.slice(1));
  const state = {};
  for (const key of KEYS) if (given.get(key)) state[key] = given.get(key);
  if (!["sentences", "sentence"].includes(state.view)) state.view = "overview";
  return state;
}

function addressOf(state) {
  const parts = KEYS.filter((key) => state[key] !== undefined && state[key] !== "");
  return "#" + parts.map((key) => `${key}=${encodeURIComponent(state[key])}`).join("&");
}

// The number of a parser or criterion that the address names; -1 where it names none that there is.
function systemOf(state, key = "system") {
  return index.names.indexOf(state[key]);
}

function criterionOf(state) {
  const place = index.criteria.findIndex((criterion) => criterion.name === state.criterion);
  return place < 0 ? index.criterion : place;
}

// By what errors are grouped, and what is said of a group.
const GROUPS = {
  label: (name) => `at ${name}`, width: (name) => `in constituents of ${name} words`,
  depth: (name) => `in constituents at depth ${name}`, attachment: (name) => `of attachment (${name})`,
};

// The kind of group that a view is about.
function groupOf(state) {
  return Object.keys(GROUPS).find((kind) => state[kind] !== undefined);
}
