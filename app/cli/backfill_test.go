package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const previewJSON = `{"job":"daily","reach":"alone","wanted":"missing","degree":2,"newestFirst":false,"goesOn":false,"notBetween":"","zone":"Asia/Shanghai","needs":"backfill.start",
"runs":2,"make":1,"again":1,"forced":0,"leave":1,"dates":2,"steps":2,"estimateMs":90500,"hash":"abc","items":[
{"no":1,"step":1,"job":"daily","bizDate":"2026-02-01","expected":"2026-01-31T18:00:00.000Z","act":"make","why":"present","said":"planned by the present definition: no schedule was in force then","was":"","version":3,"instance":"","run":0,"state":""},
{"no":2,"step":0,"job":"daily","bizDate":"2026-02-02","expected":"2026-02-01T18:00:00.000Z","act":"leave","why":"succeeded","said":"it has succeeded","was":"success","version":3,"instance":"5","run":1,"state":""},
{"no":3,"step":2,"job":"daily","bizDate":"2026-02-03","expected":"2026-02-02T18:00:00.000Z","act":"again","why":"ended","said":"it ended without success","was":"failed/error","version":2,"instance":"6","run":1,"state":""}],
"effects":[{"kind":"back","job":"report","bizDate":"2026-02-03","instance":"7","because":"daily"}],"moreEffects":0,
"warnings":[{"kind":"waits","job":"daily","other":"sync","n":1,"text":"1 run of daily will wait: sync is not in the list and has no success on its date."}]}`

const backfillJSON = `{"id":"411052400640000031","job":"daily","reach":"alone","wanted":"missing","from":"2026-02-01","to":"2026-02-03","dates":2,"degree":2,"newestFirst":false,"goesOn":false,
"notBetween":"08:00-20:00","zone":"Asia/Shanghai","params":{},"reason":"lost a disk","estimateMs":90500,"state":"paused","pause":"failure","pauseBy":"daily 2026-02-03","runs":2,"waiting":0,"running":1,"success":0,"failed":1,"killed":0,"left":1,"dropped":0,
"createdBy":"wang","createdAt":"2026-02-03T04:00:00.000Z","finishedAt":null}`

func backfillAPI(t *testing.T) *api {
	a := newAPI(t)
	a.on("POST /api/v1/backfills/preview", 200, previewJSON)
	a.on("POST /api/v1/backfills", 201, backfillJSON)
	a.on("GET /api/v1/backfills", 200, `{"backfills":[`+backfillJSON+`],"cursor":""}`)
	a.on("GET /api/v1/backfills/411052400640000031", 200, backfillJSON)
	a.on("GET /api/v1/backfills/411052400640000031/items", 200, `{"items":[{"no":1,"step":1,"job":"daily","bizDate":"2026-02-01","expected":"2026-01-31T18:00:00.000Z","act":"make","why":"present","said":"planned by the present definition: no schedule was in force then","was":"","version":3,"instance":"9","run":1,"state":"running"}],"cursor":""}`)
	for _, verb := range []string{"pause", "resume", "stop"} {
		a.on("POST /api/v1/backfills/411052400640000031/"+verb, 200, backfillJSON)
	}
	a.on("GET /api/v1/missed", 200, `{"missed":[{"job":"hello","bizDate":"2026-02-01","first":"2026-02-01T00:00:00.000Z","last":"2026-02-01T05:00:00.000Z","fires":6,"open":2,"kind":"missed","reason":"older than 7 days"}],"cursor":""}`)
	return a
}

func TestGoldenBackfills(t *testing.T) {
	id := "411052400640000031"
	for name, args := range map[string][]string{
		"backfill":        {"backfill", "daily", "--from", "2026-02-01", "--to", "2026-02-03", "--degree", "2"},
		"backfill-narrow": {"backfill", "daily", "--from", "2026-02-01", "--since", "2026-02-01T02:00:00+08:00", "--until", "2026-02-01 13:00:00 +08:00", "--not-between", "08:00-20:00"},
		"backfill-yes":    {"backfill", "daily", "--from", "2026-02-01", "--to", "2026-02-03", "--yes"}, "backfill-list": {"backfill", "list"},
		"backfill-show": {"backfill", "show", id}, "backfill-items": {"backfill", "items", id, "--state", "running"}, "backfill-stop": {"backfill", "stop", id, "--kill"},
		"backfill-missed": {"backfill", "missed", "--job", "hello"}, "rerun-dag": {"rerun", "--dag", "daily", "2026-02-03", "--only-failed", "--yes"},
	} {
		for _, form := range []string{"", "-json"} {
			t.Run(name+form, func(t *testing.T) {
				if form != "" {
					args = append([]string{"--json"}, args...)
				}
				got := backfillAPI(t).ax(t, args...)
				if form != "" && got.code < 2 {
					got.json(t)
				}
				golden(t, name+form, got.String())
			})
		}
	}
}

