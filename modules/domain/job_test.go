package domain

import (
	"encoding/json"
	"testing"
)

func sample() JobSpec {
	return JobSpec{Project: "default", Name: "a", Timezone: "UTC", Enabled: true,
		Topics: []string{"x", "y"}, Tags: []string{"gpu", "cn"}, Params: map[string]string{"a": "1", "b": "2"},
		Exec: Exec{Type: "shell", Spec: json.RawMessage(`{"command":"true","b":{"y":1,"x":2}}`)},
		Deps: []Dep{{Project: "default", Name: "p"}, {Project: "default", Name: "q"}}, TimeoutSec: 60}
}

func TestDigestIsTheMeaning(t *testing.T) {
	want := sample().Digest()
	same := map[string]func(*JobSpec){
		"order of topics":   func(s *JobSpec) { s.Topics = []string{"y", "x"} },
		"order of tags":     func(s *JobSpec) { s.Tags = []string{"cn", "gpu"} },
		"order of deps":     func(s *JobSpec) { s.Deps[0], s.Deps[1] = s.Deps[1], s.Deps[0] },
		"order of JSON":     func(s *JobSpec) { s.Exec.Spec = json.RawMessage(`{ "b":{"x":2,"y":1}, "command":"true"}`) },
		"paused":            func(s *JobSpec) { s.Enabled, s.EnabledGiven = false, true },
		"empty, not absent": func(s *JobSpec) { s.Env = map[string]string{} },
	}
	for name, change := range same {
		s := sample()
		change(&s)
		if s.Digest() != want {
			t.Errorf("%s changed the digest", name)
		}
	}
	other := map[string]func(*JobSpec){
		"title":   func(s *JobSpec) { s.Title = "t" },
		"zone":    func(s *JobSpec) { s.Timezone = "Asia/Shanghai" },
		"param":   func(s *JobSpec) { s.Params["a"] = "2" },
		"command": func(s *JobSpec) { s.Exec.Spec = json.RawMessage(`{"command":"false","b":{"y":1,"x":2}}`) },
		"big number": func(s *JobSpec) {
			s.Exec.Spec = json.RawMessage(`{"command":"true","b":{"y":1,"x":2.0000000000000000001}}`)
		},
		"dep": func(s *JobSpec) { s.Deps = s.Deps[:1] },
	}
	seen := map[string]string{want: "the sample"}
	for name, change := range other {
		s := sample()
		change(&s)
		if prev, dup := seen[s.Digest()]; dup {
			t.Errorf("%s has the digest of %s", name, prev)
		}
		seen[s.Digest()] = name
	}
}

func TestDigestLeavesTheSpecAlone(t *testing.T) {
	s := sample()
	before, _ := json.Marshal(s)
	s.Digest()
	if after, _ := json.Marshal(s); string(after) != string(before) {
		t.Errorf("Digest changed the spec: %s", after)
	}
}

func TestJobKeyReadsBack(t *testing.T) {
	for text, want := range map[string]JobKey{"a": {"default", "a"}, "fin/a": {"fin", "a"}} {
		if got := ParseJobKey(text); got != want || got.String() != text {
			t.Errorf("%q → %v → %q", text, got, got.String())
		}
	}
}
