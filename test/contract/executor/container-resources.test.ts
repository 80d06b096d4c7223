import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { describeEngines, describeEnginesConcurrently } from '../../support/containers/describe-engines.ts'
import { type ContainerEngine, whyNoEngine } from '../../support/containers/engines.ts'
import { type PrivateEngine, startEngine } from '../../support/containers/private-engine.ts'
import { sharedEngine } from '../../support/containers/shared-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { holdAgent, SLOWLY_MS } from './container-agent.ts'
import { type ContainerFixture, createContainerFixture } from './container-fixture.ts'
import { kernelSpec, reaches, readAll } from './executor-subject.ts'
import { describeBytes } from '../../../src/domain/amounts.ts'

describe('logs', () => {
  const BINARY_BYTES = 300_000
  const LINE_BYTES = 100_000
  const LINES = 20_000
  /** Beyond what both engines keep. Of short ones Docker takes 100,000 a second. */
  const FLOOD_LINES = 18_000
  const FLOOD_LINE_BYTES = 8_000

  /** In blocks, so that whoever looks meanwhile finds some of it. */
  const SCRIPT = `
head -c ${BINARY_BYTES} /bin/busybox
block=0
while [ $block -lt 40 ]; do
  seq $((block * ${LINES / 40} + 1)) $(((block + 1) * ${LINES / 40})) >&2
  seq $((block * ${LINES / 40} + 1)) $(((block + 1) * ${LINES / 40}))
  block=$((block + 1))
  sleep 0.05
done
head -c ${LINE_BYTES} /dev/zero | tr '\\0' x`

  describeEngines('output of containers of %s', (name) => {
    const missing = whyNoEngine(name)
    let engine: ContainerEngine
    let fixture: ContainerFixture
    let executor: Executor

    beforeAll(async () => {
      if (missing !== null) return
      engine = await sharedEngine(name)
      fixture = await createContainerFixture(engine, { pull: 'never' })
      executor = fixture.create({ changed: () => undefined })
    })
    afterAll(async () => {
      for (const { kernelId, assignment } of executor?.observe() ?? []) executor.forget(kernelId, assignment)
      await eventually(() => (executor?.observe() ?? []).length === 0, { withinMs: SLOWLY_MS })
      await executor?.close()
      await fixture?.dispose()
    })

    const file = (kernelId: string, stream: string) => join(fixture.kernel(kernelId), stream)

    test.skipIf(missing !== null)(
      'bytes, a long line and many lines are exact in each stream when the agent is killed meanwhile',
      async () => {
        const spec = kernelSpec({ command: ['sh', '-c', SCRIPT] })
        const agent = holdAgent(fixture, engine.socket, [spec])
        agent.start()
        const bytes = () => statSync(file(spec.kernelId, 'stderr'), { throwIfNoEntry: false })?.size ?? 0
        const whole = lines(LINES)
        await eventually(() => bytes() > 0, { withinMs: SLOWLY_MS })
        await agent.kill()
        expect(bytes()).toBeLessThan(whole.length)
        await executor.recover()
        expect(await reaches(executor, spec.kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 0 })
        expect(readFileSync(file(spec.kernelId, 'stderr')).equals(whole)).toBe(true)
        const binary = readFileSync('/bin/busybox').subarray(0, BINARY_BYTES)
        const printed = Buffer.concat([binary, whole, Buffer.alloc(LINE_BYTES, 'x')])
        expect(readFileSync(file(spec.kernelId, 'stdout')).equals(printed)).toBe(true)
        executor.forget(spec.kernelId, 1)
      },
    )

    test.skipIf(missing !== null)('whatever a program writes, the engine keeps a bounded file of it', async () => {
      const spec = kernelSpec({
        command: [
          'sh',
          '-c',
          `awk 'BEGIN { for (i = 1; i <= ${FLOOD_LINES}; i++) printf "%0${FLOOD_LINE_BYTES - 1}d\\n", i }'`,
        ],
      })
      executor.start(spec, 1)
      await reaches(executor, spec.kernelId, 'RUNNING', SLOWLY_MS)
      expect(await reaches(executor, spec.kernelId, 'EXITED', SLOWLY_MS * 2)).toMatchObject({ exitCode: 0 })
      const { Id } = (await fixture.container(spec.kernelId))!
      const largest = await largestFile(engine.disk, Id)
      expect(largest).toBeGreaterThan(1024 * 1024)
      expect(largest).toBeLessThan(80 * 1024 * 1024)
      executor.forget(spec.kernelId, 1)
    })
  })

  function lines(count: number): Buffer {
    return Buffer.from(Array.from({ length: count }, (_, at) => `${at + 1}\n`).join(''))
  }

  /** The log files of a container: its id is in their paths. */
  async function largestFile(directory: string, container: string): Promise<number> {
    const files = ['-type', 'f', '-path', `*${container}*`, '-printf', '%s\\n']
    // `find` prints all files, but fails if those of another container are removed meanwhile.
    const { stdout } = await promisify(execFile)('find', [directory, ...files]).catch(
      (error: { stdout: string }) => error,
    )
    return Math.max(0, ...stdout.split('\n').map(Number))
  }
})

