package instance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/i18n"
)

// wait is one way to wait, with what must be said of it in English and Chinese.
type wait struct {
	name    string
	label   domain.Label
	change  func(f *instance.Facts)
	en, zh  string
	moments []string // since when, until when
}

const (
	since = "2026-02-03 04:00:00" // ready, born, sent, granted, started, told to stop
	until = "2026-02-03 04:30:00" // its limit, if it has one
	heard = "2026-02-03 04:05:02" // when workers were heard of last
	now   = "2026-02-03 04:05:06"
)

func at(text string) time.Time {
	t, err := time.Parse(time.DateTime, text)
	if err != nil {
		panic(err)
	}
	return t
}

// waiting are the facts of an instance that waits, in a system in which all is well.
func waiting(label domain.Label) instance.Facts {
	state := domain.Running
	if label == domain.Backoff {
		state = domain.Retrying
	}
	return instance.Facts{Now: at(now), BrokerKnown: true, BrokerThere: true,
		Instance: domain.Instance{Status: domain.Status{State: state, Label: label}, RunNo: 1, Lane: domain.LaneDefault, CreatedAt: at(since), ReadyAt: at(since), StartedAt: at(since), RetriesUsed: 1},
		Spec: domain.JobSpec{Exec: domain.Exec{Type: "shell"}, Overlap: domain.OverlapQueue, Retry: domain.Retry{Times: 2, BackoffSec: []int{30, 60}},
			OnWorkerLost: domain.LossRetry, QueueTimeoutSec: 1800, DepsTimeoutSec: 1800},
		Attempt: &domain.Attempt{Target: "w1", Boot: 1, State: domain.AttemptGranted, DispatchedAt: at(since), GrantedAt: at(since), KillAt: at(since), Deadline: 30 * time.Minute, Message: "disk full"},
		Workers: []domain.Worker{{Name: "w1", Boot: 1, State: domain.WorkerAvailable, Types: []string{"shell"}, Lanes: map[domain.Lane]int{domain.LaneDefault: 2}, SeenAt: at(heard)}},
		Missing: []instance.Dependency{{InstanceDep: domain.InstanceDep{Name: "up", Upstream: 5, BizDate: date("2026-02-03"), To: date("2026-02-03")},
			Standing: domain.DepStanding{State: domain.DepWaiting, Planned: 2, Done: 1}}},
	}
}

func date(s string) domain.BizDate {
	d, err := domain.ParseBizDate(s)
	if err != nil {
		panic(err)
	}
	return d
}

func limited(f *instance.Facts) { f.Instance.WakeAt = at(until) }

func noBroker(f *instance.Facts) { f.BrokerThere = false }

func nobodyHeard(f *instance.Facts) { f.Now = f.Now.Add(time.Minute) }

func worker(change func(w *domain.Worker)) func(f *instance.Facts) {
	return func(f *instance.Facts) { change(&f.Workers[0]) }
}

