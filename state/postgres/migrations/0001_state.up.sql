-- oldest: 1
-- Times are nanoseconds since 1970 where brokers compare them, and timestamptz
-- where the database does.
CREATE TABLE owners (
	id    BIGINT PRIMARY KEY, -- which a living one has an advisory lock of
	host  TEXT NOT NULL,
	pid   BIGINT NOT NULL,
	since TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE TABLE executions (
	id          TEXT COLLATE "C" PRIMARY KEY,
	owner       BIGINT NOT NULL,
	client      TEXT NOT NULL,
	client_info TEXT NOT NULL DEFAULT '',
	language    TEXT NOT NULL,
	code_hash   TEXT NOT NULL,
	code        TEXT,
	started     BIGINT NOT NULL,
	ended       BIGINT NOT NULL DEFAULT 0,
	exit_code   BIGINT NOT NULL DEFAULT 0,
	status      TEXT NOT NULL,
	duration    BIGINT NOT NULL DEFAULT 0,
	cpu         BIGINT NOT NULL DEFAULT 0,
	calls       BIGINT NOT NULL DEFAULT 0,
	bytes_in    BIGINT NOT NULL DEFAULT 0,
	bytes_out   BIGINT NOT NULL DEFAULT 0,
	error       TEXT NOT NULL DEFAULT '',
	begun       BIGINT NOT NULL DEFAULT 0, -- their links
	finished    BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX executions_started ON executions (started, id);
CREATE INDEX executions_running ON executions (owner) WHERE status = 'running';
CREATE TABLE calls (
	n            BIGINT PRIMARY KEY,
	execution    TEXT COLLATE "C" NOT NULL,
	seq          BIGINT NOT NULL,
	server       TEXT COLLATE "C" NOT NULL,
	tool         TEXT COLLATE "C" NOT NULL,
	tool_id      TEXT NOT NULL,
	started      BIGINT NOT NULL,
	duration     BIGINT NOT NULL,
	status       TEXT NOT NULL,
	class        TEXT NOT NULL DEFAULT '',
	decision     TEXT NOT NULL DEFAULT '',
	arg_bytes    BIGINT NOT NULL,
	result_bytes BIGINT NOT NULL,
	error        TEXT NOT NULL,
	args         TEXT,
	result       TEXT
);
CREATE INDEX calls_execution ON calls (execution, seq);
CREATE TABLE events (
	n      BIGINT PRIMARY KEY,
	time   BIGINT NOT NULL,
	kind   TEXT NOT NULL,
	server TEXT NOT NULL,
	name   TEXT COLLATE "C" NOT NULL DEFAULT '',
	client TEXT COLLATE "C" NOT NULL DEFAULT '',
	digest TEXT NOT NULL DEFAULT '',
	failed BOOLEAN NOT NULL DEFAULT false,
	detail TEXT NOT NULL
);
CREATE INDEX events_time ON events (time);
CREATE TABLE chain (
	n      BIGINT PRIMARY KEY,
	time   BIGINT NOT NULL,
	kind   TEXT NOT NULL,
	ref    TEXT NOT NULL,
	digest BYTEA NOT NULL,
	hash   BYTEA NOT NULL
);
CREATE TABLE head (
	id        BIGINT PRIMARY KEY CHECK (id = 1),
	n         BIGINT NOT NULL,
	hash      BYTEA NOT NULL,
	base      BIGINT NOT NULL,
	base_hash BYTEA NOT NULL,
	start     BIGINT NOT NULL,
	migrated  BIGINT NOT NULL
);
CREATE TABLE type_key (id BIGINT PRIMARY KEY CHECK (id = 1), secret BYTEA NOT NULL);
CREATE TABLE types (
	server  TEXT COLLATE "C" NOT NULL,
	tool    TEXT COLLATE "C" NOT NULL,
	version BIGINT NOT NULL,
	body    BYTEA NOT NULL,
	PRIMARY KEY (server, tool)
);
CREATE TABLE runs (
	id        TEXT COLLATE "C" PRIMARY KEY,
	principal TEXT NOT NULL,
	status    TEXT NOT NULL,
	owner     TEXT NOT NULL, -- the id of a lock, as in owners
	started   BIGINT NOT NULL,
	updated   BIGINT NOT NULL,
	seed      BYTEA,
	epoch     BIGINT NOT NULL,
	code      TEXT NOT NULL,
	body      TEXT NOT NULL
);
CREATE INDEX runs_started ON runs (started);
CREATE TABLE run_calls (
	run     TEXT COLLATE "C" NOT NULL,
	ordinal BIGINT NOT NULL,
	state   TEXT NOT NULL,
	expires BIGINT NOT NULL,
	body    TEXT NOT NULL,
	value   BYTEA,
	steps   BYTEA,
	PRIMARY KEY (run, ordinal)
);
CREATE TABLE pins (
	server  TEXT PRIMARY KEY,
	version BIGINT NOT NULL,
	body    BYTEA NOT NULL
);
CREATE TABLE results (
	ref     TEXT COLLATE "C" PRIMARY KEY,
	client  TEXT NOT NULL,
	mime    TEXT NOT NULL,
	bytes   BIGINT NOT NULL DEFAULT 0,
	created TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
	ready   BOOLEAN NOT NULL DEFAULT false
);
CREATE INDEX results_client ON results (client, created);
CREATE TABLE result_parts (
	ref  TEXT COLLATE "C" NOT NULL REFERENCES results ON DELETE CASCADE,
	n    BIGINT NOT NULL,
	data BYTEA NOT NULL,
	PRIMARY KEY (ref, n)
);
CREATE TABLE vals (
	client TEXT NOT NULL,
	key    BYTEA NOT NULL, -- which may be any text
	value  BYTEA NOT NULL,
	set_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (client, key)
);
