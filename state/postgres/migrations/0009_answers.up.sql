-- oldest: 1
ALTER TABLE executions ADD COLUMN answer TEXT;
