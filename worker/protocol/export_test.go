package protocol

// Plain says whether an inbox entry is read without encoding/json.
func Plain(text string) bool {
	p := parser{text: text}
	_, err := p.downlink()
	return err == nil && p.at == len(text)
}
