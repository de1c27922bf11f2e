package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ax.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFileIsBelowEnvironmentIsBelowFlags(t *testing.T) {
	file := write(t, "listen: :1\ndata: from-file\nworker:\n  lost_after: 20s\n  tags: [a, 007]\n  lanes: {high: 9}\n")
	environ := []string{"AX_LISTEN=:2", "AX_WORKER_TAGS=b,c", "AX_WORKER_LANES_LOW=3", "PATH=/bin", "AX_TIMEZONE="}
	c, err := Load(file, environ, map[string]string{"listen": ":3"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(c.Mode); err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Listen, want.Data = ":3", "from-file"
	want.Worker.LostAfter, want.Worker.Tags = 20*time.Second, []string{"b", "c"}
	want.Worker.Lanes = Lanes{High: 9, Default: want.Worker.Lanes.Default, Low: 3}
	for key, source := range map[string]string{
		"listen": "flag --listen", "data": "ax.yaml:2", "worker.lost_after": "ax.yaml:4", "worker.lanes.high": "ax.yaml:6",
		"worker.tags": "environment AX_WORKER_TAGS", "timezone": "default",
	} {
		if c.Source(key) != source {
			t.Errorf("%s is from %q, want %q", key, c.Source(key), source)
		}
	}
	c.sources = nil
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got\n%v want\n%v", c, want)
	}
}

func TestTextInTheFileIsTakenAsWritten(t *testing.T) {
	c, err := Load(write(t, "admin_password: 0123\nbootstrap_token: '1e5 # x'\nenvironment: yes\nworker:\n  tags: [0x10, true]\n"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.AdminPassword != "0123" || c.BootstrapToken != "1e5 # x" || c.Environment != "yes" || !slices.Equal(c.Worker.Tags, []string{"0x10", "true"}) {
		t.Errorf("got %q %q %q %q", string(c.AdminPassword), string(c.BootstrapToken), c.Environment, c.Worker.Tags)
	}
}

func TestWrongAndUnknownIsNamedWithKeyAndSource(t *testing.T) {
	for _, c := range []struct {
		file    string
		environ []string
		flags   map[string]string
		key     string
		source  string
		text    string // a part of the message
	}{
		{file: "lisetn: :1", key: "lisetn", source: "ax.yaml:1", text: "did you mean listen?"},
		{file: "worker:\n  lanes:\n    hihg: 4", key: "worker.lanes.hihg", source: "ax.yaml:3", text: "did you mean worker.lanes.high?"},
		{file: "worker: many", key: "worker", source: "ax.yaml:1", text: "wants keys below it"},
		{file: "\nworker:\n  lanes:\n    high: many", key: "worker.lanes.high", source: "ax.yaml:4", text: `a whole number, not "many"`},
		{file: "worker:\n  lost_after: 10", key: "worker.lost_after", source: "ax.yaml:2", text: "a duration such as 10s"},
		{file: "worker:\n  tags: one", key: "worker.tags", source: "ax.yaml:2", text: "a list of words"},
		{file: "listen: [a]", key: "listen", source: "ax.yaml:1", text: "wants one text"},
		{file: "database_url: {a: hunter2}", key: "database_url", source: "ax.yaml:1", text: "wants one text"},
		{file: "mode: all\nmode: web", source: "ax.yaml", text: "line 2, column 1"},
		{file: "admin_password: hunter2\n  x: [hunter2", source: "ax.yaml", text: "line 1"},
		{file: "mode: all\n---\nmode: web", source: "ax.yaml:3", text: "second document"},
		{file: "- mode", source: "ax.yaml:1", text: "key: value"},
		{environ: []string{"AX_DATABSE_URL=mysql://u:hunter2@h/d"}, source: "environment AX_DATABSE_URL", text: "did you mean AX_DATABASE_URL?"},
		{environ: []string{"AX_POOLS_WEB=x"}, key: "pools.web", source: "environment AX_POOLS_WEB", text: "a whole number"},
		{flags: map[string]string{"moed": "all"}, key: "moed", source: "flag --moed", text: "did you mean mode?"},
		{flags: map[string]string{"admin_password": "hunter2"}, key: "admin_password", source: "flag --admin_password", text: "AX_ADMIN_PASSWORD"},
	} {
		file := ""
		if c.file != "" {
			file = write(t, c.file)
		}
		_, err := Load(file, c.environ, c.flags)
		mustTell(t, err, c.key, c.source, c.text)
	}
	_, err := Load(filepath.Join(t.TempDir(), "absent.yaml"), nil, nil)
	mustTell(t, err, "", "flag --config", "absent.yaml")
	if _, err := Load("", []string{"AX_URL=x", "AX_TOKEN=x", "AX_PORT=tcp://10.0.0.1:80", "AX_SERVICE_HOST=10.0.0.1", "AX_TEST_X=1"}, nil); err != nil {
		t.Errorf("variables that are no settings were refused: %v", err)
	}
}

func TestEveryProblemIsToldAtOnce(t *testing.T) {
	_, err := Load(write(t, "moed: all\npools:\n  web: x\n"), []string{"AX_WORKER_LOST_AFTER=soon"}, map[string]string{"x": "y"})
	var problems Problems
	if !errors.As(err, &problems) || len(problems) != 4 {
		t.Fatalf("want four problems, got %v", err)
	}
}

func TestValidateNamesKeyAndSource(t *testing.T) {
	stores := []string{"AX_DATABASE_URL=mysql://u:hunter2@h:3306/ax", "AX_REDIS_URL=redis://:hunter2@h:6379/1"}
	for _, c := range []struct {
		variable string
		key      string // "" = it is right
		text     string
	}{
		{"AX_MODE=wbe", "mode", "did you mean web?"},
		{"AX_LISTEN=8080", "listen", "HOST:PORT"},
		{"AX_LISTEN=:99999", "listen", "no port"},
		{"AX_LISTEN=[::1]:80", "", ""},
		{"AX_TIMEZONE=Mars/Base", "timezone", "no time zone"},
		{"AX_TIMEZONE=Local", "timezone", "UTC"},
		{"AX_TIMEZONE=Asia/Shanghai", "", ""},
		{"AX_ENVIRONMENT=a very long name for a badge", "environment", "20 characters"},
		{"AX_LOG_LEVEL=loud", "log.level", "debug, info"},
		{"AX_LOG_FORMAT=xml", "log.format", "json"},
		{"AX_WORKER_NAME=a:b", "worker.name", "dash and underscore"},
		{"AX_WORKER_TAGS=ok,has space", "worker.tags", "no tag"},
		{"AX_WORKER_LANES_HIGH=-1", "worker.lanes.high", "from 0 to 1024"},
		{"AX_WORKER_LANES_HIGH=0", "", ""},
		{"AX_WORKER_LOST_AFTER=1s", "worker.lost_after", "from 3s to 10m"},
		{"AX_POOLS_BROKER=1", "pools.broker", "from 2"},
		{"AX_ADMIN_PASSWORD=" + strings.Repeat("p", 501), "admin_password", "500 bytes"},
		{"AX_ADMIN_PASSWORD=八个字也算好密码", "", ""},
		{"AX_BOOTSTRAP_TOKEN=" + strings.Repeat("t", 501), "bootstrap_token", "500 bytes"},
		{"AX_BOOTSTRAP_TOKEN=with hunter2 in", "bootstrap_token", "spaces"},
		{"AX_PPROF_TOKEN=hunter2hunter2h", "pprof_token", "16 characters"},
		{"AX_PPROF_TOKEN=with hunter2 inside", "pprof_token", "spaces"},
		{"AX_PPROF_TOKEN=0123456789abcdef", "", ""},
		{"AX_TIMEOUTS_REDIS=1h", "timeouts.redis", "100ms"},
		{"AX_ALERTS_WEBHOOK_URL=ftp://hunter2.example", "alerts.webhook_url", "https://HOST/PATH"},
		{"AX_ALERTS_WEBHOOK_URL=https://", "alerts.webhook_url", "https://HOST/PATH"},
		{"AX_ALERTS_WEBHOOK_SECRET=with hunter2", "alerts.webhook_secret", "without spaces"},
		{"AX_SECRETS_KEY=hunter2", "secrets.key", "openssl rand -hex 32"},
		{"AX_SECRETS_KEY=" + strings.Repeat("0a", 32) + ",hunter2", "secrets.key", "64 hexadecimal digits"},
		{"AX_SECRETS_KEY=" + strings.Repeat("0a", 32) + ", " + strings.Repeat("Ab-_", 10) + "AbC=", "", ""},
		{"AX_SECRETS_KEY_FILE=/run/secrets/ax", "", ""},
		{"AX_ALERTS_PAGES_URL=ax.example.com", "alerts.pages_url", "https://HOST/PATH"},
		{"AX_ALERTS_PAGES_URL=https://ax.example.com/?a", "alerts.pages_url", "no ?"},
		{"AX_ALERTS_PAGES_URL=https://ax.example.com/ax/", "", ""},
		{"AX_DATABASE_URL=postgres://u:hunter2@h/d", "database_url", "mysql://"},
		{"AX_DATABASE_URL=mysql://u:hunter2@h:3306/", "database_url", "name is missing"},
		{"AX_DATABASE_URL=mysql://h:3306/d", "database_url", "user is missing"},
		{"AX_DATABASE_URL=mysql://u:hunter2%@h:3306/d", "database_url", "percent-encoded"},
		{"AX_DATABASE_URL=mysql://u:hunter2@/d", "database_url", "host is missing"},
		{"AX_REDIS_URL=http://h", "redis_url", "rediss://"},
		{"AX_REDIS_URL=redis://h/nine", "redis_url", "no number"},
		{"AX_REDIS_URL=rediss://u:hunter2@h:1/2", "", ""},
		{"AX_REDIS_URL=unix:///run/redis.sock?db=3", "", ""},
		{"AX_REGISTRY_REDIS_URL=unix://", "registry_redis_url", "path is missing"},
	} {
		got, err := Load("", append(slices.Clone(stores), c.variable), nil)
		if err != nil {
			t.Errorf("%s: %v", c.variable, err)
			continue
		}
		err = got.Validate(got.Mode)
		if c.key == "" {
			if err != nil {
				t.Errorf("%s: %v", c.variable, err)
			}
			continue
		}
		name, _, _ := strings.Cut(c.variable, "=")
		mustTell(t, err, c.key, "environment "+name, c.text)
	}
}

func TestOnlyModeAllMayEmbedStores(t *testing.T) {
	const db, redis = "AX_DATABASE_URL=mysql://u:p@h:3306/ax", "AX_REDIS_URL=redis://h:6379"
	for _, mode := range Modes() {
		for _, c := range []struct {
			environ []string
			missing []string
		}{
			{nil, []string{"database_url", "redis_url"}},
			{[]string{db}, []string{"redis_url"}},
			{[]string{redis}, []string{"database_url"}},
			{[]string{db, redis}, nil},
		} {
			want := c.missing
			if mode == ModeAll {
				want = nil
			}
			if mode == ModeWorker { // it never touches the database
				want = slices.DeleteFunc(slices.Clone(want), func(k string) bool { return k == "database_url" })
			}
			got, err := Load("", c.environ, nil)
			if err != nil {
				t.Fatal(err)
			}
			var problems Problems
			if err := got.Validate(mode); err != nil && !errors.As(err, &problems) {
				t.Fatal(err)
			}
			var keys []string
			for _, p := range problems {
				keys = append(keys, p.Key)
				if !strings.Contains(p.Text, "--mode=all") || !strings.Contains(p.Text, "AX_") {
					t.Errorf("%s: no way out in %q", mode, p.Text)
				}
			}
			if !slices.Equal(keys, want) {
				t.Errorf("mode %s with %q misses %q, want %q", mode, c.environ, keys, want)
			}
		}
	}
}

func TestRolesOfModes(t *testing.T) {
	for mode, roles := range map[Mode]string{
		ModeAll: "web scheduler broker worker", ModeCenter: "web scheduler broker", ModeWeb: "web",
		ModeScheduler: "scheduler", ModeBroker: "broker", ModeWorker: "worker",
	} {
		for _, role := range []Mode{ModeWeb, ModeScheduler, ModeBroker, ModeWorker} {
			if want := slices.Contains(strings.Fields(roles), string(role)); mode.Carries(role) != want {
				t.Errorf("%s carries %s: %v", mode, role, !want)
			}
		}
	}
}

func TestRegistryIsTheSameRedisUnlessGiven(t *testing.T) {
	c, err := Load("", []string{"AX_REDIS_URL=redis://a"}, nil)
	if err != nil || c.RegistryRedisURL != "redis://a" {
		t.Errorf("got %q, %v", string(c.RegistryRedisURL), err)
	}
	c, err = Load("", []string{"AX_REDIS_URL=redis://a", "AX_REGISTRY_REDIS_URL=redis://b"}, nil)
	if err != nil || c.RegistryRedisURL != "redis://b" || c.RedisURL != "redis://a" {
		t.Errorf("got %q, %v", string(c.RegistryRedisURL), err)
	}
}

func TestSecretsAreStarsHoweverPrinted(t *testing.T) {
	c, err := Load("", []string{
		"AX_DATABASE_URL=mysql://ax:hunter2@db:3306/ax", "AX_REDIS_URL=redis://:hunter2@r:6379/1",
		"AX_REGISTRY_REDIS_URL=unix:///s?password=hunter2&db=1", "AX_ADMIN_PASSWORD=hunter2", "AX_BOOTSTRAP_TOKEN=hunter2", "AX_PPROF_TOKEN=hunter2",
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "c", c, "u", c.DatabaseURL, "p", c.AdminPassword)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "c", c, "u", c.DatabaseURL, "p", c.AdminPassword)
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	type bare Config // without Config's own methods
	printed := []string{
		log.String(), string(asJSON), c.Redacted(), fmt.Sprint(c), fmt.Sprintf("%+v %#v", bare(c), bare(c)),
		fmt.Sprintf("%s %q %x %v", c.DatabaseURL, c.AdminPassword, c.BootstrapToken, &c), fmt.Sprint(StoreURL("mysql:hunter2%")),
	}
	for _, text := range printed {
		if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("the secret is in %s", text)
		}
	}
	if want := "database_url: mysql://ax:*****@db:3306/ax  # environment AX_DATABASE_URL\n"; !strings.Contains(c.Redacted(), want) {
		t.Errorf("no line %q in\n%s", want, c.Redacted())
	}
	if strings.Contains(c.Redacted(), "hunter") || !strings.Contains(c.Redacted(), "admin_password: *****") {
		t.Error(c.Redacted())
	}
}

// The example is the documentation: it names exactly the keys, each under a comment, and gives the defaults.
func TestExampleNamesExactlyTheKeysWithTheirDefaults(t *testing.T) {
	text, err := os.ReadFile("example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var named, section []string
	line := regexp.MustCompile(`^( *)([a-z_]+):(.*)$`)
	before := ""
	for l := range strings.Lines(string(text)) {
		if m := line.FindStringSubmatch(strings.TrimRight(l, "\n")); m != nil {
			section = append(section[:len(m[1])/2], m[2])
			if m[3] != "" {
				named = append(named, strings.Join(section, "."))
				if !strings.HasPrefix(strings.TrimSpace(before), "#") {
					t.Errorf("%s is not explained by a comment above it", strings.Join(section, "."))
				}
			}
		}
		before = l
	}
	d := Default()
	if keys := namesOf(keysOf(&d)); !slices.Equal(named, keys) {
		t.Errorf("the example names\n%q, the struct has\n%q", named, keys)
	}
	c, err := Load("example.yaml", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.sources = nil
	if !reflect.DeepEqual(c, Default()) {
		t.Errorf("the example gives\n%v and the defaults are\n%v", c, Default())
	}
	if err := c.Validate(c.Mode); err != nil {
		t.Error(err)
	}
}

func mustTell(t *testing.T, err error, key, source, text string) {
	t.Helper()
	var problems Problems
	if !errors.As(err, &problems) {
		t.Errorf("want a problem with %q that says %q, got %v", key, text, err)
		return
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error shows a secret: %v", err)
	}
	for _, p := range problems {
		if p.Key == key && p.Source == source && strings.Contains(p.Text, text) {
			return
		}
	}
	t.Errorf("want a problem with %q from %q that says %q, got %v", key, source, text, err)
}

// A web-hook without a secret would send what nobody can tell from a forgery.
func TestNoticesAreSigned(t *testing.T) {
	const url = "AX_ALERTS_WEBHOOK_URL=https://hooks.example/T0/hunter2"
	for _, c := range []struct {
		environ []string
		good    bool
	}{{[]string{url}, false}, {[]string{url, "AX_ALERTS_WEBHOOK_SECRET=hunter2"}, false}, {[]string{url, "AX_ALERTS_WEBHOOK_SECRET=hunter2hunter2hunter2"}, true},
		{[]string{"AX_ALERTS_WEBHOOK_SECRET=hunter2hunter2hunter2"}, false}} {
		got, err := Load("", c.environ, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = got.Validate(ModeAll)
		if (err == nil) != c.good || err != nil && strings.Contains(err.Error(), "hunter2") || strings.Contains(got.Redacted(), "hunter2") {
			t.Errorf("%d settings: %v", len(c.environ), err)
		}
	}
	for pages, want := range map[string]string{"": "http://127.0.0.1:8080", "https://ax.example.com/ax/": "https://ax.example.com/ax"} {
		c := Default()
		c.Alerts.PagesURL = pages
		if got := c.PagesURL(); got != want {
			t.Errorf("%q: %q, want %q", pages, got, want)
		}
	}
}

// A notice must not be sent where a machine asks for its own secrets, and no password may travel in its address.
func TestAddressesThatNoNoticeGoesTo(t *testing.T) {
	const secret = "AX_ALERTS_WEBHOOK_SECRET=0123456789abcdef"
	for url, says := range map[string]string{
		"https://hooks.example.com/T0/x?token=y": "", "http://127.0.0.1:9000/": "", "http://10.1.2.3/": "", "https://[2001:db8::1]/": "", "http://metadata.example.com/": "",
		"https://user:hunter2@hooks.example.com/": "takes no USER:PASSWORD@", "https://user@hooks.example.com/": "takes no USER:PASSWORD@",
		"http://169.254.169.254/latest/": "link-local", "http://[::ffff:169.254.169.254]/": "link-local", "http://[fe80::1%25eth0]/": "link-local", "http://0.0.0.0/": "none at all",
		"http://[fd00:ec2::254]/": "metadata", "http://100.100.100.200/": "metadata", "http://metadata.google.internal/": "metadata", "http://METADATA.google.internal./": "metadata",
	} {
		got, err := Load("", []string{"AX_ALERTS_WEBHOOK_URL=" + url, secret}, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = got.Validate(ModeAll)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v", url, err)
		}
	}
	got, err := Load("", []string{secret}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := got.Validate(ModeCenter); err == nil || !strings.Contains(err.Error(), "AX_ALERTS_WEBHOOK_URL") {
		t.Errorf("a secret without an address does not say how to mend it: %v", err)
	}
}

func TestASecretsKeyStandsInOnePlace(t *testing.T) {
	c, err := Load("", []string{"AX_SECRETS_KEY=" + strings.Repeat("0a", 32), "AX_SECRETS_KEY_FILE=key"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	mustTell(t, c.Validate(c.Mode), "secrets.key_file", "environment AX_SECRETS_KEY_FILE", "one of them")
	if strings.Contains(c.Redacted(), "0a0a") {
		t.Error(c.Redacted())
	}
}
