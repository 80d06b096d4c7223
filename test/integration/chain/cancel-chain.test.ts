/** Ending a chain: any of its sessions names it, and it stays ended until somebody resubmits it. */
import { describe, expect, it } from 'vitest'
import { NO_SYNC_POINTS } from '../../../src/observability/sync-points.ts'
import { showResubmission } from '../../../src/services/resubmission/resubmissions.ts'
import { actOnSessions } from '../../../src/services/resubmission/resubmit-sessions.ts'
import { cancelRetry } from '../../../src/services/retry/change-retry.ts'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import { chainRows, decisionRow } from '../../support/database/session-rows.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { driveAll, endAll, failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { refusals, useResubmission } from '../../support/sessions/resubmission.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()
const resubmit = useResubmission(given)

const POLICY = { maxRetries: 5, retryDelay: 10, jitter: 'NONE' as const }
const terminate = (sessionId: string) => terminateSession(given.server.context, { sessionId, reason: 'wrong input' })

async function waiting(labels: { key: string; value: string }[] = []): Promise<string> {
  const { server, agent } = given
  const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy: POLICY, labels })
  await failWith(server, agent, 3)
  return id
}

async function retried(): Promise<string> {
  const id = await waiting()
  await advanceClock(given.db, 11)
  await given.server.run('dispatch-retries')
  return id
}

async function chains() {
  return given.sql('SELECT state, cancelled_by AS by, ended_at IS NOT NULL AS ended FROM chains ORDER BY chain_id')
}

async function endings() {
  const rows = await given.sql(`SELECT type FROM session_events WHERE type LIKE 'chain.%' ORDER BY id`)
  return rows.map(({ type }) => type)
}

describe('the id of the first attempt', () => {
  it('ends a later attempt that waits for an agent, and the answer names that attempt', async () => {
    const id = await retried()
    const [, child] = await chainRows(given.db, id)
    expect(await terminate(id)).toEqual({ sessionId: child!.id })
    await given.server.run('decide-retries')
    expect(await chainRows(given.db, id)).toMatchObject([{ status: 'ERROR' }, { status: 'CANCELLED' }])
    expect(await chains()).toEqual([{ state: 'CANCELLED', by: 'ada', ended: true }])
    expect(await endings()).toEqual(['chain.cancelled'])
  })

  it('ends a later attempt that runs, and its end by itself is not retried either', async () => {
    const { server, agent, db } = given
    const id = await retried()
    await driveAll(server, agent, 'RUNNING')
    const [, child] = await chainRows(db, id)
    expect(await terminate(id)).toEqual({ sessionId: child!.id })
    await endAll(server, agent, 3)
    await server.run('terminate-sessions', 'promote-to-terminated', 'decide-retries')
    await advanceClock(db, 3_600)
    expect(await server.run('dispatch-retries')).toEqual([0])
    expect(await chainRows(db, id)).toHaveLength(2)
    expect(await chains()).toMatchObject([{ state: 'CANCELLED' }])
    expect(await endings()).toEqual(['chain.cancelled'])
  })

  it('cancels the retry of a later attempt', async () => {
    const { server, agent, db } = given
    const id = await retried()
    await driveAll(server, agent, 'RUNNING')
    await failWith(server, agent, 3)
    const [, child] = await chainRows(db, id)
    expect(await terminate(id)).toEqual({ sessionId: child!.id })
    expect(await decisionRow(db, child!.id)).toMatchObject({ phase: 'CANCELLED' })
    expect(await chains()).toMatchObject([{ state: 'CANCELLED' }])
  })

  it('is a conflict only if nothing of the chain is live, and the message names the newest attempt', async () => {
    const id = await retried()
    const [, child] = await chainRows(given.db, id)
    await terminate(id)
    await expect(terminate(id)).rejects.toMatchObject({
      code: 'SESSION_ALREADY_FINISHED',
      message: expect.stringContaining(child!.id),
    })
  })
})

