/**
 * The end of a statement whose CTE `moved` has "id", "from", "to", "outcome", "errorCode" and "message": writes a
 * history row for each. If the status was kept and the newest row says the same, that row's counter is incremented
 * instead. `rows` names another CTE with one row per step, for moves of several steps; it is aliased as `v`.
 * Index: scheduling_history(entity_id, id).
 */
export function recordHistory(
  entity: 'SESSION' | 'DEPLOYMENT' | 'ROUTE',
  { phase, rows = 'moved' }: { phase: string; rows?: string },
): string {
  return `repeated AS (
  UPDATE scheduling_history h SET attempts = h.attempts + 1, last_at = reprise_now()
  FROM ${rows} v
  WHERE v."to" = v."from"
    AND h.entity_id = v.id AND h.id = (SELECT max(id) FROM scheduling_history WHERE entity_id = v.id)
    AND h.phase = ${phase} AND h.from_status = v."from"::text AND h.to_status = v."to"::text AND h.result = v."outcome"
    AND h.error_code IS NOT DISTINCT FROM v."errorCode" AND h.message IS NOT DISTINCT FROM v."message"
  RETURNING v.id
), history AS (
  INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result, error_code, message)
  SELECT '${entity}', id, ${phase}, "from"::text, "to"::text, "outcome", "errorCode", "message"
  FROM ${rows} v WHERE id NOT IN (SELECT id FROM repeated)
)`
}
