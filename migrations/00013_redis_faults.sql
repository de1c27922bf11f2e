-- +goose Up
-- What the active broker finds wrong with a Redis, from the moment on at which it does: the pages of other processes read it
-- here. What a process left that died between two of these statements is made anew: AX has not run on it.
DROP TABLE IF EXISTS redis_fault;

-- redis is what AX uses it for; broker is the process that found it.
CREATE TABLE redis_fault (
    redis VARCHAR(20) NOT NULL PRIMARY KEY,
    fault VARCHAR(20) NOT NULL,
    since BIGINT NOT NULL,
    said TEXT NOT NULL,
    broker VARCHAR(210) NOT NULL
) /*!50600 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;

-- +goose Down
DROP TABLE redis_fault;
