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

/** The third offer, after the one that asks and the one that announces the copy, records what has arrived. */
const SENT = `${AGENT_CHECKPOINT_OFFER_PATH}$`
const FETCHED = `${AGENT_BLOB_PATH}$`
/** The second of the large files, as it is packed: first to know what there is, then to send it. */
const PACKED: Omit<HaltAt, 'times'> = { call: 'open', of: String.raw`^/proc/self/fd/\d+/b$`, side: 'before' }
const SNAPSHOT = String.raw`/\.snap-[^/]*/`

/*
 * A server and two agents without a common file system. One of the three is killed by SIGKILL at each step of a
 * checkpoint's way from the one agent to the other. What a program has published outlives its agent. The groups run
 * beside each other, and each has a fleet of its own.
 */

describe.concurrent('an agent that comes back', () => {
  const two = useTwoAgents(PATIENT_LEASE)

  describe('it is killed on the way of a checkpoint', { concurrent: false }, () => {
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
      const halt = haltAt(two.notes, at)
      await two.startAgent('two', halt.environment)
      const work = await begin(two.fleet)
      await work.letGo(1, 'two')
      const sends = at.of === PACKED.of || at.of === SENT
      if (sends) await work.letGo(2, 'one')
      await halt.reached()
      await killHalted(halt, two.agents.get('two')!)
      await expectNothingTorn(two.fleet, work.chainId)
      await two.startAgent('two')
      if (!sends) await work.letGo(2, 'one')
      await expectEnd(two.fleet, work, 0)
    })
  })

  describe('it is killed while it sends what was published', { concurrent: false }, () => {
    test.each<[string, HaltAt]>([
      ['before it asks', { call: 'fetch', of: `${AGENT_CHECKPOINT_OFFER_PATH}$`, side: 'before' }],
      ['with a snapshot', { call: 'open', of: `${SNAPSHOT}files$`, side: 'before' }],
      ['before it sends', { call: 'upload', of: `${AGENT_BLOB_PART_PATH}$`, side: 'before' }],
      ['once the servers have it', { call: 'fetch', of: SENT, side: 'after', times: 3 }],
      ['before it answers', { call: 'rename', of: `${SNAPSHOT}.published$`, side: 'before' }],
      ['when it has answered', { call: 'rename', of: `${SNAPSHOT}.published$`, side: 'after' }],
      ['when it has removed the wish', { call: 'rename', of: String.raw`/\.publish$`, side: 'after' }],
    ])('%s', async (_, at) => {
      const halt = haltAt(two.notes, at)
      // Of another test: it would be where this one halts, before it is ready.
      await eventually(() => readdirSync(join(two.fleet.agentDir('one'), 'kernels')).length === 0)
      await two.startAgent('one', halt.environment)
      const id = await beginPublishing(two.fleet, 'save 1; publish; exec sleep 1000')
      await killHalted(halt, two.agents.get('one')!)
      await two.startAgent('one')
      expect(await answer(two.fleet, id)).toMatchObject({ attempt: 1, published: true, reason: null })
      await eventually(() => !readdirSync(directory(two.fleet, id)).includes('.publish'))
      await eventually(() => draftsOf(two.fleet, 'one').length === 0)
      expect(await record(two.fleet, id)).toMatchObject({ attempt: 1, relay_attempt: 1 })
      await expectWhole(two.fleet, id)
      expect((await two.fleet.chain(id)).map(({ status }) => status)).toEqual(['RUNNING'])
      expect(readFileSync(join(directory(two.fleet, id), 'latest/step'), 'utf8')).toBe('1\n')
    })

    test.each(['user', 'namespaces'])(
      'a program that runs as another user publishes with isolation %s',
      async (isolation) => {
        const secret = join(two.fleet.shared, 'secret')
        writeFileSync(secret, 'untouched', { mode: 0o600 })
        await two.startAgent('one', { REPRISE_ISOLATION: isolation })
        const id = await beginPublishing(
          two.fleet,
          `id -u; umask 077; ln -s ${secret} .published; save 1; publish; cat .published
      while [ ! -e gate ]; do sleep 0.05; done; exit 3`,
        )
        await eventually(() =>
          lstatSync(join(directory(two.fleet, id), '.published'), { throwIfNoEntry: false })?.isFile(),
        )
        await workGoesTo(two.fleet, 'two')
        writeFileSync(join(directory(two.fleet, id), 'gate'), '')
        const [first, second] = await two.fleet.until(id, ([, retry]) => retry?.status === 'TERMINATED')
        expect(textOf(first!)).toMatch(/^none:  \n[1-9]\d+\n\{"attempt":1,"published":true,/)
        expect(textOf(second!)).toBe('fetched1: 1 whole\n')
        expect(readFileSync(secret, 'utf8')).toBe('untouched')
      },
    )
  })
})

