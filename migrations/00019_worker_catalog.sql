-- +goose Up
-- worker_catalog: what the types of a worker take, and how its plug-ins stand, as it told them itself; one row for each
-- worker. What a process left that died between two of these statements is made anew: AX has not run on it.
DROP TABLE IF EXISTS worker_catalog;

-- rev is the worker's own word for this content. body: JSON.
CREATE TABLE worker_catalog (
    name VARCHAR(100) NOT NULL PRIMARY KEY,
    boot BIGINT NOT NULL,
    rev VARCHAR(40) NOT NULL,
    body MEDIUMTEXT NOT NULL,
    updated_at BIGINT NOT NULL
) /*!50600 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;

-- +goose Down
DROP TABLE worker_catalog;
