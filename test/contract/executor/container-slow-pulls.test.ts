import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Engine, openEngine } from '../../../src/agent/executors/container/engine/engine.ts'
import { createImagePuller } from '../../../src/agent/executors/container/engine/pull-image.ts'
import { describeEngines } from '../../support/containers/describe-engines.ts'
import { BASE_IMAGE, type ContainerEngine, whyNoEngine } from '../../support/containers/engines.ts'
import { ALLOWED_IMAGES, whyNoRegistry } from '../../support/containers/private-registry.ts'
import { sharedEngine, sharedRegistry } from '../../support/containers/shared-engine.ts'
import { throttle, type ThrottledProxy } from '../../support/containers/throttled-proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { SLOWLY_MS } from './container-agent.ts'
import { testLog } from './process-fixture.ts'

const LAYER_BYTES = 600_000
const BYTES_PER_SECOND = 150_000
const SILENT_MAX_MS = 5_000
const LONG = { timeout: 3 * SLOWLY_MS }

interface Told {
  text: string
  at: number
}

describeEngines('pulls of %s over a narrow line', (name) => {
  const missing = whyNoEngine(name) ?? whyNoRegistry()
  const image = `slow-pulls/${name}:1`
  let proxy: ThrottledProxy
  let shared: ContainerEngine
  let engine: Engine

  beforeAll(async () => {
    if (missing !== null) return
    const registry = await sharedRegistry()
    proxy = await throttle(registry, BYTES_PER_SECOND)
    shared = await sharedEngine(name)
    await pushLayer(shared, `${registry}/${image}`)
    engine = openEngine(shared.socket)
  })
  afterAll(async () => {
    await engine?.close()
    await proxy?.[Symbol.asyncDispose]()
  })

  /** For as many as ask for it at once, each of whom is told how far it is. */
  function pull(times: number, { silentMaxMs }: { silentMaxMs?: number } = {}) {
    const pulled = { look: <T>(look: () => Promise<T>) => look(), pulled: () => undefined }
    const puller = createImagePuller(engine, {
      pulled,
      allow: ALLOWED_IMAGES,
      log: testLog,
      retryAfterMs: [10],
      ...(silentMaxMs && { silentMaxMs }),
    })
    const request = { name: `${proxy.host}/${image}`, digest: null, policy: 'missing' as const }
    const told = Array.from({ length: times }, (): Told[] => [])
    const all = told.map((each) => puller.resolve(request, (text) => void each.push({ text, at: performance.now() })))
    return { told, answers: Promise.all(all).finally(() => puller.close()) }
  }

  test.skipIf(missing !== null)('all who wait are told how far it is, once a second at most', LONG, async () => {
    const { told, answers } = pull(3)
    for (const answer of await answers)
      expect(answer).toMatchObject({ id: expect.stringMatching(/^sha256:/) as string })
    for (const each of told) expect(each.map(({ text }) => text)).toEqual(told[0]!.map(({ text }) => text))
    const [first, ...more] = told[0]!
    expect(first!.text).toBe(`pulling ${proxy.host}/${image}`)
    for (const { text } of more) expect(text).toMatch(/^pulling \S+: \d+ of \d+ layers(, \d+\.\d MiB)?$/)
    const amounts = more.flatMap(({ text }) => /, ([\d.]+) MiB/.exec(text)?.[1] ?? []).map(Number)
    expect(amounts.length).toBeGreaterThanOrEqual(2)
    expect(amounts).toEqual(amounts.toSorted((a, b) => a - b))
    const pauses = more.map(({ at }, index) => at - told[0]![index]!.at)
    // It reads the clock a moment before it tells, which is longer where this process has to wait for its turn.
    for (const pause of pauses) expect(pause).toBeGreaterThan(900)
  })

  test.skipIf(missing !== null)('one of which nothing more comes is given up, and says so', LONG, async () => {
    await shared.cli('rmi', `${proxy.host}/${image}`)
    const { told, answers } = pull(1, { silentMaxMs: SILENT_MAX_MS })
    await eventually(() => told[0]!.some(({ text }) => text.includes('MiB')), { withinMs: SLOWLY_MS })
    proxy.stall()
    expect(await answers).toMatchObject([
      {
        name: 'image-unreachable',
        message: expect.stringContaining(`no progress for ${SILENT_MAX_MS / 1_000} s`) as string,
      },
    ])
    expect(told[0]!.map(({ text }) => text)).toContainEqual(expect.stringMatching(/^pulling again: /))
  })
})

/** The base image with a layer that the engine has under no other name, once the image is gone there. */
async function pushLayer(engine: ContainerEngine, image: string): Promise<void> {
  const file = join(await temporaryDirectory('layer'), 'random')
  await writeFile(file, randomBytes(LAYER_BYTES))
  const container = (await engine.cli('create', '--network', 'none', BASE_IMAGE, 'true')).trim()
  await engine.cli('cp', file, `${container}:/random`)
  await engine.cli('commit', container, image)
  await engine.cli('rm', container)
  await engine.push(image)
  await engine.cli('rmi', image)
}
