import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { endLeftovers } from '../support/run/end-leftovers.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

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
    { title: 'a ratio that is as good as the kept one', planted: [0.43, 0.9], measured: [0.43], exit: 0, worse: false },
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
