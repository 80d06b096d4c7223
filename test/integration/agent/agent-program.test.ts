/** The agent's program: orders, reports, restarts, many kernels, large environments, several agents and verdicts of programs. */
import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ARGUMENT_BYTES_MAX, COMMAND_BYTES_MAX, ENVIRON_BYTES_MAX } from '../../../src/domain/limits.ts'
import { createSessions } from '../../../src/services/session/create-sessions.ts'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import { chainRows, decisionRow, kernelRows, sessionRow } from '../../support/database/session-rows.ts'
import { blocksOfTest } from '../../support/document-blocks.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { useAgentProgram } from './agent-fixture.ts'
import { signalFile } from './signal-file.ts'
import { waitForAll } from './wait-for-all.ts'

describe('orders and reports', () => {
  const given = useAgentProgram()

  it('takes an order, reports the end at once, and forgets the kernel on request', async () => {
    const { gateway, create, reaches, text, db } = given
    const go = signalFile(given.agentDir)
    await given.newAgent().start()
    const { sessionId, kernelId } = await create(['sh', '-c', `${go.wait}; echo out; echo err >&2; exit 4`])
    await eventually(() => {
      const poll = gateway.syncs.at(-1)
      return poll?.observed[0]?.status === 'RUNNING' && poll.waitMs > 0
    })
    const { interrupted } = gateway
    await go.write()
    expect(await reaches(sessionId, 'ERROR')).toMatchObject({ exitCode: 4 })
    // The agent has not waited until the poll was over.
    expect(gateway.interrupted).toBeGreaterThan(interrupted)
    expect(await text(kernelId, 'STDOUT')).toBe('out\n')
    expect(await text(kernelId, 'STDERR')).toBe('err\n')
    expect(await kernelRows(db, sessionId)).toMatchObject([{ status: 'ERROR', exitCode: 4, gone: true, held: false }])
    await eventually(() => gateway.syncs.at(-1)?.observed.length === 0)
    await eventually(async () => (await readdir(join(given.agentDir, 'kernels'))).length === 0)
    expect(gateway.underWayMax).toBe(1)
  })

  it('registers again where the server does not know it any more', async () => {
    const { gateway, server, create, reaches, db } = given
    await given.newAgent({ executor: 'noop' }).start()
    await eventually(() => gateway.syncs.at(-1)?.waitMs)
    await db.query('DELETE FROM agents')
    server.hub.wakeAgents([gateway.syncs[0]!.agentId])
    await eventually(() => gateway.registrations.length === 2)
    expect(gateway.registrations[1]).toEqual(gateway.registrations[0])
    await reaches((await create(['noop'])).sessionId, 'TERMINATED')
  })

  it('stops when it is superseded, and frees its directory', async () => {
    const { gateway, server } = given
    const agent = given.newAgent({ executor: 'noop' })
    await agent.start()
    await eventually(() => gateway.syncs.at(-1)?.waitMs)
    const [identity] = gateway.registrations
    await server.gateway.register({ ...identity!, instanceId: randomUUID() }, new AbortController().signal)
    server.hub.wakeAgents([identity!.agentId])
    expect(await agent.done).toBe('superseded')
    const syncs = gateway.syncs.length
    const successor = given.newAgent({ executor: 'noop' })
    await successor.start()
    await eventually(() => gateway.syncs.length > syncs)
    expect(gateway.syncs.slice(syncs).map(({ instanceId }) => instanceId)).not.toContain(identity!.instanceId)
  })

  it('does not ask without pause about an order that takes its time', async () => {
    const { gateway, server, create, reaches, text, configure } = given
    await configure({ stop_grace_ms: 1_500 })
    await given.newAgent({ executor: 'noop' }).start()
    const { sessionId, kernelId } = await create(['noop', 'stubborn'])
    await reaches(sessionId, 'RUNNING')
    await eventually(async () => (await text(kernelId)) === 'ready\n')
    const before = gateway.syncs.length
    await terminateSession(server.context, { sessionId })
    await reaches(sessionId, 'TERMINATED')
    expect(gateway.syncs.length - before).toBeLessThan(20)
    expect((await kernelRows(given.db, sessionId))[0]).toMatchObject({ exitCode: 137 })
  })
})

