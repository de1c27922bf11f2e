package cron

import (
	"fmt"
	"strings"
	"time"
)

// MinEveryDescriptor is the least D of "@every D".
const MinEveryDescriptor = time.Second

// parseDescriptor reads @daily and its kin, and "@every D".
func parseDescriptor(fields []piece) (*Schedule, *Error) {
	word := fields[0]
	if word.text == "@every" {
		return parseEvery(fields)
	}
	line, ok := descriptorLine(word.text)
	if !ok {
		return nil, unknownDescriptor(word)
	}
	if len(fields) > 1 {
		return nil, &Error{Dialect: Unix, Pos: fields[1].pos, Msg: quote(fields[1].text) + " is not expected after " + word.text,
			Hint: "a descriptor stands alone"}
	}
	return parse(line, Unix)
}

// descriptorLine is the unix line that a descriptor stands for.
func descriptorLine(word string) (string, bool) {
	switch word {
	case "@yearly", "@annually":
		return "0 0 1 1 *", true
	case "@monthly":
		return "0 0 1 * *", true
	case "@weekly":
		return "0 0 * * 0", true
	case "@daily", "@midnight":
		return "0 0 * * *", true
	case "@hourly":
		return "0 * * * *", true
	}
	return "", false
}

func unknownDescriptor(word piece) *Error {
	hint := "descriptors are @yearly @annually @monthly @weekly @daily @midnight @hourly and @every 5m"
	lower := strings.ToLower(word.text)
	if _, ok := descriptorLine(lower); ok || lower == "@every" {
		hint = "did you mean " + lower + "?"
	}
	if lower == "@reboot" {
		hint = "a job of a cluster has no reboot to wait for; give it a time"
	}
	return &Error{Dialect: Unix, Pos: word.pos, Msg: quote(word.text) + " is not a descriptor", Hint: hint}
}

// parseEvery reads "@every D": D has Go's units, no sign, and is at least a second.
func parseEvery(fields []piece) (*Schedule, *Error) {
	const hint = "write it like @every 90s, @every 5m or @every 1h30m"
	word := fields[0]
	if len(fields) == 1 {
		return nil, &Error{Dialect: Unix, Pos: word.pos + len(word.text), Msg: "the duration is missing", Hint: hint}
	}
	d := fields[1]
	if len(fields) > 2 {
		return nil, &Error{Dialect: Unix, Pos: fields[2].pos, Msg: quote(fields[2].text) + " is not expected after the duration", Hint: hint}
	}
	every, err := time.ParseDuration(d.text)
	if err != nil || d.text[0] == '-' || d.text[0] == '+' {
		return nil, &Error{Dialect: Unix, Pos: d.pos, Msg: quote(d.text) + " is not a duration", Hint: hint}
	}
	if every < MinEveryDescriptor {
		return nil, &Error{Dialect: Unix, Pos: d.pos, Msg: fmt.Sprintf("%s is too short, the least is %s", d.text, MinEveryDescriptor), Hint: hint}
	}
	if err := checkEvery(every); err != nil {
		return nil, &Error{Dialect: Unix, Pos: d.pos, Msg: err.Error(), Hint: hint}
	}
	return &Schedule{dialect: Unix, interval: true, every: every}, nil
}
