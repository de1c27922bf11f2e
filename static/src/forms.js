// Filters that apply themselves, addresses without empty values, one submit a
// click, the theme without a reload.
export function startForms() {
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-auto]")) event.target.form.requestSubmit();
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.matches("[data-theme-form]")) return switchTheme(event, form);
    if (form.matches("[data-filter]")) return shortAddress(event, form);
    if (form.method === "post") once(event, form);
  });
  addEventListener("pageshow", () => {
    for (const button of document.querySelectorAll("button[data-sent]")) {
      button.disabled = false;
      delete button.dataset.sent;
    }
  });
  startPick();
  startCheck();
  document.querySelector("[aria-invalid=true]")?.focus();
}

function shortAddress(event, form) {
  event.preventDefault();
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value !== "") query.append(name, value);
  const text = query.toString();
  location.assign(form.getAttribute("action") + (text ? "?" + text : ""));
}

function once(event, form) {
  if (form.dataset.sending) return event.preventDefault();
  setTimeout(() => {
    for (const button of form.querySelectorAll("button:not([type=button])")) {
      button.disabled = true;
      button.dataset.sent = "1";
    }
  });
}

function switchTheme(event, form) {
  event.preventDefault();
  const root = document.documentElement;
  const field = form.elements.theme;
  const body = new URLSearchParams(new FormData(form));
  if (field.value === "auto") root.removeAttribute("data-bs-theme");
  else root.dataset.bsTheme = field.value;
  field.value = { light: "dark", dark: "auto", auto: "light" }[field.value];
  fetch(form.getAttribute("action"), { method: "POST", body, redirect: "manual" });
}

// The picker adds a job's name, with the dates that are chosen, to the list of dependencies.
function startPick() {
  const pick = document.querySelector("[data-pick]");
  if (!pick) return;
  pick.hidden = false;
  const input = pick.querySelector("input");
  const dates = pick.querySelector("select");
  const list = document.getElementById(pick.dataset.pick);
  const add = () => {
    const name = input.value.trim();
    if (![...input.list.options].some((o) => o.value === name)) return;
    const lines = list.value.split("\n").map((l) => l.trim()).filter(Boolean);
    const line = `${name} ${dates.value}`.trim();
    if (!lines.includes(line)) lines.push(line);
    list.value = lines.join("\n");
    input.value = "";
    list.dispatchEvent(new Event("input", { bubbles: true }));
  };
  input.addEventListener("input", add);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      add();
    }
  });
}

// The definition is checked by the server's own validator while somebody types.
function startCheck() {
  const form = document.querySelector("form[data-check]");
  if (form) watchCheck(form);
}

// watchCheck asks for the fragment beside a form whenever something is typed into it.
export function watchCheck(form) {
  const side = document.getElementById("check");
  if (!form.dataset.check || !side) return;
  let timer;
  let running;
  const check = async () => {
    running?.abort();
    running = new AbortController();
    const body = new URLSearchParams(new FormData(form));
    try {
      const answer = await fetch(form.dataset.check, { method: "POST", body, signal: running.signal });
      const part = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector(".check");
      if (!part) return;
      side.replaceChildren(part);
      document.dispatchEvent(new CustomEvent("ax:checked"));
    } catch {
      // The next keystroke asks again; what was known stays in sight.
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(check, 350);
  });
  const typed = [...form.querySelectorAll("[name=name], textarea")].some((field) => field.value.trim() !== "");
  if (typed && !side.querySelector("[data-checked]")) check();
}