describe.concurrent('an agent that is killed, and does not come back', () => {
  // The agent is lost before its kernel is taken for gone.
  const two = useTwoAgents(SHORT_LEASE, 10_000)

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
  ])('%s', { concurrent: false }, async (_, at, said, found) => {
    const once = join(two.notes, 'on-record')
    const halt = haltAt(two.notes, at.call === 'open' ? { ...at, once } : at)
    await two.startAgent('two', halt.environment)
    const work = await begin(two.fleet)
    await work.letGo(1, 'two')
    await work.letGo(2, 'one')
    await leftOnRecord(two.fleet, work.chainId, 2)
    writeFileSync(once, '')
    await killHalted(halt, two.agents.get('two')!)
    await work.has('TERMINATED', 3)
    expect((await two.fleet.chain(work.chainId)).map(textOf)).toEqual(['none:  \n', 'fetched1: 1 whole\n', said])
    expect(work.runs()).toEqual(['1', '2', '3'])
    await expectNothingTorn(two.fleet, work.chainId)
    const shown = await two.fleet
      .sql(`SELECT c.state, c.note FROM session_checkpoints c JOIN sessions s ON s.id = c.session_id
    WHERE s.chain_id = '${work.chainId}' AND s.attempt = 3`)
    expect(shown).toEqual([found])
    await two.startAgent('two')
    // It sends what it had, after all.
    await eventually(async () => (await two.fleet.sql('SELECT FROM kernels WHERE NOT confirmed_gone')).length === 0)
  })
})

describe.concurrent('a server that is killed', () => {
  const two = useTwoAgents(PATIENT_LEASE)

  test.each<[string, HaltAt]>([
    ['in the middle of receiving', { call: 'write', of: String.raw`\.part$`, side: 'after', times: 2 }],
    ['when all of it is on the disk', { call: 'rename', of: String.raw`\.part$`, side: 'before' }],
    [
      'when the file has its name, and before it is on record',
      { call: 'rename', of: String.raw`\.part$`, side: 'after' },
    ],
    ['when it is on record, and before the agent knows', { call: 'answer', of: SENT, side: 'before', times: 3 }],
    ['in the middle of giving it away', { call: 'stream', of: FETCHED, side: 'after', times: 2 }],
  ])('%s', { concurrent: false }, async (_, at) => {
    const halt = haltAt(two.notes, at)
    const work = await begin(two.fleet)
    const partsLeft = copies(two.fleet).partBytes().length
    if (at.of === FETCHED) await startServer(two, halt)
    await work.letGo(1, 'two')
    if (at.of !== FETCHED) {
      await eventually(() => work.runs().includes('2'))
      await startServer(two, halt)
      await work.letGo(2, 'one')
    }
    await killHalted(halt, two.fleet.server)
    await expectNothingTorn(two.fleet, work.chainId)
    await two.fleet.restartServer()
    if (at.of === FETCHED) await work.letGo(2, 'one')
    await expectEnd(two.fleet, work, partsLeft + 1)
  })

  test('after it has what was published, before it is recorded', { concurrent: false }, async () => {
    const halt = haltAt(two.notes, { call: 'rename', of: String.raw`\.part$`, side: 'after' })
    await startServer(two, halt)
    const id = await beginPublishing(two.fleet, 'save 1; publish; exec sleep 1000')
    await killHalted(halt, two.fleet.server)
    await two.fleet.restartServer()
    expect(await answer(two.fleet, id)).toMatchObject({ attempt: 1, published: true, reason: null })
    expect(await record(two.fleet, id)).toMatchObject({ attempt: 1, relay_attempt: 1 })
    await expectWhole(two.fleet, id)
  })
})