describe('memory', () => {
  const MEM_BYTES = 48 * 1024 * 1024
  const mem = { mem: String(MEM_BYTES) }
  /** Alone: another process that needed a page while this one died would have the system kill the next, which may be the shell. */
  const EATS = 'tail </dev/zero >/dev/null'
  const OUT_OF_MEMORY = { name: 'oom-killed', message: `ran out of its ${describeBytes(MEM_BYTES)} of memory` }

  describeEnginesConcurrently('what %s says of a container that was killed', (name) => {
    const missing = whyNoEngine(name)
    let engine: ContainerEngine
    let fixture: ContainerFixture
    let executor: Executor

    beforeAll(async () => {
      if (missing !== null) return
      engine = await sharedEngine(name)
      fixture = await createContainerFixture(engine, { pull: 'never' })
      executor = fixture.create({ changed: () => undefined })
      await executor.recover()
    })
    afterAll(async () => {
      for (const { kernelId, assignment } of executor?.observe() ?? []) executor.forget(kernelId, assignment)
      await eventually(() => (executor?.observe() ?? []).length === 0, { withinMs: SLOWLY_MS })
      await executor?.close()
      await fixture?.dispose()
    })

    function start(script: string, resourceSlots: Record<string, string> = mem): string {
      const spec = kernelSpec({ command: ['sh', '-c', script], resourceSlots })
      executor.start(spec, 1)
      return spec.kernelId
    }
    const ends = (kernelId: string) => reaches(executor, kernelId, 'EXITED', SLOWLY_MS)

    test.skipIf(missing !== null).each([
      ['its main process runs out of memory', `exec ${EATS}`, 137],
      ['it lost a process for lack of memory, and fails', `${EATS}; exit 3`, 3],
    ])('%s', async (_, script, exitCode) => {
      expect(await ends(start(script))).toMatchObject({ exitCode, oomKilled: true, error: OUT_OF_MEMORY })
    })

    test.skipIf(missing !== null).each([
      ['its program kills itself', 'kill -KILL $$', 137],
      // Files that are kept in memory fill the limit as well.
      [
        'its program kills itself when files have filled its memory',
        'head -c 90000000 /dev/zero >file; kill -KILL $$',
        137,
      ],
      ['it says so itself', 'exit 137', 137],
      ['it succeeds when files have filled its memory', 'head -c 90000000 /dev/zero >file', 0],
    ])('%s: that is no lack of memory', async (_, script, exitCode) => {
      expect(await ends(start(script))).toMatchObject({ exitCode, oomKilled: false, error: null })
    })

    test.skipIf(missing !== null)('one that loses a process and exits with 0 has run out of memory', async () => {
      const kernelId = start(`${EATS}; echo $?`)
      expect(await ends(kernelId)).toMatchObject({
        exitCode: 0,
        oomKilled: true,
        error: { name: 'oom-killed', message: expect.stringContaining('exited with 0') },
      })
      expect((await readAll(executor, kernelId, 'STDOUT')).text).toBe('137\n')
    })

    test.skipIf(missing !== null).each([
      ['somebody kills it', 'POST', 'kill', { exitCode: 137, error: null }],
      ['somebody removes it', 'DELETE', '?force=1', { exitCode: null, error: { name: 'cancelled-outside' } }],
    ] as const)('%s from outside', async (_, method, what, end) => {
      const kernelId = start('sleep 1000')
      await reaches(executor, kernelId, 'RUNNING', SLOWLY_MS)
      const { Id } = (await fixture.container(kernelId))!
      await engine.call(method, `/containers/${Id}${method === 'POST' ? `/${what}` : what}`)
      expect(await ends(kernelId)).toMatchObject({ ...end, oomKilled: false })
    })
  })
})

