// Package config says how one AX process is set up.
//
// It owns the keys, their defaults, where a value may come from (file < environment AX_… < flags) and what values
// make sense for a mode. It refuses unknown keys and wrong values, each named with its key and its source, and it
// prints no secret. It opens nothing and imports no driver. main drives it, once, at the start.
package config

import (
	"strings"
	"time"
)

// Config is the set-up of one process. Get one from Load; the tags are the keys. Every key with its meaning and
// default stands in example.yaml.
type Config struct {
	Mode             Mode     `yaml:"mode"`
	Data             string   `yaml:"data"`
	Listen           string   `yaml:"listen"`
	DatabaseURL      StoreURL `yaml:"database_url"`       // "" = SQLite below Data
	RedisURL         StoreURL `yaml:"redis_url"`          // "" = in this process
	RegistryRedisURL StoreURL `yaml:"registry_redis_url"` // Load fills in RedisURL where it is not given
	AdminPassword    Secret   `yaml:"admin_password"`     // used on the first start only
	BootstrapToken   Secret   `yaml:"bootstrap_token"`    // used on the first start only
	PprofToken       Secret   `yaml:"pprof_token"`        // "" = no profiler
	Timezone         string   `yaml:"timezone"`           // an IANA name
	Environment      string   `yaml:"environment"`
	Log              Log      `yaml:"log" prefix:"log."`
	Worker           Worker   `yaml:"worker" prefix:"worker."`
	Pools            Pools    `yaml:"pools" prefix:"pools."`
	Timeouts         Timeouts `yaml:"timeouts" prefix:"timeouts."`
	Alerts           Alerts   `yaml:"alerts" prefix:"alerts."`
	Secrets          Secrets  `yaml:"secrets" prefix:"secrets."`

	sources map[string]string // key → where its value is from; a key that is absent has its default
}

// Log is how the process' own log is written.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn or error
	Format string `yaml:"format"` // text or json
}

// Worker is the set-up of the role worker; LostAfter is read by the role broker.
type Worker struct {
	Name      string        `yaml:"name"` // "" = the name kept in Data, at first the host's
	Tags      []string      `yaml:"tags"`
	Lanes     Lanes         `yaml:"lanes" prefix:"lanes."`
	Sources   []Source      `yaml:"sources"` // databases that sql tasks may name
	Users     []string      `yaml:"users"`   // accounts that shell tasks may ask to run as
	Plugins   string        `yaml:"plugins"` // the folder of plug-ins; "" = plugins below Data
	LostAfter time.Duration `yaml:"lost_after"`
}

// Lanes are the threads of each lane; 0 = the worker does not serve it.
type Lanes struct {
	High    int `yaml:"high"`
	Default int `yaml:"default"`
	Low     int `yaml:"low"`
}

// Pools are the most connections that each role holds to the database.
type Pools struct {
	Web       int `yaml:"web"`
	Scheduler int `yaml:"scheduler"`
	Broker    int `yaml:"broker"`
}

// Alerts say where notices of incidents go. The role broker sends them.
type Alerts struct {
	WebhookURL    Secret `yaml:"webhook_url"` // "" = nobody is told; a secret, for some receivers have no other
	WebhookSecret Secret `yaml:"webhook_secret"`
	PagesURL      string `yaml:"pages_url"` // "" = http:// and Listen
}

// Secrets say with which key secrets are sealed at rest. Every role of the center reads it, a worker never does.
type Secrets struct {
	Key     Secret `yaml:"key"`      // the first seals, those behind it open what it sealed before
	KeyFile string `yaml:"key_file"` // "" in mode all = secrets.key in Data, made at the first start
}

// PagesURL is where people reach the pages, without a slash at its end.
func (c Config) PagesURL() string {
	if c.Alerts.PagesURL == "" {
		return "http://" + c.Listen
	}
	return strings.TrimRight(c.Alerts.PagesURL, "/")
}

// Timeouts are limits of the process as a whole; those of tasks belong to jobs.
type Timeouts struct {
	Connect  time.Duration `yaml:"connect"`  // for a store to answer at the start
	Redis    time.Duration `yaml:"redis"`    // for one Redis command to be answered
	Shutdown time.Duration `yaml:"shutdown"` // from the signal to the end
}

// Default is the set-up of a newcomer: everything in one process on embedded stores, reachable from this machine.
func Default() Config {
	return Config{
		Mode:     ModeAll,
		Data:     "data",
		Listen:   "127.0.0.1:8080",
		Timezone: "UTC",
		Log:      Log{Level: "info", Format: "text"},
		Worker: Worker{
			Lanes:     Lanes{High: 4, Default: 8, Low: 2},
			LostAfter: 10 * time.Second,
		},
		Pools:    Pools{Web: 16, Scheduler: 8, Broker: 8},
		Timeouts: Timeouts{Connect: 10 * time.Second, Redis: 2 * time.Second, Shutdown: 30 * time.Second},
	}
}

// Mode is the set of roles that a process carries.
type Mode string

// The modes. Web, scheduler, broker and worker are roles too.
const (
	ModeAll       Mode = "all"
	ModeCenter    Mode = "center"
	ModeWeb       Mode = "web"
	ModeScheduler Mode = "scheduler"
	ModeBroker    Mode = "broker"
	ModeWorker    Mode = "worker"
)

// Modes are all of them, in the order in which they are told to people.
func Modes() []Mode {
	return []Mode{ModeAll, ModeCenter, ModeWeb, ModeScheduler, ModeBroker, ModeWorker}
}

// Carries reports whether a process in mode m has the role web, scheduler, broker or worker.
func (m Mode) Carries(role Mode) bool {
	switch m {
	case ModeAll:
		return role == ModeWeb || role == ModeScheduler || role == ModeBroker || role == ModeWorker
	case ModeCenter:
		return role == ModeWeb || role == ModeScheduler || role == ModeBroker
	}
	return m == role
}

// Source says where the value of a key is from: "flag --listen", "environment AX_LISTEN", "ax.yaml:3" or "default".
func (c Config) Source(key string) string {
	if s, ok := c.sources[key]; ok {
		return s
	}
	return "default"
}

// Redacted is the whole set-up as text, a line a key with its source; secrets are stars.
func (c Config) Redacted() string {
	var b strings.Builder
	for _, k := range keysOf(&c) {
		b.WriteString(k.name + ": " + k.text() + "  # " + c.Source(k.name) + "\n")
	}
	return b.String()
}

// String is Redacted, so that no print of a Config shows a secret.
func (c Config) String() string { return c.Redacted() }
