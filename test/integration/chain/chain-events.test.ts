/** The end of a chain is one event, whatever ends it; a failure that is retried is none. */
import { beforeEach, describe, expect, it, test } from 'vitest'
import { cancelRetry, retryNow, updateRetry } from '../../../src/services/retry/change-retry.ts'
import { setRetrySwitch } from '../../../src/services/retry/retry-switches.ts'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import { chainEvents } from '../../support/database/session-rows.ts'
import { driveAll, endAll } from '../../support/sessions/drive-session.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useResubmission } from '../../support/sessions/resubmission.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()
const resubmit = useResubmission(given)

const RETRIED = { retryPolicy: { maxRetries: 1, retryDelay: 5, jitter: 'NONE' } } as const

async function end(code: number): Promise<void> {
  given.agent.exitAll(code)
  await given.agent.sync()
  await stopped()
}

async function stopped(): Promise<void> {
  const { server, agent } = given
  await server.run('detect-termination', 'terminate-sessions')
  await agent.comply()
  await server.run('promote-to-terminated', 'decide-retries')
}

/** A session that ran and ended with this code. */
async function ended(code: number, input: Partial<CreateSessionInput> = RETRIED): Promise<string> {
  const id = await given.server.create(input)
  await driveAll(given.server, given.agent, 'RUNNING')
  await advanceClock(given.db, 10)
  await end(code)
  return id
}

async function dispatched(): Promise<void> {
  await advanceClock(given.db, 60)
  await given.server.run('dispatch-retries')
}

const told = (id: string) => chainEvents(given.db, id)

async function expectUntold(id: string): Promise<void> {
  expect(await told(id)).toEqual([])
}

/** The ways in which a chain ends, and the resulting event. */
const WAYS: Record<string, [() => Promise<string>, string[]]> = {
  success: [() => ended(0), ['succeeded 0 after 1']],
  'a policy without retries': [() => ended(1, {}), ['failed 0 after 1']],
  'a failure that is not eligible': [
    () => ended(1, { retryPolicy: { maxRetries: 3, eligibleCauses: ['OOM_KILLED'] } }),
    ['failed 0 after 1'],
  ],
  'a policy without retry events': [
    () => ended(1, { retryPolicy: { maxRetries: 0, emitRetryEvents: false } }),
    ['failed 0 after 1'],
  ],
  'an end without a result, by a person': [
    async () => {
      const id = await given.server.create(RETRIED)
      await driveAll(given.server, given.agent, 'RUNNING')
      await terminateSession(given.server.context, { sessionId: id })
      await given.agent.comply()
      await stopped()
      return id
    },
    ['cancelled 0 after 1'],
  ],
  'a cancellation while it is pending': [
    async () => {
      const id = await given.server.create(RETRIED)
      await terminateSession(given.server.context, { sessionId: id })
      await expectUntold(id)
      await given.server.run('decide-retries')
      return id
    },
    ['cancelled 0 after 1'],
  ],
  'the cancellation of a retry that waits': [
    async () => {
      const id = await ended(1)
      await expectUntold(id)
      await cancelRetry(given.server.context, { sessionId: id })
      return id
    },
    ['cancelled 0 after 1'],
  ],
  'terminating a session that waits for its retry': [
    async () => {
      const id = await ended(1)
      await terminateSession(given.server.context, { sessionId: id })
      return id
    },
    ['cancelled 0 after 1'],
  ],
  'another policy for a retry that waits': [
    async () => {
      const id = await ended(1)
      await updateRetry(given.server.context, { sessionId: id, policy: { maxRetries: 0 } })
      return id
    },
    ['failed 0 after 1'],
  ],
  'a hold until after maxElapsed': [
    async () => {
      const id = await ended(1, { retryPolicy: { ...RETRIED.retryPolicy, maxElapsed: 50 } })
      await setRetrySwitch(given.server.context, { scope: 'CLUSTER', disabled: true })
      await advanceClock(given.db, 6)
      await given.server.run('dispatch-retries')
      await expectUntold(id)
      await setRetrySwitch(given.server.context, { scope: 'CLUSTER', disabled: false })
      await dispatched()
      return id
    },
    ['failed 0 after 1'],
  ],
  'a child that is refused': [
    async () => {
      const id = await ended(1)
      await given.sql(`UPDATE sessions SET retry_policy = '"damaged"' WHERE id = $1`, [id])
      await dispatched()
      return id
    },
    ['failed 0 after 1'],
  ],
  'the failure of what it depends on': [
    async () => {
      const first = await given.server.create({})
      const id = await given.server.create({ ...RETRIED, dependsOn: [first] })
      await given.server.run('schedule-sessions')
      await driveAll(given.server, given.agent, 'RUNNING').catch(() => {})
      await end(1)
      await advanceClock(given.db, 60)
      await given.server.run('schedule-sessions', 'decide-retries')
      return id
    },
    [expect.stringMatching(/^(failed|cancelled) 0 after 1$/)],
  ],
  'the end of a session that is never retried': [
    async () => ended(0, { sessionType: 'INTERACTIVE' }),
    ['succeeded 0 after 1'],
  ],
}

