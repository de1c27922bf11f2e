// The year of a calendar: one tab stop that the arrow keys move over the days, and a day that opens in
// a dialog. Without script each day is a link to a page of its own.
import { watchCheck } from "./forms.js";

export function startDays() {
  const year = document.querySelector("[data-days]");
  if (!year) return;
  const days = [...year.querySelectorAll("a.cal-open")];
  let current = atHash(days) ?? days.find((a) => a.querySelector("[aria-current]")) ?? days[0];
  for (const a of days) a.tabIndex = a === current ? 0 : -1;
  if (current === atHash(days)) current.focus();
  const go = (a) => {
    if (!a) return;
    current.tabIndex = -1;
    current = a;
    a.tabIndex = 0;
    a.focus();
  };
  year.addEventListener("keydown", (event) => {
    const at = days.indexOf(event.target.closest("a.cal-open"));
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[event.key];
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (step) go(days[at + step]);
    else if (event.key === "Home") go(days[0]);
    else if (event.key === "End") go(days[days.length - 1]);
    else return;
    event.preventDefault();
  });
  year.addEventListener("click", (event) => {
    const a = event.target.closest("a.cal-open");
    if (!a || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(a);
    open(a);
  });
}

function atHash(days) {
  return days.find((a) => "#" + a.id === location.hash);
}

// open shows the form of the day's page in the dialog; where that can't be had, the page itself.
async function open(a) {
  const dialog = document.getElementById("day");
  let form;
  try {
    const answer = await fetch(a.href);
    if (answer.ok) form = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("day-form");
  } catch {
    // The page says what is wrong.
  }
  if (!form || dialog.open) {
    if (!form) location.assign(a.href);
    return;
  }
  form.querySelector("[data-cancel]").dataset.close = "";
  dialog.replaceChildren(form);
  dialog.addEventListener("close", () => a.focus(), { once: true });
  dialog.showModal();
  form.querySelector("input[name=kind]:checked")?.focus();
  watchCheck(form);
}
