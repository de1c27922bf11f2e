// Dialogs, menus, toasts and copy buttons.
export function startDialogs() {
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-dialog]");
    if (opener) return open(event, document.getElementById(opener.dataset.dialog));
    const closer = event.target.closest("[data-close]");
    if (closer) {
      event.preventDefault();
      return closer.closest("dialog").close();
    }
    if (event.target.matches("dialog[open]") && outside(event)) event.target.close();
    const dismiss = event.target.closest("[data-dismiss]");
    if (dismiss) dismiss.parentElement.remove();
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
    const copy = event.target.closest("[data-copy]");
    if (copy) navigator.clipboard.writeText(copy.dataset.copy).then(() => done(copy));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });
  document.querySelector("dialog[data-open]")?.showModal();
  reveal();
  document.addEventListener("ax:live", reveal);
  for (const toast of document.querySelectorAll(".toast-box")) {
    if (toast.dataset.kind !== "failed") setTimeout(() => toast.remove(), 8000);
  }
}

function open(event, dialog) {
  if (!dialog) return;
  event.preventDefault();
  dialog.showModal();
  dialog.querySelector("input:not([type=hidden]), textarea")?.focus();
}

function outside(event) {
  const box = event.target.getBoundingClientRect();
  return event.clientX < box.left || event.clientX > box.right || event.clientY < box.top || event.clientY > box.bottom;
}

function reveal() {
  for (const button of document.querySelectorAll("[data-copy], [data-dismiss]")) {
    if (!button.matches("[data-copy]") || navigator.clipboard) button.hidden = false;
  }
}

function done(button) {
  button.classList.add("done");
  setTimeout(() => button.classList.remove("done"), 1200);
}
