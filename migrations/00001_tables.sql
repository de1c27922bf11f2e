-- +goose Up
-- Instants are BIGINT Unix milliseconds in UTC, 0 = not yet or never. Ids are 63 bits made by the
-- program. Business dates are text, 2026-02-03. There are no foreign keys on the instance tree:
-- retention deletes by index in small batches.

CREATE TABLE project (
    id BIGINT NOT NULL PRIMARY KEY,
    name VARCHAR(100) NOT NULL,
    title VARCHAR(200) NOT NULL DEFAULT '',
    timezone VARCHAR(64) NOT NULL DEFAULT '',
    created_at BIGINT NOT NULL
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE UNIQUE INDEX project_name ON project (name);

-- deleted_at is part of the key, so that a name can be used again; history keeps the old rows.
CREATE TABLE job (
    id BIGINT NOT NULL PRIMARY KEY,
    project_id BIGINT NOT NULL,
    name VARCHAR(100) NOT NULL,
    title VARCHAR(200) NOT NULL DEFAULT '',
    owner VARCHAR(100) NOT NULL DEFAULT '',
    version INT NOT NULL,
    enabled BOOLEAN NOT NULL,
    ver BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deleted_at BIGINT NOT NULL DEFAULT 0
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE UNIQUE INDEX job_name ON job (project_id, name, deleted_at);

-- source is the text as it was written; spec its meaning; digest the hash of the meaning.
CREATE TABLE job_version (
    job_id BIGINT NOT NULL,
    version INT NOT NULL,
    project_id BIGINT NOT NULL,
    source MEDIUMTEXT NOT NULL,
    spec MEDIUMTEXT NOT NULL,
    digest VARCHAR(64) NOT NULL,
    created_by VARCHAR(100) NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (job_id, version)
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;

-- The edges of the definitions in force; one graph row is locked by every apply and delete.
CREATE TABLE job_dep (
    job_id BIGINT NOT NULL,
    upstream_job_id BIGINT NOT NULL,
    project_id BIGINT NOT NULL,
    biz_date VARCHAR(40) NOT NULL,
    required VARCHAR(10) NOT NULL,
    outcome VARCHAR(10) NOT NULL,
    PRIMARY KEY (job_id, upstream_job_id)
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE INDEX job_dep_upstream ON job_dep (upstream_job_id);

CREATE TABLE graph (
    id INT NOT NULL PRIMARY KEY,
    ver BIGINT NOT NULL
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
INSERT INTO graph (id, ver) VALUES (1, 0);

-- What was planned when: the ledger expands these spans. to_at 0 = in force still.
CREATE TABLE schedule_span (
    id BIGINT NOT NULL PRIMARY KEY,
    project_id BIGINT NOT NULL,
    job_id BIGINT NOT NULL,
    version INT NOT NULL,
    kind VARCHAR(10) NOT NULL,
    expr VARCHAR(1024) NOT NULL,
    dialect VARCHAR(10) NOT NULL,
    timezone VARCHAR(64) NOT NULL,
    biz_date_rule VARCHAR(40) NOT NULL,
    anchor_at BIGINT NOT NULL,
    from_at BIGINT NOT NULL,
    to_at BIGINT NOT NULL DEFAULT 0
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE INDEX schedule_span_job ON schedule_span (job_id, from_at);

-- One row per job with a schedule. next_fire_at 0 = never again or not enabled.
CREATE TABLE `trigger` (
    id BIGINT NOT NULL PRIMARY KEY,
    project_id BIGINT NOT NULL,
    job_id BIGINT NOT NULL,
    version INT NOT NULL,
    kind VARCHAR(10) NOT NULL,
    expr VARCHAR(1024) NOT NULL,
    dialect VARCHAR(10) NOT NULL,
    timezone VARCHAR(64) NOT NULL,
    biz_date_rule VARCHAR(40) NOT NULL,
    misfire VARCHAR(10) NOT NULL,
    anchor_at BIGINT NOT NULL,
    enabled BOOLEAN NOT NULL,
    next_fire_at BIGINT NOT NULL,
    last_fire_at BIGINT NOT NULL DEFAULT 0,
    ver BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE UNIQUE INDEX trigger_job ON `trigger` (job_id);
CREATE INDEX trigger_due ON `trigger` (next_fire_at);

-- Planned fires that made no instance, as ranges: kind skipped (policy said no) or missed (nobody was alive).
CREATE TABLE fire_gap (
    id BIGINT NOT NULL PRIMARY KEY,
    project_id BIGINT NOT NULL,
    job_id BIGINT NOT NULL,
    kind VARCHAR(10) NOT NULL,
    reason VARCHAR(200) NOT NULL,
    biz_date VARCHAR(10) NOT NULL,
    from_at BIGINT NOT NULL,
    to_at BIGINT NOT NULL,
    fires INT NOT NULL,
    created_at BIGINT NOT NULL
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE INDEX fire_gap_job ON fire_gap (job_id, from_at);

-- The run in force stands in the instance. queue_rank 0 = not ready for a target; else lane, then rank
-- inside the lane. trace_id carries the run's id, so it needs no index.
CREATE TABLE instance (
    id BIGINT NOT NULL PRIMARY KEY,
    project_id BIGINT NOT NULL,
    job_id BIGINT NOT NULL,
    job_name VARCHAR(100) NOT NULL,
    fire_key VARCHAR(40) NOT NULL,
    trigger_kind VARCHAR(10) NOT NULL,
    biz_date VARCHAR(10) NOT NULL,
    expected_at BIGINT NOT NULL,
    state VARCHAR(10) NOT NULL,
    label VARCHAR(20) NOT NULL,
    ver BIGINT NOT NULL,
    run_id BIGINT NOT NULL,
    run_no INT NOT NULL,
    trace_id CHAR(36) NOT NULL,
    version INT NOT NULL,
    params MEDIUMTEXT NOT NULL,
    retries_used INT NOT NULL DEFAULT 0,
    lost_count INT NOT NULL DEFAULT 0,
    attempts INT NOT NULL DEFAULT 0,
    requested_by VARCHAR(100) NOT NULL DEFAULT '',
    reason VARCHAR(1000) NOT NULL DEFAULT '',
    lane VARCHAR(10) NOT NULL,
    deps_left INT NOT NULL DEFAULT 0,
    queue_rank INT NOT NULL DEFAULT 0,
    met_at BIGINT NOT NULL DEFAULT 0,
    ready_at BIGINT NOT NULL DEFAULT 0,
    wake_at BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    started_at BIGINT NOT NULL DEFAULT 0,
    finished_at BIGINT NOT NULL DEFAULT 0,
    attempt_id BIGINT NOT NULL DEFAULT 0,
    message TEXT NOT NULL,
    cancelled_by_instance BIGINT NOT NULL DEFAULT 0,
    cancelled_by_run BIGINT NOT NULL DEFAULT 0
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE UNIQUE INDEX instance_fire ON instance (job_id, fire_key);
CREATE INDEX instance_job_date ON instance (job_id, biz_date, id);
CREATE INDEX instance_ready ON instance (queue_rank, ready_at, id);
CREATE INDEX instance_wake ON instance (wake_at);
CREATE INDEX instance_state ON instance (state, label, id);
CREATE INDEX instance_cancelled_by ON instance (cancelled_by_instance);

-- Rounds of instances that were rerun: the first is filed here when the second opens, and each later one
-- has its row from its opening; its end is written when the next one opens.
CREATE TABLE run (
    id BIGINT NOT NULL PRIMARY KEY,
    project_id BIGINT NOT NULL,
    instance_id BIGINT NOT NULL,
    run_no INT NOT NULL,
    trace_id CHAR(36) NOT NULL,
    version INT NOT NULL,
    params MEDIUMTEXT NOT NULL,
    state VARCHAR(10) NOT NULL,
    label VARCHAR(20) NOT NULL,
    requested_by VARCHAR(100) NOT NULL,
    reason VARCHAR(1000) NOT NULL,
    message TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    finished_at BIGINT NOT NULL
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE UNIQUE INDEX run_instance ON run (instance_id, run_no);

CREATE TABLE attempt (
    id BIGINT NOT NULL PRIMARY KEY,
    project_id BIGINT NOT NULL,
    instance_id BIGINT NOT NULL,
    run_id BIGINT NOT NULL,
    shard INT NOT NULL DEFAULT 0,
    ordinal INT NOT NULL,
    state VARCHAR(10) NOT NULL,
    target VARCHAR(100) NOT NULL,
    boot BIGINT NOT NULL,
    lane VARCHAR(10) NOT NULL,
    message_id VARCHAR(40) NOT NULL,
    nonce VARCHAR(40) NOT NULL DEFAULT '',
    dispatched_at BIGINT NOT NULL,
    acked_at BIGINT NOT NULL DEFAULT 0,
    granted_at BIGINT NOT NULL DEFAULT 0,
    started_at BIGINT NOT NULL DEFAULT 0,
    finished_at BIGINT NOT NULL DEFAULT 0,
    timeout_ms BIGINT NOT NULL,
    kill_at BIGINT NOT NULL DEFAULT 0,
    exit_code INT,
    outcome VARCHAR(12) NOT NULL DEFAULT '',
    message TEXT NOT NULL,
    result MEDIUMTEXT NOT NULL,
    late TEXT NOT NULL,
    log_lines BIGINT NOT NULL DEFAULT 0
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE INDEX attempt_instance ON attempt (instance_id, id);

-- One row per dependency of an instance. state: waiting, met, failed.
CREATE TABLE dep (
    instance_id BIGINT NOT NULL,
    upstream_job_id BIGINT NOT NULL,
    project_id BIGINT NOT NULL,
    upstream_name VARCHAR(201) NOT NULL,
    biz_date VARCHAR(10) NOT NULL,
    required VARCHAR(10) NOT NULL,
    outcome VARCHAR(10) NOT NULL,
    state VARCHAR(10) NOT NULL,
    by_instance BIGINT NOT NULL DEFAULT 0,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (instance_id, upstream_job_id)
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE INDEX dep_upstream ON dep (upstream_job_id, biz_date, state);
CREATE INDEX dep_waiting ON dep (state, instance_id);

-- History of every move that is not an ordinary one.
CREATE TABLE event (
    id BIGINT NOT NULL PRIMARY KEY,
    project_id BIGINT NOT NULL,
    instance_id BIGINT NOT NULL,
    run_id BIGINT NOT NULL,
    attempt_id BIGINT NOT NULL DEFAULT 0,
    move VARCHAR(20) NOT NULL,
    from_status VARCHAR(31) NOT NULL,
    to_status VARCHAR(31) NOT NULL,
    actor VARCHAR(100) NOT NULL,
    note TEXT NOT NULL,
    at BIGINT NOT NULL
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE INDEX event_instance ON event (instance_id, id);

-- The latest instance per job and business date: the grid and the strips read this.
CREATE TABLE job_day (
    job_id BIGINT NOT NULL,
    biz_date VARCHAR(10) NOT NULL,
    project_id BIGINT NOT NULL,
    instance_id BIGINT NOT NULL,
    state VARCHAR(10) NOT NULL,
    label VARCHAR(20) NOT NULL,
    started_at BIGINT NOT NULL,
    finished_at BIGINT NOT NULL,
    PRIMARY KEY (job_id, biz_date)
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;

-- 15-minute UTC buckets per project and job; job_id 0 = the whole project.
CREATE TABLE counter (
    project_id BIGINT NOT NULL,
    bucket_at BIGINT NOT NULL,
    metric VARCHAR(20) NOT NULL,
    job_id BIGINT NOT NULL,
    total BIGINT NOT NULL,
    peak BIGINT NOT NULL DEFAULT 0,
    peak_instance BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (project_id, bucket_at, metric, job_id)
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;

CREATE TABLE worker (
    name VARCHAR(100) NOT NULL PRIMARY KEY,
    boot BIGINT NOT NULL,
    state VARCHAR(10) NOT NULL,
    host VARCHAR(200) NOT NULL,
    ip VARCHAR(64) NOT NULL,
    version VARCHAR(64) NOT NULL,
    types TEXT NOT NULL,
    tags TEXT NOT NULL,
    lanes TEXT NOT NULL,
    cores INT NOT NULL,
    running INT NOT NULL,
    skew_ms BIGINT NOT NULL,
    mean_ms BIGINT NOT NULL,
    drain BOOLEAN NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    lost_at BIGINT NOT NULL DEFAULT 0
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;

-- body: JSON array of lines as they were shipped; first_line and last_line are the places of its ends, from 1
-- without a gap. A row with first_line -p says that at place p stands output which was not kept; body: how many lines.
CREATE TABLE log_chunk (
    attempt_id BIGINT NOT NULL,
    first_line BIGINT NOT NULL,
    last_line BIGINT NOT NULL,
    project_id BIGINT NOT NULL,
    body MEDIUMTEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (attempt_id, first_line)
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;

-- One row per live process with a database pool; node is its number in ids.
CREATE TABLE lease (
    node INT NOT NULL PRIMARY KEY,
    holder CHAR(36) NOT NULL,
    name VARCHAR(200) NOT NULL,
    counter BIGINT NOT NULL,
    connections TEXT NOT NULL,
    taken_at BIGINT NOT NULL,
    renewed_at BIGINT NOT NULL
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;

-- Who is the active one of a kind (broker); each of its writes share-locks the row.
CREATE TABLE epoch (
    name VARCHAR(40) NOT NULL PRIMARY KEY,
    epoch BIGINT NOT NULL,
    node INT NOT NULL,
    holder CHAR(36) NOT NULL,
    taken_at BIGINT NOT NULL
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
INSERT INTO epoch (name, epoch, node, holder, taken_at) VALUES ('broker', 0, -1, '', 0);

CREATE TABLE account (
    id BIGINT NOT NULL PRIMARY KEY,
    name VARCHAR(100) NOT NULL,
    password VARCHAR(200) NOT NULL,
    disabled BOOLEAN NOT NULL DEFAULT 0,
    language VARCHAR(10) NOT NULL DEFAULT '',
    timezone VARCHAR(64) NOT NULL DEFAULT '',
    created_at BIGINT NOT NULL
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE UNIQUE INDEX account_name ON account (name);

-- token is the hash of what the cookie carries.
CREATE TABLE session (
    token CHAR(64) NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL DEFAULT 0,
    data BLOB NOT NULL,
    expires_at BIGINT NOT NULL
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE INDEX session_expires ON session (expires_at);
CREATE INDEX session_user ON session (user_id);

-- secret is the hash of the token's text. kind: api, login (one-time link), setup.
CREATE TABLE token (
    id BIGINT NOT NULL PRIMARY KEY,
    kind VARCHAR(10) NOT NULL,
    user_id BIGINT NOT NULL,
    name VARCHAR(100) NOT NULL,
    secret CHAR(64) NOT NULL,
    expires_at BIGINT NOT NULL DEFAULT 0,
    used_at BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE UNIQUE INDEX token_secret ON token (secret);

-- project_id 0 = every project.
CREATE TABLE membership (
    user_id BIGINT NOT NULL,
    project_id BIGINT NOT NULL,
    role VARCHAR(20) NOT NULL,
    PRIMARY KEY (user_id, project_id, role)
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;

CREATE TABLE audit (
    id BIGINT NOT NULL PRIMARY KEY,
    project_id BIGINT NOT NULL,
    actor VARCHAR(100) NOT NULL,
    via VARCHAR(10) NOT NULL,
    remote VARCHAR(64) NOT NULL,
    action VARCHAR(40) NOT NULL,
    object VARCHAR(210) NOT NULL,
    allowed BOOLEAN NOT NULL,
    before_text MEDIUMTEXT NOT NULL,
    after_text MEDIUMTEXT NOT NULL,
    at BIGINT NOT NULL
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE INDEX audit_object ON audit (object, id);

CREATE TABLE idempotency (
    principal VARCHAR(100) NOT NULL,
    route VARCHAR(100) NOT NULL,
    key_hash CHAR(64) NOT NULL,
    body_hash CHAR(64) NOT NULL,
    status INT NOT NULL,
    answer MEDIUMTEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (principal, route, key_hash)
) /*!50700 ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin */;
CREATE INDEX idempotency_created ON idempotency (created_at);

-- +goose Down
DROP TABLE idempotency;
DROP TABLE audit;
DROP TABLE membership;
DROP TABLE token;
DROP TABLE session;
DROP TABLE account;
DROP TABLE epoch;
DROP TABLE lease;
DROP TABLE log_chunk;
DROP TABLE worker;
DROP TABLE counter;
DROP TABLE job_day;
DROP TABLE event;
DROP TABLE dep;
DROP TABLE attempt;
DROP TABLE run;
DROP TABLE instance;
DROP TABLE fire_gap;
DROP TABLE `trigger`;
DROP TABLE schedule_span;
DROP TABLE graph;
DROP TABLE job_dep;
DROP TABLE job_version;
DROP TABLE job;
DROP TABLE project;
