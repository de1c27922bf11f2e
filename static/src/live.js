// Live parts: the page is asked for again at its own address and the regions
// marked data-live="seconds" are morphed in. It rests while the tab is hidden, a
// dialog or a menu is open, or somebody types or selects inside a region.
export function startLive(htmx) {
  const regions = () => [...document.querySelectorAll("[data-live]")];
  if (regions().length === 0) return;
  const seconds = Math.min(...regions().map((r) => Number(r.dataset.live) || 5));
  let busy = false;
  let failures = 0;

  async function refresh() {
    if (busy || resting(regions())) return;
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (answer.redirected && new URL(answer.url).pathname === "/login") return location.reload();
      if (!answer.ok) throw new Error(String(answer.status));
      const text = await answer.text();
      if (resting(regions())) return;
      const fresh = new DOMParser().parseFromString(text, "text/html");
      for (const region of regions()) await morph(htmx, region, fresh);
      failures = 0;
      say(true);
      document.dispatchEvent(new CustomEvent("ax:live"));
    } catch {
      failures++;
      if (failures > 1) say(false);
    } finally {
      busy = false;
    }
  }

  const loop = () => setTimeout(() => refresh().finally(loop), seconds * 1000 * Math.min(1 + failures, 6));
  loop();
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") refresh();
  });
}

async function morph(htmx, region, fresh) {
  const next = fresh.getElementById(region.id);
  if (!next) return;
  for (const open of region.querySelectorAll("details[open][id]")) next.querySelector(`#${CSS.escape(open.id)}`)?.setAttribute("open", "");
  await htmx.swap({ sourceElement: region, target: region, text: next.outerHTML, swap: "outerMorph" });
}

function resting(regions) {
  if (document.visibilityState !== "visible") return true;
  if (document.querySelector("dialog[open], details.menu[open]")) return true;
  const active = document.activeElement;
  const typing = active && /^(INPUT|SELECT|TEXTAREA)$/.test(active.tagName);
  const selection = getSelection();
  const selecting = selection && !selection.isCollapsed;
  return regions.some((r) => (typing && r.contains(active)) || (selecting && r.contains(selection.anchorNode)));
}

let lastGood = new Date();

function say(good) {
  const live = document.getElementById("live");
  if (!live) return;
  if (good) lastGood = new Date();
  live.dataset.state = good ? "fresh" : "stale";
  live.querySelector(".live-text").textContent = good ? live.dataset.fresh : live.dataset.stale + " · " + lastGood.toTimeString().slice(0, 8);
}
