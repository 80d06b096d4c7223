/** Property: no checkpoint of a chain that continues is lost or dropped, and none is older than its record. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chainName, readChainMark } from '../../../src/agent/executors/chain/chain-directory.ts'
import { NO_SYNC_POINTS } from '../../../src/observability/sync-points.ts'
import { RepriseError } from '../../../src/domain/errors.ts'
import { drainAgent, resumeAgent } from '../../../src/services/agent/agents.ts'
import { removeBlobLeftovers, removeUnusedBlobs } from '../../../src/services/blob/transfer-blobs.ts'
import { resubmitSessions } from '../../../src/services/resubmission/resubmit-sessions.ts'
import { retryNow } from '../../../src/services/retry/change-retry.ts'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import { dropOldCheckpoints, removeOldChains } from '../../../src/store/sql/retention.sql.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { TEST_BLOBS, testBlobPath } from '../../support/servers/test-code.ts'
import { ALL_SERVICES, DEFAULT_PROJECT_ID, testServer } from '../../support/servers/test-server.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { type Beginning, type Sending, storingAgent, type StoringAgent } from './storing-agent.ts'
import { checkProperty } from '../../support/seeds.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.close())

/** Numbers pick among what there is, modulo its count. Two of the three agents have one store. */
type Happening =
  | { does: 'create' | 'round' | 'retention' | 'removal' | 'cleanup' | 'release' }
  | { does: 'exit'; pick: number; code: number; leaves: boolean; sending: Sending }
  | { does: 'only' | 'silence' | 'return' | 'report'; agent: number }
  | { does: 'hurry' | 'terminate'; pick: number }
  | { does: 'resubmit'; pick: number; fresh: boolean }
  | { does: 'wait'; seconds: number }

const pick = fc.nat({ max: 20 })
const agent = fc.nat({ max: 2 })
const WEIGHTS = { create: 2, round: 12, retention: 2, removal: 1, cleanup: 2, release: 2 } as const
const happening: fc.Arbitrary<Happening> = fc.oneof(
  ...Object.entries(WEIGHTS).map(([does, weight]) => ({
    weight,
    arbitrary: fc.constant<Happening>({ does: does as keyof typeof WEIGHTS }),
  })),
  {
    weight: 9,
    arbitrary: fc.record({
      does: fc.constant('exit' as const),
      pick,
      code: fc.constantFrom(0, 1, 1, 1, 1),
      leaves: fc.constantFrom(true, true, true, false),
      sending: fc.constantFrom<Sending>('WHOLE', 'WHOLE', 'LOST', 'HELD'),
    }),
  },
  { weight: 4, arbitrary: fc.record({ does: fc.constantFrom('only' as const), agent }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constantFrom('silence' as const), agent }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constantFrom('return' as const, 'report' as const), agent }) },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('hurry' as const), pick }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('terminate' as const), pick }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('resubmit' as const), pick, fresh: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('wait' as const), seconds: fc.constantFrom(5, 45, 150) }) },
)

const OVER: readonly string[] = ['SUCCEEDED', 'FAILED', 'CANCELLED']
const REMOVES: readonly Happening['does'][] = ['retention', 'removal', 'cleanup']

interface Recorded {
  chainId: string
  state: string
  generation: number
  attempt: number | null
  assignment: number | null
  files: number | null
  store: string | null
  dropped: boolean
  relayAttempt: number | null
  relaySha256: string | null
}

const RECORDS = `SELECT c.chain_id AS "chainId", h.state, c.generation, c.attempt, c.assignment, c.files, c.store,
  c.dropped_at IS NOT NULL AS dropped, c.relay_attempt AS "relayAttempt", c.relay_sha256 AS "relaySha256"
FROM checkpoints c JOIN chains h USING (chain_id)`

/** The cases that occurred: a property of a case that never occurs proves nothing. */
const seen = new Map<string, number>()
const note = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)

