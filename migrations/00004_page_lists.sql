-- +goose Up
-- Lists of one business date come from its own rows, whatever was made since; ids of an old date are found at its ends.
-- Both columns never change. What a process left that died between making an index and noting the version is made anew.
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'instance' AND index_name = 'instance_date'), 'ALTER TABLE instance DROP INDEX instance_date', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
CREATE INDEX instance_date ON instance (biz_date, id);
-- Paused jobs are listed and counted without a look at those that are not.
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'job' AND index_name = 'job_enabled'), 'ALTER TABLE job DROP INDEX job_enabled', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
CREATE INDEX job_enabled ON job (deleted_at, enabled, name, id, project_id);

-- +goose Down
/*!50600 ALTER TABLE job DROP INDEX job_enabled */;
/*!50600 ALTER TABLE instance DROP INDEX instance_date */;
