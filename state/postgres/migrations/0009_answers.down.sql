ALTER TABLE executions DROP COLUMN answer;
