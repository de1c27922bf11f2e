// Colours of terminals become classes, web addresses become links, all else is text.
const token = /\x1b\[([0-9;]*)m|\x1b\[[0-9;?]*[A-Za-z]|(https?:\/\/[^\s"'<>\x1b]+)/g;
const known = new Set(["1", "31", "32", "33", "34", "35", "36", "90"]);

// paint fills an element with a line of output.
export function paint(element, text) {
  element.textContent = "";
  let classes = [];
  let from = 0;
  const put = (piece) => {
    if (piece === "") return;
    if (classes.length === 0) return element.append(piece);
    const span = document.createElement("b");
    span.className = classes.join(" ");
    span.textContent = piece;
    element.append(span);
  };
  for (const found of text.matchAll(token)) {
    put(text.slice(from, found.index));
    from = found.index + found[0].length;
    if (found[2]) element.append(link(found[2]));
    else if (found[1] !== undefined) classes = next(classes, found[1]);
  }
  put(text.slice(from));
}

function next(classes, codes) {
  let result = classes;
  for (const code of codes === "" ? ["0"] : codes.split(";")) {
    if (code === "0") result = [];
    const normal = /^9[1-6]$/.test(code) ? "3" + code[1] : code;
    if (known.has(normal)) result = [...result, "a" + normal];
  }
  return result;
}

function link(url) {
  const a = document.createElement("a");
  a.className = "url";
  a.href = url;
  a.rel = "noopener noreferrer";
  a.target = "_blank";
  a.textContent = url;
  return a;
}
