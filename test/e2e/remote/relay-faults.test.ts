import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startPartitionProxy } from '../../support/agents/partition-proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { haltAt, killHalted } from '../../support/programs/halted-program.ts'
import type { SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { whyNoMounts } from '../../support/run/mounts.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { endKernelsOf } from './kernel-notes.ts'
import { beginWork, checkpointDirOf, copiesIn, draftsOf, leftOnRecord, workGoesTo } from './relayed-work.ts'
import { type RemoteFleet, startRemoteFleet, textOf } from './remote-fleet.ts'

/** A server and agents without a common file system: disks are full, and what is on its way stands still. */

let fleet: RemoteFleet
let token: string
const agents = new Map<string, SpawnedProgram>()
const mounts: string[] = []
/** The server keeps copies elsewhere, for one test. */
let hasOwnDisk = false

beforeAll(async () => {
  fleet = await startRemoteFleet()
  token = await fleet.token()
  for (const name of ['one', 'two']) await startAgent(name)
})
afterEach(async () => {
  await endKernelsOf(fleet)
  if (!hasOwnDisk) return
  hasOwnDisk = false
  await fleet.server.stop()
  await fleet.restartServer()
})
afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]()
  for (const path of mounts) execFileSync('umount', ['--lazy', path])
})

async function startAgent(name: string, how: Partial<Parameters<RemoteFleet['startAgent']>[0]> = {}): Promise<void> {
  await agents.get(name)?.stop()
  agents.set(name, await fleet.startAgent({ name, token, ...how }))
}

/** Kernels end with this agent. */
async function retire(name: string): Promise<void> {
  await endKernelsOf(fleet)
  await eventually(async () => (await fleet.sql('SELECT FROM kernels WHERE NOT confirmed_gone')).length === 0)
  await agents.get(name)!.stop()
}

/** A file system with room for one of the large files of the work, and not for both. */
async function smallDisk(): Promise<string> {
  const path = join(await temporaryDirectory('disk'), 'small')
  mkdirSync(path)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=755', 'tmpfs', path])
  mounts.push(path)
  return path
}

/** The agent tells it once the attempt has begun. */
async function noteOf(chainId: string, attempt: number): Promise<string> {
  const found = await eventually(
    async () =>
      (
        await fleet.sql(`SELECT c.note FROM session_checkpoints c JOIN sessions s ON s.id = c.session_id
          WHERE s.chain_id = '${chainId}' AND s.attempt = ${attempt}`)
      )[0],
  )
  return found['note']
}

const texts = async (chainId: string) => (await fleet.chain(chainId)).map(textOf)

const noMounts = whyNoMounts()

describe.skipIf(noMounts !== null)(`a disk that is full${noMounts === null ? '' : ` (skipped: ${noMounts})`}`, () => {
  test('of the server: no torn copy appears or stays, small ones still travel, and with space all do', async () => {
    const disk = await smallDisk()
    await fleet.server.stop()
    await fleet.restartServer({ REPRISE_CHECKPOINT_DIR: disk })
    hasOwnDisk = true
    await workGoesTo(fleet, 'one')
    const [large, small] = [await beginWork(fleet), await beginWork(fleet, 1000)]
    for (const { runs } of [large, small]) await eventually(() => runs().includes('1'))
    await small.letGo(1, 'two')
    await eventually(() => small.runs().includes('2'))
    await large.letGo(1, 'two')
    await eventually(() => large.runs().includes('2'))
    expect(copiesIn(disk).expectWhole()).toHaveLength(1)
    expect(agents.get('one')!.log.join('\n')).toContain('the disk of REPRISE_BLOB_DIR is full')
    execFileSync('mount', ['-o', 'remount,size=64m', disk])
    await large.letGo(2, 'one')
    await small.letGo(2, 'one')
    for (const { has } of [large, small]) await has('TERMINATED', 3)
    expect(await texts(large.chainId)).toEqual(['none:  \n', 'missing1:  \n', 'fetched2: 2 whole\n'])
    expect(await texts(small.chainId)).toEqual(['none:  \n', 'fetched1: 1 whole\n', 'fetched2: 2 whole\n'])
  })

  test('of the fetching agent: its attempt begins without the checkpoint, and says why', async () => {
    const disk = await smallDisk()
    await startAgent('small', { environment: { REPRISE_CHAINS_DIR: disk } })
    await workGoesTo(fleet, 'one')
    const [large, small] = [await beginWork(fleet), await beginWork(fleet, 1000)]
    for (const { runs } of [large, small]) await eventually(() => runs().includes('1'))
    await small.letGo(1, 'small')
    await eventually(() => small.runs().includes('2'))
    await large.letGo(1, 'small')
    await eventually(() => large.runs().includes('2'))
    expect(await noteOf(large.chainId, 2)).toMatch(/the servers have a copy, but it could not be written: ENOSPC/)
    expect(readdirSync(disk).filter((name) => name.startsWith('.new-'))).toEqual([])
    await eventually(async () => (await texts(large.chainId))[1] === 'missing1:  \n')
    await eventually(async () => (await texts(small.chainId))[1] === 'fetched1: 1 whole\n')
    await retire('small')
  })
})

