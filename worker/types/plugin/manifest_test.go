package plugin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axsched/ax/worker/protocol"
)

const goodManifest = `manifest: v1
name: acme
version: 1.0
command: [python3, main.py]
types:
  - name: acme_copy
    params:
      - name: table
        required: true
`

func TestAManifestIsReadAsItIsWritten(t *testing.T) {
	m, faults := parse([]byte(goodManifest+`pool: 3
env: {A: "1"}
config: {a: [1, x]}
venv: {requirements: r.txt, wheels: w}
timeouts: {start: 5}
`), "plugin.yaml")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if m.Name != "acme" || m.Version != "1.0" || m.Pool != 3 || m.Dump != "SIGABRT" || m.Start.Seconds() != 5 || m.Install.Minutes() != 10 || m.Env["A"] != "1" || m.Venv.Python != "python3" {
		t.Errorf("%+v", m)
	}
	p := m.Types[0].Params[0]
	if p.Name != "table" || p.Kind != protocol.KindText || !p.Required {
		t.Errorf("%+v", p)
	}
	as, faults := parse([]byte(`{"manifest": "v1", "name": "acme", "version": "1", "command": ["./run"], "types": [{"name": "a", "about": "text"}]}`), "plugin.json")
	if len(faults) > 0 || as.Types[0].About.In("zh-CN") != "text" || as.Types[0].Params != nil || as.Dump != "SIGTERM" {
		t.Errorf("%v %+v", faults, as)
	}
}

// Each fault of a manifest names its line and key.
func TestFaultsOfAManifestNameLineAndKey(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"manifest: v1", "manifest: v2", `plugin.yaml:1: manifest: "v2"`},
		{"name: acme\n", "name: Acme\n", `plugin.yaml:2: name: "Acme"`},
		{"name: acme\n", "", "plugin.yaml:1: name: it is missing"},
		{"version: 1.0", "versoin: 1.0", "plugin.yaml:3: versoin: there is no such key"},
		{"[python3, main.py]", "python3", "plugin.yaml:4: command: a list is wanted"},
		{"[python3, main.py]", "[]", "plugin.yaml:4: command: the first word"},
		{"types:", "pool: many\ntypes:", "plugin.yaml:5: pool: a whole number from 1 to 64"},
		{"types:", "pool: 65\ntypes:", "plugin.yaml:5: pool: a whole number"},
		{"types:", "env: {AX_X: y}\ntypes:", "plugin.yaml:5: env.AX_X: names that begin with AX_"},
		{"types:", "env: [a]\ntypes:", "plugin.yaml:5: env: a map"},
		{"types:", "dump_signal: SIGKILL\ntypes:", "plugin.yaml:5: dump_signal: "},
		{"types:", "venv: {requirements: r.txt}\ntypes:", "plugin.yaml:5: venv: requirements are installed from local wheels only"},
		{"types:", "venv: {wheels: ../w}\ntypes:", "plugin.yaml:5: venv.wheels: "},
		{"types:", "timeouts: {start: 0}\ntypes:", "plugin.yaml:5: timeouts.start: "},
		{"types:", "config: {a: 1, a: 2}\ntypes:", "plugin.yaml:5:"},
		{"acme_copy", "acme copy", `plugin.yaml:6: types[0].name: "acme copy"`},
		{"name: table", "name: ta.ble", "plugin.yaml:8: types[0].params[0].name: "},
		{"name: table", "name: type", "plugin.yaml:8: types[0].params[0]: type is the key"},
		{"required: true", "required: yes", "plugin.yaml:9: types[0].params[0].required: true or false"},
		{"required: true", "kind: int", "plugin.yaml:9: types[0].params[0].kind: "},
		{"required: true", "{kind: number, default: x}", "plugin.yaml:"},
		{"required: true", "kind: number\n        default: x", `plugin.yaml:8: types[0].params[0]: the default "x" is no number`},
		{"required: true", "choices: [a]\n        default: b", "none of the choices"},
		{"required: true", "about: {de: x}", "plugin.yaml:9: types[0].params[0].about.de: a language of AX"},
		{"        required: true\n", "      - name: table\n", "plugin.yaml:9: types[0].params[1]: the parameter table stands there twice"},
		{"types:", "types: {\n", "plugin.yaml:"},
	} {
		text := strings.Replace(goodManifest, c.from, c.to, 1)
		_, faults := parse([]byte(text), "plugin.yaml")
		if len(faults) == 0 || !strings.Contains(faults[0].Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.to, faults, c.want)
		}
	}
	if _, faults := parse(nil, "plugin.yaml"); len(faults) != 1 {
		t.Errorf("an empty file: %v", faults)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plugin.yaml"), []byte(strings.Replace(goodManifest, "python3, main.py", "./run", 1)+"venv: {requirements: r.txt, wheels: w}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, faults, err := ReadManifest(dir)
	if err != nil || len(faults) != 3 || !strings.Contains(faults[0].Error(), "command: ./run can't be found") {
		t.Errorf("files that are not there: %v, %v", faults, err)
	}
}

// A setting fits its parameter, or is refused with its name; what a template made of text is read as what it says.
func TestSettingsFitTheirParameters(t *testing.T) {
	params := []protocol.TypeParam{{Name: "t", Kind: protocol.KindText, Required: true}, {Name: "n", Kind: protocol.KindNumber, Default: "1"}, {Name: "b", Kind: protocol.KindBoolean},
		{Name: "l", Kind: protocol.KindList}, {Name: "m", Kind: protocol.KindMap}, {Name: "c", Kind: protocol.KindText, Choices: []string{"x", "5"}}}
	for in, want := range map[string]string{
		`{"t":"a"}`: `{"n":1,"t":"a"}`,
		`{"t":5,"n":"2.5","b":"true","l":"[1]","m":{"a":1},"c":5}`: `{"b":true,"c":"5","l":[1],"m":{"a":1},"n":2.5,"t":"5"}`,
		`{"t":true,"n":1e3}`:  `{"n":1e3,"t":"true"}`,
		`{}`:                  "exec.t is missing",
		`{"t":null}`:          "exec.t: ",
		`{"t":"a","n":"0x1"}`: "exec.n: ",
		`{"t":"a","n":[1]}`:   "exec.n: ",
		`{"t":"a","b":1}`:     "exec.b: ",
		`{"t":"a","l":"x"}`:   "exec.l: ",
		`{"t":"a","m":[]}`:    "exec.m: ",
		`{"t":"a","c":"y"}`:   "exec.c: ",
		`{"t":"a","z":1}`:     "exec.z: the type has no such parameter",
		`[]`:                  "not an object",
	} {
		got, err := settle([]byte(in), params)
		if said := string(got); err != nil {
			if said = err.Error(); !strings.Contains(said, want) || strings.HasPrefix(want, "{") {
				t.Errorf("%s: %v, want %s", in, err, want)
			}
		} else if said != want {
			t.Errorf("%s: %s, want %s", in, said, want)
		}
	}
	if got, err := settle([]byte(`{"type":"x","any":[1]}`), nil); err != nil || string(got) != `{"any":[1]}` {
		t.Errorf("a type that says nothing: %s, %v", got, err)
	}
}
