/** Agents whose requests are lost, whose disks are full, or of which some lie, die or are cut off. */
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, test } from 'vitest'
import { decideIsolation } from '../../../src/agent/executors/process/isolation/decide-isolation.ts'
import { createLogger } from '../../../src/observability/log.ts'
import { uploadCode } from '../../../src/services/code/upload-code.ts'
import { createSessions } from '../../../src/services/session/create-sessions.ts'
import { startSwarm } from '../../support/agents/agent-swarm.ts'
import { observed } from '../../support/agents/fake-agent.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { kernelRows, misbookedSlots, sessionRow } from '../../support/database/session-rows.ts'
import { eventually } from '../../support/eventually.ts'
import { whyNoMounts } from '../../support/run/mounts.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { TEST_CODE } from '../../support/servers/test-code.ts'
import { testServer } from '../../support/servers/test-server.ts'
import { archiveOf, chunksOf } from '../code/code-archives.ts'
import { useAgentProgram } from './agent-fixture.ts'
import { chainsOnMachines } from './chains-on-machines.ts'
import type { Request } from './faulty-gateway.ts'
import { signalFile } from './signal-file.ts'

describe('lost requests and answers', () => {
  const given = useAgentProgram()

  /** Each thing that there is to say is said once in vain. */
  function losesEveryFirst(part: 'request' | 'answer'): (request: Request) => 'request' | 'answer' | null {
    const said = new Set<string>()
    return (request) => {
      const what = 'observed' in request ? JSON.stringify([request.observed, request.logs]) : 'register'
      const isNew = !said.has(what)
      said.add(what)
      return isNew ? part : null
    }
  }

  it.each(['request', 'answer'] as const)('where each %s is lost once, nothing is lost nor doubled', async (part) => {
    const { gateway, create, reaches, text, db } = given
    gateway.lose = losesEveryFirst(part)
    await given.newAgent().start()
    const { sessionId, kernelId } = await create([
      'sh',
      '-c',
      'for n in 1 2 3 4 5; do echo $n; sleep 0.1; done; exit 3',
    ])
    expect(await reaches(sessionId, 'ERROR')).toMatchObject({ exitCode: 3, attempt: 1 })
    expect(await text(kernelId)).toBe('1\n2\n3\n4\n5\n')
    expect(await kernelRows(db, sessionId)).toMatchObject([{ status: 'ERROR', assignment: 1 }])
    await eventually(() => gateway.syncs.at(-1)?.observed.length === 0)
    expect(gateway.lost).toBeGreaterThan(3)
  })

  it('an outage of the server costs no kernel, and registering waits for it', async () => {
    const { gateway, create, reaches, text } = given
    const go = signalFile(given.agentDir)
    gateway.cut()
    await given.newAgent().start()
    await eventually(() => gateway.refusals > 1)
    gateway.heal()
    const { sessionId, kernelId } = await create(['sh', '-c', `${go.wait}; echo out`])
    await reaches(sessionId, 'RUNNING')
    const refusals = gateway.refusals
    gateway.cut()
    await go.write()
    await eventually(() => go.waiting().length === 0)
    await eventually(() => gateway.refusals > refusals + 2)
    gateway.heal()
    expect(await reaches(sessionId, 'TERMINATED')).toMatchObject({ exitCode: 0 })
    expect(await text(kernelId)).toBe('out\n')
  })

  it('does not wait for the answer to a poll that it has interrupted', async () => {
    const { gateway, create, reaches } = given
    const go = signalFile(given.agentDir)
    const stuck = gateway.hold((request) => request.waitMs > 0 && request.observed[0]?.status === 'RUNNING')
    await given.newAgent().start()
    const { sessionId } = await create(['sh', '-c', `${go.wait}; exit 5`])
    await stuck.reached
    await go.write()
    expect(await reaches(sessionId, 'ERROR')).toMatchObject({ exitCode: 5 })
    stuck.open()
  })

  /** Longer than a busy machine stands still, which would be an outage otherwise. */
  const FENCE_AFTER_MS = 5_000

  it('stops its kernels when it has not been answered for the fence, and only then', async () => {
    const { gateway, create, reaches, configure, db } = given
    const go = signalFile(given.agentDir)
    await configure({ fence_after_ms: FENCE_AFTER_MS })
    await given.newAgent().start()
    const { sessionId } = await create(['sh', '-c', go.wait])
    await reaches(sessionId, 'RUNNING')
    const began = performance.now()
    await eventually(() => performance.now() - began > FENCE_AFTER_MS && gateway.syncs.at(-1)!.waitMs > 0)
    expect(go.waiting()).not.toEqual([])
    gateway.cut()
    await eventually(() => go.waiting().length === 0)
    expect(gateway.refusals).toBeGreaterThan(0)
    expect(await kernelRows(db, sessionId)).toMatchObject([{ status: 'RUNNING', gone: false }])
    gateway.heal()
    expect(await reaches(sessionId, 'ERROR')).toMatchObject({ exitCode: 143, error: 'agent-fenced' })
    expect(await kernelRows(db, sessionId)).toMatchObject([{ status: 'ERROR', gone: true }])
    const cause = async () => (await sessionRow(db, sessionId)).cause
    expect(await eventually(cause)).toBe('AGENT_TRANSIENT')
  })
})

