// Package store is the SQL of the tables worker and worker_catalog.
package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// Store reads and writes the workers that pages show.
type Store struct {
	db *dbx.DB
}

// New is a store over the pool.
func New(db *dbx.DB) *Store { return &Store{db} }

type row struct {
	Name      string
	Boot      int64
	State     string
	Host      string
	IP        string
	Version   string
	Types     string
	Tags      string
	Lanes     string
	Cores     int
	Running   int
	SkewMs    int64
	MeanMs    int64
	Drain     bool
	StartedAt int64
	SeenAt    int64
	LostAt    int64

	RefusingAt int64
	Disk       string
}

// Save writes the workers as last seen. Who was asked to drain stays asked.
func (s *Store) Save(ctx context.Context, ws []domain.Worker) error {
	rows := make([][]any, 0, len(ws))
	for _, w := range ws {
		rows = append(rows, []any{w.Name, w.Boot, string(w.State), w.Host, w.IP, w.Version, encode(w.Types), encode(w.Tags), encode(w.Lanes), w.Cores, w.Running,
			w.Skew.Milliseconds(), w.Mean.Milliseconds(), false, domain.Millis(w.Started), domain.Millis(w.SeenAt), domain.Millis(w.LostAt), domain.Millis(w.RefusingAt), w.Disk})
	}
	return s.db.Upsert(ctx, "worker", []string{"name"},
		[]string{"name", "boot", "state", "host", "ip", "version", "types", "tags", "lanes", "cores", "running", "skew_ms", "mean_ms", "drain", "started_at", "seen_at", "lost_at", "refusing_at", "disk"},
		"boot = NEW(boot), state = NEW(state), host = NEW(host), ip = NEW(ip), version = NEW(version), types = NEW(types), tags = NEW(tags), "+
			"lanes = NEW(lanes), cores = NEW(cores), running = NEW(running), skew_ms = NEW(skew_ms), mean_ms = NEW(mean_ms), "+
			"started_at = NEW(started_at), seen_at = NEW(seen_at), lost_at = NEW(lost_at), refusing_at = NEW(refusing_at), disk = NEW(disk)", rows)
}

// Lost notes that a life is lost, as of w.LostAt, unless the row is of another life.
func (s *Store) Lost(ctx context.Context, w domain.Worker) error {
	_, err := s.db.Exec(ctx, "UPDATE worker SET state = ?, lost_at = ? WHERE name = ? AND boot = ?",
		string(domain.WorkerGone), domain.Millis(w.LostAt), w.Name, w.Boot)
	return err
}

// List reads all workers by name.
func (s *Store) List(ctx context.Context) ([]domain.Worker, error) {
	var rows []row
	err := s.db.Scan(ctx, &rows, "SELECT * FROM worker ORDER BY name")
	out := make([]domain.Worker, len(rows))
	for i, r := range rows {
		out[i] = r.worker()
	}
	return out, err
}

// Tx runs fn in a transaction, or in the one that ctx carries.
func (s *Store) Tx(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Tx(ctx, fn)
}

// ByName reads one worker; NotFound if there is none of the name.
func (s *Store) ByName(ctx context.Context, name string) (domain.Worker, error) {
	var rows []row
	if err := s.db.Scan(ctx, &rows, "SELECT * FROM worker WHERE name = ?", name); err != nil {
		return domain.Worker{}, err
	}
	if len(rows) == 0 {
		return domain.Worker{}, domain.Fail(domain.NotFound, "there is no worker %q", name).Coded("error.no_worker", "worker", name)
	}
	return rows[0].worker(), nil
}

// Drains reads who was asked to take no more.
func (s *Store) Drains(ctx context.Context) (map[string]bool, error) {
	var names []string
	err := s.db.Scan(ctx, &names, "SELECT name FROM worker WHERE drain = 1")
	out := make(map[string]bool, len(names))
	for _, n := range names {
		out[n] = true
	}
	return out, err
}

// SetDrain asks a worker to take no more, or to go on.
func (s *Store) SetDrain(ctx context.Context, name string, drain bool) error {
	_, err := s.db.Exec(ctx, "UPDATE worker SET drain = ? WHERE name = ?", drain, name)
	return err
}

func (r row) worker() domain.Worker {
	w := domain.Worker{Name: r.Name, Boot: r.Boot, State: domain.WorkerState(r.State), Host: r.Host, IP: r.IP, Version: r.Version, Cores: r.Cores,
		Running: r.Running, Skew: time.Duration(r.SkewMs) * time.Millisecond, Mean: time.Duration(r.MeanMs) * time.Millisecond, Drain: r.Drain,
		Started: domain.FromMillis(r.StartedAt), SeenAt: domain.FromMillis(r.SeenAt), LostAt: domain.FromMillis(r.LostAt),
		RefusingAt: domain.FromMillis(r.RefusingAt), Disk: r.Disk}
	_ = json.Unmarshal([]byte(r.Types), &w.Types) // written by us only
	_ = json.Unmarshal([]byte(r.Tags), &w.Tags)
	_ = json.Unmarshal([]byte(r.Lanes), &w.Lanes)
	switch {
	case w.State == domain.WorkerGone: // its last heartbeat's words, of which nothing is known any more
		w.Running, w.RefusingAt = 0, time.Time{}
	case w.Drain && w.State == domain.WorkerAvailable:
		w.State = domain.WorkerDraining
	}
	return w
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return string(b)
}
