-- oldest: 1
CREATE TABLE spools (
	id   TEXT COLLATE "C" PRIMARY KEY,
	done BIGINT NOT NULL -- the last row of it that is in the record
);
