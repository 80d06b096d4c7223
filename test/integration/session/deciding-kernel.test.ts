/** The kernel that decides how a session ended, in whatever order the ends are reported. */
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { openKernelCgroups } from '../../../src/agent/executors/process/limits/kernel-cgroups.ts'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import { fakeAgent, type Report } from '../../support/agents/fake-agent.ts'
import { decisionRow, kernelRows, sessionRow } from '../../support/database/session-rows.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import type { ServiceName } from '../../support/servers/test-server.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { useAgentProgram } from '../agent/agent-fixture.ts'
import { signalFile } from '../agent/signal-file.ts'

describe('kernels of reports', () => {
  const given = useScheduling()

  const ALONE = { status: 'EXITED', stopped: false } as const
  const verdict = (reason: string) => ({ reason, retry: null, delaySeconds: null, fault: null })

  /** The ends of kernels; the index of each is part of its exit code. */
  const ENDS = {
    well: () => ({ ...ALONE, exitCode: 0 }),
    failed: (index: number) => ({ ...ALONE, exitCode: 10 + index, verdict: verdict(`says ${index}`) }),
    'out of memory': () => ({ ...ALONE, exitCode: 137, oomKilled: true }),
    stopped: (index: number) => ({ status: 'EXITED', stopped: true, exitCode: 20 + index }),
    'stopped well': () => ({ status: 'EXITED', stopped: true, exitCode: 0 }),
  } satisfies Record<string, (index: number) => Report>

  type End = keyof typeof ENDS
  const isStopped = (end: End) => end.startsWith('stopped')
  const failsAlone = (end: End) => end === 'failed' || end === 'out of memory'

  /** Which kernels are told of in which sync, for three kernels. */
  const ORDERS: readonly (readonly (readonly number[])[])[] = [
    [[0, 1, 2]],
    ...[0, 1, 2].flatMap((one) => {
      const others = [0, 1, 2].filter((each) => each !== one)
      return [
        [[one], others],
        [others, [one]],
        [[one], [others[0]!], [others[1]!]],
        [[one], [others[1]!], [others[0]!]],
      ]
    }),
  ]

  interface Case {
    ends: readonly End[]
    order: readonly (readonly number[])[]
  }

  /** Only what was told to stop is stopped, and only what ends a session by itself has others stopped. */
  function canHappen({ ends, order }: Case): boolean {
    const at = (index: number) => order.findIndex((group) => group.includes(index))
    const firstEnd = Math.min(
      ...[0, 1, 2].filter((i) => failsAlone(ends[i]!) || (i === 0 && ends[0] === 'well')).map(at),
    )
    return firstEnd < 3 && [0, 1, 2].every((index) => !isStopped(ends[index]!) || at(index) > firstEnd)
  }

  /** The definition. */
  function deciding(ends: readonly End[]): number {
    return isStopped(ends[0]!) ? ends.findIndex(failsAlone) : 0
  }

  function expected({ ends }: Case): object {
    const index = deciding(ends)
    const end = ends[index]!
    if (end === 'well') return { status: 'TERMINATED', result: 'SUCCESS', exitCode: 0, error: null, reason: null }
    const { exitCode } = ENDS[end](index)
    const why =
      end === 'failed'
        ? { error: 'kernel-exited', reason: `says ${index}` }
        : { error: 'oom-killed', reason: 'killed for using more memory than its slot allows' }
    return { status: 'ERROR', result: 'FAILURE', exitCode, ...why }
  }

  const words = Object.keys(ENDS) as End[]
  const ofSubs = words.filter((word) => word !== 'stopped well')
  const CASES: readonly Case[] = words
    .flatMap((main) => ofSubs.flatMap((one) => ofSubs.map((two) => [main, one, two] as const)))
    .flatMap((ends) => ORDERS.map((order) => ({ ends, order })))
    .filter(canHappen)

  /** By session: main1, sub1, sub2. */
  async function idsOfKernels(): Promise<Map<string, string[]>> {
    const statement = `SELECT session_id AS id, array_agg(id ORDER BY role, index) AS kernels FROM kernels GROUP BY session_id`
    const rows = await given.sql(statement)
    return new Map(rows.map(({ id, kernels }) => [id as string, kernels as string[]]))
  }

  /** Batches of the handler that orders stops move nothing. */
  const UNORDERED = `SELECT FROM sessions s JOIN kernels k ON k.session_id = s.id
  WHERE s.status = 'TERMINATING' AND k.status = 'RUNNING' LIMIT 1`

  describe('of the kernels of a session', () => {
    it('the same one decides in whatever order the ends are reported', async () => {
      const { server, db, sql } = given
      const agent = fakeAgent(server.gateway, { slots: { cpu: '10000' } })
      await agent.register()
      await sql(`UPDATE agents SET status = 'DRAINING', drained_at = reprise_now() WHERE id = $1`, [given.agent.id])
      const sessions = await Promise.all(
        CASES.map(async (at) => ({
          id: await server.create({ clusterSize: 3 }),
          at,
        })),
      )
      const kernels = await idsOfKernels()
      for (let rounds = 0; rounds < 4; rounds++) {
        await server.settle()
        await agent.comply()
      }
      await server.settle()
      for (const round of [0, 1, 2]) {
        for (const { id, at } of sessions)
          for (const index of at.order[round] ?? [])
            agent.observe(kernels.get(id)![index]!, ENDS[at.ends[index]!](index))
        await agent.sync()
        const all = async (step: ServiceName) => {
          while ((await server.run(step)).some((done) => done > 0));
        }
        await all('detect-termination')
        while ((await sql(UNORDERED)).length > 0) await server.run('terminate-sessions')
        await all('promote-to-terminated')
      }
      expect(CASES.length).toBeGreaterThan(300)
      const wrong: object[] = []
      await Promise.all(
        sessions.map(async ({ id, at }) => {
          const row = await sessionRow(db, id)
          const should = expected(at)
          const is = Object.fromEntries(Object.keys(should).map((key) => [key, row[key as keyof typeof row]]))
          if (JSON.stringify(is) !== JSON.stringify(should)) wrong.push({ at, is, should })
        }),
      )
      expect(wrong).toEqual([])
    })
  })

  async function runningCluster(input: Partial<CreateSessionInput> = {}) {
    const { server, db, sql } = given
    const agents = [0, 1].map(() => fakeAgent(server.gateway, { slots: { cpu: '2' } }))
    for (const agent of agents) await agent.register()
    await sql(`UPDATE agents SET status = 'DRAINING', drained_at = reprise_now() WHERE id = $1`, [given.agent.id])
    const id = await server.create({
      clusterSize: 2,
      clusterMode: 'MULTI_NODE',
      resourceSlots: [{ slot: 'cpu', amount: '1' }],
      batchTimeout: 60,
      ...input,
    })
    for (let rounds = 0; rounds < 4; rounds++) {
      await server.settle()
      for (const agent of agents) await agent.comply()
    }
    await server.settle()
    const kernels = await kernelRows(db, id)
    const agentOf = (index: number) => agents.find((agent) => agent.id === kernels[index]!.agent)!
    return { id, kernels, agentOf }
  }

  describe('where kernels are on two agents', () => {
    const lose = async (agentId: string) => {
      const silent = `UPDATE agents SET last_heard_at = reprise_now() - interval '50 s', lease_from = reprise_now() - interval '50 s' WHERE id = $1`
      await given.sql(silent, [agentId])
      await given.server.settle()
    }

    it.each(['sub first', 'lost agent first'])('a main kernel whose agent is lost has failed: %s', async (order) => {
      const { server, db } = given
      const { id, kernels, agentOf } = await runningCluster()
      const [main, sub] = [agentOf(0), agentOf(1)]
      const tellOfSub = async () => {
        sub.observe(kernels[1]!.id, ENDS.failed(1))
        await sub.sync()
        await server.settle()
      }
      if (order === 'sub first') await tellOfSub()
      await lose(main.id)
      if (order !== 'sub first') await tellOfSub()
      expect(await sessionRow(db, id)).toMatchObject({ status: 'ERROR', exitCode: null, error: 'agent-lost' })
      expect(await kernelRows(db, id)).toMatchObject([
        { status: 'ERROR', error: 'agent-lost' },
        { status: 'ERROR', exitCode: 11 },
      ])
    })

    it('other kernels of a session that timed out while it ended are not awaited, and the known ends decide', async () => {
      const { server, db, sql } = given
      const { id, kernels, agentOf } = await runningCluster({ clusterSize: 3 })
      for (const index of [2, 0]) {
        agentOf(index).observe(kernels[index]!.id, ENDS.failed(index))
        await agentOf(index).sync()
        await server.settle()
      }
      expect(await sessionRow(db, id)).toMatchObject({ status: 'TERMINATING' })
      await sql(`UPDATE sessions SET status_changed_at = reprise_now() - interval '1 h' WHERE id = $1`, [id])
      await server.run('terminate-sessions')
      expect(await sessionRow(db, id)).toMatchObject({ status: 'ERROR', exitCode: 10, reason: 'says 0' })
    })

    it('a batch timeout stays the reason, whatever its kernels report afterwards', async () => {
      const { server, db, sql } = given
      const { id, kernels, agentOf } = await runningCluster()
      await sql(`UPDATE sessions SET times_out_at = reprise_now() WHERE id = $1`, [id])
      await server.settle()
      for (const index of [1, 0]) {
        agentOf(index).observe(kernels[index]!.id, ENDS.failed(index))
        await agentOf(index).sync()
        await server.settle()
      }
      expect(await sessionRow(db, id)).toMatchObject({ status: 'ERROR', exitCode: null, error: 'task-timeout' })
    })

    it('the agent of a kernel that was stopped has not failed', async () => {
      const { server, db } = given
      const rules = [{ match: { exitCodes: [11] }, action: 'RETRY' as const, avoid: 'AGENT' as const }]
      const { id, kernels, agentOf } = await runningCluster({ retryPolicy: { maxRetries: 1, rules } })
      agentOf(1).observe(kernels[1]!.id, ENDS.failed(1))
      await agentOf(1).sync()
      await server.settle()
      await agentOf(0).comply()
      await server.settle()
      expect(await decisionRow(db, id)).toMatchObject({ phase: 'SCHEDULED' })
      await advanceClock(db, 100)
      await server.run('dispatch-retries')
      const { child } = (await decisionRow(db, id))!
      expect((await sessionRow(db, child!)).avoidAgents).toEqual([agentOf(1).id])
    })
  })
})

