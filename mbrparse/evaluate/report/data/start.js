// From the address to the view.

let shownView = null;

async function show() {
  const state = readState();
  for (const name of ["overview", "sentences", "sentence"]) document.getElementById(name).hidden = name !== state.view;
  for (const name of ["overview", "sentences"]) {
    const link = document.getElementById(`to-${name}`), current = name === state.view || (name === "sentences" && state.view === "sentence");
    if (current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (state.view !== "overview") {
    if (index === null) {
      await loadIndex();
      fillFilters();
    }
    setFilters(state);
    if (state.view === "sentences") await showList(state);
    else await showSentence(state);
  }
  const key = `${state.view} ${state.sentence || ""}`;
  // From a link: to the head of what it led to. While filters are typed, the cursor stays where it is.
  if (shownView !== null && shownView !== key) {
    const heading = document.getElementById(`${state.view}-heading`);
    (heading || document.getElementById("main")).focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  shownView = key;
  document.documentElement.dataset.shown = location.hash;
}

function complain(error) {
  const main = document.getElementById("main");
  main.prepend(html("p", { class: "note", role: "alert" }, error.message));
}

function route() {
  if (["#main"].includes(location.hash)) return;
  show().catch(complain);
}

const filters = document.getElementById("filters");
filters.addEventListener("submit", (event) => event.preventDefault());
filters.addEventListener("input", (event) => {
  history.replaceState(null, "", addressOf(filtered(readState(), event.target.name)));
  route();
});
filters.addEventListener("reset", (event) => {
  event.preventDefault();
  location.hash = "#view=sentences";
});
document.getElementById("save").addEventListener("click", () => saveList().catch(complain));
for (const button of document.querySelectorAll("[data-more]"))
  button.addEventListener("click", () => {
    const rows = document.querySelector(`#${button.dataset.more} .more`);
    rows.hidden = !rows.hidden;
    button.setAttribute("aria-expanded", String(!rows.hidden));
    if (!button.dataset.text) button.dataset.text = button.textContent;
    button.textContent = rows.hidden ? button.dataset.text : "Show fewer";
  });
addEventListener("hashchange", route);
let fittedTo = innerWidth; // trees are folded to the window's width
addEventListener("resize", () => {
  if (innerWidth === fittedTo) return;
  fittedTo = innerWidth;
  if (readState().view === "sentence") route();
});
route();
