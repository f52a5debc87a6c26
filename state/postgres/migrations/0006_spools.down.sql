DROP TABLE spools;
