-- +goose Up
-- Secrets: values that tasks use and nobody sees. What a process left that died between two of these statements is made
-- anew: AX has not run on it.
DROP TABLE IF EXISTS secret;
DROP TABLE IF EXISTS job_secret;

-- sealed is the value as kit/seal writes it, bound to the id of its row. version is raised by every new value.
CREATE TABLE secret (
    id BIGINT NOT NULL PRIMARY KEY,
    project_id BIGINT NOT NULL,
    name VARCHAR(100) NOT NULL,
    sealed TEXT NOT NULL,
    version INT NOT NULL,
    created_by VARCHAR(100) NOT NULL,
    created_at BIGINT NOT NULL,
    updated_by VARCHAR(100) NOT NULL,
    updated_at BIGINT NOT NULL
) /*!50600 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE UNIQUE INDEX secret_name ON secret (project_id, name);

-- Which secrets the newest version of a job names; the names are those of its own project.
CREATE TABLE job_secret (
    job_id BIGINT NOT NULL,
    name VARCHAR(100) NOT NULL,
    project_id BIGINT NOT NULL,
    PRIMARY KEY (job_id, name)
) /*!50600 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE INDEX job_secret_name ON job_secret (project_id, name);

-- +goose Down
DROP TABLE job_secret;
DROP TABLE secret;
