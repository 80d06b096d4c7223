import { execFile } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { addressesOf } from '../../../src/agent/executors/container/session-networks.ts'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { fixedPort } from '../../support/agents/fixed-port.ts'
import { describeEngines } from '../../support/containers/describe-engines.ts'
import { type ContainerEngine, whyNoEngine } from '../../support/containers/engines.ts'
import { networksOfAgent } from '../../support/containers/networks-of-agent.ts'
import { startEngine } from '../../support/containers/private-engine.ts'
import { sharedEngine } from '../../support/containers/shared-engine.ts'
import { slowDown } from '../../support/containers/slow-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { SLOWLY_MS } from './container-agent.ts'
import { type ContainerFixture, createContainerFixture } from './container-fixture.ts'
import { kernelSpec, reaches, readAll } from './executor-subject.ts'

describe('isolation', () => {
  const CHOOSE = new URL('../../../src/agent/executors/container/choose-container.ts', import.meta.url).href
  const NOBODY = 65_534
  const PROCESSES = 64
  const SHM_KIB = 8 * 1024
  const MEM_MIB = 64
  const CPU = 0.5

  /** Facts that a program finds about itself: one line each, `name value`. */
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

  /** Attempts of a hostile program: each must fail. */
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

  /** The caller does not lead its process group: it survives its children. */
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
      // The surrounding process ends it first.
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

    test.skipIf(missing !== null)(
      "an agent that may not signal the containers of root's engine does not start",
      async () => {
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
      },
    )
  })
})

