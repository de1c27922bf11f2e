package scenarios

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axsched/ax/e2e/setup"
)

// A job gets a secret and an input, its output shows the one as stars, its downstream gets what it hands over, and no file
// that AX wrote on the way holds the secret: neither database nor journal, spool or log of a process. (J-G16)
func TestSecretsInputsAndResultsOnTheirWholeWay(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c := s.Up(t, setup.Opts{Env: []string{"AX_SECRETS_KEY=" + strings.Repeat("0a1b", 16)}})
		const hidden = "hunter2-on-its-way"
		if a, err := c.Call("PUT", "/api/v1/secrets/db_password", `{"value":"`+hidden+`"}`); err != nil || strings.Contains(a.Body, hidden) {
			t.Fatalf("%v %v", a, err)
		}
		c.Apply(files(
			shellJob("up", `echo "connecting with $PW"
printf '{"rows": 9007199254740993, "mode": "%s", "pw": "%s"}' "$AX_PARAM_mode" "$PW" > "$AX_RESULT_FILE"`,
				"timeout: 60", "env: {PW: '{{secrets.db_password}}'}", "inputs:\n  - {name: mode, type: choice, choices: [full, delta], default: delta}", "outputs: [rows, mode, pw]"),
			shellJob("down", `echo "got {{upstream.up.result.rows}} $MODE {{upstream.up.result.pw}}"`, "timeout: 60", "deps: [{name: up}]", "env: {MODE: '{{upstream.up.result.mode}}'}")))
		if said := c.Run("trigger", "up", "--param", "mode=half"); said.Code != 1 || !strings.Contains(said.Err, "none of full, delta") {
			t.Errorf("a value that is no choice: %+v", said)
		}
		up, down := c.Trigger("up", "--param", "mode=full"), c.Trigger("down")
		c.Await(up.ID, "success")
		c.Await(down.ID, "success")
		c.AwaitLog(up.ID, "connecting with ***")
		c.AwaitLog(down.ID, "got 9007199254740993 full ***")
		err := filepath.WalkDir(s.Dir(), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // gone meanwhile, or a socket
			}
			if text, _ := os.ReadFile(path); strings.Contains(string(text), hidden) {
				t.Errorf("%s holds the secret", path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
