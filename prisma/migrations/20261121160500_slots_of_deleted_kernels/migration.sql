-- A kernel that is deleted while it holds slots gives them back, as one that changes does.
CREATE FUNCTION free_agent_slots() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  WITH sums AS (
    SELECT agent_id, slot.key AS slot, sum(slot.value::numeric) AS amount
    FROM old_kernels, jsonb_each_text(resource_slots) AS slot WHERE slots_held GROUP BY agent_id, slot.key
  ), slots AS (
    SELECT a.agent_id, a.slot, sums.amount FROM agent_slots a JOIN sums USING (agent_id, slot)
    ORDER BY a.agent_id, a.slot FOR NO KEY UPDATE OF a
  )
  UPDATE agent_slots a SET used = a.used - slots.amount, capacity = greatest(a.declared, a.used - slots.amount)
  FROM slots WHERE a.agent_id = slots.agent_id AND a.slot = slots.slot;
  RETURN NULL;
END $$;

CREATE TRIGGER kernels_free_agent_slots AFTER DELETE ON "kernels"
  REFERENCING OLD TABLE AS old_kernels
  FOR EACH STATEMENT EXECUTE FUNCTION free_agent_slots();
