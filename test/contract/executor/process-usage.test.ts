import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { openKernelCgroups } from '../../../src/agent/executors/process/limits/kernel-cgroups.ts'
import { readProcStat } from '../../../src/agent/executors/process/proc-stat.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { eventually } from '../../support/eventually.ts'
import { kernelSpec, reaches } from './executor-subject.ts'
import type { Arrangement } from './isolation-of.ts'
import { createProcessFixture, type ProcessFixture } from './process-fixture.ts'
import { arrangements } from './process-isolations.ts'

/** What a kernel has used, by real programs that use it, where cgroups count it and where none do. */

const HOLDER = join(import.meta.dirname, 'executor-holder.ts')
const BYTES = 60_000_000
/** A shell that holds a text of this length copies it while it grows, and shares it with what it forks. */
const BYTES_MAX = 20 * BYTES
/** Of what isolates a kernel, and of the shells around its program. */
const BESIDE_SECONDS = 20

const opened = openKernelCgroups('/probe-of-the-usage')
const meters = opened?.metersMemory === true
opened?.close()

/**
 * A grandchild uses CPU time, says how much of it, and holds memory until there is a file `go`. Behind that comes
 * `end`. What it leaves behind goes on when its parent has ended.
 */
function program(end: string): string[] {
  const burn = 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'
  const hold = `text=$(head -c ${BYTES} /dev/zero | tr '\\0' x); echo ready; while [ ! -e go ]; do sleep 0.05; done`
  return ['sh', '-c', `(${burn}; times; ${hold}; : $text); ${end}`]
}

let fixture: ProcessFixture
let executors: Executor[]
let holders: ChildProcess[]

async function prepare(arrangement: Arrangement, cgroups: boolean): Promise<Executor> {
  fixture = await createProcessFixture({ arrangement, ...(!cgroups && { cgroupMount: null }) })
  return another()
}

async function another(): Promise<Executor> {
  const executor = fixture.create({ changed: () => undefined })
  executors.push(executor)
  await executor.recover()
  return executor
}

beforeEach(() => {
  executors = []
  holders = []
})
afterEach(async () => {
  for (const holder of holders) holder.kill('SIGKILL')
  const executor = executors.at(-1)
  for (const { kernelId, assignment } of executor?.observe() ?? []) executor!.forget(kernelId, assignment)
  await eventually(() => executor?.observe().length === 0)
  for (const each of executors) await each.close()
  await fixture.dispose()
})

const at = ({ kernelId }: KernelSpec, name: string) => join(fixture.agentDir, 'kernels', kernelId, name)

/** Until its memory has been seen, where that depends on somebody looking. @returns the CPU seconds that it told */
async function isSeen(spec: KernelSpec, cgroups: boolean): Promise<number> {
  const said = await eventually(() => {
    const text = existsSync(at(spec, 'stdout')) ? readFileSync(at(spec, 'stdout'), 'utf8') : ''
    return text.includes('ready') && text
  }, SLOWLY)
  if (!cgroups) await eventually(() => noted(spec) >= BYTES, SLOWLY)
  const parts = [...said.matchAll(/(\d+)m([\d.]+)s/g)].map(
    ([, minutes, seconds]) => Number(minutes) * 60 + Number(seconds),
  )
  expect(parts.length).toBe(4)
  return parts.reduce((sum, part) => sum + part, 0)
}

const SLOWLY = { withinMs: 120_000 }

function noted(spec: KernelSpec): number {
  if (!existsSync(at(spec, 'usage'))) return 0
  return (JSON.parse(readFileSync(at(spec, 'usage'), 'utf8')) as { peakMemoryBytes: number }).peakMemoryBytes
}

const goOn = (spec: KernelSpec) => writeFileSync(at(spec, 'work/go'), '')

function expectUsage(
  usage: Awaited<ReturnType<typeof reaches>>['usage'],
  { cpuSeconds, cgroups }: { cpuSeconds: number; cgroups: boolean },
): void {
  expect(usage).toMatchObject({ source: cgroups && meters ? 'CGROUP' : 'PROCESSES' })
  expect(usage!.peakMemoryBytes).toBeGreaterThan(BYTES)
  expect(usage!.peakMemoryBytes).toBeLessThan(BYTES_MAX)
  // `times` and the meters are read one after the other, in steps of a hundredth of a second.
  expect(usage!.cpuSeconds).toBeGreaterThan(cpuSeconds - 0.05)
  expect(usage!.cpuSeconds).toBeLessThan(cpuSeconds + BESIDE_SECONDS)
  expect(usage!.wallSeconds).toBeGreaterThan(0)
}

const cases = arrangements.flatMap(({ arrangement, fault }) => [
  { arrangement, fault, cgroups: true, where: 'in a cgroup' },
  { arrangement, fault, cgroups: false, where: 'without one' },
])

