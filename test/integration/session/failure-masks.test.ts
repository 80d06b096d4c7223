/** Groups of failures across a change of the masks, by which failures are recognised. */
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type MaskVersions, maskLine } from '../../../src/domain/insight/mask-lines.ts'
import { FORMER_MASKS_KEPT_MS } from '../../../src/domain/limits.ts'
import { groupFailures } from '../../../src/scheduler/session/group-failures.handler.ts'
import {
  type FailureGroupRow,
  readFailureGroups,
  setFailureGroupState,
} from '../../../src/services/insight/failure-groups.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { createFactories } from '../../support/sessions/factories.ts'
import { testServer, type TestServer } from '../../support/servers/test-server.ts'

describe('a new version of the masks', () => {
  const BEFORE = { version: 1, mask: maskLine }
  /** No longer tells upper case from lower case. */
  const AFTER = { version: 2, mask: (line: string) => maskLine(line).toLowerCase() }
  const MONTH_SECONDS = FORMER_MASKS_KEPT_MS / 1000
  let database: TestDatabase
  let server: TestServer
  beforeAll(async () => {
    database = await testDatabase()
  })
  afterAll(() => database.close())
  beforeEach(async () => {
    await database.fresh()
    server = testServer(database.db)
  })

  /** Groups one failure by these masks; returns its group. */
  async function failed(line: string, versions: MaskVersions): Promise<FailureGroupRow> {
    const { db } = database
    const factory = createFactories(db)
    const { id, kernelIds } = await factory.session({ status: 'ERROR', failureCause: 'KERNEL_NONZERO_EXIT' })
    await factory.log(kernelIds[0]!, `${line}\n`)
    expect(await groupFailures({ ...server.context, db, log: pino({ enabled: false }) }, versions)).toMatchObject({
      done: 1,
    })
    const { rows } = await db.query<{ id: string }>('SELECT group_id AS id FROM failures WHERE session_id = $1', [id])
    return (await readFailureGroups(server.context, [rows[0]!.id])).get(rows[0]!.id)!
  }

  it('finds the groups that failures had before, for a month and from then on, and marks the change', async () => {
    const { db } = database
    const disk = await failed('ERROR: Disk 7 is full', [BEFORE])
    expect(disk).toMatchObject({ maskVersion: 1, maskChanges: [], masked: ['ERROR: Disk <n> is full'] })
    const after = [AFTER, BEFORE] as const
    const same = await failed('ERROR: Disk 8 is full', after)
    expect(same).toMatchObject({ id: disk.id, maskVersion: 1, masked: disk.masked })
    expect(same.maskChanges).toEqual([{ version: 2, since: expect.any(String) as string }])
    const fresh = await failed('ERROR: Net is down', after)
    expect(fresh).toMatchObject({ maskVersion: 2, maskChanges: [], masked: ['error: net is down'] })
    await setFailureGroupState(server.context, { failureGroupId: disk.id, state: 'RESOLVED' })
    expect(await failed('ERROR: Disk 9 is full', after)).toMatchObject({ id: disk.id, state: 'OPEN' })

    // The masks before are no longer asked, and nothing new is linked.
    await advanceClock(db, MONTH_SECONDS + 60)
    expect((await failed('ERROR: Disk 10 is full', after)).id).toBe(disk.id)
    expect((await failed('ERROR: Disk 11 is full', [AFTER])).id).toBe(disk.id)
    const late = await failed('ERROR: Late', [BEFORE])
    expect((await failed('ERROR: Late', after)).id).not.toBe(late.id)
    const { rows } = await db.query<{ events: string }>(
      `SELECT string_agg(type, ' ' ORDER BY id) AS events FROM session_events WHERE data ->> 'failureGroupId' = $1`,
      [disk.id],
    )
    expect(rows[0]!.events).toBe('failure_group.new failure_group.regressed')
  })

  it('keeps groups apart for a month that it no longer tells apart', async () => {
    const after = [AFTER, BEFORE] as const
    const [upper, lower] = [await failed('ERROR: DISK', [BEFORE]), await failed('ERROR: disk', [BEFORE])]
    expect((await failed('ERROR: disk', after)).id).toBe(lower.id)
    expect((await failed('ERROR: DISK', after)).id).toBe(upper.id)
    await advanceClock(database.db, MONTH_SECONDS + 60)
    expect((await failed('ERROR: DISK', after)).id).toBe(lower.id)
  })

  it('knows what successful runs print, noted by either version', async () => {
    const { db } = database
    const factory = createFactories(db)
    const noise = 'ERROR: Retrying 3'
    const passed = await factory.session({ status: 'TERMINATED' })
    await factory.log(passed.kernelIds[0]!, `${noise}\n`)
    const lines = async (versions: MaskVersions, what: string) => (await failed(`${noise}\n${what}`, versions)).lines
    expect(await lines([BEFORE], 'ERROR: a')).toEqual(['ERROR: a'])
    expect(await lines([AFTER, BEFORE], 'ERROR: b')).toEqual(['ERROR: b'])
    await db.query('DELETE FROM usual_lines')
    expect(await lines([AFTER, BEFORE], 'ERROR: c')).toEqual(['ERROR: c'])
    await advanceClock(db, MONTH_SECONDS + 60)
    expect(await lines([AFTER, BEFORE], 'ERROR: d')).toEqual(['ERROR: d'])
  })
})
