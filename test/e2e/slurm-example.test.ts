import { execFile } from 'node:child_process'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/node/index.ts'
import { readAdminToken } from '../../src/cli/demo/server-process.ts'
import { fixedPort } from '../support/agents/fixed-port.ts'
import { blocksOfTest, type DocumentBlock } from '../support/document-blocks.ts'
import { eventually } from '../support/eventually.ts'
import { cleanEnvironment, MAIN } from '../support/programs/command-line.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import {
  canLimitMemory,
  type OwnSlurmCluster,
  startSlurmCluster,
  whyNoSlurmCluster,
} from '../support/slurm/slurm-cluster.ts'

/** The set-up and the example of docs/slurm.md, as they stand there but for the places, and a tenth of the work. */

const missing = whyNoSlurmCluster()
const JOBS = 200
/** Of the forty pieces after which the kinds repeat. */
const EACH = JOBS / 40
/** A busy machine takes its time to start so many jobs. */
const SLOWLY_MS = 500_000

const MIB = 2 ** 20
const SESSIONS = `query ($after: String) { sessions(first: 100, after: $after, filter: { label: { key: "study", value: "7" } }) {
  pageInfo { hasNextPage endCursor } edges { node {
    name attempt origin status result failureCause failureReason statusReason retryCount uncountedRetries batchTimeout
    resourceSlots { slot amount } kernels { exitCode host } retryDecision { phase counted } } } } }`

interface Attempt {
  name: string
  attempt: number
  origin: string
  status: string
  result: string
  failureCause: string | null
  failureReason: string | null
  statusReason: string | null
  retryCount: number
  uncountedRetries: number
  batchTimeout: number
  resourceSlots: { slot: string; amount: string }[]
  kernels: { exitCode: number | null; host: string }[]
  retryDecision: { phase: string; counted: boolean } | null
}

