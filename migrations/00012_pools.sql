-- +goose Up
-- Pools: how many instances of the jobs that name one may be with workers at once. Who has a place is never counted up
-- and down: it is read from the instances. What a process left that died between two of these statements is made anew:
-- AX has not run on it.
DROP TABLE IF EXISTS pool;

-- places 0 = paused. ver is raised by every change.
CREATE TABLE pool (
    id BIGINT NOT NULL PRIMARY KEY,
    project_id BIGINT NOT NULL,
    name VARCHAR(100) NOT NULL,
    title VARCHAR(200) NOT NULL DEFAULT '',
    places INT NOT NULL,
    ver BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
) /*!50600 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE UNIQUE INDEX pool_name ON pool (project_id, name);

-- pool: the name of one of the same project, '' = none. An instance keeps that of its run's version, a job has that of its
-- newest. SQLite adds one column at a time; the MySQL family first drops what it left.
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'instance' AND column_name = 'pool'), 'ALTER TABLE instance DROP COLUMN pool', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE instance ADD COLUMN pool VARCHAR(100) NOT NULL DEFAULT '';
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'job' AND index_name = 'job_pool'), 'ALTER TABLE job DROP INDEX job_pool', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'job' AND column_name = 'pool'), 'ALTER TABLE job DROP COLUMN pool', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE job ADD COLUMN pool VARCHAR(100) NOT NULL DEFAULT '';
CREATE INDEX job_pool ON job (project_id, pool);

-- +goose Down
/*!50600 ALTER TABLE job DROP INDEX job_pool */;
ALTER TABLE job DROP COLUMN pool;
ALTER TABLE instance DROP COLUMN pool;
DROP TABLE pool;
