import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Lease } from '../../../src/domain/agent/lease.ts'
import { AGENT_CHECKPOINT_FETCH_PATH, AGENT_CHECKPOINT_SEND_PATH } from '../../../src/domain/agent/protocol.ts'
import { eventually } from '../../support/eventually.ts'
import { type Halt, haltAt, type HaltAt, killHalted } from '../../support/programs/halted-program.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { beginWork, checkpointDirOf, copiesIn, draftsOf, leftOnRecord, type Work, workGoesTo } from './relayed-work.ts'
import { PATIENT_LEASE, type RemoteFleet, SHORT_LEASE, textOf } from './remote-fleet.ts'
import { type TwoAgents, useTwoAgents } from './two-agents.ts'

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

const copiesOf = (chainId: string) => copiesIn(checkpointDirOf(fleet), chainId)

/** Whatever has been killed: what has the name of a copy is that copy, and so is what is on record. */
async function expectNothingTorn(chainId: string): Promise<void> {
  const copies = copiesOf(chainId).expectWhole()
  const [onRecord] = await fleet.sql(`SELECT relay_sha256 FROM checkpoints WHERE chain_id = '${chainId}'`)
  if (onRecord?.['relay_sha256'] != null) expect(copies).toContain(`${onRecord['relay_sha256']}.tar.zst`)
  const directory = join(fleet.agentDir('two'), 'chains', chainId)
  if (existsSync(directory))
    expect([[], ['a', 'attempt', 'b', 'sums']]).toContainEqual(readdirSync(directory).toSorted())
}

async function expectEnd({ chainId, has, runs }: Work, partsLeft: number): Promise<void> {
  await has('TERMINATED', 3)
  const chain = await fleet.chain(chainId)
  expect(chain.map(textOf)).toEqual(['none:  \n', 'fetched1: 1 whole\n', 'fetched2: 2 whole\n'])
  expect(runs()).toEqual(['1', '2', '3'])
  expect(chain.map(({ failureCause }) => failureCause)).toEqual(['KERNEL_NONZERO_EXIT', 'KERNEL_NONZERO_EXIT', null])
  await expectNothingTorn(chainId)
  // What a killed server had begun to receive is removed by its age.
  expect(copiesOf(chainId).expectWhole()).toHaveLength(1)
  expect(copiesOf(chainId).partBytes().length).toBeLessThanOrEqual(partsLeft)
  for (const name of ['one', 'two']) expect(draftsOf(fleet, name)).toEqual([])
}

const SENT = `${AGENT_CHECKPOINT_SEND_PATH}$`
const FETCHED = `${AGENT_CHECKPOINT_FETCH_PATH}$`
/** The second of the large files, as it is packed: first to know what there is, then to send it. */
const PACKED: Omit<HaltAt, 'times'> = { call: 'open', of: String.raw`^/proc/self/fd/\d+/b$`, side: 'before' }

describe('an agent that is killed', () => {
  useFleet(PATIENT_LEASE)

  test.each<[string, HaltAt]>([
    ['while it packs', PACKED],
    ['in the middle of sending', { ...PACKED, times: 2 }],
    ['once the servers have it, and before its end is told as gone', { call: 'fetch', of: SENT, side: 'after' }],
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
    if (at.times === 2)
      await eventually(() =>
        copiesOf(work.chainId)
          .partBytes()
          .some((bytes) => bytes > 0),
      )
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
      { call: 'fetch', of: SENT, side: 'after' },
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
    ['when it is on record, and before the agent knows', { call: 'answer', of: SENT, side: 'before' }],
    ['in the middle of giving it away', { call: 'stream', of: FETCHED, side: 'after', times: 2 }],
  ])('%s', async (_, at) => {
    const halt = haltAt(notes, at)
    const work = await begin()
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
    await expectEnd(work, 1)
  })
})
