package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// row is one object of an answer. Commands show some of its fields and pass it on
// whole with --json.
type row map[string]any

// text is the first of the fields that is there and not empty. A list is joined by
// commas; an object is its JSON.
func (r row) text(names ...string) string {
	for _, name := range names {
		if s := plain(r[name]); s != "" {
			return s
		}
	}
	return ""
}

func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		parts := make([]string, len(v))
		for i, one := range v {
			parts[i] = plain(one)
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		if len(v) == 0 {
			return ""
		}
		text, _ := json.Marshal(v) // decoded JSON can be written again
		return string(text)
	}
	return fmt.Sprint(v)
}

// status is state/label.
func (r row) status() string {
	if label := r.text("label"); label != "" {
		return r.text("state") + "/" + label
	}
	return r.text("state")
}

// moment is a field that holds RFC 3339 text; the zero time where there is none.
func (r row) moment(name string) time.Time {
	t, err := time.Parse(time.RFC3339, r.text(name))
	if err != nil {
		return time.Time{}
	}
	return t
}

// rows is a field that holds a list of objects.
func (r row) rows(name string) []row {
	list, _ := r[name].([]any)
	out := make([]row, 0, len(list))
	for _, one := range list {
		if m, ok := one.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// decode reads an answer that is an object. Numbers keep all their digits.
func decode(doc json.RawMessage) (row, error) {
	var r row
	d := json.NewDecoder(strings.NewReader(string(doc)))
	d.UseNumber()
	if err := d.Decode(&r); err != nil || r == nil {
		return nil, fmt.Errorf("the server's answer is no JSON object: is its version the same as that of this ax?")
	}
	return r, nil
}

// ended reports whether an instance's state is final.
func (r row) ended() bool {
	switch r.text("state") {
	case "success", "failed", "cancelled":
		return true
	}
	return false
}

// name is the [project/]name of the job that a row is about.
func (r row) name() string {
	job, project := r.text("job", "name"), r.text("project")
	if project != "" && project != "default" && !strings.Contains(job, "/") {
		job = project + "/" + job
	}
	if r.text("jobDeletedAt") != "" {
		return former(job, r.text("jobId"))
	}
	return job
}

// former names a job that was deleted; its id tells it from others of the name.
func former(job, id string) string { return job + " (deleted, id " + id + ")" }

// ofJob is what --job means where the past is looked at.
const ofJob = "only of this job: [project/]name, which means the job that is there, else the one deleted last, or an id"
