import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { allowsAnyRegistry, registryRefusal } from '../../../src/agent/executors/container/engine/registry.ts'
import { parseStatus } from '../../../src/agent/executors/kernels/shim-status.ts'
import { DEFAULT_LIMITS } from '../../../src/agent/executors/process/process-executor.ts'
import { unneededMounts } from '../../../src/agent/executors/process/isolation/fork-server-entry.ts'
import { coverable, type Hidden, isOpenToAll } from '../../../src/agent/executors/process/isolation/hidden-paths.ts'
import { parseProcStat } from '../../../src/agent/executors/process/proc-stat.ts'
import { quote } from '../../../src/agent/executors/process/shell.ts'
import { shimScript } from '../../../src/agent/executors/process/shim.ts'
import { anyText } from '../../support/any-text.ts'

describe('mounts', () => {
  const MOUNTINFO = `22 27 0:21 / /proc rw,relatime - proc proc rw
24 27 0:6 / /dev rw,relatime shared:2 - devtmpfs devtmpfs rw,size=12334492k
25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw
26 24 0:24 / /dev/pts rw,relatime - devpts devpts rw,mode=600
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
29 26 0:26 / /dev/pts rw,relatime - devpts devpts rw,mode=600
30 24 0:6 /null /dev/null rw,relatime - devtmpfs devtmpfs rw
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
36 31 0:33 / /sys/fs/cgroup/devices rw,relatime - cgroup cgroup rw,devices
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
42 27 0:40 / /sys/kernel/debug rw - debugfs debugfs rw
43 27 0:41 / /run rw - tmpfs tmpfs rw
44 43 0:4 net:[1] /run/netns/a\\040b rw - nsfs nsfs rw
45 27 8:1 / /home rw - ext4 /dev/sda rw
`

  test('a fork server keeps the mounts that it and its kernels use', () => {
    expect(unneededMounts(MOUNTINFO, ['/srv/agent', '/run/nscd'])).toEqual([
      '/run/netns/a b',
      '/sys/kernel/debug',
      '/sys/fs/cgroup/systemd',
      '/sys/fs/cgroup/devices',
      '/dev/pts',
      '/dev/pts',
      '/dev/shm',
    ])
    expect(unneededMounts(MOUNTINFO, ['/dev/shm/agent'])).not.toContain('/dev/shm')
  })

  let root: string
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'reprise-hidden-'))
    chmodSync(root, 0o755)
    for (const name of ['open', 'closed', 'closed/deeper', 'covered']) mkdirSync(join(root, name), { mode: 0o755 })
    for (const name of ['open/token', 'closed/token', 'closed/deeper/token', 'covered/token'])
      writeFileSync(join(root, name), '')
    chmodSync(join(root, 'closed'), 0o700)
  })
  afterEach(() => rmSync(root, { recursive: true }))

  function hidden(...names: string[]): Hidden[] {
    return names.map((name) => ({ path: join(root, name), directory: false }))
  }

  test('only paths below a directory that the kernel may not enter are hidden with it', () => {
    const secrets = hidden('open/token', 'closed/token', 'closed/deeper/token', 'covered/token')
    const all = coverable(secrets, (path) => !path.startsWith(root) || isOpenToAll(path), [join(root, 'covered')])
    expect(all).toEqual([
      { path: join(root, 'closed'), directory: true },
      { path: join(root, 'open/token'), directory: false },
    ])
  })
})

