-- +goose Up
-- Backfills and the frozen list of each. What a process left that died between two of these statements is made anew:
-- AX has not run on it.
DROP TABLE IF EXISTS backfill;
DROP TABLE IF EXISTS backfill_item;

-- The n_ columns count its items by state and are written with them. not_from and not_to: minutes of the day in zone
-- between which nothing begins; equal = no such time. pause: why it is paused (person, failure, deleted).
CREATE TABLE backfill (
    id BIGINT NOT NULL PRIMARY KEY,
    project_id BIGINT NOT NULL,
    job_id BIGINT NOT NULL,
    job_name VARCHAR(201) NOT NULL,
    reach VARCHAR(12) NOT NULL,
    wanted VARCHAR(10) NOT NULL,
    first_date VARCHAR(10) NOT NULL,
    last_date VARCHAR(10) NOT NULL,
    dates INT NOT NULL,
    degree INT NOT NULL,
    newest_first BOOLEAN NOT NULL,
    goes_on BOOLEAN NOT NULL,
    not_from INT NOT NULL,
    not_to INT NOT NULL,
    zone VARCHAR(64) NOT NULL,
    params MEDIUMTEXT NOT NULL,
    reason VARCHAR(1000) NOT NULL,
    hash CHAR(64) NOT NULL,
    estimate_ms BIGINT NOT NULL,
    state CHAR(10) NOT NULL,
    pause VARCHAR(10) NOT NULL DEFAULT '',
    pause_by VARCHAR(210) NOT NULL DEFAULT '',
    kills BOOLEAN NOT NULL DEFAULT 0,
    n_waiting INT NOT NULL,
    n_running INT NOT NULL DEFAULT 0,
    n_success INT NOT NULL DEFAULT 0,
    n_failed INT NOT NULL DEFAULT 0,
    n_left INT NOT NULL DEFAULT 0,
    n_dropped INT NOT NULL DEFAULT 0,
    created_by VARCHAR(100) NOT NULL,
    created_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    finished_at BIGINT NOT NULL DEFAULT 0,
    ver BIGINT NOT NULL
) /*!50600 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE INDEX backfill_state ON backfill (state, id);
CREATE INDEX backfill_job ON backfill (job_id, id);

-- no is the order; step: what is made together. run_no: of act again the run that had ended, and once it is made the
-- run that stands for the item.
CREATE TABLE backfill_item (
    backfill_id BIGINT NOT NULL,
    no INT NOT NULL,
    step INT NOT NULL,
    project_id BIGINT NOT NULL,
    job_id BIGINT NOT NULL,
    job_name VARCHAR(201) NOT NULL,
    biz_date VARCHAR(10) NOT NULL,
    expected_at BIGINT NOT NULL,
    fire_key VARCHAR(40) NOT NULL,
    act VARCHAR(10) NOT NULL,
    why VARCHAR(20) NOT NULL,
    was VARCHAR(31) NOT NULL,
    version INT NOT NULL,
    waits BOOLEAN NOT NULL,
    instance_id BIGINT NOT NULL DEFAULT 0,
    run_no INT NOT NULL DEFAULT 0,
    state CHAR(10) NOT NULL,
    PRIMARY KEY (backfill_id, no)
) /*!50600 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE INDEX backfill_item_state ON backfill_item (backfill_id, state, no);

-- Missed fires of many jobs are listed by time.
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'fire_gap' AND index_name = 'fire_gap_time'), 'ALTER TABLE fire_gap DROP INDEX fire_gap_time', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
CREATE INDEX fire_gap_time ON fire_gap (kind, from_at, id);

-- +goose Down
/*!50600 ALTER TABLE fire_gap DROP INDEX fire_gap_time */;
DROP TABLE backfill_item;
DROP TABLE backfill;
