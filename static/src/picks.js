// A list whose rows can be chosen: all of the page at once, and how many are, for the
// dialog that does something to them.
export function startPicks() {
  for (const form of document.querySelectorAll("form[data-picks]")) {
    const all = form.querySelector("[data-pick-all]");
    const boxes = [...form.querySelectorAll("input[name=pick]")];
    const count = form.querySelector("[data-picked]");
    const show = () => {
      const n = boxes.filter((b) => b.checked).length;
      if (all) {
        all.checked = n === boxes.length;
        all.indeterminate = n > 0 && n < boxes.length;
      }
      if (count) {
        count.hidden = false;
        count.textContent = String(n);
      }
    };
    if (all) all.hidden = false;
    form.addEventListener("change", (event) => {
      if (event.target === all) for (const b of boxes) b.checked = all.checked;
      show();
    });
    show();
  }
}
