-- A message that is backed out again and again leaves a dead row behind each time. The
-- hot tables hold few rows, so whoever vacuums them early has little to do.
ALTER TABLE broker_ready SET (autovacuum_vacuum_threshold = 5000);
ALTER TABLE broker_delayed SET (autovacuum_vacuum_threshold = 5000);
ALTER TABLE broker_claim SET (autovacuum_vacuum_threshold = 1000);
ALTER TABLE broker_unit_of_work SET (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);
-- What is due is looked for queue by queue, by broker_delayed_queue.
DROP INDEX broker_delayed_due;

-- Arrays of a thousand ids do not shrink when they are compressed; trying costs.
ALTER TABLE broker_event ALTER COLUMN ids SET STORAGE EXTERNAL;