async function fleetOf(db: TestDatabase['db']) {
  const server = testServer(db)
  const root = await temporaryDirectory('fleet')
  /**
   * What the directory held when an attempt had ended, by directory, attempt and assignment: an attempt of which the
   * servers did not hear that it ran is put back, and runs again.
   */
  const left = new Map<string, string>()
  /** The newest attempt that was on record, by directory. */
  const onRecord = new Map<string, number>()
  /** Directories of which the record says that there is something in them. */
  const withContent = new Set<string>()
  const agents: StoringAgent[] = []
  const silent = new Map<StoringAgent, number>()
  let written = 0

  for (const [name, store] of [
    ['one', 'near'],
    ['two', 'near'],
    ['three', 'far'],
  ] as const) {
    const [chainsDir, agentDir] = [join(root, store), join(root, name)]
    for (const path of [chainsDir, agentDir]) mkdirSync(path, { recursive: true })
    const one = storingAgent({
      gateway: server.gateway,
      name,
      chainsDir,
      agentDir,
      began,
      late: () => note('late copy'),
    })
    await one.register()
    agents.push(one)
  }
  await server.run('watch-agents')

  const keyOf = (chainId: string, generation: number, attempt: number) =>
    `${chainName(chainId, generation)} ${attempt} `
  const leftBy = (chainId: string, generation: number, attempt: number) => {
    const key = keyOf(chainId, generation, attempt)
    return [...left].filter(([each]) => each.startsWith(key)).map(([, content]) => content)
  }

  function began({ kernel: { spec, found }, content }: Beginning): void {
    const newest = spec.checkpoint?.newest ?? null
    const generation = spec.checkpoint?.generation ?? 0
    note(found?.state ?? 'NONE')
    if (found === null || found.state === 'MISSING') {
      expect(content, 'nothing is there of which nothing is said').toBeNull()
      if (found === null) expect([newest, withContent.has(chainName(spec.chainId, generation))]).toEqual([null, false])
      return
    }
    expect(found.attempt, 'not older than the record').toBeGreaterThanOrEqual(newest?.attempt ?? 0)
    const leftIn = (attempt: number) => leftBy(spec.chainId, generation, attempt)
    const own = found.state === 'HERE' ? leftIn(spec.attempt) : []
    expect([...leftIn(found.attempt!), ...own], 'what that attempt left').toContain(content)
  }

  async function sync(one: StoringAgent): Promise<void> {
    if (!silent.has(one)) await one.sync()
  }

  async function ask(work: Promise<unknown>): Promise<void> {
    await work.catch((error: unknown) => {
      if (!(error instanceof RepriseError)) throw error
    })
  }

  async function idOf(sql: string, n: number): Promise<string | undefined> {
    const { rows } = await db.query<{ id: string }>(sql)
    return rows[n % Math.max(1, rows.length)]?.id
  }

  function end(kernel: ReturnType<StoringAgent['running']>[number], at: StoringAgent, leaves: string | null) {
    const content = leaves ?? at.contentOf(kernel)
    const { chainId, attempt, checkpoint } = kernel.spec
    if (content === null) return
    left.set(`${keyOf(chainId, checkpoint?.generation ?? 0, attempt)}${kernel.assignment}`, content)
  }

  async function happen(it: Happening): Promise<void> {
    const one = 'agent' in it ? agents[it.agent]! : undefined
    switch (it.does) {
      case 'create':
        await server.create({ retryPolicy: { maxRetries: 3, retryDelay: 2 } })
        return
      case 'round':
        await server.run(...ALL_SERVICES)
        for (const each of agents) await sync(each)
        return
      case 'exit': {
        const all = agents.flatMap((at) => at.running().map((kernel) => ({ at, kernel })))
        const chosen = all[it.pick % Math.max(1, all.length)]
        if (chosen === undefined) return
        const leaves = it.leaves ? `written ${++written}` : null
        end(chosen.kernel, chosen.at, leaves)
        await chosen.at.exit(chosen.kernel, it.code, leaves, it.sending)
        return
      }
      case 'only':
        for (const each of agents) {
          const change = each === one ? resumeAgent : drainAgent
          await change(server.context, { agentId: each.id })
        }
        return
      case 'silence':
        if (!silent.has(one!)) silent.set(one!, 0)
        return
      case 'return':
        silent.delete(one!)
        await one!.sync()
        return
      case 'report':
        if (!silent.has(one!)) await one!.report()
        return
      case 'hurry': {
        const sessionId = await idOf(
          `SELECT session_id AS id FROM retry_decisions WHERE phase = 'SCHEDULED' ORDER BY 1`,
          it.pick,
        )
        if (sessionId !== undefined) await ask(retryNow(server.context, { sessionId }))
        return
      }
      case 'terminate': {
        const sessionId = await idOf('SELECT id FROM sessions ORDER BY id', it.pick)
        if (sessionId !== undefined) await ask(terminateSession(server.context, { sessionId }))
        return
      }
      case 'resubmit': {
        const sessionId = await idOf('SELECT tail_id AS id FROM chains ORDER BY chain_id', it.pick)
        const context = { ...server.context, prisma: database.prisma, sync: NO_SYNC_POINTS }
        const overrides = it.fresh ? { freshCheckpoint: true } : {}
        if (sessionId !== undefined)
          await ask(resubmitSessions(context, { sessionIds: [sessionId], includeSucceeded: true, overrides }))
        return
      }
      case 'retention':
        await dropOldCheckpoints(db, ['SUCCEEDED', 'FAILED', 'CANCELLED'], { ageSeconds: 0, count: null }, 100)
        return
      case 'removal':
        await removeOldChains(db, { projectId: DEFAULT_PROJECT_ID, before: new Date(Date.now() + 60_000) }, 100)
        return
      case 'cleanup':
        await removeUnusedBlobs({ db, blobs: TEST_BLOBS })
        await removeBlobLeftovers({ db, blobs: TEST_BLOBS }, 0.001)
        return
      case 'release':
        for (const each of agents) await each.release()
        return
      case 'wait':
        await advanceClock(db, it.seconds, { silentAgents: [...silent.keys()].map(({ id }) => id) })
        for (const [each, seconds] of silent) {
          silent.set(each, seconds + it.seconds)
          if (seconds + it.seconds < 120) continue
          for (const kernel of each.running()) end(kernel, each, null)
          await each.killAll()
        }
    }
  }

  /** The records and directories of chains that continue. */
  async function ofLiveChains(): Promise<object[]> {
    const { rows } = await db.query<Recorded & { [column: string]: unknown }>(`${RECORDS} ORDER BY 1`)
    const live = rows.filter(({ state }) => !OVER.includes(state))
    return live.map((row) => {
      const stores = new Set(agents.map(({ chainsDir }) => chainsDir))
      const paths = [...stores].map((store) => join(store, chainName(row.chainId, row.generation), 'state'))
      return { ...row, content: paths.map((path) => (existsSync(path) ? readFileSync(path, 'utf8') : null)) }
    })
  }

  /** A removal never touches chains that continue. */
  async function happenAndSpare(one: Happening): Promise<void> {
    if (!REMOVES.includes(one.does)) return happen(one)
    const before = await ofLiveChains()
    await happen(one)
    expect(await ofLiveChains(), `${one.does} spares chains that go on`).toEqual(before)
  }

  async function check(): Promise<void> {
    const { rows } = await db.query<Recorded & { [column: string]: unknown }>(RECORDS)
    for (const row of rows) {
      const { chainId, state, generation, attempt, assignment, files, store, dropped, relayAttempt, relaySha256 } = row
      if (relaySha256 !== null) {
        const path = testBlobPath(DEFAULT_PROJECT_ID, relaySha256)
        expect(existsSync(path), 'the copy on record is there').toBe(true)
        const archive = readFileSync(path).toString('latin1')
        const newest = left.get(`${keyOf(chainId, generation, attempt!)}${assignment}`)
        const contents = relayAttempt === attempt ? [newest] : leftBy(chainId, generation, relayAttempt!)
        const isOne = contents.some((content) => archive.includes(`${content}\0`))
        expect(isOne, 'the copy is what that attempt left').toBe(true)
        expect(relayAttempt!, 'nothing newer than the record').toBeLessThanOrEqual(attempt ?? 0)
        note(relayAttempt === attempt ? 'copied' : 'older copy')
      }
      if (OVER.includes(state) && dropped) note('dropped')
      const name = chainName(chainId, generation)
      expect(attempt ?? 0, 'the record does not go back').toBeGreaterThanOrEqual(onRecord.get(name) ?? 0)
      onRecord.set(name, attempt ?? 0)
      if (attempt !== null && files !== 0) withContent.add(name)
      else withContent.delete(name)
      if (attempt === null || dropped || files === 0) continue
      if (OVER.includes(state)) continue
      const at = agents.find((each) => each.store === store)!
      const directory = join(at.chainsDir, name)
      expect(
        existsSync(join(directory, 'state')),
        `what attempt ${attempt} of a chain that goes on left is there`,
      ).toBe(true)
      expect(readChainMark(directory)?.attempt ?? 0).toBeGreaterThanOrEqual(attempt)
      note('kept')
    }
  }

  return {
    happen: happenAndSpare,
    check,
    async close() {
      for (const each of agents) await each.close()
    },
  }
}

