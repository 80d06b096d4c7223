import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { type Engine, openEngine } from '../../../src/agent/executors/container/engine/engine.ts'
import { createImagePuller } from '../../../src/agent/executors/container/engine/pull-image.ts'
import {
  BASE_IMAGE,
  ENGINES,
  type PrivateEngine,
  startEngine,
  whyNoEngine,
} from '../../support/containers/private-engine.ts'
import {
  type PrivateRegistry,
  pushBase,
  startRegistry,
  whyNoRegistry,
} from '../../support/containers/private-registry.ts'
import { throttle, type ThrottledProxy } from '../../support/containers/throttled-proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { SLOWLY_MS } from './container-agent.ts'

/** The image takes some seconds. */
const BYTES_PER_SECOND = 150_000
const SILENT_MAX_MS = 5_000
const LONG = { timeout: 3 * SLOWLY_MS }
const NAME = 'team/large:1'

interface Told {
  text: string
  at: number
}

describe.each(ENGINES)('pulls of %s over a narrow line', (name) => {
  const missing = whyNoEngine(name) ?? whyNoRegistry()
  let registry: PrivateRegistry
  let proxy: ThrottledProxy
  let privateEngine: PrivateEngine
  let engine: Engine

  beforeAll(async () => {
    if (missing !== null) return
    registry = await startRegistry(join(await temporaryDirectory(`slow-pulls-${name}`), 'registry'))
    proxy = await throttle(registry.host, BYTES_PER_SECOND)
    const registries = [registry.host, proxy.host]
    privateEngine = await startEngine(name, { ofRun: inject('runDirectory'), registries })
    await pushBase(privateEngine, registry.host, NAME)
    // Its layer would be here under that name.
    await privateEngine.cli('rmi', BASE_IMAGE)
    engine = openEngine(privateEngine.socket)
  })
  afterAll(async () => {
    await engine?.close()
    await privateEngine?.[Symbol.asyncDispose]()
    await proxy?.[Symbol.asyncDispose]()
    await registry?.[Symbol.asyncDispose]()
  })

  /** For as many as ask for it at once, each of whom is told how far it is. */
  function pull(times: number, { silentMaxMs }: { silentMaxMs?: number } = {}) {
    const pulled = { look: <T>(look: () => Promise<T>) => look(), pulled: () => undefined }
    const puller = createImagePuller(engine, { pulled, retryAfterMs: [10], ...(silentMaxMs && { silentMaxMs }) })
    const request = { name: `${proxy.host}/${NAME}`, digest: null, policy: 'missing' as const }
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
    expect(first!.text).toBe(`pulling ${proxy.host}/${NAME}`)
    for (const { text } of more) expect(text).toMatch(/^pulling \S+: \d+ of \d+ layers(, \d+\.\d MiB)?$/)
    const amounts = more.flatMap(({ text }) => /, ([\d.]+) MiB/.exec(text)?.[1] ?? []).map(Number)
    expect(amounts.length).toBeGreaterThanOrEqual(2)
    expect(amounts).toEqual(amounts.toSorted((a, b) => a - b))
    const pauses = more.map(({ at }, index) => at - told[0]![index]!.at)
    // It reads the clock a moment before it tells, which is longer where this process has to wait for its turn.
    for (const pause of pauses) expect(pause).toBeGreaterThan(900)
  })

  test.skipIf(missing !== null)('one of which nothing more comes is given up, and says so', LONG, async () => {
    await privateEngine.cli('rmi', `${proxy.host}/${NAME}`)
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
