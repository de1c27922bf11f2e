-- +goose Up
-- A move inside a state changes no entry of this index, and a list of one state comes in order of ids.
-- SQLite keeps the first form. One statement each, and each can be repeated: the MySQL family commits them one by one.
/*!50600 ALTER TABLE instance DROP INDEX instance_state, ADD INDEX instance_state (state, id) */;
-- queue_rank -1: a target must be told to stop it.
UPDATE instance SET queue_rank = -1 WHERE state = 'running' AND label = 'stopping';
-- job_day names the latest instance; how that stands is read from it. state, label, started_at and finished_at are
-- written by the version before this one only.
-- MariaDB passes over comments for 5.7 to 9.9, so that the first migration left it the database's own character set.
/*!50600 ALTER TABLE `project` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `job` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `job_version` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `job_dep` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `graph` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `schedule_span` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `trigger` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `fire_gap` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `instance` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `run` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `attempt` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `dep` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `event` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `job_day` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `counter` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `worker` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `log_chunk` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `lease` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `epoch` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `account` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `session` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `token` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `membership` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `audit` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
/*!50600 ALTER TABLE `idempotency` CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
-- attempt.nonce is written by the version before this one only: the boot says who asks again.
-- Of one width, so that a row is moved where it stands: one that grows splits its page.
/*!50600 ALTER TABLE instance MODIFY state CHAR(10) NOT NULL, MODIFY label CHAR(20) NOT NULL */;
/*!50600 ALTER TABLE attempt MODIFY state CHAR(10) NOT NULL, MODIFY outcome CHAR(12) NOT NULL DEFAULT '' */;

-- +goose Down
/*!50600 ALTER TABLE instance DROP INDEX instance_state, ADD INDEX instance_state (state, label, id) */;
