// Keyboard: "/" search, "g" and a letter to go, "r" opens the rerun dialog, "?" help.
const places = { o: "dashboard", j: "jobs", i: "instances", d: "dag", w: "workers" };

export function startKeys() {
  let going = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || busy(event)) return;
    const now = Date.now();
    const went = going > now - 1200 && places[event.key];
    going = event.key === "g" ? now : 0;
    if (went) return document.querySelector(`[data-nav=${went}]`)?.click();
    if (event.key === "/") return act(event, () => document.getElementById("search")?.focus());
    if (event.key === "?") return act(event, () => document.getElementById("keys")?.showModal());
    if (event.key === "r") return document.querySelector("[data-dialog=rerun]")?.click();
  });
}

function act(event, what) {
  event.preventDefault();
  what();
}

function busy(event) {
  const at = event.composedPath()[0];
  return document.querySelector("dialog[open]") || at.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName);
}
