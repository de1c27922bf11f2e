package config

import (
	"strings"
	"testing"
)

func TestURLsOfSentinels(t *testing.T) {
	for _, c := range []struct{ url, wrong string }{
		{"redis-sentinel://a:26379,b:26379,c:26379/mymaster", ""},
		{"rediss-sentinel://u:hunter2@a:26379/mymaster/3?sentinel_user=s&sentinel_password=hunter2", ""},
		{"redis-sentinel://:hunter2@[::1]:26379/m", ""},
		{"redis-sentinel://a:26379,b/mymaster", "host or port"},
		{"redis-sentinel://a:26379,:26379/mymaster", "host or port"},
		{"redis-sentinel:///mymaster", "host or port"},
		{"redis-sentinel://a:26379", "name of the master"},
		{"redis-sentinel://:hunter2@a:26379/", "name of the master"},
		{"redis-sentinel://a:26379/m/nine", "no number"},
		{"redis-sentinel://a:26379/m?password=hunter2", "sentinel_password only"},
		{"redis-sentinel://u:hunter2%zz@a:26379/m", "percent-encoded"},
	} {
		for _, key := range []string{"redis_url", "registry_redis_url"} {
			loaded, err := Load("", []string{"AX_DATABASE_URL=mysql://u:p@h/ax", "AX_REDIS_URL=redis://h", envOf(key) + "=" + c.url}, nil)
			if err != nil {
				t.Fatal(err)
			}
			err = loaded.Validate(ModeCenter)
			if (c.wrong == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), c.wrong) || !strings.Contains(err.Error(), key)) {
				t.Errorf("%s %s: %v, want %q", key, c.url, err, c.wrong)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") || strings.Contains(loaded.Redacted(), "hunter2") {
				t.Errorf("%s: the password is shown: %v\n%s", c.url, err, loaded.Redacted())
			}
		}
	}
	if got := StoreURL("redis-sentinel://u:hunter2@a:1,b:2/m?sentinel_password=hunter2").String(); got != "redis-sentinel://u:*****@a:1,b:2/m?*****" {
		t.Errorf("shown as %s", got)
	}
}
