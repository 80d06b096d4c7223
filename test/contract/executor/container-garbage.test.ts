import { readFileSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import type { ContainerOptions } from '../../../src/agent/executors/container/container-kernel.ts'
import { FOREVER } from '../../../src/domain/retention.ts'
import { describeEngines } from '../../support/containers/describe-engines.ts'
import { BASE_IMAGE, whyNoEngine } from '../../support/containers/engines.ts'
import { type PrivateEngine, startEngine } from '../../support/containers/private-engine.ts'
import { pushBase, whyNoRegistry } from '../../support/containers/private-registry.ts'
import { pushVariant } from '../../support/containers/registry-image.ts'
import { sharedRegistry } from '../../support/containers/shared-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { SLOWLY_MS } from './container-agent.ts'
import { type ContainerFixture, createContainerFixture } from './container-fixture.ts'
import { kernelSpec, reaches } from './executor-subject.ts'

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
    'images that it has pulled go when they were not used for so long; those of others stay',
    async () => {
      await engine.cli('pull', ...(name === 'podman' ? ['--tls-verify=false'] : []), image('theirs'))
      await open({ pull: 'always', imageKeep: { ageSeconds: 1, count: null } })
      const kernelId = await runOn('used')
      for (const tag of ['theirs', 'unused']) await runOnce(tag)
      // What runs keeps its image until it has been looked at.
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
    'an image that somebody removes before its container is made is fetched again',
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