/** Blobs that the server has open, to give them away or to receive them. */
function openAtServer(): string[] {
  const directory = `/proc/${fleet.server.pid}/fd`
  return readdirSync(directory).flatMap((fd) => {
    try {
      const path = readlinkSync(join(directory, fd))
      return path.includes('/checkpoints/blobs/') ? [path] : []
    } catch {
      return []
    }
  })
}

/** More than what is on the way between two sockets. */
const MUCH_BYTES = 40_000_000

test('agents that stand still while they send and fetch: others go on, and the server keeps nothing of theirs', async () => {
  const notes = [await temporaryDirectory('notes'), await temporaryDirectory('notes')] as const
  const once = join(notes[0], 'on-record')
  const sending = { call: 'open', of: String.raw`^/proc/self/fd/\d+/b$`, side: 'before', times: 2, once } as const
  const sends = haltAt(notes[0], sending)
  const fetches = haltAt(notes[1], { call: 'open', of: String.raw`/\.new-.*/b$`, side: 'before' })
  await fleet.sql('UPDATE resource_groups SET fence_after_ms = 10000')
  await startAgent('sends', { environment: sends.environment })
  await startAgent('fetches', { environment: fetches.environment })

  await workGoesTo(fleet, 'sends')
  const sent = await beginWork(fleet)
  await sent.letGo(1, 'one')
  await leftOnRecord(fleet, sent.chainId, 1)
  writeFileSync(once, '')
  await sends.reached()
  const fetched = await beginWork(fleet, MUCH_BYTES)
  await fetched.letGo(1, 'fetches')
  await fetches.reached()
  // Nothing is open for a part that has not come.
  expect(openAtServer()).toHaveLength(1)

  await workGoesTo(fleet, 'one')
  const other = await beginWork(fleet)
  await other.letGo(1, 'two')
  await other.letGo(2, 'one')
  await other.has('TERMINATED', 3)
  expect(await texts(other.chainId)).toEqual(['none:  \n', 'fetched1: 1 whole\n', 'fetched2: 2 whole\n'])

  // Neither has what the other attempts need: one was not sent, the other is with the servers.
  await eventually(() => sent.runs().includes('2'), { withinMs: 120_000 })
  await eventually(() => fetched.runs().includes('2') || fetched.runs().includes('3'), { withinMs: 120_000 })
  await eventually(async () => (await texts(sent.chainId))[1] === 'missing1:  \n')
  const settled = () => openAtServer().length === 0
  await eventually(settled, { withinMs: 150_000, what: 'the server has closed what stands still' })
  copiesIn(checkpointDirOf(fleet)).expectWhole()

  await killHalted(sends, agents.get('sends')!)
  await killHalted(fetches, agents.get('fetches')!)
  await endKernelsOf(fleet)
  await fleet.sql('UPDATE resource_groups SET fence_after_ms = 120000')
  for (const name of ['sends', 'fetches']) await startAgent(name)
  for (const name of ['sends', 'fetches']) {
    await retire(name)
    await eventually(() => draftsOf(fleet, name).length === 0)
  }
}, 400_000)

test.each([
  ['sent', 'far', 'one'],
  ['fetched', 'one', 'far'],
] as const)(
  'the connection over which it is %s stands still, and it is done again',
  async (_, first, second) => {
    await using proxy = await openProxy()
    await startAgent('far', { url: proxy.url })
    await workGoesTo(fleet, first)
    const work = await beginWork(fleet, MUCH_BYTES / 4)
    await eventually(() => work.runs().includes('1'))
    const stuck = proxy.stickAfter(MUCH_BYTES / 8)
    await work.letGo(1, second)
    await stuck
    await eventually(() => work.runs().includes('2'), { withinMs: 150_000 })
    await eventually(async () => (await texts(work.chainId))[1] === 'fetched1: 1 whole\n')
    expect(copiesIn(checkpointDirOf(fleet)).partBytes()).toEqual([])
    expect(draftsOf(fleet, 'far')).toEqual([])
    await endKernelsOf(fleet)
    await agents.get('far')!.stop()
  },
  240_000,
)

async function openProxy() {
  const proxy = await startPartitionProxy(fleet.url)
  return Object.assign(proxy, { [Symbol.asyncDispose]: () => proxy.close() })
}
