import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { type Engine, openEngine } from '../../../src/agent/executors/container/engine/engine.ts'
import { createImagePuller, type PullPolicy } from '../../../src/agent/executors/container/engine/pull-image.ts'
import { lastingPort } from '../../support/agents/lasting-port.ts'
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
  REGISTRY_USER,
  startRegistry,
  whyNoRegistry,
} from '../../support/containers/private-registry.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'

const DIGEST = `sha256:${'0'.repeat(64)}`
const WRONG = { username: REGISTRY_USER.username, password: 'another password' }

describe.each(ENGINES)('images of %s', (name) => {
  const missing = whyNoEngine(name) ?? whyNoRegistry()
  let root: string
  let open: PrivateRegistry
  let locked: PrivateRegistry
  let privateEngine: PrivateEngine
  let engine: Engine
  let silent: string

  beforeAll(async () => {
    if (missing !== null) return
    root = await temporaryDirectory(`images-${name}`)
    open = await startRegistry(join(root, 'open'))
    locked = await startRegistry(join(root, 'locked'), { locked: true })
    silent = `127.0.0.1:${await lastingPort()}`
    const registries = [open.host, locked.host, silent]
    privateEngine = await startEngine(name, { ofRun: inject('runDirectory'), registries })
    await pushBase(privateEngine, open.host, 'team/tool:1')
    await pushBase(privateEngine, locked.host, 'team/secret:1', REGISTRY_USER)
    engine = openEngine(privateEngine.socket)
  })
  afterAll(async () => {
    await engine?.close()
    await privateEngine?.[Symbol.asyncDispose]()
    await open?.[Symbol.asyncDispose]()
    await locked?.[Symbol.asyncDispose]()
  })

  async function authFile({ username, password }: typeof REGISTRY_USER): Promise<string> {
    const path = join(root, 'config.json')
    const auth = Buffer.from(`${username}:${password}`).toString('base64')
    await writeFile(path, JSON.stringify({ auths: { [locked.host]: { auth } } }))
    return path
  }

  async function resolve(image: string, { policy = 'missing', auth }: { policy?: PullPolicy; auth?: string } = {}) {
    const puller = createImagePuller(engine, { authFile: auth, retryAfterMs: [10] })
    const progress: string[] = []
    const answer = await puller.resolve({ name: image, digest: null, policy }, (text) => progress.push(text))
    puller.close()
    return { answer, progress }
  }

  test.skipIf(missing !== null).each([
    ['an unknown tag', 'image-not-found', () => `${open.host}/team/tool:none`],
    ['an unknown name', 'image-not-found', () => `${open.host}/team/none:1`],
    ['an unknown digest', 'image-not-found', () => `${open.host}/team/tool@${DIGEST}`],
    ['no credentials', 'image-unauthorised', () => `${locked.host}/team/secret:1`],
    ['nobody who answers', 'image-unreachable', () => `${silent}/team/tool:1`],
    ['no valid name', 'image-invalid', () => `${open.host}/Team/TOOL:1`],
  ])('%s: %s', async (_, reason, image) => {
    const { answer } = await resolve(image())
    expect(answer).toMatchObject({ name: reason, message: expect.stringContaining(image()) as string })
  })

  test.skipIf(missing !== null)('credentials go to their registry, and into no message', async () => {
    const image = `${locked.host}/team/secret:1`
    const refused = await resolve(image, { auth: await authFile(WRONG) })
    expect(refused.answer).toMatchObject({ name: 'image-unauthorised' })
    const told = JSON.stringify(refused)
    expect(told).not.toContain(WRONG.password)
    expect(told).not.toContain(Buffer.from(`${WRONG.username}:${WRONG.password}`).toString('base64'))

    const { answer, progress } = await resolve(image, { auth: await authFile(REGISTRY_USER) })
    expect(answer).toMatchObject({ digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string, pulled: true })
    expect(progress[0]).toMatch(`pulling ${image}: `)
  })

  test.skipIf(missing !== null)('by id there are only those of the name', async () => {
    await privateEngine.cli('tag', BASE_IMAGE, 'localhost/private:1')
    const { id } = (await engine.inspectImage('localhost/private:1'))!
    const byId = async (image: string) => {
      const puller = createImagePuller(engine, { retryAfterMs: [] })
      const answer = await puller.resolve({ name: image, digest: id, policy: 'never' }, () => undefined)
      puller.close()
      return answer
    }
    expect(await byId('localhost/private:2')).toMatchObject({ id, digest: id })
    expect(await byId(`${open.host}/team/other:1`)).toMatchObject({ name: 'image-not-found' })
  })

  test.skipIf(missing !== null)('an image that is named by its digest has that one', async () => {
    const tagged = await resolve(await pushBase(privateEngine, open.host, 'team/named:1'))
    const digest = 'digest' in tagged.answer ? tagged.answer.digest : ''
    const named = await resolve(`${open.host}/team/named@${digest}`)
    expect(named.answer).toMatchObject({ digest })
  })

  test.skipIf(missing !== null)('what is there is not pulled, and nothing is where nothing may be', async () => {
    const image = `${open.host}/team/tool:1`
    expect((await resolve(image, { policy: 'never' })).answer).toMatchObject({ name: 'image-not-found' })
    const pulled = await resolve(image)
    expect(pulled.answer).toMatchObject({ pulled: true })
    const there = await resolve(image)
    expect(there).toEqual({ answer: { ...pulled.answer, pulled: false }, progress: [] })
  })
})
