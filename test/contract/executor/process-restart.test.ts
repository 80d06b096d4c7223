import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { FENCED } from '../../../src/agent/executors/executor.ts'
import { isAlive, readBootId, readProcStat, uptimeSeconds } from '../../../src/agent/executors/process/proc-stat.ts'
import { createProcessExecutor } from '../../../src/agent/executors/process/process-executor.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { eventually } from '../../support/eventually.ts'
import { find, kernelSpec, reaches, readAll } from './executor-subject.ts'
import { createProcessFixture, type ProcessFixture, testLog } from './process-fixture.ts'
import { arrangements } from './process-isolations.ts'

describe('restarts of the agent', () => {
  const HOLDER = join(import.meta.dirname, 'executor-holder.ts')

  let fixture: ProcessFixture
  let next: Executor
  let holders: ChildProcess[]

  beforeEach(async () => {
    fixture = await createProcessFixture()
    next = createProcessExecutor({ agentDir: fixture.agentDir, log: testLog }, { changed: () => undefined })
    holders = []
  })
  afterEach(async () => {
    for (const holder of holders) holder.kill('SIGKILL')
    for (const { kernelId, assignment } of next.observe()) next.forget(kernelId, assignment)
    await eventually(() => next.observe().length === 0)
    await next.close()
    await fixture.dispose()
  })

  /** Another process with an executor, which starts these kernels and says each change of their statuses. */
  function hold(specs: KernelSpec[], word = 'start') {
    const input = Buffer.from(JSON.stringify({ agentDir: fixture.agentDir, specs, word })).toString('base64')
    const child = spawn(process.execPath, [HOLDER, input], { stdio: ['ignore', 'pipe', 'inherit'] })
    holders.push(child)
    let said = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
    return {
      says: (text: string) => eventually(() => said.includes(text), { what: `holder says ${text}` }),
      async kill() {
        const gone = new Promise((resolve) => child.once('exit', resolve))
        child.kill('SIGKILL')
        await gone
      },
    }
  }

  test('a kernel runs on when its agent is killed, and its end is found', async () => {
    const gate = join(fixture.agentDir, 'gate')
    const spec = kernelSpec({
      command: ['sh', '-c', `echo before; while [ ! -e ${gate} ]; do sleep 0.02; done; echo after; exit 5`],
    })
    const holder = hold([spec])
    await holder.says('RUNNING')
    await holder.kill()
    await next.recover()
    expect(find(next, spec.kernelId)).toMatchObject({ status: 'RUNNING', assignment: 3, exitCode: null })
    spawn('touch', [gate])
    expect(await reaches(next, spec.kernelId, 'EXITED')).toMatchObject({ exitCode: 5, error: null })
    expect((await readAll(next, spec.kernelId, 'STDOUT')).text).toBe('before\nafter\n')
  })

  test('a kernel that serves keeps its port when its agent is killed', async () => {
    const command = ['sh', '-c', 'echo "$WEB_PORT"; sleep 1000']
    const spec = kernelSpec({ command, portVariable: 'WEB_PORT', environ: [{ name: 'WEB_PORT', value: 'lie' }] })
    const holder = hold([spec])
    await holder.says('RUNNING')
    await holder.kill()
    await next.recover()
    const { port } = find(next, spec.kernelId)!
    const told = await eventually(async () => (await next.readLog(spec.kernelId, 'STDOUT', 0, 100)).text || null)
    expect(told).toBe(`${port}\n`)
  })

  test('an end while there was no agent is reported', async () => {
    const codes = [0, 3, 143]
    const limits = [3_600_000, 200, 3_600_000]
    const specs = codes.map((code, index) =>
      kernelSpec({
        command: ['sh', '-c', `echo out; sleep 1000 >&- 2>&- & echo $!; sleep 0.3; exit ${code}`],
        batchTimeoutMs: limits[index]!,
      }),
    )
    const holder = hold(specs)
    for (const { kernelId } of specs) await holder.says(`${kernelId} RUNNING`)
    await holder.kill()
    for (const { kernelId } of specs) {
      const pid = Number(/began (\d+)/.exec(statusOf(kernelId))?.[1])
      await eventually(() => readProcStat(pid) === null)
      // With no agent there, the shim itself has ended what the command left behind.
      const left = readFileSync(join(fixture.agentDir, 'kernels', kernelId, 'stdout'), 'utf8').split('\n')[1]
      await eventually(() => ['Z', undefined].includes(readProcStat(Number(left))?.state), { withinMs: 120_000 })
    }
    await next.recover()
    const ended = await Promise.all(specs.map(({ kernelId }) => reaches(next, kernelId, 'EXITED')))
    expect(ended.map(({ exitCode, error }) => ({ exitCode, error }))).toEqual(
      codes.map((exitCode) => ({ exitCode, error: null })),
    )
    expect(ended.every(({ startedAt }) => startedAt !== null)).toBe(true)
    expect(ended.map(({ inTime }) => inTime)).toEqual([true, false, true])
    expect((await readAll(next, specs[0]?.kernelId ?? '', 'STDOUT')).text).toMatch(/^out\n\d+\n$/)
  })

  test('a stop after the end, while leftovers are searched, changes nothing', async () => {
    const spec = kernelSpec({ command: ['sh', '-c', 'exit 0'] })
    const holder = hold([spec])
    await holder.says('EXITED')
    await holder.kill()
    // Without cgroups it takes a scan of all processes.
    const options = { agentDir: fixture.agentDir, log: testLog, cgroupMount: null }
    const executor = createProcessExecutor(options, { changed: () => undefined })
    await executor.recover()
    expect(find(executor, spec.kernelId)?.status).toBe('RUNNING')
    executor.stop(spec.kernelId, 3, 1_000, FENCED)
    expect(await reaches(executor, spec.kernelId, 'EXITED')).toMatchObject({ exitCode: 0, error: null })
    executor.forget(spec.kernelId, 3)
    await eventually(() => executor.observe().length === 0)
    await executor.close()
  })

  function statusOf(kernelId: string): string {
    return readFileSync(join(fixture.agentDir, 'kernels', kernelId, 'status'), 'utf8')
  }

  test('one whose shim was killed meanwhile is gone without a trace, and nothing of it runs', async () => {
    const spec = kernelSpec({ command: ['sleep', '1000'] })
    const holder = hold([spec])
    await holder.says('RUNNING')
    await holder.kill()
    const pid = Number(/began (\d+)/.exec(statusOf(spec.kernelId))?.[1])
    const child = await eventually(() => childOf(pid))
    process.kill(pid, 'SIGKILL')
    await eventually(() => readProcStat(pid) === null || readProcStat(pid)?.state === 'Z')
    await next.recover()
    expect(await reaches(next, spec.kernelId, 'EXITED')).toMatchObject({
      exitCode: null,
      error: { name: 'kernel-vanished' },
    })
    expect(isAlive(child)).toBe(false)
  })

  function childOf(pid: number) {
    return readdirSync('/proc')
      .map((name) => readProcStat(Number(name)))
      .find((stat) => stat !== null && stat.session === pid && stat.pid !== pid)
  }

  test.each([
    ['stop', null],
    ['fence', FENCED],
  ] as const)('the grace of a %s continues after the restart', async (word, error) => {
    const spec = kernelSpec({ command: ['sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 0.05; done'] })
    const holder = hold([spec], word)
    await holder.says('stopped')
    await holder.kill()
    await next.recover()
    expect(find(next, spec.kernelId)?.status).toBe('RUNNING')
    expect(await reaches(next, spec.kernelId, 'EXITED')).toMatchObject({ exitCode: 137, error })
  })

  test('a program that was asked to end is not asked again after the restart', async () => {
    const spec = kernelSpec({
      command: ['sh', '-c', 'trap "echo asked" TERM; echo ready; while :; do sleep 0.05; done'],
    })
    const holder = hold([spec], 'stop')
    await holder.says('stopped')
    await eventually(async () =>
      readFileSync(join(fixture.agentDir, 'kernels', spec.kernelId, 'stdout'), 'utf8').includes('asked'),
    )
    await holder.kill()
    await next.recover()
    await reaches(next, spec.kernelId, 'EXITED')
    expect((await readAll(next, spec.kernelId, 'STDOUT')).text).toBe('ready\nasked\n')
  })

  test('one that its agent stopped by its fence, and that ended while there was no agent, was fenced', async () => {
    const spec = kernelSpec({ command: ['sh', '-c', 'trap "sleep 0.5; exit 0" TERM; echo ready; sleep 1000 & wait'] })
    const holder = hold([spec], 'fence')
    await holder.says('stopped')
    await holder.kill()
    await eventually(() => statusOf(spec.kernelId).includes('exit 0\n'))
    await next.recover()
    expect(await reaches(next, spec.kernelId, 'EXITED')).toMatchObject({ exitCode: 0, error: FENCED })
  })

  test('prepared and never started: prepared again', async () => {
    const spec = kernelSpec({ command: ['echo', 'ran'] })
    const holder = hold([spec], 'prepare')
    await holder.says('PREPARED')
    await holder.kill()
    await next.recover()
    await reaches(next, spec.kernelId, 'PREPARED')
    next.start(spec, 3)
    expect(await reaches(next, spec.kernelId, 'EXITED')).toMatchObject({ exitCode: 0 })
  })

  test('killed at any moment, each kernel runs exactly once', async () => {
    const witness = join(fixture.agentDir, 'witness')
    for (let round = 0; round < 6; round++) {
      const specs = Array.from({ length: 12 }, () =>
        kernelSpec({ command: ['sh', '-c', `echo $REPRISE_SESSION_ID >>${witness}`] }),
      ).map((spec) => ({ ...spec, environ: [{ name: 'REPRISE_SESSION_ID', value: spec.kernelId }] }))
      const holder = hold(specs)
      await holder.says(round % 2 === 0 ? 'PREPARED' : 'RUNNING')
      await holder.kill()
      const executor = createProcessExecutor({ agentDir: fixture.agentDir, log: testLog }, { changed: () => undefined })
      await executor.recover()
      for (const spec of specs) executor.start(spec, 3)
      for (const { kernelId } of specs)
        expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ exitCode: 0, error: null })
      for (const { kernelId } of specs) executor.forget(kernelId, 3)
      await eventually(() => executor.observe().length === 0)
      await executor.close()
      const ran = existsSync(witness) ? readFileSync(witness, 'utf8').split('\n').filter(Boolean) : []
      for (const { kernelId } of specs) expect(ran.filter((line) => line === kernelId)).toHaveLength(1)
    }
    await next.recover()
  })
})

