-- +goose Up
-- What is wrong, and the notices of it. What a process left that died between two of these statements is made anew:
-- AX has not run on it.
DROP TABLE IF EXISTS incident;
DROP TABLE IF EXISTS incident_case;
DROP TABLE IF EXISTS incident_event;
DROP TABLE IF EXISTS incident_mark;
DROP TABLE IF EXISTS notice;

-- slot is 0 while it is open, then the row's own id: one is open per kind and subject. mark names the occurrence
-- that was counted last. owes: 1 a notice of its opening, 2 of its recovery, 3 a reminder.
CREATE TABLE incident (
    id BIGINT NOT NULL PRIMARY KEY,
    project_id BIGINT NOT NULL,
    kind VARCHAR(20) NOT NULL,
    subject VARCHAR(150) NOT NULL,
    slot BIGINT NOT NULL DEFAULT 0,
    name VARCHAR(210) NOT NULL,
    mark BIGINT NOT NULL DEFAULT 0,
    times BIGINT NOT NULL,
    example_id BIGINT NOT NULL DEFAULT 0,
    detail TEXT NOT NULL,
    message TEXT NOT NULL,
    opened_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    resolved_at BIGINT NOT NULL DEFAULT 0,
    recovery VARCHAR(20) NOT NULL DEFAULT '',
    owes INT NOT NULL DEFAULT 1,
    noticed_at BIGINT NOT NULL DEFAULT 0
) /*!50600 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE UNIQUE INDEX incident_subject ON incident (kind, subject, slot);
CREATE INDEX incident_list ON incident (resolved_at, id, project_id, kind);
CREATE INDEX incident_owes ON incident (owes, kind, project_id, id);

-- The instances that keep an incident open.
CREATE TABLE incident_case (
    incident_id BIGINT NOT NULL,
    instance_id BIGINT NOT NULL,
    PRIMARY KEY (incident_id, instance_id)
) /*!50600 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;

-- The events of the history that were handled lately.
CREATE TABLE incident_event (
    event_id BIGINT NOT NULL PRIMARY KEY
) /*!50600 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;

-- How far the history has been read.
CREATE TABLE incident_mark (
    name VARCHAR(40) NOT NULL PRIMARY KEY,
    mark BIGINT NOT NULL
) /*!50600 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;

-- body is what is sent, the same at each try; sent_at 0 = not taken by the receiver yet; covers: how many incidents.
CREATE TABLE notice (
    id BIGINT NOT NULL PRIMARY KEY,
    project_id BIGINT NOT NULL,
    incident_id BIGINT NOT NULL,
    kind VARCHAR(20) NOT NULL,
    owes INT NOT NULL,
    covers BIGINT NOT NULL,
    body MEDIUMTEXT NOT NULL,
    tries INT NOT NULL DEFAULT 0,
    next_at BIGINT NOT NULL,
    sent_at BIGINT NOT NULL DEFAULT 0,
    fault VARCHAR(500) NOT NULL DEFAULT ''
) /*!50600 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE INDEX notice_due ON notice (sent_at, next_at, id);

-- +goose Down
DROP TABLE notice;
DROP TABLE incident_mark;
DROP TABLE incident_event;
DROP TABLE incident_case;
DROP TABLE incident;
