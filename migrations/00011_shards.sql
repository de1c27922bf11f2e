-- +goose Up
-- A shard of a run has a row of its own: part_of is its instance, shard which part of shards it is, worker the only one that may
-- run it ('' = any). Of an instance, shards is into how many its run in force was split; 0 = it was not. What a process left
-- that died between two of these statements is made anew. No index: those of a run are found by their fire keys.
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'instance' AND column_name = 'part_of'), 'ALTER TABLE instance DROP COLUMN part_of', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE instance ADD COLUMN part_of BIGINT NOT NULL DEFAULT 0;
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'instance' AND column_name = 'shard'), 'ALTER TABLE instance DROP COLUMN shard', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE instance ADD COLUMN shard INT NOT NULL DEFAULT 0;
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'instance' AND column_name = 'shards'), 'ALTER TABLE instance DROP COLUMN shards', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE instance ADD COLUMN shards INT NOT NULL DEFAULT 0;
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'instance' AND column_name = 'worker'), 'ALTER TABLE instance DROP COLUMN worker', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE instance ADD COLUMN worker VARCHAR(100) NOT NULL DEFAULT '';

-- +goose Down
DELETE FROM instance WHERE part_of > 0;
ALTER TABLE instance DROP COLUMN worker;
ALTER TABLE instance DROP COLUMN shards;
ALTER TABLE instance DROP COLUMN shard;
ALTER TABLE instance DROP COLUMN part_of;
