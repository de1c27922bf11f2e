package config

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// check judges one key's value: "" = fine, else what is wrong and what would be right.
type check struct {
	key   string
	wrong string
}

// Validate judges the values for a process that runs in mode; that is c.Mode except for commands that look at a
// set-up for others. The error is Problems with every wrong value.
func (c Config) Validate(mode Mode) error {
	var problems Problems
	for _, one := range slices.Concat(c.generalChecks(mode), c.storeChecks(mode), c.numberChecks()) {
		if one.wrong != "" {
			problems.add(one.key, c.Source(one.key), "%s", one.wrong)
		}
	}
	return problems.err()
}

func (c Config) generalChecks(mode Mode) []check {
	checks := []check{
		{"mode", oneOf(mode, Modes())},
		{"data", wrongData(c.Data)},
		{"listen", wrongListen(c.Listen)},
		{"timezone", wrongZone(c.Timezone)},
		{"environment", wrongText(c.Environment, 20)},
		{"log.level", oneOf(c.Log.Level, []string{"debug", "info", "warn", "error"})},
		{"log.format", oneOf(c.Log.Format, []string{"text", "json"})},
		{"worker.name", wrongWorkerName(c.Worker.Name)},
		{"worker.plugins", wrongText(c.Worker.Plugins, 4096)},
		{"admin_password", wrongPassword(string(c.AdminPassword))},
		{"bootstrap_token", wrongToken(string(c.BootstrapToken))},
		{"pprof_token", wrongPprofToken(string(c.PprofToken))},
		{"alerts.webhook_url", wrongWebhook(string(c.Alerts.WebhookURL))},
		{"alerts.webhook_secret", wrongWebhookSecret(c.Alerts)},
		{"alerts.pages_url", wrongPagesURL(c.Alerts.PagesURL)},
		{"secrets.key", wrongSecretsKey(string(c.Secrets.Key))},
		{"secrets.key_file", wrongKeyFile(c.Secrets)},
	}
	for _, tag := range c.Worker.Tags {
		checks = append(checks, check{"worker.tags", wrongTag(tag)})
	}
	for _, name := range c.Worker.Users {
		checks = append(checks, check{"worker.users", wrongUser(name)})
	}
	checks = append(checks, sourceChecks(c.Worker.Sources)...)
	return checks
}

func (c Config) numberChecks() []check {
	checks := []check{
		{"worker.lost_after", within(c.Worker.LostAfter, 3*time.Second, 10*time.Minute)},
		{"timeouts.connect", within(c.Timeouts.Connect, time.Second, 10*time.Minute)},
		{"timeouts.redis", within(c.Timeouts.Redis, 100*time.Millisecond, time.Minute)},
		{"timeouts.shutdown", within(c.Timeouts.Shutdown, time.Second, time.Hour)},
		{"pools.web", within(c.Pools.Web, 2, 1000)},
		{"pools.scheduler", within(c.Pools.Scheduler, 2, 1000)},
		{"pools.broker", within(c.Pools.Broker, 2, 1000)},
		{"worker.lanes.high", within(c.Worker.Lanes.High, 0, 1024)},
		{"worker.lanes.default", within(c.Worker.Lanes.Default, 0, 1024)},
		{"worker.lanes.low", within(c.Worker.Lanes.Low, 0, 1024)},
	}
	if l := c.Worker.Lanes; l.High == 0 && l.Default == 0 && l.Low == 0 {
		checks = append(checks, check{"worker.lanes.default", "every lane has 0 threads, so the worker could run nothing"})
	}
	return checks
}

// storeChecks judges the stores' URLs, and that a mode which meets other processes has stores that they share. A
// worker never touches the database, so its URL may stand in a shared file unread.
func (c Config) storeChecks(mode Mode) []check {
	checks := []check{
		{"database_url", wrongDatabaseURL(string(c.DatabaseURL))},
		{"redis_url", wrongRedisURL(string(c.RedisURL))},
	}
	if c.RegistryRedisURL != c.RedisURL {
		checks = append(checks, check{"registry_redis_url", wrongRedisURL(string(c.RegistryRedisURL))})
	}
	if mode == ModeAll || !slices.Contains(Modes(), mode) {
		return checks
	}
	const why = "mode %s meets other processes only through a %s that all of them reach, and the embedded one is inside one process: set %s, or run --mode=all"
	if c.DatabaseURL == "" && mode != ModeWorker {
		checks = append(checks, check{"database_url", fmt.Sprintf(why, mode, "database", envOf("database_url"))})
	}
	if c.RedisURL == "" {
		checks = append(checks, check{"redis_url", fmt.Sprintf(why, mode, "Redis", envOf("redis_url"))})
	}
	return checks
}