describe('networks', () => {
  const HOSTS = 'main1=192.0.2.4,sub1=192.0.2.4'

  test.each([
    ['172.18.0.0/16', 3, ['172.18.0.2', '172.18.0.3', '172.18.0.4']],
    ['10.89.255.248/29', 5, ['10.89.255.250', '10.89.255.251', '10.89.255.252', '10.89.255.253', '10.89.255.254']],
    ['10.89.255.248/29', 6, null],
    ['10.0.0.254/23', 3, ['10.0.1.0', '10.0.1.1', '10.0.1.2']],
    ['fd00::/64', 1, null],
    ['', 1, null],
  ])('addresses of %s for %i kernels', (subnet, count, addresses) => {
    expect(addressesOf(subnet, count)).toEqual(addresses)
  })

  describeEngines('kernels of one session in containers of %s', (name) => {
    const missing = whyNoEngine(name)
    let engine: ContainerEngine
    let fixture: ContainerFixture
    let executor: Executor

    const open = async () => {
      executor = fixture.create({ changed: () => undefined })
      await executor.recover()
    }
    const networks = (agentId = fixture.agentId) => networksOfAgent(engine, agentId)

    beforeEach(async () => {
      if (missing !== null) return
      engine = await sharedEngine(name)
      fixture = await createContainerFixture(engine, { pull: 'never', network: 'default' })
      await open()
    })
    afterEach(async () => {
      if (missing !== null) return
      for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
      await eventually(() => executor.observe().length === 0)
      await executor.close()
      await fixture.dispose()
    })

    function pair(port: number) {
      const sessionId = uuidv7()
      const environ = [{ name: 'REPRISE_CLUSTER_HOSTS', value: HOSTS }]
      const common = { sessionId, environ, gang: { size: 2, singleNode: true } }
      const serve = `echo from main1 >index.html; exec httpd -f -p ${port} -h "$PWD"`
      const ask = `until wget -qO- http://main1:${port}/; do sleep 0.1; done; echo "$REPRISE_CLUSTER_HOSTS"`
      return {
        sessionId,
        main: kernelSpec({ ...common, command: ['sh', '-c', serve] }),
        sub: kernelSpec({ ...common, role: 'sub', command: ['sh', '-c', ask] }),
      }
    }

    test.skipIf(missing !== null)('know each other by name, in a network that goes with the last of them', async () => {
      const { sessionId, main, sub } = pair(8080)
      for (const spec of [sub, main]) executor.start(spec, 1)
      await reaches(executor, sub.kernelId, 'EXITED')
      expect((await readAll(executor, sub.kernelId, 'STDOUT')).text).toBe('from main1\nmain1=main1,sub1=sub1\n')
      expect(await networks()).toEqual([`reprise-${sessionId}`])

      executor.forget(sub.kernelId, 1)
      await eventually(() => executor.observe().length === 1)
      await executor.close()
      await open()
      await reaches(executor, main.kernelId, 'RUNNING')
      expect(await networks()).toEqual([`reprise-${sessionId}`])
      executor.forget(main.kernelId, 1)
      await eventually(async () => (await networks()).length === 0)
    })

    test.skipIf(missing !== null)('one that is created while another is removed is removed, too', async () => {
      let holds = true
      await using slow = await slowDown(engine.socket, (request) =>
        holds && /^DELETE \S*\/networks\/reprise-.{36}$/.test(request) ? 'request' : null,
      )
      const own = await createContainerFixture(
        { ...engine, socket: slow.socket },
        { pull: 'never', network: 'default' },
      )
      const slowed = own.create({ changed: () => undefined })
      await slowed.recover()
      const [first, second] = [pair(8080), pair(8080)]
      slowed.start(first.main, 1)
      await reaches(slowed, first.main.kernelId, 'RUNNING')
      slowed.forget(first.main.kernelId, 1)
      await eventually(() => slow.asked().length > 0)
      slowed.start(second.main, 1)
      await reaches(slowed, second.main.kernelId, 'RUNNING')
      holds = false
      slow.passOn(true)
      await eventually(async () => (await networks(own.agentId)).join() === `reprise-${second.sessionId}`)
      slowed.forget(second.main.kernelId, 1)
      await eventually(async () => (await networks(own.agentId)).length === 0)
      await slowed.close()
      await own.dispose()
    })

    test.skipIf(missing !== null)('a network that a crash has left is collected, and no other', async () => {
      const create = async (label: string) => {
        const Labels = { 'reprise.agent': label, 'reprise.session': uuidv7() }
        const Name = `reprise-${Labels['reprise.session']}`
        expect((await engine.call('POST', '/networks/create', { Name, Labels })).status).toBeOneOf([200, 201])
        return Name
      }
      await executor.close()
      const own = await create(fixture.agentId)
      const otherId = uuidv7()
      const others = await create(otherId)
      expect(await networks()).toEqual([own])
      await open()
      await eventually(async () => (await networks()).length === 0)
      expect(await networks(otherId)).toEqual([others])
      await engine.call('DELETE', `/networks/${others}`)
    })

    test.skipIf(missing !== null || name === 'podman')(
      'wait for a network of their own where the engine has none left, and never get that of the machine',
      async () => {
        await using full = await startEngine(name, { ofRun: inject('runDirectory'), bridge: true })
        let taken = 0
        while ((await full.call('POST', '/networks/create', { Name: `taken-${taken}` })).status < 400) taken++
        expect(taken).toBeGreaterThan(0)
        const own = await createContainerFixture(full, { pull: 'never', network: 'default' })
        const agent = own.create({ changed: () => undefined })
        await agent.recover()
        const { main, sub } = pair(await fixedPort())
        for (const spec of [main, sub]) agent.start(spec, 1)
        const notes = () => agent.observe().map(({ status, waiting }) => `${status} ${waiting?.reason}`)
        const waiting = 'PREPARED the container engine has no network left for the kernels of this session'
        await eventually(() => notes().every((each) => each === waiting))
        expect(await full.call('GET', '/containers/json?all=true')).toMatchObject({
          text: expect.stringMatching(/^\[\]\s*$/),
        })
        await full.call('DELETE', '/networks/taken-0')
        await reaches(agent, sub.kernelId, 'EXITED')
        expect((await readAll(agent, sub.kernelId, 'STDOUT')).text).toBe('from main1\nmain1=main1,sub1=sub1\n')
        for (const { kernelId } of [main, sub]) agent.forget(kernelId, 1)
        await eventually(() => agent.observe().length === 0)
        await agent.close()
        await own.dispose()
      },
    )
  })
})
