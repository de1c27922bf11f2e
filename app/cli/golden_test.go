package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// instanceJSON is a whole instance as the API answers it.
const instanceJSON = `{"id":"411052400640000001","job":"demo/order_stat_daily","project":"demo","traceId":"05b45c4e-c000-4000-8000-000000000001",
"bizDate":"2026-02-02","expectedTime":"2026-02-03T02:00:00.000Z","state":"success","label":"","trigger":"cron","run":1,"version":3,"lane":"default",
"startedAt":"2026-02-03T02:00:01.250Z","finishedAt":"2026-02-03T02:00:03.500Z","message":"","delayMs":1250,"why":"It ran and succeeded.","params":{"source":"order_table"},
"attempts":[{"id":"411052400640000002","ordinal":1,"run":1,"state":"lost","target":"w1","outcome":"worker_lost","exitCode":null,"dispatchedAt":"2026-02-03T02:00:00.100Z","startedAt":null,"finishedAt":null,"message":"silent for 10s\nand gone"},
{"id":"411052400640000003","ordinal":2,"run":1,"state":"ended","target":"节点2","outcome":"success","exitCode":0,"dispatchedAt":"2026-02-03T02:00:01.000Z","startedAt":"2026-02-03T02:00:01.250Z","finishedAt":"2026-02-03T02:00:03.500Z","message":""}],
"deps":[],"history":[]}`

const refusedJSON = `{"error":{"kind":"invalid","message":"nothing was changed: the job lacks exec","problems":[
{"file":"bad.yaml","line":3,"column":3,"path":"job.exec","id":"key.missing","message":"the job lacks exec","hint":"write exec: below job:","excerpt":"    3 |   name: a\n      |   ^\n","severity":"error"}],"requestId":"r9"}}`