describe('GPUs', () => {
  /** They stand for two GPUs, and harm nobody: /dev/null under other names. */
  const DEVICES = {
    cdiVersion: '0.3.0',
    kind: 'nvidia.com/gpu',
    devices: ['0', '1'].map((name) => ({
      name,
      containerEdits: {
        deviceNodes: [{ path: `/dev/reprise-gpu${name}`, hostPath: '/dev/null', type: 'c', major: 1, minor: 3 }],
      },
    })),
  }
  /** Prints its devices, limits and rights. */
  const LOOK = `
grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status
id; pwd; env | grep -v -E 'REPRISE_|HOSTNAME' | sort
awk '$2 == "/" { print substr($4, 1, 2) }; $2 == "/tmp" { print $4 }' /proc/mounts
df -k /dev/shm | awk 'NR == 2 { print $2 }'
cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null
cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max 2>/dev/null
cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null
cat /proc/self/oom_score_adj
touch /work/mine /chain/mine && echo "it writes"
ls /dev | grep reprise-gpu
sleep 1`
  const SLOTS = { cpu: '0.5', mem: String(64 * 1024 * 1024) }
  const LONG = { timeout: 3 * SLOWLY_MS }

  describeEngines('GPUs of containers of %s', (name) => {
    const missing = whyNoEngine(name)
    const namesDevices = name === 'podman' && process.getuid?.() === 0
    let withDevices: PrivateEngine | undefined
    let fixture: ContainerFixture
    let executor: Executor

    beforeAll(async () => {
      if (missing !== null) return
      if (namesDevices) withDevices = await startEngine(name, { ofRun: inject('runDirectory'), devices: DEVICES })
      fixture = await createContainerFixture(withDevices ?? (await sharedEngine(name)), {
        pull: 'never',
        network: 'none',
      })
      executor = fixture.create({ changed: () => undefined })
      await executor.recover()
    })
    afterAll(async () => {
      for (const { kernelId, assignment } of executor?.observe() ?? []) executor.forget(kernelId, assignment)
      await eventually(() => (executor?.observe() ?? []).length === 0, { withinMs: SLOWLY_MS })
      await executor?.close()
      await withDevices?.[Symbol.asyncDispose]()
      await fixture?.dispose()
    })

    function start(gpus: number, projectId: string = randomUUID()): string {
      const resourceSlots = gpus === 0 ? SLOTS : { ...SLOTS, 'cuda.device': String(gpus) }
      const spec = kernelSpec({ command: ['sh', '-c', LOOK], resourceSlots, projectId })
      executor.start(spec, 1)
      return spec.kernelId
    }
    async function outputOf(kernelId: string): Promise<string> {
      expect(await reaches(executor, kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 0, error: null })
      return (await readAll(executor, kernelId, 'STDOUT')).text
    }

    test.skipIf(missing !== null || !namesDevices)(
      'each kernel has its own, and is otherwise unchanged',
      LONG,
      async () => {
        const projectId = randomUUID()
        const [one, two] = [start(1, projectId), start(1, projectId)]
        const [first, second] = [await outputOf(one), await outputOf(two)]
        const given = [first, second].map((text) => text.match(/reprise-gpu\d/g)?.join(' ') ?? '')
        expect(given.toSorted((a, b) => a.localeCompare(b))).toEqual(['reprise-gpu0', 'reprise-gpu1'])
        // The kernel without a GPU starts last, so that grep finds nothing.
        const none = await outputOf(start(0, projectId))
        expect(none).toContain('it writes')
        for (const text of [first, second]) expect(text.replace(/reprise-gpu\d\n/, '')).toBe(none)
        for (const kernelId of [one, two]) executor.forget(kernelId, 1)
        await eventually(() => executor.observe().length === 1, { withinMs: SLOWLY_MS })
        expect((await outputOf(start(2))).match(/reprise-gpu\d/g)).toEqual(['reprise-gpu0', 'reprise-gpu1'])
      },
    )

    test.skipIf(missing !== null)('a missing one is a failure with advice', LONG, async () => {
      const { error } = await reaches(executor, start(name === 'podman' ? 3 : 1), 'FAILED', SLOWLY_MS)
      expect(error).toMatchObject({
        name: 'executor-failed',
        message: expect.stringMatching(
          name === 'podman' ? /nvidia-ctk cdi generate.*nvidia\.com\/gpu=2/ : /install the NVIDIA Container Toolkit/,
        ) as string,
      })
    })
  })
})