// What is started is what was shown: the hash of the preview goes with the start.
func TestAStartNamesItsPreview(t *testing.T) {
	a := backfillAPI(t)
	a.still(t, "backfill", "daily", "--dates", "2026-02-01,2026-02-03", "--dag", "--force", "--go-on", "--not-between", "08:00-20:00", "--param", "a=b=c", "--yes")
	asked, begun := a.of("POST /api/v1/backfills/preview"), a.of("POST /api/v1/backfills")
	const body = `{"job":"daily","reach":"downstream","dates":["2026-02-01","2026-02-03"],"wanted":"all","degree":1,"goesOn":true,"notBetween":"08:00-20:00","params":{"a":"b=c"}`
	if len(asked) != 1 || asked[0].body != body+"}" {
		t.Errorf("asked %+v", asked)
	}
	if len(begun) != 1 || begun[0].body != body+`,"hash":"abc"}` || begun[0].key == "" {
		t.Errorf("begun %+v", begun)
	}
	a.answers["POST /api/v1/backfills"] = []answer{{409, `{"error":{"kind":"conflict","message":"what would run has changed since the preview: it is 1 runs now","hint":"look at the new preview and confirm that"},"preview":` + previewJSON + `}`}}
	if got := a.still(t, "backfill", "daily", "--from", "2026-02-01", "--yes"); got.code != exitFailed || !strings.Contains(got.err, "changed since the preview") {
		t.Errorf("%s", got)
	}
	calls := len(a.calls)
	for _, args := range [][]string{{}, {"--from", "2026-2-1"}, {"--from", "2026-02-01", "--dates", "2026-02-01"}, {"--dates", "x"}, {"--from", "2026-02-01", "--degree", "0"},
		{"--from", "2026-02-01", "--only", "some"}, {"--from", "2026-02-01", "--only", "failed", "--force"}, {"--from", "2026-02-01", "--dag", "--upstream"}, {"--from", "2026-02-01", "--param", "x"}} {
		if got := a.still(t, append([]string{"backfill", "daily"}, args...)...); got.code != exitUsage {
			t.Errorf("%v: %s", args, got)
		}
	}
	for _, args := range [][]string{{"rerun", "--dag", "daily"}, {"rerun", "5", "--yes"}, {"rerun", "5", "--only-failed"}, {"backfill", "show", "x"}, {"backfill", "stop", "-1"}} {
		if got := a.still(t, args...); got.code != exitUsage {
			t.Errorf("%v: %s", args, got)
		}
	}
	if len(a.calls) != calls {
		t.Errorf("wrong usage asked the server: %+v", a.calls[calls:])
	}
}