describe('many kernels of one agent', () => {
  const KERNELS = 1_000

  const given = useAgentProgram({ live: false })

  async function countKernels(status: string): Promise<number> {
    const statement = 'SELECT count(*)::int AS count FROM kernels WHERE status = $1::kernel_status'
    return (await given.db.query<{ count: number }>(statement, [status])).rows[0]!.count
  }

  it('many kernels that end at once travel together', async () => {
    const { gateway, server } = given
    await given.newAgent({ executor: 'noop', cpu: String(KERNELS) }).start()
    await eventually(() => gateway.registrations.length > 0)
    const inputs = Array.from({ length: KERNELS }, () => ({ name: 'work', command: ['noop'] }))
    await createSessions(server.context, inputs)
    await server.run('schedule-sessions', 'schedule-sessions')
    await eventually(async () => (await countKernels('PREPARED')) === KERNELS)
    gateway.cut()
    await server.run('promote-to-prepared', 'promote-to-prepared')
    expect(await countKernels('CREATING')).toBe(KERNELS)
    const before = gateway.syncs.length
    gateway.heal()
    await eventually(async () => (await countKernels('TERMINATED')) === KERNELS)
    expect(gateway.syncs.length - before).toBeLessThan(10)
  })
})

describe('restarts of an agent', () => {
  const given = useAgentProgram()

  /** `one`, and after the file is there `two` and exit code 6; has said `one`. */
  async function runInTwoSteps() {
    const go = signalFile(given.agentDir)
    const session = await given.create(['sh', '-c', `echo one; ${go.wait}; echo two; exit 6`])
    await given.reaches(session.sessionId, 'RUNNING')
    await eventually(async () => (await given.text(session.kernelId)) === 'one\n')
    return { ...session, go }
  }

  it('two agents never share a directory, and a stop frees it', async () => {
    const { gateway } = given
    const first = given.newAgent()
    await first.start()
    await eventually(() => gateway.registrations.length === 1)
    await expect(given.newAgent().start()).rejects.toThrow('belongs to an agent that runs')
    await first.stop()
    expect(await first.done).toBe('stopped')
    await given.newAgent().start()
    await eventually(() => gateway.registrations.length === 2)
    const [before, after] = gateway.registrations
    expect(after?.agentId).toBe(before?.agentId)
    expect(after?.instanceId).not.toBe(before?.instanceId)
  })

  it('kernels outlive a stop of the agent, and the next one ships their logs from where the server has them', async () => {
    const { gateway, reaches, text, db } = given
    const first = given.newAgent()
    await first.start()
    const { sessionId, kernelId, go } = await runInTwoSteps()
    const processes = go.waiting()
    await first.stop()
    expect(go.waiting()).toEqual(processes)
    const before = gateway.syncs.length
    await given.newAgent().start()
    await eventually(() => gateway.syncs.slice(before).some(({ observed }) => observed[0]?.status === 'RUNNING'))
    expect(go.waiting()).toEqual(processes)
    await go.write()
    expect(await reaches(sessionId, 'ERROR')).toMatchObject({ exitCode: 6, attempt: 1 })
    expect(await text(kernelId)).toBe('one\ntwo\n')
    expect(await kernelRows(db, sessionId)).toMatchObject([{ assignment: 1, error: 'kernel-exited' }])
    const shipped = gateway.syncs.slice(before).flatMap(({ logs }) => logs)
    expect(shipped).toMatchObject([{ offset: 4, bytes: 4, text: 'two\n' }])
  })

  it('the next agent reports kernels that ended while none ran', async () => {
    const { reaches, text } = given
    const first = given.newAgent()
    await first.start()
    const { sessionId, kernelId, go } = await runInTwoSteps()
    await first.stop()
    await go.write()
    await eventually(() => go.waiting().length === 0)
    await given.newAgent().start()
    expect(await reaches(sessionId, 'ERROR')).toMatchObject({ exitCode: 6 })
    expect(await text(kernelId)).toBe('one\ntwo\n')
  })

  it('a kernel of which the next agent finds nothing has vanished', async () => {
    const { create, reaches } = given
    const first = given.newAgent({ executor: 'noop' })
    await first.start()
    const { sessionId } = await create(['noop', 'hang'])
    await reaches(sessionId, 'RUNNING')
    await first.stop()
    await given.newAgent({ executor: 'noop' }).start()
    expect(await reaches(sessionId, 'ERROR')).toMatchObject({ error: 'kernel-vanished', exitCode: null })
  })

  it('a fence that passes between two agents is applied by the next, which the server does not answer either', async () => {
    const { gateway, reaches, configure } = given
    await configure({ fence_after_ms: 8_000 })
    const first = given.newAgent()
    await first.start()
    const { sessionId, go } = await runInTwoSteps()
    gateway.cut()
    await first.stop()
    await given.newAgent().start()
    expect(go.waiting()).not.toEqual([])
    await eventually(() => go.waiting().length === 0)
    gateway.heal()
    expect(await reaches(sessionId, 'ERROR')).toMatchObject({ exitCode: 143, error: 'agent-fenced' })
  })
})

