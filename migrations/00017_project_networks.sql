-- +goose Up
-- project.networks: the private networks and loopback addresses that its tasks may connect to, separated by blanks; '' = the
-- public network only. What a process left that died between two of these statements is made anew.
/*!50600 SET @ax_again = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'project' AND column_name = 'networks'), 'ALTER TABLE project DROP COLUMN networks', 'DO 0') */;
/*!50600 PREPARE ax_again FROM @ax_again */;
/*!50600 EXECUTE ax_again */;
ALTER TABLE project ADD COLUMN networks VARCHAR(4000) NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE project DROP COLUMN networks;