func oneOf[T ~string](got T, allowed []T) string {
	if slices.Contains(allowed, got) {
		return ""
	}
	words := make([]string, len(allowed))
	for i, a := range allowed {
		words[i] = string(a)
	}
	return fmt.Sprintf("%q is none of %s%s", string(got), strings.Join(words, ", "), hint(string(got), words))
}

func within[T int | time.Duration](got, low, high T) string {
	if got < low || got > high {
		return fmt.Sprintf("%v is not from %v to %v", got, low, high)
	}
	return ""
}

func wrongData(dir string) string {
	if dir == "" || strings.ContainsRune(dir, 0) {
		return "wants the path of a folder"
	}
	return ""
}

func wrongListen(addr string) string {
	const wants = "wants HOST:PORT such as 127.0.0.1:8080 or :8080"
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Sprintf("%s, not %q", wants, addr)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Sprintf("%s, and %q is no port", wants, port)
	} else if n == 0 && host == "" {
		return "port 0 picks any port, on every interface; name a port"
	}
	return ""
}

func wrongZone(name string) string {
	if name == "" || name == "Local" {
		return "wants the name of a time zone such as UTC or Asia/Shanghai: this machine's own is not the next one's"
	}
	if _, err := time.LoadLocation(name); err != nil {
		return fmt.Sprintf("%q is no time zone; names look like UTC or Asia/Shanghai", name)
	}
	return ""
}

func wrongText(text string, most int) string {
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > most || strings.ContainsFunc(text, unicode.IsControl) {
		return fmt.Sprintf("wants at most %d characters on one line", most)
	}
	return ""
}

// The messages about secrets never repeat them. The rules are those of modules/access, told before a store is opened.

func wrongPassword(text string) string {
	if len(text) > 500 {
		return "wants at most 500 bytes"
	}
	return ""
}

func wrongToken(text string) string {
	if len(text) > 500 || strings.ContainsAny(text, " \t\r\n\x00") {
		return "wants at most 500 bytes without spaces; for example: openssl rand -hex 32"
	}
	return ""
}

// pprofTokenLeast is the fewest bytes of a token that stands alone between a network and the process' memory.
const pprofTokenLeast = 16

func wrongPprofToken(text string) string {
	if text != "" && len(text) < pprofTokenLeast {
		return fmt.Sprintf("is shorter than %d characters, and whoever guesses it reads the process' memory; for example: openssl rand -hex 32, or leave it out for no profiler", pprofTokenLeast)
	}
	return wrongToken(text)
}

// wrongSecretsKey judges by the rules of modules/kit/seal.
func wrongSecretsKey(text string) string {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n,", r) }) {
		if !isKey(word) {
			return "wants 64 hexadecimal digits or the base64 of 32 bytes, and behind a comma the keys before it; for example: openssl rand -hex 32"
		}
	}
	return ""
}

func isKey(word string) bool {
	const keyBytes = 32
	raw, err := hex.DecodeString(word)
	if err != nil {
		plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(word, "="))
		raw, err = base64.RawStdEncoding.DecodeString(plain)
	}
	return err == nil && len(raw) == keyBytes
}

func wrongKeyFile(s Secrets) string {
	switch {
	case strings.ContainsRune(s.KeyFile, 0):
		return "wants the path of a file"
	case s.KeyFile != "" && s.Key != "":
		return "stands beside secrets.key, and nobody knows which counts: give one of them"
	}
	return ""
}

// webhookSecretLeast is the fewest bytes of a secret by which a receiver knows that a notice is from AX.
const webhookSecretLeast = 16

func wrongWebhookSecret(a Alerts) string {
	wrong := wrongToken(string(a.WebhookSecret))
	switch {
	case wrong != "":
		return wrong
	case a.WebhookURL == "" && a.WebhookSecret != "":
		return "stands without alerts.webhook_url, so nobody would be told of anything: give the URL (" + envOf("alerts.webhook_url") + "), or take the secret away"
	case a.WebhookURL != "" && len(a.WebhookSecret) < webhookSecretLeast:
		return fmt.Sprintf("wants at least %d characters beside alerts.webhook_url, since notices are signed with it; for example: openssl rand -hex 32", webhookSecretLeast)
	}
	return ""
}

