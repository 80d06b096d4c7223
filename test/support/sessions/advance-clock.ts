import type { Database } from '../../../src/store/database.ts'

/**
 * Advances the database's clock for all connections at once, until the database is made
 * fresh. Only the named agents and servers were silent meanwhile.
 */
export async function advanceClock(
  db: Database,
  seconds: number,
  options: { silentAgents?: readonly string[]; serversGone?: boolean } = {},
): Promise<void> {
  const { silentAgents = [], serversGone = false } = options
  const passed = `make_interval(secs => ${seconds})`
  await db.transaction(async (tx) => {
    await tx.query(`SELECT seeds.move_clock(${passed})`)
    await tx.query(
      `UPDATE agents SET last_heard_at = last_heard_at + ${passed}, lease_from = lease_from + ${passed}
       WHERE id <> ALL($1::uuid[])`,
      [silentAgents],
    )
    if (!serversGone) await tx.query(`UPDATE servers SET last_seen_at = last_seen_at + ${passed}`)
  })
}
