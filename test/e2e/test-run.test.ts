import { execFile } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

const ROOT = join(import.meta.dirname, '../..')
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