describe('the shim', () => {
  const STAT = '4711 (a) b (c) S 1 4711 4711 0 -1 4194560 96 0 0 0 3 4 100 201 20 0 1 0 123456 2678784 407 1'

  test('a stat line whose command holds blanks and parentheses', () => {
    expect(parseProcStat(STAT)).toEqual({
      pid: 4711,
      state: 'S',
      group: 4711,
      parent: 1,
      session: 4711,
      startTicks: 123_456,
      residentPages: 407,
      ownTicks: 7,
      waitedTicks: 301,
    })
  })

  test.each(['', '4711', '4711 (sh)', '4711 (sh) S 1'])('%j is no stat line', (line) => {
    expect(parseProcStat(line)).toBeNull()
  })

  test('a status counts by whole lines', () => {
    const text = `began ${STAT}\nexit 137\n`
    const kinds = new Set<string>()
    for (let length = 0; length <= text.length; length++) {
      const { shim, exitCode } = parseStatus(text.slice(0, length))
      kinds.add(`${shim?.pid ?? null} ${exitCode}`)
    }
    expect([...kinds]).toEqual(['null null', '4711 null', '4711 137'])
    const used = {
      commandEndedAtSeconds: 12.5,
      endedAtSeconds: 12.5,
      peakMemoryBytes: 4096,
      cpuSeconds: 1.5,
      waitedCpuSeconds: 3.01,
    }
    for (const cpu of ['usage_usec 1500000', '1500000000']) {
      expect(parseStatus(`began ${STAT}\nused 12.5|4096|${cpu}|${STAT}\nexit 0\n`)).toMatchObject({ used, exitCode: 0 })
    }
    expect(parseStatus(`used 12.5|||${STAT}|11.25\n`).used).toMatchObject({
      commandEndedAtSeconds: 11.25,
      endedAtSeconds: 12.5,
    })
    expect(parseStatus(`used 12.5|||${STAT}\n`).used).toEqual({ ...used, peakMemoryBytes: null, cpuSeconds: null })
    expect(parseStatus(`outside\n${text}`)).toMatchObject({ outsideCgroup: true, exitCode: 137 })
  })

  test('a kernel began when its shim has read the uptime, and with older shims when its process was started', () => {
    expect(parseStatus(`began ${STAT}|99.25\n`)).toMatchObject({ shim: parseProcStat(STAT), beganAtSeconds: 99.25 })
    expect(parseStatus(`began ${STAT}\n`)).toMatchObject({ shim: { pid: 4711 }, beganAtSeconds: 1_234.56 })
    expect(parseStatus('began \n')).toMatchObject({ shim: null, beganAtSeconds: null })
  })

  test('a shell reads quoted text unchanged', () => {
    const texts = fc
      .sample(anyText({ maxLength: 20 }), { numRuns: 200, seed: 1 })
      .map((text) => text.replaceAll('\0', ''))
    const clean = texts.map((text) => Buffer.from(text).toString('utf8'))
    const script = `printf '%s\\0' ${clean.map(quote).join(' ')}`
    expect(execFileSync('/bin/sh', ['-c', script]).toString('utf8').split('\0').slice(0, -1)).toEqual(clean)
  })

  test.each([
    ['runs where its kernel is', true],
    ['runs nothing where its kernel is being removed, though the status is free', false],
  ])('a shim %s', (_name, there) => {
    const directory = mkdtempSync(join(tmpdir(), 'reprise-shim-'))
    try {
      mkdirSync(join(directory, 'work'))
      if (there) writeFileSync(join(directory, 'spec.json'), '{}')
      const argv = ['sh', '-c', 'echo ran']
      writeFileSync(
        join(directory, 'run.t'),
        shimScript({ tag: 'k t', argv, environ: new Map(), cgroup: null, launch: null, limits: DEFAULT_LIMITS }),
      )
      // In a group of its own, which it ends with itself.
      spawnSync('/bin/sh', ['-c', 'exec setsid sh ./run.t 8>said'], { cwd: directory })
      expect(readFileSync(join(directory, 'stdout'), 'utf8')).toBe(there ? 'ran\n' : '')
      expect(readFileSync(join(directory, 'said'), 'latin1')).toMatch(
        there ? /^k t began .*\nk t used [\d.]+\|\|\|.*\nk t exit 0\n$/ : /^k t failed\n$/,
      )
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
})

/** Which registries the engine of an agent may be sent to for a tenant. */
describe('registries', () => {
  const NAMES: Readonly<Record<string, string[]>> = {
    'registry.example': ['1.1.1.1', '2606:4700:4700::1111'],
    'metadata.example': ['169.254.169.254'],
    'half.example': ['1.1.1.1', '10.0.0.7'],
    'six.example': ['fd00:ec2::254'],
    metadata: ['169.254.169.254'],
  }

  const asked: string[] = []

  async function resolve(host: string): Promise<string[]> {
    asked.push(host)
    const found = NAMES[host]
    if (found === undefined) throw new Error(`nobody knows ${host}`)
    return found
  }

  async function classOf(image: string, allow: readonly string[] = ['*']): Promise<string | null> {
    return (await registryRefusal(image, allow, resolve))?.failure.name ?? null
  }

  const REFUSED = 'validation-failed'

  test.each([
    ['loopback', ['127.0.0.1/x', '127.0.0.1:5000/x/y:1', '127.8.9.1:80/x', '[::1]/x', '[::1]:5000/x', '0.0.0.0:1/x']],
    ['names of this machine', ['localhost/x', 'LOCALHOST/x', 'localhost:5000/x', 'a.localhost:1/x', 'localhost.:1/x']],
    ['private', ['10.0.0.1/x', '172.16.0.1:5000/x', '192.168.1.1/x', '[fc00::1]/x', '[fd00:ec2::254]:80/x']],
    ['link-local', ['169.254.169.254/x', '169.254.169.254:80/latest/meta-data', '[fe80::1]/x']],
    ['IPv4 in IPv6', ['[::ffff:127.0.0.1]:1/x', '[::ffff:a9fe:a9fe]/x', '[64:ff9b::7f00:1]/x', '[2002:7f00:1::]/x']],
    [
      'decimal, octal, hexadecimal, short',
      ['2130706433:80/x', '0177.0.0.1/x', '0x7f.0.0.1/x', '0x7f000001:1/x', '127.1/x'],
    ],
    ['names that resolve to such', ['metadata.example/x', 'half.example:5000/x', 'six.example/x', 'Metadata/x']],
  ])('%s: refused, unless its host is written out', async (_, images) => {
    for (const image of images) {
      expect(await classOf(image), image).toBe(REFUSED)
      const [registry = ''] = image.split('/')
      expect(await classOf(image, ['*', `${registry}/*`]), image).toBeNull()
      expect(await classOf(image, [`${registry}/of-others/*`, '*']), image).toBe(REFUSED)
    }
  })

  test.each(['*', '127.*', '127.0.0.1*', '*:5000/*', '*.0.0.1:5000/*', '127.0.0.1:5001/*', '127.0.0.1/*', '1*/*'])(
    'the pattern %s writes out no 127.0.0.1:5000',
    async (pattern) => expect(await classOf('127.0.0.1:5000/x', [pattern])).toBe(REFUSED),
  )

  test('any port of a host, or one image alone, may be written out', async () => {
    expect(await classOf('127.0.0.1:5000/x', ['127.0.0.1:*/*'])).toBeNull()
    expect(await classOf('10.1.2.3/team/tool:1', ['10.1.2.3/team/tool:1'])).toBeNull()
    expect(await classOf('10.1.2.3/team/tool:2', ['10.1.2.3/team/tool:1'])).toBe(REFUSED)
    expect(await classOf('[fd00::1]:5000/x', ['[fd00::1]:5000/*'])).toBeNull()
  })

  test('public registries, and names without one, may be asked; only names are looked up', async () => {
    asked.length = 0
    for (const image of [
      'python:3.12',
      'library/python',
      'docker.io/library/python',
      'registry.example:5000/a/b@sha256:0',
    ])
      expect(await classOf(image), image).toBeNull()
    expect(await classOf('1.1.1.1:5000/x')).toBeNull()
    expect(asked).toEqual(['registry.example'])
  })

  test('a name that cannot be resolved is unreachable, and not left to the engine', async () => {
    expect(await classOf('unknown.example/x')).toBe('image-unreachable')
    expect(await classOf('unknown.example/x', ['unknown.example/*'])).toBeNull()
  })

  test.each([
    'docker-archive:/etc/shadow',
    'docker-archive:secrets',
    'dir:/var/lib',
    'oci:/x',
    'docker://127.0.0.1:5000/x',
    'http://127.0.0.1/x',
    '[fe80::1%25eth0]/x',
    '127.0.0.1:99999/x',
    'a:b:c/x',
    'user@127.0.0.1:80/x',
    '127.0.0.1%2f:80/x',
  ])('%s is no image of a registry', async (image) => {
    expect(await classOf(image)).not.toBeNull()
    expect(await classOf(image)).not.toBe('image-unreachable')
  })

  describe('whether any registry is allowed', () => {
    test.each([['*'], ['python*'], ['python:*'], ['*.example.com/*'], ['registry.example.com*'], ['a/b', '*']])(
      '%s',
      (...allow) => expect(allowsAnyRegistry(allow)).toBe(true),
    )
    test.each([['registry.example.com/*'], ['10.0.0.1:*/*'], ['python:3.12', 'library/*'], []])(
      'not by %s',
      (...allow) => expect(allowsAnyRegistry(allow)).toBe(false),
    )
  })
})
