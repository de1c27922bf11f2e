// Comforts of the schedule builder: the names of zones, and an own expression that begins
// as the one of the choice before. What is shown and what it means is the server's.
export function startSchedule() {
  const zones = document.getElementById("zones");
  const zone = document.getElementById("f-timezone");
  zone?.addEventListener("focus", () => nameZones(zones), { once: true });
  const own = document.getElementById("f-cron");
  document.getElementById("when")?.addEventListener("change", (event) => {
    if (event.target.name === "when" && event.target.value === "cron" && own.value === "") {
      own.value = document.querySelector("#check [data-expr]")?.dataset.expr ?? "";
    }
  });
}

function nameZones(list) {
  if (!list || !Intl.supportedValuesOf) return;
  for (const name of Intl.supportedValuesOf("timeZone")) {
    const option = document.createElement("option");
    option.value = name;
    list.append(option);
  }
}
