import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { COMMANDS, PARTS } from '../support/run/parts.ts'
import { ROOT } from './source-files.ts'

const files = globSync('test/**/*.test.ts', { cwd: ROOT }).map((path) => path.replaceAll('\\', '/'))

describe('the parts of the suite', () => {
  test('every pattern finds files, and no file is in two parts', () => {
    const found = Object.entries(PARTS).flatMap(([part, patterns]) =>
      patterns.map((pattern) => ({ part, pattern, files: globSync(pattern, { cwd: ROOT }) })),
    )
    expect(found.filter((entry) => entry.files.length === 0)).toEqual([])
    const all = found.flatMap((entry) => entry.files)
    expect(all.filter((path, index) => all.indexOf(path) !== index)).toEqual([])
    expect(files.length).toBeGreaterThan(all.length)
  })

  test('every part is in one command', () => {
    expect(Object.values(COMMANDS).flat().toSorted()).toEqual([...Object.keys(PARTS), 'quick'].toSorted())
  })

  test('what `npm test` runs needs nothing of the distribution', async () => {
    const elsewhere = new Set(
      Object.entries(PARTS).flatMap(([part, patterns]) =>
        part === 'pure' ? [] : patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT })),
      ),
    )
    const quick = files.filter((path) => !elsewhere.has(path))
    expect(quick.length).toBeGreaterThan(150)
    const needing = await filesWith(quick, /\bwhyNo(?!Browser)\w+\(|\bskipReason\(/)
    // Parts of a guard that systemd and Compose look at where they are installed.
    expect(needing).toEqual(['test/guard/service-examples.test.ts'])
  })
})

test('the list of unsteady tests is short, and names tests that there are', async () => {
  const listed = JSON.parse(await readFile(join(ROOT, 'test/unsteady.json'), 'utf8')) as Record<string, string>[]
  expect(listed.length).toBeLessThanOrEqual(10)
  for (const entry of listed) {
    expect(Object.keys(entry).toSorted()).toEqual(['file', 'firstSeen', 'known', 'test'])
    expect(entry['firstSeen']).toMatch(/^\d{4}-\d\d-\d\d$/)
    expect(files).toContain(entry['file'])
  }
})

/**
 * Where tests wait for time to pass, and why nothing can be awaited instead. By file: how often, and the reason. Pauses
 * that are written as a number of at most 200 ms need none.
 */
const WAITS: Record<string, readonly [times: number, reason: string]> = {
  'test/contract/executor/container-stops.test.ts': [1, 'a grace passes while nobody holds the kernels'],
  'test/contract/executor/process-stops.test.ts': [1, 'each stop comes 8 ms later in the start than the one before'],
  'test/contract/executor/slurm-jobs.test.ts': [1, 'shows that nothing happens while Slurm is asked several times'],
  'test/contract/executor/slurm-shared-directory.test.ts': [4, 'shows that nothing happens while a directory is away'],
  'test/contract/graphql/slow-consumers.test.ts': [
    1,
    'shows that the time of stalled readers is not for those who wait',
  ],
  'test/e2e/crashes.test.ts': [3, 'kills at random moments; work comes in, and is asked about, a little at a time'],
  'test/e2e/database-outage.test.ts': [2, 'an outage has a length; a server goes at a random moment'],
  'test/e2e/readme-tour.test.ts': [1, 'Ctrl-C at moments that no output tells'],
  'test/e2e/proxies.test.ts': [1, 'a connection is idle for longer than a proxy allows'],
  'test/e2e/readiness.test.ts': [1, 'shows that a client waits while the server starts'],
  'test/e2e/remote/partitions.test.ts': [2, 'a cut shorter than the lease; a lease passes while the agent is cut off'],
  'test/e2e/remote/remote-agents.test.ts': [1, 'a server is away for longer than an agent may be silent'],
  'test/e2e/several-servers.test.ts': [3, 'kills and an outage have a length; work comes in a little at a time'],
  'test/e2e/slurm.test.ts': [1, 'shows that nothing happens while Slurm is asked several times'],
  'test/integration/client/streams.test.ts': [1, 'a reader is slow'],
  'test/integration/retention/drop-old-checkpoints.test.ts': [1, 'steps come up to 5 ms apart'],
  'test/support/containers/throttled-proxy.ts': [1, 'a slow network'],
  'test/support/programs/client-program.ts': [1, 'a program that is busy'],
  'test/support/programs/killed-in-deployment-program.ts': [1, 'a program that is killed meanwhile'],
  'test/support/servers/loop-hold.ts': [1, '2 ms between two probes'],
}

const PAUSE_MAX_MS = 200
/** `pause(…)` and the like, and promises of a timer; not a method of that name, nor one that is declared. */
const PAUSE = /(?<![.\w])(?:(?:pause|sleep|delay)\(|await setTimeout\(|setTimeout\(resolve, )([^(),:]+)(?=[(),])/g

test('tests wait for states, not for time to pass', async () => {
  const paths = globSync('test/**/*.ts', { cwd: ROOT }).map((path) => path.replaceAll('\\', '/'))
  const found: Record<string, number> = {}
  let shortOnes = 0
  for (const path of paths.filter((each) => !/^test\/(bench|guard|storm|support\/(run|eventually))/.test(each))) {
    const text = await readFile(join(ROOT, path), 'utf8')
    for (const [, ms] of text.matchAll(PAUSE)) {
      if (Number(ms!.replaceAll('_', '')) <= PAUSE_MAX_MS) shortOnes++
      else found[path] = (found[path] ?? 0) + 1
    }
  }
  expect(shortOnes).toBeGreaterThan(5)
  expect(found).toEqual(Object.fromEntries(Object.entries(WAITS).map(([path, [times]]) => [path, times])))
})

async function filesWith(paths: readonly string[], pattern: RegExp): Promise<string[]> {
  const texts = await Promise.all(paths.map(async (path) => ({ path, text: await readFile(join(ROOT, path), 'utf8') })))
  return texts
    .filter(({ text }) => pattern.test(text))
    .map(({ path }) => path)
    .toSorted()
}
