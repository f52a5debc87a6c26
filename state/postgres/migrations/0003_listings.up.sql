-- oldest: 1
CREATE TABLE listings (
	key  TEXT COLLATE "C" PRIMARY KEY, -- the fingerprint of the server's configuration
	hash BYTEA NOT NULL,               -- SHA-256 of body
	body BYTEA NOT NULL,
	used TIMESTAMPTZ NOT NULL DEFAULT now()
);