// goldenAPI answers what the golden cases ask for.
func goldenAPI(t *testing.T) *api {
	a := newAPI(t)
	a.on("GET /api/v1/jobs", 200, `{"jobs":[
{"id":"1","name":"demo/order_stat_daily","project":"demo","version":3,"enabled":true,"schedule":{"kind":"cron","expr":"0 2 * * *","dialect":"unix","timezone":"Asia/Shanghai"},"next":"2026-02-03T18:00:00Z","lastState":"success"},
{"id":"2","name":"订单","project":"default","version":1,"enabled":false,"schedule":{"kind":"every","expr":"10m0s","dialect":"","timezone":"UTC"},"next":null,"lastState":""},
{"id":"3","name":"by_hand","project":"default","version":1,"enabled":true,"schedule":{"kind":"none","expr":"","dialect":"","timezone":"UTC"},"next":null,"lastState":"failed"}],"cursor":""}`)
	a.on("GET /api/v1/instances", 200, `{"instances":[
{"id":"411052400640000001","job":"demo/order_stat_daily","project":"demo","traceId":"05b45c4e-c000-4000-8000-000000000001","bizDate":"2026-02-02","expectedTime":"2026-02-03T02:00:00.000Z","state":"success","label":"","startedAt":"2026-02-03T02:00:01.250Z","finishedAt":"2026-02-03T02:00:03.500Z"},
{"id":"411052400640000009","job":"hello","project":"default","traceId":"05b45c4e-c000-4000-8000-000000000009","bizDate":"2026-02-03","expectedTime":"2026-02-03T04:05:00.000Z","state":"running","label":"waiting_deps","startedAt":null,"finishedAt":null}],"cursor":""}`)
	a.on("GET /api/v1/instances/411052400640000001", 200, instanceJSON)
	a.on("GET /api/v1/instances/411052400640000030", 200, `{"id":"411052400640000030","job":"parts","state":"running","label":"executing","run":1,"attempts":[],"shards":[
{"id":"411052400640000031","index":0,"state":"failed","label":"error","worker":"","target":"w1","attempts":2,"startedAt":"2026-02-03T02:00:01.000Z","finishedAt":"2026-02-03T02:00:03.500Z","message":"exit code 1"},
{"id":"411052400640000032","index":1,"state":"running","label":"queued","worker":"w2","target":"","attempts":0,"startedAt":null,"finishedAt":null,"message":""}]}`)
	a.on("GET /api/v1/instances/411052400640000001/why", 200, `{"id":"411052400640000001","why":"It waits for demo/sync_pay_daily of 2026-02-02.","code":"x","state":"running","label":"waiting_deps"}`)
	a.on("GET /api/v1/instances/411052400640000001/logs", 200, `{"attempt":"411052400640000003","lines":[
{"n":1,"time":"2026-02-03T02:00:02.000Z","stream":"stdout","text":"hello "},{"n":2,"time":"2026-02-03T02:00:02.100Z","stream":"stdout","text":"world","cont":true},
{"n":3,"time":"2026-02-03T02:00:02.200Z","stream":"stderr","text":"a <b>"}],"last":3,"complete":true}`)
	a.on("POST /api/v1/instances/411052400640000001/kill", 200, `{"id":"411052400640000001","job":"demo/order_stat_daily","state":"running","label":"stopping"}`)
	a.on("POST /api/v1/instances/411052400640000001/rerun", 201, `{"id":"411052400640000001","job":"demo/order_stat_daily","traceId":"05b45c4e-c000-4000-8000-00000000000a","run":2,"state":"running","label":"queued"}`)
	a.on("GET /api/v1/workers", 200, `{"workers":[{"name":"w1","boot":4,"state":"available","host":"h1","ip":"10.0.0.1","version":"dev","types":["http","noop","shell"],"tags":[],"running":2,"skewMs":12,"refusingAt":null,"plugins":[{"name":"acme","version":"1","types":["acme_copy"],"state":"failed","fault":"init: no licence"},{"name":"big","version":"1","types":["big"],"state":"loading","fault":""}],"seenAt":"2026-02-03T04:05:05Z"},
{"name":"w2","boot":1,"state":"refusing","host":"h2","ip":"10.0.0.2","version":"dev","types":["shell"],"tags":[],"running":0,"skewMs":-7210,"refusingAt":"2026-02-03T04:01:00Z","seenAt":"2026-02-03T04:05:05Z"},
{"name":"w3","boot":1,"state":"refusing","host":"h3","ip":"10.0.0.3","version":"dev","types":["shell"],"tags":[],"running":1,"skewMs":3,"refusingAt":"2026-02-03T04:01:00Z","disk":"disk full (no space left on device)","seenAt":"2026-02-03T04:05:05Z"},
{"name":"w4","boot":1,"state":"silent","host":"h4","ip":"10.0.0.4","version":"dev","types":["shell"],"tags":[],"running":1,"skewMs":3,"refusingAt":null,"disk":"","seenAt":"2026-02-03T04:04:58Z"}],"cursor":"","deaf":{"since":"2026-02-03T04:05:00Z","said":"connection refused"}}`)
	a.on("GET /api/v1/types", 200, `{"types":[{"type":"acme_copy","version":"1.2","builtIn":false,"plugin":"acme","about":"copies a table","targets":["w1","w2"],"params":[
{"name":"table","kind":"text","required":true,"default":"","choices":[],"label":"Table","about":"what is copied"},{"name":"mode","kind":"text","required":false,"default":"full","choices":["full","part"],"label":"mode","about":""}]},
{"type":"noop","version":"1","builtIn":true,"plugin":"","about":"","targets":["w1"],"params":[]},{"type":"odd","version":"","builtIn":false,"plugin":"","about":"","targets":["w1"],"params":null}],"cursor":""}`)
	a.on("GET /api/v1/pools", 200, `{"pools":[{"name":"db","project":"default","title":"订单库","limit":3,"used":3,"waiting":12,"jobs":4,"ver":2,"updatedAt":"2026-02-03T04:05:05Z"},
{"name":"risk/gpu","project":"risk","title":"","limit":0,"used":1,"waiting":7,"jobs":1,"ver":9,"updatedAt":"2026-02-03T04:05:05Z"}],"cursor":""}`)
	a.on("PUT /api/v1/pools/risk%2Fgpu", 200, `{"name":"risk/gpu","project":"risk","title":"","limit":0,"used":1,"waiting":7,"jobs":1,"ver":9,"updatedAt":"2026-02-03T04:05:05Z"}`)
	a.on("DELETE /api/v1/pools/db", 204, "")
	a.on("GET /api/v1/projects", 200, `{"projects":[{"id":"1","name":"default","title":"","networks":["loopback","10.1.0.0/16"]},{"id":"2","name":"风控","title":"Risk","networks":[]}],"cursor":""}`)
	a.on("PUT /api/v1/projects/default/networks", 200, `{"id":"1","name":"default","title":"","networks":["loopback","10.1.0.0/16"]}`)
	a.on("GET /api/v1/incidents", 200, `{"incidents":[
{"id":"411052400640000021","kind":"job_failed","subject":"pay/settle","project":"pay","open":true,"openedAt":"2026-02-03T02:00:03.500Z","lastAt":"2026-02-03T03:00:03.500Z","count":3,"example":"411052400640000001","message":"exit code 3: no such file","resolvedAt":null,"recovery":"","noticedAt":"2026-02-03T02:00:05Z"},
{"id":"411052400640000020","kind":"worker_lost","subject":"worker-07","project":"","open":false,"openedAt":"2026-02-03T02:00:03.500Z","lastAt":"2026-02-03T02:00:03.500Z","count":1,"example":"","message":"It has gone silent. Its host: h1.","resolvedAt":"2026-02-03T02:01:00Z","recovery":"back","noticedAt":null},
{"id":"411052400640000019","kind":"clock","subject":"worker-08","project":"","open":false,"openedAt":"2026-02-03T02:00:03.500Z","lastAt":"2026-02-03T02:00:03.500Z","count":1,"example":"","message":"","resolvedAt":"2026-02-03T02:01:00Z","recovery":"by_hand","endedBy":"wang","endedWhy":"known","noticedAt":null}],"cursor":"",
"channels":[{"name":"webhook","takenAt":null,"failedAt":"2026-02-03T04:04:00Z","failingAt":"2026-02-03T04:01:00Z","fault":"the receiver answers 500","waiting":2,"nextAt":"2026-02-03T04:06:00Z"}]}`)
	a.on("POST /api/v1/incidents/411052400640000021/close", 200, `{"id":"411052400640000021","kind":"job_failed","subject":"pay/settle","open":false,"recovery":"by_hand","endedBy":"wang","endedWhy":"known"}`)
	a.on("POST /api/v1/jobs/hello/trigger", 201, `{"id":"7","job":"hello","traceId":"05b45c4e-c000-4000-8000-000000000007","bizDate":"2026-02-03","state":"running","label":"queued","note":"The job is paused; this start by hand runs all the same."}`)
	a.on("POST /api/v1/jobs/demo%2Forder_stat_daily/pause", 200, `{"id":"1","name":"demo/order_stat_daily","enabled":false}`)
	a.on("GET /api/v1/jobs/hello", 200, `{"id":"4","name":"hello","enabled":false,"pause":{"since":"2026-02-01T02:00:00Z","begin":"2026-02-01T01:00:00Z","until":"2026-02-03T04:05:06.789Z","fires":48,"untaken":2,"more":false,"from":"2026-02-01","to":"2026-02-03"}}`)
	a.on("POST /api/v1/jobs/hello/resume", 200, `{"id":"4","name":"hello","enabled":true}`)
	a.on("DELETE /api/v1/jobs/hello", 204, "")
	a.on("DELETE /api/v1/jobs/sync", 409, `{"error":{"kind":"conflict","message":"job sync cannot be deleted: stat depends on it","hint":"delete or change what depends on it first","problems":[{"job":"stat"}]}}`)
	a.on("POST /api/v1/apply", 200, `{"results":[{"job":"a","change":"created","version":1,"id":"9","next":["2026-02-04T02:00:00+08:00"],"warnings":[
{"file":"good.yaml","line":3,"column":3,"message":"no timeout is given","hint":"write timeout:","excerpt":"    3 |   name: a\n      |   ^\n","severity":"warning"}]},
{"job":"b","change":"updated","version":2,"id":"10","next":["2026-02-04T02:00:00+08:00"],"nextWas":"2026-02-03T18:30:00Z","warnings":[]},{"job":"c","change":"updated","version":2,"id":"11","next":[],"nextWas":"2026-02-03T18:30:00Z","warnings":[]}],"dryRun":false}`)
	a.on("GET /api/v1/ledger", 200, `{"balanced":true,"jobs":[{"id":"1","job":"hello","planned":60,"fired":57,"skipped":1,"missed":1,"pending":1,"unplanned":0,"balanced":true,"reasons":{"missed: nobody was alive":1,"skipped: overlap":1},"absentCount":0,"absent":[]}]}`)
	a.on("GET /api/v1/orphans", 200, `{"orphans":[{"id":"411052400640000001","job":"pay","project":"default","bizDate":"2026-02-03","state":"running","label":"orphan","run":1,"startedAt":"2026-02-03T02:00:01.000Z","attempt":"411052400640000002","target":"worker-07","heardAt":"2026-02-03T02:09:49.000Z","lostAt":"2026-02-03T02:10:00.000Z","evidence":"worker worker-07 (boot 3) has not been heard since 2026-02-03T02:09:49Z"}],"cursor":""}`)
	a.on("POST /api/v1/orphans/settle", 200, `{"settled":1,"results":[{"id":"411052400640000001","state":"success","label":"","error":""},{"id":"411052400640000003","state":"success","label":"","error":"instance 411052400640000003 is no orphan: it is success"}]}`)
	a.on("GET /api/v1/ledger/fires", 200, `{"fires":[{"expected":"2026-02-03T03:01:00Z","bizDate":"2026-02-03","state":"missed","reason":"older than 7 days","instance":""}],"cursor":""}`)
	return a
}