describe.each(cases)('isolation $arrangement $where', ({ arrangement, fault, cgroups }) => {
  test.skipIf(fault !== null)('the whole tree counts, of a program that ends, and of one that is killed', async () => {
    const executor = await prepare(arrangement, cgroups)
    const [ending, spec] = [kernelSpec({ command: program('kill -SEGV $$') }), kernelSpec({ command: program('') })]
    for (const each of [ending, spec]) executor.start(each, 1)
    const told = [await isSeen(ending, cgroups), await isSeen(spec, cgroups)]
    goOn(ending)
    // With the shim, which could have said what it used.
    executor.stop(spec.kernelId, 1, 0)
    const failed = await reaches(executor, ending.kernelId, 'EXITED')
    const ended = await reaches(executor, spec.kernelId, 'EXITED')
    expect([failed.exitCode, ended.exitCode]).toEqual([139, 137])
    expectUsage(failed.usage, { cpuSeconds: told[0]!, cgroups })
    expectUsage(ended.usage, { cpuSeconds: told[1]!, cgroups })
    await executor.close()
    const next = await another()
    expect((await reaches(next, spec.kernelId, 'EXITED')).usage).toEqual(ended.usage)
  })
})

test.skipIf(!meters)('what nobody has waited for counts in a cgroup', async () => {
  const executor = await prepare('none', true)
  const [shell, flag, script] = program('exit 3')
  const detached = `setsid sh -c "$SCRIPT" & while [ ! -e go ]; do sleep 0.05; done; sleep 0.2; exit 4`
  const spec = kernelSpec({ command: [shell!, flag!, detached], environ: [{ name: 'SCRIPT', value: script! }] })
  executor.start(spec, 1)
  const cpuSeconds = await isSeen(spec, true)
  goOn(spec)
  const { exitCode, usage } = await reaches(executor, spec.kernelId, 'EXITED')
  expect(exitCode).toBe(4)
  expectUsage(usage, { cpuSeconds, cgroups: true })
})

describe.each([true, false])('with cgroups: %s', (cgroups) => {
  /** Another process, which is killed while its kernel runs. */
  async function abandon(spec: KernelSpec): Promise<number> {
    fixture = await createProcessFixture(cgroups ? {} : { cgroupMount: null })
    const input = { agentDir: fixture.agentDir, specs: [spec], word: 'start', cgroups }
    const argument = Buffer.from(JSON.stringify(input)).toString('base64')
    const holder = spawn(process.execPath, [HOLDER, argument], { stdio: ['ignore', 'ignore', 'inherit'] })
    holders.push(holder)
    const cpuSeconds = await isSeen(spec, cgroups)
    const gone = new Promise((resolve) => holder.once('exit', resolve))
    holder.kill('SIGKILL')
    await gone
    return cpuSeconds
  }

  test('what ended while there was no agent has used something', async () => {
    const spec = kernelSpec({ command: program('exit 3') })
    const cpuSeconds = await abandon(spec)
    goOn(spec)
    const pid = Number(/began (\d+)/.exec(readFileSync(at(spec, 'status'), 'utf8'))?.[1])
    await eventually(() => readProcStat(pid) === null)
    const { exitCode, usage } = await reaches(await another(), spec.kernelId, 'EXITED')
    expect(exitCode).toBe(3)
    expectUsage(usage, { cpuSeconds, cgroups })
  })

  test('what is stopped by the next agent has used what it used under both', async () => {
    const spec = kernelSpec({ command: program('exit 3') })
    const cpuSeconds = await abandon(spec)
    const executor = await another()
    executor.stop(spec.kernelId, 3, 0)
    const { exitCode, usage } = await reaches(executor, spec.kernelId, 'EXITED')
    expect(exitCode).toBe(137)
    expectUsage(usage, { cpuSeconds, cgroups })
  })
})

test('what never ran has used nothing', async () => {
  const executor = await prepare('none', true)
  const missing = kernelSpec({ image: 'no-such-image' })
  const stopped = kernelSpec()
  executor.start(missing, 1)
  executor.prepare(stopped, 1)
  executor.stop(stopped.kernelId, 1, 0)
  expect((await reaches(executor, missing.kernelId, 'FAILED')).usage).toBeUndefined()
  expect((await reaches(executor, stopped.kernelId, 'EXITED')).usage).toBeUndefined()
})

test('an untrue word in the directory of a kernel is bounded', async () => {
  const executor = await prepare('none', false)
  const spec = kernelSpec({ command: ['sleep', '1000'] })
  executor.start(spec, 1)
  await reaches(executor, spec.kernelId, 'RUNNING')
  await executor.close()
  writeFileSync(at(spec, 'usage'), '{"peakMemoryBytes":"1","cpuSeconds":-1,"wallSeconds":1e999}')
  writeFileSync(at(spec, 'status'), 'used 1e9|-5|NaN|nothing\n', { flag: 'a' })
  const next = await another()
  next.stop(spec.kernelId, 1, 0)
  const { usage } = await reaches(next, spec.kernelId, 'EXITED')
  expect(usage!.wallSeconds).toBeLessThan(100_000)
  expect(Object.values(usage!).every((value) => typeof value !== 'number' || value >= 0)).toBe(true)
})
