import { lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Executor, FENCED } from '../../../src/agent/executors/executor.ts'
import { readProcStat } from '../../../src/agent/executors/process/proc-stat.ts'
import { eventually } from '../../support/eventually.ts'
import { find, kernelSpec, reaches } from './executor-subject.ts'
import { createProcessFixture, type ProcessFixture } from './process-fixture.ts'

/** With isolation `none`, kernels can write to the agent's own files: nothing that they leave there may harm it. */
let fixture: ProcessFixture
let executor: Executor

beforeEach(async () => {
  fixture = await createProcessFixture()
  await open()
})
afterEach(async () => {
  for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
  await eventually(() => executor.observe().length === 0)
  await executor.close()
  await fixture.dispose()
})

async function open(): Promise<void> {
  executor = fixture.create({ changed: () => undefined })
  await executor.recover()
}

/** Runs the attack on the kernel's own control files, then says `ready` and goes on. */
async function attack(script: string) {
  const command = ['sh', '-c', `cd ..; ${script}; echo $$ >work/pid; touch work/ready; exec sleep 1000`]
  const spec = kernelSpec({ command })
  executor.start(spec, 1)
  const path = join(fixture.agentDir, 'kernels', spec.kernelId)
  await eventually(() => lstatSync(join(path, 'work', 'ready'), { throwIfNoEntry: false }))
  return { ...spec, path }
}

describe.each([
  ['pipes', 'for f in stop oom stop.new; do mkfifo $f; done'],
  ['links to nowhere that can be written', 'for f in stop oom stop.new; do ln -s /proc/version $f; done'],
  ['directories', 'mkdir -p stop/x oom/x stop.new/x'],
  ['text that means nothing', 'for f in stop oom; do echo null >$f; done'],
])('%s in place of the marks', (_, script) => {
  test('a stop takes effect, and its reason is told', async () => {
    const { kernelId, path } = await attack(script)
    executor.stop(kernelId, 1, 10_000, FENCED)
    expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ error: FENCED })
    expect(JSON.parse(readFileSync(join(path, 'stop'), 'utf8'))).toMatchObject({ error: FENCED })
  })

  test('a restarted agent takes the kernel over', async () => {
    const { kernelId } = await attack(script)
    await executor.close()
    await open()
    expect(find(executor, kernelId)?.status).toBe('RUNNING')
    executor.stop(kernelId, 1, 0)
    expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ exitCode: 137 })
  })
})

/** A program moves its own directory away, and leaves something else: that is in no other's way. */
describe.each([
  ['nothing', ''],
  ['a file', '>"$own"'],
  ['a pipe', 'mkfifo "$own"'],
  ['a link to itself', 'ln -s "$own" "$own"'],
  ['a link to another place', 'ln -s /proc/self "$own"'],
  ['an empty directory', 'mkdir "$own"'],
  ['directories in place of its files', 'mkdir -p "$own"/{status,stdout,stderr,stop,oom,usage,spec.json,work}/x'],
  [
    'pipes in place of its files',
    'mkdir "$own"; for f in status stdout stderr stop oom usage spec.json work; do mkfifo "$own/$f"; done',
  ],
])('%s in place of its directory', (_, replace) => {
  test.each([
    ['an end of its own', 'exit 3', () => {}],
    ['a stop', 'exec sleep 1000', (id: string) => executor.stop(id, 1, 10_000)],
    [
      'a stop that it does not mind',
      'trap "" TERM; while :; do sleep 0.05; done',
      (id: string) => executor.stop(id, 1, 100),
    ],
    ['too much memory', 'head -c 400000000 /dev/zero | tail', () => {}],
    ['the end of what runs it', 'kill -KILL 0', () => {}],
  ])('%s ends it, and the agent goes on', async (_name, last, act) => {
    const ready = join(fixture.agentDir, 'ready')
    const script = `own=$(cd ..; pwd); mv "$own" "$own-moved"; ${replace}\ntouch ${ready}; ${last}`
    const spec = kernelSpec({ command: ['bash', '-c', script], resourceSlots: { mem: String(48 * 1024 * 1024) } })
    executor.start(spec, 1)
    await eventually(() => lstatSync(ready, { throwIfNoEntry: false }))
    act(spec.kernelId)
    await reaches(executor, spec.kernelId, 'EXITED')
    for (const stream of ['STDOUT', 'STDERR'] as const) await executor.readLog(spec.kernelId, stream, 0, 100)
    const other = kernelSpec({ command: ['sh', '-c', 'exit 4'] })
    executor.start(other, 1)
    expect(await reaches(executor, other.kernelId, 'EXITED')).toMatchObject({ exitCode: 4 })
    executor.forget(spec.kernelId, 1)
    await eventually(() => find(executor, spec.kernelId) === undefined)
    await executor.close()
    await open()
    expect(executor.observe().map(({ kernelId }) => kernelId)).toEqual([other.kernelId])
    rmSync(join(fixture.agentDir, 'kernels', `${spec.kernelId}-moved`), { recursive: true, force: true })
  })
})

test('links in place of the output are not followed: another’s file is never sent as log', async () => {
  const secret = join(fixture.agentDir, 'secret')
  writeFileSync(secret, 'the secret\n')
  const { kernelId } = await attack(`rm stdout stderr; ln -s ${secret} stdout; mkfifo stderr`)
  executor.stop(kernelId, 1, 10_000)
  await reaches(executor, kernelId, 'EXITED')
  for (const stream of ['STDOUT', 'STDERR'] as const)
    expect(await executor.readLog(kernelId, stream, 0, 100)).toEqual({ text: '', bytes: 0, end: true })
})

test('what happens to the record and the status keeps no agent from starting', async () => {
  const attacks = ['mkfifo x; mv x spec.json', 'rm spec.json; echo "{}" >spec.json', 'rm status; mkfifo status']
  const attacked = await Promise.all(attacks.map(attack))
  const other = kernelSpec({ command: ['sleep', '1000'] })
  executor.start(other, 1)
  await reaches(executor, other.kernelId, 'RUNNING')
  const pids = attacked.map(({ path }) => path).map((path) => readFileSync(join(path, 'work', 'pid'), 'utf8').trim())
  await executor.close()
  await open()
  expect(find(executor, other.kernelId)?.status).toBe('RUNNING')
  for (const pid of pids) if (readProcStat(Number(pid)) !== null) process.kill(Number(pid), 'SIGKILL')
  for (const { path } of attacked) rmSync(path, { recursive: true, force: true })
})
