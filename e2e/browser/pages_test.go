package browser

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/axsched/ax/views/storybook"
)

// shots is where the pictures go when AX_SHOTS is set; people look at them before
// a release.
const shots = "../shots"

// looks are the pairs of language and theme to show: each language and each theme
// once, or with AX_SHOTS all four.
func looks() [][2]string {
	all := [][2]string{{"en", "light"}, {"zh-CN", "dark"}, {"zh-CN", "light"}, {"en", "dark"}}
	if os.Getenv("AX_SHOTS") == "" {
		return all[:2]
	}
	return all
}

// TestEveryPage shows each story at three widths in both languages and themes and
// wants: no complaint of the console (so none of the policy), no missing word, no
// sideways scroll, nothing for axe to find.
func TestEveryPage(t *testing.T) {
	b := open(t)
	axe, err := os.ReadFile("../../static/node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Log("axe-core is not installed: contrast and names are not checked")
	}
	for _, story := range storybook.Stories() {
		if only := os.Getenv("AX_STORY"); only != "" && !strings.HasPrefix(story.Name, only) {
			continue
		}
		t.Run(story.Name, func(t *testing.T) {
			for _, l := range looks() {
				b.show(t, story.Name, l[0], l[1], 1440)
				for _, width := range []int64{390, 1024, 1440} {
					look(t, b, strings.Join([]string{story.Name, l[0], l[1], strconv.FormatInt(width, 10)}, "_"), width)
					if len(axe) > 0 && width != 1024 {
						audit(t, b, string(axe), strings.Join(l[:], " ")+" "+strconv.FormatInt(width, 10))
					}
				}
			}
		})
	}
}

// look checks the page that is open at one width; name says which it is.
func look(t *testing.T, b *tab, name string, width int64) {
	t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 900)); err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(name, "edit-yaml") || strings.HasPrefix(name, "edit-conflict") {
		until(t, b, `document.querySelector(".yaml-host")?.shadowRoot.querySelector(".cm-content") != null`)
	}
	if over := ask[int](t, b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
		t.Errorf("%s: scrolls sideways by %d px: %s", name, over, ask[string](t, b, widest))
	}
	if ask[bool](t, b, `document.documentElement.outerHTML.includes("⟦")`) {
		t.Errorf("%s: a word is missing: %s", name, ask[string](t, b, `document.documentElement.outerHTML.match(/⟦[^⟧]*⟧/)[0]`))
	}
	if said := b.complained(); len(said) > 0 {
		t.Errorf("%s: the console says %q", name, said)
	}
	if os.Getenv("AX_SHOTS") != "" && width != 1024 {
		picture(t, b, name)
	}
}

// widest names the elements that stick out.
const widest = `[...document.querySelectorAll("main *, .top *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".table-wrap,.log-box,.dag-view,.tabs,.attempts,.code-view")).slice(0,4).map(e => e.tagName + "." + e.getAttribute("class")).join(" ")`

// findings runs axe and says each violation with its first element.
const findings = `axe.run(document, {runOnly: ["wcag2a","wcag2aa","wcag21a","wcag21aa","wcag22aa"]}).then(r => r.violations.map(v => v.id + ": " + v.nodes.slice(0,3).map(n => n.target.join(" ") + " " + (n.any[0]?.message ?? "")).join(" | ")).join("\n"))`

func audit(t *testing.T, b *tab, axe, where string) {
	t.Helper()
	if !ask[bool](t, b, `typeof axe === "object"`) && !ask[bool](t, b, axe+"; true") {
		t.Fatal("axe did not load")
	}
	if found := ask[string](t, b, findings); found != "" {
		t.Errorf("%s: axe finds\n%s", where, found)
	}
	b.complained()
}

func picture(t *testing.T, b *tab, name string) {
	t.Helper()
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatalf("screenshot %s: %v", name, err)
	}
	if err := os.MkdirAll(shots, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(shots, name+".png"), png, 0o644); err != nil {
		t.Fatal(err)
	}
}
