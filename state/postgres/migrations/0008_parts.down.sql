ALTER TABLE executions DROP COLUMN prepared, DROP COLUMN queued, DROP COLUMN opened;
ALTER TABLE calls DROP COLUMN waited, DROP COLUMN line;
