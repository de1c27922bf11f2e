package cron

import (
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
		return nil, refusal(Unix, fields[1].pos, sentence{"after_descriptor", "{value} is not expected after {word}"},
			sentence{"alone", "a descriptor stands alone"}, "value", quote(fields[1].text), "word", word.text)
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
	hint := sentence{"descriptors", "descriptors are @yearly @annually @monthly @weekly @daily @midnight @hourly and @every 5m"}
	lower := strings.ToLower(word.text)
	if _, ok := descriptorLine(lower); ok || lower == "@every" {
		hint = sentence{"meant", "did you mean {meant}?"}
	}
	if lower == "@reboot" {
		hint = sentence{"reboot", "a job of a cluster has no reboot to wait for; give it a time"}
	}
	return refusal(Unix, word.pos, sentence{"not_descriptor", "{value} is not a descriptor"}, hint, "value", quote(word.text), "meant", lower)
}

// parseEvery reads "@every D": D has Go's units, no sign, and is at least a second.
func parseEvery(fields []piece) (*Schedule, *Error) {
	hint := sentence{"every", "write it like @every 90s, @every 5m or @every 1h30m"}
	word := fields[0]
	if len(fields) == 1 {
		return nil, refusal(Unix, word.pos+len(word.text), sentence{"duration_missing", "the duration is missing"}, hint)
	}
	d := fields[1]
	if len(fields) > 2 {
		return nil, refusal(Unix, fields[2].pos, sentence{"after_duration", "{value} is not expected after the duration"}, hint, "value", quote(fields[2].text))
	}
	every, err := time.ParseDuration(d.text)
	if err != nil || d.text[0] == '-' || d.text[0] == '+' {
		return nil, refusal(Unix, d.pos, sentence{"not_duration", "{value} is not a duration"}, hint, "value", quote(d.text))
	}
	if every < MinEveryDescriptor {
		return nil, refusal(Unix, d.pos, sentence{"too_short", "{value} is too short, the least is {least}"}, hint, "value", d.text, "least", MinEveryDescriptor.String())
	}
	if every > MaxEvery {
		return nil, refusal(Unix, d.pos, sentence{"too_far", "{value} is too long, the most is {most} (100 years)"}, hint, "value", d.text, "most", MaxEvery.String())
	}
	if checkEvery(every) != nil {
		return nil, refusal(Unix, d.pos, sentence{"not_whole", "{value} is not a whole number of milliseconds"}, hint, "value", d.text)
	}
	return &Schedule{dialect: Unix, interval: true, every: every}, nil
}
