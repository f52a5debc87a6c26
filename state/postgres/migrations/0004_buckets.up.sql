-- oldest: 1
-- Rows change all the time: the free half of a page keeps the new versions near.
CREATE TABLE buckets (
	key     TEXT COLLATE "C" PRIMARY KEY,
	tokens  DOUBLE PRECISION NOT NULL, -- that it held at
	at      TIMESTAMPTZ NOT NULL,
	granted BIGINT NOT NULL,           -- by the last change
	full_at TIMESTAMPTZ NOT NULL       -- then the row says nothing
) WITH (fillfactor = 50);