func TestGolden(t *testing.T) {
	a := goldenAPI(t)
	id, trace := "411052400640000001", "05B45C4E-C000-4000-8000-000000000001"
	for name, args := range map[string][]string{
		"version": {"version"}, "jobs": {"jobs"}, "instances": {"instances", "--state", "running"}, "instance": {"instance", id}, "instance-shards": {"instance", "411052400640000030"},
		"instance-by-trace": {"instance", trace}, "why": {"why", id}, "logs": {"logs", id}, "logs-timestamps": {"logs", id, "--timestamps"},
		"kill": {"kill", id}, "rerun": {"rerun", id, "--reason", "try again"}, "workers": {"workers"}, "types": {"types"}, "types-one": {"types", "acme_copy"}, "types-free": {"types", "odd"}, "types-none": {"types", "nope"}, "pools": {"pools"}, "pools-set": {"pools", "set", "risk/gpu", "0"}, "pools-delete": {"pools", "delete", "db"}, "projects": {"projects"}, "projects-allow": {"projects", "allow", "default", "loopback", "10.1.0.0/16"}, "incidents": {"incidents", "--open"}, "incidents-close": {"incidents", "close", "411052400640000021", "--reason", "known"}, "trigger": {"trigger", "hello"},
		"pause": {"pause", "demo/order_stat_daily"}, "resume": {"resume", "hello"}, "delete": {"delete", "hello"}, "delete-refused": {"delete", "sync"},
		"apply": {"apply", "-f", "testdata/good.yaml"}, "ledger": {"ledger", "--from", "2026-02-03T03:00:00Z", "--to", "2026-02-03T04:00:00Z"},
		"ledger-fires": {"ledger", "--job", "hello", "--fires", "missed", "--from", "2026-02-03", "--to", "2026-02-04"}, "orphans": {"orphans"},
		"settle":        {"settle", id + ".411052400640000002", "411052400640000003", "--as", "success", "--reason", "asked the bank"},
		"validate-good": {"validate", "testdata/good.yaml", "testdata/stat.yaml"}, "validate-bad": {"validate", "testdata/bad.yaml"},
		"validate-cycle": {"validate", "testdata/cycle.yaml"}, "validate-twice": {"validate", "testdata/good.yaml", "testdata/twice.yaml"}, "next": {"next", "--tz", "America/New_York", "--from", "2024-03-09T00:00:00Z", "-n", "3", "--", "30 2 * * *"},
		"next-wrong": {"next", "--", "0 25 * * *"}, "next-never": {"next", "--", "0 0 30 2 *"}, "help": {"help"},
	} {
		for _, form := range []string{"", "-json"} {
			t.Run(name+form, func(t *testing.T) {
				if form != "" {
					args = append([]string{"--json"}, args...)
				}
				got := a.still(t, args...)
				if form != "" && name != "help" && got.code < 2 {
					got.json(t)
				}
				golden(t, name+form, got.String())
			})
		}
	}
}