describe('the fence', () => {
  function alive(mark: string): string[] {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    return pids.filter((pid) => {
      try {
        const isOurs = readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith(`sleep\0${mark}`)
        return isOurs && !'ZX'.includes(readProcStat(Number(pid))?.state ?? 'X')
      } catch {
        return false
      }
    })
  }

  /** Without a cgroup, only the end of a PID namespace is the end of all that is in it. */
  const ENDED = [
    ...arrangements.map((each) => ({ ...each, by: 'as this machine can', cgroups: true })),
    ...arrangements
      .filter(({ arrangement }) => arrangement.startsWith('namespaces'))
      .map((each) => ({ ...each, by: 'without cgroups', cgroups: false })),
  ]

  describe.each(ENDED)('the fence of a dead agent, $arrangement, $by', ({ arrangement, fault, cgroups }) => {
    test.skipIf(fault !== null)('ends the kernel and the daemons that it has started', async () => {
      const fixture = await createProcessFixture({ arrangement, ...(!cgroups && { cgroupMount: null }) })
      const { agentDir } = fixture
      const mark = `88888.${process.pid}${Math.floor(performance.now())}`
      const daemon = `(setsid sleep ${mark} >/dev/null 2>&1 </dev/null &)`
      const spec = kernelSpec({ command: ['sh', '-c', `trap '' TERM; ${daemon}; sleep ${mark}; :`] })
      const input = Buffer.from(
        JSON.stringify({ agentDir, specs: [spec], word: 'start', arrangement, cgroups }),
      ).toString('base64')
      const holder = spawn(process.execPath, [join(import.meta.dirname, 'executor-holder.ts'), input], {
        stdio: 'ignore',
      })
      await eventually(() => alive(mark).length === 2)
      // Without a fence, the keeper leaves when its agent is gone.
      writeFileSync(join(agentDir, 'fence'), `${Math.floor(uptimeSeconds())} ${readBootId()}\n`)
      holder.kill('SIGKILL')
      await eventually(() => alive(mark).length === 0, { withinMs: 120_000 })
      const next = fixture.create({ changed: () => undefined })
      await next.recover()
      expect(await reaches(next, spec.kernelId, 'EXITED')).toMatchObject({ error: { name: 'agent-fenced' } })
      next.forget(spec.kernelId, 3)
      await eventually(() => find(next, spec.kernelId) === undefined)
      await next.close()
      await fixture.dispose()
    })
  })
})
