import { execFile } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { describeEngines } from '../../support/containers/describe-engines.ts'
import { type ContainerEngine, whyNoEngine } from '../../support/containers/engines.ts'
import { sharedEngine } from '../../support/containers/shared-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { SLOWLY_MS } from './container-agent.ts'
import { type ContainerFixture, createContainerFixture } from './container-fixture.ts'
import { kernelSpec, reaches, readAll } from './executor-subject.ts'

const CHOOSE = new URL('../../../src/agent/executors/container/choose-container.ts', import.meta.url).href
const NOBODY = 65_534
const PROCESSES = 64
const SHM_KIB = 8 * 1024
const MEM_MIB = 64
const CPU = 0.5

/** What a program finds of itself: one line each, `name value`. */
const LOOK = `
grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status | tr -d ':' | tr '\\t' ' '
echo uid $(id -u)
echo gid $(id -g)
echo groups $(id -G)
echo root $(awk '$2 == "/" { print $4 }' /proc/mounts | cut -d, -f1)
echo tmp $(awk '$2 == "/tmp" { print $4 }' /proc/mounts)
echo shm $(df -k /dev/shm | awk 'NR == 2 { print $2 }')
echo pids $(cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null)
echo quota $(cat /sys/fs/cgroup/cpu.max 2>/dev/null || paste -d' ' /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu/cpu.cfs_period_us)
echo memory $(cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null)
echo devices $(ls /dev | tr '\\n' ' ')
echo oom $(cat /proc/self/oom_score_adj)
`

/** What a hostile program would try: each must fail. */
const ATTEMPTS: Record<string, string> = {
  'write to the image': 'echo x >/escaped',
  'write where programs are': 'echo x >/bin/escaped',
  'leave its directory for another': 'ls /work/../../kernels',
  'see the engine': 'ls /var/run/docker.sock || ls /run/podman/podman.sock || ls $SOCKET',
  'see the agent': 'ls $AGENT_DIR',
  'see what another project has': 'cat $OTHER/work/secret',
  mount: 'mount -t tmpfs none /work',
  'mount what is there': 'mount -o bind / /work',
  'make the image writable': 'mount -o remount,rw /',
  'make a device': 'mknod /tmp/disk b 8 0',
  'change the root': 'chroot / true',
  'have a mount namespace': 'unshare -m true',
  // Podman's seccomp profile lets it have a user namespace, which gives it nothing.
  'write to the image as root of a user namespace': "unshare -rm sh -c 'mount -o remount,rw / && echo x >/escaped'",
  'become somebody else': 'setpriv --reuid 0 true || su -c true',
  'own what is not its own': 'touch /tmp/mine && chown 0:0 /tmp/mine',
  'change the machine': 'echo 1 >/proc/sys/kernel/sysrq',
  'change its limits': 'mkdir /sys/fs/cgroup/mine || mkdir /sys/fs/cgroup/memory/mine',
  'crash the machine': 'echo c >/proc/sysrq-trigger',
  'read its memory': 'head -c 1 /dev/mem || head -c 1 /proc/kcore',
  'load a module': 'insmod /bin/busybox',
  'set the clock': 'date -s 2001-01-01 && [ "$(date +%Y)" = 2001 ]',
  'name the machine': 'hostname escaped',
  'fill more than its shared memory': `head -c ${(SHM_KIB + 1024) * 1024} /dev/zero >/dev/shm/much`,
}

/** Who asks is not its own process group's leader: it survives what it starts. */
const BOMB = `i=0; while [ $i -lt 200 ]; do sleep 1000 & i=$((i + 1)); done`

