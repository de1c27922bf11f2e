// Package demo is the project that `make run` starts with: two loads and the
// statistics that depend on them, with the scripts that they run, and a heartbeat.
// It owns those files and how they get into AX, which is over the API like anybody's.
// It never touches a demo project that is there already: it may have been changed.
package demo

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/axsched/ax/app/client"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler"
)

//go:embed files
var files embed.FS

// project is the demo's project.
const project = "demo"

// fired are the jobs that Install starts, upstream first.
func fired() []string {
	return []string{"demo/sync_order_daily", "demo/sync_pay_daily", "demo/order_stat_daily"}
}

// patience is how long Install waits for the first run to end.
const patience = 20 * time.Second

// Install writes the demo's scripts below data and, where there is no demo project
// yet, applies its job files to the AX at baseURL, fires the three jobs once for
// yesterday's business date and waits, not for ever, until they have ended. What it
// did stands in the log.
func Install(ctx context.Context, baseURL, token, data string) error {
	dir, err := filepath.Abs(filepath.Join(data, "demo"))
	if err != nil {
		return err
	}
	if err := writeScripts(dir); err != nil {
		return fmt.Errorf("writing the demo's scripts: %w", err)
	}
	c, err := client.New(baseURL, token, "demo")
	if err != nil {
		return err
	}
	there, err := installed(ctx, c)
	if err != nil {
		return err
	}
	if there {
		slog.Info("the demo project is there already; its scripts were written anew", "scripts", dir)
		return nil
	}
	if err := apply(ctx, c, dir); err != nil {
		return err
	}
	slog.Info("the demo project was installed", "jobs", len(fired())+1, "scripts", dir)
	return firstRun(ctx, c, time.Now())
}

// writeScripts puts every file that is no job file into dir.
func writeScripts(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := fs.ReadDir(files, "files")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if path.Ext(e.Name()) == ".yaml" {
			continue
		}
		text, err := files.ReadFile("files/" + e.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func installed(ctx context.Context, c *client.Client) (bool, error) {
	doc, err := c.Get(ctx, "/api/v1/projects", nil)
	if err != nil {
		return false, err
	}
	var answer struct {
		Projects []struct {
			Name string `json:"name"`
		} `json:"projects"`
	}
	if err := json.Unmarshal(doc, &answer); err != nil {
		return false, fmt.Errorf("reading the list of projects: %w", err)
	}
	for _, p := range answer.Projects {
		if p.Name == project {
			return true, nil
		}
	}
	return false, nil
}

// jobFile is a job file as an apply takes it.
type jobFile struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// jobFiles are the demo's, with the folder of the scripts filled in.
func jobFiles(dir string) ([]jobFile, error) {
	literal := strings.ReplaceAll(dir, "{{", "{{{{") // a value of env is a template
	quoted, err := json.Marshal(literal)             // JSON's quoting is YAML's too
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(files, "files/*.yaml")
	if err != nil {
		return nil, err
	}
	out := make([]jobFile, len(names))
	for i, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out[i] = jobFile{path.Base(name), strings.ReplaceAll(string(text), `"@DEMO_DIR@"`, string(quoted))}
	}
	return out, nil
}

func apply(ctx context.Context, c *client.Client, dir string) error {
	all, err := jobFiles(dir)
	if err != nil {
		return err
	}
	if _, err := c.Large().Send(ctx, http.MethodPost, "/api/v1/apply", map[string]any{"files": all, "dryRun": false}); err != nil {
		return fmt.Errorf("applying the demo's job files: %w", err)
	}
	return nil
}

// firstRun fires the jobs for yesterday and waits until they have ended.
func firstRun(ctx context.Context, c *client.Client, now time.Time) error {
	date, err := yesterday(ctx, c, now)
	if err != nil {
		return err
	}
	var ids []string
	for _, job := range fired() {
		doc, err := c.Send(ctx, http.MethodPost, client.Job(job)+"/trigger", map[string]string{"bizDate": date.String(), "reason": "the demo's first run"})
		if err != nil {
			return fmt.Errorf("firing %s: %w", job, err)
		}
		var made instance
		if err := json.Unmarshal(doc, &made); err != nil {
			return fmt.Errorf("firing %s: %w", job, err)
		}
		ids = append(ids, made.ID)
	}
	slog.Info("the demo's jobs were fired once", "biz_date", date.String())
	limit, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for i, id := range ids {
		status, err := await(limit, c, id)
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", fired()[i], err)
		}
		slog.Info("demo", "job", fired()[i], "instance", id, "state", status)
	}
	return nil
}

// instance is what matters here of one.
type instance struct {
	ID    string       `json:"id"`
	State domain.State `json:"state"`
	Label domain.Label `json:"label"`
}

// await gives the status of an instance when it has ended, or when ctx has.
func await(ctx context.Context, c *client.Client, id string) (domain.Status, error) {
	var in instance
	for {
		doc, err := c.Get(context.WithoutCancel(ctx), client.Instance(id), nil)
		if err != nil {
			return domain.Status{}, err
		}
		if err := json.Unmarshal(doc, &in); err != nil {
			return domain.Status{}, err
		}
		status := domain.Status{State: in.State, Label: in.Label}
		if in.State.Terminal() {
			return status, nil
		}
		select {
		case <-ctx.Done():
			return status, nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// yesterday is the business date before today's in the zone of the demo's jobs.
func yesterday(ctx context.Context, c *client.Client, now time.Time) (domain.BizDate, error) {
	doc, err := c.Get(ctx, client.Job(fired()[0]), nil)
	if err != nil {
		return domain.BizDate{}, err
	}
	var job struct {
		Schedule struct {
			Timezone string `json:"timezone"`
		} `json:"schedule"`
	}
	if err := json.Unmarshal(doc, &job); err != nil {
		return domain.BizDate{}, err
	}
	zone, err := (scheduler.Times{}).Zone(job.Schedule.Timezone)
	if err != nil {
		return domain.BizDate{}, err
	}
	return domain.BizDateOf(now, zone).AddDays(-1), nil
}
