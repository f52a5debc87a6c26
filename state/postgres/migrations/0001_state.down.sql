DROP TABLE vals, result_parts, results, pins, run_calls, runs, types, type_key, head, chain, events, calls, executions, owners;
