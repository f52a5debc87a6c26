-- oldest: 1
ALTER TABLE results ADD COLUMN object TEXT COLLATE "C", -- the name of its parts elsewhere
	ADD COLUMN objects BIGINT NOT NULL DEFAULT 0; -- how many these are; 0 for one in result_parts
CREATE TABLE objects_gone (
	object  TEXT COLLATE "C" PRIMARY KEY,
	objects BIGINT NOT NULL
);
-- Brokers of the version before remove rows too, and know nothing of objects.
CREATE FUNCTION object_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO objects_gone (object, objects) VALUES (OLD.object, OLD.objects) ON CONFLICT DO NOTHING;
	RETURN NULL;
END $$;
CREATE TRIGGER results_gone AFTER DELETE ON results FOR EACH ROW WHEN (OLD.objects > 0) EXECUTE FUNCTION object_gone();