// wrongWebhook never repeats the address, which may hold a secret. What a name resolves to
// is judged when a notice is sent.
func wrongWebhook(text string) string {
	if text == "" {
		return ""
	}
	if wrong := wrongHTTP(text); wrong != "" {
		return wrong
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "is no URL"
	case u.User != nil:
		return "takes no USER:PASSWORD@, which proxies and logs would see: notices are signed with alerts.webhook_secret; a token that the receiver wants beside it may stand in the path or after ?"
	case noReceiver(u.Hostname()):
		return "is an address at which machines ask for their own secrets (link-local or a cloud's metadata), or none at all: give that of the receiver"
	}
	return ""
}

// noReceiver reports whether a host is one that notices are never sent to.
func noReceiver(host string) bool {
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return name == "metadata" || name == "metadata.google.internal" || name == "instance-data"
	}
	ip = ip.Unmap().WithZone("")
	return ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() || ip == netip.MustParseAddr("fd00:ec2::254") || ip == netip.MustParseAddr("100.100.100.200")
}

func wrongPagesURL(text string) string {
	if text == "" {
		return ""
	}
	if wrong := wrongHTTP(text); wrong != "" {
		return wrong
	}
	if strings.ContainsAny(text, "?#") {
		return "wants no ? and no #: paths of pages are put behind it"
	}
	return ""
}

func wrongHTTP(text string) string {
	if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "wants https://HOST/PATH or http://HOST/PATH"
	}
	return ""
}

// wrongWorkerName: the name is part of queue names, where ":" separates.
func wrongWorkerName(name string) string {
	ok := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r))
	}
	if len(name) > 63 || strings.ContainsFunc(name, func(r rune) bool { return !ok(r) }) {
		return fmt.Sprintf("%q is no name: at most 63 of a-z, A-Z, 0-9, dot, dash and underscore", name)
	}
	return ""
}

func wrongTag(tag string) string {
	bad := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	if tag == "" || !utf8.ValidString(tag) || utf8.RuneCountInString(tag) > 100 || strings.ContainsFunc(tag, bad) {
		return fmt.Sprintf("%q is no tag: 1 to 100 characters without spaces or commas", tag)
	}
	if strings.HasPrefix(tag, "source:") || strings.HasPrefix(tag, "user:") {
		return fmt.Sprintf("%q says what worker.sources and worker.users say", tag)
	}
	return ""
}

// The messages about URLs never repeat them: a password may stand anywhere in a wrong one.

func wrongDatabaseURL(text string) string {
	const wants = "wants mysql://USER:PASSWORD@HOST:PORT/DATABASE"
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return wants + "; special characters in the password must be percent-encoded"
	case u.Scheme != "mysql":
		return wants + ", for MySQL and MariaDB alike"
	case u.Host == "" || u.Hostname() == "":
		return wants + "; the host is missing"
	case strings.Trim(u.Path, "/") == "" || strings.Contains(strings.Trim(u.Path, "/"), "/"):
		return wants + "; the database's name is missing or has a /"
	case u.User.Username() == "":
		return wants + "; the user is missing"
	}
	return ""
}

func wrongRedisURL(text string) string {
	const wants = "wants redis://HOST:PORT/NUMBER, rediss://… for TLS, redis-sentinel://HOST:PORT,HOST:PORT/MASTER, or unix:///PATH?db=NUMBER"
	switch {
	case text == "":
		return ""
	case isSentinel(text):
		return wrongSentinelURL(text)
	}
	u, err := url.Parse(text)
	if err != nil {
		return wants + "; special characters in the password must be percent-encoded"
	}
	switch u.Scheme {
	case "redis", "rediss":
		number := strings.Trim(u.Path, "/")
		if _, err := strconv.ParseUint(number, 10, 16); number != "" && err != nil {
			return wants + "; what follows the host is no number"
		}
		if u.Hostname() == "" {
			return wants + "; the host is missing"
		}
	case "unix":
		if u.Path == "" {
			return wants + "; the path is missing"
		}
	default:
		return wants
	}
	return ""
}
