import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { eventually, pause } from '../../support/eventually.ts'
import { expectProgress } from './progress-conformance.ts'
import { outputServers, type OutputServers } from './output-servers.ts'
import { find, kernelSpec, reaches, readAll, type ExecutorFixture } from './executor-subject.ts'

/** The contract of every executor. */
export function executorConformance(
  name: string,
  createFixture: () => Promise<ExecutorFixture>,
  /** Why it cannot be tested here. */
  fault: string | null = null,
): void {
  describe.skipIf(fault !== null)(`executor ${name}${fault === null ? '' : `: ${fault}`}`, () => {
    let fixture: ExecutorFixture
    let executor: Executor
    let changes: number
    let servers: OutputServers

    beforeEach(async () => {
      changes = 0
      fixture = await createFixture()
      servers = outputServers()
      executor = fixture.create({ changed: () => changes++, ...servers.hooks })
      await executor.recover()
    })
    afterEach(async () => {
      for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
      await eventually(() => executor.observe().length === 0)
      await executor.close()
      await fixture.dispose()
    })

    function start(command: string[], overrides: Parameters<typeof kernelSpec>[0] = {}): string {
      const spec = kernelSpec({ command, ...overrides })
      executor.start(spec, 1)
      return spec.kernelId
    }

    /** It has said so, and ignores SIGTERM by now. */
    const isReady = (kernelId: string) =>
      eventually(async () => (await executor.readLog(kernelId, 'STDOUT', 0, 10)).text === 'ready\n')

    test('prepares, waits for the start, then runs to success', async () => {
      const spec = kernelSpec({ command: fixture.commands.succeed })
      executor.prepare(spec, 4)
      expect(await reaches(executor, spec.kernelId, 'PREPARED')).toMatchObject({
        assignment: 4,
        startedAt: null,
        exitCode: null,
      })
      executor.start(spec, 4)
      const ended = await reaches(executor, spec.kernelId, 'EXITED')
      expect(ended).toMatchObject({ assignment: 4, exitCode: 0, oomKilled: false, error: null, stopped: false })
      expect(Date.parse(ended.startedAt ?? '')).toBeLessThanOrEqual(Date.parse(ended.endedAt ?? ''))
    })

    test('one that serves has a port of its own, from before it runs until it is forgotten', async () => {
      const { hang } = fixture.commands
      if (fixture.servesNothing === true) {
        const { error } = await reaches(executor, start(hang, { portVariable: 'PORT' }), 'FAILED')
        return expect(error).toMatchObject({ name: 'submit-refused', message: expect.stringContaining('serve') })
      }
      const kernelIds = [1, 2, 3].map(() => start(hang, { portVariable: 'PORT' }))
      const running = await Promise.all(kernelIds.map((kernelId) => reaches(executor, kernelId, 'RUNNING')))
      const ports = running.map(({ port }) => port)
      expect(new Set(ports).size).toBe(3)
      for (const port of ports) expect(port).toBeGreaterThan(0)
      executor.stop(kernelIds[0]!, 1, 5_000)
      expect((await reaches(executor, kernelIds[0]!, 'EXITED')).port).toBe(ports[0])
      expect(await reaches(executor, start(hang), 'RUNNING')).toMatchObject({ port: null })
    })

    test('the outputs of a kernel are sent when it is gone, and nothing waits for them', async () => {
      const { shell } = fixture.commands
      if (shell === null) return
      const script = 'mkdir r; echo one > r/a; echo no > c; echo two > "$REPRISE_OUTPUT_DIR/b"; exit 3'
      const kernelId = start(shell(script), { outputPaths: ['r/**'] })
      expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ exitCode: 3 })
      expect(await reaches(executor, start(shell(script)), 'EXITED')).toMatchObject({ leftOutputs: true })
      expect(servers.reports).toEqual([])
      executor.forget(kernelId, 1)
      await eventually(() => find(executor, kernelId) === undefined)
      servers.answer()
      const end = await eventually(() => servers.reports.find(({ step }) => step === 'END'), { withinMs: 60_000 })
      expect(end).toMatchObject({ kernelId, assignment: 1, state: 'COMPLETE', reasons: [] })
      expect(servers.files()).toEqual({ b: 'two\n', 'r/a': 'one\n' })
    })

    test('outputs that stay in place are moved beside the working directory, which is removed', async () => {
      const { shell } = fixture.commands
      if (shell === null) return
      servers.answer()
      const script = 'mkdir -p r/deep; echo one > r/deep/a; echo no > c; echo two > "$REPRISE_OUTPUT_DIR/b"'
      const kernelId = start(shell(script), { outputPaths: ['r/**'], outputsInPlace: true })
      await reaches(executor, kernelId, 'EXITED')
      executor.forget(kernelId, 1)
      const end = await eventually(() => servers.ends().find((report) => report.kernelId === kernelId), {
        withinMs: 60_000,
      })
      expect(end).toMatchObject({ state: 'COMPLETE', directory: expect.stringMatching(/^\/.*\/files$/) })
      const { directory } = end
      expect(await readFile(join(directory!, 'r/deep/a'), 'utf8')).toBe('one\n')
      expect(await readFile(join(directory!, 'b'), 'utf8')).toBe('two\n')
      expect((await readdir(directory!)).toSorted()).toEqual(['b', 'r'])
      // Who ran the program finds its files.
      const owners = await Promise.all(['', 'r', 'b'].map(async (path) => (await stat(join(directory!, path))).uid))
      expect(new Set(owners).size).toBe(1)
      const beside = () => readdir(join(directory!, '..'))
      await eventually(async () => (await beside()).toSorted().join() === 'files,listed,spec.json')
      expect(servers.files()).toEqual({ b: undefined, 'r/deep/a': undefined })
    })

    test('a start prepares what is not prepared', async () => {
      const kernelId = start(fixture.commands.succeed)
      expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ exitCode: 0 })
    })

    test.each([1, 3, 125, 137, 255])('reports exit code %i', async (code) => {
      const kernelId = start(fixture.commands.exit(code))
      expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({
        exitCode: code,
        oomKilled: false,
        error: null,
        stopped: false,
      })
      executor.stop(kernelId, 1, 0)
      expect(find(executor, kernelId)).toMatchObject({ exitCode: code, stopped: false })
    })

    test('calls are idempotent: the kernel runs once', async () => {
      const spec = kernelSpec({ command: fixture.commands.print('once') })
      executor.prepare(spec, 1)
      executor.prepare(spec, 1)
      executor.start(spec, 1)
      executor.start(spec, 1)
      await reaches(executor, spec.kernelId, 'EXITED')
      executor.start(spec, 1)
      expect(await readAll(executor, spec.kernelId, 'STDOUT')).toEqual({ text: 'once\n', bytes: 5 })
      expect(executor.observe()).toHaveLength(1)
    })

    test('runs until it is stopped', async () => {
      const kernelId = start(fixture.commands.hang)
      expect(await reaches(executor, kernelId, 'RUNNING')).toMatchObject({ endedAt: null, exitCode: null })
      executor.stop(kernelId, 1, 10_000)
      expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({
        exitCode: 143,
        oomKilled: false,
        error: null,
        stopped: true,
      })
    })

    test('tells whether a program ended within its time limit', async () => {
      const inTime = start(fixture.commands.succeed, { batchTimeoutMs: 3_600_000 })
      const tooLate = start(fixture.commands.hang, { batchTimeoutMs: 1 })
      const unlimited = start(fixture.commands.succeed)
      await reaches(executor, tooLate, 'RUNNING')
      // Longer than the limit, and than what clocks cannot tell.
      await pause(100)
      executor.stop(tooLate, 1, 10_000)
      expect(await reaches(executor, tooLate, 'EXITED')).toMatchObject({ inTime: false, stopped: true })
      expect(await reaches(executor, inTime, 'EXITED')).toMatchObject({ inTime: true, stopped: false })
      expect((await reaches(executor, unlimited, 'EXITED')).inTime).toBeUndefined()
    })

    test('tells the program its resources, its start and its deadline', async () => {
      const { shell } = fixture.commands
      if (shell === null) return
      const names = ['REPRISE_CPUS', 'REPRISE_MEMORY_BYTES', 'REPRISE_SLOTS', 'REPRISE_STARTED_AT', 'REPRISE_DEADLINE']
      const command = shell(names.map((each) => `echo "\${${each}-unset}"`).join('; '))
      const before = Math.floor(Date.now() / 1000) * 1000
      const resourceSlots = { cpu: '1.5', mem: '134217728' }
      const limited = start(command, { resourceSlots, batchTimeoutMs: 3_600_500 })
      const unlimited = start(command)
      const [told, least] = await Promise.all(
        [limited, unlimited].map(async (kernelId) => {
          await reaches(executor, kernelId, 'EXITED')
          return (await readAll(executor, kernelId, 'STDOUT')).text.split('\n')
        }),
      )
      const [cpus, memory, slots, startedAt, deadline] = told!
      expect([cpus, memory, JSON.parse(slots!)]).toEqual(['2', '134217728', resourceSlots])
      for (const time of [startedAt, deadline]) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      const startedMs = Date.parse(startedAt!)
      expect(startedMs).toBeGreaterThanOrEqual(before)
      expect(startedMs).toBeLessThanOrEqual(Date.now())
      expect([3_600_000, 3_601_000]).toContain(Date.parse(deadline!) - startedMs)
      expect(least).toEqual(['1', '', '{}', expect.stringMatching(/Z$/), '', ''])
    })

    test('reports what a program tells about its progress, and stops one that makes none', async ({ skip }) => {
      if (fixture.commands.shell === null) return skip('it runs no programs')
      await expectProgress(executor, fixture.commands.shell)
    })

    test('ends after the grace what does not heed the stop', async () => {
      const kernelId = start(fixture.commands.stubborn)
      await isReady(kernelId)
      const stoppedAt = performance.now()
      executor.stop(kernelId, 1, 300)
      executor.stop(kernelId, 1, 60_000)
      expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({
        exitCode: 137,
        oomKilled: false,
        error: null,
        stopped: true,
      })
      expect(performance.now() - stoppedAt).toBeGreaterThan(280)
    })

    describe('the grace period covers every process', () => {
      async function startFamily(how: 'saves' | 'stubborn'): Promise<string> {
        const kernelId = start(fixture.commands.family!(how))
        await eventually(async () => (await outputOf(kernelId)).match(/ready/g)?.length === 2, { withinMs: 120_000 })
        return kernelId
      }
      const outputOf = async (kernelId: string) => (await executor.readLog(kernelId, 'STDOUT', 0, 65_536)).text

      test('processes that outlive the program save their work', async ({ skip }) => {
        if (fixture.commands.family === null) skip()
        const kernelId = await startFamily('saves')
        executor.stop(kernelId, 1, 120_000)
        expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ exitCode: 143, stopped: true })
        expect((await outputOf(kernelId)).match(/saved/g)).toHaveLength(2)
      })

      test('those that do not heed it are killed when it is over', async ({ skip }) => {
        if (fixture.commands.family === null) skip()
        const kernelId = await startFamily('stubborn')
        const stoppedAt = performance.now()
        executor.stop(kernelId, 1, 500)
        expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ stopped: true })
        expect(performance.now() - stoppedAt).toBeGreaterThan(480)
      })
    })

    test('a later stop shortens the grace', async () => {
      const kernelId = start(fixture.commands.stubborn)
      await isReady(kernelId)
      executor.stop(kernelId, 1, 60_000)
      executor.stop(kernelId, 1, 0)
      expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ exitCode: 137 })
    })

    test('a kernel that is stopped before it starts never runs', async () => {
      const spec = kernelSpec({ command: fixture.commands.print('ran') })
      executor.prepare(spec, 1)
      executor.stop(spec.kernelId, 1, 1_000)
      expect(find(executor, spec.kernelId)).toMatchObject({
        status: 'EXITED',
        startedAt: null,
        exitCode: null,
        error: null,
        stopped: true,
      })
      executor.start(spec, 1)
      expect(find(executor, spec.kernelId)).toMatchObject({ status: 'EXITED', startedAt: null })
      expect(await executor.readLog(spec.kernelId, 'STDOUT', 0, 100)).toEqual({ text: '', bytes: 0, end: true })
    })

    test('a stop right behind the start ends it', async () => {
      const kernelId = start(fixture.commands.hang)
      executor.stop(kernelId, 1, 200)
      expect((await reaches(executor, kernelId, 'EXITED')).error).toBeNull()
    })

    const why = { name: 'agent-fenced', message: 'no server answers' }

    test.each([
      ['heeds it', 'hang', 10_000, 143],
      ['has to be killed', 'stubborn', 200, 137],
    ] as const)(
      'the end of one that is stopped for a reason and %s says the reason',
      async (_, word, graceMs, code) => {
        const kernelId = start(fixture.commands[word])
        if (word === 'stubborn') await isReady(kernelId)
        else await reaches(executor, kernelId, 'RUNNING')
        executor.stop(kernelId, 1, graceMs, why)
        executor.stop(kernelId, 1, graceMs + 1_000)
        expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({
          exitCode: code,
          error: why,
          stopped: false,
        })
      },
    )

    test('a reason that comes behind a stop without one is not told', async () => {
      const kernelId = start(fixture.commands.stubborn)
      await isReady(kernelId)
      executor.stop(kernelId, 1, 60_000)
      executor.stop(kernelId, 1, 0, why)
      expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ exitCode: 137, error: null, stopped: true })
    })

    test('a reason is told of a kernel that never ran, too', async () => {
      const spec = kernelSpec({ command: fixture.commands.print('ran') })
      executor.prepare(spec, 1)
      executor.stop(spec.kernelId, 1, 1_000, why)
      expect(find(executor, spec.kernelId)).toMatchObject({ status: 'EXITED', startedAt: null, error: why })
    })

    test('orders for unknown kernels do nothing', () => {
      executor.stop(kernelSpec().kernelId, 1, 0)
      executor.forget(kernelSpec().kernelId, 1)
      expect(executor.observe()).toEqual([])
    })

    test('forgets an ended kernel', async () => {
      const kernelId = start(fixture.commands.succeed)
      await reaches(executor, kernelId, 'EXITED')
      executor.forget(kernelId, 1)
      await eventually(() => find(executor, kernelId) === undefined)
    })

    test('stops a running kernel that is to be forgotten', async () => {
      const kernelId = start(fixture.commands.stubborn)
      await reaches(executor, kernelId, 'RUNNING')
      executor.forget(kernelId, 1)
      await eventually(() => find(executor, kernelId) === undefined)
    })

    test('a greater assignment replaces what runs', async () => {
      const spec = kernelSpec({ command: fixture.commands.stubborn })
      executor.start(spec, 1)
      await reaches(executor, spec.kernelId, 'RUNNING')
      executor.start({ ...spec, command: fixture.commands.exit(7) }, 2)
      expect(await reaches(executor, spec.kernelId, 'EXITED')).toMatchObject({ assignment: 2, exitCode: 7 })
    })

    test('a smaller assignment is ignored', async () => {
      const spec = kernelSpec({ command: fixture.commands.hang })
      executor.start(spec, 5)
      await reaches(executor, spec.kernelId, 'RUNNING')
      executor.start({ ...spec, command: fixture.commands.exit(7) }, 4)
      executor.stop(spec.kernelId, 4, 0)
      executor.forget(spec.kernelId, 4)
      const other = start(fixture.commands.succeed)
      await reaches(executor, other, 'EXITED')
      expect(find(executor, spec.kernelId)).toMatchObject({ assignment: 5, status: 'RUNNING' })
    })

    test('a start of a smaller assignment does not run what a greater one has prepared', async () => {
      const spec = kernelSpec({ command: fixture.commands.hang })
      executor.prepare(spec, 5)
      await reaches(executor, spec.kernelId, 'PREPARED')
      executor.start({ ...spec, command: fixture.commands.succeed }, 4)
      const other = start(fixture.commands.succeed)
      await reaches(executor, other, 'EXITED')
      expect(find(executor, spec.kernelId)).toMatchObject({ assignment: 5, status: 'PREPARED' })
    })

    test('an image that does not exist fails the pull', async () => {
      const kernelId = start(fixture.commands.succeed, { image: fixture.missingImage })
      const { error } = await reaches(executor, kernelId, 'FAILED')
      expect(error?.name).toBe(fixture.missingImageError ?? 'image-pull-failed')
      expect(error?.message).toContain(fixture.missingImage)
    })

    test('reports one that ran out of memory', async ({ skip }) => {
      if (fixture.commands.outOfMemory === null) return skip('nothing limits memory here')
      const { command, mem } = fixture.commands.outOfMemory
      const kernelId = start(command, { resourceSlots: { mem } })
      const ended = await reaches(executor, kernelId, 'EXITED', 20_000)
      expect(ended).toMatchObject({ oomKilled: true, exitCode: 137, error: { name: 'oom-killed' } })
    })

    test('reports one that is gone without a trace', async () => {
      const kernelId = start(fixture.commands.vanish)
      await fixture.killFromOutside?.(kernelId)
      const ended = await reaches(executor, kernelId, 'EXITED')
      const error = { name: fixture.vanishedError ?? 'kernel-vanished' }
      expect(ended).toMatchObject({ exitCode: null, oomKilled: false, error })
    })

    test('reads a log in pieces that end with a character', async () => {
      const kernelId = start(fixture.commands.print('aé€😀z'))
      await reaches(executor, kernelId, 'EXITED')
      for (const chunk of [4, 5, 7, 100]) {
        expect(await readAll(executor, kernelId, 'STDOUT', chunk)).toEqual({ text: 'aé€😀z\n', bytes: 12 })
      }
      expect(await readAll(executor, kernelId, 'STDERR')).toEqual({ text: '', bytes: 0 })
    })

    test('tells of changes', async () => {
      const kernelId = start(fixture.commands.succeed)
      await reaches(executor, kernelId, 'EXITED')
      await eventually(() => changes > 0)
      const before = changes
      executor.forget(kernelId, 1)
      await eventually(() => changes > before)
    })
  })
}
