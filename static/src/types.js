// The form shows what the chosen type needs; the parts of other types are neither seen nor sent.
export function startTypes() {
  const type = document.getElementById("f-type");
  if (!type) return;
  const parts = [...document.querySelectorAll(".exec-part")];
  type.addEventListener("input", () => {
    const name = type.value.trim();
    const own = parts.find((part) => part.dataset.type === name) ?? parts.find((part) => part.dataset.type === "");
    for (const part of parts) part.hidden = part.disabled = part !== own;
  });
}
