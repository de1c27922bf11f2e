-- +goose Up
-- Moments that pages tell. What a process left that died between two of these statements is made anew.
-- worker.refusing_at: since when it refuses for its clock, 0 = it does not.
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'worker' AND column_name = 'refusing_at'), 'ALTER TABLE worker DROP COLUMN refusing_at', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE worker ADD COLUMN refusing_at BIGINT NOT NULL DEFAULT 0;
-- attempt.reported_at: when its outcome was in the database; finished_at is when the task had ended. 0 = no worker reported it.
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'attempt' AND column_name = 'reported_at'), 'ALTER TABLE attempt DROP COLUMN reported_at', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE attempt ADD COLUMN reported_at BIGINT NOT NULL DEFAULT 0;
-- Who ended an incident by hand, and why.
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'incident' AND column_name = 'ended_by'), 'ALTER TABLE incident DROP COLUMN ended_by', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE incident ADD COLUMN ended_by VARCHAR(100) NOT NULL DEFAULT '';
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'incident' AND column_name = 'ended_why'), 'ALTER TABLE incident DROP COLUMN ended_why', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE incident ADD COLUMN ended_why VARCHAR(1000) NOT NULL DEFAULT '';
-- How the roads fare by which notices go out. failing_at 0 = the last try was taken.
DROP TABLE IF EXISTS channel;
CREATE TABLE channel (
    name VARCHAR(40) NOT NULL PRIMARY KEY,
    taken_at BIGINT NOT NULL DEFAULT 0,
    failed_at BIGINT NOT NULL DEFAULT 0,
    failing_at BIGINT NOT NULL DEFAULT 0,
    next_at BIGINT NOT NULL DEFAULT 0,
    fault VARCHAR(500) NOT NULL DEFAULT ''
) /*!50600 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;

-- +goose Down
DROP TABLE channel;
ALTER TABLE incident DROP COLUMN ended_why;
ALTER TABLE incident DROP COLUMN ended_by;
ALTER TABLE attempt DROP COLUMN reported_at;
ALTER TABLE worker DROP COLUMN refusing_at;
