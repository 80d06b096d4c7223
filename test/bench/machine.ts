import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import type { Database } from '../../src/store/database.ts'

/** What the figures stand on. */
export async function describeMachine(db: Database): Promise<Record<string, string | number>> {
  const { rows } = await db.query<{ version: string }>(`SELECT current_setting('server_version') AS version`)
  return {
    node: process.version,
    postgresql: rows[0]!.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    /** Above 0 others use the machine too. */
    loadBefore: Number(loadavg()[0]!.toFixed(2)),
  }
}