// Of a long list each run is shown, up to a bound that is told, and what is left alone in sums: no run hides behind what
// is not touched.
func TestEachRunOfALongListIsShown(t *testing.T) {
	var items []string
	add := func(n int, date, act, why, said string) {
		for range n {
			items = append(items, fmt.Sprintf(`{"no":%d,"step":1,"job":"ed","bizDate":"%s","expected":"2026-02-01T00:00:00.000Z","act":"%s","why":"%s","said":"%s","was":"","version":1}`, len(items)+1, date, act, why, said))
		}
	}
	add(638, "2026-02-01", "leave", "succeeded", "it has succeeded")
	add(2, "2026-02-02", "leave", "unended", "it has not ended")
	add(300, "2026-02-02", "make", "in_force", "planned by the schedule in force then")
	add(62, "2026-02-03", "leave", "succeeded", "it has succeeded")
	a := newAPI(t)
	a.on("POST /api/v1/backfills/preview", 200, `{"runs":300,"items":[`+strings.Join(items, ",")+`]}`)
	got := a.still(t, "backfill", "ed", "--from", "2026-02-01", "--to", "2026-02-03")
	if n := strings.Count(got.out, "planned by the schedule in force then"); n != 300 || strings.Contains(got.err, "lists all") {
		t.Errorf("%d of 300 runs are shown: %s", n, got.err)
	}
	for _, line := range []string{"700         ed   2026-02-01  2026-02-03  it has succeeded\n", "2           ed   2026-02-02  2026-02-02  it has not ended\n"} {
		if !strings.Contains(got.out, line) {
			t.Errorf("what is left alone lacks %q:\n%s", line, got.out)
		}
	}
	add(1701, "2026-02-04", "make", "in_force", "planned by the schedule in force then")
	a.answers["POST /api/v1/backfills/preview"] = []answer{{200, `{"runs":2001,"notBetween":"08:00-20:00","zone":"Asia/Shanghai","items":[` + strings.Join(items, ",") + `]}`}}
	got = a.still(t, "backfill", "ed", "--from", "2026-02-01", "--to", "2026-02-04")
	if n := strings.Count(got.out, "planned by the schedule in force then"); n != 1000 || !strings.Contains(got.err, "and 1001 more: --json lists all") ||
		!strings.Contains(got.err, "nothing begins between 08:00-20:00 by the clock of Asia/Shanghai, the zone of the project") {
		t.Errorf("%d runs are shown: %s", n, got.err)
	}
}

// The command that is printed for what was missed asks for that alone, and a row of the list of missed fires can be copied.
func TestWhatWasMissedIsAskedForAlone(t *testing.T) {
	a := backfillAPI(t)
	a.on("GET /api/v1/instances/9", 200, `{"id":"9","job":"down","state":"running","label":"waiting_deps","deps":[{"job":"up","bizDate":"2026-02-01","bizDateTo":"2026-02-02","state":"waiting","said":"2 of 9 missed: backfill or mark",
"missing":[{"kind":"missed","bizDate":"2026-02-01","at":"2026-02-01T15:59:59.500Z"},{"kind":"open","bizDate":"2026-02-01","at":"2026-02-01T10:00:00.000Z"},{"kind":"missed","bizDate":"2026-02-02","at":"2026-02-01T16:10:00.000Z"}]}]}`)
	a.on("GET /api/v1/instances/9/why", 200, `{"id":"9","why":"It waits for up: 2 of 9 missed: backfill or mark.","state":"running","label":"waiting_deps"}`)
	const command = "ax backfill up --dates 2026-02-01,2026-02-02 --since 2026-02-01T15:59:59.5Z --until 2026-02-01T16:10:00Z"
	for _, verb := range []string{"instance", "why"} {
		if got := a.still(t, verb, "9"); got.code != 0 || !strings.Contains(got.err, command) {
			t.Errorf("%s: %s", verb, got)
		}
	}
	a.still(t, strings.Fields(command + " --yes")[1:]...)
	a.still(t, "backfill", "hello", "--from", "2026-02-01", "--since", "2026-02-01 08:00:00 +08:00", "--until", "2026-02-01 13:00:00 +08:00")
	var asked []string
	for _, c := range a.of("POST /api/v1/backfills/preview") {
		asked = append(asked, c.body)
	}
	want := []string{`{"job":"up","dates":["2026-02-01","2026-02-02"],"since":"2026-02-01T15:59:59.5Z","until":"2026-02-01T16:10:00Z","degree":1}`,
		`{"job":"hello","from":"2026-02-01","since":"2026-02-01T00:00:00Z","until":"2026-02-01T05:00:00.999Z","degree":1}`}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
	if begun := a.of("POST /api/v1/backfills"); len(begun) != 1 || !strings.Contains(begun[0].body, `"since":"2026-02-01T15:59:59.5Z","until":"2026-02-01T16:10:00Z"`) {
		t.Errorf("begun %+v", begun)
	}
	for _, args := range [][]string{{"--since", "yesterday"}, {"--until", "2026-02-01 13:00"}, {"--since", "2026-02-02T00:00:00Z", "--until", "2026-02-01T00:00:00Z"}, {"--since", "2026-02-02T00:00:00Z", "--dag"}} {
		if got := a.still(t, append([]string{"backfill", "up", "--from", "2026-02-01"}, args...)...); got.code != exitUsage {
			t.Errorf("%v: %s", args, got)
		}
	}
}