describe.each(Object.entries(WAYS))('%s', (_name, [happen, events]) => {
  it('is one event', async () => {
    const id = await happen()
    expect(await told(id)).toEqual(events)
    // Later attempts to change it have no effect.
    await cancelRetry(given.server.context, { sessionId: id }).catch(() => {})
    await retryNow(given.server.context, { sessionId: id }).catch(() => {})
    await dispatched()
    await given.server.run('decide-retries')
    expect(await told(id)).toEqual(events)
  })
})

describe('a chain that fails, is retried and fails again', () => {
  let id: string
  beforeEach(async () => {
    id = await ended(3)
    await expectUntold(id)
    await dispatched()
    await driveAll(given.server, given.agent, 'RUNNING')
    await advanceClock(given.db, 20)
    await expectUntold(id)
    await end(4)
  })

  it('fails once, with its outcome', async () => {
    expect(await told(id)).toEqual(['failed 0 after 2'])
    const [event] = await given.sql(
      `SELECT e.session_id = c.tail_id AS tail, e.occurred_at = d.decided_at AS together, e.data, d.explanation,
         extract(epoch FROM c.ended_at - c.created_at)::float8 AS total
       FROM session_events e JOIN chains c USING (chain_id) JOIN retry_decisions d ON d.session_id = c.tail_id
       WHERE e.type = 'chain.failed'`,
    )
    const { tail, together, data, explanation, total } = event as any
    expect({ tail, together }).toEqual({ tail: true, together: true })
    expect(data).toMatchObject({ epoch: 0, attempts: 2, cause: 'KERNEL_NONZERO_EXIT', reason: explanation })
    expect(data.runningSeconds).toBeGreaterThanOrEqual(30)
    expect(data.waitingSeconds).toBeGreaterThanOrEqual(60)
    expect(data.runningSeconds + data.waitingSeconds).toBeCloseTo(total, 3)
  })

  it('is reopened by a resubmission, and ends once more', async () => {
    const [tail] = (await given.sql('SELECT tail_id AS id FROM chains')) as { id: string }[]
    await resubmit({ sessionIds: [tail!.id] })
    expect(await told(id)).toEqual(['failed 0 after 2', 'reopened 1 after 3'])
    const [said] = await given.sql(
      `SELECT e.data ->> 'reason' AS reason, r.actor FROM session_events e, resubmissions r WHERE e.type = 'chain.reopened'`,
    )
    expect(said).toEqual({ reason: `resubmitted by ${(said as any).actor}`, actor: expect.stringMatching(/./) })
    await driveAll(given.server, given.agent, 'RUNNING')
    await end(0)
    expect(await told(id)).toEqual(['failed 0 after 2', 'reopened 1 after 3', 'succeeded 1 after 3'])
  })
})

test('a chain that is resubmitted while its retry waits has not ended', async () => {
  const id = await ended(1)
  await resubmit({ sessionIds: [id] })
  expect(await told(id)).toEqual(['reopened 1 after 2'])
})

test('a chain that is resubmitted before its failure is judged has not ended', async () => {
  const id = await given.server.create({})
  await driveAll(given.server, given.agent, 'RUNNING')
  await endAll(given.server, given.agent, 1)
  await resubmit({ sessionIds: [id] })
  await given.server.run('decide-retries')
  expect(await told(id)).toEqual(['reopened 1 after 2'])
})

test('removed chains have no events', async () => {
  const id = await ended(1, {})
  await given.sql('DELETE FROM session_events')
  await given.sql('DELETE FROM sessions WHERE id = $1', [id])
  expect(await told(id)).toEqual([])
})