describe('kernels on real agents', () => {
  const given = useAgentProgram()

  /** main1 and sub1 on agents of their own, which run these scripts; both run. */
  async function runOnTwoAgents(scripts: { main: string; sub: string }) {
    const { newAgent, create, reaches, db } = given
    const places = await Promise.all(
      ['10.0.0.1', '10.0.0.2'].map(async (address) => ({ agentDir: await temporaryDirectory('agent'), address })),
    )
    const agents = places.map((elsewhere) => newAgent({ cpu: '1', elsewhere }))
    for (const agent of agents) await agent.start()
    const command = ['sh', '-c', `if [ $REPRISE_KERNEL_ROLE = main ]; then ${scripts.main}; else ${scripts.sub}; fi`]
    const { sessionId, kernelId } = await create(command, { clusterSize: 2, clusterMode: 'MULTI_NODE' })
    await reaches(sessionId, 'RUNNING')
    await eventually(async () => (await given.text(kernelId)) === 'ready\n')
    const { rows } = await db.query<{ address: string }>(
      'SELECT a.address FROM kernels k JOIN agents a ON a.id = k.agent_id WHERE k.id = $1',
      [kernelId],
    )
    const at = places.findIndex(({ address }) => address === rows[0]!.address)
    return { sessionId, agentOfMain: agents[at]!, again: () => newAgent({ cpu: '1', elsewhere: places[at]! }).start() }
  }

  const say = (reason: string) => `echo '{"reason":"${reason}"}' >$REPRISE_VERDICT_FILE`

  it('a main kernel that fails by itself decides, though a sub failed before and was reported before', async () => {
    const { reaches, db } = given
    const [mainGo, subGo] = [signalFile(await temporaryDirectory('go')), signalFile(await temporaryDirectory('go'))]
    const { sessionId, agentOfMain, again } = await runOnTwoAgents({
      main: `echo ready; ${mainGo.wait}; ${say('main says so')}; exit 6`,
      sub: `${subGo.wait}; ${say('sub says so')}; exit 5`,
    })
    await agentOfMain.stop()
    await subGo.write()
    expect(await reaches(sessionId, 'TERMINATING')).toMatchObject({ exitCode: 5, reason: 'sub says so' })
    await mainGo.write()
    await eventually(() => mainGo.waiting().length === 0)
    await again()
    expect(await reaches(sessionId, 'ERROR')).toMatchObject({ exitCode: 6, reason: 'main says so' })
    expect(await kernelRows(db, sessionId)).toMatchObject([
      { status: 'ERROR', exitCode: 6 },
      { status: 'ERROR', exitCode: 5 },
    ])
  })

  const memory = openKernelCgroups('/probe-of-pipelines')
  const version = memory?.limitsMemory === true ? memory.version : null
  memory?.close()

  /** Version 2 ends the whole pipeline, so that it cannot exit with 0. */
  it.skipIf(version !== 1)(
    'a pipeline that loses a process to its memory limit has failed, unless its policy ignores that',
    async () => {
      const { newAgent, create, reaches, db } = given
      await newAgent({ mem: '4294967296' }).start()
      const command = ['sh', '-c', 'head -c 400000000 /dev/zero | tail | wc -c']
      const rules = [{ match: { causes: ['OOM_KILLED' as const] }, action: 'RETRY' as const, delay: 3600 }]
      const input = { resourceSlots: [{ slot: 'mem', amount: '48m' }] }
      const failing = await create(command, { ...input, retryPolicy: { maxRetries: 1, rules } })
      const ignoring = await create(command, { ...input, retryPolicy: { maxRetries: 1, oomIsFailure: false } })
      expect(await reaches(failing.sessionId, 'ERROR')).toMatchObject({
        exitCode: 0,
        result: 'FAILURE',
        error: 'oom-killed',
        reason: expect.stringContaining('although the command exited with 0'),
      })
      await eventually(async () => (await decisionRow(db, failing.sessionId))?.phase === 'SCHEDULED')
      expect((await sessionRow(db, failing.sessionId)).cause).toBe('OOM_KILLED')
      expect(await reaches(ignoring.sessionId, 'TERMINATED')).toMatchObject({
        exitCode: 0,
        result: 'SUCCESS',
        cause: null,
      })
      const { rows } = await db.query('SELECT oom_killed, exit_code FROM kernels')
      expect(rows).toEqual([0, 1].map(() => ({ oom_killed: true, exit_code: 0 })))
    },
  )

  it('a failed sub kernel decides, though the main kernel, stopped for it, ends with its own code and verdict', async () => {
    const { reaches, db } = given
    const [mainGo, subGo] = [signalFile(await temporaryDirectory('go')), signalFile(await temporaryDirectory('go'))]
    const { sessionId, agentOfMain, again } = await runOnTwoAgents({
      main: `trap 'touch ${mainGo.path}.stopped; ${mainGo.wait}; ${say('main was stopped')}; exit 9' TERM; echo ready; while :; do sleep 0.02; done`,
      sub: `${subGo.wait}; ${say('sub says so')}; exit 5`,
    })
    await subGo.write()
    await eventually(() => existsSync(`${mainGo.path}.stopped`))
    // The order to stop outlives the agent that got it.
    await agentOfMain.stop()
    await mainGo.write()
    await eventually(() => mainGo.waiting().length === 0)
    await again()
    expect(await reaches(sessionId, 'ERROR')).toMatchObject({ exitCode: 5, reason: 'sub says so' })
    expect(await kernelRows(db, sessionId)).toMatchObject([
      { status: 'TERMINATED', exitCode: 9 },
      { status: 'ERROR', exitCode: 5 },
    ])
  })
})
