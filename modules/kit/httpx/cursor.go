package httpx

import (
	"encoding/base64"
	"encoding/json"

	"github.com/axsched/ax/modules/domain"
)

// Cursor writes the key of a list's last row (any JSON value) as the text that asks
// for what comes after it.
func Cursor(key any) (string, error) {
	b, err := json.Marshal(key)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// ReadCursor reads what Cursor wrote into dest. The empty text leaves dest alone
// and reports false: the list begins at its start.
func ReadCursor(text string, dest any) (bool, error) {
	if text == "" {
		return false, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, dest)
	}
	if err != nil || len(text) > 1024 {
		return false, domain.Fail(domain.Invalid, "this cursor was not made by this list").At("cursor").WithHint("begin without one").Coded("http.cursor")
	}
	return true, nil
}
