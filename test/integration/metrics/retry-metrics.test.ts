/** Metrics of retries, and of the services that make them. */
import { expect, it } from 'vitest'
import { cancelRetry } from '../../../src/services/retry/change-retry.ts'
import { setRetrySwitch } from '../../../src/services/retry/retry-switches.ts'
import { failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { dueRetries } from '../../support/sessions/due-retries.ts'
import { metricValue } from '../../support/servers/metric-value.ts'
import { passTime } from '../../support/sessions/pass-time.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { testServer } from '../../support/servers/test-server.ts'

const given = useScheduling()
const RETRIED = { retryPolicy: { maxRetries: 1, retryDelay: 1, jitter: 'NONE' } } as const

const counted = (sample: string) => metricValue(given.server.metrics.registry, `bai_session_retry_${sample}`)
const nonzero = (cause: string) => `{cause="${cause}"}`

/** The retry of what has failed, run until its own exit. */
async function retryEnds(exitCode: number): Promise<void> {
  const { server, agent, db } = given
  await passTime(db, 5)
  await server.run('dispatch-retries', 'schedule-sessions')
  await agent.comply()
  await server.run('promote-to-prepared')
  await agent.comply()
  await server.run('promote-to-running')
  await failWith(server, agent, exitCode)
}

it('counts what is scheduled, dispatched, exhausted and succeeded', async () => {
  const { server, agent } = given
  await sessionIn(server, agent, 'RUNNING', RETRIED)
  await failWith(server, agent, 1)
  expect(await counted(`scheduled_total${nonzero('KERNEL_NONZERO_EXIT')}`)).toBe(1)
  expect(await counted('dispatched_total')).toBe(0)
  await retryEnds(2)
  expect(await counted('dispatched_total')).toBe(1)
  expect(await counted(`exhausted_total${nonzero('KERNEL_NONZERO_EXIT')}`)).toBe(1)
  expect(await counted('dispatch_lag_seconds_count')).toBe(1)
  expect(await counted('dispatch_lag_seconds_sum')).toBeGreaterThan(3.5)
  expect(await counted('succeeded_total')).toBe(0)

  await sessionIn(server, agent, 'RUNNING', RETRIED)
  await failWith(server, agent, 0)
  expect(await counted('succeeded_total'), 'a first attempt is no retry').toBe(0)
  await sessionIn(server, agent, 'RUNNING', RETRIED)
  await failWith(server, agent, 1)
  await retryEnds(0)
  expect(await counted('succeeded_total')).toBe(1)
})

it('counts a hold once per reason, and what people cancel', async () => {
  const { server, db } = given
  const [id] = await dueRetries(server.context, { count: 2 })
  await setRetrySwitch(server.context, { scope: 'CLUSTER', disabled: true })
  for (let look = 0; look < 3; look++) {
    await server.run('dispatch-retries')
    await passTime(db, 1_000)
  }
  expect(await counted('held_total{reason="DISABLED"}')).toBe(2)
  await setRetrySwitch(server.context, { scope: 'CLUSTER', disabled: false, rateLimit: { perSecond: 0.001, burst: 1 } })
  await server.run('dispatch-retries')
  expect(await counted('held_total{reason="RATE_LIMITED"}')).toBe(1)
  expect(await counted('dispatch_lag_seconds_count'), 'what was held is not late').toBe(0)
  const [held] = await given.sql(`SELECT session_id AS id FROM retry_decisions WHERE phase = 'HELD'`)
  await cancelRetry(server.context, { sessionId: held!.id as string })
  expect(await counted('cancelled_total')).toBe(1)
  expect(id).toBeDefined()
})

it('every server counts for itself', async () => {
  const another = testServer(given.db)
  await dueRetries(given.server.context, { count: 3 })
  await another.run('dispatch-retries')
  expect(await counted('dispatched_total')).toBe(0)
  expect(await metricValue(another.metrics.registry, 'bai_session_retry_dispatched_total')).toBe(3)
})

it('looks of services are counted and timed by how they ended', async () => {
  const { server } = given
  await dueRetries(server.context, { count: 3 })
  await server.run('dispatch-retries', 'dispatch-retries')
  const of = (sample: string) => metricValue(server.metrics.registry, sample)
  expect(await of('bai_scheduler_run_seconds_count{service="dispatch-retries",outcome="done"}')).toBe(1)
  expect(await of('bai_scheduler_run_seconds_count{service="dispatch-retries",outcome="nothing"}')).toBe(1)
  expect(await of('bai_scheduler_done_total{service="dispatch-retries"}')).toBe(3)
})
