package browser

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// patience is how long a person waits for something to show.
const patience = 25 * time.Second

// person works in a browser as people do: by address, mouse and keyboard.
type person struct {
	t *testing.T
	b *tab
}

func (p *person) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("%s: %v; the page is %s\n%.1500s", what, err, p.where(), p.text("body"))
	}
}

// goTo opens an address.
func (p *person) goTo(path string) {
	p.t.Helper()
	p.do("open "+path, chromedp.Navigate(p.b.url+path))
}

// still holds when the selector's first element stands in sight, has kept its place
// for two frames and has nothing before it, as a person waits before pressing.
const still = `(async (e) => {
	if (!e) return false;
	e.scrollIntoView({block: "center", behavior: "instant"});
	const frame = () => new Promise(requestAnimationFrame);
	const place = () => { const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height].join() };
	await frame();
	const before = place();
	await frame();
	await frame();
	const r = e.getBoundingClientRect(), top = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
	return before === place() && r.width > 0 && Boolean(top && (e.contains(top) || top.contains(e)));
})(document.querySelector(%q))`

// click clicks the first element of the selector.
func (p *person) click(selector string) {
	p.t.Helper()
	p.see("await " + fmt.Sprintf(still, selector))
	p.do("click "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// write types into a field in place of what is there.
func (p *person) write(selector, text string) {
	p.t.Helper()
	p.see(fmt.Sprintf(`document.querySelector(%q)`, selector))
	p.eval(fmt.Sprintf(`(document.querySelector(%q).value = "")`, selector))
	p.do("write into "+selector, chromedp.SendKeys(chromedp.CSS(selector), text))
}

// see waits until an expression holds in whatever page is there by then.
func (p *person) see(expression string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(40 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(p.b.ctx, 5*time.Second)
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("(async () => Boolean("+expression+"))()", chromedp.EvalAwaitPromise))
		cancel()
		if err == nil && ok {
			return
		}
	}
	p.t.Fatalf("%s does not come to hold on %s:\n%.1500s", expression, p.where(), p.text("main"))
}

// seeText waits for a text in the page.
func (p *person) seeText(text string) {
	p.t.Helper()
	p.see(fmt.Sprintf(`document.body?.innerText.includes(%s)`, strconv.Quote(text)))
}

// seeAt waits for an address, path and query, that fits a pattern.
func (p *person) seeAt(pattern string) {
	p.t.Helper()
	p.see(fmt.Sprintf(`document.readyState === "complete" && /^%s$/.test(location.pathname + location.search)`, pattern))
}

func (p *person) where() string {
	return p.eval(`location.pathname + location.search`)
}

func (p *person) text(selector string) string {
	return p.eval(fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector))
}

// eval asks the page something and takes a failure for an empty answer.
func (p *person) eval(expression string) string {
	ctx, cancel := context.WithTimeout(p.b.ctx, 5*time.Second)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[string](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		return ""
	}
	return v
}

// count counts elements.
func (p *person) count(selector string) int {
	p.t.Helper()
	return ask[int](p.t, p.b, fmt.Sprintf(`document.querySelectorAll(%q).length`, selector))
}

// logIn fills in the login page.
func (p *person) logIn(name, password string) {
	p.t.Helper()
	p.goTo("/login")
	p.write("#f-name", name)
	p.write("#f-password", password)
	p.click("form .btn-primary")
}

// logOut takes the entry of the user's menu.
func (p *person) logOut() {
	p.t.Helper()
	p.click(".menu summary")
	p.click(`form[action="/logout"] button`)
	p.seeAt(`\/login`)
}

// refused is what the console says of an answer that a step asked for on purpose.
var refused = regexp.MustCompile(`the server responded with a status of 4\d\d`)

// quiet wants that the console said nothing since the last time but of answers that
// were wanted to be refusals, and that the page lacks no word.
func (p *person) quiet(refusals bool) {
	p.t.Helper()
	for _, said := range p.b.complained() {
		if !refusals || !refused.MatchString(said) {
			p.t.Errorf("on %s the console says %s", p.where(), said)
		}
	}
	if missing := p.eval(`document.documentElement.outerHTML.match(/⟦[^⟧]*⟧/)?.[0] ?? ""`); missing != "" {
		p.t.Errorf("%s lacks the word %s", p.where(), missing)
	}
}

// fits wants no sideways scroll on a telephone.
func (p *person) fits() {
	p.t.Helper()
	p.do("look at it on a telephone", chromedp.EmulateViewport(390, 844))
	p.noSideways()
	p.do("go back to the desk", chromedp.EmulateViewport(1440, 900))
}

// noSideways wants no sideways scroll as wide as the window is.
func (p *person) noSideways() {
	p.t.Helper()
	if over := ask[int](p.t, p.b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
		p.t.Errorf("%s scrolls sideways by %d px: %s", p.where(), over, ask[string](p.t, p.b, widest))
	}
}

// paste puts text into the YAML editor in place of what is there.
func (p *person) paste(text string) {
	p.t.Helper()
	p.see(`document.querySelector(".yaml-host")?.shadowRoot.querySelector(".cm-content")`)
	p.eval(`(document.querySelector(".yaml-host").shadowRoot.querySelector(".cm-content").focus(), "")`)
	p.do("select all", chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	script := `(text => {
		const data = new DataTransfer();
		data.setData("text/plain", text);
		document.querySelector(".yaml-host").shadowRoot.querySelector(".cm-content").dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
		return document.getElementById("text").value;
	})(` + jsString(text) + `)`
	if got := p.eval(script); got != text {
		p.t.Fatalf("the editor holds %q instead of %q", got, text)
	}
}

// jsString is a text as a string of JavaScript.
func jsString(s string) string {
	return strings.NewReplacer("<", `\u003c`).Replace(strconv.Quote(s))
}
