// The graph: drag to move, buttons and Ctrl+wheel to zoom. Under 45 % names are hidden.
export function startGraph() {
  let scale = 1;
  const view = () => document.querySelector("[data-dag]");
  if (!view()) return;

  const apply = () => {
    const svg = view()?.querySelector("svg");
    if (!svg) return;
    svg.setAttribute("width", svg.dataset.w * scale);
    svg.setAttribute("height", svg.dataset.h * scale);
    svg.classList.toggle("far", scale < 0.45);
  };
  const fit = (smallest) => {
    const box = view();
    const svg = box.querySelector("svg");
    const wanted = Math.min((box.clientWidth - 28) / svg.dataset.w, (box.clientHeight - 28) / svg.dataset.h, 1.15);
    scale = Math.max(wanted, smallest);
    apply();
  };
  const zoom = (factor) => {
    scale = Math.min(2, Math.max(0.15, scale * factor));
    apply();
  };

  fit(0.85);
  view().querySelector(".node.on")?.scrollIntoView({ block: "center", inline: "center" });
  document.addEventListener("ax:live", apply);
  document.addEventListener("click", (event) => {
    const kind = event.target.closest("[data-zoom]")?.dataset.zoom;
    if (kind === "in") zoom(1.25);
    if (kind === "out") zoom(0.8);
    if (kind === "fit") fit(0.15);
  });
  document.addEventListener("wheel", (event) => {
    if (!event.ctrlKey || !event.target.closest("[data-dag]")) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.1 : 0.91);
  }, { passive: false });
  startDrag();
}

function startDrag() {
  let from = null;
  document.addEventListener("pointerdown", (event) => {
    const box = event.target.closest("[data-dag]");
    if (!box || event.button !== 0 || event.pointerType === "touch" || event.target.closest(".node")) return;
    from = { box, x: event.clientX + box.scrollLeft, y: event.clientY + box.scrollTop };
    box.classList.add("drag");
  });
  document.addEventListener("pointermove", (event) => {
    if (!from) return;
    from.box.scrollLeft = from.x - event.clientX;
    from.box.scrollTop = from.y - event.clientY;
  });
  document.addEventListener("pointerup", () => {
    from?.box.classList.remove("drag");
    from = null;
  });
}
