import { execFileSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { AGENT_BLOB_HAVE_PATH, AGENT_BLOB_PART_PATH, AGENT_OUTPUTS_PATH } from '../../../src/domain/agent/protocol.ts'
import { ROOT } from '../../guard/source-files.ts'
import { eventually } from '../../support/eventually.ts'
import { haltAt, type HaltAt, killHalted } from '../../support/programs/halted-program.ts'
import type { SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { endKernelsOf } from './kernel-notes.ts'
import { checkpointDirOf, copiesIn } from './relayed-work.ts'
import { PATIENT_LEASE, startRemoteFleet, type RemoteFleet } from './remote-fleet.ts'

/** Each row of the table in docs/outputs.md: agent, server, proxy and disk fail at each step of the way. */

/** Three parts. */
const LARGE_BYTES = 20_000_000
const SMALL = ['small1', 'small2', 'small3']

/** A server, and an agent that each test starts. */
interface Place {
  fleet: RemoteFleet
  agent?: SpawnedProgram
  startAgent(how?: { url?: string; environment?: Record<string, string> }): Promise<SpawnedProgram>
}

/** For the tests of the describe block that calls it; empty until they run. */
function usePlace(): Place {
  const place = {} as Place
  beforeAll(async () => {
    const fleet = (place.fleet = await startRemoteFleet({ lease: PATIENT_LEASE }))
    const token = await fleet.token()
    place.startAgent = async (how = {}) => (place.agent = await fleet.startAgent({ name: 'one', token, ...how }))
  })
  afterEach(() => place.agent?.stop())
  afterAll(async () => {
    if (place.fleet === undefined) return
    await endKernelsOf(place.fleet)
    await place.fleet[Symbol.asyncDispose]()
  })
  return place
}

/** On the disk of the agent, until it has arrived. */
function keptFile(fleet: RemoteFleet, name: string): string {
  const directory = join(fleet.agentDir('one'), 'outputs')
  const path = readdirSync(directory, { recursive: true, encoding: 'utf8' }).find((each) => basename(each) === name)
  return join(directory, path!)
}

/** Content that no session has had. */
async function begin(fleet: RemoteFleet) {
  const salt = randomUUID()
  const small = SMALL.map((name) => `echo ${salt} ${name} >${name}`)
  const script = ['cd "$REPRISE_OUTPUT_DIR"', ...small, `yes ${salt} | head -c ${LARGE_BYTES} >large`]
  const id = await fleet.createSession({ command: ['sh', '-c', script.join('\n')] })
  const contents = new Map(SMALL.map((name) => [name, `${salt} ${name}\n`]))
  const line = `${salt}\n`
  return { id, contents: contents.set('large', line.repeat(LARGE_BYTES / line.length + 1).slice(0, LARGE_BYTES)) }
}

type Begun = Awaited<ReturnType<typeof begin>>

/** All of it arrives, once, and nothing is left of the way that it took. */
async function expectWhole(
  fleet: RemoteFleet,
  { id, contents }: Begun,
  blobDir = join(checkpointDirOf(fleet), 'blobs'),
): Promise<void> {
  const outputs = await eventually(async () => {
    const { session } = await fleet.graphql(OUTPUTS, { id })
    return session.outputs?.state === 'COMPLETE' && session.outputs
  })
  const files = outputs.files.edges.map(({ node }: any) => [node.path, node.sha256])
  expect(files).toEqual(
    [...contents].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([path, text]) => [path, sha256Of(text)]),
  )
  for (const [path, text] of contents) {
    const headers = { authorization: `Bearer ${fleet.adminToken}` }
    const response = await fetch(`${fleet.url}/v2/sessions/${id}/outputs/files/${path}`, { headers })
    expect(sha256Of(Buffer.from(await response.arrayBuffer()))).toBe(sha256Of(text))
  }
  const told = `SELECT FROM session_events WHERE type = 'session.outputs_complete' AND session_id = '${id}'`
  expect(await fleet.sql(told)).toHaveLength(1)
  copiesIn(join(blobDir, '..')).expectWhole()
  await eventually(() => readdirSync(join(fleet.agentDir('one'), 'outputs')).length === 0)
}

const OUTPUTS = `query ($id: UUID!) { session(id: $id) { outputs { state reasons
  files(first: 10) { edges { node { path sha256 } } } } } }`

const sha256Of = (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex')

const HAVE = `${AGENT_BLOB_HAVE_PATH}$`
const PART = `${AGENT_BLOB_PART_PATH}$`
/** First that it begins, then the list of files, and then the end. */
const REPORT = `${AGENT_OUTPUTS_PATH}$`

const AGENT_KILLED: [string, HaltAt][] = [
  ['before the directory is set aside', { call: 'rename', of: String.raw`/kernels/[\w-]+$`, side: 'before' }],
  ['once the directory is set aside', { call: 'rename', of: String.raw`/kernels/[\w-]+$`, side: 'after' }],
  ['before it reports the beginning', { call: 'fetch', of: REPORT, side: 'before' }],
  ['while it reads the files', { call: 'open', of: String.raw`/large$`, side: 'before' }],
  ['before it asks what the servers have', { call: 'fetch', of: HAVE, side: 'before' }],
  ['in the middle of sending', { call: 'upload', of: PART, side: 'before', times: 2 }],
  ['before it knows that a part has arrived', { call: 'upload', of: PART, side: 'after', times: 2 }],
  ['before it sends the list', { call: 'fetch', of: REPORT, side: 'before', times: 2 }],
  ['before it reports the end', { call: 'fetch', of: REPORT, side: 'before', times: 3 }],
  ['before it removes the files', { call: 'fetch', of: REPORT, side: 'after', times: 3 }],
]

const SERVER_KILLED: [string, HaltAt][] = [
  ['before it answers at the beginning', { call: 'answer', of: REPORT, side: 'before' }],
  ['in the middle of receiving', { call: 'write', of: String.raw`\.part$`, side: 'after', times: 2 }],
  ['before it answers that it has a part', { call: 'answer', of: PART, side: 'before', times: 2 }],
  ['before a content has its name', { call: 'rename', of: String.raw`\.part$`, side: 'before' }],
  ['once a content has its name', { call: 'rename', of: String.raw`\.part$`, side: 'after' }],
  ['with the list on record', { call: 'answer', of: REPORT, side: 'before', times: 2 }],
  ['with the end on record', { call: 'answer', of: REPORT, side: 'before', times: 3 }],
]

const LOST_ANSWERS = [AGENT_OUTPUTS_PATH, AGENT_BLOB_HAVE_PATH, AGENT_BLOB_PART_PATH]
const REFUSALS = [413, 429, 502, 503]

/** The tests of each row. */
const SHOWN: Record<string, (place: Place) => void> = {
  'The agent is killed': (place) =>
    test.each(AGENT_KILLED)('%s', async (_, at) => {
      const halt = haltAt(await temporaryDirectory('notes'), at)
      const first = await place.startAgent({ environment: halt.environment })
      const begun = await begin(place.fleet)
      await killHalted(halt, first)
      await place.startAgent()
      await expectWhole(place.fleet, begun)
    }),
  'A server is killed': (place) =>
    test.each(SERVER_KILLED)('%s', async (_, at) => {
      await place.startAgent()
      const halt = haltAt(await temporaryDirectory('notes'), at)
      await place.fleet.server.stop()
      await place.fleet.restartServer(halt.environment)
      const begun = await begin(place.fleet)
      await killHalted(halt, place.fleet.server)
      await place.fleet.restartServer()
      await expectWhole(place.fleet, begun)
    }),
  'The answer of a server is lost': (place) =>
    test.each(LOST_ANSWERS)('%s', async (path) => {
      let lost = 0
      await using proxy = await proxyBefore(place, {
        loses: (asked) => asked === path && lost++ < 3,
      })
      await place.startAgent({ url: proxy.url })
      await expectWhole(place.fleet, await begin(place.fleet))
      expect(lost).toBeGreaterThanOrEqual(3)
    }),
  'A proxy refuses its requests (413, 429, 502, 503)': (place) =>
    test.each(REFUSALS)('%i', async (status) => {
      let refused = 0
      await using proxy = await proxyBefore(place, {
        refuses: (asked) => (asked === AGENT_BLOB_PART_PATH && refused++ < 3 ? status : null),
      })
      const { log } = await place.startAgent({ url: proxy.url })
      await expectWhole(place.fleet, await begin(place.fleet))
      expect(refused).toBeGreaterThanOrEqual(3)
      const why = log.find((line) => line.includes('outputs of a kernel wait to be sent'))
      expect(JSON.parse(why!)).toMatchObject({ reason: expect.stringContaining(String(status)) })
    }),
  'A file changes while it is read': (place) => {
    /** The first part waits until the test lets it go. */
    async function beginHeld() {
      let isHeld = true
      let parts = 0
      let onPart: () => void = () => {}
      const proxy = await proxyBefore(place, {
        refuses(asked) {
          if (asked !== AGENT_BLOB_PART_PATH) return null
          parts++
          onPart()
          return isHeld ? 503 : null
        },
      })
      const { log } = await place.startAgent({ url: proxy.url })
      const begun = await begin(place.fleet)
      await eventually(() => log.some((line) => line.includes('wait to be sent')))
      const release = (before: () => void = () => {}) => {
        onPart = before
        isHeld = false
      }
      const path = keptFile(place.fleet, 'large')
      /** Returns once the agent has read this content. */
      async function change(content: string) {
        writeFileSync(path, content)
        const before = parts
        // A request may have been under way, with what was read before.
        await eventually(() => parts > before + 1)
      }
      return { ...begun, proxy, path, change, release }
    }
    test('once: it is read again', async () => {
      const { proxy, path, release, ...begun } = await beginHeld()
      await using _ = proxy
      const changed = begun.contents.get('large')!.toUpperCase()
      writeFileSync(path, changed)
      begun.contents.set('large', changed)
      release()
      await expectWhole(place.fleet, begun)
    })
    test('again and again: it is named, and the others arrive', async () => {
      const { proxy, path, change, release, id } = await beginHeld()
      await using _ = proxy
      // Five parts: the agent reads three before it needs the first answer.
      const another = () => `${randomUUID()}\n`.repeat(1_000_000)
      await change(another())
      release(() => {
        if (existsSync(path)) writeFileSync(path, another())
      })
      const { state, reasons, files } = await eventually(async () => {
        const { session } = await place.fleet.graphql(OUTPUTS, { id })
        return !['WAITING', 'COLLECTING'].includes(session.outputs.state) && session.outputs
      })
      expect({ state, reasons }).toEqual({ state: 'PARTIAL', reasons: [expect.stringMatching(/^large/)] })
      expect(files.edges.map(({ node }: any) => node.path)).toEqual(SMALL)
    })
  },
  'The disk of the servers is full': (place) =>
    test.skipIf(process.getuid!() !== 0)('until there is room', async () => {
      const blobDir = join(await temporaryDirectory('disk'), 'blobs')
      const mount = (...args: string[]) => execFileSync('mount', ['-t', 'tmpfs', ...args])
      execFileSync('mkdir', [blobDir])
      mount('-o', 'size=10m', 'reprise-test', blobDir)
      try {
        await place.fleet.server.stop()
        await place.fleet.restartServer({ REPRISE_BLOB_DIR: blobDir })
        const { log } = await place.startAgent()
        const begun = await begin(place.fleet)
        await eventually(() => log.some((line) => /wait to be sent/.test(line) && /disk|space/i.test(line)))
        mount('-o', 'remount,size=100m', 'reprise-test', blobDir)
        await expectWhole(place.fleet, begun, blobDir)
      } finally {
        await place.agent?.stop()
        await place.fleet.server.stop()
        execFileSync('umount', ['--lazy', blobDir])
        await place.fleet.restartServer()
      }
    }),
}

/** The file of the test, and its title. */
const SHOWN_ELSEWHERE: Record<string, readonly [string, string]> = {
  'The agent never returns, or its disk is lost': [
    'test/integration/session/outputs.test.ts',
    'are lost with their agent until it returns',
  ],
}

const rows = rowsUnder('What each failure leaves')

test('each row is shown by a test', () => {
  expect(rows.toSorted()).toEqual([...Object.keys(SHOWN), ...Object.keys(SHOWN_ELSEWHERE)].toSorted())
  for (const [file, title] of Object.values(SHOWN_ELSEWHERE))
    expect(readFileSync(join(ROOT, file), 'utf8')).toContain(`'${title}'`)
})

/** The rows of a group run in order, on a server of their own; the groups run beside each other. */
const GROUPS = Object.groupBy(Object.keys(SHOWN), (row) =>
  row.startsWith('The agent')
    ? 'an agent fails'
    : /server is killed|disk/.test(row)
      ? 'a server fails'
      : 'what is between',
)

for (const [group, members] of Object.entries(GROUPS)) {
  // oxlint-disable-next-line vitest/valid-title -- a group is a string
  describe.concurrent(group, () => {
    const place = usePlace()
    for (const row of members)
      // oxlint-disable-next-line vitest/valid-title -- a row is a string
      describe(row, { concurrent: false }, () => {
        SHOWN[row]!(place)
      })
  })
}

/** The first cells of the table below this heading. */
function rowsUnder(heading: string): string[] {
  const page = readFileSync(join(ROOT, 'docs/outputs.md'), 'utf8')
  const [, section] = page.split(`\n## ${heading}\n`)
  return [...section!.split('\n## ')[0]!.matchAll(/^\| (.+?) \|/gm)].map(([, cell]) => cell!).slice(1)
}

interface Faults {
  /** Called for each request; an answer of the server does not arrive then. */
  loses?(path: string): boolean
  /** A status instead of what the server would answer. */
  refuses?(path: string): number | null
}

/** It is closed once the agent, which may be in the middle of a request, has ended. */
async function proxyBefore(place: Place, { loses = () => false, refuses = () => null }: Faults) {
  const target = place.fleet.url
  const proxy = createServer((incoming, response) => {
    const { pathname } = new URL(incoming.url!, target)
    const status = refuses(pathname)
    if (status !== null) {
      incoming.resume().once('end', () => response.writeHead(status).end('<html>refused</html>'))
      return
    }
    const isLost = loses(pathname)
    const { method, headers } = incoming
    const onward = request(new URL(incoming.url!, target), { method, headers }, (answer) => {
      if (isLost) return void answer.resume().once('end', () => response.destroy())
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    incoming.on('error', () => onward.destroy()).pipe(onward)
    response.on('close', () => onward.destroy())
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      await place.agent?.stop()
      proxy.closeAllConnections()
      proxy.close()
    },
  }
}