// waits is every wait there is.
func waits() []wait {
	both, from := []string{since, until}, []string{since}
	return []wait{
		{"dependencies", domain.WaitingDeps, nil, "It waits since {since} for up of 2026-02-03 (1 of 2). It has no deps_timeout", "起等待 up 2026-02-03（2 个中已满足 1 个）。 任务没有设置 deps_timeout", from},
		{"dependencies, limited", domain.WaitingDeps, limited, "fails, by its deps_timeout of 30 min", "仍未满足则失败", both},
		{"overlap", domain.HeldOverlap, func(f *instance.Facts) {
			f.InWay = &domain.Instance{ID: 9, BizDate: date("2026-02-02"), Status: running(domain.Executing)}
		},
			"for the instance of 2026-02-02 (id 9; Running, executing) to end", "等待 2026-02-02 的实例（9；", from},
		{"overlap, limited", domain.HeldOverlap, limited, "for an earlier instance of this job to end", "等待此前的实例结束", both},
		{"overlap without a broker", domain.HeldOverlap, noBroker, "No broker is active, so it does not go on until one is", "没有活动的 broker", from},
		{"pool", domain.HeldPool, limited, "for a place in pool", "等待资源池", both},
		{"pool, full", domain.HeldPool, pool(3, 3), "pool db is full: 3 of 3, held by a of 2026-02-02 (id 9; Running, executing)", "资源池 db 已满：3 / 3，占用者：a 2026-02-02（9；", from},
		{"pool, an orphan has a place", domain.HeldPool, pool(1, 1, domain.Orphan), "held by a of 2026-02-02 (id 9; Running, orphan", "运行中, 孤儿）", from},
		{"pool, over its limit", domain.HeldPool, pool(2, 5), "5 have a place and its limit was lowered to 2; held by", "上限已降到 2，还有 5 个占着位置", from},
		{"pool, paused", domain.HeldPool, pool(0, 0), "pool db is paused: its limit is 0.", "资源池 db 已暂停（上限为 0）", from},
		{"pool, paused while one runs", domain.HeldPool, pool(0, 1), "its limit is 0; 1 still have a place: a of", "还有 1 个占着位置", from},
		{"pool, a place is free", domain.HeldPool, pool(3, 2), "which has a free place now (2 of 3 are taken)", "现在有空位（2 / 3）", from},
		{"queue: the pool is full", domain.Queued, pool(3, 3), "pool db is full: 3 of 3", "资源池 db 已满", from},
		{"queue: no broker", domain.Queued, noBroker, "but no broker is active", "没有活动的 broker", from},
		{"queue: nobody heard", domain.Queued, nobodyHeard, "nothing that was heard of workers has been written down: Redis, through which workers are reached, the database or the broker is away", "没有记录到任何节点的消息", []string{since, heard}},
		{"queue: no worker", domain.Queued, func(f *instance.Facts) { f.Workers = nil }, "no worker is alive", "没有存活的执行节点", from},
		{"queue: all lost", domain.Queued, worker(func(w *domain.Worker) { w.LostAt = at(now) }), "the only one known is lost", "全部失联", from},
		{"queue: type", domain.Queued, worker(func(w *domain.Worker) { w.Types = nil }), "no worker alive runs the type shell", "不支持类型 shell", from},
		{"queue: tag", domain.Queued, func(f *instance.Facts) { f.Spec.Tags = []string{"gpu"} }, "no worker alive that runs shell has any of its tags: gpu (alive: w1)", "都没有标签 gpu（存活：w1）", from},
		{"queue: draining", domain.Queued, worker(func(w *domain.Worker) { w.Drain = true }), "takes no more work (w1)", "不再接收任务（w1）", from},
		{"queue: disk", domain.Queued, worker(func(w *domain.Worker) { w.Disk = "disk full (no space left on device)" }), "can write its journal: w1: disk full (no space left on device). They", "都无法写入 journal：w1：磁盘已满（no space left on device）。", from},
		{"queue: lane", domain.Queued, worker(func(w *domain.Worker) { w.Lanes = nil }), "has a thread in lane default", "没有线程", from},
		{"queue: full", domain.Queued, worker(func(w *domain.Worker) { w.Running = 2 }), "all 2 threads in lane default", "都被占用", from},
		{"queue: not yet", domain.Queued, func(f *instance.Facts) { limited(f) }, "nothing is known yet of what keeps it. At {until} it fails, by its queue_timeout of 30 min", "尚未下发，原因暂时未知", both},
		{"queue: soon", domain.Queued, func(f *instance.Facts) { f.Now = f.Instance.ReadyAt.Add(time.Second) }, "is about to be sent to a worker", "即将下发", []string{since}},
		{"not acknowledged", domain.Dispatched, func(f *instance.Facts) { f.Attempt.State = domain.AttemptSent }, "has not acknowledged it yet; without an answer it goes to another", "得不到应答时会改发", from},
		{"for a thread", domain.Dispatched, nil, "waits for a free thread", "等待空闲线程", from},
		{"running", domain.Executing, nil, "It runs on w1 since {since}, for 5 min 6 s so far. At {until} it is ended, by its time-out of 30 min", "将因超时被终止", both},
		{"running, silent", domain.Executing, func(f *instance.Facts) { f.Now = f.Now.Add(3 * time.Second) }, "If it stays silent it soon counts as lost, and then the task is sent to another worker", "没有心跳", []string{heard}},
		{"running without a broker", domain.Executing, func(f *instance.Facts) { noBroker(f); nobodyHeard(f) }, "No broker is active, so that is how it stood when one was", "没有活动的 broker", from},
		{"running, nobody heard", domain.Executing, nobodyHeard, "the database or the broker is away, or was until just now. Nobody counts as lost for it", "不会因此判定任何节点失联", []string{since, heard}},
		{"stopping", domain.Stopping, limited, "has not said yet that it ended. If its end is not confirmed by {until}, it counts as killed", "按已终止处理", both},
		{"stopping without a broker", domain.Stopping, noBroker, "No broker is active", "没有活动的 broker", from},
		{"orphan", domain.Orphan, nil, "a person must say what happened", "需要人工确认", nil},
		{"back-off", domain.Backoff, limited, "It waits to retry until {until} (retry 1 of 2). The try before ended so: disk full", "等待到 {until} 重试", []string{until}},
		{"back-off without a broker", domain.Backoff, func(f *instance.Facts) { limited(f); noBroker(f) }, "it does not go on until one is", "恢复之前它不会继续", []string{until}},
		{"approval", domain.WaitingApproval, nil, "waits for somebody to approve it", "等待审批", nil},
	}
}

