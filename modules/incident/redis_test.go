package incident

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
	"github.com/axsched/ax/modules/kit/i18n"
)

// redises are how they stand, as the test says.
type redises struct {
	mu  sync.Mutex
	all []Standing
}

// Standings tells it.
func (r *redises) Standings() []Standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all
}

func (r *redises) stand(all ...Standing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = all
}

// probed is a Redis in the respect of answering and taking writes, so for a while.
func probed(which string, fault domain.IncidentKind, since time.Duration) Standing {
	return Standing{Redis: which, Tells: redisKinds[:2], Fault: fault, Since: now().Add(-since), Said: "OOM command not allowed"}
}

// fitness is a Redis in the respect of its set-up.
func fitness(which string, evicts bool, since time.Duration) Standing {
	s := Standing{Redis: which, Tells: redisKinds[2:], Since: now().Add(-since)}
	if evicts {
		s.Fault, s.Limit, s.Policy = domain.IncidentRedisUnfit, "100mb", "allkeys-lru"
	}
	return s
}

const (
	away    = domain.IncidentRedisAway
	refuses = domain.IncidentRedisRefuses
	soon    = redisPatience - 2*time.Second
	long    = redisPatience + time.Second
	both    = "Redis (transport and registry)"
)

// One incident for what is wrong with a Redis, from after the patience until it has been right for a while.
func TestARedisInTroubleIsOneIncident(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r := &redises{}
		w.k.Redis = r
		for _, step := range []struct {
			stands []Standing
			want   string
		}{
			{nil, ""},
			{[]Standing{probed("both", away, soon), fitness("both", false, time.Hour)}, ""},
			{[]Standing{probed("both", away, long), fitness("both", false, time.Hour)}, "redis_away " + both + "×1"},
			{[]Standing{probed("both", away, time.Minute), fitness("both", false, time.Hour)}, "redis_away " + both + "×1"},
			{[]Standing{probed("both", "", soon), fitness("both", false, time.Hour)}, "redis_away " + both + "×1"}, // it may be gone again
			{[]Standing{probed("both", refuses, soon), fitness("both", false, time.Hour)}, "redis_away " + both + "×1"},
			{[]Standing{probed("both", refuses, long), fitness("both", false, time.Hour)}, "redis_refuses " + both + "×1; redis_away " + both + "×1→usable"},
			{[]Standing{probed("both", "", long), fitness("both", true, long)}, "redis_unfit " + both + "×1; redis_refuses " + both + "×1→usable; redis_away " + both + "×1→usable"},
			{[]Standing{probed("both", "", long), fitness("both", false, long)}, "redis_unfit " + both + "×1→usable; redis_refuses " + both + "×1→usable; redis_away " + both + "×1→usable"},
		} {
			r.all = step.stands
			w.round()
			w.round()
			w.want(step.want)
		}
	})
}

// The next broker, which knows nothing yet, ends nothing; it ends what is over, and what is about a Redis that is in use no more.
func TestTheNextBrokerEndsWhatIsOverWithARedis(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r := &redises{all: []Standing{probed("transport", away, long), probed("registry", refuses, long)}}
		w.k.Redis = r
		w.round()
		w.want("redis_refuses Redis of the registry (registry_redis_url)×1; redis_away Redis of the transport (redis_url)×1")
		w.begin(nil)
		w.k.Redis = r
		r.all = []Standing{{Redis: "transport", Tells: redisKinds[:2]}, {Redis: "registry", Tells: redisKinds[:2]}}
		w.round()
		w.want("redis_refuses Redis of the registry (registry_redis_url)×1; redis_away Redis of the transport (redis_url)×1")
		r.all = []Standing{probed("transport", "", long), probed("registry", refuses, long)}
		w.round()
		w.want("redis_refuses Redis of the registry (registry_redis_url)×1; redis_away Redis of the transport (redis_url)×1→usable")
		w.begin(nil)
		w.k.Redis = &redises{all: []Standing{probed("both", "", long)}}
		w.round()
		w.want("redis_refuses Redis of the registry (registry_redis_url)×1→usable; redis_away Redis of the transport (redis_url)×1→usable")
	})
}

