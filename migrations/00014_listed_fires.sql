-- +goose Up
-- What a backfill will still run of a job on a date counts as planned to whoever waits for it.
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'backfill_item' AND index_name = 'backfill_item_date'), 'ALTER TABLE backfill_item DROP INDEX backfill_item_date', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
CREATE INDEX backfill_item_date ON backfill_item (job_id, biz_date, state);

-- +goose Down
/*!50600 DO '*/ DROP INDEX backfill_item_date /*!50600 ' */;
/*!50600 ALTER TABLE backfill_item DROP INDEX backfill_item_date */;
