"use strict";
// One word at a time: buttons, arrow keys, Home and End.
const steps = [...document.querySelectorAll(".step")];
const buttons = [...document.querySelectorAll("[data-step]")];
let current = 0;

function show(place) {
  current = Math.max(0, Math.min(steps.length - 1, place));
  steps.forEach((step, at) => { step.hidden = at !== current; });
  buttons.forEach((button, at) => {
    button.classList.toggle("later", at > current);
    if (at === current) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  });
  document.getElementById("earlier").disabled = current === 0;
  document.getElementById("later").disabled = current === steps.length - 1;
}

buttons.forEach((button, at) => button.addEventListener("click", () => show(at)));
document.getElementById("earlier").addEventListener("click", () => show(current - 1));
document.getElementById("later").addEventListener("click", () => show(current + 1));
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest(".scroll")) return;
  const place = { ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: steps.length - 1 }[event.key];
  if (place === undefined) return;
  event.preventDefault();
  show(place);
});
show(0);
