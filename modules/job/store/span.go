package store

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// KeepStarts notes from when on, or until when, ends of its upstreams start a job: after its
// edges or its being enabled were written, and in the same transaction. What was in force
// goes on from when it was; what is over is kept for as long as the sweeper may ask.
func (s *Store) KeepStarts(ctx context.Context, job domain.ID, enabled bool, at time.Time) error {
	const inForce = "EXISTS (SELECT 1 FROM job_dep d WHERE d.job_id = down AND d.upstream_job_id = up AND d.outcome = start_span.outcome AND d.starts = 1)"
	now, on := domain.Millis(at), 0
	if enabled {
		on = 1
	}
	if _, err := s.db.Exec(ctx, "UPDATE start_span SET to_at = ? WHERE down = ? AND to_at = 0 AND (? = 0 OR NOT "+inForce+")", now, job, on); err != nil {
		return err
	}
	if _, err := s.db.Exec(ctx, "DELETE FROM start_span WHERE down = ? AND to_at > 0 AND (to_at <= from_at OR to_at < ?)", job, domain.Millis(at.Add(-spansKept))); err != nil {
		return err
	}
	if !enabled {
		return nil
	}
	_, err := s.db.Exec(ctx, "INSERT INTO start_span (down, up, outcome, from_at) SELECT DISTINCT d.job_id, d.upstream_job_id, d.outcome, "+
		"(SELECT ?) FROM job_dep d WHERE d.job_id = ? AND d.starts = 1 "+
		"AND NOT EXISTS (SELECT 1 FROM start_span s WHERE s.down = d.job_id AND s.up = d.upstream_job_id AND s.outcome = d.outcome AND s.to_at = 0)", now, job)
	return err
}

// spansKept is how long a span that is over is kept: a day longer than an end is looked after.
const spansKept = domain.StartsLookBack + 24*time.Hour

// StartSpans reads when ends started these jobs, by the edge; nothing for an edge that never did.
func (s *Store) StartSpans(ctx context.Context, downs []domain.ID) (map[domain.StartEdge][]domain.StartSpan, error) {
	out := map[domain.StartEdge][]domain.StartSpan{}
	if len(downs) == 0 {
		return out, nil
	}
	err := s.db.Each(ctx, func(scan func(...any) error) error {
		var up, down, from, to int64
		var check string
		if err := scan(&down, &up, &check, &from, &to); err != nil {
			return err
		}
		e := domain.StartEdge{Up: domain.ID(up), Down: domain.ID(down), Check: check}
		out[e] = append(out[e], domain.StartSpan{From: domain.FromMillis(from), To: domain.FromMillis(to)})
		return nil
	}, "SELECT down, up, outcome, from_at, to_at FROM start_span WHERE down IN ?", downs)
	return out, err
}
