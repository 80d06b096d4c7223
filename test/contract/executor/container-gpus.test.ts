import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { describeEngines } from '../../support/containers/describe-engines.ts'
import { whyNoEngine } from '../../support/containers/engines.ts'
import { type PrivateEngine, startEngine } from '../../support/containers/private-engine.ts'
import { sharedEngine } from '../../support/containers/shared-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { SLOWLY_MS } from './container-agent.ts'
import { type ContainerFixture, createContainerFixture } from './container-fixture.ts'
import { kernelSpec, reaches, readAll } from './executor-subject.ts'

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
/** What it has, and what it may do. */
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
    'each kernel has its own, and is otherwise what it is without',
    LONG,
    async () => {
      const projectId = randomUUID()
      const [one, two] = [start(1, projectId), start(1, projectId)]
      const [first, second] = [await outputOf(one), await outputOf(two)]
      const given = [first, second].map((text) => text.match(/reprise-gpu\d/g)?.join(' ') ?? '')
      expect(given.toSorted((a, b) => a.localeCompare(b))).toEqual(['reprise-gpu0', 'reprise-gpu1'])
      // Whoever has none is started last: grep finds nothing then.
      const none = await outputOf(start(0, projectId))
      expect(none).toContain('it writes')
      for (const text of [first, second]) expect(text.replace(/reprise-gpu\d\n/, '')).toBe(none)
      for (const kernelId of [one, two]) executor.forget(kernelId, 1)
      await eventually(() => executor.observe().length === 1, { withinMs: SLOWLY_MS })
      expect((await outputOf(start(2))).match(/reprise-gpu\d/g)).toEqual(['reprise-gpu0', 'reprise-gpu1'])
    },
  )

  test.skipIf(missing !== null)('one that is not there is a failure that says what to do', LONG, async () => {
    const { error } = await reaches(executor, start(name === 'podman' ? 3 : 1), 'FAILED', SLOWLY_MS)
    expect(error).toMatchObject({
      name: 'executor-failed',
      message: expect.stringMatching(
        name === 'podman' ? /nvidia-ctk cdi generate.*nvidia\.com\/gpu=2/ : /install the NVIDIA Container Toolkit/,
      ) as string,
    })
  })
})
