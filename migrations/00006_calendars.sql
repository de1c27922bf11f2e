-- +goose Up
-- Calendars of working days. What a process left that died between two of these statements is made anew: AX has not
-- run on it.
DROP TABLE IF EXISTS calendar;
DROP TABLE IF EXISTS calendar_version;
DROP TABLE IF EXISTS calendar_use;

-- deleted_at is part of the key, so that a name can be used again; the versions of the old one stay.
CREATE TABLE calendar (
    id BIGINT NOT NULL PRIMARY KEY,
    project_id BIGINT NOT NULL,
    name VARCHAR(100) NOT NULL,
    title VARCHAR(200) NOT NULL DEFAULT '',
    version INT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deleted_at BIGINT NOT NULL DEFAULT 0
) /*!50600 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE UNIQUE INDEX calendar_name ON calendar (project_id, name, deleted_at);

-- Never changed once written. body is the whole calendar as YAML, note how it came about.
CREATE TABLE calendar_version (
    calendar_id BIGINT NOT NULL,
    version INT NOT NULL,
    project_id BIGINT NOT NULL,
    body MEDIUMTEXT NOT NULL,
    note VARCHAR(400) NOT NULL DEFAULT '',
    created_by VARCHAR(100) NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (calendar_id, version)
) /*!50600 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;

-- Which job lives by which calendar, under its newest version.
CREATE TABLE calendar_use (
    job_id BIGINT NOT NULL PRIMARY KEY,
    calendar_id BIGINT NOT NULL,
    project_id BIGINT NOT NULL
) /*!50600 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE INDEX calendar_use_calendar ON calendar_use (calendar_id, job_id);

-- calendar_id 0 = none. gate: on which days and what else, like workday/skip. carried: fires that a change of the
-- calendar must not lose or double, by day. SQLite adds one column at a time; the MySQL family first drops what it left.
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'trigger' AND column_name = 'calendar_id'), 'ALTER TABLE `trigger` DROP COLUMN calendar_id', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE `trigger` ADD COLUMN calendar_id BIGINT NOT NULL DEFAULT 0;
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'trigger' AND column_name = 'calendar_version'), 'ALTER TABLE `trigger` DROP COLUMN calendar_version', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE `trigger` ADD COLUMN calendar_version INT NOT NULL DEFAULT 0;
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'trigger' AND column_name = 'gate'), 'ALTER TABLE `trigger` DROP COLUMN gate', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE `trigger` ADD COLUMN gate VARCHAR(20) NOT NULL DEFAULT '';
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'schedule_span' AND column_name = 'calendar_id'), 'ALTER TABLE schedule_span DROP COLUMN calendar_id', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE schedule_span ADD COLUMN calendar_id BIGINT NOT NULL DEFAULT 0;
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'schedule_span' AND column_name = 'calendar_version'), 'ALTER TABLE schedule_span DROP COLUMN calendar_version', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE schedule_span ADD COLUMN calendar_version INT NOT NULL DEFAULT 0;
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'schedule_span' AND column_name = 'gate'), 'ALTER TABLE schedule_span DROP COLUMN gate', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE schedule_span ADD COLUMN gate VARCHAR(20) NOT NULL DEFAULT '';
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'schedule_span' AND column_name = 'carried'), 'ALTER TABLE schedule_span DROP COLUMN carried', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE schedule_span ADD COLUMN carried VARCHAR(4000) NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE schedule_span DROP COLUMN carried;
ALTER TABLE schedule_span DROP COLUMN gate;
ALTER TABLE schedule_span DROP COLUMN calendar_version;
ALTER TABLE schedule_span DROP COLUMN calendar_id;
ALTER TABLE `trigger` DROP COLUMN gate;
ALTER TABLE `trigger` DROP COLUMN calendar_version;
ALTER TABLE `trigger` DROP COLUMN calendar_id;
DROP TABLE calendar_use;
DROP TABLE calendar_version;
DROP TABLE calendar;