describe.skipIf(missing !== null)(`the example of the documentation${missing === null ? '' : `: ${missing}`}`, () => {
  let cluster: OwnSlurmCluster
  let root: string
  let server: number
  let url: string
  let blocks: DocumentBlock[]

  beforeAll(async () => {
    root = await temporaryDirectory('slurm-example')
    cluster = await startSlurmCluster(join(root, 'cluster'))
    url = `http://127.0.0.1:${await fixedPort()}`
    const bin = join(root, 'bin')
    await mkdir(bin)
    await writeFile(join(bin, 'npx'), `#!/bin/sh\nshift\nexec ${process.execPath} ${MAIN} "$@"\n`)
    await chmod(join(bin, 'npx'), 0o755)
    blocks = await blocksOfTest('test/e2e/slurm-example.test.ts')
  })
  afterAll(async () => {
    if (server > 0) process.kill(server)
    await cluster[Symbol.asyncDispose]()
  })

  const here = (text: string) =>
    text
      .replaceAll('--partition=batch', '--partition=main')
      .replaceAll('PARTITION=batch', 'PARTITION=main')
      .replaceAll('/shared', cluster.shared)
      .replaceAll('/var/lib/reprise', join(root, 'data'))
      .replaceAll('1..2000', `1..${JOBS}`)

  async function shell(text: string): Promise<string> {
    const environment = {
      REPRISE_URL: url,
      REPRISE_PORT: new URL(url).port,
      REPRISE_DATA_DIR: join(root, 'data'),
      // Slurm forgets ended jobs after ten seconds here.
      REPRISE_SLURM_POLL_MS: '1000',
      SLURM_CONF: cluster.config,
      PATH: `${join(root, 'bin')}:${process.env['PATH']}`,
    }
    const { stdout } = await promisify(execFile)('bash', ['-ec', here(text)], { env: cleanEnvironment(environment) })
    return stdout
  }

  async function sessions(): Promise<Attempt[]> {
    const token = await readAdminToken(join(root, 'data'))
    const found: Attempt[] = []
    for (let after: string | null = null; ;) {
      const response: Response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ query: SESSIONS, variables: { after } }),
      })
      const { data, errors } = (await response.json()) as { data: any; errors?: unknown }
      expect(errors).toBeUndefined()
      found.push(...data.sessions.edges.map(({ node }: { node: Attempt }) => node))
      if (!data.sessions.pageInfo.hasNextPage) return found
      after = data.sessions.pageInfo.endCursor
    }
  }

  async function come(to: Record<string, number>): Promise<void> {
    await using client = createClient({ url, token: await readAdminToken(join(root, 'data')) })
    let counts: Record<string, number> = {}
    const have = async () => {
      const states = await client.chainCounts({ filter: { search: 'work' } })
      counts = Object.fromEntries(states.map(({ state, count }) => [state, count]))
      return Object.entries(to).every(([state, count]) => (counts[state] ?? 0) === count)
    }
    await eventually(have, { withinMs: SLOWLY_MS }).catch(() => expect(counts).toMatchObject(to))
  }

  test('is set up in ten lines', async () => {
    expect(blocks).toHaveLength(4)
    const [setUp] = blocks as [DocumentBlock]
    expect(setUp.text.trim().split('\n')).toHaveLength(10)
    const output = await shell(`${setUp.text}echo "server $!"`)
    server = Number(/^server (\d+)$/m.exec(output)![1])
    expect(output).toMatch(/^main\*?: 2 nodes with 16 CPUs and 4000 MB$/m)
    expect(output.split('\n')).toContain(hostname())
    expect(output).toMatch(/^kernels .* on \S+, node n\d+, Slurm job \d+$/m)
  })

  test.skipIf(!canLimitMemory())(
    'succeeds but for what needs a person, and then all of it',
    async () => {
      const [, program, create, resubmit] = blocks as [DocumentBlock, DocumentBlock, DocumentBlock, DocumentBlock]
      await writeFile(join(cluster.shared, 'work.sh'), here(program.text))
      await shell(create.text)
      await shell(create.text)
      await come({ SUCCEEDED: JOBS - EACH, FAILED: EACH })

      const attempts = await sessions()
      const kinds = Array.from({ length: 7 }, (_, kind) => attempts.filter(({ name }) => kindOf(name) === kind))
      const retried = (kind: number) => {
        const [first, second] = [1, 2].map((attempt) => kinds[kind]!.filter((each) => each.attempt === attempt))
        expect(first, `kind ${kind}`).toHaveLength(EACH)
        expect(second, `kind ${kind}`).toHaveLength(EACH)
        expect(new Set(second!.map(({ result }) => result))).toEqual(new Set(['SUCCESS']))
        return { first: first!, second: second! }
      }
      expect(kinds[0]!.every(({ attempt, result }) => attempt === 1 && result === 'SUCCESS')).toBe(true)
      const busy = retried(1)
      for (const each of busy.first)
        expect(each).toMatchObject({ kernels: [{ exitCode: 75 }], retryDecision: { counted: false } })
      for (const each of busy.second) expect(each).toMatchObject({ retryCount: 0, uncountedRetries: 1 })
      const small = kinds[2]!.filter(({ failureCause }) => failureCause === 'OOM_KILLED')
      const grown = kinds[2]!.filter(({ result }) => result === 'SUCCESS')
      // Where Slurm tells the cause later than the agent waits for it, a session is tried once more as it was.
      expect(small).toHaveLength(EACH)
      for (const each of small) expect(each).toMatchObject({ retryDecision: { counted: true } })
      expect(small.map(memoryOf)).toEqual(Array(EACH).fill(64 * MIB))
      expect(grown.map(memoryOf)).toEqual(Array(EACH).fill(128 * MIB))
      const unreadable = retried(3)
      for (const { name, kernels } of unreadable.second) {
        const before = unreadable.first.find((each) => each.name === name)!
        expect(kernels[0]!.host).not.toBe(before.kernels[0]!.host)
      }
      const hanging = retried(4)
      for (const each of hanging.first) expect(each).toMatchObject({ failureReason: 'task-timeout', batchTimeout: 30 })
      for (const each of hanging.second) expect(each).toMatchObject({ batchTimeout: 60, retryCount: 1 })
      for (const each of retried(5).first) expect(each).toMatchObject({ kernels: [{ exitCode: 139 }] })
      expect(kinds[6]).toHaveLength(EACH)
      for (const each of kinds[6]!) {
        expect(each).toMatchObject({
          attempt: 1,
          kernels: [{ exitCode: 65 }],
          retryDecision: { phase: 'NOT_ELIGIBLE' },
        })
      }

      await shell(resubmit.text)
      await come({ SUCCEEDED: JOBS, FAILED: 0 })
      await shell(resubmit.text)
      const all = await sessions()
      const repaired = all.filter(({ origin }) => origin === 'RESUBMISSION')
      expect(repaired).toHaveLength(EACH)
      for (const each of repaired) expect(each).toMatchObject({ attempt: 2, retryCount: 0, result: 'SUCCESS' })
      expect(all).toHaveLength(attempts.length + EACH)

      const ran = (await readFile(join(cluster.shared, 'ran'), 'utf8')).trim().split('\n')
      const wanted = all.map(({ name, attempt }) => `${name.replace('work-', '')} ${attempt}`)
      expect(ran.toSorted()).toEqual(wanted.toSorted())
    },
    1_200_000,
  )
})

function kindOf(name: string): number {
  const kind = Number(name.replace('work-', '')) % 40
  return kind > 6 ? 0 : kind
}

function memoryOf({ resourceSlots }: Attempt): number {
  return Number(resourceSlots.find(({ slot }) => slot === 'mem')!.amount)
}
