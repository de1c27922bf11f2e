package main

import (
	"fmt"
	"strings"
	"time"
)

// mostApplied is how many jobs of a set are applied as files; more are copied in the database, which takes seconds
// where files take minutes. A copy differs from its pattern in ids and name only.
const mostApplied = 1000

// put puts the jobs into force: the first mostApplied as files, the rest as copies of them. A scheduler learns of
// copies when it next reads the coming fires, within about five seconds.
func (s *stage) put(j jobs) {
	began := time.Now()
	patterns := j
	patterns.n = min(j.n, mostApplied)
	s.apply(patterns)
	s.say("%d %s jobs applied in %.1f s", patterns.n, j.kind, time.Since(began).Seconds())
	if j.n > mostApplied {
		began = time.Now()
		s.copyJobs(j, j.n-mostApplied)
		s.say("%d copied in %.1f s", j.n-mostApplied, time.Since(began).Seconds())
	}
}

// firstFree is above every id that a copy gets and below every id that AX makes.
const firstFree = int64(1) << 40

// copyJobs makes n copies of the set's applied jobs, all as often. The copies' ids are small numbers, which AX never
// makes. Grids of every: are moved by a different part of a second each, so that they are spread.
func (s *stage) copyJobs(j jobs, n int) {
	base := s.number("SELECT COALESCE(MAX(id), 0) FROM job WHERE id < ?", firstFree)
	s.exec("DROP TABLE IF EXISTS bench_copy")
	s.exec("CREATE TABLE bench_copy (id BIGINT NOT NULL PRIMARY KEY, pattern BIGINT NOT NULL, old_name VARCHAR(100) NOT NULL, new_name VARCHAR(100) NOT NULL, moved BIGINT NOT NULL)")
	patterns := "SELECT id, name, ROW_NUMBER() OVER (ORDER BY id) AS place FROM job WHERE id >= ? AND name LIKE ? ESCAPE '!'"
	moved := "0"
	if strings.HasPrefix(j.schedule, "every:") {
		moved = "(p.place * 37 + 11) % 1000"
	}
	for i := 0; i*mostApplied < n; i++ {
		s.exec("INSERT INTO bench_copy (id, pattern, old_name, new_name, moved) SELECT ? + p.place, p.id, p.name, REPLACE(p.name, ?, ?), "+moved+
			" FROM ("+patterns+") p WHERE p.place <= ? ORDER BY 1",
			base+int64(i)*mostApplied, j.prefix+"_", fmt.Sprintf("%s_copy%d_", j.prefix, base/mostApplied+int64(i)), firstFree, j.like(), n-i*mostApplied)
		s.wait(time.Now()) // ^C
	}
	for _, copy := range []string{
		"INSERT INTO job (id, project_id, name, title, owner, version, enabled, ver, created_at, updated_at) " +
			"SELECT c.id, t.project_id, c.new_name, t.title, t.owner, t.version, t.enabled, t.ver, t.created_at, t.updated_at " +
			"FROM bench_copy c JOIN job t ON t.id = c.pattern ORDER BY c.id",
		"INSERT INTO job_version (job_id, version, project_id, source, spec, digest, created_by, created_at) " +
			"SELECT c.id, t.version, t.project_id, REPLACE(t.source, c.old_name, c.new_name), REPLACE(t.spec, c.old_name, c.new_name), t.digest, t.created_by, t.created_at " +
			"FROM bench_copy c JOIN job_version t ON t.job_id = c.pattern ORDER BY c.id",
		"INSERT INTO schedule_span (id, project_id, job_id, version, kind, expr, dialect, timezone, biz_date_rule, anchor_at, from_at, to_at) " +
			"SELECT c.id, t.project_id, c.id, t.version, t.kind, t.expr, t.dialect, t.timezone, t.biz_date_rule, t.anchor_at + c.moved, t.from_at + c.moved, t.to_at " +
			"FROM bench_copy c JOIN schedule_span t ON t.job_id = c.pattern ORDER BY c.id",
		"INSERT INTO `trigger` (id, project_id, job_id, version, kind, expr, dialect, timezone, biz_date_rule, misfire, anchor_at, enabled, next_fire_at, last_fire_at, ver, updated_at) " +
			"SELECT c.id, t.project_id, c.id, t.version, t.kind, t.expr, t.dialect, t.timezone, t.biz_date_rule, t.misfire, t.anchor_at + c.moved, t.enabled, t.next_fire_at + c.moved, t.last_fire_at, t.ver, t.updated_at " +
			"FROM bench_copy c JOIN `trigger` t ON t.job_id = c.pattern ORDER BY c.id",
	} {
		s.exec(copy)
	}
	s.exec("DROP TABLE bench_copy")
}