describe('full disks', () => {
  const given = useAgentProgram()
  const { machine, workGoesTo, record } = chainsOnMachines(given)

  const mounts: string[] = []
  // Their agents live longer than a test.
  afterAll(() => {
    for (const path of mounts) execFileSync('umount', ['--lazy', path])
  })

  async function disk(options: string): Promise<string> {
    const path = await temporaryDirectory('disk')
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'reprise-test', path])
    mounts.push(path)
    return path
  }

  const become = (path: string, options: string) => execFileSync('mount', ['-o', `remount,${options}`, path])

  /** Lets no more than so many files be made. The agent may make one before the limit is set, which is then refused. */
  const leaveFiles = (path: string, count: number) =>
    eventually(() => {
      const { files, ffree } = statfsSync(path)
      const limited = Promise.resolve().then(() => become(path, `nr_inodes=${files - ffree + count}`))
      return limited.catch(() => null)
    })

  const FULL = /ENOSPC|No space left on device|the disk of .* is full/
  const PAGE_KIB = 4

  /** Drafts and probes, of which none may be left. */
  const unfinished = (directory: string) =>
    (readdirSync(directory, { recursive: true }) as string[]).filter((name) =>
      /\.new$|\.claim$|\.reprise-store\.|agent\.lock\.|probe-|code\.part|exec\.|(^|\/)\.new-|(^|\/)\.snap-/.test(name),
    )

  const noMounts = whyNoMounts()

  describe.skipIf(noMounts !== null)(`a full disk${noMounts === null ? '' : ` (skipped: ${noMounts})`}`, () => {
    test.each([
      ['bytes', (count: number) => `size=${count * PAGE_KIB}k,nr_inodes=1000`],
      ['files', (count: number) => `size=16m,nr_inodes=${count}`],
    ])('of an agent that starts for the first time, with one more of its %s each time', async (_what, options) => {
      const path = await disk(options(2))
      const elsewhere = { agentDir: join(path, 'agent'), address: '127.0.0.1' }
      const faults: string[] = []
      const start = async () => {
        await decideIsolation({ mode: 'auto', dataDir: path, agentDir: elsewhere.agentDir, hide: [] })
        await given.newAgent({ elsewhere }).start()
      }
      for (let count = 2; ; count++) {
        become(path, options(count))
        const fault = await start().then(
          () => null,
          (error: Error) => error.message,
        )
        if (fault === null) break
        expect(fault).toMatch(FULL)
        expect(existsSync(elsewhere.agentDir) ? unfinished(path).filter((name) => !name.endsWith('.new')) : []).toEqual(
          [],
        )
        faults.push(fault)
        if (count > 100) throw new Error(`it never starts: ${faults.at(-1)}`)
      }
      expect(faults.length).toBeGreaterThan(3)
      become(path, options(10_000))
      const { sessionId } = await given.create(['echo', 'there is space'])
      await given.reaches(sessionId, 'TERMINATED')
      expect(unfinished(path)).toEqual([])
    })

    test('whose fence cannot be written: it accepts no kernels and says why, until the fence is written', async () => {
      const blocked = join(given.agentDir, 'fence.new')
      mkdirSync(blocked)
      execFileSync('mount', ['-t', 'tmpfs', 'reprise-test', blocked])
      let isBlocked = true
      const release = () => {
        if (isBlocked) execFileSync('umount', ['--lazy', blocked])
        isBlocked = false
      }
      onTestFinished(release)
      await given.newAgent().start()
      const refuses = async () => (await given.db.query('SELECT refuses FROM agents')).rows[0]?.refuses
      expect(await eventually(refuses)).toMatch(/^the fence could not be written: EBUSY/)
      await given.configure({ reschedules_max: 0 })
      const begin = () => given.create(['echo', 'fenced'], { retryPolicy: { maxRetries: 0 } })
      const waits = await begin()
      const seen = given.gateway.syncs.length
      await eventually(() => given.gateway.syncs.length > seen + 1)
      expect(await sessionRow(given.db, waits.sessionId)).toMatchObject({ status: 'PENDING' })
      // A server that has not heard of it yet orders the kernel, and learns why it does not begin.
      await given.db.query('UPDATE agents SET refuses = NULL')
      const { reason } = await given.reaches((await begin()).sessionId, 'ERROR')
      expect(reason).toContain('the fence could not be written: EBUSY')
      release()
      await eventually(() => existsSync(join(given.agentDir, 'fence')))
      const { sessionId, kernelId } = await begin()
      await given.reaches(sessionId, 'TERMINATED')
      expect(await refuses()).toBe(null)
      expect(await given.text(kernelId)).toBe('fenced\n')
    })

    test('where kernels are prepared and started, with one more of their files each time', async () => {
      const path = await disk('size=16m,nr_inodes=1000')
      // Without the pauses between the tries of one attempt.
      await given.configure({ reschedules_max: 0 })
      await given.newAgent({ elsewhere: { agentDir: join(path, 'agent'), address: '127.0.0.1' } }).start()
      const code = archiveOf({ 'one.sh': 'echo placed\n', 'lib/a.txt': 'a', 'lib/b.txt': 'b' })
      const upload = { sha256: code.sha256, project: 'default', bytes: null, source: chunksOf(code.bytes) }
      await uploadCode(given.server.context, TEST_CODE, upload)
      const begin = async () =>
        (await given.create(['sh', 'one.sh'], { codeSha256: code.sha256, retryPolicy: { maxRetries: 0 } })).sessionId
      const reasons = new Set<string>()
      for (let count = 1; ; count++) {
        become(path, 'nr_inodes=1000')
        await eventually(() => readdirSync(join(path, 'agent/kernels')).length === 0)
        await leaveFiles(path, count)
        const sessionId = await begin()
        const ended = await eventually(async () => {
          const row = await sessionRow(given.db, sessionId)
          return (row.status === 'TERMINATED' || row.cause !== null) && row
        })
        if (ended.status === 'TERMINATED') break
        expect(ended.reason).toMatch(FULL)
        reasons.add(ended.reason!.replaceAll(/'[^']*'|\/\S+/g, ''))
        if (count > 100) throw new Error(`no kernel ends well: ${ended.reason}`)
      }
      expect(reasons.size).toBeGreaterThan(2)
      become(path, 'nr_inodes=1000')
      await given.reaches(await begin(), 'TERMINATED')
      await eventually(() => readdirSync(join(path, 'agent/kernels')).length === 0)
      expect(unfinished(path)).toEqual([])
    })

    test('where files are removed: that needs no further file, and makes space', async () => {
      const path = await disk('size=16m,nr_inodes=1000')
      await given.newAgent({ elsewhere: { agentDir: join(path, 'agent'), address: '127.0.0.1' } }).start()
      const go = signalFile(given.agentDir)
      const { sessionId } = await given.create(['sh', '-c', `mkdir deep; : >deep/file; ${go.wait}`])
      await given.reaches(sessionId, 'RUNNING')
      const kernels = join(path, 'agent/kernels')
      await eventually(() =>
        readdirSync(kernels, { recursive: true }).some((name) => String(name).endsWith('deep/file')),
      )
      await leaveFiles(path, 0)
      expect(() => writeFileSync(join(path, 'one-more'), '')).toThrow(/ENOSPC/)
      await go.write()
      await given.reaches(sessionId, 'TERMINATED')
      await eventually(() => readdirSync(kernels).length === 0)
      writeFileSync(join(path, 'one-more'), '')
    })

    test('code larger than the free space: nothing of it stays, and the next code has its space', async () => {
      const path = await disk('size=3m')
      await given.newAgent({ elsewhere: { agentDir: join(path, 'agent'), address: '127.0.0.1' } }).start()
      const code = archiveOf({ 'large.sh': `echo placed; exit\n${'#'.repeat(4_000_000)}` })
      const upload = { sha256: code.sha256, project: 'default', bytes: null, source: chunksOf(code.bytes) }
      await uploadCode(given.server.context, TEST_CODE, upload)
      const input = { codeSha256: code.sha256, retryPolicy: { maxRetries: 0 } }
      const { sessionId } = await given.create(['sh', 'large.sh'], input)
      const { reason } = await given.reaches(sessionId, 'ERROR')
      // The agent itself may have seen that its disk is full.
      expect(reason).toMatch(/the uploaded code could not be written: ENOSPC|the disk of \S+ is full: .* left/)
      await eventually(() => readdirSync(join(path, 'agent/kernels')).length === 0)
      become(path, 'size=64m')
      const next = await given.create(['sh', 'large.sh'], input)
      await given.reaches(next.sessionId, 'TERMINATED')
      expect(await given.text(next.kernelId)).toBe('placed\n')
    })

    test('where a running program publishes: it is answered once there is space', async () => {
      const chains = await disk('size=16m,nr_inodes=1000')
      const [one] = [await machine('one', chains), await machine('two')]
      await workGoesTo(one)
      const go = join(await temporaryDirectory('go'), 'go')
      const program = `cd "$REPRISE_CHAIN_DIR"; echo 5 >step; : >ready; until [ -e ${go} ]; do sleep 0.05; done
      : >.publish; while [ -e .publish ]; do sleep 0.05; done; cat .published`
      const { sessionId, kernelId } = await given.create(['sh', '-c', program], { retryPolicy: { maxRetries: 1 } })
      await eventually(() => existsSync(join(chains, sessionId, 'ready')))
      for (const files of [1, 2, 3]) {
        await leaveFiles(chains, existsSync(join(chains, sessionId, '.publish')) ? files - 1 : files)
        writeFileSync(go, '')
        await eventually(() => existsSync(join(chains, sessionId, '.publish')))
        await given.reaches(sessionId, 'RUNNING')
      }
      become(chains, 'nr_inodes=1000')
      await given.reaches(sessionId, 'TERMINATED')
      expect(JSON.parse(await given.text(kernelId))).toMatchObject({ published: true, reason: null })
      expect(await record(sessionId)).toMatchObject({ relay_attempt: 1 })
      expect(unfinished(chains)).toEqual([])
    })
  })
})

