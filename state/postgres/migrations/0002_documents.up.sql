-- oldest: 1
CREATE TABLE documents (
	kind    TEXT COLLATE "C" NOT NULL,
	name    TEXT COLLATE "C" NOT NULL,
	version BIGINT NOT NULL,
	body    BYTEA, -- NULL for one that was forgotten
	PRIMARY KEY (kind, name)
);