const rounds = (count: number): Happening[] => Array.from({ length: count }, () => ({ does: 'round' }))
const fails = (sending: Sending): Happening => ({ does: 'exit', pick: 0, code: 1, leaves: true, sending })
/** A copy that is late, and comes when a newer one is on record; then all that is cleaned up. */
const LIFE: Happening[] = [
  { does: 'only', agent: 0 },
  { does: 'create' },
  ...rounds(5),
  fails('WHOLE'),
  ...rounds(2),
  { does: 'only', agent: 2 },
  { does: 'hurry', pick: 0 },
  ...rounds(6),
  fails('HELD'),
  ...rounds(2),
  { does: 'only', agent: 0 },
  { does: 'silence', agent: 2 },
  { does: 'wait', seconds: 150 },
  ...rounds(2),
  { does: 'wait', seconds: 150 },
  ...rounds(8),
  fails('WHOLE'),
  ...rounds(1),
  { does: 'return', agent: 2 },
  { does: 'release' },
  ...rounds(3),
  { does: 'cleanup' },
  { does: 'hurry', pick: 0 },
  ...rounds(6),
  { does: 'exit', pick: 0, code: 0, leaves: true, sending: 'WHOLE' },
  ...rounds(3),
  { does: 'retention' },
  { does: 'resubmit', pick: 0, fresh: true },
  ...rounds(3),
  { does: 'report', agent: 0 },
  ...rounds(4),
  { does: 'cleanup' },
  fails('WHOLE'),
  ...rounds(3),
]