describeEngines('seen from inside a container of %s', (name) => {
  const missing = whyNoEngine(name)
  let engine: ContainerEngine
  let fixture: ContainerFixture
  let executor: Executor
  let other: KernelSpec
  const projectId = uuidv7()

  beforeAll(async () => {
    if (missing !== null) return
    engine = await sharedEngine(name)
    fixture = await createContainerFixture(engine, {
      pull: 'never',
      processes: PROCESSES,
      shmBytes: SHM_KIB * 1024,
      network: 'none',
    })
    executor = fixture.create({ changed: () => undefined })
    await executor.recover()
    other = start('umask 0; echo secret >secret; touch said; sleep 1000', { projectId: uuidv7() })
    await reaches(executor, other.kernelId, 'RUNNING', SLOWLY_MS)
  })
  afterAll(async () => {
    for (const { kernelId, assignment } of executor?.observe() ?? []) executor.forget(kernelId, assignment)
    await eventually(() => (executor?.observe() ?? []).length === 0, { withinMs: SLOWLY_MS })
    await executor?.close()
    await fixture?.dispose()
  })

  function start(script: string, overrides: Partial<KernelSpec> = {}): KernelSpec {
    const resourceSlots = { cpu: String(CPU), mem: `${MEM_MIB * 1024 * 1024}` }
    const spec = kernelSpec({ command: ['sh', '-c', script], resourceSlots, projectId, ...overrides })
    executor.start(spec, 1)
    return spec
  }

  async function outputOf(script: string, overrides: Partial<KernelSpec> = {}): Promise<string> {
    const { kernelId } = start(script, overrides)
    expect(await reaches(executor, kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 0 })
    const { text } = await readAll(executor, kernelId, 'STDOUT')
    executor.forget(kernelId, 1)
    return text
  }

  test.skipIf(missing !== null)('it has no rights, a user of its project, and its limits', async () => {
    const found = Object.fromEntries(
      (await outputOf(LOOK))
        .trimEnd()
        .split('\n')
        .map((line) => /^(\w+) ?(.*)$/.exec(line)!.slice(1)),
    ) as Record<string, string>
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) expect(found[set]).toMatch(/^0+$/)
    expect(found).toMatchObject({ NoNewPrivs: '1', Seccomp: '2', root: 'ro', shm: String(SHM_KIB), oom: '500' })
    expect(found['tmp']).toMatch(/^rw,nosuid,nodev/)
    expect(found['pids']).toBe(String(PROCESSES))
    const [quota, period] = found['quota']!.split(' ').map(Number)
    expect(quota! / period!).toBe(CPU)
    // What lies around it ends it first.
    expect(Number(found['memory'])).toBeLessThanOrEqual((MEM_MIB + 4) * 1024 * 1024)
    expect(found['devices']).not.toMatch(/\b([sv]d[a-z]|mem|kmsg|fuse|kvm)\b/)
    expect(found['uid']).toMatch(/^20000\d{5}$/)
    expect(found).toMatchObject({ gid: found['uid'], groups: found['uid'] })
  })

  test.skipIf(missing !== null)("projects have users of their own, and their files are nobody else's", async () => {
    const [mine, again, theirs] = [
      await outputOf('id -u'),
      await outputOf('id -u'),
      await outputOf('id -u', { projectId: other.projectId! }),
    ].map(Number)
    expect(again).toBe(mine)
    expect(theirs).not.toBe(mine)
    const { uid, mode } = statSync(join(fixture.kernel(other.kernelId), 'work'))
    expect(uid).toBe(theirs)
    expect(mode & 0o077).toBe(0)
  })

  test.skipIf(missing !== null)('nothing that a hostile program tries works', async () => {
    const environ = [
      { name: 'SOCKET', value: engine.socket },
      { name: 'AGENT_DIR', value: fixture.agentDir },
      { name: 'OTHER', value: fixture.kernel(other.kernelId) },
    ]
    const tries = Object.entries(ATTEMPTS).map(
      ([what, script]) =>
        `if (${script}) >/dev/null 2>&1; then echo 'could: ${what}'; else echo 'could not: ${what}'; fi`,
    )
    const output = await outputOf(tries.join('\n'), { environ })
    expect(output.trimEnd().split('\n')).toEqual(Object.keys(ATTEMPTS).map((what) => `could not: ${what}`))
    expect(readFileSync(join(fixture.kernel(other.kernelId), 'work', 'secret'), 'utf8')).toBe('secret\n')
  })

  test.skipIf(missing !== null)(
    'one that starts ever more processes has no more than its share, and ends',
    async () => {
      const bomb = start(BOMB)
      expect((await reaches(executor, bomb.kernelId, 'EXITED', SLOWLY_MS)).exitCode).not.toBe(0)
      expect((await readAll(executor, bomb.kernelId, 'STDERR')).text).toMatch(/fork/)
      expect(await outputOf('echo there')).toBe('there\n')
    },
  )

  test.skipIf(missing !== null)("an agent that may not signal what root's engine runs does not begin", async () => {
    await chmod(dirname(engine.socket), 0o755)
    await chmod(engine.socket, 0o666)
    const config = {
      containerEngine: engine.url,
      containerAllow: ['*'],
      containerVolumes: [],
      containerNetwork: 'none',
    }
    const script = `
      import { chooseContainer } from ${JSON.stringify(CHOOSE)}
      process.setgroups([])
      process.setgid(${NOBODY})
      process.setuid(${NOBODY})
      await chooseContainer(${JSON.stringify(config)}, '/nowhere', console).catch((error) => console.log(error.message))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: '/',
    })
    expect(stdout).toContain("the engine is root's, and this agent is not root")
  })
})
