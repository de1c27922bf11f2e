package httpx_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
)

func TestTheDescriptionHasEveryCallAndNothingElse(t *testing.T) {
	type inner struct {
		At   time.Time      `json:"at"`
		Gone *time.Time     `json:"gone"`
		Date domain.BizDate `json:"date"`
		skip int
	}
	type whole struct {
		inner
		ID   domain.ID      `json:"id"`
		Tags []string       `json:"tags"`
		Many map[string]int `json:"many,omitempty"`
	}
	_ = inner{}.skip
	e := newEdge(t,
		httpx.Route{Method: "GET", Path: "/api/v1/things/:id", Action: domain.ActJobRead, Handler: ok,
			Doc: httpx.Doc{Summary: "One thing", Query: []httpx.Param{{Name: "n", Kind: "integer", Text: "how many"}}, Answer: whole{}}},
		httpx.Route{Method: "POST", Path: "/api/v1/things/:id", Action: domain.ActJobWrite, Creating: true, Handler: ok, Doc: httpx.Doc{Summary: "Make it", Body: whole{}, Answer: whole{}, Status: 201}},
		httpx.Route{Method: "DELETE", Path: "/api/v1/things/:id", Action: domain.ActJobWrite, Handler: ok},
		httpx.Route{Method: "GET", Path: "/things", Action: domain.ActJobRead, Handler: ok})
	if err := e.router.Add(e.router.Document()); err != nil {
		t.Fatal(err)
	}
	a := e.do(t, "GET", "/api/v1/openapi.json", "")
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Summary     string
			Parameters  []struct{ Name, In string }
			RequestBody *struct{}
			Responses   map[string]json.RawMessage
			Security    *[]any
		}
	}
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil || a.status != 200 {
		t.Fatalf("%d %v %s", a.status, err, a.body)
	}
	var got []string
	ids := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			got = append(got, strings.ToUpper(method)+" "+strings.NewReplacer("{", ":", "}", "").Replace(path))
			ids[op.OperationID] = true
		}
	}
	var want []string
	for _, r := range e.router.Routes() {
		if strings.HasPrefix(r.Path, "/api/v1/") {
			want = append(want, r.String())
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(ids) != len(want) || len(want) != 4 || !strings.HasPrefix(doc.OpenAPI, "3.") {
		t.Errorf("described: %v, there are: %v, names %v", got, want, slices.Collect(maps.Keys(ids)))
	}
	get, post := doc.Paths["/api/v1/things/{id}"]["get"], doc.Paths["/api/v1/things/{id}"]["post"]
	if len(get.Parameters) != 2 || get.Parameters[0].In != "path" || get.Parameters[1].Name != "n" || get.RequestBody != nil || get.Responses["200"] == nil || get.Security != nil {
		t.Errorf("get: %+v", get)
	}
	if post.RequestBody == nil || post.Responses["201"] == nil || post.Responses["default"] == nil || post.Parameters[1].Name != "Idempotency-Key" {
		t.Errorf("post: %+v", post)
	}
	if del := doc.Paths["/api/v1/things/{id}"]["delete"]; del.Responses["204"] == nil || del.Summary == "" {
		t.Errorf("delete: %+v", del)
	}
	if self := doc.Paths["/api/v1/openapi.json"]["get"]; self.Security == nil || len(*self.Security) != 0 {
		t.Errorf("the description itself needs nobody: %+v", self)
	}
	var shape struct {
		Content map[string]struct{ Schema map[string]any }
	}
	if err := json.Unmarshal(get.Responses["200"], &shape); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(shape.Content["application/json"].Schema)
	if err != nil {
		t.Fatal(err)
	}
	const wantShape = `{"properties":{"at":{"format":"date-time","type":"string"},"date":{"type":"string"},"gone":{"format":"date-time","nullable":true,"type":"string"},` +
		`"id":{"type":"string"},"many":{"additionalProperties":{"format":"int64","type":"integer"},"type":"object"},"tags":{"items":{"type":"string"},"type":"array"}},` +
		`"required":["at","gone","date","id","tags"],"type":"object"}`
	if string(text) != wantShape {
		t.Errorf("shape: %s", text)
	}
}
