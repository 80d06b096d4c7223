/** The jitter of delays, as it is drawn and stored. */
import { expect, it } from 'vitest'
import type { RetryPolicy } from '../../../src/domain/retry/policy/policy.ts'
import { driveAll, failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { passTime } from '../../support/sessions/pass-time.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()

interface Decided {
  sessionId: string
  attempt: number
  baseMs: number
  jitterMs: number
  delayMs: number
  explanation: string
}

/** The decisions of the chain, once its first attempt and `retries` more have failed. */
async function decisions(policy: Partial<RetryPolicy>, retries: number): Promise<Decided[]> {
  const { server, agent, db, sql } = given
  const first = await sessionIn(server, agent, 'RUNNING', { retryPolicy: { maxRetries: 9, ...policy } })
  await failWith(server, agent, 1)
  for (let retry = 1; retry <= retries; retry++) {
    await passTime(db, 86_400)
    await server.run('dispatch-retries')
    await driveAll(server, agent, 'RUNNING')
    await failWith(server, agent, 1)
  }
  const rows = await sql(
    `SELECT s.id AS "sessionId", s.attempt, d.base_delay_ms AS "baseMs", d.jitter_ms AS "jitterMs",
       d.delay_ms AS "delayMs", d.explanation
     FROM sessions s JOIN retry_decisions d ON d.session_id = s.id WHERE s.chain_id = $1 ORDER BY s.attempt`,
    [first],
  )
  return rows as unknown as Decided[]
}

it('a decorrelated delay is drawn up to three times the delay before, from attempt to attempt', async () => {
  const made = await decisions({ jitter: 'DECORRELATED', retryDelay: 10, maxRetryDelay: 400 }, 4)
  expect(made.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5])
  let before = 10_000
  for (const { attempt, baseMs, jitterMs, delayMs, explanation } of made) {
    const latest = Math.min(3 * before, 400_000)
    expect(delayMs).toBeGreaterThanOrEqual(10_000)
    expect(delayMs).toBeLessThanOrEqual(latest)
    expect([baseMs, baseMs + jitterMs]).toEqual([10_000, delayMs])
    const drawn = `waits ${delayMs / 1000} s, drawn from 10 s to ${latest / 1000} s`
    expect(explanation).toBe(`retry ${attempt} of 9: exit code 1; ${drawn}`)
    before = delayMs
  }
})

it('a full delay is drawn from 0 to what it would be', async () => {
  const made = await decisions({ jitter: 'FULL', retryDelay: 10, backoff: 'EXPONENTIAL' }, 2)
  for (const [index, { baseMs, jitterMs, delayMs, explanation }] of made.entries()) {
    expect([baseMs, baseMs + jitterMs]).toEqual([10_000 * 2 ** index, delayMs])
    expect(delayMs).toBeLessThanOrEqual(baseMs)
    expect(explanation).toMatch(new RegExp(`waits [\\d.]+ s, drawn from 0 s to ${baseMs / 1000} s$`))
  }
})

it.each(['NONE', 'DETERMINISTIC', 'RANDOM', 'FULL', 'DECORRELATED'] as const)(
  'with jitter %s a delay of 0 is one: the retry is due at once, every time',
  async (jitter) => {
    const { server, agent, sql } = given
    const rules = [{ match: {}, action: 'RETRY' as const, delay: 0 }]
    await sessionIn(server, agent, 'RUNNING', { retryPolicy: { maxRetries: 2, jitter, rules } })
    for (const attempt of [1, 2]) {
      await failWith(server, agent, 1)
      expect(await server.run('dispatch-retries')).toEqual([1])
      await driveAll(server, agent, 'RUNNING')
      const told = await sql(
        `SELECT data -> 'delaySeconds' AS delay, data ->> 'reason' AS reason FROM session_events
         WHERE type = 'session.retry_scheduled' ORDER BY id DESC LIMIT 1`,
      )
      expect(told).toEqual([
        { delay: 0, reason: `retry ${attempt} of 2: exit code 1 matched rules[0] (RETRY); waits 0 s` },
      ])
    }
  },
)
