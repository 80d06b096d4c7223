/** Directories of the machine under names, in containers: for whom, as what, and what they are when the time comes. */
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ContainerVolume } from '../../../src/agent/executors/container/container-kernel.ts'
import type { Executor, ExecutorHooks } from '../../../src/agent/executors/executor.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { describeEngines } from '../../support/containers/describe-engines.ts'
import { BASE_IMAGE, whyNoEngine } from '../../support/containers/engines.ts'
import { sharedEngine } from '../../support/containers/shared-engine.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { type ContainerFixture, createContainerFixture } from './container-fixture.ts'
import { find, kernelSpec, reaches, readAll } from './executor-subject.ts'

const HOOKS: ExecutorHooks = { changed: () => undefined, fetchCode: () => Promise.reject(new Error('no code')) }
const DATA = { volume: 'data', path: '/mnt/data', readOnly: true }
/** A link to a directory that is no engine's is followed as ever. */
const LINKS = `ln -s /etc /settings; ln -s etc /relative; ln -s /settings /chained; ln -s / /parent; ln -s circle /circle
  mkdir -p /elsewhere/linked; ln -s /elsewhere/linked /linked`
const SHARED = { volume: 'shared', path: '/mnt/shared', readOnly: false }

describeEngines('volumes in %s', (name) => {
  const missing = whyNoEngine(name)
  let fixture: ContainerFixture
  let executor: Executor
  let root: string

  beforeAll(async () => {
    if (missing !== null) return
    root = await temporaryDirectory(`volumes-${name}`)
    const volume = async (called: string, more: Partial<ContainerVolume> = {}): Promise<ContainerVolume> => {
      const source = join(root, called)
      await mkdir(source)
      await chmod(source, 0o777)
      return { name: called, source, readOnly: false, projects: null, ...more }
    }
    const volumes = [
      await volume('data', { readOnly: true }),
      await volume('shared'),
      await volume('theirs', { projects: ['theirs'] }),
      await volume('moved'),
    ]
    await writeFile(join(root, 'data', 'text'), 'from the machine\n')
    fixture = await createContainerFixture(await sharedEngine(name), { pull: 'never', volumes })
    executor = fixture.create(HOOKS)
    await executor.recover()
  })
  afterAll(async () => {
    await executor?.close()
    await fixture?.dispose()
  })

  async function run(script: string, given: Partial<KernelSpec>): Promise<string> {
    const spec = kernelSpec({ command: ['sh', '-c', script], projectName: 'default', ...given })
    executor.start(spec, 1)
    await reaches(executor, spec.kernelId, 'EXITED')
    const streams = [await readAll(executor, spec.kernelId, 'STDOUT'), await readAll(executor, spec.kernelId, 'STDERR')]
    return streams.map(({ text }) => text).join('')
  }

  async function refused(given: Partial<KernelSpec>): Promise<string> {
    const spec = kernelSpec({ command: ['true'], projectName: 'default', ...given })
    executor.start(spec, 1)
    await reaches(executor, spec.kernelId, 'FAILED')
    const { error } = find(executor, spec.kernelId)!
    expect(error!.name).toBe('executor-failed')
    return error!.message
  }

  test.skipIf(missing !== null)('are there, and read-only where that is asked for', async () => {
    const mounts = [DATA, { ...SHARED, path: '/mnt/read', readOnly: true }, SHARED]
    const script = `cat /mnt/data/text; echo here >/mnt/shared/left
      for place in /mnt/data /mnt/read; do touch $place/no 2>/dev/null || echo "$place cannot be changed"; done`
    const printed = await run(script, { mounts })
    expect(printed).toBe('from the machine\n/mnt/data cannot be changed\n/mnt/read cannot be changed\n')
    expect(await readFile(join(root, 'shared', 'left'), 'utf8')).toBe('here\n')
    expect(await readdir(join(root, 'data'))).toEqual(['text'])
  })

  test.skipIf(missing !== null)('keep what is mounted below a read-only one as it is', async () => {
    const below = join(root, 'data', 'below')
    await mkdir(below)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'mode=777', 'tmpfs', below])
    try {
      expect(await run('touch /mnt/data/below/no 2>/dev/null || echo unchanged', { mounts: [DATA] })).toBe(
        'unchanged\n',
      )
      expect(await readdir(below)).toEqual([])
    } finally {
      execFileSync('umount', [below])
      await rm(below, { recursive: true })
    }
  })

  test.skipIf(missing !== null)('are for their projects, whatever the server says', async () => {
    const mounts = [{ ...SHARED, volume: 'theirs' }]
    expect(await refused({ mounts })).toContain('this agent has no volume theirs for project default')
    expect(await refused({ mounts, projectName: 'theirs2' })).toContain('no volume theirs')
    expect(await run('echo there', { mounts, projectName: 'theirs' })).toBe('there\n')
    expect(await refused({ mounts: [{ ...SHARED, volume: 'none' }] })).toContain('no volume none')
    expect(await refused({ mounts: [{ ...SHARED, volume: '/etc' }] })).toContain('no volume /etc')
    expect(await refused({ mounts: [{ ...DATA, readOnly: false }] })).toContain('is read-only on this agent')
  })

  test.skipIf(missing !== null).each(['/work', '/proc', '/', '/mnt/../proc', 'mnt', '/mnt/shared/below'])(
    'are not at %s, whatever the server says',
    async (path) => {
      expect(await refused({ mounts: [SHARED, { ...SHARED, path }] })).toContain('cannot be mounted at')
    },
  )

  test.skipIf(missing !== null)('are not where a link of the image leads to files of the engine', async () => {
    const engine = await sharedEngine(name)
    const image = `localhost/links-${name}:1`
    const made = (await engine.cli('create', BASE_IMAGE, 'sh', '-c', LINKS)).trim()
    await engine.cli('start', '--attach', made)
    await engine.cli('commit', made, image)
    await engine.cli('rm', made)
    const before = await readdir(join(root, 'shared'))
    const at = (path: string) => ({ image, mounts: [{ ...SHARED, path }] })
    for (const path of ['/settings', '/relative', '/chained', '/parent/etc', '/parent/etc/hosts']) {
      expect(await refused(at(path))).toMatch(/^volume shared cannot be mounted at \S+, which is \/etc/)
    }
    expect(await refused(at('/parent/proc/1'))).toContain('/proc is used by the kernel itself')
    expect(await refused(at('/circle/x'))).toContain('could not be prepared: the engine answered with status 500')
    expect(await readdir(join(root, 'shared'))).toEqual(before)
    expect(
      await run('ls /elsewhere/linked; touch /linked/there && ls /elsewhere/linked/there', at('/linked')),
    ).toContain('/elsewhere/linked/there\n')
  })

  test.skipIf(missing !== null)('are not what took the place of the directory', async () => {
    const source = join(root, 'moved')
    const mounts = [{ ...SHARED, volume: 'moved' }]
    await rename(source, `${source}-away`)
    expect(await refused({ mounts })).toContain('no such file or directory')
    expect(await readdir(root)).not.toContain('moved')
    await symlink('/etc', source)
    expect(await refused({ mounts })).toContain('is no directory')
    await rm(source)
    await writeFile(source, '')
    expect(await refused({ mounts })).toContain('is no directory')
  })
})
