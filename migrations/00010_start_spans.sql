-- +goose Up
-- While an end of up, with this outcome, started down: the sweeper goes by it when it makes good what a process that
-- died had not started. to_at 0 = in force still. A job that is paused has no such time; one that is edited keeps it.
CREATE TABLE IF NOT EXISTS start_span (
    down BIGINT NOT NULL,
    up BIGINT NOT NULL,
    outcome VARCHAR(10) NOT NULL,
    from_at BIGINT NOT NULL,
    to_at BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (down, up, outcome, from_at)
) /*!50600 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
INSERT INTO start_span (down, up, outcome, from_at)
    SELECT DISTINCT d.job_id, d.upstream_job_id, d.outcome, j.updated_at FROM job_dep d JOIN job j ON j.id = d.job_id
    WHERE d.starts = 1 AND j.enabled = 1 AND j.deleted_at = 0 AND NOT EXISTS (SELECT 1 FROM start_span s WHERE s.down = d.job_id);

-- +goose Down
DROP TABLE start_span;
