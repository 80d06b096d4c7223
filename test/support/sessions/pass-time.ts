import type { Database } from '../../../src/store/database.ts'

/**
 * Moves all timestamps that affect decisions into the past, as if this much time had passed. Agents become silent only
 * on request.
 */
export async function passTime(
  db: Database,
  seconds: number,
  options: { silentAgents?: readonly string[]; serversGone?: boolean } = {},
): Promise<void> {
  const { silentAgents = [], serversGone = false } = options
  const back = `make_interval(secs => ${seconds})`
  await db.transaction(async (tx) => {
    await tx.query(`UPDATE sessions SET created_at = created_at - ${back}, status_changed_at = status_changed_at - ${back},
      next_try_at = next_try_at - ${back}, times_out_at = times_out_at - ${back}, starts_at = starts_at - ${back},
      started_at = started_at - ${back}, terminated_at = terminated_at - ${back},
      epoch_started_at = epoch_started_at - ${back}`)
    await tx.query(`UPDATE freed_concurrency_keys SET due_at = due_at - ${back}`)
    await tx.query(`UPDATE kernels SET status_changed_at = status_changed_at - ${back}`)
    await tx.query(`UPDATE chains SET created_at = created_at - ${back}, ended_at = ended_at - ${back},
      newest_activity_at = newest_activity_at - ${back},
      total_key = chain_total_key(created_at - ${back}, ended_at - ${back})`)
    await tx.query(
      `UPDATE scheduling_history SET first_at = first_at - ${back}, last_at = last_at - ${back} WHERE entity = 'SESSION'`,
    )
    await tx.query(`UPDATE retry_decisions SET due_at = due_at - ${back}, ready_at = ready_at - ${back},
      decided_at = decided_at - ${back}, dispatched_at = dispatched_at - ${back}, abandoned_at = abandoned_at - ${back}`)
    await tx.query(`UPDATE retry_waits SET from_at = from_at - ${back}, to_at = to_at - ${back}`)
    await tx.query(`UPDATE retry_switches SET refilled_at = refilled_at - ${back}, limit_until = limit_until - ${back},
      disabled_until = disabled_until - ${back}`)
    await tx.query(`UPDATE webhooks SET failing_since = failing_since - ${back}, resting_until = resting_until - ${back},
      last_delivered_at = last_delivered_at - ${back}, previous_secret_expires_at = previous_secret_expires_at - ${back}`)
    await tx.query(`UPDATE webhook_deliveries SET next_attempt_at = next_attempt_at - ${back},
      created_at = created_at - ${back}, failing_since = failing_since - ${back}`)
    await tx.query(
      `UPDATE agents SET last_heard_at = last_heard_at - ${back}, lease_from = lease_from - ${back} WHERE id = ANY($1::uuid[])`,
      [silentAgents],
    )
    if (serversGone) await tx.query(`UPDATE servers SET last_seen_at = last_seen_at - ${back}`)
  })
}