describe('the size of commands and environments', () => {
  const given = useAgentProgram()

  /** Strings that take exactly so many bytes, 9 more for each, none longer than the system takes. */
  function taking(bytes: number, prefix: (n: number) => string): string[] {
    const strings: string[] = []
    for (let left = bytes; left > 0;) {
      const begin = prefix(strings.length)
      // The last two share what is left, so that neither is too short for its prefix.
      const take = left > 200_000 ? 100_000 : left > 100_000 ? Math.floor(left / 2) : left
      strings.push(begin + 'x'.repeat(take - 9 - begin.length))
      left -= take
    }
    return strings
  }

  function environTaking(bytes: number) {
    return taking(bytes, (n) => `V${n}=`).map((each) => {
      const at = each.indexOf('=')
      return { name: each.slice(0, at), value: each.slice(at + 1) }
    })
  }

  const SCRIPT = ['sh', '-c', 'echo $# $(env | grep -c "^V[0-9]*=x")', 'sh']
  const commandTaking = (bytes: number) => [
    ...SCRIPT,
    ...taking(bytes - SCRIPT.reduce((sum, word) => sum + word.length + 9, 0), () => ''),
  ]

  it('the largest command with the largest environment that is accepted starts, and one byte more is refused', async () => {
    const { newAgent, create, reaches, text } = given
    await newAgent().start()
    const [command, environ] = [commandTaking(COMMAND_BYTES_MAX), environTaking(ENVIRON_BYTES_MAX)]
    const { sessionId, kernelId } = await create(command, { environ })
    expect(await reaches(sessionId, 'TERMINATED')).toMatchObject({ exitCode: 0 })
    expect(await text(kernelId)).toBe(`${command.length - SCRIPT.length} ${environ.length}\n`)
    await expect(create(['true'], { environ: environTaking(ENVIRON_BYTES_MAX + 1) })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      issues: [
        { path: 'environ', message: `must be at most ${ENVIRON_BYTES_MAX} bytes in all, 10 more for each variable` },
      ],
    })
    await expect(create(commandTaking(COMMAND_BYTES_MAX + 1))).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      issues: [
        { path: 'command', message: `must be at most ${COMMAND_BYTES_MAX} bytes in all, 9 more for each argument` },
      ],
    })
  })

  it('an environment that grew too large later fails with the numbers, and is not retried', async () => {
    const { newAgent, create, reaches, db } = given
    const { sessionId } = await create(['true'], { retryPolicy: { maxRetries: 3 } })
    const environ = [{ name: 'LONG', value: 'x'.repeat(ARGUMENT_BYTES_MAX - 'LONG='.length + 1) }]
    await db.query('UPDATE sessions SET environ = $2 WHERE id = $1', [sessionId, JSON.stringify(environ)])
    await newAgent().start()
    expect(await reaches(sessionId, 'ERROR')).toMatchObject({
      error: 'environment-too-large',
      reason: expect.stringContaining(`LONG takes ${ARGUMENT_BYTES_MAX + 1} bytes, and may take ${ARGUMENT_BYTES_MAX}`),
    })
    await eventually(async () => (await decisionRow(db, sessionId)) !== undefined)
    expect(await decisionRow(db, sessionId)).toMatchObject({ phase: 'NOT_ELIGIBLE', cause: 'VALIDATION_ERROR' })
    expect(await sessionRow(db, sessionId)).toMatchObject({ cause: 'VALIDATION_ERROR' })
  })
})

