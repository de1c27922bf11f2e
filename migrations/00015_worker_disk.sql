-- +goose Up
-- worker.disk: why its journal cannot be written, in its own words; '' = it can. What a process left that died between two of
-- these statements is made anew.
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'worker' AND column_name = 'disk'), 'ALTER TABLE worker DROP COLUMN disk', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE worker ADD COLUMN disk VARCHAR(255) NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE worker DROP COLUMN disk;
