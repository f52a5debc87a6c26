DROP TRIGGER results_gone ON results;
DROP FUNCTION object_gone();
DROP TABLE objects_gone;
ALTER TABLE results DROP COLUMN object, DROP COLUMN objects;
