-- +goose Up
-- A job may name one upstream several times, for other dates. biz_date_to '' = the set is one date, rule '' = current,
-- on_failure '' = cancel: so rows of the version before mean what they meant, and it may go on writing them, all with no 0.
-- Each MySQL statement is one change that is there or not, so that doing it again does no harm.
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'dep' AND column_name = 'no'), 'DO 0', CONCAT(
    'ALTER TABLE dep ADD COLUMN no INT NOT NULL DEFAULT 0 AFTER upstream_job_id, ADD COLUMN rule VARCHAR(40) NOT NULL DEFAULT '''' AFTER upstream_name, ',
    'ADD COLUMN biz_date_to VARCHAR(10) NOT NULL DEFAULT '''' AFTER biz_date, ADD COLUMN on_failure VARCHAR(10) NOT NULL DEFAULT '''' AFTER outcome, ',
    'DROP PRIMARY KEY, ADD PRIMARY KEY (instance_id, upstream_job_id, no), DROP INDEX dep_upstream, ADD INDEX dep_upstream (upstream_job_id, state, biz_date_to, biz_date)')) */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'job_dep' AND column_name = 'no'), 'DO 0', CONCAT(
    'ALTER TABLE job_dep ADD COLUMN no INT NOT NULL DEFAULT 0, ADD COLUMN first_date VARCHAR(10) NOT NULL DEFAULT '''', ADD COLUMN starts BOOLEAN NOT NULL DEFAULT 0, ',
    'DROP PRIMARY KEY, ADD PRIMARY KEY (job_id, upstream_job_id, no)')) */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;

-- SQLite can't change a primary key: the tables are made anew, in goose's transaction. To the MySQL family each of these
-- statements is a text between quotes, with which it does nothing; so they hold no quote themselves.
/*!50600 DO '*/ ALTER TABLE dep RENAME TO dep_before /*!50600 ' */;
/*!50600 DO '*/ CREATE TABLE dep (
    instance_id BIGINT NOT NULL,
    upstream_job_id BIGINT NOT NULL,
    no INT NOT NULL DEFAULT 0,
    project_id BIGINT NOT NULL,
    upstream_name VARCHAR(201) NOT NULL,
    rule VARCHAR(40) NOT NULL,
    biz_date VARCHAR(10) NOT NULL,
    biz_date_to VARCHAR(10) NOT NULL,
    required VARCHAR(10) NOT NULL,
    outcome VARCHAR(10) NOT NULL,
    on_failure VARCHAR(10) NOT NULL,
    state VARCHAR(10) NOT NULL,
    by_instance BIGINT NOT NULL DEFAULT 0,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (instance_id, upstream_job_id, no)
) /*!50600 ' */;
/*!50600 DO '*/ INSERT INTO dep SELECT instance_id, upstream_job_id, 0, project_id, upstream_name, substr(state, 1, 0), biz_date, substr(state, 1, 0),
    required, outcome, substr(state, 1, 0), state, by_instance, changed_at FROM dep_before /*!50600 ' */;
/*!50600 DO '*/ DROP TABLE dep_before /*!50600 ' */;
/*!50600 DO '*/ CREATE INDEX dep_upstream ON dep (upstream_job_id, state, biz_date_to, biz_date) /*!50600 ' */;
/*!50600 DO '*/ CREATE INDEX dep_waiting ON dep (state, instance_id) /*!50600 ' */;
/*!50600 DO '*/ ALTER TABLE job_dep RENAME TO job_dep_before /*!50600 ' */;
/*!50600 DO '*/ CREATE TABLE job_dep (
    job_id BIGINT NOT NULL,
    upstream_job_id BIGINT NOT NULL,
    project_id BIGINT NOT NULL,
    biz_date VARCHAR(40) NOT NULL,
    required VARCHAR(10) NOT NULL,
    outcome VARCHAR(10) NOT NULL,
    no INT NOT NULL DEFAULT 0,
    first_date VARCHAR(10) NOT NULL,
    starts BOOLEAN NOT NULL DEFAULT 0,
    PRIMARY KEY (job_id, upstream_job_id, no)
) /*!50600 ' */;
/*!50600 DO '*/ INSERT INTO job_dep SELECT job_id, upstream_job_id, project_id, biz_date, required, outcome, 0, substr(biz_date, 1, 0), 0 FROM job_dep_before /*!50600 ' */;
/*!50600 DO '*/ DROP TABLE job_dep_before /*!50600 ' */;
/*!50600 DO '*/ CREATE INDEX job_dep_upstream ON job_dep (upstream_job_id) /*!50600 ' */;

-- Instances that began on a success of an upstream which has run again since.
CREATE TABLE IF NOT EXISTS stale (
    instance_id BIGINT NOT NULL,
    by_instance BIGINT NOT NULL,
    project_id BIGINT NOT NULL,
    by_run BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (instance_id, by_instance)
) /*!50600 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;

-- +goose Down
DROP TABLE stale;
