// A file that is chosen is read into the text field, where it can be looked at and changed before
// it is sent. Without script the text is pasted.
export function startUpload() {
  const box = document.querySelector("[data-upload]");
  if (!box) return;
  box.hidden = false;
  const input = box.querySelector("input[type=file]");
  const name = box.querySelector("[data-upload-name]");
  const text = document.getElementById(box.dataset.upload);
  const take = async (file) => {
    if (!file) return;
    if (file.size > box.dataset.max * 1024) {
      name.textContent = file.name + ": " + box.dataset.tooBig;
      name.classList.add("field-error");
      return;
    }
    name.classList.remove("field-error");
    name.textContent = file.name;
    text.form.elements.file.value = file.name;
    text.value = await file.text();
    text.dispatchEvent(new Event("input", { bubbles: true }));
  };
  input.addEventListener("change", () => {
    take(input.files[0]);
    input.value = "";
  });
  text.addEventListener("dragover", (event) => event.preventDefault());
  text.addEventListener("drop", (event) => {
    if (event.dataTransfer.files.length === 0) return;
    event.preventDefault();
    take(event.dataTransfer.files[0]);
  });
}