describe.concurrent('published checkpoints: the agent dies for good', () => {
  const two = useTwoAgents(SHORT_LEASE, 6_000)

  test('only what was written since the last publication is lost', { concurrent: false }, async () => {
    const id = await beginPublishing(two.fleet, 'save 1; publish; save 2; publish; save 3; exec sleep 1000')
    await eventually(() => existsSync(join(directory(two.fleet, id), 'step3/sums')))
    expect(await answer(two.fleet, id)).toMatchObject({ attempt: 1, published: true, reason: null })
    const { chain } = await two.fleet.graphql(SHOWN, { id })
    expect(chain).toEqual({
      checkpointAttempt: 1,
      checkpointPublishedAt: chain.checkpointCopiedAt,
      checkpointCopiedAt: expect.stringMatching(/Z$/),
    })
    await workGoesTo(two.fleet, 'two')
    await two.agents.get('one')!.kill()
    const [first, second] = await two.fleet.until(id, ([, retry]) => retry?.status === 'TERMINATED')
    expect(first).toMatchObject({ failureCause: 'AGENT_TRANSIENT' })
    expect(textOf(second!)).toBe('fetched1: 2 whole\n')
    expect(second!.kernels[0]!.agent!.name).toBe('two')
    const [, retry] = (await two.fleet.rest(`/v2/sessions/${id}/attempts`)).items
    await two.startAgent('one')
    expect(retry.checkpoint).toMatchObject({
      state: 'FETCHED',
      from_attempt: 1,
      published_at: chain.checkpointCopiedAt,
    })
  })

  test('no state is torn while the program publishes all the time', { concurrent: false }, async () => {
    const id = await beginPublishing(two.fleet, 'n=0; while :; do n=$((n + 1)); save $n; : >.publish; done')
    // Under such haste not all of its states stand still for long enough.
    const publishedAt = () => answer(two.fleet, id).then((one) => one['published'] === true && String(one['at']))
    const first = await eventually(publishedAt)
    await eventually(async () => ![false, first].includes(await publishedAt()))
    await workGoesTo(two.fleet, 'two')
    await two.agents.get('one')!.kill()
    await expectWhole(two.fleet, id)
    const [, second] = await two.fleet.until(id, ([, retry]) => retry?.status === 'TERMINATED')
    expect(textOf(second!)).toMatch(/^fetched1: \d+ whole\n$/)
  })
})

async function startServer({ fleet }: TwoAgents, halt: Halt): Promise<void> {
  await fleet.server.stop()
  await fleet.restartServer(halt.environment)
}

async function begin(fleet: RemoteFleet): Promise<Work> {
  await workGoesTo(fleet, 'one')
  return beginWork(fleet)
}

const copies = (fleet: RemoteFleet) => copiesIn(checkpointDirOf(fleet))

/** Checks that every file with the name of a copy is that copy, and so is the copy on record. */
async function expectNothingTorn(fleet: RemoteFleet, chainId: string): Promise<void> {
  const whole = copies(fleet).expectWhole()
  const [onRecord] = await fleet.sql(`SELECT relay_sha256 FROM checkpoints WHERE chain_id = '${chainId}'`)
  if (onRecord?.['relay_sha256'] != null) expect(whole).toContain(onRecord['relay_sha256'])
  const directory = join(fleet.agentDir('two'), 'chains', chainId)
  if (existsSync(directory))
    expect([[], ['a', 'attempt', 'b', 'sums']]).toContainEqual(readdirSync(directory).toSorted())
}

