import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { endLeftovers } from '../support/run/end-leftovers.ts'
import { CANARIES } from './canaries.ts'
import { MOVED_CANARIES } from './moved/canaries.ts'
import type { Canary } from './scene.ts'
import type { Violation } from './judge/promises.ts'
import { whyNoMovedClock } from './moved/start-moved.ts'
import { formatStorm } from './report.ts'
import { askJudge, storm, type StormOptions, type StormResult } from './storm.ts'

/** Short storms with a fixed seed, in real and in moved time, and whether the judge notices what is planted. */

const SEED = 20_261_128
/** A minute, the start of eight processes, and what has to end afterwards, on a busy machine. */
const TIMEOUT_MS = 1_200_000
/** Rows may be what the database itself would refuse. */
const UNCHECK = `DO $do$ DECLARE t text; c text; BEGIN
  FOR t, c IN SELECT conrelid::regclass, conname FROM pg_constraint WHERE contype = 'c'
    AND conrelid IN ('sessions'::regclass, 'kernels'::regclass, 'retry_decisions'::regclass)
  LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', t, c); END LOOP; END $do$`
const MAIN = join(import.meta.dirname, 'main.ts')

/** What the judge has found after each canary, beside what it had found before. */
interface Noticed {
  result: StormResult
  planted: ReadonlyMap<string, string>
  noticed: ReadonlyMap<string, readonly Violation[]>
}

async function judgedStorm(
  how: Pick<StormOptions, 'minutes' | 'seed' | 'fastForward'>,
  canaries: readonly Canary[],
): Promise<Noticed> {
  const directory = await temporaryDirectory('storm')
  const planted = new Map<string, string>()
  const noticed = new Map<string, Violation[]>()
  const result = await storm({
    directory,
    ...how,
    canary: false,
    signal: new AbortController().signal,
    progress: () => {},
    async judged(ground, { violations }) {
      const client = new pg.Client({ connectionString: ground.databaseUrl })
      await client.connect()
      // It is stopped when everything else is: the connection may break then.
      client.on('error', () => {})
      await client.query('SET session_replication_role = replica')
      await client.query(UNCHECK)
      let before = violations
      for (const { name, plant } of canaries) {
        planted.set(name, await plant({ directory, client }))
        const { violations: after } = await askJudge(ground)
        const isNew = (one: Violation) =>
          !before.some((known) => known.subject === one.subject && known.what === one.what)
        noticed.set(name, after.filter(isNew))
        before = after
      }
      await client.end()
    },
  })
  return { result, planted, noticed }
}

function expectNoticed({ planted, noticed }: Noticed, { name, promise }: Canary): void {
  const found = noticed.get(name)!
  const accused = found.filter((one) => one.promise === promise).map(({ subject }) => subject)
  expect(accused, JSON.stringify(found)).toContain(planted.get(name))
}

describe.skipIf(process.platform !== 'linux')('a storm of a minute', () => {
  let judged: Noticed
  beforeAll(async () => {
    judged = await judgedStorm({ minutes: 1, seed: SEED, fastForward: false }, CANARIES)
  }, TIMEOUT_MS)

  test('breaks no promise', () => {
    const { result } = judged
    expect(result.verdict.violations, formatStorm(result)).toEqual([])
    expect(result.verdict.sessions).toBeGreaterThan(20)
    expect(result.verdict.retries).toBeGreaterThan(5)
    expect(Object.keys(result.faults).length).toBeGreaterThan(4)
  })

  test.each(CANARIES)('the judge notices $name', (canary) => expectNoticed(judged, canary))

  test('its report fits into 80 columns', () => {
    const { result, noticed } = judged
    const verdict = { ...result.verdict, violations: [...noticed.values()].flat() }
    const report = formatStorm({ ...result, verdict })
    expect(Math.max(...report.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(report).toMatch(/^Never two live attempts of a chain +BROKEN: \d+$/m)
  })
})

const whyNot = await whyNoMovedClock()

describe.skipIf(whyNot !== null)(`a storm that moves time${whyNot === null ? '' : ` (${whyNot})`}`, () => {
  let judged: Noticed
  beforeAll(async () => {
    judged = await judgedStorm({ minutes: 0.4, seed: SEED, fastForward: true }, MOVED_CANARIES)
  }, TIMEOUT_MS)

  test('breaks no promise in half a day, in which leases run out and chains are removed', () => {
    const { result } = judged
    expect(result.verdict.violations, formatStorm(result)).toEqual([])
    expect(result.hoursAhead).toBeGreaterThan(8)
    expect(result.verdict.sessions).toBeGreaterThan(5)
    expect(result.verdict.chainsRemoved).toBeGreaterThan(0)
  })

  test.each(MOVED_CANARIES)('the judge notices $name', (canary) => expectNoticed(judged, canary))
})

describe.skipIf(process.platform !== 'linux')('npm run storm', () => {
  async function start(...args: string[]) {
    const directory = join(await temporaryDirectory('storm'), 'tmp')
    await mkdir(directory, { mode: 0o755 })
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: { ...process.env, TMPDIR: directory },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const printed = { out: '', err: '' }
    child.stdout.on('data', (chunk: Buffer) => (printed.out += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (printed.err += chunk.toString()))
    const closed = once(child, 'close') as Promise<[number | null]>
    return { child, printed, directory, status: closed.then(([status]) => status) }
  }

  test('--help and mistakes', async () => {
    const help = await start('--help')
    expect(await help.status).toBe(0)
    for (const option of ['--minutes', '--seed', '--json', '--keep', '--canary'])
      expect(help.printed.out).toContain(option)
    const mistaken = await start('--minutes', 'many')
    expect(await mistaken.status).toBe(1)
    expect(mistaken.printed.err).toContain('error: --minutes many: not a number')
  })

  test('--canary: a second dispatch is noticed by what both children wrote', { timeout: TIMEOUT_MS }, async () => {
    const { printed, directory, status } = await start('--minutes', '0.7', '--seed', '3', '--json', '--canary')
    expect(await status, printed.err).toBe(1)
    const { verdict } = JSON.parse(printed.out) as StormResult
    const [, second, chain] = /planted (\S+), a second child in the chain (\S+)/.exec(printed.err)!
    const broken = (promise: string) =>
      verdict.violations.filter((one) => one.promise === promise).map(({ subject }) => subject)
    expect(broken('one-child')).toContain(chain)
    expect(broken('two-live'), `${second}: ${JSON.stringify(verdict.violations)}`).toContain(chain)
    expect(await readdir(directory)).toEqual([])
  })

  test('ends at the second Ctrl-C, and leaves nothing', { timeout: TIMEOUT_MS }, async () => {
    const { child, printed, directory, status } = await start('--minutes', '5')
    await eventually(() => /\d+ faults, \d+ sessions/.test(printed.err), { withinMs: TIMEOUT_MS / 2 })
    child.kill('SIGINT')
    await eventually(() => /ends early[^]*the storm is over/.test(printed.err), { withinMs: TIMEOUT_MS / 2 })
    child.kill('SIGINT')
    expect(await status, printed.err).toBe(130)
    expect(printed.err).toContain('INTERRUPTED: nothing was judged')
    // A program of ours that is killed leaves the pause between its looks, which ends by itself.
    expect((await endLeftovers(directory)).filter((each) => !/ sleep [\d.]+$/.test(each))).toEqual([])
    expect(await readdir(directory)).toEqual([])
  })
})