describe('a hundred agents', () => {
  const AGENTS = 100
  const SESSIONS = 350

  /** The end of each chain, and its number of attempts. */
  const KINDS = [
    { command: ['noop'], ends: 'TERMINATED SUCCEEDED 1' },
    { command: ['noop', 'exit', '3'], ends: 'ERROR EXHAUSTED 2' },
    { command: ['noop', 'succeed-at', '2'], ends: 'TERMINATED SUCCEEDED 2' },
    { command: ['noop', 'slow-start', '200'], ends: 'TERMINATED SUCCEEDED 1' },
    { command: ['noop', 'vanish'], ends: 'ERROR EXHAUSTED 2' },
    { command: ['noop', 'oom'], ends: 'ERROR EXHAUSTED 2' },
    { command: ['noop', 'hang'], ends: 'ERROR EXHAUSTED 2', batchTimeout: 0.3 },
  ] as const

  let database: TestDatabase

  beforeAll(async () => {
    database = await testDatabase()
  })
  afterAll(() => database.close())

  it('a hundred agents, some of which lie, die and are cut off, bring every session to its end', async () => {
    const { db } = database
    const server = testServer(db)
    await using resources = new AsyncDisposableStack()
    const swarm = await startSwarm({
      size: AGENTS,
      gateway: server.gateway,
      directory: await temporaryDirectory('swarm'),
      log: await createLogger({ level: 'silent', format: 'json' }),
    })
    resources.use(swarm)
    await server.run('watch-agents')
    resources.use(server.start())
    const count = async (statement: string) => (await db.query<{ count: number }>(statement)).rows[0]!.count
    await eventually(async () => (await count('SELECT count(*) FROM agents')) === AGENTS)

    const kindOf = (index: number) => KINDS[index % KINDS.length]!
    const inputs = Array.from({ length: SESSIONS }, (_, index) => {
      const { command, ...kind } = kindOf(index)
      const batchTimeout = 'batchTimeout' in kind ? kind.batchTimeout : undefined
      const retryPolicy = { maxRetries: 1, retryDelay: 0.1, jitter: 'NONE' as const }
      return { name: 'work', command: [...command], batchTimeout, retryPolicy }
    })
    const results = await createSessions(server.context, inputs)
    const ids = results.map((result) => ('sessionId' in result ? result.sessionId : ''))

    const { rows: kernels } = await db.query<{ id: string }>('SELECT id FROM kernels')
    for (const [index, { line }] of swarm.members.slice(0, 20).entries()) {
      line.alter((request) => {
        const known = new Set(request.observed.map(({ kernelId }) => kernelId))
        const anothers = kernels.map(({ id }) => id).filter((id) => !known.has(id))
        const id = index % 2 === 0 ? anothers[request.sequence % anothers.length]! : randomUUID()
        const lie = observed(id, request.sequence % 3, { status: 'EXITED', exitCode: 0, startedAt: 'now' })
        return { ...request, observed: [...request.observed, lie] }
      })
    }
    // Nothing of theirs hangs longer than a session: what was there is gone without a trace when they are back.
    const unsteady = swarm.members.slice(20, 24)
    for (const member of unsteady) await member.die()
    for (const { line } of swarm.members.slice(24, 28)) line.cut()
    for (const member of unsteady) await member.revive()
    for (const { line } of swarm.members.slice(24, 28)) line.heal()

    // In one statement: between two, what is decided becomes a session.
    const open = `SELECT (SELECT count(*) FROM sessions WHERE NOT retry_decided OR status NOT IN ('TERMINATED', 'ERROR'))
    + (SELECT count(*) FROM retry_decisions WHERE phase IN ('SCHEDULED', 'HELD')) AS count`
    await eventually(async () => (await count(open)) === 0, { withinMs: 180_000 })
    const { rows } = await db.query<{ id: string; ends: string; causes: string[] }>(
      `SELECT sessions.chain_id AS id, (array_agg(status || ' ' || phase ORDER BY attempt DESC))[1] || ' ' || count(*) AS ends,
      array_agg(coalesce(failure_cause::text, '') ORDER BY attempt) AS causes
    FROM sessions JOIN retry_decisions d ON d.session_id = sessions.id GROUP BY sessions.chain_id`,
    )
    const ends = new Map(rows.map((row) => [row.id, row]))
    // Sessions on an agent that died, or was too busy to report, have used up an attempt.
    const hit = new Set(rows.filter(({ causes }) => causes[0] === 'AGENT_TRANSIENT').map(({ id }) => id))
    expect(ids.filter((id, index) => !hit.has(id) && ends.get(id)?.ends !== kindOf(index).ends)).toEqual([])
    const silent = await db.query<{ id: string }>(
      `SELECT DISTINCT s.chain_id AS id FROM sessions s JOIN kernels k ON k.session_id = s.id JOIN agents a ON a.id = k.agent_id
    WHERE s.attempt = 1 AND (a.name = ANY ($1) OR a.id IN (
      SELECT entity_id FROM scheduling_history WHERE entity = 'AGENT' AND to_status = 'LOST'))`,
      [swarm.members.slice(20, 28).map(({ name }) => name)],
    )
    const excused = new Set(silent.rows.map(({ id }) => id))
    const unexcused = ids.filter(
      (id, index) => hit.has(id) && !excused.has(id) && kindOf(index).command[1] !== 'vanish',
    )
    expect(unexcused).toEqual([])
    expect(await misbookedSlots(db)).toEqual([])
    const left = 'SELECT count(*) FROM kernels WHERE slots_held OR NOT confirmed_gone'
    await eventually(async () => (await count(left)) === 0)
  })
})
