-- +goose Up
-- n_killed counts the items whose runs were ended because their backfill was stopped. What a process left that died
-- between two of these statements is made anew.
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'backfill' AND column_name = 'n_killed'), 'ALTER TABLE backfill DROP COLUMN n_killed', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE backfill ADD COLUMN n_killed INT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE backfill DROP COLUMN n_killed;
