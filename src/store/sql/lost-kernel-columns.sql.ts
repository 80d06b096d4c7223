/**
 * The SET list for a kernel `k` whose agent is lost. A kernel that was to stop counts as stopped and one that ran as
 * failed; both give up their slots. One that had not started keeps its status and slots until its session's handler
 * takes it back.
 */
export const LOST_KERNEL_COLUMNS = `
    status = CASE WHEN k.status = 'TERMINATING' THEN 'TERMINATED'::kernel_status
      WHEN k.started_at IS NOT NULL THEN 'ERROR' ELSE k.status END,
    status_changed_at = now(),
    terminated_at = CASE WHEN k.status = 'TERMINATING' OR k.started_at IS NOT NULL THEN now() END,
    slots_held = k.slots_held AND k.status <> 'TERMINATING' AND k.started_at IS NULL`