describe('a session on several agents', () => {
  const given = useAgentProgram()

  /** The output of each kernel of a session, with the address of its agent. */
  async function printed(sessionId: string): Promise<{ name: string; address: string; text: string }[]> {
    const { rows } = await given.db.query<{ id: string; name: string; address: string }>(
      `SELECT k.id, k.role || k.index AS name, a.address FROM kernels k JOIN agents a ON a.id = k.agent_id
     WHERE k.session_id = $1 ORDER BY k.role, k.index`,
      [sessionId],
    )
    return Promise.all(rows.map(async ({ id, ...kernel }) => ({ ...kernel, text: await given.text(id) })))
  }

  const SAYS = `echo $REPRISE_KERNEL_NAME $REPRISE_KERNEL_ROLE $REPRISE_KERNEL_INDEX $REPRISE_CLUSTER_RANK \\
  $REPRISE_CLUSTER_MODE $REPRISE_CLUSTER_SIZE $REPRISE_CLUSTER_HOSTS`

  it('kernels of a session on several agents get their role and the addresses of the others, in each attempt', async () => {
    const { newAgent, create, reaches, db } = given
    const places = await Promise.all(
      ['10.0.0.1', 'node-b'].map(async (address) => ({ agentDir: await temporaryDirectory('agent'), address })),
    )
    for (const elsewhere of places) await newAgent({ cpu: '2', elsewhere }).start()
    const meet = waitForAll(await temporaryDirectory('meet'), 4)
    const { sessionId } = await create(['sh', '-c', `${SAYS}; ${meet}; test $REPRISE_ATTEMPT = 2`], {
      clusterSize: 4,
      clusterMode: 'MULTI_NODE',
      retryPolicy: { maxRetries: 1, retryDelay: 0.05 },
    })
    await reaches(sessionId, 'ERROR')
    await expect.poll(async () => (await chainRows(db, sessionId)).length, { timeout: 120_000 }).toBe(2)
    const [, second] = await chainRows(db, sessionId)
    await reaches(second!.id, 'TERMINATED')
    for (const id of [sessionId, second!.id]) {
      const kernels = await printed(id)
      expect(kernels.map(({ name }) => name)).toEqual(['main1', 'sub1', 'sub2', 'sub3'])
      expect(new Set(kernels.map(({ address }) => address))).toEqual(new Set(places.map(({ address }) => address)))
      const hosts = kernels.map(({ name, address }) => `${name}=${address}`).join(',')
      const said = kernels.filter(({ text }) => text !== '')
      expect(said.length).toBeGreaterThanOrEqual(id === sessionId ? 1 : 4)
      for (const { name, text } of said) {
        const [, role, index] = /^(main|sub)(\d)$/.exec(name)!
        const rank = role === 'main' ? 0 : index
        expect(text.trim()).toBe(`${name} ${role} ${index} ${rank} MULTI_NODE 4 ${hosts}`)
      }
    }
  })
})