// Each wait is said as it is in both languages, with since when, until when at most, and what follows then.
func TestWhyTellsTheTruthOfEachWait(t *testing.T) {
	seen := map[domain.Label]bool{}
	for _, w := range waits() {
		seen[w.label] = true
		f := waiting(w.label)
		if w.change != nil {
			w.change(&f)
		}
		for lang, words := range map[string]string{i18n.English: w.en, "zh-CN": w.zh} {
			said := instance.Why(f).In(i18n.With(t.Context(), lang))
			words = strings.NewReplacer("{since}", since+" UTC", "{until}", until+" UTC").Replace(words)
			if !strings.Contains(said, words) || strings.ContainsAny(said, "⟦⟧{}") {
				t.Errorf("%s in %s: %q, want %q in it", w.name, lang, said, words)
			}
			for _, m := range w.moments {
				if !strings.Contains(said, m+" UTC") {
					t.Errorf("%s in %s: %q does not say %s", w.name, lang, said, m)
				}
			}
		}
	}
	for _, l := range append(domain.Labels[domain.Running], domain.Labels[domain.Retrying]...) {
		if !seen[l] {
			t.Errorf("no row waits as %s", l)
		}
	}
}

// A worker that alone is silent is not taken for a Redis that is, and a broker that is away is not taken for a silent worker.
func TestWhyTellsWhoIsSilent(t *testing.T) {
	f := waiting(domain.Executing)
	f.Now = f.Now.Add(8 * time.Second)
	f.Workers = append(f.Workers, domain.Worker{Name: "w2", State: domain.WorkerAvailable, SeenAt: f.Now.Add(-time.Second)})
	if said := instance.Why(f).English(); !strings.Contains(said, "w1 had it, and has been silent") || strings.Contains(said, "Redis") {
		t.Errorf("one of two is silent: %q", said)
	}
	f.BrokerThere = false
	if said := instance.Why(f).English(); strings.Contains(said, "silent") || !strings.Contains(said, "No broker is active") {
		t.Errorf("no broker hears: %q", said)
	}
}

// A kill that nobody confirmed says so. (J-C19, G-C14)
func TestWhyAKillWasNotConfirmed(t *testing.T) {
	f := instance.Facts{Instance: domain.Instance{Status: cancelled(domain.Killed)}, Kill: &domain.Event{Actor: "ana", At: at(since)},
		Attempt: &domain.Attempt{Target: "w1", State: domain.AttemptLost}}
	for lang, words := range map[string]string{i18n.English: "killed by ana at " + since + " UTC, but w1 has not confirmed", "zh-CN": "w1 没有确认结束"} {
		if said := instance.Why(f).In(i18n.With(t.Context(), lang)); !strings.Contains(said, words) {
			t.Errorf("%s: %q", lang, said)
		}
	}
}

// pool is a pool with so many places, and so many of them taken, the first by one with a label.
func pool(limit, used int, label ...domain.Label) func(*instance.Facts) {
	return func(f *instance.Facts) {
		f.Pool = &instance.PoolFacts{Pool: domain.Pool{Name: "db", Limit: limit}, Used: used}
		for i := range used {
			h := domain.Instance{ID: domain.ID(9 + i), JobName: "a", BizDate: date("2026-02-02"), Status: running(domain.Executing)}
			if i == 0 && len(label) > 0 {
				h.Label = label[0]
			}
			f.Pool.Holders = append(f.Pool.Holders, h)
		}
	}
}

// refused is a fault of Redis that began shortly before a moment of the test.
func refused(f *instance.Facts) {
	f.Now = f.Now.Add(9 * time.Second)
	f.Outage.Redis = instance.RedisFault{Since: f.Now.Add(-9 * time.Second), Answers: true, Said: "OOM command not allowed"}
}