// What is said names which Redis, since when, what it said, and what works meanwhile, in the reader's language.
func TestWhatIsSaidOfARedis(t *testing.T) {
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, c := range []struct {
		s      Standing
		en, zh []string
	}{
		{Standing{Redis: "transport", Fault: away, Since: at, Said: "connection refused"},
			[]string{"Redis of the transport (redis_url) has not answered since 2026-02-03 04:05:06Z: connection refused.", "Fires are taken and pages work"},
			[]string{"传输用的 Redis（redis_url）自 2026-02-03 04:05:06Z 起没有应答：connection refused。", "触发照常，页面可用"}},
		{Standing{Redis: "both", Fault: refuses, Since: at, Said: "MISCONF Redis is configured"},
			[]string{"Redis (transport and registry) answers, and has taken no writes since 2026-02-03 04:05:06Z: MISCONF Redis is configured.", "none counts as lost"},
			[]string{"Redis（传输与注册）有应答，但自 2026-02-03 04:05:06Z 起拒绝写入：MISCONF Redis is configured。", "不判定任何节点失联"}},
		{Standing{Redis: "registry", Fault: domain.IncidentRedisUnfit, Since: at, Limit: "100mb", Policy: "allkeys-lru"},
			[]string{"Redis of the registry (registry_redis_url) is set to throw keys away", "maxmemory 100mb, maxmemory-policy allkeys-lru", "noeviction"},
			[]string{"注册用的 Redis（registry_redis_url）的设置是内存满时丢弃键", "maxmemory 100mb，maxmemory-policy allkeys-lru", "noeviction"}},
		{Standing{Redis: "both", Fault: domain.IncidentRedisUnfit, Since: at, Said: "it is version 5.0"}, []string{"must not be used as it is", "it is version 5.0"}, []string{"不能这样使用", "it is version 5.0"}},
	} {
		i := domain.Incident{Kind: c.s.Fault, Subject: c.s.Redis, Detail: c.s.detail()}
		for lang, want := range map[string][]string{i18n.English: c.en, "zh-CN": c.zh} {
			said := Said(i18n.With(t.Context(), lang), i)
			for _, words := range want {
				if !strings.Contains(said, words) || strings.ContainsAny(said, "⟦⟧{}") {
					t.Errorf("%s: %q lacks %q", lang, said, words)
				}
			}
		}
	}
}

// What the broker finds can be read by others from the first moment on, long before it is an incident, and is gone with it;
// what an earlier term left is gone at once.
func TestWhatIsWrongWithRedisCanBeReadAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r := &redises{}
		w.k.Redis, w.k.Process = r, "broker b pid 1"
		if err := w.store.KeepRedisFaults(t.Context(), []store.RedisFault{{Redis: "registry", Fault: away, Since: now(), Said: "of a broker that is gone", Broker: "x"}}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.k.mirror(ctx) }()
		defer func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}()
		reads := func(want ...store.RedisFault) {
			t.Helper()
			var got []store.RedisFault
			for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				var err error
				got, err = w.store.RedisFaults(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if slices.EqualFunc(got, want, func(a, b store.RedisFault) bool { return a == b }) {
					return
				}
			}
			t.Errorf("read %+v, want %+v", got, want)
		}
		reads()
		began := probed("both", away, 0)
		began.Since = began.Since.Truncate(time.Millisecond).UTC() // as the database keeps it
		r.stand(began, fitness("both", true, time.Hour))           // one that evicts is not away
		reads(store.RedisFault{Redis: "both", Fault: away, Since: began.Since, Said: began.Said, Broker: "broker b pid 1"})
		began.Fault = refuses
		r.stand(began)
		reads(store.RedisFault{Redis: "both", Fault: refuses, Since: began.Since, Said: began.Said, Broker: "broker b pid 1"})
		r.stand(probed("both", "", 0))
		reads()
		if got := w.standing(); got != "" {
			t.Errorf("nothing of it lasted, and there are incidents: %s", got)
		}
	})
}