describe('verdicts of programs', () => {
  const given = useAgentProgram()

  interface Decision {
    phase: string
    counted: boolean
    delaySeconds: number | null
    explanation: string
  }

  /** The retry decision on a program that runs this script. */
  async function decisionOn(script: string, retryPolicy: object = {}) {
    const policy = { maxRetries: 2, retryDelay: 900, jitter: 'NONE', ...retryPolicy } as const
    const { sessionId } = await given.create(['sh', '-c', script], { retryPolicy: policy })
    const { reason, exitCode } = await given.reaches(sessionId, 'ERROR')
    const read = async () =>
      (
        await given.db.query<Decision>(
          'SELECT phase, counted, delay_ms / 1000.0::float8 AS "delaySeconds", explanation FROM retry_decisions WHERE session_id = $1',
          [sessionId],
        )
      ).rows[0]
    return { reason, exitCode, ...(await eventually(read)) }
  }

  const say = (verdict: object) => `echo '${JSON.stringify(verdict)}' > "$REPRISE_VERDICT_FILE"; exit 3`

  it('a program gives the reason of its failure, and whether and when to retry', async () => {
    await given.newAgent().start()
    const [documented] = await blocksOfTest('test/integration/agent/agent-program.test.ts')
    expect(await decisionOn(documented!.text)).toMatchObject({
      reason: 'license server busy',
      exitCode: 1,
      phase: 'SCHEDULED',
      counted: false,
      delaySeconds: 30,
      explanation:
        'uncounted retry 1 of 10: exit code 1 (license server busy); its program asks for an uncounted retry after 30 s; waits 30 s',
    })
    expect(await decisionOn(say({ reason: 'bad input', retry: 'no' }))).toMatchObject({
      reason: 'bad input',
      phase: 'NOT_ELIGIBLE',
    })
    const rules = [{ match: { reason: 'bad *' }, action: 'FAIL' }]
    expect(await decisionOn(say({ reason: 'bad input', retry: 'yes' }), { rules, trustVerdicts: false })).toMatchObject(
      {
        phase: 'NOT_ELIGIBLE',
        explanation:
          'not retried: exit code 3 (bad input); its program asks for a retry, which trustVerdicts ignores; matched rules[0] (FAIL)',
      },
    )
  })

  it('an invalid verdict is ignored, and delays nothing', async () => {
    await given.newAgent().start()
    const file = '"$REPRISE_VERDICT_FILE"'
    const faults: [script: string, fault: string][] = [
      [`mkfifo ${file}`, 'it is not a regular file'],
      [`ln -s /etc/passwd ${file}`, 'it cannot be read (ELOOP)'],
      [`mkdir ${file}`, 'it is not a regular file'],
      [`head -c 20000 /dev/zero > ${file}`, 'it is larger than 16384 bytes'],
      [`: > ${file}`, 'it is not JSON'],
    ]
    for (const [script, fault] of faults) {
      expect(await decisionOn(`${script}; exit 3`)).toMatchObject({
        reason: 'exited with 3',
        phase: 'SCHEDULED',
        explanation: `retry 1 of 2: exit code 3; its verdict file cannot be used: ${fault}; waits 15 min`,
      })
    }
  })

  it('a success stays a success, and a stopped program has no verdict', async () => {
    const { create, reaches } = given
    await given.newAgent().start()
    const { sessionId } = await create(['sh', '-c', say({ retry: 'no', reason: 'no' }).replace('exit 3', 'exit 0')])
    expect(await reaches(sessionId, 'TERMINATED')).toMatchObject({ result: 'SUCCESS', reason: null })
    const stopped = say({ retry: 'no', reason: 'gives up' }).replace('exit 3', 'sleep 100')
    const { sessionId: timedOut } = await create(['sh', '-c', stopped], {
      batchTimeout: 1,
      retryPolicy: { maxRetries: 1 },
    })
    expect((await reaches(timedOut, 'ERROR')).reason).toMatch(/^task-timeout/)
  })
})