// In an outage no worker is called silent, the store that fails is named with its own words, and nothing is said to run
// that may have ended.
func TestWhyNamesTheStoreThatFails(t *testing.T) {
	noWrites := func(f *instance.Facts) {
		f.Now = f.Now.Add(time.Minute)
		f.Outage.NoWrites = "it is read-only"
	}
	away := func(f *instance.Facts) {
		refused(f)
		f.Outage.Redis.Answers = false
	}
	const database, answers, silent = "The database answers and takes no writes: it is read-only", "has taken no writes", "has not answered"
	for _, c := range []struct {
		label     domain.Label
		fault     func(f *instance.Facts)
		says, not string
	}{
		{domain.Executing, noWrites, database, "Redis"},
		{domain.Dispatched, noWrites, database, "Redis"},
		{domain.Stopping, noWrites, database, "Redis"},
		{domain.Backoff, noWrites, database, "Redis"},
		{domain.WaitingDeps, noWrites, database, "Redis"},
		{domain.Queued, noWrites, "the database answers and takes no writes: it is read-only", "Redis"},
		{domain.Executing, refused, answers + ": OOM command not allowed", silent},
		{domain.Stopping, refused, answers + ": OOM command not allowed", silent},
		{domain.Queued, refused, answers + " since 2026", silent},
		{domain.Executing, away, "since then Redis, through which workers are heard, " + silent, answers},
		{domain.Queued, away, silent + " the broker since", answers},
	} {
		f := waiting(c.label)
		c.fault(&f)
		for _, lang := range i18n.Langs() {
			said := instance.Why(f).In(i18n.With(t.Context(), lang))
			if strings.ContainsAny(said, "⟦⟧{}") || lang == i18n.English && (!strings.Contains(said, c.says) || strings.Contains(said, c.not)) {
				t.Errorf("%s in %s: %q, want %q in it and not %q", c.label, lang, said, c.says, c.not)
			}
			if strings.Contains(said, "counts as lost, and") || strings.Contains(said, "so far") || strings.Contains(said, "判定失联并") {
				t.Errorf("%s in %s: %q", c.label, lang, said)
			}
		}
	}
}

// A fault that the broker of another process has met is told as its, from the first moment on.
func TestWhyNamesTheBrokerThatCannotReachRedis(t *testing.T) {
	for label, words := range map[domain.Label][2]string{
		domain.Queued:    {"but since {since} the broker (broker b1 pid 7) cannot reach Redis, through which workers are reached: connection refused. Nothing is sent", "broker（broker b1 pid 7）自 {since} 起连不上"},
		domain.Executing: {"since then the broker (broker b1 pid 7) cannot reach Redis, through which workers are heard: connection refused", "此后 broker（broker b1 pid 7）连不上"},
	} {
		f := waiting(label)
		f.Now = f.Now.Add(time.Second)
		f.Outage.Redis = instance.RedisFault{Since: f.Now.Add(-time.Second), Broker: "broker b1 pid 7", Said: "connection refused"}
		for n, lang := range []string{i18n.English, "zh-CN"} {
			want := strings.ReplaceAll(words[n], "{since}", f.Now.Add(-time.Second).Format(time.DateTime)+" UTC")
			if said := instance.Why(f).In(i18n.With(t.Context(), lang)); !strings.Contains(said, want) || strings.Contains(said, "about to be sent") || strings.Contains(said, "so far") {
				t.Errorf("%s in %s: %q, want %q", label, lang, said, want)
			}
		}
	}
}

// What stood since when is never before what is told of in the same breath.
func TestWhyNoFaultBeginsBeforeWhatIsToldBesideIt(t *testing.T) {
	f := waiting(domain.Dispatched)
	f.Attempt.State = domain.AttemptSent
	f.Workers[0].SeenAt = f.Attempt.DispatchedAt.Add(-3 * time.Second)
	f.Now = f.Attempt.DispatchedAt.Add(time.Minute)
	at := "at " + since + " UTC"
	if said := instance.Why(f).English(); strings.Count(said, at) != 2 {
		t.Errorf("it was sent %s: %q", at, said)
	}
	f.Workers[0].SeenAt = f.Attempt.DispatchedAt.Add(3 * time.Second)
	if said := instance.Why(f).English(); strings.Count(said, at) != 1 {
		t.Errorf("it was heard later: %q", said)
	}
	f = waiting(domain.Queued)
	f.Workers[0].SeenAt = f.Instance.ReadyAt.Add(-time.Second)
	f.Now = f.Instance.ReadyAt.Add(time.Minute)
	if said := instance.Why(f).English(); strings.Count(said, since+" UTC") != 2 {
		t.Errorf("it is ready since %s: %q", since, said)
	}
}

