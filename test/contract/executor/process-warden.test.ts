import { execFileSync, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statfsSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { createFence } from '../../../src/agent/fence.ts'
import {
  isAlive,
  parseProcStat,
  readBootId,
  readProcStat,
  scanProcesses,
  signalProcess,
  uptimeSeconds,
} from '../../../src/agent/executors/process/proc-stat.ts'
import { LOG_FILE_CUT_BYTES } from '../../../src/domain/limits.ts'
import { eventually } from '../../support/eventually.ts'
import { whyNoMounts } from '../../support/run/mounts.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { processesIn } from '../../integration/agent/processes.ts'
import { kernelSpec, reaches, readAll } from './executor-subject.ts'
import { createProcessFixture } from './process-fixture.ts'

const log = pino({ enabled: false })

async function leaveKernelBehind(fenceSeconds: number, command = ['sleep', '1000'], under = tmpdir()) {
  const fixture = await createProcessFixture({ under })
  const { agentDir } = fixture
  const spec = kernelSpec({ command })
  const input = Buffer.from(JSON.stringify({ agentDir, specs: [spec], word: 'start' })).toString('base64')
  const holder = spawn(process.execPath, [join(import.meta.dirname, 'executor-holder.ts'), input], { stdio: 'ignore' })
  const status = join(agentDir, 'kernels', spec.kernelId, 'status')
  const began = await eventually(() => {
    try {
      return /^began (.*)\n/m.exec(readFileSync(status, 'utf8'))?.[1]
    } catch {
      return null
    }
  })
  const shim = parseProcStat(began)
  if (shim === null) throw new Error(began)
  writeFileSync(join(agentDir, 'fence'), `${Math.floor(uptimeSeconds()) + fenceSeconds} ${readBootId()}\n`)
  holder.kill('SIGKILL')
  return { fixture, spec, shim }
}

test('kernels of a dead agent are stopped when its fence has passed', async () => {
  const { fixture, spec, shim } = await leaveKernelBehind(1)
  await eventually(() => !isAlive(shim))
  const next = fixture.create({ changed: () => undefined })
  await next.recover()
  expect(await reaches(next, spec.kernelId, 'EXITED')).toMatchObject({
    exitCode: 137,
    error: { name: 'agent-fenced' },
  })
  await next.close()
  await fixture.dispose()
})

const noMounts = whyNoMounts()

test.skipIf(noMounts !== null)(
  `even if the disk takes no further file${noMounts === null ? '' : ` (skipped: ${noMounts})`}`,
  async () => {
    const disk = join(await temporaryDirectory('disk'), 'disk')
    mkdirSync(disk)
    const mount = (options: string) => execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'reprise-test', disk])
    mount('size=16m,mode=755')
    onTestFinished(() => void execFileSync('umount', ['--lazy', disk]))
    const { fixture, shim } = await leaveKernelBehind(2, undefined, disk)
    const { files, ffree } = statfsSync(disk)
    mount(`remount,nr_inodes=${files - ffree}`)
    expect(() => writeFileSync(join(disk, 'one-more'), '')).toThrow(/ENOSPC/)
    await eventually(() => !isAlive(shim))
    mount('remount,nr_inodes=1000')
    await eventually(() => processesIn(fixture.agentDir).length === 0)
  },
)

test('a program does not begin if the disk has no space for the line by which the keeper would know it', async () => {
  const fixture = await createProcessFixture()
  const executor = fixture.create({ changed: () => undefined })
  await executor.recover()
  const spec = kernelSpec({ command: ['sh', '-c', `echo > ${join(fixture.agentDir, 'it-ran')}`] })
  executor.prepare(spec, 1)
  await reaches(executor, spec.kernelId, 'PREPARED')
  symlinkSync('/dev/full', join(fixture.agentDir, 'kernels', spec.kernelId, 'status'))
  executor.start(spec, 1)
  const { error } = await reaches(executor, spec.kernelId, 'FAILED')
  expect(error).toMatchObject({ name: 'executor-failed', message: expect.stringContaining('could not be started') })
  executor.forget(spec.kernelId, 1)
  await eventually(() => executor.observe().length === 0)
  await executor.close()
  await eventually(() => processesIn(fixture.agentDir).length === 0)
  expect(existsSync(join(fixture.agentDir, 'it-ran'))).toBe(false)
  await fixture.dispose()
})

test('where there are no kernels, the keeper ends with its agent, and so do its children', async () => {
  const fixture = await createProcessFixture()
  const executor = fixture.create({ changed: () => undefined })
  await executor.recover()
  const keeper = await eventually(() => {
    const path = join(fixture.agentDir, 'keeper')
    return existsSync(path) && Number(readFileSync(path, 'latin1').split(' ')[0])
  })
  const left = () => scanProcesses().filter(({ session, state }) => session === keeper && !'ZX'.includes(state))
  // Its child is stopped: by itself it would never look again.
  await eventually(() => {
    const waitedFor = left().find(({ pid }) => pid !== keeper)
    if (waitedFor && waitedFor.state !== 'T') signalProcess(waitedFor.pid, 'SIGSTOP')
    return waitedFor?.state === 'T'
  })
  expect(left()).toHaveLength(2)
  await executor.close()
  await eventually(() => left().length === 0)
  await fixture.dispose()
})

