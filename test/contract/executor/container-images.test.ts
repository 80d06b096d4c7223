import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Engine, openEngine } from '../../../src/agent/executors/container/engine/engine.ts'
import { createImagePuller, type PullPolicy } from '../../../src/agent/executors/container/engine/pull-image.ts'
import { openPulledImages } from '../../../src/agent/executors/container/engine/pulled-images.ts'
import { FOREVER } from '../../../src/domain/retention.ts'
import { fixedPort } from '../../support/agents/fixed-port.ts'
import { describeEngines } from '../../support/containers/describe-engines.ts'
import { BASE_IMAGE, type ContainerEngine, whyNoEngine } from '../../support/containers/engines.ts'
import {
  ALLOWED_IMAGES,
  type PrivateRegistry,
  pushBase,
  REGISTRY_USER,
  startRegistry,
  whyNoRegistry,
} from '../../support/containers/private-registry.ts'
import { sharedEngine, sharedRegistry } from '../../support/containers/shared-engine.ts'
import { slowDown } from '../../support/containers/slow-engine.ts'
import { throttle, type ThrottledProxy } from '../../support/containers/throttled-proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { holdAgent, SLOWLY_MS } from './container-agent.ts'
import { createContainerFixture } from './container-fixture.ts'
import { kernelSpec } from './executor-subject.ts'
import { testLog } from './process-fixture.ts'