describe('a chain that is cancelled during a backoff', () => {
  it.each([
    ['terminateSession', terminate],
    ['cancelRetry', (sessionId: string) => cancelRetry(given.server.context, { sessionId })],
  ] as const)('by %s ends as CANCELLED, with chain.cancelled', async (_name, cancel) => {
    const id = await waiting()
    await cancel(id)
    expect(await chains()).toEqual([{ state: 'CANCELLED', by: 'ada', ended: true }])
    expect(await endings()).toEqual(['chain.cancelled'])
  })

  it('before its failure was decided on, too', async () => {
    const { server, agent } = given
    const id = await server.create({ retryPolicy: POLICY })
    await driveAll(server, agent, 'RUNNING')
    await endAll(server, agent, 3)
    await terminate(id)
    expect(await chains()).toMatchObject([{ state: 'CANCELLED' }])
    expect(await endings()).toEqual(['chain.cancelled'])
  })

  it('is opened again by a resubmission, and retried as before', async () => {
    const { server, agent, db } = given
    const id = await waiting()
    await terminate(id)
    await resubmit({ sessionIds: [id] })
    expect(await chains()).toEqual([{ state: 'LIVE', by: null, ended: false }])
    await driveAll(server, agent, 'RUNNING')
    await failWith(server, agent, 3)
    await advanceClock(db, 11)
    expect(await server.run('dispatch-retries')).toEqual([1])
    expect(await chainRows(db, id)).toHaveLength(3)
  })
})

describe('the mark', () => {
  it('keeps a failure that was going to be retried from being retried', async () => {
    const { server, agent, db, sql } = given
    const id = await server.create({ retryPolicy: POLICY })
    await driveAll(server, agent, 'RUNNING')
    await endAll(server, agent, 3)
    await sql(`UPDATE chains SET cancelled_at = reprise_now(), cancelled_by = 'ada'`)
    await server.run('decide-retries')
    expect(await decisionRow(db, id)).toMatchObject({
      phase: 'CANCELLED',
      explanation: 'retry 1 of 5: exit code 3; waits 10 s; cancelled by ada',
    })
    expect(await chains()).toMatchObject([{ state: 'CANCELLED' }])
  })

  it('keeps a retry that is due from being dispatched', async () => {
    const { server, db, sql } = given
    const id = await waiting()
    await advanceClock(db, 11)
    await sql(`UPDATE chains SET cancelled_at = reprise_now(), cancelled_by = 'ada'`)
    await server.run('dispatch-retries')
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'CANCELLED' })
    expect(await chainRows(db, id)).toHaveLength(1)
    expect(await chains()).toMatchObject([{ state: 'CANCELLED' }])
  })

  it('changes nothing for a chain whose last attempt succeeded all the same', async () => {
    const { server, agent, sql } = given
    await server.create({ retryPolicy: POLICY })
    await driveAll(server, agent, 'RUNNING')
    await endAll(server, agent, 0)
    await sql(`UPDATE chains SET cancelled_at = reprise_now(), cancelled_by = 'ada'`)
    await server.run('decide-retries')
    expect(await chains()).toMatchObject([{ state: 'SUCCEEDED' }])
  })
})

it('many sessions name their chains: attempts of one chain end it once, and each of them counts as done', async () => {
  const { server, agent, db, database } = given
  const id = await retried()
  await driveAll(server, agent, 'RUNNING')
  const other = await waiting()
  const [, child] = await chainRows(db, id)
  const context = { ...server.context, prisma: database.prisma, sync: NO_SYNC_POINTS }
  const input = { sessionIds: [id, child!.id, other], clientKey: 'all' }
  const answer = await actOnSessions(context, 'TERMINATE', input)
  if ('dryRun' in answer) throw new Error('a dry run ends nothing')
  const shown = await showResubmission(context, answer.resubmissionId)
  expect(refusals(shown)).toEqual([])
  await endAll(server, agent, 3)
  await server.run('terminate-sessions', 'promote-to-terminated', 'decide-retries')
  expect(await chains()).toMatchObject([{ state: 'CANCELLED' }, { state: 'CANCELLED' }])
})
