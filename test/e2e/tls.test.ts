import { copyFile, mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MAIN, startCommand } from '../support/programs/command-line.ts'
import { emptyDatabase } from '../support/database/database.ts'
import { eventually } from '../support/eventually.ts'
import { spawnProgram, type SpawnedProgram } from '../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

/** A server that speaks TLS, its clients and agents, and certificates that are renewed under it. */

const PAIRS = join(import.meta.dirname, '../support/tls')
const CA = join(PAIRS, 'ca.cert.pem')
const WITHIN = { withinMs: 120_000 }

let database: Awaited<ReturnType<typeof emptyDatabase>>
let root: string
let server: SpawnedProgram
let url: string

const serverEnvironment = (name: string, more: Record<string, string>) => ({
  REPRISE_DATA_DIR: join(root, name),
  REPRISE_DATABASE_URL: database.connectionString,
  REPRISE_PORT: '0',
  REPRISE_ROLES: 'api,scheduler',
  ...more,
})

/** Writes the files as Kubernetes mounts a secret: links through a link to a directory. */
async function mount(version: string, pair: string): Promise<void> {
  const directory = join(root, 'certs')
  await mkdir(join(directory, version), { recursive: true })
  await copyFile(join(PAIRS, `${pair}.cert.pem`), join(directory, version, 'tls.crt'))
  await copyFile(join(PAIRS, `${pair}.key.pem`), join(directory, version, 'tls.key'))
  await symlink(version, join(directory, '..data_tmp'))
  await rename(join(directory, '..data_tmp'), join(directory, '..data'))
}

beforeAll(async () => {
  database = await emptyDatabase()
  root = await temporaryDirectory('tls')
  await mount('..1', 'first')
  for (const name of ['tls.crt', 'tls.key']) await symlink(`..data/${name}`, join(root, 'certs', name))
  server = await spawnProgram({
    args: [MAIN, 'serve'],
    environment: serverEnvironment('data', {
      REPRISE_TLS_CERT_FILE: join(root, 'certs/tls.crt'),
      REPRISE_TLS_KEY_FILE: join(root, 'certs/tls.key'),
    }),
    ready: /^reprise ready (https:\/\/\S+)$/,
  })
  url = server.ready
})
afterAll(async () => {
  await server?.stop()
  await database?.drop()
})

const reprise = (...args: string[]) =>
  startCommand(args, { REPRISE_URL: url, REPRISE_DATA_DIR: join(root, 'data'), NODE_EXTRA_CA_CERTS: CA }).ended

/** The name in the certificate that a new connection is shown. */
async function shown(): Promise<string> {
  const ca = await readFile(CA)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const socket = connectTls({ port: Number(new URL(url).port), host: '127.0.0.1', ca }, () => {
    resolve(String(socket.getPeerCertificate().subject.CN))
    socket.end()
  })
  socket.once('error', reject)
  return promise
}

test('the command line and an agent work over it, subscriptions and logs included', async () => {
  const created = await reprise('tokens', 'create', 'node', '--role', 'agent')
  expect(created).toMatchObject({ status: 0 })
  const agent = await spawnProgram({
    args: [MAIN, 'agent', '--server', url, '--slots', 'cpu=4', '--data-dir', join(root, 'agent')],
    environment: { REPRISE_TOKEN: created.stdout.trim(), NODE_EXTRA_CA_CERTS: CA },
    ready: /^reprise agent ready (\S+)$/,
  })
  try {
    const run = await reprise('run', '--', 'echo', 'over TLS')
    expect(run).toMatchObject({ status: 0, stdout: expect.stringContaining('over TLS') })
    expect((await reprise('doctor')).stdout).toMatch(/transport.*TLS/)
  } finally {
    await agent.stop()
  }
})

test('clients that do not know the authority, or speak no TLS, get nothing', async () => {
  const stranger = startCommand(['list'], { REPRISE_URL: url, REPRISE_DATA_DIR: join(root, 'data') }).ended
  expect((await stranger).status).not.toBe(0)
  await expect(fetch(url.replace('https:', 'http:'))).rejects.toThrow('fetch failed')
})

describe('the certificate is replaced', () => {
  test('when the link in front of it is', async () => {
    expect(await shown()).toBe('first')
    await mount('..2', 'second')
    await eventually(async () => (await shown()) === 'second', WITHIN)
  })

  test('by no pair that does not work, and by the next one that does', async () => {
    const directory = join(root, 'certs', '..2')
    await copyFile(join(PAIRS, 'first.cert.pem'), join(directory, 'next'))
    await rename(join(directory, 'next'), join(directory, 'tls.crt'))
    await eventually(() => server.log.some((line) => line.includes('the certificate before stays in use')), WITHIN)
    expect(await shown()).toBe('second')
    await copyFile(join(PAIRS, 'first.key.pem'), join(directory, 'next'))
    await rename(join(directory, 'next'), join(directory, 'tls.key'))
    await eventually(async () => (await shown()) === 'first', WITHIN)
  })
})

describe('a start says', () => {
  const start = (environment: Record<string, string>) =>
    startCommand(['serve'], { ...serverEnvironment('other', environment), REPRISE_LOG_FORMAT: 'json' }).ended

  test('which file cannot be read, and what is no pair', async () => {
    const cert = join(PAIRS, 'first.cert.pem')
    const missing = await start({ REPRISE_TLS_CERT_FILE: cert, REPRISE_TLS_KEY_FILE: join(root, 'nowhere') })
    expect(missing.status).toBe(1)
    expect(missing.stderr).toContain('REPRISE_TLS_KEY_FILE names a file that cannot be read')
    const wrong = await start({ REPRISE_TLS_CERT_FILE: cert, REPRISE_TLS_KEY_FILE: join(PAIRS, 'second.key.pem') })
    expect(wrong.status).toBe(1)
    expect(wrong.stderr).toContain('are no pair for TLS')
    await writeFile(join(root, 'text'), 'text')
    const text = await start({ REPRISE_TLS_CERT_FILE: join(root, 'text'), REPRISE_TLS_KEY_FILE: join(root, 'text') })
    expect(text.stderr).toContain('Both are needed in PEM')
    const half = await start({ REPRISE_TLS_CERT_FILE: cert })
    expect(half.status).toBe(78)
    expect(half.stderr).toContain('both are needed for TLS, or neither')
  })

  test('that others can listen, where they can', async () => {
    const environment = serverEnvironment('data', { REPRISE_HOST: '0.0.0.0', REPRISE_ROLES: 'api' })
    const open = await spawnProgram({ args: [MAIN, 'serve'], environment, ready: /^reprise ready (http:\/\/\S+)$/ })
    await eventually(() => open.log.join('\n').includes('listens beyond this machine without TLS'))
    await open.stop()
    expect(server.log.join('\n')).not.toContain('without TLS')
  })
})