describe('images', () => {
  const DIGEST = `sha256:${'0'.repeat(64)}`
  const WRONG = { username: REGISTRY_USER.username, password: 'another password' }

  describeEngines('images of %s', (name) => {
    const missing = whyNoEngine(name) ?? whyNoRegistry()
    let root: string
    /** The namespace of the public repositories. */
    let open: string
    let locked: PrivateRegistry
    let shared: ContainerEngine
    let engine: Engine
    let silent: string

    beforeAll(async () => {
      if (missing !== null) return
      root = await temporaryDirectory(`images-${name}`)
      open = `${await sharedRegistry()}/images-${name}`
      locked = await startRegistry(join(root, 'locked'), { locked: true })
      silent = `127.0.0.1:${await fixedPort()}`
      shared = await sharedEngine(name)
      await pushBase(shared, open, 'tool:1')
      await pushBase(shared, locked.host, 'team/secret:1', REGISTRY_USER)
      engine = openEngine(shared.socket)
    })
    afterAll(async () => {
      await engine?.close()
      await locked?.[Symbol.asyncDispose]()
    })

    async function authFile({ username, password }: typeof REGISTRY_USER): Promise<string> {
      const path = join(root, 'config.json')
      const auth = Buffer.from(`${username}:${password}`).toString('base64')
      await writeFile(path, JSON.stringify({ auths: { [locked.host]: { auth } } }))
      return path
    }

    interface Asked {
      policy?: PullPolicy
      digest?: string
      auth?: string
      /** The number of simultaneous requests. */
      times?: number
      from?: Engine
      allow?: readonly string[]
      /** For the words that go to the agent's log. */
      logged?: object[]
    }

    async function resolveAll(image: string, asked: Asked = {}) {
      const { policy = 'missing', digest, auth, times = 1, from = engine, allow = ALLOWED_IMAGES, logged = [] } = asked
      const log = { warn: (...words: unknown[]) => void logged.push(words) } as unknown as typeof testLog
      const pulled = openPulledImages(from, {
        file: join(root, 'images.json'),
        keep: FOREVER,
        rootDir: '',
        inUse: () => new Set(),
        log: testLog,
      })
      const puller = createImagePuller(from, { authFile: auth, allow, log, pulled, retryAfterMs: [10] })
      const answers = Array.from({ length: times }, async () => {
        const progress: string[] = []
        const request = { name: image, digest: digest ?? null, policy }
        const answer = await puller.resolve(request, (text) => progress.push(text))
        return { answer, progress }
      })
      const all = await Promise.all(answers)
      puller.close()
      await pulled.close()
      return all
    }

    async function resolve(image: string, asked: Asked = {}) {
      const [only] = await resolveAll(image, asked)
      return only!
    }

    test.skipIf(missing !== null).each([
      ['an unknown tag', 'image-not-found', () => `${open}/tool:none`],
      ['an unknown name', 'image-not-found', () => `${open}/none:1`],
      ['an unknown digest', 'image-not-found', () => `${open}/tool@${DIGEST}`],
      ['no credentials', 'image-unauthorised', () => `${locked.host}/team/secret:1`],
      ['nobody who answers', 'image-unreachable', () => `${silent}/team/tool:1`],
      ['a host that nobody knows', 'image-unreachable', () => 'registry.invalid/team/tool:1'],
      ['no valid name', 'image-invalid', () => `${open}/Team/TOOL:1`],
    ])('%s: %s', async (_, reason, image) => {
      const { answer } = await resolve(image())
      expect(answer).toMatchObject({ name: reason, message: expect.stringContaining(image()) as string })
    })

    /** A registry of a tenant, which answers everything with these words; `asked` is all that came. */
    async function playRegistry(status: number, words: string) {
      const asked: string[] = []
      const listener = createServer((request, response) => {
        asked.push(`${request.method} ${request.url}`)
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ errors: [{ code: words, message: words, detail: words }] }))
      })
      await once(listener.listen(0, '127.0.0.1'), 'listening')
      const { port } = listener.address() as AddressInfo
      return { port, asked, [Symbol.asyncDispose]: async () => void (await once(listener.close(), 'close')) }
    }

    test.skipIf(missing !== null)('no request goes to a registry on this machine that nobody has named', async () => {
      await using played = await playRegistry(404, 'keys')
      const { port } = played
      for (const host of ['127.0.0.1', 'localhost', 'LOCALHOST', '127.1', '2130706433', '0x7f.1']) {
        const logged: object[] = []
        const { answer } = await resolve(`${host}:${port}/x/y:1`, { allow: ['*'], logged })
        expect(answer, host).toMatchObject({
          name: 'validation-failed',
          message: expect.stringContaining('refused by policy'),
        })
        expect(JSON.stringify(logged), host).toContain('is not asked')
      }
      expect(played.asked).toEqual([])
      // That it would have come.
      await resolve(`127.0.0.1:${port}/x/y:1`, { allow: [`127.0.0.1:${port}/*`] })
      expect(played.asked.length).toBeGreaterThan(0)
    })

    test.skipIf(missing !== null).each([404, 401, 403, 500])(
      'what a registry answers with %i is in the log of the agent, and in nothing that the tenant reads',
      async (status) => {
        await using played = await playRegistry(status, 'secretkeysofacloud')
        const logged: object[] = []
        const { answer, progress } = await resolve(`127.0.0.1:${played.port}/x/y:1`, { logged })
        expect(played.asked.length).toBeGreaterThan(0)
        expect(JSON.stringify([answer, progress])).not.toContain('secretkeys')
        expect(answer).toMatchObject({
          message: expect.stringMatching(/: (?:no such image|denied: .*|its registry is unreachable)$/),
        })
        expect(JSON.stringify(logged)).toContain(`127.0.0.1:${played.port}`)
        if (name === 'docker' && status < 500) expect(JSON.stringify(logged)).toContain('secretkeys')
      },
    )

    test.skipIf(missing !== null)('credentials go to their registry, and into no message', async () => {
      const image = `${locked.host}/team/secret:1`
      const refused = await resolve(image, { auth: await authFile(WRONG) })
      expect(refused.answer).toMatchObject({ name: 'image-unauthorised' })
      const told = JSON.stringify(refused)
      expect(told).not.toContain(WRONG.password)
      expect(told).not.toContain(Buffer.from(`${WRONG.username}:${WRONG.password}`).toString('base64'))

      const { answer, progress } = await resolve(image, { auth: await authFile(REGISTRY_USER) })
      expect(answer).toMatchObject({ digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string })
      expect(progress[0]).toBe(`pulling ${image}`)
    })

    test.skipIf(missing !== null)('by id there are only those of the name', async () => {
      await shared.cli('tag', BASE_IMAGE, 'localhost/images-of-one:1')
      const { id } = (await engine.inspectImage('localhost/images-of-one:1'))!
      const byId = async (image: string) => (await resolve(image, { digest: id, policy: 'never' })).answer
      expect(await byId('localhost/images-of-one:2')).toMatchObject({ id, digest: id })
      expect(await byId(`${open}/other:1`)).toMatchObject({ name: 'image-not-found' })
    })

    test.skipIf(missing !== null)('an image that is named by its digest has that one', async () => {
      const tagged = await resolve(await pushBase(shared, open, 'named:1'))
      const digest = 'digest' in tagged.answer ? tagged.answer.digest : ''
      const named = await resolve(`${open}/named@${digest}`)
      expect(named.answer).toMatchObject({ digest })
    })

    test.skipIf(missing !== null)(
      'an image that is there is not pulled, and none is where pulling is off',
      async () => {
        const image = `${open}/tool:1`
        expect((await resolve(image, { policy: 'never' })).answer).toMatchObject({ name: 'image-not-found' })
        const pulled = await resolve(image)
        expect(pulled.progress[0]).toBe(`pulling ${image}`)
        const there = await resolve(image)
        expect(there).toEqual({ answer: pulled.answer, progress: [] })
      },
    )

    test.skipIf(missing !== null)('however many wait for an image, it is pulled once', async () => {
      const image = await pushBase(shared, open, 'awaited:1')
      await using proxy = await slowDown(shared.socket, (request) =>
        request.startsWith('POST /images/create') ? 'request' : null,
      )
      const slow = openEngine(proxy.socket)
      const all = resolveAll(image, { times: 5, from: slow })
      await eventually(() => proxy.asked().length > 0)
      proxy.passOn(true)
      const answers = await all
      expect(new Set(answers.map(({ answer }) => JSON.stringify(answer))).size).toBe(1)
      expect(answers[0]!.answer).toMatchObject({ digest: expect.stringMatching(/^sha256:/) as string })
      expect(answers.every(({ progress }) => progress[0] === `pulling ${image}`)).toBe(true)
      expect(proxy.asked()).toHaveLength(1)
      await slow.close()
    })

    test.skipIf(missing !== null)('credentials are in no file, message or engine setting of an agent', async () => {
      const image = `${locked.host}/team/secret:1`
      await engine.removeImage(image)
      const fixture = await createContainerFixture(shared)
      const spec = kernelSpec({ command: ['env'], image })
      const refused = kernelSpec({ command: ['env'], image: `${locked.host}/team/none:1` })
      const auth = await authFile(REGISTRY_USER)
      const agent = holdAgent(fixture, shared.socket, [spec, refused], { authFile: auth, pull: 'always' })
      agent.start()
      await agent.reaches(spec.kernelId, 'EXITED')
      await agent.reaches(refused.kernelId, 'FAILED')
      const { Id } = (await fixture.container(spec.kernelId))!
      const kept = [
        agent.said(),
        (await shared.call('GET', `/containers/${Id}/json`)).text,
        (await shared.call('GET', `/images/${encodeURIComponent(image)}/json`)).text,
        ...(await everyFile(fixture.agentDir)),
      ].join('\n')
      expect(kept).toContain(spec.kernelId)
      expect(kept).toContain('PATH=')
      const { username, password } = REGISTRY_USER
      for (const secret of [password, Buffer.from(`${username}:${password}`).toString('base64'), 'password']) {
        expect(kept).not.toContain(secret)
      }
      await agent.kill()
      await shared.call('DELETE', `/containers/${Id}?force=1`)
      await fixture.dispose()
    })
  })

  async function everyFile(directory: string): Promise<string[]> {
    const found = await readdir(directory, { recursive: true, withFileTypes: true })
    return Promise.all(
      found.filter((each) => each.isFile()).map((each) => readFile(join(each.parentPath, each.name), 'utf8')),
    )
  }
})

describe('slow pulls', () => {
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

    test.skipIf(missing !== null)('all who wait see its progress, once a second at most', LONG, async () => {
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

    test.skipIf(missing !== null)('one without progress is cancelled, with the reason', LONG, async () => {
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
})
