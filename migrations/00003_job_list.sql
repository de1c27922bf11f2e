-- +goose Up
-- The page of jobs comes in order of names; its filters and its count are judged in the index alone.
-- A process that died between making the index and noting the version left it there, and MySQL knows no IF NOT EXISTS.
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'job' AND index_name = 'job_list'), 'ALTER TABLE job DROP INDEX job_list', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
CREATE INDEX job_list ON job (deleted_at, name, id, project_id, enabled, title, owner);

-- +goose Down
/*!50600 ALTER TABLE job DROP INDEX job_list */;
