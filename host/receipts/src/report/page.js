"use strict";
const vm = document.getElementById("vm");
const verdict = document.getElementById("verdict");
const shown = document.getElementById("shown");
const calls = Array.from(document.querySelectorAll("article"));
const filter = () => {
  let count = 0;
  for (const call of calls) {
    const vms = (call.dataset.vms || "").split(" ");
    const fits = (vm.value === "" || vms.includes(vm.value)) &&
      (verdict.value === "" || call.dataset.verdict === verdict.value);
    call.hidden = !fits;
    if (fits) count += 1;
  }
  for (const day of document.querySelectorAll("section.day")) {
    day.hidden = day.querySelector("article:not([hidden])") === null;
  }
  shown.textContent = count === calls.length ? "" : count + " of " + calls.length + " entries shown";
};
for (const select of [vm, verdict]) select.addEventListener("change", filter);
document.querySelector(".filters").hidden = false;
filter();
