// The log of one attempt. Lines come as [no, time_ms, stream, text]; at most LIMIT
// of them are in the page at any time. Text is set as text, never as markup.
import { paint } from "./ansi.js";

const LIMIT = 5000;
const BATCH_MS = 60;

export function startLog(root) {
  const box = root.querySelector("[data-log-box]");
  const list = root.querySelector("[data-log-lines]");
  const state = root.querySelector(".log-state");
  const words = JSON.parse(root.dataset.words);
  const jump = root.querySelector("[data-log-jump]");
  const older = root.querySelector("[data-log-older]");
  const button = (name) => root.querySelector(`[data-log-${name}]`);
  const clock = new Intl.DateTimeFormat("en-GB", {
    timeZone: zoneOf(root), hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hourCycle: "h23",
  });

  let last = Number(root.dataset.last);
  let follow = button("follow").getAttribute("aria-pressed") === "true";
  let detached = false; // older lines were loaded and pushed the newest out
  let pending = [];
  let timer = null;
  let source = null;
  let retry = 1000;

  for (const item of list.children) paint(item.lastElementChild, item.lastElementChild.textContent);

  const first = () => Number(list.firstElementChild?.id.slice(1) ?? 0);

  function item([no, ms, stream, text]) {
    const li = document.createElement("li");
    li.id = "L" + no;
    li.dataset.s = stream;
    const link = document.createElement("a");
    link.className = "ln";
    link.href = "#L" + no;
    link.tabIndex = -1;
    link.textContent = no;
    const time = document.createElement("time");
    time.textContent = ms ? clock.format(ms) : "";
    const span = document.createElement("span");
    paint(span, text);
    li.append(link, time, span);
    return li;
  }

  function flush() {
    timer = null;
    const lines = pending;
    pending = [];
    if (lines.length === 0 || detached) return;
    root.querySelector("[data-log-reason]")?.remove();
    const part = document.createDocumentFragment();
    for (const line of lines.slice(-LIMIT)) part.append(item(line));
    list.append(part);
    trimTop();
    if (needle) mark(list.children);
    if (follow) bottom();
    say();
  }

  // trimTop drops the oldest lines and keeps what is being read where it is.
  function trimTop() {
    const extra = list.children.length - LIMIT;
    if (extra <= 0) return;
    const before = list.offsetHeight;
    for (let i = 0; i < extra; i++) list.firstElementChild.remove();
    if (!follow) box.scrollTop -= before - list.offsetHeight;
  }

  function add(lines) {
    for (const line of lines) {
      if (line[0] <= last) continue;
      last = line[0];
      pending.push(line);
    }
    if (pending.length > 0 && timer === null) timer = setTimeout(flush, BATCH_MS);
  }

  function say() {
    root.querySelector("[data-log-count]").textContent = words.lines.replace("{n}", last.toLocaleString("en-US"));
    if (older) older.hidden = first() <= 1;
  }

  function stateIs(name, text) {
    state.dataset.state = name;
    state.querySelector("[data-log-state]").textContent = text;
  }

  function connect() {
    if (!root.dataset.src || source || document.visibilityState !== "visible") return;
    const url = new URL(root.dataset.src, location.href);
    url.searchParams.set("after", last);
    source = new EventSource(url);
    source.onopen = () => {
      retry = 1000;
      stateIs("fresh", liveWord);
    };
    source.onmessage = (event) => add(JSON.parse(event.data));
    source.addEventListener("end", () => {
      close();
      root.dataset.src = "";
      flush();
      stateIs("ended", words.ended);
    });
    source.onerror = () => {
      stateIs("stale", words.reconnecting.replace("{n}", last));
      if (source?.readyState !== EventSource.CLOSED) return;
      close();
      setTimeout(connect, retry);
      retry = Math.min(retry * 2, 15000);
    };
  }

  function close() {
    source?.close();
    source = null;
  }

  function setFollow(on) {
    follow = on;
    button("follow").setAttribute("aria-pressed", String(on));
    jump.hidden = on || !root.dataset.src;
    if (on) bottom();
  }

  const bottom = () => (box.scrollTop = box.scrollHeight);

  async function loadOlder() {
    if (first() <= 1) return;
    const url = new URL(root.dataset.range, location.href);
    url.searchParams.set("before", first());
    const answer = await fetch(url);
    if (!answer.ok) return;
    const part = document.createDocumentFragment();
    for (const line of await answer.json()) part.append(item(line));
    const before = list.offsetHeight;
    list.prepend(part);
    box.scrollTop += list.offsetHeight - before;
    while (list.children.length > LIMIT) {
      list.lastElementChild.remove();
      detached = true;
    }
    if (detached) setFollow(false);
    say();
  }

  // latest goes back to the end after older lines had pushed it out of the page.
  function latest() {
    if (detached) {
      close();
      list.replaceChildren();
      detached = false;
      last = Math.max(0, last - 1000);
      connect();
    }
    setFollow(true);
  }

  let needle = "";
  function mark(items) {
    let hits = 0;
    for (const li of items) {
      const hit = needle !== "" && li.lastElementChild.textContent.toLowerCase().includes(needle);
      li.classList.toggle("hit", hit);
      if (hit) hits++;
    }
    return hits;
  }
  function find(step) {
    mark(list.children);
    const hits = [...list.querySelectorAll(".hit")];
    if (hits.length === 0) return;
    setFollow(false);
    at = (at + step + hits.length) % hits.length;
    hits[at].scrollIntoView({ block: "center" });
  }
  let at = 0;

  const toggle = (name, cls, inverse) => button(name).addEventListener("click", (event) => {
    const on = event.currentTarget.getAttribute("aria-pressed") !== "true";
    event.currentTarget.setAttribute("aria-pressed", String(on));
    root.classList.toggle(cls, inverse ? !on : on);
    if (follow) bottom();
  });
  toggle("errors", "only-errors");
  toggle("wrap", "wrap");
  toggle("time", "no-time", true);

  button("find").addEventListener("input", (event) => {
    needle = event.target.value.toLowerCase();
    at = 0;
    find(0);
  });
  button("find").addEventListener("keydown", (event) => {
    if (event.key === "Enter") find(event.shiftKey ? -1 : 1);
  });
  button("follow").addEventListener("click", () => (follow ? setFollow(false) : latest()));
  jump.addEventListener("click", latest);
  older?.addEventListener("click", loadOlder);
  box.addEventListener("wheel", (event) => event.deltaY < 0 && follow && setFollow(false), { passive: true });
  box.addEventListener("keydown", (event) => {
    if (["PageUp", "Home", "ArrowUp"].includes(event.key) && follow) setFollow(false);
    if (event.key === "End") latest();
  });
  box.addEventListener("touchmove", () => follow && setFollow(false), { passive: true });
  document.addEventListener("visibilitychange", () => (document.visibilityState === "visible" ? connect() : close()));

  const liveWord = document.getElementById("live")?.dataset.fresh ?? "";
  if (older) older.hidden = first() <= 1;
  if (location.hash.startsWith("#L")) setFollow(false);
  else if (follow) bottom();
  connect();
}

function zoneOf(root) {
  try {
    new Intl.DateTimeFormat("en", { timeZone: root.dataset.offset });
    return root.dataset.offset;
  } catch {
    return "UTC";
  }
}
