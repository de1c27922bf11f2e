-- +goose Up
-- The page of jobs comes in order of names; its filters and its count are judged in the index alone.
CREATE INDEX /*M!100600 IF NOT EXISTS */ job_list ON job (deleted_at, name, id, project_id, enabled, title, owner);

-- +goose Down
/*!50600 ALTER TABLE job DROP INDEX job_list */;