// golden compares with testdata/golden, which AX_TEST_WRITE_GOLDEN=1 writes.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name+".txt")
	if os.Getenv("AX_TEST_WRITE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs. Got\n%s\nwanted\n%s", file, got, want)
	}
}

func TestApplyShowsWhatIsWrongAndWhere(t *testing.T) {
	a := newAPI(t)
	a.on("POST /api/v1/apply", 400, refusedJSON)
	got := a.still(t, "apply", "-f", "testdata/bad.yaml")
	want := "bad.yaml:3:3: error: the job lacks exec\n    3 |   name: a\n      |   ^\n  hint: write exec: below job:\n" +
		"ax: nothing was changed: the job lacks exec\n"
	if got.code != exitFailed || got.err != want || got.out != "" {
		t.Errorf("got\n%s\nwanted\n%s", got, want)
	}
	doc := a.still(t, "apply", "-f", "testdata/bad.yaml", "--json").json(t)
	if said, _ := doc["error"].(map[string]any); said["kind"] != "invalid" || len(row(said).rows("problems")) != 1 {
		t.Errorf("the document lacks the problems: %v", doc)
	}
	if strings.Contains(got.err, "panic") {
		t.Error(got.err)
	}
}

func TestADeletedJobIsToldApart(t *testing.T) {
	a := newAPI(t)
	a.on("GET /api/v1/instances", 200, `{"instances":[{"id":"9","job":"pay","jobId":"102","jobDeletedAt":"2026-02-03T02:00:00.000Z","project":"default","state":"success","label":""}],
"cursor":"","namesakes":[{"id":"103","deletedAt":null},{"id":"101","deletedAt":"2026-01-01T00:00:00.000Z"}]}`)
	a.on("GET /api/v1/ledger", 200, `{"balanced":true,"jobs":[{"id":"102","job":"pay","deletedAt":"2026-02-03T02:00:00Z","planned":1,"fired":1,"balanced":true,"reasons":{"missed: x":1},"absent":[]}],"cursor":"","namesakes":[{"id":"103","deletedAt":null}]}`)
	for _, args := range [][]string{{"instances", "--job", "pay"}, {"ledger", "--job", "pay", "--from", "2026-02-03", "--to", "2026-02-04"}} {
		got := a.still(t, args...)
		if got.code != 0 || !strings.Contains(got.out, "pay (deleted, id 102)") || !strings.Contains(got.err, "--job 103 lists it") {
			t.Errorf("%v: %s", args, got)
		}
		got = a.still(t, append([]string{"--json"}, args...)...)
		if doc := got.json(t); len(doc["namesakes"].([]any)) == 0 || got.err != "" {
			t.Errorf("%v as JSON: %s", args, got)
		}
	}
}
