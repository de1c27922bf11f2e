package stores

// HasChromium reports whether a browser for the browser tests is installed.
func HasChromium() bool {
	_, ok := find("chromium", "chromium-browser", "google-chrome")
	return ok
}
