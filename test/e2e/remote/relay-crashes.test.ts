import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Lease } from '../../../src/domain/agent/lease.ts'
import {
  AGENT_BLOB_PART_PATH,
  AGENT_BLOB_PATH,
  AGENT_CHECKPOINT_OFFER_PATH,
} from '../../../src/domain/agent/protocol.ts'
import { eventually } from '../../support/eventually.ts'
import { type Halt, haltAt, type HaltAt, killHalted } from '../../support/programs/halted-program.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import {
  beginWork,
  checkpointDirOf,
  copiesIn,
  draftsOf,
  leftOnRecord,
  publishing,
  type Work,
  workGoesTo,
} from './relayed-work.ts'
import { PATIENT_LEASE, type RemoteFleet, SHORT_LEASE, startRemoteFleet, textOf } from './remote-fleet.ts'
import type { SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { endKernelsOf } from './kernel-notes.ts'

describe('relay crashes', () => {
  /**
   * A server and two agents without a common file system. One of the three is killed by SIGKILL at each step of a
   * checkpoint's way from the one agent to the other.
   */

  let fleet: RemoteFleet
  let agents: TwoAgents['agents']
  let startAgent: TwoAgents['startAgent']
  let notes: string

  beforeAll(async () => {
    notes = await temporaryDirectory('notes')
  })

  function useFleet(lease: Lease, fenceAfterMs?: number): void {
    useTwoAgents((two) => ({ fleet, agents, startAgent } = two), lease, fenceAfterMs)
  }

  async function startServer(halt?: Halt): Promise<void> {
    await fleet.server.stop()
    await fleet.restartServer(halt?.environment)
  }

  async function begin(): Promise<Work> {
    await workGoesTo(fleet, 'one')
    return beginWork(fleet)
  }

  const copies = () => copiesIn(checkpointDirOf(fleet))

  /** Checks that every file with the name of a copy is that copy, and so is the copy on record. */
  async function expectNothingTorn(chainId: string): Promise<void> {
    const whole = copies().expectWhole()
    const [onRecord] = await fleet.sql(`SELECT relay_sha256 FROM checkpoints WHERE chain_id = '${chainId}'`)
    if (onRecord?.['relay_sha256'] != null) expect(whole).toContain(onRecord['relay_sha256'])
    const directory = join(fleet.agentDir('two'), 'chains', chainId)
    if (existsSync(directory))
      expect([[], ['a', 'attempt', 'b', 'sums']]).toContainEqual(readdirSync(directory).toSorted())
  }

  async function expectEnd({ chainId, has, runs }: Work, partsMax: number): Promise<void> {
    await has('TERMINATED', 3)
    const chain = await fleet.chain(chainId)
    expect(chain.map(textOf)).toEqual(['none:  \n', 'fetched1: 1 whole\n', 'fetched2: 2 whole\n'])
    expect(runs()).toEqual(['1', '2', '3'])
    expect(chain.map(({ failureCause }) => failureCause)).toEqual(['KERNEL_NONZERO_EXIT', 'KERNEL_NONZERO_EXIT', null])
    await expectNothingTorn(chainId)
    // What a killed server had begun to receive is continued, or removed by its age.
    expect(copies().partBytes().length).toBeLessThanOrEqual(partsMax)
    for (const name of ['one', 'two']) expect(draftsOf(fleet, name)).toEqual([])
  }

  /** The third offer, after the one that asks and the one that announces the copy, records what has arrived. */
  const SENT = `${AGENT_CHECKPOINT_OFFER_PATH}$`
  const FETCHED = `${AGENT_BLOB_PATH}$`
  /** The second of the large files, as it is packed: first to know what there is, then to send it. */
  const PACKED: Omit<HaltAt, 'times'> = { call: 'open', of: String.raw`^/proc/self/fd/\d+/b$`, side: 'before' }

  describe('an agent that is killed', () => {
    useFleet(PATIENT_LEASE)

    test.each<[string, HaltAt]>([
      ['while it packs', PACKED],
      ['in the middle of sending', { ...PACKED, times: 2 }],
      [
        'once the servers have it, and before its end is told as gone',
        { call: 'fetch', of: SENT, side: 'after', times: 3 },
      ],
      ['in the middle of fetching', { call: 'open', of: String.raw`/\.new-.*/b$`, side: 'before' }],
      ['before what it has fetched has its name', { call: 'rename', of: String.raw`/\.new-`, side: 'before' }],
      ['before it is noted whose that is', { call: 'rename', of: String.raw`/\.new-`, side: 'after' }],
      ['before the program begins', { call: 'symlink', of: String.raw`/\.attempt-`, side: 'after' }],
    ])('%s', async (_, at) => {
      const halt = haltAt(notes, at)
      await startAgent('two', halt.environment)
      const work = await begin()
      await work.letGo(1, 'two')
      const sends = at.of === PACKED.of || at.of === SENT
      if (sends) await work.letGo(2, 'one')
      await halt.reached()
      await killHalted(halt, agents.get('two')!)
      await expectNothingTorn(work.chainId)
      await startAgent('two')
      if (!sends) await work.letGo(2, 'one')
      await expectEnd(work, 0)
    })
  })

  describe('an agent that is killed, and does not come back', () => {
    // The agent is lost before its kernel is taken for gone.
    useFleet(SHORT_LEASE, 10_000)

    test.each<[string, HaltAt, string, object]>([
      [
        'in the middle of sending: what it had is missing, and it is said who has it',
        { ...PACKED, times: 2 },
        'missing2:  \n',
        { state: 'MISSING', note: 'starts without the checkpoint of attempt 2: agent two has it and is LOST' },
      ],
      [
        'once the servers have it: nothing is missing',
        { call: 'fetch', of: SENT, side: 'after', times: 3 },
        'fetched2: 2 whole\n',
        { state: 'FETCHED', note: null },
      ],
    ])('%s', async (_, at, said, found) => {
      const once = join(notes, 'on-record')
      const halt = haltAt(notes, at.call === 'open' ? { ...at, once } : at)
      await startAgent('two', halt.environment)
      const work = await begin()
      await work.letGo(1, 'two')
      await work.letGo(2, 'one')
      await leftOnRecord(fleet, work.chainId, 2)
      writeFileSync(once, '')
      await killHalted(halt, agents.get('two')!)
      await work.has('TERMINATED', 3)
      expect((await fleet.chain(work.chainId)).map(textOf)).toEqual(['none:  \n', 'fetched1: 1 whole\n', said])
      expect(work.runs()).toEqual(['1', '2', '3'])
      await expectNothingTorn(work.chainId)
      const shown =
        await fleet.sql(`SELECT c.state, c.note FROM session_checkpoints c JOIN sessions s ON s.id = c.session_id
      WHERE s.chain_id = '${work.chainId}' AND s.attempt = 3`)
      expect(shown).toEqual([found])
      await startAgent('two')
      // It sends what it had, after all.
      await eventually(async () => (await fleet.sql('SELECT FROM kernels WHERE NOT confirmed_gone')).length === 0)
    })
  })

  describe('a server that is killed', () => {
    useFleet(PATIENT_LEASE)

    test.each<[string, HaltAt]>([
      ['in the middle of receiving', { call: 'write', of: String.raw`\.part$`, side: 'after', times: 2 }],
      ['when all of it is on the disk', { call: 'rename', of: String.raw`\.part$`, side: 'before' }],
      [
        'when the file has its name, and before it is on record',
        { call: 'rename', of: String.raw`\.part$`, side: 'after' },
      ],
      ['when it is on record, and before the agent knows', { call: 'answer', of: SENT, side: 'before', times: 3 }],
      ['in the middle of giving it away', { call: 'stream', of: FETCHED, side: 'after', times: 2 }],
    ])('%s', async (_, at) => {
      const halt = haltAt(notes, at)
      const work = await begin()
      const partsLeft = copies().partBytes().length
      if (at.of === FETCHED) await startServer(halt)
      await work.letGo(1, 'two')
      if (at.of !== FETCHED) {
        await eventually(() => work.runs().includes('2'))
        await startServer(halt)
        await work.letGo(2, 'one')
      }
      await killHalted(halt, fleet.server)
      await expectNothingTorn(work.chainId)
      await fleet.restartServer()
      if (at.of === FETCHED) await work.letGo(2, 'one')
      await expectEnd(work, partsLeft + 1)
    })
  })
})

describe('published checkpoints', () => {
  /** A server and two agents without a common file system. What a program has published outlives its agent. */

  let fleet: RemoteFleet
  let agents: TwoAgents['agents']
  let startAgent: TwoAgents['startAgent']
  let notes: string

  beforeAll(async () => {
    notes = await temporaryDirectory('notes')
  })

  function useFleet(lease: Lease, fenceAfterMs?: number): void {
    useTwoAgents((two) => ({ fleet, agents, startAgent } = two), lease, fenceAfterMs)
  }

  async function begin(work: string): Promise<string> {
    await workGoesTo(fleet, 'one')
    return fleet.createSession({
      command: ['sh', '-c', publishing(work)],
      retryPolicy: { maxRetries: 3, retryDelay: 0.1 },
    })
  }

  const SHOWN = `query ($id: UUID!) { chain(id: $id) { checkpointAttempt checkpointPublishedAt checkpointCopiedAt } }`

  const directory = (chainId: string) => join(fleet.agentDir('one'), 'chains', chainId)

  async function answer(chainId: string): Promise<Record<string, unknown>> {
    const path = join(directory(chainId), '.published')
    return JSON.parse(await eventually(() => existsSync(path) && readFileSync(path, 'utf8'), { what: '.published' }))
  }

  async function record(chainId: string) {
    const [row] = await fleet.sql(
      `SELECT attempt, relay_attempt, relay_sha256 FROM checkpoints WHERE chain_id = '${chainId}'`,
    )
    return row
  }

  /** The one copy on the servers is whole, and is that on record. */
  async function expectWhole(chainId: string): Promise<void> {
    expect(copiesIn(checkpointDirOf(fleet)).expectWhole()).toContain((await record(chainId))!['relay_sha256'])
  }

  describe('the agent dies for good', () => {
    useFleet(SHORT_LEASE, 6_000)

    test('only what was written since the last publication is lost', async () => {
      const id = await begin('save 1; publish; save 2; publish; save 3; exec sleep 1000')
      await eventually(() => existsSync(join(directory(id), 'step3/sums')))
      expect(await answer(id)).toMatchObject({ attempt: 1, published: true, reason: null })
      const { chain } = await fleet.graphql(SHOWN, { id })
      expect(chain).toEqual({
        checkpointAttempt: 1,
        checkpointPublishedAt: chain.checkpointCopiedAt,
        checkpointCopiedAt: expect.stringMatching(/Z$/),
      })
      await workGoesTo(fleet, 'two')
      await agents.get('one')!.kill()
      const [first, second] = await fleet.until(id, ([, retry]) => retry?.status === 'TERMINATED', 90_000)
      expect(first).toMatchObject({ failureCause: 'AGENT_TRANSIENT' })
      expect(textOf(second!)).toBe('fetched1: 2 whole\n')
      expect(second!.kernels[0]!.agent!.name).toBe('two')
      const [, retry] = (await fleet.rest(`/v2/sessions/${id}/attempts`)).items
      await startAgent('one')
      expect(retry.checkpoint).toMatchObject({
        state: 'FETCHED',
        from_attempt: 1,
        published_at: chain.checkpointCopiedAt,
      })
    })

    test('no state is torn while the program publishes all the time', async () => {
      const id = await begin('n=0; while :; do n=$((n + 1)); save $n; : >.publish; done')
      // Under such haste not all of its states stand still for long enough.
      const publishedAt = () => answer(id).then((one) => one['published'] === true && String(one['at']))
      const first = await eventually(publishedAt)
      await eventually(async () => ![false, first].includes(await publishedAt()))
      await workGoesTo(fleet, 'two')
      await agents.get('one')!.kill()
      await expectWhole(id)
      const [, second] = await fleet.until(id, ([, retry]) => retry?.status === 'TERMINATED', 90_000)
      expect(textOf(second!)).toMatch(/^fetched1: \d+ whole\n$/)
    })
  })

  /** The third offer, after the one that asks and the one that announces the copy, records what has arrived. */
  const SENT = `${AGENT_CHECKPOINT_OFFER_PATH}$`
  const SNAPSHOT = String.raw`/\.snap-[^/]*/`

  describe('the agent is killed, and comes back', () => {
    useFleet(PATIENT_LEASE)

    test.each<[string, HaltAt]>([
      ['before it asks', { call: 'fetch', of: `${AGENT_CHECKPOINT_OFFER_PATH}$`, side: 'before' }],
      ['with a snapshot', { call: 'open', of: `${SNAPSHOT}files$`, side: 'before' }],
      ['before it sends', { call: 'upload', of: `${AGENT_BLOB_PART_PATH}$`, side: 'before' }],
      ['once the servers have it', { call: 'fetch', of: SENT, side: 'after', times: 3 }],
      ['before it answers', { call: 'rename', of: `${SNAPSHOT}.published$`, side: 'before' }],
      ['when it has answered', { call: 'rename', of: `${SNAPSHOT}.published$`, side: 'after' }],
      ['when it has removed the wish', { call: 'rename', of: String.raw`/\.publish$`, side: 'after' }],
    ])('%s', async (_, at) => {
      const halt = haltAt(notes, at)
      // Of another test: it would be where this one halts, before it is ready.
      await eventually(() => readdirSync(join(fleet.agentDir('one'), 'kernels')).length === 0)
      await startAgent('one', halt.environment)
      const id = await begin('save 1; publish; exec sleep 1000')
      await killHalted(halt, agents.get('one')!)
      await startAgent('one')
      expect(await answer(id)).toMatchObject({ attempt: 1, published: true, reason: null })
      await eventually(() => !readdirSync(directory(id)).includes('.publish'))
      await eventually(() => draftsOf(fleet, 'one').length === 0)
      expect(await record(id)).toMatchObject({ attempt: 1, relay_attempt: 1 })
      await expectWhole(id)
      expect((await fleet.chain(id)).map(({ status }) => status)).toEqual(['RUNNING'])
      expect(readFileSync(join(directory(id), 'latest/step'), 'utf8')).toBe('1\n')
    })
  })

  describe('the server is killed', () => {
    useFleet(PATIENT_LEASE)

    test('after it has the file, before it is recorded', async () => {
      const halt = haltAt(notes, { call: 'rename', of: String.raw`\.part$`, side: 'after' })
      await fleet.server.stop()
      await fleet.restartServer(halt.environment)
      const id = await begin('save 1; publish; exec sleep 1000')
      await killHalted(halt, fleet.server)
      await fleet.restartServer()
      expect(await answer(id)).toMatchObject({ attempt: 1, published: true, reason: null })
      expect(await record(id)).toMatchObject({ attempt: 1, relay_attempt: 1 })
      await expectWhole(id)
    })
  })

  describe('a program that runs as another user', () => {
    useFleet(PATIENT_LEASE)

    test.each(['user', 'namespaces'])('publishes with isolation %s', async (isolation) => {
      const secret = join(fleet.shared, 'secret')
      writeFileSync(secret, 'untouched', { mode: 0o600 })
      await startAgent('one', { REPRISE_ISOLATION: isolation })
      const id = await begin(`id -u; umask 077; ln -s ${secret} .published; save 1; publish; cat .published
      while [ ! -e gate ]; do sleep 0.05; done; exit 3`)
      await eventually(() => lstatSync(join(directory(id), '.published'), { throwIfNoEntry: false })?.isFile())
      await workGoesTo(fleet, 'two')
      writeFileSync(join(directory(id), 'gate'), '')
      const [first, second] = await fleet.until(id, ([, retry]) => retry?.status === 'TERMINATED')
      expect(textOf(first!)).toMatch(/^none:  \n[1-9]\d+\n\{"attempt":1,"published":true,/)
      expect(textOf(second!)).toBe('fetched1: 1 whole\n')
      expect(readFileSync(secret, 'utf8')).toBe('untouched')
    })
  })
})

/** A server and two agents, `one` and `two`, without a common file system. */
interface TwoAgents {
  fleet: RemoteFleet
  agents: Map<string, SpawnedProgram>
  /** Another takes its place if it runs. */
  startAgent(name: string, environment?: Record<string, string>): Promise<void>
}

/**
 * For the tests of the describe block that calls it.
 *
 * @param fenceAfterMs of their resource group; agents are told when they register
 */
function useTwoAgents(started: (two: TwoAgents) => void, lease: Lease, fenceAfterMs?: number): void {
  let fleet: RemoteFleet | undefined

  beforeAll(async () => {
    const ours = (fleet = await startRemoteFleet({ lease }))
    const token = await ours.token()
    const agents = new Map<string, SpawnedProgram>()
    async function startAgent(name: string, environment: Record<string, string> = {}): Promise<void> {
      await agents.get(name)?.stop()
      agents.set(name, await ours.startAgent({ name, token, environment }))
    }
    if (fenceAfterMs !== undefined) await ours.sql(`UPDATE resource_groups SET fence_after_ms = ${fenceAfterMs}`)
    for (const name of ['one', 'two']) await startAgent(name)
    started({ fleet: ours, agents, startAgent })
  }, 60_000)
  afterEach(async () => {
    if (fleet !== undefined) await endKernelsOf(fleet)
  })
  afterAll(() => fleet?.[Symbol.asyncDispose]())
}
