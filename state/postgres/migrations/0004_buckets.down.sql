DROP TABLE buckets;
