/**
 * The SET list for a kernel `k` whose agent is lost. One that ran has failed, even if it was to stop: nobody knows how
 * it ended. One that was to stop before it ran has stopped. Both give up their slots. Others that had not started keep
 * status and slots until their session's handler takes them back.
 */
export const LOST_KERNEL_COLUMNS = `
    status = CASE WHEN k.started_at IS NOT NULL THEN 'ERROR'::kernel_status
      WHEN k.status = 'TERMINATING' THEN 'TERMINATED' ELSE k.status END,
    stopped = k.started_at IS NULL AND k.status = 'TERMINATING',
    status_changed_at = reprise_now(),
    terminated_at = CASE WHEN k.status = 'TERMINATING' OR k.started_at IS NOT NULL THEN reprise_now() END,
    slots_held = k.slots_held AND k.status <> 'TERMINATING' AND k.started_at IS NULL`
