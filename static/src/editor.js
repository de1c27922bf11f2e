// The YAML editor: CodeMirror in a shadow root, so that its styles need no
// exception from the policy. The text area stays the form's field.
import { EditorView, keymap, lineNumbers, highlightActiveLine, highlightActiveLineGutter, drawSelection } from "@codemirror/view";
import { EditorState } from "@codemirror/state";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting, indentOnInput, foldGutter, foldKeymap, indentUnit } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { tags } from "@lezer/highlight";

const host = document.getElementById("yaml");
const field = host.querySelector("textarea");
const shadow = document.createElement("div");
shadow.className = "yaml-host";
host.append(shadow);
const root = shadow.attachShadow({ mode: "open" });

const look = EditorView.theme({
  "&": { fontSize: "13px", backgroundColor: "transparent", color: "var(--ax-text)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--ax-mono)", lineHeight: "1.65", minHeight: "440px", maxHeight: "72vh" },
  ".cm-content": { caretColor: "var(--ax-text)" },
  ".cm-cursor": { borderLeftColor: "var(--ax-text)" },
  ".cm-gutters": { backgroundColor: "var(--ax-sunk)", color: "var(--ax-muted)", borderRight: "1px solid var(--ax-line)" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "34px", paddingRight: "6px" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--ax-accent) 7%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--ax-accent) 14%, transparent)", color: "var(--ax-text)" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "var(--ax-accent-soft) !important" },
  ".cm-tooltip": { backgroundColor: "var(--ax-surface)", color: "var(--ax-text)", border: "1px solid var(--ax-line-strong)", borderRadius: "6px", overflow: "hidden" },
  ".cm-diagnostic": { padding: "6px 12px" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--st-failed)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--st-retrying)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--ax-sunk)", borderColor: "var(--ax-line)", color: "var(--ax-muted)" },
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--st-running-fg)" },
  { tag: [tags.string, tags.content], color: "var(--ax-text)" },
  { tag: tags.special(tags.string), color: "var(--st-success-fg)" },
  { tag: [tags.quote, tags.attributeValue], color: "var(--st-success-fg)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--ax-muted)" },
  { tag: [tags.number, tags.bool, tags.keyword, tags.typeName, tags.labelName], color: "var(--st-retrying-fg)" },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: "var(--ax-muted)" },
]);

const view = new EditorView({
  root,
  parent: root,
  state: EditorState.create({
    doc: field.value,
    extensions: [
      lineNumbers(), foldGutter(), lintGutter(), history(), drawSelection(), indentOnInput(), indentUnit.of("  "),
      highlightActiveLine(), highlightActiveLineGutter(), yaml(), syntaxHighlighting(colours), look,
      EditorView.contentAttributes.of({ "aria-label": host.dataset.name, tabindex: "0" }),
      keymap.of([...defaultKeymap, ...historyKeymap, ...foldKeymap, indentWithTab]),
      EditorView.updateListener.of((update) => {
        if (!update.docChanged) return;
        field.value = update.state.doc.toString();
        field.dispatchEvent(new Event("input", { bubbles: true }));
      }),
    ],
  }),
});
field.hidden = true;

// place is the offset of a line and column that count from 1.
function place(line, column) {
  const doc = view.state.doc;
  const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return { from: Math.min(at.from + Math.max(column, 1) - 1, at.to), to: at.to };
}

function showProblems() {
  const diagnostics = [];
  for (const item of document.querySelectorAll("#check .problems li")) {
    const line = Number(item.dataset.line);
    if (line === 0) continue;
    const { from, to } = place(line, Number(item.dataset.column));
    diagnostics.push({ from, to: Math.max(from, to), severity: item.dataset.kind, message: item.dataset.message });
  }
  view.dispatch(setDiagnostics(view.state, diagnostics));
}

document.addEventListener("ax:checked", showProblems);
document.addEventListener("click", (event) => {
  const item = event.target.closest("[data-goto]")?.closest("li");
  if (!item) return;
  event.preventDefault();
  const { from } = place(Number(item.dataset.line), Number(item.dataset.column));
  view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  view.focus();
});
showProblems();