test('output of a kernel without an agent does not fill the disk', async () => {
  const bytes = 20 * LOG_FILE_CUT_BYTES
  const { fixture, spec, shim } = await leaveKernelBehind(60, [
    'sh',
    '-c',
    `echo begin; head -c ${bytes} /dev/zero; echo end; echo end >&2; exec sleep 1000`,
  ])
  const path = join(fixture.agentDir, 'kernels', spec.kernelId)
  await eventually(() => (statSync(join(path, 'stderr'), { throwIfNoEntry: false })?.size ?? 0) > 0)
  const allocated = () => statSync(join(path, 'stdout')).blocks * 512
  await eventually(() => allocated() <= LOG_FILE_CUT_BYTES)
  const text = readFileSync(join(path, 'stdout'))
  expect(text.length).toBe(bytes + 10)
  expect(text.subarray(0, 6).toString()).toBe('begin\n')
  expect(text.subarray(-4).toString()).toBe('end\n')
  const next = fixture.create({ changed: () => undefined })
  await next.recover()
  next.forget(spec.kernelId, 3)
  await eventually(() => !isAlive(shim) && next.observe().length === 0)
  await next.close()
  await fixture.dispose()
})

test('and not before, nor once another instance has renewed it', async () => {
  const { fixture, spec, shim } = await leaveKernelBehind(6)
  const next = fixture.create({ changed: () => undefined })
  await next.recover()
  createFence(fixture.agentDir, () => undefined, log).renew(uptimeSeconds(), 60_000)
  const deadline = Math.ceil(uptimeSeconds()) + 9
  await eventually(() => uptimeSeconds() > deadline)
  expect(isAlive(shim)).toBe(true)
  next.forget(spec.kernelId, 3)
  await eventually(() => !isAlive(shim) && next.observe().length === 0)
  await next.close()
  await fixture.dispose()
})

test('a fence that is renewed during a check stops that check', async () => {
  const { fixture, spec, shim } = await leaveKernelBehind(60, ['sh', '-c', 'echo; exec sleep 1000'])
  const path = join(fixture.agentDir, 'fence')
  // From here on only the keeper reads it: not the shim, nor the fork server.
  await eventually(() => statSync(join(fixture.agentDir, 'kernels', spec.kernelId, 'stdout')).size > 0)
  process.kill(Number(readFileSync(join(fixture.agentDir, 'nursery'), 'latin1')), 'SIGKILL')
  const pipe = () => {
    execFileSync('mkfifo', [`${path}.pipe`])
    renameSync(`${path}.pipe`, path)
  }
  const line = (fromNow: number) => `${Math.floor(uptimeSeconds()) + fromNow} ${readBootId()}\n`
  /** Answers a read of the fence, and puts what the next one finds in its place first. */
  const answer = async (fromNow: number, next: () => void) => {
    // Opening resolves when the keeper reads.
    await using read = await open(path, 'w')
    next()
    await read.writeFile(line(fromNow))
  }
  pipe()
  // It has passed when a check begins, and is renewed when that comes to the kernel.
  await answer(-60, pipe)
  await answer(60, pipe)
  expect(isAlive(shim)).toBe(true)
  await answer(60, () => {
    writeFileSync(`${path}.next`, line(60))
    renameSync(`${path}.next`, path)
  })
  expect(isAlive(shim)).toBe(true)
  const next = fixture.create({ changed: () => undefined })
  await next.recover()
  next.forget(spec.kernelId, 3)
  await eventually(() => !isAlive(shim) && next.observe().length === 0)
  await next.close()
  await fixture.dispose()
})

/** The processes of the agent's keeper and of one kernel that has begun. */
async function startKept() {
  const fixture = await createProcessFixture()
  const executor = fixture.create({ changed: () => undefined })
  await executor.recover()
  const fence = createFence(fixture.agentDir, () => undefined, log)
  fence.renew(uptimeSeconds(), 60_000)
  const keeper = () => readFileSync(join(fixture.agentDir, 'keeper'), 'latin1').split(' ').map(Number)[0]!
  await eventually(() => existsSync(join(fixture.agentDir, 'keeper')))
  const begin = async () => {
    const spec = kernelSpec({ command: ['sleep', '1000'] })
    executor.start(spec, 1)
    await reaches(executor, spec.kernelId, 'RUNNING')
    return spec.kernelId
  }
  const dispose = async () => {
    for (const { kernelId } of executor.observe()) executor.forget(kernelId, 9)
    await eventually(() => executor.observe().length === 0)
    await executor.close()
    await eventually(() => processesIn(fixture.agentDir).length === 0)
    await fixture.dispose()
  }
  return { executor, fence, keeper, begin, dispose }
}

test.each(['SIGKILL', 'SIGSTOP'] as const)(
  'a keeper that gets %s has a successor before a kernel is started',
  async (signal) => {
    const { executor, fence, keeper, begin, dispose } = await startKept()
    await begin()
    const first = keeper()
    process.kill(first, signal)
    await begin()
    expect(keeper()).not.toBe(first)
    if (signal === 'SIGSTOP') process.kill(first, 'SIGCONT')
    await eventually(() => readProcStat(first)?.state !== 'S')
    fence.renew(uptimeSeconds() - 60, 1)
    await eventually(() => executor.observe().every(({ error }) => error?.name === 'agent-fenced'))
    await dispose()
  },
)

test('a keeper heeds no signal but SIGKILL and SIGSTOP, and leaves with the last kernel and the agent', async () => {
  const { keeper, begin, dispose } = await startKept()
  await begin()
  const first = keeper()
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGPIPE', 'SIGUSR1'] as const) process.kill(first, signal)
  await begin()
  expect(keeper()).toBe(first)
  await dispose()
})

test('a kernel does not begin behind the fence', async () => {
  const { executor, fence, dispose } = await startKept()
  fence.renew(uptimeSeconds() - 60, 1)
  const spec = kernelSpec({ command: ['sh', '-c', 'echo ran'] })
  executor.start(spec, 1)
  expect(await reaches(executor, spec.kernelId, 'EXITED')).toMatchObject({ error: { name: 'agent-fenced' } })
  expect(await readAll(executor, spec.kernelId, 'STDOUT')).toMatchObject({ bytes: 0 })
  await dispose()
})