async function expectEnd(fleet: RemoteFleet, { chainId, has, runs }: Work, partsMax: number): Promise<void> {
  await has('TERMINATED', 3)
  const chain = await fleet.chain(chainId)
  expect(chain.map(textOf)).toEqual(['none:  \n', 'fetched1: 1 whole\n', 'fetched2: 2 whole\n'])
  expect(runs()).toEqual(['1', '2', '3'])
  expect(chain.map(({ failureCause }) => failureCause)).toEqual(['KERNEL_NONZERO_EXIT', 'KERNEL_NONZERO_EXIT', null])
  await expectNothingTorn(fleet, chainId)
  // What a killed server had begun to receive is continued, or removed by its age.
  expect(copies(fleet).partBytes().length).toBeLessThanOrEqual(partsMax)
  for (const name of ['one', 'two']) expect(draftsOf(fleet, name)).toEqual([])
}

async function beginPublishing(fleet: RemoteFleet, work: string): Promise<string> {
  await workGoesTo(fleet, 'one')
  return fleet.createSession({
    command: ['sh', '-c', publishing(work)],
    retryPolicy: { maxRetries: 3, retryDelay: 0.1 },
  })
}

const SHOWN = `query ($id: UUID!) { chain(id: $id) { checkpointAttempt checkpointPublishedAt checkpointCopiedAt } }`

const directory = (fleet: RemoteFleet, chainId: string) => join(fleet.agentDir('one'), 'chains', chainId)

async function answer(fleet: RemoteFleet, chainId: string): Promise<Record<string, unknown>> {
  const path = join(directory(fleet, chainId), '.published')
  return JSON.parse(await eventually(() => existsSync(path) && readFileSync(path, 'utf8'), { what: '.published' }))
}

async function record(fleet: RemoteFleet, chainId: string) {
  const [row] = await fleet.sql(
    `SELECT attempt, relay_attempt, relay_sha256 FROM checkpoints WHERE chain_id = '${chainId}'`,
  )
  return row
}

/** The one copy on the servers is whole, and is that on record. */
async function expectWhole(fleet: RemoteFleet, chainId: string): Promise<void> {
  expect(copiesIn(checkpointDirOf(fleet)).expectWhole()).toContain((await record(fleet, chainId))!['relay_sha256'])
}

/** A server and two agents, `one` and `two`, without a common file system. */
interface TwoAgents {
  fleet: RemoteFleet
  agents: Map<string, SpawnedProgram>
  /** A directory where halted programs say so. */
  notes: string
  /** Another takes its place if it runs. */
  startAgent(name: string, environment?: Record<string, string>): Promise<void>
}

/**
 * For the tests of the describe block that calls it; empty until they run.
 *
 * @param fenceAfterMs of their resource group; agents are told when they register
 */
function useTwoAgents(lease: Lease, fenceAfterMs?: number): TwoAgents {
  const two = {} as TwoAgents

  beforeAll(async () => {
    const fleet = (two.fleet = await startRemoteFleet({ lease }))
    two.notes = await temporaryDirectory('notes')
    const token = await fleet.token()
    const agents = (two.agents = new Map())
    two.startAgent = async (name, environment = {}) => {
      await agents.get(name)?.stop()
      agents.set(name, await fleet.startAgent({ name, token, environment }))
    }
    if (fenceAfterMs !== undefined) await fleet.sql(`UPDATE resource_groups SET fence_after_ms = ${fenceAfterMs}`)
    await Promise.all(['one', 'two'].map((name) => two.startAgent(name)))
  })
  afterEach(() => endKernelsOf(two.fleet))
  afterAll(() => two.fleet?.[Symbol.asyncDispose]())
  return two
}