// After an outage nothing is said to run, or to be silent, of which nothing was heard since: until it is heard again, or
// counts as lost.
func TestWhyAfterAnOutageSaysWhatWasHeardLast(t *testing.T) {
	f := waiting(domain.Executing)
	f.Now = f.Now.Add(time.Minute)
	f.Workers = append(f.Workers, domain.Worker{Name: "w2", State: domain.WorkerAvailable, SeenAt: f.Now.Add(-time.Second)})
	for lang, words := range map[string]string{
		i18n.English: "It was running on w1 since " + since + " UTC when that was last heard; it may have ended since. Nothing was heard of w1 since " + heard + " UTC",
		"zh-CN":      "自 " + heard + " UTC 起没有 w1 的消息",
	} {
		said := instance.Why(f).In(i18n.With(t.Context(), lang))
		if !strings.Contains(said, words) || strings.Contains(said, "so far") || strings.Contains(said, "time-out") {
			t.Errorf("%s: %q, want %q", lang, said, words)
		}
	}
	f.Workers[0].LostAt = f.Now
	if said := instance.Why(f).English(); strings.Contains(said, "was away meanwhile") {
		t.Errorf("it counts as lost: %q", said)
	}
	f.Workers[0].LostAt, f.Workers[0].SeenAt = time.Time{}, f.Now
	if said := instance.Why(f).English(); !strings.Contains(said, "It runs on w1") {
		t.Errorf("it is heard again: %q", said)
	}
}

// Where no fault is known no store is blamed: the database may as well have been away as Redis.
func TestWhyBlamesNoStoreUnknown(t *testing.T) {
	for _, label := range []domain.Label{domain.Queued, domain.Dispatched, domain.Executing, domain.Stopping} {
		f := waiting(label)
		nobodyHeard(&f)
		if said := instance.Why(f).English(); strings.Contains(said, "answered the broker") || !strings.Contains(said, "the database or the broker is away") {
			t.Errorf("%s: %q", label, said)
		}
	}
}

// Nobody is said to have been told of a kill while nobody could tell it, and the kill is not told of as older than it is.
func TestWhyAKillInAnOutageIsNotTold(t *testing.T) {
	for name, c := range map[string]struct {
		killed   time.Duration // after the fault began
		redis    instance.RedisFault
		says     []string
		chinese  string
		mentions bool // "that is how it stood"
	}{
		"away, by its broker": {50 * time.Second, instance.RedisFault{Broker: "b1", Said: "refused"}, []string{"w1 could not be told of it since then", "the broker (b1) cannot reach Redis"}, "此后一直无法通知 w1", false},
		"away":                {50 * time.Second, instance.RedisFault{Said: "refused"}, []string{"w1 could not be told of it since then", "has not answered the broker"}, "此后一直无法通知 w1", false},
		"refusing":            {50 * time.Second, instance.RedisFault{Answers: true, Said: "OOM"}, []string{"w1 could not be told of it since then", "has taken no writes: OOM"}, "此后一直无法通知 w1", false},
		"killed before":       {-time.Second, instance.RedisFault{Broker: "b1", Said: "refused"}, []string{"Whether w1 has heard of it is not known"}, "w1 是否已得到通知尚不清楚", true},
	} {
		f := waiting(domain.Stopping)
		f.Now = at(since).Add(2 * time.Minute)
		began := at(since).Add(time.Minute)
		c.redis.Since = began
		f.Outage.Redis, f.Attempt.KillAt = c.redis, began.Add(c.killed)
		f.Workers[0].SeenAt = began.Add(-3 * time.Second)
		said := instance.Why(f).English()
		for _, words := range append(c.says, "asked for at "+f.Attempt.KillAt.Format(time.DateTime), began.Format(time.DateTime)) {
			if !strings.Contains(said, words) {
				t.Errorf("%s: %q, want %q", name, said, words)
			}
		}
		if strings.Contains(said, "was told") || strings.Contains(said, "is told so until") || strings.Contains(said, "That is how it stood") != c.mentions {
			t.Errorf("%s: %q", name, said)
		}
		if zh := instance.Why(f).In(i18n.With(t.Context(), "zh-CN")); !strings.Contains(zh, c.chinese) || strings.ContainsAny(zh, "⟦⟧{}") {
			t.Errorf("%s: %q", name, zh)
		}
	}
}
