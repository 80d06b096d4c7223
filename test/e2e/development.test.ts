import { execFile, spawn } from 'node:child_process'
import { cp, mkdir, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { bundleProgram } from '../../scripts/bundle.ts'
import { ROOT } from '../guard/source-files.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { once } from 'node:events'
import { eventually } from '../support/eventually.ts'
import { endLeftovers } from '../support/run/end-leftovers.ts'

describe('bundle', () => {
  /** A checkout with a program that says where it runs from, and what it finds beside its source. */

  const PROGRAM = `import { greeting } from './greeting.ts'
console.log(JSON.stringify({ greeting, from: import.meta.url, beside: import.meta.dirname }))
`

  let checkout: string
  let source: string

  beforeAll(async () => {
    checkout = await temporaryDirectory('bundle')
    source = join(checkout, 'src/program')
    await cp(join(ROOT, 'scripts/bundle.ts'), join(checkout, 'scripts/bundle.ts'))
    for (const name of ['src/main.ts', 'src/program/bundle.ts']) await cp(join(ROOT, name), join(checkout, name))
    await mkdir(join(checkout, 'node_modules'))
    await writeFile(join(checkout, 'node_modules/.package-lock.json'), '{}')
    await writeFile(join(checkout, 'package.json'), '{ "type": "module" }')
    await writeFile(join(source, 'reprise.ts'), PROGRAM)
    await writeFile(join(source, 'greeting.ts'), `export const greeting: string = 'hello'\n`)
    await writeFile(join(source, 'old.ts'), '')
  })

  async function run(): Promise<{ greeting: string; bundled: boolean; beside: string }> {
    const { stdout } = await promisify(execFile)(process.execPath, [join(checkout, 'src/main.ts')])
    const { from, ...said } = JSON.parse(stdout)
    return { ...said, bundled: from.includes('/.cache/bundle/') }
  }

  test('the bundle is run for as long as the sources are what it was made from', async () => {
    const beside = source
    expect(await run()).toEqual({ greeting: 'hello', bundled: false, beside })
    await bundleProgram(checkout)
    expect(await run()).toEqual({ greeting: 'hello', bundled: true, beside })

    await writeFile(join(source, 'greeting.ts'), `export const greeting: string = 'howdy'\n`)
    expect(await run()).toEqual({ greeting: 'howdy', bundled: false, beside })
    await Promise.all([bundleProgram(checkout), bundleProgram(checkout)])
    expect(await run()).toEqual({ greeting: 'howdy', bundled: true, beside })
  })

  test.each<[string, () => Promise<unknown>]>([
    ['a new file', () => writeFile(join(source, 'new.ts'), '')],
    ['a file that is gone', () => rm(join(source, 'old.ts'))],
    ['other packages', () => writeFile(join(checkout, 'node_modules/.package-lock.json'), '{ "packages": {} }')],
    ['a file written anew', () => utimes(join(source, 'greeting.ts'), new Date(), new Date())],
  ])('%s asks for another bundle', async (_what, change) => {
    await bundleProgram(checkout)
    expect(await run()).toMatchObject({ bundled: true })
    await change()
    expect(await run()).toMatchObject({ bundled: false })
  })

  test('a checkout without a lockfile of its packages runs, too', async () => {
    await rm(join(checkout, 'node_modules/.package-lock.json'))
    expect(await run()).toMatchObject({ greeting: 'howdy', bundled: false })
  })
})

describe('bench', () => {
  /** `npm run bench` as a process: what it prints, how it ends, and what it leaves behind. */

  const MAIN = join(import.meta.dirname, '../bench/main.ts')
  const TIMEOUT = { timeout: 300_000 }

  async function startBench(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    const directory = join(await temporaryDirectory('bench'), 'tmp')
    await mkdir(directory, { mode: 0o755 })
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: { ...process.env, TMPDIR: directory, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const printed = { out: '', err: '' }
    child.stdout.on('data', (chunk: Buffer) => (printed.out += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (printed.err += chunk.toString()))
    const closed = once(child, 'close') as Promise<[number | null]>
    return { child, printed, directory, status: closed.then(([status]) => status) }
  }

  describe('a bench that hangs', () => {
    test('ends at Ctrl-C: its figures are printed, and all that it started has ended', TIMEOUT, async () => {
      const { child, printed, directory, status } = await startBench(['--only', 'test-steady,test-hangs,test-steady'])
      await eventually(() => printed.out.includes('test-hangs, a first figure: 1.0 figures'), { withinMs: 280_000 })
      await eventually(() => printed.err.includes('test-hangs: hangs'))
      child.kill('SIGINT')
      expect(await status, printed.err).toBe(130)
      const table = printed.out.slice(printed.out.indexOf('node v'))
      expect(table).toMatch(
        /^test-steady\nanother figure +2\.0 figures +4\.0 +0\.50\n\ntest-hangs\na first figure +1\.0/m,
      )
      expect(table).toContain('INTERRUPTED: test-hangs')
      expect(Math.max(...table.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
      expect(await endLeftovers(directory)).toEqual([])
      expect(await readdir(directory)).toEqual([])
    })

    test('is given up after its limit, and the next one is run', TIMEOUT, async () => {
      const { printed, directory, status } = await startBench(['--json', '--only', 'test-given-up,test-steady'])
      expect(await status, printed.err).toBe(1)
      expect(JSON.parse(printed.out)).toMatchObject({
        unfinished: [{ bench: 'test-given-up', why: 'GAVE UP after 2 s' }],
        results: expect.arrayContaining([expect.objectContaining({ bench: 'test-steady', figure: 2, ratio: 0.5 })]),
      })
      expect(printed.err).toContain('test-steady, another figure: 2.0 figures')
      expect(await endLeftovers(directory)).toEqual([])
    })
  })

  describe('--quick', () => {
    async function quick(planted: readonly number[], ...args: string[]) {
      const directory = await temporaryDirectory('quick')
      const [file, kept] = [join(directory, 'planted'), join(directory, 'kept.json')]
      await writeFile(file, planted.join(' '))
      const before = { ratio: 0.5, spread: 0.02, date: '2026-01-01', cores: 1, cpu: 'an abacus' }
      await writeFile(kept, JSON.stringify({ 'test-planted': before, other: before }))
      const options = ['--quick', '--json', '--only', 'test-planted', '--kept', kept, ...args]
      const { printed, status } = await startBench(options, { BENCH_PLANTED: file })
      const exit = await status
      const { results } = JSON.parse(printed.out || '{}') as { results?: unknown[] }
      return { exit, result: results?.[0], printed, kept: JSON.parse(await readFile(kept, 'utf8')) as object, before }
    }

    test.concurrent.for([
      {
        title: 'a ratio that is as good as the kept one',
        planted: [0.43, 0.9],
        measured: [0.43],
        exit: 0,
        worse: false,
      },
      { title: 'a ratio that is worse once', planted: [0.42, 0.43], measured: [0.42, 0.43], exit: 0, worse: false },
      { title: 'a ratio that is worse twice', planted: [0.42, 0.41], measured: [0.42, 0.41], exit: 1, worse: true },
    ])('ends with $exit: $title', TIMEOUT, async ({ planted, measured, exit, worse }) => {
      const ran = await quick(planted)
      expect(ran.exit, ran.printed.err).toBe(exit)
      expect(ran.result).toMatchObject({ bench: 'test-planted', ratios: measured, worse, kept: ran.before })
    })

    test('keeps the median of three, and leaves the others as they are', TIMEOUT, async () => {
      const { exit, printed, kept, before } = await quick([0.3, 0.2, 0.25], '--keep')
      expect(exit, printed.err).toBe(0)
      expect(kept).toEqual({
        other: before,
        'test-planted': expect.objectContaining({ ratio: 0.25, spread: 0.4, date: expect.stringMatching(/^\d{4}-/) }),
      })
    })
  })
})

describe('test run', () => {
  const MAIN = join(ROOT, 'test/support/run/main.ts')

  const PASSES = `import { test } from 'vitest'\ntest('passes', () => {})`
  const FAILS = `import { test } from 'vitest'\ntest('fails', () => { throw new Error('broken') })`

  /** Fails the first time, and passes from then on. */
  const FAILS_ONCE = `import { existsSync, writeFileSync } from 'node:fs'
import { test } from 'vitest'
test('fails once', () => {
  const first = new URL('first', import.meta.url)
  if (existsSync(first)) return
  writeFileSync(first, '')
  throw new Error('this is the first time')
})`

  /** Passes only where no deadline is set. */
  const FAILS_WITH_DEADLINE = `import { test } from 'vitest'
test('fails with a deadline', () => {
  if (process.env.TEST_DEADLINE !== undefined) throw new Error('there is a deadline')
})`

  /** A project of its own, with these test files, that is run as the suite is. */
  async function runSuite(
    files: Record<string, string>,
    variables: Record<string, string> = {},
  ): Promise<{ status: number; output: string }> {
    const directory = await temporaryDirectory('test-run')
    const support = join(ROOT, 'test/support/run')
    await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'))
    await mkdir(join(directory, 'test'))
    await writeFile(join(directory, 'package.json'), '{"type":"module"}')
    await writeFile(
      join(directory, 'vitest.config.ts'),
      `export default { test: {
      maxWorkers: 1,
      reporters: [${JSON.stringify(join(support, 'run-reporter.ts'))}],
      runner: ${JSON.stringify(join(support, 'measuring-runner.ts'))},
      projects: ['pure', 'quick'].map((name) => ({ extends: true, test: { name, include: [\`test/\${name}-*.test.ts\`] } })),
    } }`,
    )
    for (const [name, text] of Object.entries(files)) await writeFile(join(directory, 'test', `${name}.test.ts`), text)
    const { VITEST: _, TEST_DEADLINE: _deadline, ...env } = process.env
    return promisify(execFile)(process.execPath, [MAIN, 'test', '--root', directory], {
      env: { ...env, ...variables },
    }).then(
      ({ stdout, stderr }) => ({ status: 0, output: stdout + stderr }),
      (error: { code: number; stdout: string; stderr: string }) => ({
        status: error.code,
        output: error.stdout + error.stderr,
      }),
    )
  }

  describe.concurrent('a run of the suite', () => {
    test('is green if a file fails and then passes alone, and ends with what was unsteady', async () => {
      const { status, output } = await runSuite({ 'pure-steady': PASSES, 'quick-unsteady': FAILS_ONCE })
      expect(output).toMatch(
        /UNSTEADY test\/quick-unsteady\.test\.ts: fails once\n.*the first time:\n\s+.*\n.*this is the first time/,
      )
      expect(output.trimEnd().split('\n').at(-2)).toBe('Unsteady: 1 of the files above failed and then passed.')
      expect(status).toBe(0)
    })

    test('is red if a file fails twice', async () => {
      const { status, output } = await runSuite({ 'pure-steady': PASSES, 'quick-broken': FAILS })
      expect(output).toContain('test/quick-broken.test.ts failed again')
      expect(output).not.toContain('UNSTEADY')
      expect(output.trimEnd().split('\n').slice(-2)).toEqual([
        expect.stringMatching(/^FAILED test\/quick-broken\.test\.ts, after \d+:\d\d min, having run for 0:\d\d min$/),
        expect.stringMatching(/^ {2}fails: broken$/),
      ])
      expect(status).toBe(1)
    })

    test('begins no file after its deadline, and names those that it left out', async () => {
      const { status, output } = await runSuite({ 'quick-late': FAILS }, { TEST_DEADLINE: '1' })
      expect(output).toMatch(/NOT RUN: .* before 1 files:\n +test\/quick-late\.test\.ts/)
      expect(status).toBe(0)
    })

    test('runs a file that has failed once more even after the deadline', async () => {
      const nextCentury = { TEST_DEADLINE: '4102444800' }
      const { output } = await runSuite({ 'quick-failed': FAILS_WITH_DEADLINE }, nextCentury)
      expect(output).toMatch(/UNSTEADY test\/quick-failed\.test\.ts: fails with a deadline\n/)
      expect(output).not.toContain('NOT RUN')
    })

    test('stops at once if more than a tenth of the files fail', async () => {
      const files = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`quick-${index}`, FAILS]))
      const { status, output } = await runSuite(files)
      expect(output).toMatch(/STOPPED: \d+ files failed/)
      expect(Number(/STOPPED: (\d+) files/.exec(output)![1])).toBeLessThan(30)
      expect(output).not.toContain('once more')
      expect(status).toBe(1)
    })
  })
})
