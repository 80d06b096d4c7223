import { execFileSync } from 'node:child_process'
import { readFileSync, statfsSync, writeFileSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { ContainerOptions, ContainerVolume } from '../../../src/agent/executors/container/container-kernel.ts'
import type { Executor, ExecutorHooks } from '../../../src/agent/executors/executor.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { FOREVER } from '../../../src/domain/retention.ts'
import { describeEngines } from '../../support/containers/describe-engines.ts'
import { BASE_IMAGE, whyNoEngine } from '../../support/containers/engines.ts'
import { type PrivateEngine, startEngine } from '../../support/containers/private-engine.ts'
import { pushBase, whyNoRegistry } from '../../support/containers/private-registry.ts'
import { pushVariant } from '../../support/containers/registry-image.ts'
import { sharedEngine, sharedRegistry } from '../../support/containers/shared-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { SLOWLY_MS } from './container-agent.ts'
import { type ContainerFixture, createContainerFixture } from './container-fixture.ts'
import { find, kernelSpec, reaches, readAll } from './executor-subject.ts'

describe('volumes', () => {
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
      const streams = [
        await readAll(executor, spec.kernelId, 'STDOUT'),
        await readAll(executor, spec.kernelId, 'STDERR'),
      ]
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

    test.skipIf(missing !== null)('keep mounts below a read-only one as they are', async () => {
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

    test.skipIf(missing !== null)('are for their projects, whatever the server asks', async () => {
      const mounts = [{ ...SHARED, volume: 'theirs' }]
      expect(await refused({ mounts })).toContain('this agent has no volume theirs for project default')
      expect(await refused({ mounts, projectName: 'theirs2' })).toContain('no volume theirs')
      expect(await run('echo there', { mounts, projectName: 'theirs' })).toBe('there\n')
      expect(await refused({ mounts: [{ ...SHARED, volume: 'none' }] })).toContain('no volume none')
      expect(await refused({ mounts: [{ ...SHARED, volume: '/etc' }] })).toContain('no volume /etc')
      expect(await refused({ mounts: [{ ...DATA, readOnly: false }] })).toContain('is read-only on this agent')
    })

    test.skipIf(missing !== null).each(['/work', '/proc', '/', '/mnt/../proc', 'mnt', '/mnt/shared/below'])(
      'are not at %s, whatever the server asks',
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

    test.skipIf(missing !== null)('are refused if something else took the place of the directory', async () => {
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
})

describe('garbage', () => {
  const DISK_BYTES = 96 * 1024 * 1024

  describeEngines('garbage of an agent with %s', (name) => {
    const missing = whyNoEngine(name) ?? whyNoRegistry()
    const repository = `garbage/${name}`
    let registry: string
    let engine: PrivateEngine
    let fixture: ContainerFixture
    let executor: Executor

    beforeAll(async () => {
      if (missing !== null) return
      registry = await sharedRegistry()
      engine = await startEngine(name, { ofRun: inject('runDirectory'), diskBytes: DISK_BYTES })
      await pushBase(engine, registry, `${repository}:base`)
      for (const tag of ['unused', 'used', 'theirs', 'shared', 'moves', 'full'])
        await pushVariant(registry, repository, 'base', tag)
    })
    afterAll(() => engine?.[Symbol.asyncDispose]())

    const image = (tag: string) => `${registry}/${repository}:${tag}`
    const idOf = async (reference: string) => {
      const { status, text } = await engine.call('GET', `/images/${encodeURIComponent(reference)}/json`)
      return status === 404 ? null : (JSON.parse(text) as { Id: string }).Id
    }
    const isGone = (reference: string) =>
      eventually(async () => (await idOf(reference)) === null, { withinMs: SLOWLY_MS, what: `no image ${reference}` })

    async function open(overrides: Partial<ContainerOptions>): Promise<void> {
      fixture = await createContainerFixture(engine, overrides)
      executor = fixture.create({ changed: () => undefined })
      await executor.recover()
    }
    async function close(): Promise<void> {
      for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
      await eventually(() => executor.observe().length === 0, { withinMs: SLOWLY_MS })
      await executor.close()
      await fixture.dispose()
    }
    async function runOnce(tag: string): Promise<void> {
      const spec = kernelSpec({ command: ['true'], image: image(tag) })
      executor.start(spec, 1)
      expect(await reaches(executor, spec.kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 0 })
      executor.forget(spec.kernelId, 1)
    }
    async function runOn(tag: string): Promise<string> {
      const spec = kernelSpec({ command: ['sleep', '1000'], image: image(tag) })
      executor.start(spec, 1)
      await reaches(executor, spec.kernelId, 'RUNNING', SLOWLY_MS)
      return spec.kernelId
    }

    test.skipIf(missing !== null)(
      'images that it has pulled are removed when they were unused for long; those of others stay',
      async () => {
        await engine.cli('pull', ...(name === 'podman' ? ['--tls-verify=false'] : []), image('theirs'))
        await open({ pull: 'always', imageKeep: { ageSeconds: 1, count: null } })
        const kernelId = await runOn('used')
        for (const tag of ['theirs', 'unused']) await runOnce(tag)
        // A running container keeps its image until the pass has seen it.
        const held = [await runOn('shared'), await runOn('moves')]
        await engine.cli('tag', image('shared'), 'localhost/of-somebody:1')
        const shared = await idOf(image('shared'))
        const moved = (await idOf(image('moves')))!
        await pushVariant(registry, repository, 'base', 'moves')
        held.push(await runOn('moves'))
        expect(await idOf(image('moves'))).not.toBe(moved)
        for (const id of held) executor.forget(id, 1)

        for (const gone of [image('unused'), image('moves'), moved, image('shared')]) await isGone(gone)
        expect(await idOf('localhost/of-somebody:1')).toBe(shared)
        for (const there of [image('used'), image('theirs'), BASE_IMAGE]) expect(await idOf(there)).not.toBeNull()
        executor.forget(kernelId, 1)
        await isGone(image('used'))
        expect(readFileSync(join(fixture.agentDir, 'images.json'), 'utf8')).not.toContain(image('used'))
        expect(await idOf(image('theirs'))).not.toBeNull()
        await close()
      },
    )

    test.skipIf(missing !== null)(
      'an image that is removed before its container is created is pulled again',
      async () => {
        await open({ imageKeep: FOREVER })
        const spec = kernelSpec({ command: ['sh', '-c', 'exit 5'], image: image('unused') })
        executor.prepare(spec, 1)
        await reaches(executor, spec.kernelId, 'PREPARED', SLOWLY_MS)
        await engine.cli('rmi', image('unused'))
        executor.start(spec, 1)
        expect(await reaches(executor, spec.kernelId, 'EXITED', SLOWLY_MS)).toMatchObject({ exitCode: 5, error: null })
        await close()
      },
    )

    test.skipIf(missing !== null)(
      'while the disk is full, the images that nothing uses go, also those of an earlier instance',
      async () => {
        await open({ imageKeep: FOREVER })
        await runOnce('unused')
        const kernelId = await runOn('full')
        await executor.close()
        executor = fixture.create({ changed: () => undefined })
        await executor.recover()
        await reaches(executor, kernelId, 'RUNNING', SLOWLY_MS)
        const { bsize, bavail, blocks } = statfsSync(engine.disk)
        expect(bavail / blocks).toBeGreaterThan(0.1)
        const fill = join(engine.disk, 'fill')
        writeFileSync(fill, Buffer.alloc(Math.floor(bsize * (bavail - blocks * 0.05))))
        await isGone(image('unused'))
        expect(await idOf(image('full'))).not.toBeNull()
        await close()
      },
    )
  })
})
