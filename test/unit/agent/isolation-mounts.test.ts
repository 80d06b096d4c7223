import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { unneededMounts } from '../../../src/agent/executors/process/isolation/fork-server-entry.ts'
import { coverable, isOpenToAll, type Hidden } from '../../../src/agent/executors/process/isolation/hidden-paths.ts'

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

test('what lies below a directory that the kernel may not enter is hidden with it, and nothing else is', () => {
  const secrets = hidden('open/token', 'closed/token', 'closed/deeper/token', 'covered/token')
  const all = coverable(secrets, (path) => !path.startsWith(root) || isOpenToAll(path), [join(root, 'covered')])
  expect(all).toEqual([
    { path: join(root, 'closed'), directory: true },
    { path: join(root, 'open/token'), directory: false },
  ])
})
