import { existsSync, globSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, inject, test } from 'vitest'
import { COMMANDS, PARTS } from '../support/run/parts.ts'
import { type SavedSeed, SEEDS_FILE } from '../support/run/saved-seeds.ts'
import { checkProperty, forEachSeed, randomOf, type SeededTask, seedsOf } from '../support/seeds.ts'
import { INSTALLED, ROOT } from './source-files.ts'

describe('the suite', () => {
  const files = globSync('test/**/*.test.ts', { cwd: ROOT, exclude: INSTALLED }).map((path) =>
    path.replaceAll('\\', '/'),
  )

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

    test('`npm test` needs no packages of the distribution', async () => {
      const elsewhere = new Set(
        Object.entries(PARTS).flatMap(([part, patterns]) =>
          part === 'pure' ? [] : patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT })),
        ),
      )
      const quick = files.filter((path) => !elsewhere.has(path))
      expect(quick.length).toBeGreaterThan(100)
      const needing = await filesWith(quick, /\bwhyNo(?!Browser)\w+\(|\bskipReason\(/)
      // Parts of a guard that systemd and Compose look at where they are installed.
      expect(needing).toEqual(['test/guard/operation.test.ts'])
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
    'test/contract/executor/container-silence.test.ts': [1, 'a grace passes while nobody holds the kernels'],
    'test/contract/executor/process-leftovers.test.ts': [
      1,
      'each stop comes 8 ms later in the start than the one before',
    ],
    'test/contract/executor/slurm-jobs.test.ts': [1, 'shows that nothing happens while Slurm is asked several times'],
    'test/contract/executor/slurm-shared-directory.test.ts': [
      4,
      'shows that nothing happens while a directory is away',
    ],
    'test/contract/graphql/large-answers.test.ts': [
      1,
      'shows that the time of stalled readers is not for those who wait',
    ],
    'test/e2e/crashes.test.ts': [3, 'kills at random moments; work comes in, and is asked about, a little at a time'],
    'test/e2e/database-outage.test.ts': [2, 'an outage has a length; a server goes at a random moment'],
    'test/e2e/readme-tour.test.ts': [1, 'Ctrl-C at moments that no output tells'],
    'test/e2e/proxies.test.ts': [1, 'a connection is idle for longer than a proxy allows'],
    'test/e2e/readiness.test.ts': [1, 'shows that a client waits while the server starts'],
    'test/e2e/remote/partitions.test.ts': [
      2,
      'a cut shorter than the lease; a lease passes while the agent is cut off',
    ],
    'test/e2e/remote/remote-agents.test.ts': [1, 'a server is away for longer than an agent may be silent'],
    'test/e2e/several-servers.test.ts': [3, 'kills and an outage have a length; work comes in a little at a time'],
    'test/e2e/slurm.test.ts': [1, 'shows that nothing happens while Slurm is asked several times'],
    'test/integration/client/streams.test.ts': [1, 'a reader is slow'],
    'test/integration/drop-old-checkpoints.test.ts': [1, 'steps come up to 5 ms apart'],
    'test/support/containers/throttled-proxy.ts': [1, 'a slow network'],
    'test/support/programs/client-program.ts': [1, 'a program that is busy'],
    'test/support/programs/killed-in-deployment-program.ts': [1, 'a program that is killed meanwhile'],
    'test/support/servers/event-loop-delay.ts': [1, '2 ms between two probes'],
  }

  const PAUSE_MAX_MS = 200
  /** `pause(…)` and the like, and promises of a timer; not a method of that name, nor one that is declared. */
  const PAUSE = /(?<![.\w])(?:(?:pause|sleep|delay)\(|await setTimeout\(|setTimeout\(resolve, )([^(),:]+)(?=[(),])/g

  test('tests wait for states, not for time to pass', async () => {
    const paths = globSync('test/**/*.ts', { cwd: ROOT, exclude: INSTALLED }).map((path) => path.replaceAll('\\', '/'))
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
    const texts = await Promise.all(
      paths.map(async (path) => ({ path, text: await readFile(join(ROOT, path), 'utf8') })),
    )
    return texts
      .filter(({ text }) => pattern.test(text))
      .map(({ path }) => path)
      .toSorted()
  }
})

/** Tests that make random choices take their seeds from test/support/seeds.ts, so that each failure can be repeated. */
describe('seeds in the repository', () => {
  const files = globSync('test/**/*.ts', { exclude: INSTALLED }).filter((path) => path !== 'test/support/seeds.ts')

  test('no property is checked without a seed', () => {
    const texts = files.map((path) => [path, readFileSync(path, 'utf8')] as const)
    const unseeded = texts.filter(([, text]) => /\bfc\.(assert|check|sample)\(/.test(text) && !/\bseed\b/.test(text))
    expect(unseeded.map(([path]) => path)).toEqual([])
    expect(texts.filter(([, text]) => text.includes('checkProperty(')).length).toBeGreaterThan(30)
  })

  test('each saved seed is of a test that exists', () => {
    const saved = JSON.parse(readFileSync(SEEDS_FILE, 'utf8')) as SavedSeed[]
    const unknown = saved.filter(({ file, test: name }) => {
      const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
      return !text.includes(name.split(' > ').at(-1)!) && !text.includes('.each(') && !text.includes('test(target.name')
    })
    expect(unknown).toEqual([])
  })
})

/** The seeds of tests that make random choices. */
describe('reading and saving seeds', () => {
  const FILE = 'test/unit/some.test.ts'
  const task = (): SeededTask => ({ file: { filepath: `${process.cwd()}/${FILE}` }, fullTestName: 'a > b', meta: {} })
  const entry = { file: FILE, test: 'a > b', seed: 7, date: '2026-11-27', found: 'it failed' }
  const isLong = inject('seed') !== undefined

  describe.skipIf(isLong)('in the suite', () => {
    test('a test has one seed, and those with which it has failed', () => {
      const others = [
        { ...entry, seed: 8, test: 'a > c' },
        { ...entry, seed: 9, file: 'test/unit/other.test.ts' },
      ]
      const [fixed, ...rest] = seedsOf(task(), [...others, entry, { ...entry, seed: 10 }])
      expect(rest).toEqual([7, 10])
      expect(seedsOf(task(), [])).toEqual([fixed])
    })

    test('a property is checked with each of them, the same way each time', () => {
      const drawn = () => {
        const values: number[] = []
        const property = fc.property(fc.nat(), (value) => void values.push(value))
        checkProperty(property, { numRuns: 5 })
        return values
      }
      expect(drawn()).toHaveLength(5)
      expect(drawn()).toEqual(drawn())
    })
  })

  test('a test that has asked is marked', () => {
    const asking = task()
    seedsOf(asking, [])
    expect(asking.meta.seeded).toBe(true)
  })

  test('a failure names the seed', async () => {
    const seeds: number[] = []
    const failing = forEachSeed((seed) => {
      seeds.push(seed)
      throw new Error('it failed')
    })
    await expect(failing).rejects.toThrow(/^With seed \d+: it failed$/)
    expect(seeds).toHaveLength(1)
  })

  test.concurrent('a concurrent test must name itself', ({ task: own, expect: expectHere }) => {
    expectHere(() => seedsOf()).toThrow('pass its task')
    expectHere(seedsOf(own)).not.toEqual([])
  })

  test('the same seed gives the same sequence, another seed another', () => {
    const draw = (seed: number) => {
      const { below } = randomOf(seed)
      return Array.from({ length: 5 }, () => below(1_000_000))
    }
    expect(draw(1)).toEqual(draw(1))
    expect(draw(1)).not.toEqual(draw(2))
  })
})
