/** Property: tries, retries and attempts never mix. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { FailureError } from '../../../src/domain/session/failure.ts'
import { driveAll } from '../../support/sessions/drive-session.ts'
import { passTime } from '../../support/sessions/pass-time.ts'
import { playedAgent, type PlayedAgent } from '../../support/agents/played-agent.ts'
import { useResubmission } from '../../support/sessions/resubmission.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { testServer, type TestServer } from '../../support/servers/test-server.ts'
import { newChain, RESCHEDULES_MAX, step, TRIES_MAX, type ModelAttempt, type Step } from './counters.model.ts'
import { checkProperty } from '../../support/seeds.ts'

const given = useScheduling()
const resubmit = useResubmission(given)

const NO_IMAGE: FailureError = { name: 'image-pull-failed', message: 'no such image' }

const maxRetries = fc.nat({ max: 2 })
const oneStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Step>({ does: 'run' }) },
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('exit'),
      code: fc.constantFrom(1, 1, 1, 1, 0),
    } as const),
  },
  { weight: 5, arbitrary: fc.constant<Step>({ does: 'interrupt' }) },
  { weight: 5, arbitrary: fc.constant<Step>({ does: 'decide' }) },
  { weight: 5, arbitrary: fc.constant<Step>({ does: 'dispatch' }) },
  {
    weight: 4,
    arbitrary: fc.record({ does: fc.constant('resubmit'), maxRetries: fc.option(maxRetries) } as const),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ does: 'restart' }) },
)

const STATES: Record<string, ModelAttempt['state']> = { RUNNING: 'RUNNING', ERROR: 'FAILED', TERMINATED: 'SUCCEEDED' }
const CHAIN = `SELECT s.attempt, s.epoch, s.retry_count AS "retryCount", s.max_retries AS "maxRetries", s.origin, s.status,
    s.tries, s.reschedules, d.phase, s.id FROM sessions s LEFT JOIN retry_decisions d ON d.session_id = s.id
  WHERE s.chain_id = $1 ORDER BY s.attempt`

async function stored(chainId: string): Promise<ModelAttempt[]> {
  const rows = await given.sql(CHAIN, [chainId])
  return rows.map(({ status, phase, id: _id, ...counters }) => ({
    ...(counters as unknown as ModelAttempt),
    state: STATES[status as string] ?? 'PENDING',
    next: phase === null ? 'UNDECIDED' : phase === 'SCHEDULED' ? 'SCHEDULED' : 'OVER',
  }))
}

/** One server after the other on the same database, with one agent. */
function world(server: TestServer, agent: PlayedAgent, chainId: string) {
  let present = server
  const { db } = given

  async function over(): Promise<void> {
    await present.run('detect-termination', 'terminate-sessions')
    await agent.comply()
    await present.run('promote-to-terminated')
  }

  /** The agent cannot prepare the kernel that it is told to prepare. */
  async function interrupt(): Promise<void> {
    await passTime(db, 60)
    await present.run('schedule-sessions', 'prepare-sessions')
    agent.kernels.clear()
    const { orders } = await agent.sync()
    agent.obey({ orders, forget: [] })
    for (const id of agent.kernels.keys()) agent.observe(id, { status: 'FAILED', error: NO_IMAGE })
    await agent.sync()
    await present.run('prepare-sessions')
    await over()
  }

  return async (what: Step, before: ModelAttempt): Promise<void> => {
    switch (what.does) {
      case 'run':
        await passTime(db, 60)
        return driveAll(present, agent, 'RUNNING')
      case 'exit':
        agent.exitAll(what.code)
        await agent.sync()
        return over()
      case 'interrupt':
        return before.state === 'PENDING' ? interrupt() : undefined
      case 'decide':
        await present.run('decide-retries')
        return
      case 'dispatch':
        await passTime(db, 5)
        await present.run('dispatch-retries')
        return
      case 'resubmit': {
        const [last] = (await given.sql(CHAIN, [chainId])).slice(-1)
        const overrides = what.maxRetries === null ? {} : { retryPolicy: { maxRetries: what.maxRetries } }
        const shown = await resubmit({ sessionIds: [last!.id as string], overrides }, { server: present })
        expect(shown.sessionIds.length).toBe(before.state === 'FAILED' ? 1 : 0)
        return
      }
      case 'restart':
        present = testServer(db)
    }
  }
}

it('tries, retries and attempts never mix, whatever happens to a chain', async () => {
  const reached = { epochs: 0, retries: 0, reschedules: 0, tries: 0 }
  const property = fc.asyncProperty(
    maxRetries,
    fc.array(oneStep, { minLength: 12, maxLength: 30 }),
    async (budget, steps) => {
      await given.database.fresh()
      await given.sql(`UPDATE resource_groups SET tries_max = $1, reschedules_max = $2`, [TRIES_MAX, RESCHEDULES_MAX])
      const server = testServer(given.db)
      const agent = playedAgent(server.gateway, { slots: { cpu: '64' } })
      await agent.register()
      const chainId = await server.create({ retryPolicy: { maxRetries: budget, retryDelay: 1 } })
      const happen = world(server, agent, chainId)
      let model = newChain(budget)
      for (const [index, what] of steps.entries()) {
        await happen(what, model.at(-1)!)
        model = step(model, what)
        expect(await stored(chainId), `after ${JSON.stringify(steps.slice(0, index + 1))}`).toEqual(model)
        reached.tries = Math.max(reached.tries, model.at(-1)!.tries)
      }
      reached.epochs = Math.max(reached.epochs, ...model.map(({ epoch }) => epoch))
      reached.retries = Math.max(reached.retries, ...model.map(({ retryCount }) => retryCount))
      reached.reschedules = Math.max(reached.reschedules, ...model.map(({ reschedules }) => reschedules))
    },
  )
  // A chain that passes through all three layers, whatever the random ones do.
  const interrupts = Array.from({ length: TRIES_MAX * (RESCHEDULES_MAX + 1) }, (): Step => ({ does: 'interrupt' }))
  const failure: Step[] = [{ does: 'run' }, { does: 'exit', code: 1 }]
  const retry: Step[] = [{ does: 'decide' }, { does: 'dispatch' }]
  const all: Step[] = [
    ...interrupts,
    ...retry,
    ...interrupts.slice(0, 3),
    { does: 'restart' },
    ...failure,
    { does: 'resubmit', maxRetries: 2 },
    ...interrupts.slice(0, 1),
    ...failure,
    ...retry,
    ...failure,
    { does: 'decide' },
    { does: 'resubmit', maxRetries: null },
    { does: 'dispatch' },
    { does: 'run' },
  ]
  await checkProperty(property, { numRuns: 4, examples: [[1, all]] })
  expect(reached.epochs).toBeGreaterThanOrEqual(2)
  expect(reached.retries).toBeGreaterThanOrEqual(1)
  expect([reached.reschedules, reached.tries]).toEqual([RESCHEDULES_MAX, TRIES_MAX - 1])
})
