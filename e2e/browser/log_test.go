package browser

import "testing"

// TestLog streams 20,000 lines into the page of a running instance.
func TestLog(t *testing.T) {
	b := open(t)
	b.show(t, "instance-long-log", "en", "light", 1440)
	until(t, b, `document.querySelector(".log-state").dataset.state === "ended"`)
	if n := ask[int](t, b, `document.querySelectorAll("[data-log-lines] > li").length`); n != 5000 {
		t.Errorf("%d lines in the page, want the bound of 5000", n)
	}
	if last := ask[string](t, b, `document.querySelector("[data-log-lines]").lastElementChild.id`); last != "L20421" {
		t.Errorf("last line is %s, want L20421", last)
	}
	gap := `[...document.querySelectorAll("[data-log-lines] > li")].every((li, i, all) => i === 0 || +li.id.slice(1) === +all[i-1].id.slice(1) + 1)`
	if !ask[bool](t, b, gap) {
		t.Error("line numbers have a gap or a repeat")
	}
	if !ask[bool](t, b, `(b => b.scrollHeight - b.scrollTop - b.clientHeight < 40)(document.querySelector("[data-log-box]"))`) {
		t.Error("the view does not stand at the end while it follows")
	}
	if ask[int](t, b, `document.querySelectorAll("[data-log-lines] img").length`) != 0 {
		t.Error("markup in a line became an element")
	}
	if !ask[bool](t, b, `(document.querySelector("[data-log-older]").click(), true)`) {
		t.Fatal("no button for older lines")
	}
	until(t, b, `document.querySelector("[data-log-lines]").firstElementChild.id === "L14422"`)
	if n := ask[int](t, b, `document.querySelectorAll("[data-log-lines] > li").length`); n != 5000 {
		t.Errorf("%d lines after loading older ones, want 5000", n)
	}
	if said := b.complained(); len(said) > 0 {
		t.Errorf("the console says %q", said)
	}
}

// TestDialogs opens the kill dialog by its button, and closes it again.
func TestDialogs(t *testing.T) {
	b := open(t)
	b.show(t, "instance", "en", "light", 1440)
	ask[bool](t, b, `(document.querySelector("[data-dialog=kill]").click(), true)`)
	until(t, b, `document.getElementById("kill").open`)
	ask[bool](t, b, `(document.querySelector("#kill [data-close]").click(), true)`)
	until(t, b, `!document.getElementById("kill").open`)
}

// TestLiveKeepsWhatIsOpen refreshes a page by itself and keeps what the reader opened.
func TestLiveKeepsWhatIsOpen(t *testing.T) {
	b := open(t)
	b.show(t, "instance", "en", "light", 1440)
	ask[bool](t, b, `(document.querySelector(".chain").open = true, window.rounds = 0, document.addEventListener("ax:live", () => rounds++), true)`)
	until(t, b, `window.rounds > 0`)
	if !ask[bool](t, b, `document.querySelector(".chain").open`) {
		t.Error("the refresh closed what was open")
	}
	if said := b.complained(); len(said) > 0 {
		t.Errorf("the console says %q", said)
	}
}