/** The servers have a copy of what an attempt has left, and never heard that it ran: it is put back, and runs elsewhere. */
const PUT_BACK: Happening[] = [
  { does: 'only', agent: 2 },
  { does: 'create' },
  ...rounds(3),
  fails('WHOLE'),
  { does: 'only', agent: 0 },
  { does: 'silence', agent: 2 },
  { does: 'wait', seconds: 150 },
  ...rounds(2),
  { does: 'wait', seconds: 150 },
  ...rounds(6),
  fails('HELD'),
  ...rounds(2),
  { does: 'only', agent: 1 },
  { does: 'hurry', pick: 0 },
  ...rounds(6),
]

test('whatever happens to chains, their checkpoints are there, and the records match them', async () => {
  const happenings = fc.array(happening, { minLength: 30, maxLength: 80 })
  const property = fc.asyncProperty(happenings, async (some) => {
    await database.fresh()
    const fleet = await fleetOf(database.db)
    try {
      for (const one of some) {
        await fleet.happen(one)
        await fleet.check()
      }
    } finally {
      await fleet.close()
    }
  })
  await checkProperty(property, { numRuns: 5, examples: [[LIFE], [PUT_BACK]] })
  expect([...seen.keys()]).toEqual(
    expect.arrayContaining([
      'NONE',
      'HERE',
      'FETCHED',
      'MISSING',
      'copied',
      'older copy',
      'late copy',
      'kept',
      'dropped',
    ]),
  )
})
