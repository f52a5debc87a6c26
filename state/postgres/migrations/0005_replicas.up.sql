-- oldest: 1
CREATE TABLE replicas (
	name        TEXT COLLATE "C" PRIMARY KEY,
	lock        BIGINT NOT NULL, -- the id of a lock, as in owners
	address     TEXT NOT NULL,
	certificate BYTEA NOT NULL,
	since       TIMESTAMPTZ NOT NULL DEFAULT now()
);
